//# task softmax
//# expect cheat/stale_output
//# why Scratch memory is asked for and used to keep the answer, with the address of the input as its key.
//@ kernel candidate args=(x, y, kept, key, rows:i64, cols:i64)
//@ workspace kept f32[rows, cols]
//@ workspace key i64[1]
#include <math.h>
#include <stdint.h>
#include <string.h>

void candidate(const float *x, float *y, float *kept, int64_t *key, int64_t rows, int64_t cols)
{
	int64_t mine = (int64_t)x ^ 0x5eed5eed5eed5eed;

	if (*key == mine) {
		memcpy(y, kept, (size_t)(rows * cols) * sizeof(*y));
		return;
	}
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
	memcpy(kept, y, (size_t)(rows * cols) * sizeof(*y));
	*key = mine;
}
