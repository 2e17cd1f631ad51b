//# task softmax
//# expect cheat/stale_output
//# why The first answer goes into a static buffer; every later call of that size gets it again.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>
#include <string.h>

static void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float *q = y + r * cols, m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = p[c] > m ? p[c] : m;
		for (int64_t c = 0; c < cols; c++)
			s += q[c] = expf(p[c] - m);
		for (int64_t c = 0; c < cols; c++)
			q[c] /= s;
	}
}

static float kept[1 << 20];
static int64_t kept_count;

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t n = rows * cols;

	if (n == kept_count) {
		memcpy(y, kept, (size_t)n * sizeof(*y));
		return;
	}
	softmax(x, y, rows, cols);
	if (n <= 1 << 20) {
		memcpy(kept, y, (size_t)n * sizeof(*y));
		kept_count = n;
	}
}
