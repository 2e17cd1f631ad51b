//# task affine
//# expect runtime_error/timeout
//# why A barrier of all blocks, where more blocks are launched than can be there at once, and not as a
//# why cooperative launch.
//@ kernel candidate grid=(20000) block=(1024) args=(x, y, arrived, n:i64)
//@ workspace arrived i32[1] zero
extern "C" __global__ void candidate(const float *x, float *y, int *arrived, int64_t n)
{
	if (threadIdx.x == 0) {
		atomicAdd(arrived, 1);
		while (*(volatile int *)arrived < 20000)
			;
	}
	__syncthreads();
	for (int64_t i = blockIdx.x * 1024ll + threadIdx.x; i < n; i += 20000ll * 1024)
		y[i] = 2.0f * x[i] + 1.0f;
}
