//# task expm1
//# expect ok
//# why exp(x) - 1: an ulp of 1 off, which is much where x is small. The verdict says so.
//# flag as exact as with other formulas
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = expf(x[i]) - 1.0f;
}
