//# task affine
//# expect runtime_error/exited
//# why _exit(0) in the middle of a call, as if a code of 0 were a verdict.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	(void)y;
	(void)n;
	_exit(0);
}
