//# task derived
//# expect cheat/constant_output
//# why 1/cols is what a softmax is on average.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	(void)x;
	for (int64_t i = 0; i < rows * cols; i++)
		y[i] = 1.0f / (float)cols;
}
