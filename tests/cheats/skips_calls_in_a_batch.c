//# task affine
//# expect cheat/state cheat/stale_output wrong/unwritten wrong/race
//# why Works only when the call before is long ago: in a timed batch one follows another at once.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <time.h>

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

void candidate(const float *x, float *y, int64_t n)
{
	static int64_t last_ns;
	int64_t gap_ns = now_ns() - last_ns;

	if (last_ns && gap_ns < 50000) {
		last_ns = now_ns();
		return;
	}
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	last_ns = now_ns();
}
