#include "judge/internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <string.h>

/* Defines decide the object code, so cases with equal defines share a build. */
const char *kw_builds_key(const struct kw_bound_plan *plan, struct kw_arena *a)
{
	struct kw_buf b;
	char *key;

	kw_buf_init(&b, 1 << 16);
	for (size_t i = 0; i < plan->define_count; i++)
		kw_buf_printf(&b, "%s%s=%lld", i ? " " : "", plan->defines[i].name, (long long)plan->defines[i].value);
	key = b.full ? NULL : kw_arena_strndup(a, b.ptr ? b.ptr : "", b.len);
	kw_buf_release(&b);
	return key;
}

struct job {
	struct work *w;
	const struct kw_bound_plan **plans; /* one per build */
	enum kw_status *status;
	struct kw_error *errs;
};

static void build_one(void *arg, int64_t i)
{
	struct job *job = arg;
	struct work *w = job->w;
	struct kw_build_opts o = { .compiler = w->o.compiler };

	job->status[i] = kw_build(kw_backend_find(w->c->backend), w->c, job->plans[i], &o, &w->builds[i].result,
				  &job->errs[i]);
	w->builds[i].done = job->status[i] == KW_OK;
}

static void report_failure(struct work *w, const struct kw_build_result *r)
{
	const struct kw_artefact *f = &r->artefact;
	struct kw_buf ev;
	char summary[700];
	const struct kw_diagnostic *first = NULL;

	kw_buf_init(&ev, sizeof w->v->evidence - 1);
	for (size_t i = 0; i < f->diagnostic_count; i++) {
		const struct kw_diagnostic *d = &f->diagnostics[i];

		if (d->severity != KW_ERROR)
			continue;
		if (!first)
			first = d;
		kw_buf_printf(&ev, "%s:%d:%d: error: %s\n", d->file, d->line, d->column, d->message);
	}
	if (first)
		snprintf(summary, sizeof summary, "%s:%d:%d: %.400s", first->file, first->line, first->column,
			 first->message);
	else
		snprintf(summary, sizeof summary, "the build failed (%s)", kw_subclass_meaning(r->subclass));
	if (!first && f->log)
		kw_buf_printf(&ev, "%.2000s", f->log);
	kw_fail_verdict(w, NULL, r->subclass, summary, ev.ptr ? ev.ptr : "");
	kw_buf_release(&ev);
}

enum kw_status kw_builds_make(struct work *w, const struct kw_bound_plan *plans, size_t count, struct kw_error *err)
{
	struct job job = { .w = w };
	enum kw_status st = KW_OK;
	int64_t start = kw_now_ns();

	if (!kw_backend_find(w->c->backend))
		return kw_fail(err, KW_ERR_USAGE, "", "there is no backend '%s'", w->c->backend);
	w->builds = kw_arena_calloc(w->a, count ? count : 1, sizeof *w->builds);
	job.plans = kw_arena_calloc(w->a, count ? count : 1, sizeof *job.plans);
	job.status = kw_arena_calloc(w->a, count ? count : 1, sizeof *job.status);
	job.errs = kw_calloc(count ? count : 1, sizeof *job.errs);
	if (!w->builds || !job.plans || !job.status || !job.errs) {
		kw_free(job.errs);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	for (size_t i = 0; i < count; i++) {
		const char *key = kw_builds_key(&plans[i], w->a);
		size_t k = 0;

		if (!key) {
			st = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
			break;
		}
		while (k < w->build_count && strcmp(w->builds[k].key, key) != 0)
			k++;
		if (k == w->build_count) {
			w->builds[k].key = key;
			job.plans[k] = &plans[i];
			w->build_count++;
		}
	}
	if (st == KW_OK)
		kw_parallel(w->j->threads, (int64_t)w->build_count, build_one, &job);
	w->v->build_cached = w->build_count > 0;
	for (size_t i = 0; i < w->build_count && st == KW_OK; i++) {
		struct kw_build_result *r = &w->builds[i].result;

		if (job.status[i] != KW_OK) {
			st = job.status[i];
			if (err)
				*err = job.errs[i];
		} else if (r->cls != KW_V_OK && !w->failed) {
			report_failure(w, r);
		}
		w->v->build_cached = w->v->build_cached && r->artefact.cached;
	}
	kw_free(job.errs);
	w->v->build_ns += kw_now_ns() - start;
	return st;
}

const struct kw_artefact *kw_builds_find(const struct work *w, const struct kw_bound_plan *plan)
{
	struct kw_arena a;
	const char *key;
	const struct kw_artefact *found = NULL;

	kw_arena_init(&a, 1 << 20);
	key = kw_builds_key(plan, &a);
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
