//# task matmul
//# expect wrong/precision
//# why Factors are rounded to bf16.
//@ kernel candidate grid=(cdiv(n, 8), cdiv(m, 8)) block=(8, 8) args=(a, b, c, m:i64, n:i64, k:i64)
static float narrow(float v)
{
	return kw_bf16_to_f32(kw_bf16_from_f32(v));
}

__kernel void candidate(__global const float *a, __global const float *b, __global float *c, long m, long n, long k)
{
	long i = get_global_id(1), j = get_global_id(0);
	float s = 0.0f;

	if (i >= m || j >= n)
		return;
	for (long p = 0; p < k; p++)
		s = fma(narrow(a[i * k + p]), narrow(b[p * n + j]), s);
	c[i * n + j] = s;
}
