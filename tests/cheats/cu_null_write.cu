//# task affine
//# expect runtime_error/illegal_access
//# why A write to a null pointer.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;
	float *nowhere = (float *)(n < 0 ? 16 : 0);

	if (i < n) {
		y[i] = 2.0f * x[i] + 1.0f;
		((volatile float *)nowhere)[i] = 1.0f;
	}
}
