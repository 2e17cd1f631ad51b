/* Processes that import PyTorch, started on threads before somebody waits for them. */
#include "judge/internal.h"

#include "base/alloc.h"

#include <pthread.h>

enum { REFERENCE, MODULES, KINDS };

struct expected {
	pthread_mutex_t lock;
	pthread_cond_t over;
	pthread_t thread[KINDS];
	bool started[KINDS];
	bool ends;
	struct kw_judge *j;
};

static void *start_reference(void *arg)
{
	kw_torch_process_start(((struct expected *)arg)->j);
	return NULL;
}

/* A player's process ends with the thread that started it, so this one stays. */
static void *start_modules(void *arg)
{
	struct expected *e = arg;

	kw_module_host_start(e->j);
	pthread_mutex_lock(&e->lock);
	while (!e->ends)
		pthread_cond_wait(&e->over, &e->lock);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

void kw_judge_expect(struct kw_judge *j, bool modules)
{
	static void *(*const starts[KINDS])(void *) = { start_reference, start_modules };
	struct expected *e = j->expected;

	if (!e) {
		e = j->expected = kw_calloc(1, sizeof *e);
		if (!e)
			return;
		e->j = j;
		pthread_mutex_init(&e->lock, NULL);
		pthread_cond_init(&e->over, NULL);
	}
	for (int i = 0; i < KINDS; i++)
		if (!e->started[i] && (i == MODULES ? modules : kw_torch_process_begin(j)))
			e->started[i] = pthread_create(&e->thread[i], NULL, starts[i], e) == 0;
}

void kw_expected_free(struct kw_judge *j)
{
	struct expected *e = j->expected;

	if (!e)
		return;
	pthread_mutex_lock(&e->lock);
	e->ends = true;
	pthread_cond_broadcast(&e->over);
	pthread_mutex_unlock(&e->lock);
	for (int i = 0; i < KINDS; i++)
		if (e->started[i])
			pthread_join(e->thread[i], NULL);
	pthread_cond_destroy(&e->over);
	pthread_mutex_destroy(&e->lock);
	kw_free(e);
	j->expected = NULL;
}
