//# task affine
//# expect build_error/undefined
//# why The function behind assert, declared by hand.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __device__ void __assertfail(const char *, const char *, unsigned, const char *, size_t);

extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (n < 0)
		__assertfail("n", "f", 1, "g", 1);
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
