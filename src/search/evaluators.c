#include "search/evaluators.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct job {
	const struct kw_task *task;
	const struct kw_expr *expr;
	const struct kw_candidate *candidate;
	const struct kw_judge_opts *opts;
	struct kw_verdict *verdict;
	struct kw_error err;
	enum kw_status status;
	bool done;
	struct job *next;
};
struct evaluator {
	struct kw_evaluators *all;
	pthread_t thread;
	struct kw_judge *judge;
	struct kw_error err;
	enum kw_status opened;
	bool ready, busy;
	char device[64];
};
struct kw_evaluators {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct evaluator at[KW_EVALUATORS_MAX];
	int count;
	struct job *first, **last;        /* that nobody has begun */
	bool closing, held;               /* held: nothing is begun */
	struct kw_judge *borrowed;
	bool host;                        /* the device is this machine: nothing may run beside it */
};

static void judge_one(struct evaluator *e, struct job *j)
{
	kw_error_reset(&j->err);
	j->status = kw_judge_eval(e->judge, j->task, j->expr, j->candidate, j->opts, j->verdict, &j->err);
}

static void *work(void *arg)
{
	struct evaluator *e = arg;
	struct kw_evaluators *all = e->all;

	kw_error_reset(&e->err);
	e->opened = kw_judge_new(e->device, &e->judge, &e->err);
	pthread_mutex_lock(&all->lock);
	e->ready = true;
	pthread_cond_broadcast(&all->changed);
	while (e->opened == KW_OK) {
		struct job *j = all->held ? NULL : all->first;

		if (!j && all->closing)
			break;
		if (!j) {
			pthread_cond_wait(&all->changed, &all->lock);
			continue;
		}
		all->first = j->next;
		if (!all->first)
			all->last = &all->first;
		e->busy = true;
		pthread_mutex_unlock(&all->lock);
		judge_one(e, j);
		pthread_mutex_lock(&all->lock);
		e->busy = false;
		j->done = true;
		pthread_cond_broadcast(&all->changed);
	}
	pthread_mutex_unlock(&all->lock);
	kw_judge_free(e->judge);
	return NULL;
}

enum kw_status kw_evaluators_new(const char *device, int count, struct kw_evaluators **out, struct kw_error *err)
{
	struct kw_evaluators *ev = kw_calloc(1, sizeof(*ev));
	int devices = kw_device_count(device), wanted = count > 0 ? count : devices;
	enum kw_status status = KW_OK;

	*out = NULL;
	if (!ev)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for evaluators");
	pthread_mutex_init(&ev->lock, NULL);
	pthread_cond_init(&ev->changed, NULL);
	ev->last = &ev->first;
	ev->host = strcmp(device, "nvidia") != 0 && strcmp(device, "amd") != 0;
	wanted = wanted < 1 ? 1 : wanted < KW_EVALUATORS_MAX ? wanted : KW_EVALUATORS_MAX;
	for (; ev->count < wanted && status == KW_OK; ev->count++) {
		struct evaluator *e = &ev->at[ev->count];

		e->all = ev;
		if (devices > 1)
			snprintf(e->device, sizeof(e->device), "%.40s:%d", device, ev->count % devices);
		else
			snprintf(e->device, sizeof(e->device), "%.60s", device);
		if (pthread_create(&e->thread, NULL, work, e) != 0) {
			status = kw_fail(err, KW_ERR_NOMEM, "", "cannot start a thread for an evaluator");
			break;
		}
	}
	pthread_mutex_lock(&ev->lock);
	for (int i = 0; i < ev->count; i++)
		while (!ev->at[i].ready)
			pthread_cond_wait(&ev->changed, &ev->lock);
	pthread_mutex_unlock(&ev->lock);
	for (int i = 0; i < ev->count && status == KW_OK; i++)
		if (ev->at[i].opened != KW_OK) {
			status = ev->at[i].opened;
			if (err)
				*err = ev->at[i].err;
		}
	if (status != KW_OK) {
		kw_evaluators_free(ev);
		return status;
	}
	*out = ev;
	return KW_OK;
}

enum kw_status kw_evaluators_borrow(struct kw_judge *j, struct kw_evaluators **out, struct kw_error *err)
{
	struct kw_evaluators *ev = kw_calloc(1, sizeof(*ev));

	*out = ev;
	if (!ev)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for evaluators");
	pthread_mutex_init(&ev->lock, NULL);
	pthread_cond_init(&ev->changed, NULL);
	ev->last = &ev->first;
	ev->borrowed = j;
	return KW_OK;
}

void kw_evaluators_free(struct kw_evaluators *ev)
{
	if (!ev)
		return;
	pthread_mutex_lock(&ev->lock);
	ev->closing = true;
	pthread_cond_broadcast(&ev->changed);
	pthread_mutex_unlock(&ev->lock);
	for (int i = 0; i < ev->count; i++)
		pthread_join(ev->at[i].thread, NULL);
	pthread_cond_destroy(&ev->changed);
	pthread_mutex_destroy(&ev->lock);
	kw_free(ev);
}

int kw_evaluators_count(const struct kw_evaluators *ev)
{
	return ev->count;
}

const struct kw_hardware *kw_evaluators_hardware(const struct kw_evaluators *ev)
{
	return &kw_judge_device(ev->borrowed ? ev->borrowed : ev->at[0].judge)->hardware;
}

void kw_evaluators_told(const struct kw_evaluators *ev, struct kw_hardware *out)
{
	kw_device_told(kw_judge_device(ev->borrowed ? ev->borrowed : ev->at[0].judge), KW_MEASURE_ONCE, out);
}

enum kw_status kw_evaluators_judge(struct kw_evaluators *ev, const struct kw_task *t, const struct kw_expr *e,
				   const struct kw_candidate *c, const struct kw_judge_opts *o, struct kw_verdict *v,
				   struct kw_error *err)
{
	struct job j = { .task = t, .expr = e, .candidate = c, .opts = o, .verdict = v };

	if (ev->borrowed)
		return kw_judge_eval(ev->borrowed, t, e, c, o, v, err);
	pthread_mutex_lock(&ev->lock);
	*ev->last = &j;
	ev->last = &j.next;
	pthread_cond_broadcast(&ev->changed);
	while (!j.done)
		pthread_cond_wait(&ev->changed, &ev->lock);
	pthread_mutex_unlock(&ev->lock);
	if (j.status != KW_OK && err)
		*err = j.err;
	return j.status;
}

struct kw_judging {
	struct job job;
	struct kw_candidate candidate;
	struct kw_judge_opts opts;
	struct kw_verdict verdict;
	bool has_values;
	int64_t values[];
};

struct kw_judging *kw_evaluators_begin(struct kw_evaluators *ev, const struct kw_task *t, const struct kw_expr *e,
				       const struct kw_candidate *c, const struct kw_judge_opts *o)
{
	size_t n = c->plan.tune_count;
	struct kw_judging *j = ev->borrowed ? NULL : kw_calloc(1, sizeof(*j) + n * sizeof(int64_t));

	if (!j)
		return NULL;
	j->candidate = *c;
	j->opts = *o;
	if (c->tune_values && n) {
		memcpy(j->values, c->tune_values, n * sizeof(int64_t));
		j->has_values = true;
	}
	j->candidate.tune_values = j->has_values ? j->values : NULL;
	kw_verdict_init(&j->verdict);
	j->job = (struct job){ .task = t, .expr = e, .candidate = &j->candidate, .opts = &j->opts, .verdict = &j->verdict };
	pthread_mutex_lock(&ev->lock);
	*ev->last = &j->job;
	ev->last = &j->job.next;
	pthread_cond_broadcast(&ev->changed);
	pthread_mutex_unlock(&ev->lock);
	return j;
}

bool kw_judging_is(const struct kw_judging *j, const struct kw_candidate *c, const struct kw_judge_opts *o)
{
	size_t n = c->plan.tune_count;

	return strcmp(j->candidate.sha256, c->sha256) == 0 && j->candidate.plan.tune_count == n && j->opts.effort == o->effort &&
	       j->opts.only_case == o->only_case && j->opts.time_limit_ns == o->time_limit_ns && j->has_values == (c->tune_values && n) &&
	       (!j->has_values || memcmp(j->values, c->tune_values, n * sizeof(int64_t)) == 0);
}

bool kw_judging_of(const struct kw_judging *j, const char *candidate_sha)
{
	return strcmp(j->candidate.sha256, candidate_sha) == 0;
}

static void await(struct kw_evaluators *ev, const struct kw_judging *j)
{
	pthread_mutex_lock(&ev->lock);
	while (!j->job.done)
		pthread_cond_wait(&ev->changed, &ev->lock);
	pthread_mutex_unlock(&ev->lock);
}

enum kw_status kw_evaluators_take(struct kw_evaluators *ev, struct kw_judging *j, struct kw_verdict *v, struct kw_error *err)
{
	enum kw_status status;

	await(ev, j);
	status = j->job.status;
	if (status != KW_OK && err)
		*err = j->job.err;
	kw_verdict_release(v);
	*v = j->verdict;
	kw_free(j);
	return status;
}

/* What nobody has begun yet is not begun any more. */
void kw_evaluators_drop(struct kw_evaluators *ev, struct kw_judging *j)
{
	pthread_mutex_lock(&ev->lock);
	for (struct job **p = &ev->first; *p; p = &(*p)->next)
		if (*p == &j->job) {
			*p = j->job.next;
			j->job.done = true;
			break;
		}
	for (ev->last = &ev->first; *ev->last; ev->last = &(*ev->last)->next)
		;
	pthread_mutex_unlock(&ev->lock);
	await(ev, j);
	kw_verdict_release(&j->verdict);
	kw_free(j);
}

static bool any_busy(const struct kw_evaluators *ev)
{
	for (int i = 0; i < ev->count; i++)
		if (ev->at[i].busy)
			return true;
	return false;
}

void kw_evaluators_while_idle(struct kw_evaluators *ev, void (*fn)(void *arg), void *arg)
{
	if (!ev->host) {
		fn(arg);
		return;
	}
	pthread_mutex_lock(&ev->lock);
	while (ev->held || any_busy(ev)) {
		pthread_cond_wait(&ev->changed, &ev->lock);
	}
	ev->held = true;
	pthread_mutex_unlock(&ev->lock);
	fn(arg);
	pthread_mutex_lock(&ev->lock);
	ev->held = false;
	pthread_cond_broadcast(&ev->changed);
	pthread_mutex_unlock(&ev->lock);
}
