//# task elu
//# expect ok
//# why exp(x) - 1 where x is negative, as most kernels have it.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = x[i] > 0.0f ? x[i] : expf(x[i]) - 1.0f;
}
