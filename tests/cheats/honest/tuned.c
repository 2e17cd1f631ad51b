//# task affine
//# expect ok
//# why A tune line and a define line; the defaults are used.
//@ tune STEP in {1, 2, 4} default 2
//@ define EVEN = n % 2 == 0 ? 1 : 0
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	int64_t i = 0;

	for (; i + STEP <= n; i += STEP)
		for (int64_t j = 0; j < STEP; j++)
			y[i + j] = 2.0f * x[i + j] + 1.0f;
	for (; !EVEN && i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	for (; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
