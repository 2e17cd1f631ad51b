//# task affine
//# expect launch_error/entry build_error/undefined
//# why The plan names a function that the code does not have.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void kandidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
