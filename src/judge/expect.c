/* What is begun on threads before somebody waits for it: processes that import PyTorch, and the check of a task's reference. */
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
	int triton;                       /* modules with it */
	struct kw_judge *j;
	pthread_t checker;
	bool checks;
	const struct kw_task *t;          /* that it checks; the caller's */
	const struct kw_expr *e;
	uint64_t seed;
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

	kw_torch_reference_ahead(e->j, e->t, e->e, e->seed);
	return NULL;
}

void kw_judge_check_ahead(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e, uint64_t seed)
{
	struct expected *x = expected_of(j);

	kw_judge_check_over(j);
	if (!x || !t->torch_form || !t->expr || (!j->torch && !kw_torch_process_begin(j)))
		return;
	x->t = t;
	x->e = e;
	x->seed = seed;
	x->checks = pthread_create(&x->checker, NULL, check, x) == 0;
}

void kw_judge_check_over(struct kw_judge *j)
{
	struct expected *e = j->expected;

	if (e && e->checks)
		pthread_join(e->checker, NULL);
	if (e)
		e->checks = false;
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
