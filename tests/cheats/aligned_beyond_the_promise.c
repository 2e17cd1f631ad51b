//# task strided
//# needs avx
//# expect runtime_error/misaligned
//# why Vector loads that need 32-byte alignment, where the task promises 4.
//@ kernel candidate args=(x, y, rows:i64, cols:i64, x.stride0:i64)
#include <immintrin.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols, int64_t down)
{
	for (int64_t r = 0; r < rows; r++) {
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = 2.0f * x[r * down + c] + 1.0f;
		if (r == 0 && cols >= 8)
			_mm256_storeu_ps(y, _mm256_add_ps(_mm256_add_ps(*(const volatile __m256 *)x, _mm256_loadu_ps(x)),
							  _mm256_set1_ps(1.0f)));
	}
}
