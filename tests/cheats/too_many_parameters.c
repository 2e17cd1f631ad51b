//# task affine
//# expect build_error/type
//# why A parameter that the plan line does not pass: it would be whatever is in the register.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n, float factor)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = factor * x[i] + 1.0f;
}
