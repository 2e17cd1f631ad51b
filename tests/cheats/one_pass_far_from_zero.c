//# task variance_far
//# expect wrong/precision wrong/mismatch
//# why One pass over numbers a hundred deviations from 0: what is left of 10000 - 9999 in f32 is off by several
//# why percent, and no formula is allowed more than one.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float s = 0.0f, q = 0.0f, mean;

		for (int64_t c = 0; c < cols; c++) {
			s += p[c];
			q += p[c] * p[c];
		}
		mean = s / (float)cols;
		y[r] = q / (float)cols - mean * mean;
	}
}
