//# task affine
//# expect runtime_error/timeout cheat/sandbox
//# why It stops itself, so that a judge which waits for an answer waits for ever.
//@ kernel candidate args=(x, y, n:i64)
#include <signal.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	(void)y;
	(void)n;
	raise(SIGSTOP);
	for (;;)
		raise(SIGSTOP);
}
