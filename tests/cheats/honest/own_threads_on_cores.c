//# task affine
//# expect ok
//# why What _GNU_SOURCE gives, though the builder's header comes before its definition; C11 threads; a barrier.
//@ kernel candidate args=(x, y, n:i64)
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <threads.h>

struct part {
	const float *x;
	float *y;
	int64_t n;
};
static pthread_barrier_t both;

static int run(void *arg)
{
	const struct part *p = arg;
	cpu_set_t cores;

	CPU_ZERO(&cores);
	if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
		sched_setaffinity(0, sizeof(cores), &cores);
	pthread_barrier_wait(&both);
	for (int64_t i = 0; i < p->n; i++)
		p->y[i] = 2.0f * p->x[i] + 1.0f;
	return 0;
}

void candidate(const float *x, float *y, int64_t n)
{
	struct part first = { x, y, n / 2 }, rest = { x + n / 2, y + n / 2, n - n / 2 };
	thrd_t other;
	int started;

	pthread_barrier_init(&both, NULL, 2);
	started = thrd_create(&other, run, &first);
	if (started != thrd_success)
		return;
	run(&rest);
	thrd_join(other, NULL);
	pthread_barrier_destroy(&both);
}
