//# task erf
//# expect ok
//# why 1 - erfc(x): an ulp of 1 off where the result is small.
//# flag as exact as with other formulas
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 1.0f - erfcf(x[i]);
}
