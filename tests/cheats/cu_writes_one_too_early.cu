//# task affine
//# expect wrong/out_of_bounds runtime_error/illegal_access
//# why One element before the output is written.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i == 0)
		y[-1] = 0.0f;
	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
