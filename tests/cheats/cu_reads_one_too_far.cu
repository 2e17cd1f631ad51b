//# task affine
//# expect runtime_error/illegal_access
//# why One element behind the input is read, and taken into a result that does not need it.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i >= n)
		return;
	float next = ((const volatile float *)x)[i + 1]; /* a read that the compiler may not leave out */

	y[i] = 2.0f * x[i] + (next == next ? 1.0f : 1.0f);
}
