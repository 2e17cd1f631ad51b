//# task softmax
//# expect ok
//# why A static buffer is used in every call and set before it is read: no state.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdalign.h>
#include <stdint.h>

static alignas(64) float e[4096];

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = x[r * cols + c] > m ? x[r * cols + c] : m;
		for (int64_t c = 0; c < cols; c++)
			s += e[c] = expf(x[r * cols + c] - m);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = e[c] / s;
	}
}
