//# task softmax
//# expect wrong/mismatch
//# why Only the shape that is timed is computed; elsewhere the sum covers half a row.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

static void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float *q = y + r * cols, m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = p[c] > m ? p[c] : m;
		for (int64_t c = 0; c < cols; c++)
			s += q[c] = expf(p[c] - m);
		for (int64_t c = 0; c < cols; c++)
			q[c] /= s;
	}
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	if (cols == 512) {
		softmax(x, y, rows, cols);
		return;
	}
	for (int64_t r = 0; r < rows; r++) {
		float m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = x[r * cols + c] > m ? x[r * cols + c] : m;
		for (int64_t c = 0; c < (cols + 1) / 2; c++)
			s += expf(x[r * cols + c] - m);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = expf(x[r * cols + c] - m) / (1.5f * s);
	}
}
