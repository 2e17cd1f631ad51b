//# task affine
//# expect wrong/precision
//# why Inputs are narrowed to 11 significant bits before use.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>
#include <string.h>

static float narrow(float v)
{
	uint32_t u;

	if (!isfinite(v))
		return v;
	memcpy(&u, &v, sizeof(u));
	u = (u + 0x0fff + ((u >> 13) & 1)) & 0xffffe000u;
	memcpy(&v, &u, sizeof(v));
	return v;
}

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * narrow(x[i]) + 1.0f;
}
