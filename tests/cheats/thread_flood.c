//# task affine
//# expect cheat/background_work cheat/sandbox runtime_error/timeout runtime_error/crash launch_error/out_of_memory
//# why Threads without end.
//@ kernel candidate args=(x, y, n:i64)
#include <pthread.h>
#include <stdint.h>

static void *spin(void *arg)
{
	for (volatile int i = 0; i >= 0; i = 0)
		;
	return arg;
}

void candidate(const float *x, float *y, int64_t n)
{
	pthread_t t;

	for (int i = 0; i < 10000; i++)
		if (pthread_create(&t, NULL, spin, NULL) != 0)
			break;
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
