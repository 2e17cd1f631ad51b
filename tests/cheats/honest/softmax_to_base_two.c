//# task softmax
//# expect ok
//# why exp2 of x * log2(e), as kernels have it that scale beforehand.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			m = fmaxf(m, p[c] * 1.44269504f);
		}
		for (int64_t c = 0; c < cols; c++)
			s += y[r * cols + c] = exp2f(p[c] * 1.44269504f - m);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] /= s;
	}
}
