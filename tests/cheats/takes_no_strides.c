//# task any_strides
//# expect wrong/mismatch
//# why Any layout may come here, so that taking no strides is no way out.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t i = 0; i < rows * cols; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
