#include "judge/internal.h"

#include <pthread.h>
#include <stdatomic.h>

#define MAX_THREADS 64

struct pool {
	void (*fn)(void *arg, int64_t i);
	void *arg;
	int64_t n;
	_Atomic int64_t next;
};

static void *drain(void *p)
{
	struct pool *pool = p;
	int64_t i;

	while ((i = atomic_fetch_add(&pool->next, 1)) < pool->n)
		pool->fn(pool->arg, i);
	return NULL;
}

void kw_parallel(int threads, int64_t n, void (*fn)(void *arg, int64_t i), void *arg)
{
	struct pool pool = { .fn = fn, .arg = arg, .n = n };
	pthread_t id[MAX_THREADS];
	int started = 0;

	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	if (threads > n)
		threads = (int)n;
	while (started < threads - 1 && pthread_create(&id[started], NULL, drain, &pool) == 0)
		started++;
	drain(&pool); /* this thread works too, so a failed pthread_create costs time, never work */
	for (int i = 0; i < started; i++)
		pthread_join(id[i], NULL);
}
