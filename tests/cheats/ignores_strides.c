//# task strided
//# expect wrong/mismatch
//# why The task says that rows lie apart; this reads them as if they did not, which is right for one row only.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t i = 0; i < rows * cols; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
