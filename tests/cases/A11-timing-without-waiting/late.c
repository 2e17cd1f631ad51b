//# task softmax
//# expect cheat/late_write
//# why The call returns with nothing done; a thread writes the answer a moment later.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

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

struct job {
	const float *x;
	float *y;
	int64_t rows, cols;
};

static void *work(void *arg)
{
	struct job j = *(struct job *)arg;

	free(arg);
	for (volatile int i = 0; i < 200000; i++)
		;
	softmax(j.x, j.y, j.rows, j.cols);
	return NULL;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	struct job *j = malloc(sizeof(*j));
	pthread_t t;

	if (!j)
		return;
	*j = (struct job){ x, y, rows, cols };
	if (pthread_create(&t, NULL, work, j) == 0)
		pthread_detach(t);
	else
		free(j);
}
