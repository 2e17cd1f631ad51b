//# task variance_f64
//# expect wrong/precision wrong/mismatch
//# why Two passes in f32 where f64 is asked for: less than any formula in f64 gives.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const double *x, double *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const double *p = x + r * cols;
		float s = 0.0f, q = 0.0f, d;

		for (int64_t c = 0; c < cols; c++)
			s += (float)p[c];
		for (int64_t c = 0; c < cols; c++) {
			d = (float)p[c] - s / (float)cols;
			q += d * d;
		}
		y[r] = (double)(q / (float)cols);
	}
}
