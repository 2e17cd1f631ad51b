#include "judge/internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

/* Defines decide the object code, so cases with equal defines share a build. Some backends compile for more than that. */
const char *kw_builds_key(const struct kw_backend *b, const struct kw_bound_plan *plan, struct kw_arena *a)
{
	struct kw_buf text;
	char *key;

	kw_buf_init(&text, 1 << 16);
	for (size_t i = 0; i < plan->define_count; i++)
		kw_buf_printf(&text, "%s%s=%lld", i ? " " : "", plan->defines[i].name, (long long)plan->defines[i].value);
	kw_build_variant(b, plan, &text);
	key = text.full ? NULL : kw_arena_strndup(a, text.ptr ? text.ptr : "", text.len);
	kw_buf_release(&text);
	return key;
}

struct job {
	const struct kw_backend *backend;
	const struct kw_candidate *candidate;
	const struct kw_bound_plan *plan;
	struct kw_build_opts o;
	struct kw_build_result *result;
	bool *done, may_fail;
	enum kw_status status;
	struct kw_error err;
};

static void run_job(void *arg, int64_t i)
{
	struct job *job = (struct job *)arg + i;

	job->status = kw_build(job->backend, job->candidate, job->plan, &job->o, job->result, &job->err);
	*job->done = job->status == KW_OK;
}

static void report_failure(struct work *w, const struct kw_build_result *r)
{
	const struct kw_artefact *f = &r->artefact;
	struct kw_buf ev;
	char summary[700], place[200];
	const struct kw_diagnostic *first = NULL;

	kw_buf_init(&ev, sizeof w->v->evidence - 1);
	for (size_t i = 0; i < f->diagnostic_count; i++) {
		const struct kw_diagnostic *d = &f->diagnostics[i];

		if (d->severity != KW_ERROR)
			continue;
		if (!first)
			first = d;
		kw_buf_printf(&ev, "%s: error: %s\n", kw_diagnostic_place(d, place, sizeof place), d->message);
	}
	if (first)
		snprintf(summary, sizeof summary, "%s: %.400s", kw_diagnostic_place(first, place, sizeof place), first->message);
	else
		snprintf(summary, sizeof summary, "the build failed (%s)", kw_subclass_meaning(r->subclass));
	if (!first && f->log)
		kw_buf_printf(&ev, "%.2000s", f->log);
	kw_fail_verdict(w, NULL, r->subclass, summary, ev.ptr ? ev.ptr : "");
	kw_buf_release(&ev);
}

static struct build *find(struct work *w, const char *key)
{
	for (size_t i = 0; i < w->build_count; i++)
		if (strcmp(w->builds[i].key, key) == 0)
			return &w->builds[i];
	return NULL;
}

/* A job for each set of defines that no earlier stage has. */
static enum kw_status add_candidate(struct work *w, const struct stage *s, struct job *jobs, size_t *n, struct kw_error *err)
{
	const char *key = kw_builds_key(kw_backend_find(w->c->backend), &s->plan, w->a);
	struct build *b;

	if (!key)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (find(w, key))
		return KW_OK;
	b = &w->builds[w->build_count++];
	b->key = key;
	jobs[(*n)++] = (struct job){ .backend = kw_backend_find(w->c->backend), .candidate = w->c, .plan = &s->plan,
				     .o = { .compiler = w->o.compiler, .arch = w->j->dev->hardware.arch },
				     .result = &b->result, .done = &b->done };
	return KW_OK;
}

static void add_baselines(struct work *w, struct stage *s, struct job *jobs, size_t *n)
{
	for (int i = 0; w->baselines && i < w->baselines->count; i++) {
		struct baseline *b = &w->baselines->item[i];

		if (s->base[i].plan.applicable && !b->torch)
			jobs[(*n)++] = (struct job){ .backend = kw_backend_find(b->candidate.backend),
						     .candidate = &b->candidate,
						     .plan = &s->base[i].plan, .result = &s->base[i].build,
						     .done = &s->base[i].built, .may_fail = b->may_fail,
						     .o = { .compiler = w->o.compiler,
							    .arch = w->j->dev->hardware.arch,
							    .trusted = true, .naive_flags = b->naive_flags } };
	}
}

/* The judge's own, once a task. */
static void add_references(struct work *w, const struct stage *s, struct job *jobs, size_t *n)
{
	struct reference_job own[KW_REFERENCES];
	size_t count = kw_references_jobs(w, s, own);

	for (size_t i = 0; i < count; i++)
		jobs[(*n)++] = (struct job){ .backend = kw_backend_find("cuda"), .candidate = own[i].candidate, .plan = own[i].plan,
					     .result = own[i].result, .done = own[i].done,
					     .o = { .arch = w->j->dev->hardware.arch, .trusted = true } };
}

static enum kw_status finish(struct work *w, struct job *job, struct kw_error *err)
{
	const struct kw_build_result *r = job->result;

	if (job->status != KW_OK) {
		if (err)
			*err = job->err;
		return job->status;
	}
	if (job->candidate != w->c) {
		if (r->cls == KW_V_OK || job->may_fail)
			return KW_OK;
		return kw_fail(err, KW_ERR_BUG, "", "our own '%s' of %s does not compile: %.300s", job->candidate->name,
			       w->t->name, r->artefact.diagnostic_count ? r->artefact.diagnostics[0].message : "no message");
	}
	if (r->cls != KW_V_OK && !w->failed)
		report_failure(w, r);
	w->v->build_cached = w->v->build_cached && r->artefact.cached;
	return KW_OK;
}

/* The builds of unseen shapes join those that are there. */
static enum kw_status make_room(struct work *w, size_t count, struct kw_error *err)
{
	struct build *all = kw_arena_calloc(w->a, w->build_count + count + 1, sizeof *all);

	if (!all)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (w->build_count)
		memcpy(all, w->builds, w->build_count * sizeof *all);
	w->builds = all;
	return KW_OK;
}

enum kw_status kw_builds_make(struct work *w, struct stage **stages, size_t count, struct kw_error *err)
{
	struct job *jobs;
	enum kw_status st = KW_OK;
	int64_t start = kw_now_ns();
	size_t n = 0;

	if (!kw_backend_find(w->c->backend))
		return kw_fail(err, KW_ERR_USAGE, "", "there is no backend '%s'", w->c->backend);
	if ((st = make_room(w, count, err)) != KW_OK)
		return st;
	jobs = kw_calloc(count * (1 + KW_BASELINES) + KW_REFERENCES + 1, sizeof *jobs);
	if (!jobs)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (w->build_count == 0)
		w->v->build_cached = true;
	for (size_t i = 0; i < count && st == KW_OK; i++)
		if (stages[i]->plan.applicable)
			st = add_candidate(w, stages[i], jobs, &n, err);
	w->v->build_cached = w->v->build_cached && n > 0;
	for (size_t i = 0; i < count; i++)
		if (stages[i]->plan.applicable)
			add_baselines(w, stages[i], jobs, &n);
	for (size_t i = 0, before = n; i < count && n == before; i++)
		if (stages[i]->plan.applicable)
			add_references(w, stages[i], jobs, &n);
	if (st == KW_OK)
		kw_parallel(w->j->threads, (int64_t)n, run_job, jobs);
	for (size_t i = 0; i < n && st == KW_OK; i++)
		st = finish(w, &jobs[i], err);
	kw_free(jobs);
	w->v->build_ns += kw_now_ns() - start;
	return st;
}

const struct kw_artefact *kw_builds_find(const struct work *w, const struct kw_bound_plan *plan)
{
	struct kw_arena a;
	const char *key;
	const struct kw_artefact *found = NULL;

	kw_arena_init(&a, 1 << 20);
	key = kw_builds_key(kw_backend_find(w->c->backend), plan, &a);
	for (size_t i = 0; key && i < w->build_count; i++)
		if (w->builds[i].done && strcmp(w->builds[i].key, key) == 0)
			found = &w->builds[i].result.artefact;
	kw_arena_release(&a);
	return found;
}

void kw_builds_release(struct work *w)
{
	for (size_t i = 0; i < w->build_count; i++)
		if (w->builds[i].done)
			kw_build_result_release(&w->builds[i].result);
	w->build_count = 0;
}
