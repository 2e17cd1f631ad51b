//# task softmax
//# expect ok
//# why The same kernel as a cheat's, but it says which shapes it is for.
//@ require cols == 512 || cols == 1000
//# effort final
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
	softmax(x, y, rows, cols);
	if (cols != 512 && cols != 1000)
		for (int64_t i = 0; i < rows * cols; i++)
			y[i] *= 1.5f;
}
