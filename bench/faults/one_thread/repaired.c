// repaired: all threads take their part
//@ kernel gelu args=(x, y, n:i64)
void gelu(const float *restrict x, float *restrict y, int64_t n)
{
#pragma omp parallel for simd
	for (int64_t i = 0; i < n; i++)
		y[i] = kw_geluf(x[i]);
}
