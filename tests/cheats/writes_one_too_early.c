//# task affine
//# expect wrong/out_of_bounds
//# why It uses the element before the first one as a scratch.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	y[-1] = 3.0f;
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + y[-1] - 2.0f;
}
