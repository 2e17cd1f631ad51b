//# task affine
//# expect wrong/alias
//# why The output is passed through two pointers.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, float *z, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		(i % 2 ? y : z)[i] = 2.0f * x[i] + 1.0f;
}
