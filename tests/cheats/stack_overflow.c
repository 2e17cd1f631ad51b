//# task affine
//# expect runtime_error/crash runtime_error/illegal_access
//# why Endless recursion.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

static volatile int deep;

static int64_t down(int64_t n)
{
	volatile char frame[4096];

	frame[0] = (char)n;
	if (deep < 0)
		return n;
	return down(n + 1) + frame[0];
}

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	y[0] = (float)down(n);
}
