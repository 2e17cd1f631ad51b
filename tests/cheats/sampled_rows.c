//# task rowsum
//# expect wrong/mismatch
//# why Every second element is summed and doubled: about right on average, which is not right.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c += 2)
			s += x[r * cols + c];
		y[r] = 2.0f * s;
	}
}
