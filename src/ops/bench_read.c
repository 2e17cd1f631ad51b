/* Threads that read problems ahead of who works on them: an import of PyTorch takes seconds, and needs no device. */
#include <pthread.h>

#include "base/alloc.h"
#include "ops/bench_internal.h"

enum { READERS_MAX = 8 };

struct kw_bench_readers {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t id[READERS_MAX];
	int started;
	size_t count, ahead;
	size_t next, wanted;              /* the next to be read; who works is at this one */
	bool *done;
	bool over;
	void (*read)(void *arg, size_t i);
	void *arg;
};

static void *drain(void *arg)
{
	struct kw_bench_readers *r = arg;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		size_t i;

		while (!r->over && r->next < r->count && r->next > r->wanted + r->ahead)
			pthread_cond_wait(&r->changed, &r->lock);
		if (r->over || r->next >= r->count)
			break;
		i = r->next++;
		pthread_mutex_unlock(&r->lock);
		r->read(r->arg, i);
		pthread_mutex_lock(&r->lock);
		r->done[i] = true;
		pthread_cond_broadcast(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

struct kw_bench_readers *kw_bench_readers_new(int threads, size_t count, size_t ahead, void (*read)(void *arg, size_t i), void *arg)
{
	struct kw_bench_readers *r = kw_calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	*r = (struct kw_bench_readers){ .count = count, .ahead = ahead, .read = read, .arg = arg };
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->done = kw_calloc(count + 1, sizeof(*r->done));
	threads = threads < READERS_MAX ? threads : READERS_MAX;
	while (r->done && r->started < threads && (size_t)r->started < count &&
	       pthread_create(&r->id[r->started], NULL, drain, r) == 0)
		r->started++;
	if (r->started)
		return r;
	kw_bench_readers_free(r);
	return NULL;
}

void kw_bench_readers_wait(struct kw_bench_readers *r, size_t i)
{
	pthread_mutex_lock(&r->lock);
	if (i > r->wanted)
		r->wanted = i;
	pthread_cond_broadcast(&r->changed);
	while (!r->done[i])
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

void kw_bench_readers_free(struct kw_bench_readers *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->over = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	for (int i = 0; i < r->started; i++)
		pthread_join(r->id[i], NULL);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	kw_free(r->done);
	kw_free(r);
}
