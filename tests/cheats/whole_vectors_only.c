//# task affine
//# expect wrong/out_of_bounds
//# why The last vector is stored whole, past an end that is not a multiple of eight.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i += 8)
		for (int64_t j = 0; j < 8; j++)
			((volatile float *)y)[i + j] = i + j < n ? 2.0f * x[i + j] + 1.0f : 0.0f;
}
