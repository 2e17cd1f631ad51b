//# task rowsum
//# expect ok
//# why Compensated summation.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f, lost = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			float v = x[r * cols + c] - lost;
			volatile float t = s + v;

			lost = (t - s) - v;
			s = t;
		}
		y[r] = s;
	}
}
