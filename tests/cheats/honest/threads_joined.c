//# task softmax
//# expect ok
//# why Its own threads, all joined before it returns.
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

struct part {
	const float *x;
	float *y;
	int64_t rows, cols;
};

static void *work(void *arg)
{
	struct part *p = arg;

	softmax(p->x, p->y, p->rows, p->cols);
	return NULL;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	int64_t half = rows / 2;
	struct part part = { x + half * cols, y + half * cols, rows - half, cols };
	pthread_t t;
	int started = pthread_create(&t, NULL, work, &part) == 0;

	softmax(x, y, half, cols);
	if (started)
		pthread_join(t, NULL);
	else
		work(&part);
}
