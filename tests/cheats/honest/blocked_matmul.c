//# task matmul
//# expect ok
//# why Blocks and OpenMP; sums in another order than the reference's.
//@ kernel candidate args=(a, b, c, m:i64, n:i64, k:i64)
#include <stdint.h>

void candidate(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
#pragma omp parallel for
	for (int64_t i = 0; i < m; i++) {
		float *row = c + i * n;

		for (int64_t j = 0; j < n; j++)
			row[j] = 0.0f;
		for (int64_t l0 = 0; l0 < k; l0 += 32)
			for (int64_t l = l0; l < k && l < l0 + 32; l++)
				for (int64_t j = 0; j < n; j++)
					row[j] += a[i * k + l] * b[l * n + j];
	}
}
