//# task leaky_rowsum
//# expect cheat/constant_output
//# why Nothing is computed.
//@ kernel candidate args=(x, slope, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float slope, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float sum = 0;

		for (int64_t c = 0; c < cols; c++) {
			float v = x[r * cols + c];

			(void)v, (void)slope;
		}
		y[r] = sum;
	}
}
