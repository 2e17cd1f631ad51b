/* What is begun on threads before somebody waits for it: processes that import PyTorch, and the checks of tasks' references. */
#include "judge/internal.h"

#include "base/alloc.h"

#include <pthread.h>
#include <string.h>

enum { REFERENCE, MODULES, KINDS, CHECKS_MAX = 64 };

struct ahead {
	const struct kw_task *t;          /* the caller's */
	const struct kw_expr *e;
	uint64_t seed;
};

struct expected {
	pthread_mutex_t lock;
	pthread_cond_t over;
	pthread_t thread[KINDS];
	bool started[KINDS];
	bool ends;
	int triton;                       /* modules with it */
	struct kw_judge *j;
	pthread_t checker;                /* goes through `ahead`, one after the other */
	bool checks;                      /* there is one to join */
	struct ahead ahead[CHECKS_MAX];
	size_t count, begun;
	bool busy;                        /* with the last of those that were begun; false: the thread ends, or waits for a next one */
	bool no_more;
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

	kw_module_host_start(e->j, e->triton);
	pthread_mutex_lock(&e->lock);
	while (!e->ends)
		pthread_cond_wait(&e->over, &e->lock);
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

static struct expected *expected_of(struct kw_judge *j)
{
	struct expected *e = j->expected;

	if (!e && (e = j->expected = kw_calloc(1, sizeof *e)) != NULL) {
		e->j = j;
		pthread_mutex_init(&e->lock, NULL);
		pthread_cond_init(&e->over, NULL);
	}
	return e;
}

void kw_judge_expect(struct kw_judge *j, bool modules, int triton)
{
	static void *(*const starts[KINDS])(void *) = { start_reference, start_modules };
	struct expected *e = expected_of(j);

	if (e && !e->started[MODULES])
		e->triton = triton;
	for (int i = 0; e && i < KINDS; i++)
		if (!e->started[i] && (i == MODULES ? modules : kw_torch_process_begin(j)))
			e->started[i] = pthread_create(&e->thread[i], NULL, starts[i], e) == 0;
}

static void *check(void *arg)
{
	struct expected *e = arg;

	pthread_mutex_lock(&e->lock);
	for (;;) {
		struct ahead a;

		e->busy = false;
		pthread_cond_broadcast(&e->over);
		while (!e->no_more && e->begun == e->count)
			pthread_cond_wait(&e->over, &e->lock);
		if (e->no_more)
			break;
		a = e->ahead[e->begun++];
		e->busy = true;
		pthread_mutex_unlock(&e->lock);
		kw_torch_reference_ahead(e->j, a.t, a.e, a.seed);
		pthread_mutex_lock(&e->lock);
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

void kw_judge_check_ahead(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e, uint64_t seed)
{
	struct expected *x = expected_of(j);
	bool known = false;

	if (!x || !t->torch_form || !t->expr || (!j->torch && !kw_torch_process_begin(j)))
		return;
	pthread_mutex_lock(&x->lock);
	for (size_t i = 0; i < x->count; i++)
		known = known || strcmp(x->ahead[i].t->sha256, t->sha256) == 0;
	if (!known && !x->no_more && x->count < CHECKS_MAX)
		x->ahead[x->count++] = (struct ahead){ t, e, seed };
	if (x->count && !x->checks)
		x->checks = pthread_create(&x->checker, NULL, check, x) == 0;
	if (!x->checks)
		x->count = 0;
	pthread_cond_broadcast(&x->over);
	pthread_mutex_unlock(&x->lock);
}

const struct kw_task *kw_judge_check_last(struct kw_judge *j)
{
	struct expected *e = j->expected;
	const struct kw_task *t = NULL;

	if (!e || !e->checks)
		return NULL;
	pthread_mutex_lock(&e->lock);
	/* The first of them is what comes next: it shall not have begun too late. */
	while (e->count && !e->begun)
		pthread_cond_wait(&e->over, &e->lock);
	e->no_more = true;
	t = e->busy ? e->ahead[e->begun - 1].t : NULL;
	pthread_cond_broadcast(&e->over);
	pthread_mutex_unlock(&e->lock);
	return t;
}

void kw_judge_check_over(struct kw_judge *j)
{
	struct expected *e = j->expected;

	if (!e || !e->checks)
		return;
	kw_judge_check_last(j);
	pthread_join(e->checker, NULL);
	e->checks = e->no_more = false;
	e->count = e->begun = 0;
}

void kw_expected_free(struct kw_judge *j)
{
	struct expected *e = j->expected;

	if (!e)
		return;
	kw_judge_check_over(j);
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
