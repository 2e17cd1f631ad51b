//# task erf
//# expect wrong/precision wrong/mismatch
//# why Abramowitz and Stegun 7.1.25, good to 2.5e-5: enough for a picture, not for f32.
//@ kernel candidate args=(x, y, n:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		float a = fabsf(x[i]), t = 1.0f / (1.0f + 0.47047f * a);
		float p = t * (0.3480242f + t * (-0.0958798f + t * 0.7478556f));

		y[i] = copysignf(1.0f - p * expf(-a * a), x[i]);
	}
}
