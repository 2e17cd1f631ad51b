//# task softmax
//# expect ok
//# why Exponentials are kept in memory from malloc, freed before it returns.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	float *e = malloc((size_t)cols * sizeof(*e));

	if (!e)
		abort();
	for (int64_t r = 0; r < rows; r++) {
		float m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = x[r * cols + c] > m ? x[r * cols + c] : m;
		for (int64_t c = 0; c < cols; c++)
			s += e[c] = expf(x[r * cols + c] - m);
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = e[c] / s;
	}
	free(e);
}
