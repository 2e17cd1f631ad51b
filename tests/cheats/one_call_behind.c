//# task softmax
//# expect cheat/late_write cheat/background_work
//# why Hands each call to a thread and waits for that of the call before: in a batch all but the last are
//# why done in time.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <pthread.h>
#include <stdint.h>

static void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		const float *p = x + r * cols;
		float *q = y + r * cols, m = -INFINITY, s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			m = p[c] > m ? p[c] : m;
		for (int64_t c = 0; c < cols; c++)
			s += q[c] = expf(p[c] - m);
		for (int64_t c = 0; c < cols; c++)
			q[c] /= s;
	}
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
	const float *x;
	float *y;
	int64_t rows, cols;
	int full, started;
} job;

static void *work(void *arg)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!job.full)
			pthread_cond_wait(&changed, &mutex);
		pthread_mutex_unlock(&mutex);
		softmax(job.x, job.y, job.rows, job.cols);
		pthread_mutex_lock(&mutex);
		job.full = 0;
		pthread_cond_broadcast(&changed);
	}
	return arg;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	pthread_t thread;

	if (!job.started)
		job.started = pthread_create(&thread, NULL, work, NULL) == 0;
	pthread_mutex_lock(&mutex);
	while (job.full)
		pthread_cond_wait(&changed, &mutex);
	job.x = x;
	job.y = y;
	job.rows = rows;
	job.cols = cols;
	job.full = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}
