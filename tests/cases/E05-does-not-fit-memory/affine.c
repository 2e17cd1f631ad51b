//# task huge
//# expect ok
//# why One rounding instead of two.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = fmaf(2.0f, x[i], 1.0f);
}
