//# task affine
//# expect ok
//# why Stores past the cache, made visible by a fence before it returns.
//@ kernel candidate args=(x, y, n:i64)
#include <immintrin.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = 0;

	for (; i < n && ((uintptr_t)(y + i) & 15) != 0; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	for (; i + 4 <= n; i += 4)
		_mm_stream_ps(y + i, _mm_add_ps(_mm_add_ps(_mm_loadu_ps(x + i), _mm_loadu_ps(x + i)),
						_mm_set1_ps(1.0f)));
	for (; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	_mm_sfence();
}
