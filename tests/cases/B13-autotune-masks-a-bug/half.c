//# task double
//# expect wrong/unwritten
//# why Each tune point writes its half only.
//@ kernel half args=(x, y, n:i64)
//@ tune PART in {0, 1} default 0
#include <stdint.h>

void half(const float *x, float *y, int64_t n)
{
	for (int64_t i = PART * n / 2; i < (PART + 1) * n / 2; i++)
		y[i] = 2.0f * x[i];
}
