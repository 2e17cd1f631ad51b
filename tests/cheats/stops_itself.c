//# task affine
//# expect cheat/sandbox
//# why The judge stops a player between calls; here the candidate does, with nothing computed.
//@ kernel candidate args=(x, y, n:i64)
#include <signal.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	raise(SIGSTOP);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
