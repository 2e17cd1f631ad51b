//# task affine
//# expect runtime_error/timeout cheat/sandbox
//# why It never comes back and uses no time.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	(void)y;
	(void)n;
	for (;;)
		sleep(1000);
}
