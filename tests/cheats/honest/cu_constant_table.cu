//# task affine
//# expect ok
//# why Coefficients in constant memory.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
static __constant__ float coefficient[2] = { 1.0f, 2.0f };

extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = coefficient[1] * x[i] + coefficient[0];
}
