//# task affine
//# expect wrong/nan
//# why One NaN among many right values: lost by a maximum that ignores NaN.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	if (n > 7)
		y[n - 7] = NAN;
}
