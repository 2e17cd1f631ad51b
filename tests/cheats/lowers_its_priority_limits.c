//# task affine
//# expect cheat/sandbox
//# why It raises its own limits.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <sys/resource.h>

void candidate(const float *x, float *y, int64_t n)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_AS, &all);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
