//# task strided
//# expect ok
//# why It takes no strides: strided cases are not applicable.
//@ kernel rmsnorm args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void rmsnorm(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += x[r * cols + c] * x[r * cols + c];
		s = 1.0f / sqrtf(s / (float)cols + 0.00001f);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = x[r * cols + c] * s;
	}
}
