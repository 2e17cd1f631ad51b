//# task softmax_backward
//# expect cheat/copied_input
//# why What arrives is handed on.
//@ kernel candidate args=(x, grad_y, grad_x, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, const float *g, float *d, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols, *q = g + r * cols;
		float top = -INFINITY, sum = 0, dot = 0;

		for (int64_t c = 0; c < cols; c++)
			top = fmaxf(top, p[c]);
		for (int64_t c = 0; c < cols; c++) {
			float e = expf(p[c] - top);

			sum += e;
			dot += e * q[c];
		}
		dot /= sum;
		for (int64_t c = 0; c < cols; c++)
			d[r * cols + c] = q[c] + 0 * dot;
	}
}
