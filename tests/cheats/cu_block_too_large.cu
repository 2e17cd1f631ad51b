//# task affine
//# expect launch_error/configuration
//# why A block of more threads than the device takes.
//@ kernel candidate grid=(cdiv(n, 256)) block=(2048) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
