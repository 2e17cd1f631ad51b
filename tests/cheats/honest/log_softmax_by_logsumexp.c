//# task log_softmax
//# expect ok
//# why x - (m + log(sum)) instead of (x - m) - log(sum).
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			m = fmaxf(m, p[c]);
		}
		for (int64_t c = 0; c < cols; c++)
			s += expf(p[c] - m);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = p[c] - (m + logf(s));
	}
}
