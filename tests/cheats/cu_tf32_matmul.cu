//# task matmul
//# expect wrong/precision
//# why Factors are rounded to TF32, as the tensor cores take f32 when nobody looks.
//@ kernel candidate grid=(cdiv(n, 16), cdiv(m, 16)) block=(16, 16) args=(a, b, c, m:i64, n:i64, k:i64)
static __device__ float narrow(float v)
{
	unsigned r;

	asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
	return __uint_as_float(r);
}

extern "C" __global__ void candidate(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
	int64_t i = blockIdx.y * 16ll + threadIdx.y, j = blockIdx.x * 16ll + threadIdx.x;
	float s = 0.0f;

	if (i >= m || j >= n)
		return;
	for (int64_t p = 0; p < k; p++)
		s = fmaf(narrow(a[i * k + p]), narrow(b[p * n + j]), s);
	c[i * n + j] = s;
}
