//# task affine
//# expect runtime_error/illegal_access wrong/out_of_bounds
//# why Vectors of four where the last one is not whole: it reads and writes up to three elements too far.
//@ kernel candidate grid=(cdiv(n, 1024)) block=(256) args=(x, y, n:i64)
//@ require x.align >= 16 && y.align >= 16
extern "C" __global__ void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = (blockIdx.x * 256ll + threadIdx.x) * 4;
	float4 v;

	if (i >= n)
		return;
	v = *(const float4 *)(x + i);
	*(float4 *)(y + i) = make_float4(2.0f * v.x + 1.0f, 2.0f * v.y + 1.0f, 2.0f * v.z + 1.0f, 2.0f * v.w + 1.0f);
}
