//# task rowsum
//# expect ok
//# why Pairwise summation: more exact than the reference's tolerance expects.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

static float sum(const float *x, int64_t n)
{
	if (n > 16)
		return sum(x, n / 2) + sum(x + n / 2, n - n / 2);
	float s = 0.0f;

	for (int64_t i = 0; i < n; i++)
		s += x[i];
	return s;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++)
		y[r] = sum(x + r * cols, cols);
}
