//# task affine
//# expect cheat/constant_output
//# why The inputs are made again from a seed that it believes to be known; what it was given is not
//# why read.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

static uint64_t next(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

void candidate(const float *x, float *y, int64_t n)
{
	uint64_t s = 42;

	(void)x;
	for (int64_t i = 0; i < n; i++) {
		float guess = (float)(next(&s) >> 40) / 16777216.0f;

		y[i] = 2.0f * guess + 1.0f;
	}
}
