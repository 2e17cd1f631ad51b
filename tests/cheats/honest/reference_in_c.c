//# task leaky_rowsum
//# expect ok
//# why The reference is a C file; its values come from a process of its own.
//@ kernel candidate args=(x, slope, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float slope, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float sum = 0;

		for (int64_t c = 0; c < cols; c++) {
			float v = x[r * cols + c];

			sum += v > 0 ? expf(-v) * v : slope * v;
		}
		y[r] = sum;
	}
}
