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

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
uint64_t kw_next_u64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}
