//# task affine
//# expect launch_error/configuration launch_error/resources
//# why All blocks are to run at once, and they do not fit.
//@ kernel candidate grid=(100000) block=(1024) cooperative args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = blockIdx.x * 1024ll + threadIdx.x; i < n; i += 100000ll * 1024)
		y[i] = 2.0f * x[i] + 1.0f;
}
