//# task affine
//# expect launch_error/configuration
//# why More blocks in a cluster than the device takes.
//# needs sm_90
//@ kernel candidate grid=(cdiv(n, 256 * 64) * 64) block=(256) cluster=(64) args=(x, y, n:i64)
//@ require sm >= 90
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
