//# task affine
//# expect wrong/out_of_bounds
//# why One element behind the output is written.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i <= n)
		y[i] = i < n ? 2.0f * x[i] + 1.0f : 0.0f;
}
