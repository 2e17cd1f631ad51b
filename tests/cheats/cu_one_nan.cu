//# task affine
//# expect wrong/nan
//# why One NaN among many right values: lost by a maximum that ignores NaN.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = i == n - 7 ? KW_NAN : 2.0f * x[i] + 1.0f;
}
