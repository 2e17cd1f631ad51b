//# task rowsum_i64
//# expect wrong/mismatch
//# why The last element of a row is left out.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const int64_t *x, int64_t *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		int64_t s = 0;

		for (int64_t c = 0; c + 1 < cols || c == 0; c++)
			s += x[r * cols + c];
		y[r] = s;
	}
}
