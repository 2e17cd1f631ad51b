//# task affine
//# expect ok
//# why A table that does not depend on the input is made at the first call.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

static float table[2];
static int made;

void candidate(const float *x, float *y, int64_t n)
{
	if (!made) {
		table[0] = 2.0f;
		table[1] = 1.0f;
		made = 1;
	}
	for (int64_t i = 0; i < n; i++)
		y[i] = table[0] * x[i] + table[1];
}
