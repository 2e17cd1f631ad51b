//# task affine
//# expect cheat/background_work cheat/sandbox
//# why The thread is started when the code is loaded, before any call.
//@ kernel candidate args=(x, y, n:i64)
#include <pthread.h>
#include <stdint.h>

static volatile double heat;

static void *spin(void *arg)
{
	(void)arg;
	for (;;)
		heat = heat * 0.5 + 1.0;
	return NULL;
}

__attribute__((constructor)) static void start(void)
{
	pthread_t t;

	pthread_create(&t, NULL, spin, NULL);
}

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
