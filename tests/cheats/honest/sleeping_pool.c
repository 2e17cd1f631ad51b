//# task rowsum
//# expect ok
//# why A thread of its own that is kept, and sleeps between calls.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <pthread.h>
#include <stdint.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
	const float *x;
	float *y;
	int64_t first, end, cols;
	int todo, started;
} job;

static void sums(const float *x, float *y, int64_t first, int64_t end, int64_t cols)
{
	for (int64_t r = first; r < end; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += x[r * cols + c];
		y[r] = s;
	}
}

static void *work(void *arg)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!job.todo)
			pthread_cond_wait(&changed, &mutex);
		pthread_mutex_unlock(&mutex);
		sums(job.x, job.y, job.first, job.end, job.cols);
		pthread_mutex_lock(&mutex);
		job.todo = 0;
		pthread_cond_broadcast(&changed);
	}
	return arg;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	pthread_t thread;
	int64_t half = rows / 2;

	if (!job.started)
		job.started = pthread_create(&thread, NULL, work, NULL) == 0;
	if (!job.started)
		half = rows;
	pthread_mutex_lock(&mutex);
	job.x = x;
	job.y = y;
	job.first = half;
	job.end = rows;
	job.cols = cols;
	job.todo = job.started;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	sums(x, y, 0, half, cols);
	pthread_mutex_lock(&mutex);
	while (job.todo)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}
