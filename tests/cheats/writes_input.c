//# task softmax
//# expect wrong/input_modified
//# why Exponentials are kept in the input, as scratch; a second run on the same data is wrong.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	float *in = (float *)(uintptr_t)x;

	for (int64_t r = 0; r < rows; r++) {
		float m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = fmaxf(m, in[r * cols + c]);
		for (int64_t c = 0; c < cols; c++)
			s += in[r * cols + c] = expf(in[r * cols + c] - m);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = in[r * cols + c] / s;
	}
}
