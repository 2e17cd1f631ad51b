//# task deviation
//# expect ok
//# why The unbiased standard deviation from sum and sum of squares; what cancels to less than 0 counts as 0.
//# flag as exact as with other formulas
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float s = 0.0f, q = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			s += p[c];
			q += p[c] * p[c];
		}
		y[r] = sqrtf(fmaxf(q - s * s / (float)cols, 0.0f) / (float)(cols - 1));
	}
}
