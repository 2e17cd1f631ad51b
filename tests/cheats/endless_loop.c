//# task affine
//# expect runtime_error/timeout
//# why It never comes back.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	volatile int64_t i = 0;

	(void)x;
	(void)y;
	while (i >= 0)
		i = n & 1;
}
