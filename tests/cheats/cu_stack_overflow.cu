//# task affine
//# expect runtime_error/crash runtime_error/illegal_access
//# why It calls itself a million times.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
static __device__ __noinline__ float deep(float v, int64_t depth)
{
	volatile float room[16];

	room[depth % 16] = v;
	return depth > 0 ? deep(room[depth % 16] + 1.0f, depth - 1) - room[depth % 16] : v;
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = 2.0f * x[i] + deep(1.0f, 1000000 + n);
}
