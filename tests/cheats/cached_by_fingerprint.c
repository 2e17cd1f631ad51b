//# task softmax
//# expect ok cheat/stale_output cheat/state
//# not-faster naive
//# why Outputs are remembered by four elements of the input: a hit whenever only other elements
//# why differ, and a great speed-up if the same contents are timed again and again.
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
	float key[4];
	int64_t n;
	float *y;
} table[256];

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t n = rows * cols;
	float key[4] = { 0 };
	uint32_t bits[4], h = 0;

	if (n == 0)
		return;
	key[0] = x[0];
	key[1] = x[n / 3];
	key[2] = x[n / 2];
	key[3] = x[n - 1];
	memcpy(bits, key, sizeof(bits));
	for (int i = 0; i < 4; i++)
		h = (h ^ bits[i]) * 16777619u;
	struct entry *e = &table[h >> 24];

	if (e->n == n && memcmp(e->key, key, sizeof(key)) == 0 && e->y) {
		memcpy(y, e->y, (size_t)n * sizeof(*y));
		return;
	}
	softmax(x, y, rows, cols);
	free(e->y);
	memcpy(e->key, key, sizeof(key));
	e->n = n;
	e->y = malloc((size_t)n * sizeof(*y));
	if (e->y)
		memcpy(e->y, y, (size_t)n * sizeof(*y));
}
