//# task rowsum_f64
//# expect wrong/precision wrong/mismatch
//# why Inputs rounded to f32, added up in f64.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const double *x, double *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		double s = 0;

		for (int64_t c = 0; c < cols; c++)
			s += (float)x[r * cols + c];
		y[r] = s;
	}
}
