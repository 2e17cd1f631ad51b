//# task affine
//# expect cheat/background_work
//# why A thread goes on after the call; it would work on the next input while no clock runs.
//@ kernel candidate args=(x, y, n:i64)
#include <pthread.h>
#include <stdint.h>

static volatile double heat;
static int started;

static void *spin(void *arg)
{
	(void)arg;
	for (;;)
		heat = heat * 0.5 + 1.0;
	return NULL;
}

void candidate(const float *x, float *y, int64_t n)
{
	pthread_t t;

	if (!started && pthread_create(&t, NULL, spin, NULL) == 0)
		started = 1;
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
