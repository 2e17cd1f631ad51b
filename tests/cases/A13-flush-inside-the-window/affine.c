//# task affine_64
//# expect ok
//# why Tiny: a flush in the window would be nearly all of its time.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = fmaf(2.0f, x[i], 1.0f);
}
