//# task affine
//# expect runtime_error/crash cheat/sandbox
//# why SIGKILL to itself: no handler sees that.
//@ kernel candidate args=(x, y, n:i64)
#include <signal.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	(void)y;
	(void)n;
	raise(SIGKILL);
}
