//# task rowsum
//# expect cheat/state wrong/mismatch
//# why The accumulator is static and never reset: only the first call in a process is right.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

static float sum;

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float before = sum;

		for (int64_t c = 0; c < cols; c++)
			sum += x[r * cols + c];
		y[r] = r == 0 ? sum : sum - before;
	}
}
