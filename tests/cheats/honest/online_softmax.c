//# task softmax
//# expect ok
//# why Maximum and sum in one pass, the sum corrected whenever the maximum grows.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *in = x + r * cols;
		float m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			if (in[c] > m) {
				s = s * (m == -INFINITY ? 0.0f : expf(m - in[c])) + 1.0f;
				m = in[c];
			} else if (in[c] > -INFINITY) {
				s += expf(in[c] - m);
			}
		}
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = expf(in[c] - m) / s;
	}
}
