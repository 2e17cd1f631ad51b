//# task sigmoid
//# expect ok
//# why Half of 1 + tanh(x / 2): an ulp of 1 off where the result is small, which another formula is not.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float t = expf(-fabsf(x[i])), h = (1.0f - t) / (1.0f + t);

		y[i] = 0.5f * (1.0f + copysignf(h, x[i]));
	}
}
