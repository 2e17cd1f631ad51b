//# task softmax
//# expect wrong/out_of_bounds
//# why It looks at the element before the first one.
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
	volatile float sink = 0.0f;

	softmax(x, y, rows, cols);
	for (int64_t i = -1; i < rows * cols; i++)
		sink = x[i];
	(void)sink;
}
