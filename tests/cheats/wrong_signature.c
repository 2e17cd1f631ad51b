//# task affine
//# expect build_error/type
//# why The function takes its arguments in another order than the plan gives them.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(float *y, const float *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
