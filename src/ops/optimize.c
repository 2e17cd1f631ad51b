/* A whole search on one task, and its continuation. */
#include <stdio.h>
#include <string.h>

#include "expr/statements.h"
#include "memory/memory.h"
#include "report/bench.h"
#include "ops/internal.h"

static json_t *curve_json(const struct kw_tune_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < r->curve_count; i++) {
		const struct kw_curve_point *p = &r->curve[i];
		json_t *o = json_pack("{s:i, s:i, s:f, s:I}", "evaluations", p->evaluations, "cases", p->cases, "best_ns",
				      p->best_ns, "at_ns", (json_int_t)p->at_ns);

		if (json_array_append_new(list, o) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *tune_cases_json(const struct kw_tune_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < r->case_count; i++) {
		const struct kw_tune_case *c = &r->cases[i];

		if (json_array_append_new(list, json_pack("{s:s, s:f, s:s, s:f, s:b}", "case", c->label, "ns", c->ns, "fastest",
							  c->fastest ? c->fastest : "", "fastest_ns", c->fastest_ns, "apart", c->apart)) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* What should choose by size; null: nothing. */
static json_t *split_json(const struct kw_tune_split *s)
{
	return s ? json_pack("{s:s, s:f}", "define", s->text, "ns", s->ns) : json_null();
}

json_t *kw_op_tune_json(const struct kw_candidate *c, const struct kw_tune_report *r)
{
	json_t *o = json_object(), *best = json_object();
	bool good = o && best;

	for (size_t i = 0; good && c && r->best_values && i < c->plan.tune_count; i++)
		good = json_object_set_new(best, c->plan.tunes[i].name,
					   json_integer(r->best_values[i])) == 0;
	good = good && json_object_set_new(o, "candidate", json_string(r->candidate ? r->candidate : "")) == 0 &&
	       json_object_set_new(o, "space", json_integer(r->space)) == 0 &&
	       json_object_set_new(o, "tried", json_integer(r->tried)) == 0 &&
	       json_object_set_new(o, "failed_build", json_integer(r->failed_build)) == 0 &&
	       json_object_set_new(o, "pruned", json_integer(r->pruned)) == 0 &&
	       json_object_set_new(o, "wrong", json_integer(r->wrong)) == 0 &&
	       json_object_set_new(o, "best_ns", r->best_ns > 0 ? kw_json_real(r->best_ns) : json_null()) == 0 &&
	       json_object_set_new(o, "first_case", r->first_case ? json_string(r->first_case) : json_null()) == 0 &&
	       json_object_set_new(o, "cases", tune_cases_json(r)) == 0 && json_object_set_new(o, "split", split_json(r->split)) == 0 &&
	       json_object_set_new(o, "curve", curve_json(r)) == 0;
	if (good && json_object_size(best))
		good = json_object_set(o, "best", best) == 0;
	json_decref(best);
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static enum kw_status put_list(struct kw_store *s, int64_t run_id, const char *name, json_t *list,
			       struct kw_error *err)
{
	enum kw_status status = kw_store_fact_put(s, run_id, name, list, err);

	json_decref(list);
	return status;
}

enum kw_status kw_op_put_reasons(struct kw_store *s, int64_t run_id, const char *const *reasons, size_t count,
				 struct kw_error *err)
{
	json_t *list = json_array();
	enum kw_status status = KW_OK;

	for (size_t i = 0; i < count; i++)
		if (json_array_append_new(list, json_string(reasons[i])) != 0)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (status == KW_OK && count)
		status = put_list(s, run_id, "reasons", json_incref(list), err);
	json_decref(list);
	return status;
}

static enum kw_status put_facts(struct kw_store *s, const struct kw_search_result *r, struct kw_error *err)
{
	json_t *tunes = json_array();
	enum kw_status status = KW_OK;

	/* A resumed run that ended without tuning keeps the reports it has. */
	for (size_t i = 0; i < r->tune_count; i++) {
		const struct kw_candidate *c = r->has_best && strcmp(r->best.name, r->tunes[i].candidate) == 0
			? &r->best : NULL;

		if (json_array_append_new(tunes, kw_op_tune_json(c, &r->tunes[i])) != 0)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	if (status == KW_OK && r->tune_count)
		status = put_list(s, r->run_id, "tune", json_incref(tunes), err);
	json_decref(tunes);
	return status == KW_OK ? kw_op_put_reasons(s, r->run_id, r->reasons, r->reason_count, err) : status;
}

/* The kernel that a run starts from: a new run puts it into the store, where a resumed one finds it. */
static enum kw_status find_from(struct kw_store *store, struct kw_op_task *t, struct kw_search_opts *so, struct kw_error *err)
{
	struct kw_candidate *c;
	const char *source, *backend, *name;
	size_t len;
	enum kw_status status;

	if (so->from)
		return kw_store_candidate_put(store, so->from, err);
	if (!so->from_sha)
		return KW_OK;
	c = kw_arena_calloc(&t->arena, 1, sizeof(*c));
	if (!c)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a candidate");
	status = kw_store_candidate_get(store, so->from_sha, &t->arena, &source, &len, &backend, &name, err);
	if (status == KW_OK)
		status = kw_candidate_from_text(c, so->from_name, backend, source, len, &t->task, &t->arena, err);
	so->from = c;
	return status;
}

/* The search itself, what it leaves in the store and in files, and the report. */
static enum kw_status run_search(struct kw_store *store, struct kw_op_task *t, struct kw_search_opts *so, struct kw_judge *judge,
				 struct kw_op_search *out, struct kw_error *err)
{
	struct kw_search_result r = { 0 };
	struct kw_store *memory = kw_op_memory();
	struct kw_evaluators *evaluators = NULL;
	enum kw_status status = judge ? kw_evaluators_borrow(judge, &evaluators, err)
				      : kw_evaluators_new(so->device, so->evaluators, &evaluators, err);

	if (status == KW_OK)
		status = find_from(store, t, so, err);
	if (status == KW_OK) {
		status = kw_search_run(&t->task, t->expr, so, evaluators, store, memory, &r, err);
		out->run_id = r.run_id;
		out->state = r.state;
		/* What was learnt is kept for an interrupted run too; its own failure is told first. */
		if (r.run_id && (status == KW_OK || status == KW_ERR_INTERRUPTED)) {
			enum kw_status kept = put_facts(store, &r, status == KW_OK ? err : NULL);

			status = status == KW_OK ? kept : status;
		}
		if (status == KW_OK && r.has_best)
			status = kw_op_result_write(store, r.run_id, &t->task, &r.best, err);
		if (status == KW_OK && r.has_best)
			status = kw_memory_keep_kernel(memory, &t->task, t->expr, &r.best, &r.verdict, err);
		kw_search_result_release(&r);
	}
	kw_evaluators_free(evaluators);
	kw_store_close(memory);
	if (status == KW_OK)
		status = kw_report_load(&out->report, store, out->run_id, err);
	return status;
}

/* Before anything is spent on a search whose end could not be had. */
enum kw_status kw_op_check_sanitizer(const char *backend, bool wanted, struct kw_error *err)
{
	char path[PATH_MAX];

	return wanted ? kw_sanitizer_find(backend, path, err) : KW_OK;
}

void kw_op_search_defaults(struct kw_search_opts *so, const struct kw_op_search_opts *o)
{
	kw_search_opts_default(so);
	so->budget = o->budget;
	so->judge.seed = o->seed;
	so->judge.threads = o->threads;
	so->judge.large = o->large;
	so->judge.sanitize = o->sanitize ? KW_SANITIZE_MUST : KW_SANITIZE_NO;
	so->judge.baselines = o->baselines;
	so->judge.original = o->original;
	so->judge.timings = o->timings;
	so->agent = o->agent;
	so->width = o->width;
	so->evaluators = o->evaluators;
	so->progress = o->progress;
	so->progress_arg = o->progress_arg;
	so->judge.close = o->close;
	so->parent_run = o->parent_run;
	so->item = o->item;
	so->resume_run = o->resume_run;
}

/* `none` is no model, and so is nothing. */
bool kw_op_has_model(const struct kw_agent_opts *o)
{
	return o->model && strcmp(o->model, "none") != 0;
}

static enum kw_status load_from(const struct kw_op_search_opts *o, struct kw_op_task *t, struct kw_search_opts *so,
				struct kw_error *err)
{
	struct kw_candidate *c;

	if (!o->from)
		return KW_OK;
	c = kw_arena_calloc(&t->arena, 1, sizeof(*c));
	so->from = c;
	return c ? kw_op_kernel_load(c, o->from, so->backend, &t->task, &t->arena, err)
		 : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a candidate");
}

/* A task that the rule divides is searched in parts: with a model always, else where no pattern serves the whole. */
static enum kw_status choose_strategy(const struct kw_op_search_opts *o, const struct kw_op_task *t, struct kw_search_opts *so,
				      struct kw_error *err)
{
	struct kw_statements s;
	struct kw_proposal *proposals;
	struct kw_arena a;
	const char **reasons;
	int part[KW_STATEMENTS_MAX];
	size_t count = 0, n = 0, reason_count;
	bool asked = o->strategy && strcmp(o->strategy, "parts") == 0;
	enum kw_status status;

	so->strategy = o->strategy ? o->strategy : so->agent.model ? "refine" : "tune";
	if ((o->strategy && !asked) || so->from)
		return asked ? kw_fail(err, KW_ERR_USAGE, "", "strategy parts starts at the task's own operations, not at a kernel; use refine") : KW_OK;
	kw_arena_init(&a, 512 << 20);
	status = kw_expr_statements(&t->task, &a, &s, err);
	if (status == KW_OK)
		kw_statements_divide(&s, part, &count);
	if (status == KW_OK && asked && count < 2)
		status = kw_fail(err, KW_NO, "", "it is one operation for the rule");
	if (status == KW_OK && !asked && count > 1 && !so->agent.model)
		status = kw_author_propose(&t->task, t->expr, so->backend, &a, &proposals, &n, &reasons, &reason_count, err);
	kw_arena_release(&a);
	if (status == KW_OK && count > 1 && n == 0)
		so->strategy = "parts";
	if (status != KW_NO)
		return status;
	if (asked)
		return kw_fail(err, KW_ERR_USAGE, t->task.file ? t->task.file : "", "the task is not divided: %s; use another strategy",
			       err ? err->text : "");
	if (err)
		kw_error_reset(err);
	return KW_OK;
}

enum kw_status kw_op_optimize(const struct kw_op_env *env, const struct kw_op_search_opts *o,
			      struct kw_op_search *out, struct kw_error *err)
{
	struct kw_op_task own = { 0 }, *t = o->ready_task ? o->ready_task : &own;
	struct kw_store *store = NULL;
	struct kw_search_opts so;
	const struct kw_backend *backend;
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	kw_op_search_defaults(&so, o);
	status = kw_op_backend(o->backend ? o->backend : "c", &backend, err);
	if (status == KW_OK) {
		so.backend = backend->name;
		so.device = backend->device;
		if (!kw_op_has_model(&o->agent))
			so.agent.model = NULL;
		status = kw_op_has_device(backend, err);
	}
	if (status == KW_OK)
		status = kw_op_check_sanitizer(backend->name, o->sanitize, err);
	if (status == KW_OK && !o->ready_task)
		status = kw_op_task_load(o->task, o->inputs, o->input_count, &own, err);
	if (status == KW_OK)
		status = load_from(o, t, &so, err);
	if (status == KW_OK)
		status = choose_strategy(o, t, &so, err);
	if (status == KW_OK)
		status = kw_op_check_perf(t, err);
	if (status == KW_OK)
		status = kw_store_open(env->store_dir, false, &store, err);
	if (status == KW_OK)
		status = run_search(store, t, &so, o->judge, out, err);
	kw_store_close(store);
	kw_op_task_release(&own);
	return status;
}

enum kw_status kw_op_search_again(struct kw_search_opts *so, const struct kw_run_row *row,
				  const struct kw_op_search_opts *o, struct kw_arena *a, struct kw_error *err)
{
	enum kw_status status;

	kw_search_opts_default(so);
	so->backend = row->backend;
	so->device = row->device;
	so->strategy = row->strategy;
	so->resume_run = row->id;
	so->progress = o->progress;
	so->progress_arg = o->progress_arg;
	status = kw_search_opts_read(so, row->options, a, err);
	if (status != KW_OK)
		return status;
	if (o->threads)
		so->judge.threads = o->threads;
	if (o->budget.max_evaluations)
		so->budget.max_evaluations = o->budget.max_evaluations;
	if (o->budget.max_wall_ns)
		so->budget.max_wall_ns = o->budget.max_wall_ns;
	if (o->budget.max_rounds)
		so->budget.max_rounds = o->budget.max_rounds;
	if (o->agent.budget_tokens)
		so->agent.budget_tokens = o->agent.budget_tokens;
	if (o->agent.budget_usd > 0)
		so->agent.budget_usd = o->agent.budget_usd;
	if (o->agent.key_file)
		so->agent.key_file = o->agent.key_file;
	return KW_OK;
}

/* Ended for good, and with all that it should leave: a run may be killed between its last verdict and its files. */
static enum kw_status is_over(struct kw_store *s, const struct kw_run_row *row, bool *over, struct kw_error *err)
{
	json_t *files = NULL;
	enum kw_status status;

	*over = !kw_run_state_open(row->state) && !kw_run_state_spent(row->state);
	if (!*over || !row->best_verdict_id)
		return KW_OK;
	status = kw_store_fact_get(s, row->id, "files", &files, err);
	*over = files != NULL;
	json_decref(files);
	return status;
}

static enum kw_status go_on(struct kw_store *store, const struct kw_run_row *row,
			    const struct kw_op_search_opts *o, struct kw_arena *a, struct kw_op_search *out,
			    struct kw_error *err)
{
	struct kw_op_task t = { 0 };
	struct kw_search_opts so;
	char name[64];
	enum kw_status status;

	snprintf(name, sizeof(name), "(task of run %lld)", (long long)row->id);
	status = kw_op_search_again(&so, row, o, a, err);
	if (status == KW_OK)
		status = kw_op_task_parse(name, row->task_text, &t, err);
	if (status != KW_OK)
		return status;
	status = run_search(store, &t, &so, NULL, out, err);
	kw_op_task_release(&t);
	return status;
}

/* A part has its answers, and its kernel's final check, in the run that it is a part of. */
static enum kw_status check_no_part(struct kw_store *store, const struct kw_run_row *row, struct kw_arena *a, struct kw_error *err)
{
	struct kw_run_row whole;
	enum kw_status status = row->parent ? kw_store_run_get(store, row->parent, a, &whole, err) : KW_OK;

	if (status == KW_OK && row->parent && strcmp(whole.strategy, "parts") == 0)
		status = kw_fail(err, KW_ERR_USAGE, "", "run %lld is a part of run %lld; `kwright runs resume %lld` goes on with all of it",
				 (long long)row->id, (long long)row->parent, (long long)row->parent);
	return status;
}

enum kw_status kw_op_resume(const struct kw_op_env *env, int64_t run_id, const struct kw_op_search_opts *o,
			    struct kw_op_search *out, struct kw_error *err)
{
	struct kw_store *store = NULL;
	struct kw_run_row row;
	struct kw_arena a;
	bool over = false;
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	out->run_id = run_id;
	kw_arena_init(&a, 16 << 20);
	status = kw_store_open(env->store_dir, false, &store, err);
	if (status == KW_OK)
		status = kw_store_run_get(store, run_id, &a, &row, err);
	if (status == KW_OK && strcmp(row.strategy, KW_BENCH_STRATEGY) == 0)
		status = kw_fail(err, KW_ERR_USAGE, "", "run %lld is a benchmark; the command that began it goes on with it",
				 (long long)run_id);
	if (status == KW_OK)
		status = check_no_part(store, &row, &a, err);
	if (status == KW_OK)
		status = is_over(store, &row, &over, err);
	if (status == KW_OK && over) {
		out->state = row.state;
		status = kw_report_load(&out->report, store, run_id, err);
	} else if (status == KW_OK && strcmp(row.strategy, KW_OP_TUNE_FILE) == 0) {
		status = kw_op_tune_resume(store, &row, o, out, err);
	} else if (status == KW_OK) {
		status = go_on(store, &row, o, &a, out, err);
	}
	kw_store_close(store);
	kw_arena_release(&a);
	return status;
}

void kw_op_search_release(struct kw_op_search *r)
{
	kw_report_release(&r->report);
	memset(r, 0, sizeof(*r));
}
