//# task softmax
//# expect wrong/nan
//# why NaN is neither larger nor smaller than any tolerance; a comparison written the wrong way round
//# why accepts it.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t i = 0; i < rows * cols; i++)
		y[i] = x[i] * NAN;
}
