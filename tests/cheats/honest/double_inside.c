//# task rowsum
//# expect ok
//# why Computed in a higher precision than asked for.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		double s = 0.0;

		for (int64_t c = 0; c < cols; c++)
			s += x[r * cols + c];
		y[r] = (float)s;
	}
}
