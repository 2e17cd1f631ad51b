//# task affine
//# expect runtime_error/crash runtime_error/illegal_access
//# why It calls a function at an address that it made up.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	float (*f)(float) = (float (*)(float))(n + 0x123450);

	if (i < n)
		y[i] = f(x[i]);
}
