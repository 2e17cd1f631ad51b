//# task rowsum_f64
//# expect ok
//# why Another order of the same additions in f64, where positive and negative numbers cancel.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const double *x, double *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		double s[8] = { 0 };

		for (int64_t c = 0; c < cols; c++)
			s[c % 8] += x[r * cols + c];
		y[r] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
	}
}
