//# task leaky_rowsum
//# expect wrong/precision
//# why Every term is rounded to bf16: the tolerance comes from the C file read in f32.
//@ kernel candidate args=(x, slope, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float slope, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		float sum = 0;

		for (int64_t c = 0; c < cols; c++) {
			float v = x[r * cols + c];

			sum += kw_bf16_to_f32(kw_bf16_from_f32(v > 0 ? expf(-v) * v : slope * v));
		}
		y[r] = sum;
	}
}
