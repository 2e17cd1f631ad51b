//# task softmax
//# expect cheat/late_write cheat/sandbox
//# why The work is done in a handler of SIGCONT, which runs when the judge lets the stopped process go
//# why on.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <math.h>
#include <signal.h>
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

static struct {
	const float *x;
	float *y;
	int64_t rows, cols;
} job;

static void on_continue(int sig)
{
	(void)sig;
	if (job.y)
		softmax(job.x, job.y, job.rows, job.cols);
}

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	signal(SIGCONT, on_continue);
	job.x = x;
	job.y = y;
	job.rows = rows;
	job.cols = cols;
}
