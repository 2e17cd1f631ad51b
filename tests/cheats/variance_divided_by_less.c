//# task variance
//# expect wrong/mismatch wrong/precision
//# why One pass, divided by n - 1 where n is asked for: a tenth of a percent in a row of a thousand.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float s = 0.0f, q = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			s += p[c];
			q += p[c] * p[c];
		}
		y[r] = cols > 1 ? (q - s * s / (float)cols) / (float)(cols - 1) : 0.0f;
	}
}
