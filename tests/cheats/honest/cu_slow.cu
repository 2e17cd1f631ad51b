//# task affine
//# expect ok
//# why One thread does it all: slow is not wrong.
//@ kernel candidate grid=(1) block=(1) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
