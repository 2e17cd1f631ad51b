//# task affine
//# expect ok
//# why An entry of which the loader chooses one of several for this processor, and another by a function of
//# why its own.
//# needs sse2
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

static void plain(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}

static void (*choose(void))(const float *, float *, int64_t)
{
	return plain;
}

static void chosen(const float *x, float *y, int64_t n) __attribute__((ifunc("choose")));

__attribute__((target_clones("avx2", "default"))) void candidate(const float *x, float *y, int64_t n)
{
	int64_t half = n / 2;

	for (int64_t i = 0; i < half; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	chosen(x + half, y + half, n - half);
}
