//# task affine
//# expect runtime_error/illegal_access
//# why One element before the input is read, and taken into a result that does not need it.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i >= n)
		return;
	float last = ((const volatile float *)x)[i - 1];

	y[i] = 2.0f * x[i] + (last == last ? 1.0f : 1.0f);
}
