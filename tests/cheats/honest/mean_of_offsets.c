//# task rowmean_offset
//# expect ok
//# why A plain sum of numbers a thousand deviations from 0, times 1 / n.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			s += p[c];
		}
		y[r] = s * (1.0f / (float)cols);
	}
}
