//# task affine
//# expect cheat/sandbox
//# why fork without end.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int i = 0; i < 64; i++)
		if (fork() < 0)
			break;
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
