//# task rowsum
//# expect ok
//# why Summed from the end, in sixteen partial sums.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float p[16] = { 0 }, s = 0.0f;

		for (int64_t c = cols - 1; c >= 0; c--)
			p[c % 16] += x[r * cols + c];
		for (int i = 0; i < 16; i++)
			s += p[i];
		y[r] = s;
	}
}
