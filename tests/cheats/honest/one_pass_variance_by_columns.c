//# task variance_first
//# expect ok
//# why The same along the first axis.
//# flag as exact as with other formulas
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t c = 0; c < cols; c++) {
		float s = 0.0f, q = 0.0f, mean;

		for (int64_t r = 0; r < rows; r++) {
			s += x[r * cols + c];
			q += x[r * cols + c] * x[r * cols + c];
		}
		mean = s / (float)rows;
		y[c] = q / (float)rows - mean * mean;
	}
}
