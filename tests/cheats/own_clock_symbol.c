//# task softmax
//# expect ok cheat/sandbox cheat/forged_answer
//# why It brings its own clock_gettime, time and gettimeofday. The judge's clock is in another
//# why process: the kernel is as slow as it is.
//# not-faster naive
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

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

int clock_gettime(clockid_t id, struct timespec *t)
{
	(void)id;
	t->tv_sec = 1;
	t->tv_nsec = 1;
	return 0;
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	softmax(x, y, rows, cols);
	softmax(x, y, rows, cols);
}
