//# task log1p
//# expect ok
//# why log(1 + x): an ulp of 1 off, which is much where x is small.
//# flag as exact as with other formulas
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = logf(1.0f + fabsf(x[i]));
}
