//# task affine
//# expect build_error/type
//# why The plan passes 32 bits where the kernel takes 64.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i32)
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}
