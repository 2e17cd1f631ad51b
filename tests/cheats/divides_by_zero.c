//# task affine
//# expect runtime_error/crash
//# why An integer division by zero.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	volatile int64_t zero = 0;

	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	y[0] += (float)(n / zero);
}
