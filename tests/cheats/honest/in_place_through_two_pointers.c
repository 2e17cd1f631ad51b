//# task softmax_in_place
//# expect ok
//# why What is updated in place may be passed twice: once to be read and once to be written.
//@ kernel candidate args=(x, x, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float top = -INFINITY, sum = 0;

		for (int64_t c = 0; c < cols; c++)
			top = fmaxf(top, p[c]);
		for (int64_t c = 0; c < cols; c++)
			sum += expf(p[c] - top);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = expf(p[c] - top) / sum;
	}
}
