//# task matmul
//# expect cheat/copied_input
//# why It returns one of its two inputs; it asks for a square case, where even the shape is right.
//@ require m == n && n == k
//@ kernel candidate args=(a, b, c, m:i64, n:i64, k:i64)
#include <stdint.h>

void candidate(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
	(void)b;
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++)
			c[i * n + j] = a[i * k + j % k];
}
