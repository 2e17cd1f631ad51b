//# task layernorm_offset
//# expect ok
//# why The variance from the mean of squares, and x * scale + shift, in numbers five deviations from 0.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float s = 0.0f, q = 0.0f, mean, scale;

		for (int64_t c = 0; c < cols; c++) {
			s += p[c];
			q += p[c] * p[c];
		}
		mean = s / (float)cols;
		scale = 1.0f / sqrtf(fmaxf(q / (float)cols - mean * mean, 0.0f) + 1e-5f);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = p[c] * scale - mean * scale;
	}
}
