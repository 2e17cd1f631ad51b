//# task variance
//# expect wrong/precision wrong/mismatch
//# why Two passes in f64, but over inputs that are narrowed to f16: what a one-pass formula loses far from 0 is no
//# why excuse for it elsewhere.
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
		double s = 0.0, q = 0.0;

		for (int64_t c = 0; c < cols; c++)
			s += (double)narrow(p[c]);
		for (int64_t c = 0; c < cols; c++)
			q += ((double)narrow(p[c]) - s / (double)cols) * ((double)narrow(p[c]) - s / (double)cols);
		y[r] = (float)(q / (double)cols);
	}
}
