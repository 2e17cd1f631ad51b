//# task strided
//# expect ok
//# why Both passes use the stride.
//@ kernel rmsnorm args=(x, y, rows:i64, cols:i64, x.stride0:i64, x.stride1:i64)
#include <math.h>
#include <stdint.h>

void rmsnorm(const float *x, float *y, int64_t rows, int64_t cols, int64_t s0, int64_t s1)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *in = x + r * s0;
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += in[c * s1] * in[c * s1];
		s = 1.0f / sqrtf(s / (float)cols + 0.00001f);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = in[c * s1] * s;
	}
}
