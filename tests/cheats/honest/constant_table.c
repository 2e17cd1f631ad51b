//# task affine
//# expect ok
//# why Factors from a constant table.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

static const float table[4] = { 2.0f, 1.0f, 4.0f, 8.0f };

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = table[0] * x[i] + table[1];
}
