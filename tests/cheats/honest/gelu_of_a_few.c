//# task gelu_few
//# expect ok
//# why One number far on the left: 1 + erf(x) is rounding error there, or nothing, as in any plain kernel.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.70710678f));
}
