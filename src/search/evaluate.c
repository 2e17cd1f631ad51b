/* One evaluation: from the store if the run has it, else judged and stored before anybody hears of it. */
#include "search/engine.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"

static const int64_t unknown_proof_ns = 10 * 1000000000ll, least_timing_ns = 400 * 1000000ll;

void kw_search_reason(struct kw_search *s, const char *fmt, ...)
{
	struct kw_buf b;
	const char *text;
	va_list ap;

	if (s->reason_count >= KW_REASONS_MAX)
		return;
	kw_buf_init(&b, 4096);
	va_start(ap, fmt);
	kw_buf_vprintf(&b, fmt, ap);
	va_end(ap);
	text = b.ptr ? kw_arena_strdup(s->arena, b.ptr) : NULL;
	kw_buf_release(&b);
	if (text)
		s->reasons[s->reason_count++] = text;
}

void kw_search_progress(const struct kw_search *s, const char *candidate, const char *tune, const char *verdict)
{
	int64_t here = kw_now_ns() - s->start_ns, spent = kw_search_elapsed_ns(s);
	struct kw_progress p = {
		.round = s->round, .rounds = s->rounds_planned, .evaluation = s->evaluations,
		.planned = s->evaluations + s->upcoming, .candidate = candidate, .tune = tune,
		.best_ns = s->best_ns, .best_speedup = s->best_speedup, .verdict = verdict, .role = s->role,
		.sums = s->ports->agent ? kw_agent_sums(s->ports->agent) : NULL,
	};

	if (!s->opts->progress)
		return;
	if (!candidate && s->told) { /* while a model is asked: the last verdict */
		p.candidate = s->told;
		p.verdict = s->told_verdict;
	}
	if (p.best_ns <= 0 && s->screened_count)
		p.best_ns = s->screened[0].ns; /* not judged in full yet */
	if (s->fresh > 0 && here > 0) {
		p.rate_per_s = (double)s->fresh * 1e9 / (double)here;
		p.left_ns = (int64_t)((double)s->upcoming / p.rate_per_s * 1e9);
	}
	if (s->opts->budget.max_wall_ns && p.left_ns > s->opts->budget.max_wall_ns - spent)
		p.left_ns = spent < s->opts->budget.max_wall_ns ? s->opts->budget.max_wall_ns - spent : 0;
	s->opts->progress(s->opts->progress_arg, &p);
}

/* How long the timing of one case may take of a short budget; 0: as long as the effort wants. It does not depend on what is left, so
 * that what was begun ahead is what is asked for later. */
static int64_t timing_limit_ns(const struct kw_search *s, enum kw_judge_effort effort)
{
	int64_t share = s->opts->budget.max_wall_ns / (effort == KW_EFFORT_FINAL ? 8 : 16), cases = (int64_t)s->task->perf_count;

	share = cases > 1 ? share / cases : share;
	if (s->opts->budget.max_wall_ns == 0 || share >= kw_judge_time_limit_ns(effort))
		return 0;
	return share > least_timing_ns ? share : least_timing_ns;
}

void kw_search_judge_opts(const struct kw_search *s, enum kw_judge_effort effort, struct kw_judge_opts *out)
{
	*out = s->opts->judge;
	out->effort = effort;
	out->only_case = -1;
	/* Only what is handed over. */
	if (effort == KW_EFFORT_SCREEN || (effort == KW_EFFORT_FULL && !s->handing_over))
		out->sanitize = KW_SANITIZE_NO;
	else if (effort == KW_EFFORT_FINAL && out->sanitize == KW_SANITIZE_NO)
		out->sanitize = KW_SANITIZE_IF_THERE;
	if (effort == KW_EFFORT_SCREEN) {
		out->with_baselines = false;
		out->trials = 0;
		out->ci_target = 0;
		out->time_limit_ns = 0;
	} else {
		out->with_baselines = true;
		out->best_ns = 0;
		out->time_limit_ns = timing_limit_ns(s, effort);
	}
}

int64_t kw_search_elapsed_ns(const struct kw_search *s)
{
	return kw_now_ns() - s->start_ns + s->recalled_ns;
}

int64_t kw_search_proof_room_ns(int64_t max_wall_ns, int64_t full_ns)
{
	int64_t likely = full_ns ? 2 * full_ns : unknown_proof_ns;

	return likely < max_wall_ns / 2 ? likely : max_wall_ns / 2;
}

/* Whether there is something to hand over, and so something to keep room for. */
static bool provable(const struct kw_search *s)
{
	return s->screened_count > 0 || (s->ranked_count > 0 && !s->ranked[0].proven);
}

/* When the search must end, of the run's time. before_full: when a judgement in full must not begin any more, since with it and the final
 * check the run would be over its budget; a screened point can be proven without. */
static int64_t last_ns(const struct kw_search *s, bool before_full)
{
	int64_t most = s->opts->budget.max_wall_ns, room = kw_search_proof_room_ns(most, s->full_ns);

	if (!provable(s))
		return most;
	return s->opts->as_part ? most - (before_full ? room / 2 : 0) : most - room - (before_full ? room / 2 : 0);
}

static bool budget_spent(const struct kw_search *s, int evaluations, bool before_full)
{
	const struct kw_budget *b = &s->opts->budget;

	if (s->handing_over || s->owed)
		return false;
	if (b->max_wall_ns && kw_search_elapsed_ns(s) >= last_ns(s, before_full))
		return true;
	return b->max_evaluations && evaluations + (provable(s) && !s->opts->as_part) >= b->max_evaluations;
}

/* What a model did not answer when the time is spent is not waited for. */
static void tell_time(const struct kw_search *s)
{
	if (s->ports->agent && s->opts->budget.max_wall_ns)
		kw_agent_until(s->ports->agent, s->start_ns - s->recalled_ns + last_ns(s, false));
}

static bool should_stop(struct kw_search *s, int evaluations, bool before_full)
{
	tell_time(s);
	if (kw_interrupted())
		s->stop = KW_RUN_INTERRUPTED;
	else if (budget_spent(s, evaluations, before_full))
		s->stop = KW_RUN_BUDGET;
	else
		return false;
	return true;
}

bool kw_search_should_stop(struct kw_search *s)
{
	/* A resumed run goes on to meet its past, where it stops as it would have stopped. */
	return should_stop(s, s->met < s->past ? s->met : s->evaluations, false);
}

double kw_search_mean_ns(const struct kw_verdict *v)
{
	double logs = 0.0;
	int n = 0;

	for (size_t i = 0; i < v->case_count; i++)
		if (v->cases[i].perf && v->cases[i].has_times && v->cases[i].times.median_ns > 0.0) {
			logs += log(v->cases[i].times.median_ns);
			n++;
		}
	return n ? exp(logs / n) : 0.0;
}

static void fill_outcome(const struct kw_verdict *v, struct kw_outcome *out)
{
	out->cls = v->cls;
	out->subclass = v->subclass;
	out->ns = v->cls == KW_V_OK ? kw_search_mean_ns(v) : 0.0;
	for (size_t i = 0; i < v->case_count && out->high_ns == 0.0; i++)
		if (v->cases[i].perf && v->cases[i].has_times) {
			out->low_ns = v->cases[i].times.ci_low_ns;
			out->high_ns = v->cases[i].times.ci_high_ns;
		}
	out->speedup = v->geomean_speedup;
	out->sol = v->geomean_sol;
	out->cached = v->build_cached;
}

/* Looks the verdict up. A record that cannot be read counts as not there: it is judged again. */
static enum kw_status recall(struct kw_search *s, const struct kw_candidate *c, const char *tune, const char *label,
			     struct kw_verdict *v, bool *found, struct kw_outcome *out, struct kw_error *err)
{
	struct kw_verdict_row row;
	struct kw_arena scratch;
	json_t *record = NULL;
	enum kw_status status;

	kw_arena_init(&scratch, 64 << 20);
	status = kw_store_verdict_find(s->store, s->run_id, c->sha256, tune, label, &scratch, &row, found, err);
	if (status == KW_OK && *found) {
		*found = kw_json_parse("stored record", row.record, strlen(row.record), &record, NULL) == KW_OK &&
			 kw_verdict_from_json(v, record, NULL) == KW_OK;
		if (*found) {
			fill_outcome(v, out);
			out->verdict_id = row.id;
			out->recalled = true;
			s->round_evaluations += row.round == s->round;
		} else {
			kw_verdict_release(v);
			kw_verdict_init(v);
		}
	}
	json_decref(record);
	kw_arena_release(&scratch);
	return status;
}

static enum kw_status judge_and_store(struct kw_search *s, const struct kw_candidate *c, const char *tune,
				      const char *label, const struct kw_judge_opts *o, struct kw_verdict *v,
				      struct kw_outcome *out, struct kw_error *err)
{
	int64_t start = kw_now_ns();
	enum kw_status status = s->ports->evaluate(s->ports->arg, c, o, v, err);

	s->judging_ns += kw_now_ns() - start;
	if (status != KW_OK)
		return status;
	/* The key under which a resumed run looks for it. */
	v->tune = kw_arena_strdup(&v->arena, tune);
	memcpy(v->candidate_sha, c->sha256, sizeof(v->candidate_sha));
	if (!v->tune)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a verdict");
	status = kw_store_candidate_put(s->store, c, err);
	if (status == KW_OK)
		status = kw_store_verdict_put(s->store, s->run_id, s->round, label, v, &out->verdict_id, err);
	if (status == KW_OK && s->ports->learn && o->effort != KW_EFFORT_SCREEN)
		status = s->ports->learn(s->ports->arg, c, v, err);
	if (status == KW_OK) {
		fill_outcome(v, out);
		s->fresh++;
		s->evaluations++;
		s->round_evaluations++;
	}
	return status;
}

static void note_refusal(struct kw_search *s, const struct kw_candidate *c, const struct kw_verdict *v,
			 const struct kw_outcome *out)
{
	struct kw_refusal *r = &s->refusal;

	if (out->cls == KW_V_OK || !s->ports->agent)
		return;
	*r = (struct kw_refusal){ .cls = out->cls, .subclass = out->subclass, .tune = out->tune };
	memcpy(r->candidate_sha, c->sha256, sizeof(r->candidate_sha));
	r->summary = kw_arena_strdup(s->arena, v->summary);
	r->evidence = kw_arena_strdup(s->arena, v->evidence);
	r->case_label = v->case_label ? kw_arena_strdup(s->arena, v->case_label) : NULL;
}

/* Counts a verdict once, however often it is asked for. A resumed run meets those of its past in their order, so that it
 * stops where it would have stopped. */
static void meet(struct kw_search *s, const struct kw_verdict *v, const struct kw_outcome *out)
{
	if (out->verdict_id <= s->last_id)
		return;
	s->last_id = out->verdict_id;
	s->met++;
	if (out->recalled)
		s->recalled_ns += v->total_ns;
}

enum kw_status kw_search_evaluate(struct kw_search *s, const struct kw_candidate *c, const char *label,
				  const struct kw_judge_opts *o, struct kw_verdict *v, struct kw_outcome *out,
				  struct kw_error *err)
{
	struct kw_verdict own;
	struct kw_verdict *use = v ? v : &own;
	enum kw_status status;
	bool found = false;

	*out = (struct kw_outcome){ .tune = kw_plan_tune_text(&c->plan, c->tune_values, s->arena) };
	if (!out->tune)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a tune point");
	if (!v)
		kw_verdict_init(&own);
	kw_search_progress(s, c->name, out->tune, NULL);
	status = s->run_id ? recall(s, c, out->tune, label, use, &found, out, err) : KW_OK;
	if (status == KW_OK && !found) {
		status = should_stop(s, s->evaluations, o->effort != KW_EFFORT_SCREEN)
				 ? KW_NO
				 : judge_and_store(s, c, out->tune, label, o, use, out, err);
	}
	if (status == KW_ERR_INTERRUPTED) {
		s->stop = KW_RUN_INTERRUPTED;
		status = KW_NO;
	}
	if (status == KW_OK) {
		meet(s, use, out);
		if (o->effort == KW_EFFORT_FULL && use->total_ns > s->full_ns)
			s->full_ns = use->total_ns;
		note_refusal(s, c, use, out);
		kw_search_note_screened(s, c, o, use, out);
		s->upcoming -= s->upcoming > 0;
		snprintf(s->told_verdict, sizeof(s->told_verdict), "%s%s%s", kw_verdict_name(out->cls),
			 out->subclass == KW_S_NONE ? "" : "/", kw_subclass_name(out->subclass));
		s->told = c->name;
		kw_search_progress(s, c->name, out->tune, s->told_verdict);
	}
	if (!v)
		kw_verdict_release(&own);
	return status;
}

const char *kw_search_label(struct kw_search *s, const char *rung, int perf_case)
{
	return perf_case <= 0 ? rung : kw_arena_printf(s->arena, "%s@%d", rung, perf_case + 1);
}

/* Whether a resumed run has this verdict from before. */
static bool judged(const struct kw_search *s, const struct kw_candidate *c, const char *label, struct kw_arena *scratch)
{
	const char *tune = kw_plan_tune_text(&c->plan, c->tune_values, scratch);
	struct kw_verdict_row row;
	bool found = false;

	if (tune && s->run_id && s->past)
		kw_store_verdict_find(s->store, s->run_id, c->sha256, tune, label, scratch, &row, &found, NULL);
	return found;
}

/* Those of a list that are not judged yet, as far as the budget goes. */
static size_t not_judged(struct kw_search *s, const struct kw_candidate *const *list, size_t count, const char *label,
			 struct kw_arena *scratch, const struct kw_candidate ***out)
{
	const struct kw_budget *b = &s->opts->budget;
	size_t n = 0;

	if (b->max_evaluations) {
		size_t left = b->max_evaluations > s->evaluations ? (size_t)(b->max_evaluations - s->evaluations) : 0;

		count = count < left ? count : left;
	}
	*out = kw_arena_calloc(scratch, count + 1, sizeof(**out));
	for (size_t i = 0; *out && i < count; i++)
		if (!judged(s, list[i], label, scratch))
			(*out)[n++] = list[i];
	return n;
}

void kw_search_judge_ahead(struct kw_search *s, const struct kw_candidate *const *list, size_t count, const char *label,
			   const struct kw_judge_opts *o)
{
	const struct kw_candidate **fresh;
	struct kw_arena scratch;
	size_t n;

	if (!s->ports->judge_ahead || s->ports->evaluators < 2 || kw_search_should_stop(s))
		return;
	kw_arena_init(&scratch, 64 << 20);
	n = not_judged(s, list, count, label, &scratch, &fresh);
	if (n)
		s->ports->judge_ahead(s->ports->arg, fresh, n, o);
	kw_arena_release(&scratch);
}

void kw_search_drop_ahead(struct kw_search *s, const char *candidate_sha)
{
	if (s->ports->drop_ahead)
		s->ports->drop_ahead(s->ports->arg, candidate_sha);
}

bool kw_search_build_ahead(struct kw_search *s, const struct kw_candidate *const *list, size_t count, int perf_case,
			   const char *label)
{
	const struct kw_candidate **fresh;
	struct kw_arena scratch;
	int64_t start;
	size_t n;

	if (!s->ports->build_ahead || s->no_ahead)
		return false;
	kw_arena_init(&scratch, 64 << 20);
	n = not_judged(s, list, count, label, &scratch, &fresh);
	start = kw_now_ns();
	if (n > 1)
		s->ports->build_ahead(s->ports->arg, fresh, n, perf_case);
	s->building_ns += kw_now_ns() - start;
	kw_arena_release(&scratch);
	return n > 1;
}
