//# task affine
//# expect cheat/sandbox
//# why A signal to every process that it may send one to.
//@ kernel candidate args=(x, y, n:i64)
#include <signal.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	kill(-1, SIGTERM);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
