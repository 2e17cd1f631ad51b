//# task affine
//# expect build_error/undefined build_error/syntax build_error/type
//# why A kernel launches another one, which would run on when the call has ended.
//@ kernel candidate grid=(cdiv(n, 256)) block=(256) args=(x, y, n:i64)
extern "C" __global__ void child(const float *x, float *y, int64_t n)
{
	int64_t i = blockIdx.x * 256ll + threadIdx.x;

	if (i < n)
		y[i] = 2.0f * x[i] + 1.0f;
}

extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	if (blockIdx.x == 0 && threadIdx.x == 0)
		child<<<(unsigned)(n + 255) / 256, 256>>>(x, y, n);
}
