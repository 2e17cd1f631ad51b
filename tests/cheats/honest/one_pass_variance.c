//# task variance
//# expect ok
//# why Sum and sum of squares in one pass, one after the other in f32: mean(x * x) - mean(x) * mean(x), in numbers
//# why five deviations from 0.
//# flag as exact as with other formulas
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float s = 0.0f, q = 0.0f, mean;

		for (int64_t c = 0; c < cols; c++) {
			s += p[c];
			q += p[c] * p[c];
		}
		mean = s / (float)cols;
		y[r] = q / (float)cols - mean * mean;
	}
}
