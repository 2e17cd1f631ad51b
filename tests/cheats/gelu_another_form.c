//# task gelu_few
//# expect wrong/mismatch wrong/precision
//# why The tanh form of gelu where the exact one is asked for: 5e-4 off at most.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float v = x[i];

		y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
	}
}
