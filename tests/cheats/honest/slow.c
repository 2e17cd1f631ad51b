//# task affine
//# expect ok
//# why Slow is not wrong: it does the work five times.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	volatile float *out = y;

	for (int again = 0; again < 5; again++)
		for (int64_t i = 0; i < n; i++)
			out[i] = 2.0f * x[i] + 1.0f;
}
