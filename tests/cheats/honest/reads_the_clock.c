//# task affine
//# expect ok
//# why It asks what time it is, as a kernel that measures its own phases would.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <time.h>

static double spent;

void candidate(const float *x, float *y, int64_t n)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	clock_gettime(CLOCK_MONOTONIC, &b);
	spent += (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}
