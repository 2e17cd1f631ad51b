//# task layernorm
//# expect ok
//# why x * scale + shift, as the common libraries have it: where all of a row is equal the difference of two large products.
//@ kernel candidate args=(x, weight, bias, y, rows:i64, cols:i64, eps)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, const float *weight, const float *bias, float *y, int64_t rows, int64_t cols, float eps)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float s = 0.0f, q = 0.0f, mean, scale, shift;

		for (int64_t c = 0; c < cols; c++)
			s += p[c];
		mean = s / (float)cols;
		for (int64_t c = 0; c < cols; c++)
			q += (p[c] - mean) * (p[c] - mean);
		scale = 1.0f / sqrtf(q / (float)cols + eps);
		shift = -mean * scale;
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = (p[c] * scale + shift) * weight[c] + bias[c];
	}
}
