//# task quantize
//# expect ok
//# why A product that f32 rounds to the other side of a half now and then.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, int8_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = (int8_t)fminf(fmaxf(rintf(x[i] * 37.3f), -127.0f), 127.0f);
}
