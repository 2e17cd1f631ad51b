//# task tanh
//# expect wrong/precision wrong/mismatch
//# why 1 - 2 / (exp(2 x) + 1) with an exponential in f16: its formula is no excuse.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

static float narrow(float v)
{
	return kw_f16_to_f32(kw_f16_from_f32(v));
}

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 1.0f - 2.0f / (narrow(expf(2.0f * x[i])) + 1.0f);
}
