//# task affine
//# needs avx
//# expect runtime_error/misaligned
//# why Vector loads that need 32-byte alignment, one element past an aligned address.
//@ kernel candidate args=(x, y, n:i64)
#include <immintrin.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	for (int64_t i = 1; i + 8 < n; i += 8)
		_mm256_storeu_ps(y + i, _mm256_add_ps(_mm256_add_ps(*(const volatile __m256 *)(x + i),
								    _mm256_loadu_ps(x + i)), _mm256_set1_ps(1.0f)));
}
