//# task variance_f64
//# expect ok
//# why The same in f64 where f64 is asked for.
//# flag as exact as with other formulas
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const double *x, double *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const double *p = x + r * cols;
		double s = 0.0, q = 0.0, mean;

		for (int64_t c = 0; c < cols; c++) {
			s += p[c];
			q += p[c] * p[c];
		}
		mean = s / (double)cols;
		y[r] = q / (double)cols - mean * mean;
	}
}
