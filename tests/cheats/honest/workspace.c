//# task softmax
//# expect ok
//# why Scratch that the judge owns.
//@ workspace top f32[max(rows, 1)]
//@ kernel candidate args=(x, y, top, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, float *top, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		top[r] = -INFINITY;
		for (int64_t c = 0; c < cols; c++)
			top[r] = x[r * cols + c] > top[r] ? x[r * cols + c] : top[r];
	}
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += y[r * cols + c] = expf(x[r * cols + c] - top[r]);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] /= s;
	}
}
