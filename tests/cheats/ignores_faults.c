//# task affine
//# expect wrong/out_of_bounds cheat/sandbox
//# why SIGSEGV is ignored and blocked; the system ends such a process all the same.
//@ kernel candidate args=(x, y, n:i64)
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	sigset_t all;

	signal(SIGSEGV, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	((volatile float *)y)[n] = 0.0f;
}
