//# task affine
//# expect runtime_error/crash
//# why SIGTERM to itself: that it comes from outside is for the kernel to say.
//@ kernel candidate args=(x, y, n:i64)
#include <signal.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	raise(SIGTERM);
}
