//# task affine
//# expect wrong/unwritten wrong/nan
//# why It writes back the bits that it found in the output, which look like a NaN and were put there
//# why to find just this.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	volatile uint32_t *bits = (volatile uint32_t *)y;

	(void)x;
	for (int64_t i = 0; i < n; i++)
		bits[i] = bits[i];
}
