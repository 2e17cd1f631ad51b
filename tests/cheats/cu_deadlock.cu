//# task affine
//# expect runtime_error/timeout
//# why Two blocks wait for each other.
//@ kernel candidate grid=(2) block=(256) args=(x, y, flag, n:i64)
//@ workspace flag i32[2] zero
extern "C" __global__ void candidate(const float *x, float *y, int *flag, int64_t n)
{
	if (threadIdx.x == 0)
		while (!((volatile int *)flag)[1 - blockIdx.x])
			;
	__syncthreads();
	flag[blockIdx.x] = 1;
	for (int64_t i = blockIdx.x * 256ll + threadIdx.x; i < n; i += 512)
		y[i] = 2.0f * x[i] + 1.0f;
}
