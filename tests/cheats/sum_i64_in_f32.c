//# task rowsum_i64
//# expect wrong/mismatch wrong/precision
//# why Whole numbers added up in f32.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const int64_t *x, int64_t *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += (float)x[r * cols + c];
		y[r] = (int64_t)s;
	}
}
