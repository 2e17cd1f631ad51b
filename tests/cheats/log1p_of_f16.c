//# task log1p
//# expect wrong/precision wrong/mismatch
//# why log(1 + x) of an input that is narrowed to f16.
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
		y[i] = logf(1.0f + narrow(fabsf(x[i])));
}
