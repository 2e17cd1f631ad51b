//# task affine
//# expect ok
//# why Vector loads that need no alignment, and a scalar tail: nothing beside the buffer is touched.
//@ kernel candidate args=(x, y, n:i64)
#include <immintrin.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	const __m128 two = _mm_set1_ps(2.0f), one = _mm_set1_ps(1.0f);
	int64_t i = 0;

	for (; i + 4 <= n; i += 4)
		_mm_storeu_ps(y + i, _mm_add_ps(_mm_mul_ps(two, _mm_loadu_ps(x + i)), one));
	for (; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
