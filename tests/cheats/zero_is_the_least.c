//# task rowmax
//# expect wrong/mismatch
//# why The maximum starts from zero: right for normal values, since some are positive; wrong for a row
//# why of negative ones.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float m = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = x[r * cols + c] > m ? x[r * cols + c] : m;
		y[r] = m;
	}
}
