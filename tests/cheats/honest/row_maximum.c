//# task rowmax
//# expect ok
//# why Starts from minus infinity.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float m = -INFINITY;

		for (int64_t c = 0; c < cols; c++)
			m = x[r * cols + c] > m || x[r * cols + c] != x[r * cols + c] ? x[r * cols + c] : m;
		y[r] = m;
	}
}
