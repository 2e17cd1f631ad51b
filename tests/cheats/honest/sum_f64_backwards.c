//# task rowsum_f64
//# expect ok
//# why One after the other in f64, from the end.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const double *x, double *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		double s = 0;

		for (int64_t c = cols; c-- > 0;)
			s += x[r * cols + c];
		y[r] = s;
	}
}
