//# task strided
//# expect ok
//# effort final
//# why The strides are the task's own, so nobody has to hand them over; loads need no alignment.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = 2.0f * x[r * (cols + 3) + c] + 1.0f;
}
