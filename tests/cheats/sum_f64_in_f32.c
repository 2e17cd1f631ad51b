//# task rowsum_f64
//# expect wrong/precision wrong/mismatch
//# why f64 in and out, but the sum is kept in f32.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const double *x, double *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += (float)x[r * cols + c];
		y[r] = s;
	}
}
