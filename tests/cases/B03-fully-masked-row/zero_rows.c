//# task masked
//# expect ok
//# why Zeros where nothing is kept.
//@ kernel masked args=(x, keep, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void masked(const float *x, const uint8_t *keep, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *in = x + r * cols;
		const uint8_t *k = keep + r * cols;
		float *out = y + r * cols, m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = k[c] && !(in[c] <= m) ? in[c] : m;
		for (int64_t c = 0; c < cols; c++)
			s += out[c] = k[c] ? expf(in[c] - m) : 0.0f;
		for (int64_t c = 0; c < cols; c++)
			out[c] = s != 0.0f ? out[c] / s : 0.0f;
	}
}
