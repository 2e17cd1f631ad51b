// planted: one thread does it all
// expected: one_thread
//@ kernel gelu args=(x, y, n:i64)
void gelu(const float *restrict x, float *restrict y, int64_t n)
{
#pragma omp simd
	for (int64_t i = 0; i < n; i++)
		y[i] = kw_geluf(x[i]);
}
