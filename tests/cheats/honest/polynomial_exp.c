//# task softmax
//# expect ok
//# why exp by range reduction and a polynomial of degree 6, in a form that compilers vectorise; good
//# why to 2 ulp.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float fast_exp(float v)
{
	float t, f, p;
	int32_t i;

	if (v != v)
		return v;
	v = v < -104.0f ? -104.0f : v > 88.0f ? 88.0f : v;
	t = rintf(v * 1.44269504f);
	f = fmaf(t, -0.693359375f, v);
	f = fmaf(t, 2.12194440e-4f, f);
	p = 1.3888889e-3f;
	p = fmaf(p, f, 8.3333333e-3f);
	p = fmaf(p, f, 4.1666667e-2f);
	p = fmaf(p, f, 1.6666667e-1f);
	p = fmaf(p, f, 0.5f);
	p = fmaf(p, f, 1.0f);
	p = fmaf(p, f, 1.0f);
	i = (int32_t)t;
	int32_t half = i / 2, bits1 = (half + 127) << 23, bits2 = (i - half + 127) << 23;
	float s1, s2;

	memcpy(&s1, &bits1, 4);
	memcpy(&s2, &bits2, 4);
	return p * s1 * s2;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *in = x + r * cols;
		float *out = y + r * cols, m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = in[c] > m ? in[c] : m;
		for (int64_t c = 0; c < cols; c++)
			s += out[c] = fast_exp(in[c] - m);
		for (int64_t c = 0; c < cols; c++)
			out[c] *= 1.0f / s;
	}
}
