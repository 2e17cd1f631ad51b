//# task variance
//# expect wrong/mismatch
//# why The mean of squares; the square of the mean is forgotten.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float q = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			q += p[c] * p[c];
		}
		y[r] = q / (float)cols;
	}
}
