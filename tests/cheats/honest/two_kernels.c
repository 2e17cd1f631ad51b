//# task softmax
//# expect ok
//# why Two launches in order, the second of which reads what the first has written.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
//@ kernel divide args=(y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float m = -INFINITY;

		for (int64_t c = 0; c < cols; c++)
			m = x[r * cols + c] > m ? x[r * cols + c] : m;
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = expf(x[r * cols + c] - m);
	}
}

void divide(float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += y[r * cols + c];
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] /= s;
	}
}
