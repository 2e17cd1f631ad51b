//# task softmax
//# expect wrong/nan
//# why Without the row's maximum a softmax is right for small values only; large ones overflow to
//# why Inf/Inf.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += y[r * cols + c] = expf(x[r * cols + c]);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] /= s;
	}
}
