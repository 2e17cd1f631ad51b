//# task expm1
//# expect wrong/precision wrong/mismatch wrong/nan
//# why The exponential in f16 before 1 is taken off.
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
		y[i] = narrow(expf(x[i])) - 1.0f;
}
