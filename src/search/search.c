/* The engine against the real judge, author and memory. */
#include "search/search.h"

#include "base/file.h"
#include "memory/memory.h"
#include "search/ahead.h"
#include "search/engine.h"

void kw_search_opts_default(struct kw_search_opts *o)
{
	*o = (struct kw_search_opts){ .backend = "c", .device = "cpu", .strategy = "tune" };
	kw_agent_opts_default(&o->agent);
	kw_judge_opts_default(&o->judge, KW_EFFORT_FULL);
}

enum { AHEAD_MAX = 256 };

struct real {
	const struct kw_task *task;
	const struct kw_expr *expr;
	const struct kw_search_opts *opts;
	struct kw_judge *judge;           /* of the tuner alone; NULL: evaluators */
	struct kw_evaluators *evaluators;
	struct kw_store *memory;
	struct kw_hardware told;          /* with a model: as prompts tell of it */
	bool has_told;
	struct kw_judging *ahead[AHEAD_MAX]; /* begun, and not asked for yet */
	size_t ahead_count;
};

/* What was begun is waited for; else it is judged now. */
static struct kw_judging *begun(struct real *r, const struct kw_candidate *c, const struct kw_judge_opts *o)
{
	for (size_t i = 0; i < r->ahead_count; i++)
		if (kw_judging_is(r->ahead[i], c, o)) {
			struct kw_judging *j = r->ahead[i];

			r->ahead[i] = r->ahead[--r->ahead_count];
			return j;
		}
	return NULL;
}

static void drop_ahead(void *arg, const char *candidate_sha)
{
	struct real *r = arg;

	for (size_t i = r->ahead_count; i-- > 0;)
		if (!candidate_sha || kw_judging_of(r->ahead[i], candidate_sha)) {
			struct kw_judging *j = r->ahead[i];

			r->ahead[i] = r->ahead[--r->ahead_count];
			kw_evaluators_drop(r->evaluators, j);
		}
}

static void judge_ahead(void *arg, const struct kw_candidate *const *list, size_t count, const struct kw_judge_opts *o)
{
	struct real *r = arg;

	for (size_t i = 0; i < count && r->ahead_count < AHEAD_MAX; i++) {
		struct kw_judging *j = kw_evaluators_begin(r->evaluators, r->task, r->expr, list[i], o);

		if (j)
			r->ahead[r->ahead_count++] = j;
	}
}

static enum kw_status evaluate(void *arg, const struct kw_candidate *c, const struct kw_judge_opts *o,
			       struct kw_verdict *v, struct kw_error *err)
{
	struct real *r = arg;
	struct kw_judging *j = begun(r, c, o);

	if (j)
		return kw_evaluators_take(r->evaluators, j, v, err);
	return r->judge ? kw_judge_eval(r->judge, r->task, r->expr, c, o, v, err)
			: kw_evaluators_judge(r->evaluators, r->task, r->expr, c, o, v, err);
}

static enum kw_status propose(void *arg, struct kw_arena *a, struct kw_proposal **out, size_t *count,
			      const char ***reasons, size_t *reason_count, struct kw_error *err)
{
	struct real *r = arg;

	return kw_author_propose(r->task, r->expr, r->opts->backend, a, out, count, reasons, reason_count, err);
}

static enum kw_status learn(void *arg, const struct kw_candidate *c, const struct kw_verdict *v, struct kw_error *err)
{
	struct real *r = arg;

	return r->memory ? kw_memory_learn(r->memory, r->task, r->expr, c, v, err) : KW_OK;
}

static const struct kw_hardware *hardware(const struct real *r)
{
	return r->judge ? &kw_judge_device(r->judge)->hardware : kw_evaluators_hardware(r->evaluators);
}

struct builds {
	struct real *r;
	const struct kw_candidate *const *list;
	size_t count;
	int perf_case;
};

static void build_now(void *arg)
{
	struct builds *b = arg;

	kw_ahead_build(b->list, b->count, b->r->task, b->perf_case, hardware(b->r), b->r->opts->judge.large, b->r->opts->judge.compiler);
}

static void build_ahead(void *arg, const struct kw_candidate *const *list, size_t count, int perf_case)
{
	struct builds b = { arg, list, count, perf_case };

	if (b.r->judge)
		build_now(&b);
	else
		kw_evaluators_while_idle(b.r->evaluators, build_now, &b);
}

static enum kw_status search_part(void *arg, const struct kw_part_job *job, struct kw_search_result *out, struct kw_error *err);

static void real_ports(struct real *r, struct kw_search_ports *p)
{
	*p = (struct kw_search_ports){ .arg = r, .evaluate = evaluate, .propose = propose, .learn = learn,
				       .build_ahead = build_ahead, .hardware = hardware(r), .told = r->has_told ? &r->told : NULL };
	if (r->judge)
		return;
	p->judge_ahead = judge_ahead;
	p->drop_ahead = drop_ahead;
	p->search_part = search_part;
	p->evaluators = kw_evaluators_count(r->evaluators);
}

/* The memory is the part's own handle: it has a thread of its own. */
static enum kw_status search_part(void *arg, const struct kw_part_job *job, struct kw_search_result *out, struct kw_error *err)
{
	const struct real *whole = arg;
	struct real r = { .task = job->task, .expr = job->expr, .opts = job->opts, .evaluators = whole->evaluators, .told = whole->told,
			  .has_told = whole->has_told };
	struct kw_search_ports ports;
	enum kw_status status;

	*out = (struct kw_search_result){ 0 };
	if (whole->memory && kw_store_memory_open(&r.memory, NULL) != KW_OK)
		r.memory = NULL; /* nothing is learnt, and nothing is lost */
	real_ports(&r, &ports);
	ports.agent = job->agent;
	status = kw_search_run_with(&ports, job->task, job->expr, job->opts, job->store, r.memory, out, err);
	drop_ahead(&r, NULL);
	kw_store_close(r.memory);
	return status;
}

enum kw_status kw_search_run(const struct kw_task *t, const struct kw_expr *e, const struct kw_search_opts *o,
			     struct kw_evaluators *ev, struct kw_store *store, struct kw_store *memory,
			     struct kw_search_result *out, struct kw_error *err)
{
	struct real r = { .task = t, .expr = e, .opts = o, .evaluators = ev, .memory = memory };
	struct kw_search_ports ports;
	enum kw_status status;

	*out = (struct kw_search_result){ 0 };
	r.has_told = o->agent.model != NULL;
	if (r.has_told)
		kw_evaluators_told(ev, &r.told);
	real_ports(&r, &ports);
	if (o->agent.model && o->agent.record && !o->resume_run && kw_path_exists(o->agent.record))
		return kw_fail(err, KW_ERR_USAGE, o->agent.record, "is there already; a recording does not overwrite it");
	if (o->agent.model) {
		status = kw_agent_new(&o->agent, &ports.agent, err);
		if (status != KW_OK)
			return status;
	}
	status = kw_search_run_with(&ports, t, e, o, store, memory, out, err);
	drop_ahead(&r, NULL);
	kw_agent_free(ports.agent);
	return status;
}

enum kw_status kw_tune_run(const struct kw_task *t, const struct kw_expr *e, struct kw_candidate *c,
			   const struct kw_search_opts *o, struct kw_judge *j, struct kw_store *store, int64_t run_id,
			   struct kw_arena *a, struct kw_tune_result *out, struct kw_error *err)
{
	struct real r = { .task = t, .expr = e, .opts = o, .judge = j, .memory = o->memory };
	struct kw_search_ports ports;

	real_ports(&r, &ports);
	return kw_tune_run_with(&ports, t, e, c, o, store, run_id, a, out, err);
}
