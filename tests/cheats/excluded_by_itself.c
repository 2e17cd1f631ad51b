//# task affine
//# expect not_applicable
//# why Its own require line leaves no case; that is no failure.
//@ require n > 1000000000
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
