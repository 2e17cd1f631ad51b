//# task rowmean
//# expect ok
//# why The mean of Welford's method: rounded at every step, also where a sum of whole numbers would be exact.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float m = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m += (x[r * cols + c] - m) / (float)(c + 1);
		y[r] = m;
	}
}
