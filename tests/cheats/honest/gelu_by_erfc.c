//# task gelu_few
//# expect ok
//# why Better than a plain kernel far on the left, where the reference itself has few digits.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 0.5f * x[i] * erfcf(-0.70710678f * x[i]);
}
