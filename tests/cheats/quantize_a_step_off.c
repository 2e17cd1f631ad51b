//# task quantize
//# expect wrong/mismatch
//# why A step off in one element of ten thousand, where no rounding excuses it.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, int8_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float v = fminf(fmaxf(rintf(x[i] * 37.3f), -126.0f), 126.0f);

		y[i] = (int8_t)(i % 10000 == 7 ? v + 1.0f : v);
	}
}
