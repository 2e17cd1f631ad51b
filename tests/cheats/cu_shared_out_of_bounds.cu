//# task affine
//# expect runtime_error/illegal_access runtime_error/crash
//# why Shared memory is written far beyond what the block has.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	__shared__ volatile float room[32];

	room[(threadIdx.x + 1) * (n > 0 ? 100000 : 1)] = 1.0f;
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
