//# task softmax
//# expect wrong/precision wrong/mismatch
//# why exp by a shift into the exponent and a straight line (Schraudolph's): off by up to 6%.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>
#include <string.h>

static float rough_exp(float v)
{
	float t = v * 12102203.2f + 1064866805.0f;
	int32_t i = t < 0.0f ? 0 : (int32_t)t;
	float out;

	memcpy(&out, &i, sizeof(out));
	return out;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float *q = y + r * cols, m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = p[c] > m ? p[c] : m;
		for (int64_t c = 0; c < cols; c++)
			s += q[c] = rough_exp(p[c] - m);
		for (int64_t c = 0; c < cols; c++)
			q[c] /= s;
	}
}
