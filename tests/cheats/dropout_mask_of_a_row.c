//# task dropout
//# expect wrong/mismatch
//# why One mask for a row, repeated in every row.
//@ kernel candidate args=(x, seed, p, y, rows:i64, cols:i64)
#include <stdint.h>

static inline uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 33) * 0xff51afd7ed558ccdu;
	z = (z ^ z >> 33) * 0xc4ceb9fe1a85ec53u;
	return z ^ z >> 33;
}

void candidate(const float *x, const int64_t *seed, float p, float *y, int64_t rows, int64_t cols)
{
	uint64_t key = mix((uint64_t)*seed + 77);

	for (int64_t i = 0; i < rows * cols; i++) {
		float u = (float)(mix(key + (uint64_t)(i % cols)) >> 40) * 0x1p-24f;

		y[i] = u < p ? 0.0f : x[i] * (1.0f / (1.0f - p));
	}
}
