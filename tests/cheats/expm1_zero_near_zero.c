//# task expm1
//# expect wrong/precision wrong/mismatch
//# why exp(x) - 1, and nothing at all where x is small: further off than that formula.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = fabsf(x[i]) < 2e-3f ? 0.0f : expf(x[i]) - 1.0f;
}
