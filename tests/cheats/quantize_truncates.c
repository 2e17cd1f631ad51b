//# task quantize
//# expect wrong/mismatch
//# why Cut off, not rounded: a step off for every second element.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, int8_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = (int8_t)fminf(fmaxf(x[i] * 37.3f, -127.0f), 127.0f);
}
