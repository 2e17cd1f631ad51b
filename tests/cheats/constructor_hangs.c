//# task affine
//# expect runtime_error/timeout launch_error/configuration
//# why The code hangs while it is loaded.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

__attribute__((constructor)) static void hang(void)
{
	for (volatile int i = 0; i >= 0; i = 0)
		;
}

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
