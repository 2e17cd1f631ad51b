//# task softmax
//# expect cheat/stale_output
//# why Outputs are remembered by the address of the input, as if equal addresses meant equal contents.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
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

static struct entry {
	const float *x;
	int64_t n;
	float *y;
} table[64];

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t n = rows * cols;
	struct entry *e = &table[((uintptr_t)x >> 12) % 64];

	if (e->x == x && e->n == n && e->y) {
		memcpy(y, e->y, (size_t)n * sizeof(*y));
		return;
	}
	softmax(x, y, rows, cols);
	free(e->y);
	e->x = x;
	e->n = n;
	e->y = malloc((size_t)n * sizeof(*y) + 1);
	if (e->y)
		memcpy(e->y, y, (size_t)n * sizeof(*y));
}
