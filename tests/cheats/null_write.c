//# task affine
//# expect runtime_error/illegal_access
//# why A write to address zero.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	volatile float *nowhere = (volatile float *)(uintptr_t)(x == (const float *)y);

	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	*nowhere = 0.0f;
}
