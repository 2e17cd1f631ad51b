//# task affine
//# expect runtime_error/timeout
//# why It takes the same lock twice.
//@ kernel candidate args=(x, y, n:i64)
#include <pthread.h>
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	pthread_mutex_lock(&lock);
}
