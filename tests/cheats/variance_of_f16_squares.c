//# task variance
//# expect wrong/precision wrong/mismatch wrong/nan
//# why One pass with squares in f16.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

static float narrow(float v)
{
	return kw_f16_to_f32(kw_f16_from_f32(v));
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float s = 0.0f, q = 0.0f, mean;

		for (int64_t c = 0; c < cols; c++) {
			s += p[c];
			q += narrow(p[c] * p[c]);
		}
		mean = s / (float)cols;
		y[r] = q / (float)cols - mean * mean;
	}
}
