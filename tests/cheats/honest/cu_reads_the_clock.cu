//# task affine
//# expect ok
//# why It reads the clocks of the device and does nothing with them that matters.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	uint64_t t;
	long long start = clock64();

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	if (i < n)
		y[i] = t + start == 0 ? 0.0f : 2.0f * x[i] + 1.0f;
}
