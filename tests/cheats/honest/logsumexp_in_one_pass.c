//# task logsumexp
//# expect ok
//# why A running maximum; the sum is corrected whenever it grows.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++) {
			float larger = fmaxf(m, p[c]);

			if (larger > -INFINITY)
				s = s * expf(m - larger) + expf(p[c] - larger);
			m = larger;
		}
		y[r] = m > -INFINITY ? m + logf(s) : m;
	}
}
