//# task softmax
//# expect cheat/stale_output
//# why It is honest for the first three calls and lives on the answer of the third from then on.
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
static int64_t calls, kept_count;

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t n = rows * cols;

	if (++calls > 3 && kept_count == n) {
		memcpy(y, kept, (size_t)n * sizeof(*y));
		return;
	}
	softmax(x, y, rows, cols);
	if (n <= 1 << 20) {
		memcpy(kept, y, (size_t)n * sizeof(*y));
		kept_count = n;
	}
}
