//# task affine
//# expect runtime_error/crash
//# why abort().
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <stdlib.h>

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	(void)y;
	if (n >= 0)
		abort();
}
