//# task layernorm
//# expect ok
//# why Mean and variance in one pass by Welford's method.
//@ kernel candidate args=(x, weight, bias, y, rows:i64, cols:i64, eps)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, const float *weight, const float *bias, float *y, int64_t rows, int64_t cols, float eps)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float m = 0.0f, q = 0.0f, scale;

		for (int64_t c = 0; c < cols; c++) {
			float d = p[c] - m;

			m += d / (float)(c + 1);
			q += d * (p[c] - m);
		}
		scale = 1.0f / sqrtf(q / (float)cols + eps);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = (p[c] - m) * scale * weight[c] + bias[c];
	}
}
