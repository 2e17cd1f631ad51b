/* The loop of a run: rounds and stop rules. */
#include "search/engine.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "explain/ledger.h"
#include "explain/rule.h"
#include "search/split.h"
#include "search/write.h"

enum { ROUNDS_DEFAULT_MAX = 4096, FALLBACK_POINTS = 3, STEPS_OF_A_ROUND_MAX = 4096 };
/* A tuned candidate of several gets this long, or its share of the budget. */
static const int64_t tune_limit_ns = 12 * 1000000000ll;
static const int64_t lone_tune_limit_ns = 60 * 1000000000ll; /* where it is all of the run */
/* Two rounds in a row that gain less than this end a run (design 11). */
static const double least_gain = 0.05;

json_t *kw_search_opts_json(const struct kw_search_opts *o)
{
	json_t *j = json_object();

	if (!j)
		return NULL;
	json_object_set_new(j, "max_evaluations", json_integer(o->budget.max_evaluations));
	json_object_set_new(j, "max_wall_ns", json_integer(o->budget.max_wall_ns));
	json_object_set_new(j, "max_rounds", json_integer(o->budget.max_rounds));
	json_object_set_new(j, "threads", json_integer(o->judge.threads));
	json_object_set_new(j, "large", json_boolean(o->judge.large));
	json_object_set_new(j, "sanitize", json_boolean(o->judge.sanitize == KW_SANITIZE_MUST));
	if (o->judge.original)
		json_object_set_new(j, "original", json_true());
	if (o->judge.timings)
		json_object_set_new(j, "timings", json_integer(o->judge.timings));
	if (o->judge.baselines)
		json_object_set_new(j, "baselines", json_integer(o->judge.baselines));
	json_object_set_new(j, "seed", json_integer((json_int_t)o->judge.seed));
	if (o->judge.compiler)
		json_object_set_new(j, "compiler", json_string(o->judge.compiler));
	if (o->width)
		json_object_set_new(j, "width", json_integer(o->width));
	if (o->agent.model)
		json_object_set_new(j, "agent", kw_agent_opts_json(&o->agent));
	if (o->from) {
		json_object_set_new(j, "from", json_string(o->from->sha256));
		json_object_set_new(j, "from_name", json_string(o->from->name));
	}
	return j;
}

enum kw_status kw_search_opts_read(struct kw_search_opts *o, const char *json, struct kw_arena *a, struct kw_error *err)
{
	json_t *j = NULL;
	const char *compiler;
	enum kw_status status = kw_json_parse("options of the run", json, strlen(json), &j, err);

	if (status != KW_OK)
		return status;
	o->budget.max_evaluations = (int)kw_json_get_i64(j, "max_evaluations", 0);
	o->budget.max_wall_ns = kw_json_get_i64(j, "max_wall_ns", 0);
	o->budget.max_rounds = (int)kw_json_get_i64(j, "max_rounds", 0);
	o->judge.threads = (int)kw_json_get_i64(j, "threads", 0);
	o->judge.large = kw_json_get_bool(j, "large", false);
	o->judge.sanitize = kw_json_get_bool(j, "sanitize", false) ? KW_SANITIZE_MUST : KW_SANITIZE_NO;
	o->judge.original = kw_json_get_bool(j, "original", false);
	o->judge.timings = (int)kw_json_get_i64(j, "timings", 0);
	o->judge.baselines = (unsigned)kw_json_get_i64(j, "baselines", 0);
	o->judge.seed = (uint64_t)kw_json_get_i64(j, "seed", 0);
	o->width = (int)kw_json_get_i64(j, "width", 0);
	compiler = kw_json_get_str(j, "compiler", NULL);
	o->judge.compiler = compiler ? kw_arena_strdup(a, compiler) : NULL;
	if (compiler && !o->judge.compiler)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (kw_json_get_str(j, "from", NULL)) {
		o->from_sha = kw_arena_strdup(a, kw_json_get_str(j, "from", ""));
		o->from_name = kw_arena_strdup(a, kw_json_get_str(j, "from_name", "kernel"));
		if (!o->from_sha || !o->from_name)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	if (status == KW_OK)
		status = kw_agent_opts_read(&o->agent, json_object_get(j, "agent"), a, err);
	json_decref(j);
	return status;
}

static enum kw_status new_run(struct kw_search *s, struct kw_error *err)
{
	json_t *options = kw_search_opts_json(s->opts);
	struct kw_run_row row = {
		.task_name = s->task->name, .task_text = s->task->text, .task_sha = s->task->sha256,
		.backend = s->opts->backend, .device = s->opts->device, .strategy = s->opts->strategy,
		.state = KW_RUN_RUNNING, .started_ms = kw_wall_ms(), .parent = s->opts->parent_run, .item = s->opts->item,
	};
	struct kw_buf text;
	enum kw_status status;

	kw_buf_init(&text, 1 << 16);
	status = options ? kw_json_canonical(options, &text, err)
			 : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the run's options");
	row.options = text.ptr;
	if (status == KW_OK)
		status = kw_store_run_new(s->store, &row, &s->run_id, err);
	if (status == KW_OK)
		status = kw_store_run_claim(s->store, s->run_id, err);
	json_decref(options);
	kw_buf_release(&text);
	return status;
}

static enum kw_status open_run(struct kw_search *s, struct kw_error *err)
{
	struct kw_run_row row;
	enum kw_status status;

	if (!s->opts->resume_run)
		return new_run(s, err);
	s->run_id = s->opts->resume_run;
	status = kw_store_run_get(s->store, s->run_id, s->arena, &row, err);
	if (status != KW_OK)
		return status;
	if (strcmp(row.task_sha, s->task->sha256) != 0)
		return kw_fail(err, KW_ERR_INPUT, s->task->file ? s->task->file : "",
			       "run %lld was about another text of task %s; start a new run for this one",
			       (long long)s->run_id, row.task_name);
	if (strcmp(row.backend, s->opts->backend) != 0)
		return kw_fail(err, KW_ERR_USAGE, "", "run %lld is for backend %s, not %s", (long long)s->run_id,
			       row.backend, s->opts->backend);
	s->evaluations = s->past = row.evaluations;
	return kw_store_run_claim(s->store, s->run_id, err);
}

/* Full effort at the candidate's tune point, or the final check at once. right: whether it got into the ranking. */
static enum kw_status judge_whole(struct kw_search *s, const struct kw_candidate *c, enum kw_judge_effort effort, bool *right,
				  struct kw_outcome *out, struct kw_error *err)
{
	struct kw_verdict *v = kw_alloc(sizeof(*v));
	struct kw_judge_opts o;
	enum kw_status status;

	*right = false;
	if (!v)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a verdict");
	kw_verdict_init(v);
	kw_search_judge_opts(s, effort, &o);
	status = kw_search_evaluate(s, c, effort == KW_EFFORT_FINAL ? "final" : "full", &o, v, out, err);
	if (status == KW_OK && out->cls == KW_V_OK) {
		struct kw_ranked *row = kw_search_rank(s, c, out->tune, v);

		*right = row != NULL;
		if (row)
			row->proven = effort == KW_EFFORT_FINAL;
		return KW_OK;
	}
	if (status == KW_OK)
		kw_search_reason(s, "%s%s%s: %s%s%s: %s", c->name, *out->tune ? " " : "", out->tune,
				 kw_verdict_name(out->cls), out->subclass == KW_S_NONE ? "" : "/",
				 kw_subclass_name(out->subclass), v->summary);
	kw_verdict_release(v);
	kw_free(v);
	return status;
}

/* Room for one more in an array of an arena: it is copied when its length is a power of two, and so log n times. NULL: no memory. */
static void *grown(struct kw_arena *a, void *old, size_t count, size_t size)
{
	void *room;

	if (count & (count - 1))
		return old;
	room = kw_arena_calloc(a, count ? 2 * count : 1, size);
	if (room && count)
		memcpy(room, old, count * size);
	return room;
}

static enum kw_status keep_report(struct kw_search_result *r, const struct kw_tune_report *t, struct kw_error *err)
{
	struct kw_tune_report *room = grown(&r->arena, r->tunes, r->tune_count, sizeof(*room));

	if (!room)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the tuner's reports");
	room[r->tune_count++] = *t;
	r->tunes = room;
	return KW_OK;
}

/* The best point in full; where that one is not right after all, the next best. */
static enum kw_status judge_points(struct kw_search *s, struct kw_candidate *c, const struct kw_tune_points *points,
				   bool *right, struct kw_error *err)
{
	struct kw_outcome outcome;
	enum kw_status status = KW_OK;

	*right = false;
	for (size_t i = 0; i < points->count && i < FALLBACK_POINTS && !*right && status == KW_OK; i++) {
		c->tune_values = points->at[i].values;
		status = judge_whole(s, c, KW_EFFORT_FULL, right, &outcome, err);
		if (status == KW_OK && outcome.cls == KW_V_CHEAT)
			break;
	}
	return status;
}

/* How long the tuner may take: of a budget's time at most half of what is left, so that the judgement in full and the
 * patterns that follow have their part. */
static int64_t tune_limit(const struct kw_search *s)
{
	int64_t left = s->opts->budget.max_wall_ns - kw_search_elapsed_ns(s);

	if (!s->opts->budget.max_wall_ns || left / 2 > tune_limit_ns)
		return tune_limit_ns;
	return left > 2 ? left / 2 : 1;
}

static const struct kw_ranked *ranked_of(const struct kw_search *s, const struct kw_candidate *c)
{
	for (size_t i = 0; i < s->ranked_count; i++)
		if (strcmp(s->ranked[i].candidate.sha256, c->sha256) == 0)
			return &s->ranked[i];
	return NULL;
}

/* Where the tuner found that no one point is best for all sizes: the kernel that chooses by size, judged like any other. The faster of the two is
 * the step's. Nothing is tried that would be behind the best even if it kept what it promises. */
static enum kw_status split_by_size(struct kw_search *s, struct kw_step *step, const struct kw_tune_report *report, struct kw_error *err)
{
	const struct kw_tune_split *split = report->split;
	const struct kw_ranked *row = ranked_of(s, &step->candidate);
	struct kw_candidate by_size;
	struct kw_outcome outcome;
	double before = row ? row->ns : 0, share = split ? split->ns / report->best_ns : 1;
	int covered = row ? row->covered : 0;
	char was[40], now[40];
	bool right = false;
	enum kw_status status;

	if (!split || !row || (row != &s->ranked[0] && before * share >= s->ranked[0].ns))
		return KW_OK;
	status = kw_split_apply(&step->candidate, s->task, s->ports->hardware, split, s->arena, &by_size, err);
	if (status == KW_NO) {
		kw_search_reason(s, "%s: not split by size (%s): it would serve fewer cases", step->candidate.name, split->text);
		return KW_OK;
	}
	if (status == KW_OK)
		status = judge_whole(s, &by_size, KW_EFFORT_FULL, &right, &outcome, err);
	if (status == KW_OK && s->memory) /* what was tried is no advice */
		status = kw_split_remember(s->memory, kw_split_key(&step->candidate, s->ports->hardware, s->arena), NULL, s->arena, err);
	if (status != KW_OK || !right)
		return status;
	row = ranked_of(s, &by_size);
	right = row && row->covered >= covered && row->ns < before;
	kw_search_reason(s, "%s: split by size (%s): %s, %s %s", step->candidate.name, split->text, kw_human_ns(outcome.ns, now, sizeof(now)),
			 right ? "before" : "not kept, without it", kw_human_ns(before, was, sizeof(was)));
	if (!right)
		return KW_OK;
	kw_search_drop_ahead(s, step->candidate.sha256);
	step->what = kw_arena_printf(s->arena, "%s; split by size: %s", step->what, split->text);
	step->candidate = by_size;
	return step->what ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a step");
}

/* One round: tune, then judge in full. */
static enum kw_status play_step(struct kw_search *s, struct kw_step *step, struct kw_search_result *out,
				struct kw_error *err)
{
	struct kw_candidate *c = &step->candidate;
	struct kw_tune_points points = { 0 };
	struct kw_tune_report report;
	struct kw_outcome outcome;
	enum kw_status status, kept;
	bool right = false;

	if (!step->tune || c->plan.tune_count == 0)
		return judge_whole(s, c, step->final ? KW_EFFORT_FINAL : KW_EFFORT_FULL, &right, &outcome, err);
	status = kw_tuner_run(s, c, tune_limit(s), &report, &points, err);
	if (status != KW_OK && status != KW_NO)
		return status;
	kept = keep_report(out, &report, err);
	if (kept != KW_OK || status == KW_NO)
		return kept != KW_OK ? kept : status;
	status = judge_points(s, c, &points, &right, err);
	if (status == KW_OK)
		kw_search_forget_screened(s, c->sha256);
	return status == KW_OK && right ? split_by_size(s, step, &report, err) : status;
}

static enum kw_status keep_round(struct kw_search *s, const struct kw_round *round, struct kw_search_result *r,
				 struct kw_error *err)
{
	struct kw_round *room = grown(s->arena, r->rounds, r->round_count, sizeof(*room));

	if (!room)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the rounds");
	room[r->round_count++] = *round;
	r->rounds = room;
	return kw_store_round_put(s->store, s->run_id, round, err);
}

static bool goal_met(const struct kw_search *s)
{
	const struct kw_goal *g = &s->task->goal;
	const struct kw_ranked *best = s->ranked_count ? &s->ranked[0] : NULL;

	if (!best || (g->speedup <= 0.0 && g->sol <= 0.0))
		return false;
	return (g->speedup <= 0.0 || best->speedup >= g->speedup) && (g->sol <= 0.0 || best->sol >= g->sol);
}

/* How many rounds in a row, counted from the last, gained under 5%. */
static int slow_rounds(const struct kw_search_result *r)
{
	int n = 0;

	for (size_t i = r->round_count; i-- > 0; n++) {
		const struct kw_round *k = &r->rounds[i];

		if (k->best_ns_before <= 0.0 || k->best_ns_after < (1.0 - least_gain) * k->best_ns_before)
			break;
	}
	return n;
}

/* After a round: whether and why to stop. */
static bool round_stops(struct kw_search *s, const struct kw_strategy *g, const struct kw_search_result *r)
{
	int max_rounds = s->opts->budget.max_rounds && !g->rounds_are_of_parts ? s->opts->budget.max_rounds : g->rounds;
	enum kw_run_state asked = s->ports->agent ? kw_agent_stop(s->ports->agent) : KW_RUN_EXHAUSTED;

	if (goal_met(s))
		s->stop = KW_RUN_GOAL;
	else if (asked == KW_RUN_USELESS || asked == KW_RUN_TOKENS || asked == KW_RUN_MONEY || asked == KW_RUN_BUDGET)
		s->stop = asked;
	else if (slow_rounds(r) >= (g->patience ? g->patience : 2))
		s->stop = g->patience == KW_PATIENT ? KW_RUN_FLAT : KW_RUN_CONVERGED;
	else if (max_rounds && s->round >= max_rounds)
		s->stop = KW_RUN_ROUNDS;
	else
		return false;
	return true;
}

/* What came of a rule's directive that a step says it followed: for the rule's record, and beside the verdict. */
static enum kw_status keep_applied(struct kw_search *s, const struct kw_step *step, const struct kw_ranked *best, struct kw_error *err)
{
	const struct kw_case_result *c = NULL;
	struct kw_finding f = *step->applied;
	struct kw_verdict_row row;
	double predicted = f.gain_ns > 0 ? f.gain_ns / step->before_ns : 0, measured;
	bool found = false;
	enum kw_status status;

	for (size_t i = 0; step->of_case && i < best->verdict->case_count && !c; i++)
		if (best->verdict->cases[i].has_times && strcmp(best->verdict->cases[i].label, step->of_case) == 0)
			c = &best->verdict->cases[i];
	if ((step->of_case && !c) || !(step->before_ns > 0))
		return KW_OK;
	f.directive.applied = true;
	f.directive.measured_factor = (c ? c->times.median_ns : best->ns) / step->before_ns;
	measured = 1 - f.directive.measured_factor;
	status = kw_store_verdict_find(s->store, s->run_id, best->candidate.sha256, best->tune, "full", s->arena, &row, &found, err);
	if (status == KW_OK && found)
		status = kw_store_finding_put(s->store, row.id, &f, err);
	if (status == KW_OK && s->memory)
		status = kw_ledger_add(s->memory, f.id, predicted, measured, s->arena, err);
	if (status == KW_OK)
		kw_search_reason(s, "%s was applied in round %d: %.0f%% of the time of %s predicted at most, %.0f%% measured", f.id,
				 s->round, 100 * predicted, step->of_case ? step->of_case : "all perf cases", 100 * measured);
	return status;
}

/* The step of a round, and what the strategy does about it in the same round. */
static enum kw_status play_all(struct kw_search *s, const struct kw_strategy *g, void *state, struct kw_step *step,
			       struct kw_round *round, struct kw_search_result *out, struct kw_error *err)
{
	const char *whole = round->step;
	bool more = true;
	enum kw_status status = KW_OK;

	for (int i = 0; more && i < STEPS_OF_A_ROUND_MAX && status == KW_OK; i++) {
		int fresh = s->fresh;
		const struct kw_ranked *best, *asked;
		struct kw_candidate as_asked = step->candidate;

		if (!step->idle) {
			const char *what = step->what;

			status = play_step(s, step, out, err);
			kw_search_drop_ahead(s, step->candidate.sha256);
			/* Of a round of one step, and of several where it leads. */
			if (status == KW_OK && step->what != what && (whole == what || ranked_of(s, &step->candidate) == &s->ranked[0]))
				round->step = whole == what ? step->what : kw_arena_printf(s->arena, "%s; the best: %s", whole, step->what);
		}
		best = step->idle ? NULL : ranked_of(s, &step->candidate);
		if (best && best->ns > 0 && (round->measured_ns <= 0 || best->ns < round->measured_ns))
			round->measured_ns = best->ns;
		/* What a resumed run only recalls was kept when it was judged. A split by size is no merit of the advice. */
		asked = step->applied ? ranked_of(s, &as_asked) : NULL;
		if (status == KW_OK && asked && s->fresh > fresh)
			status = keep_applied(s, step, asked, err);
		if (status == KW_OK && g->told)
			g->told(s, state, step, best);
		more = false;
		/* What meets the goal ends the round too: the next in it may be a call that nobody answers. */
		if (status == KW_OK && g->again && !goal_met(s) && !kw_search_should_stop(s)) {
			*step = (struct kw_step){ .what = "" };
			status = g->again(s, state, step, &more, err);
		}
	}
	return status;
}

static enum kw_status one_round(struct kw_search *s, const struct kw_strategy *g, void *state,
				struct kw_search_result *out, bool *more, struct kw_error *err)
{
	struct kw_round round = { .index = s->round + 1, .best_ns_before = s->best_ns };
	struct kw_step step = { 0 };
	enum kw_status status = g->next(s, state, &step, more, err), kept;

	if (status != KW_OK || !*more)
		return status;
	s->round++;
	s->round_evaluations = 0;
	s->rounds_planned = s->round + (g->left ? g->left(s, state) : 0);
	round.step = step.round ? step.round : step.what;
	round.predicted = step.round ? 0 : step.predicted;
	status = play_all(s, g, state, &step, &round, out, err);
	if (status != KW_OK && status != KW_NO)
		return status;
	round.step = round.step ? round.step : step.what;
	round.evaluations = s->round_evaluations;
	round.best_ns_after = s->best_ns;
	kept = keep_round(s, &round, out, err);
	return kept != KW_OK ? kept : status;
}

/* Rounds until something says stop; the reason is in s->stop. */
static enum kw_status play_rounds(struct kw_search *s, const struct kw_strategy *g, struct kw_search_result *out,
				  struct kw_error *err)
{
	void *state = NULL;
	bool more = true;
	enum kw_status status = g->begin(s, &state, err);

	while (status == KW_OK && more) {
		if (kw_search_should_stop(s) || s->round >= ROUNDS_DEFAULT_MAX)
			break;
		status = one_round(s, g, state, out, &more, err);
		if (status == KW_OK && more && round_stops(s, g, out))
			break;
	}
	s->failing = status != KW_OK && status != KW_NO;
	if (g->end)
		g->end(state);
	return status == KW_NO ? KW_OK : status;
}

static enum kw_status init_search(struct kw_search *s, const struct kw_search_ports *ports, struct kw_arena *a,
				  struct kw_error *err)
{
	s->ports = ports;
	s->arena = a;
	s->start_ns = kw_now_ns();
	s->stop = KW_RUN_EXHAUSTED;
	s->ranked = kw_arena_calloc(s->arena, KW_RANKED_MAX + 1, sizeof(*s->ranked));
	s->screened = kw_arena_calloc(s->arena, KW_SCREENED_MAX, sizeof(*s->screened));
	s->reasons = kw_arena_calloc(s->arena, KW_REASONS_MAX, sizeof(*s->reasons));
	return s->ranked && s->screened && s->reasons ? KW_OK
						      : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a run");
}

static void release_search(struct kw_search *s)
{
	kw_rules_release(s->rules, s->rule_count);
	for (size_t i = 0; i < s->ranked_count; i++) {
		kw_verdict_release(s->ranked[i].verdict);
		kw_free(s->ranked[i].verdict);
	}
}

static void publish(struct kw_search *s, struct kw_search_result *out)
{
	out->run_id = s->run_id;
	out->state = s->stop;
	out->reasons = s->reasons;
	out->reason_count = s->reason_count;
	out->evaluations = s->evaluations;
	out->wall_ns = kw_now_ns() - s->start_ns;
}

void kw_search_tell_resume(int64_t run_id, enum kw_status status, struct kw_error *err)
{
	if (status != KW_OK && kw_status_exit(status) == kw_status_exit(KW_ERR_ENV))
		kw_error_while(err, "searching; `kwright runs resume %lld` goes on when that is mended", (long long)run_id);
}

/* Where the time went, since the start or the resume: what is left of wall_ns is the loop's own. Parts have times of their own. And what the
 * end took beyond a budget of time. */
static enum kw_status keep_time(struct kw_search *s, const struct kw_strategy *g, struct kw_error *err)
{
	int64_t models = s->ports->agent ? kw_agent_waited_ns(s->ports->agent) : 0, most = s->opts->budget.max_wall_ns;
	json_t *j = g->rounds_are_of_parts ? json_object()
					   : json_pack("{s:I, s:I, s:I, s:I}", "wall_ns", (json_int_t)(kw_now_ns() - s->start_ns), "judging_ns",
						       (json_int_t)s->judging_ns, "building_ns", (json_int_t)s->building_ns, "models_ns",
						       (json_int_t)models);
	enum kw_status status;

	if (most && kw_search_elapsed_ns(s) > most && !s->opts->as_part) {
		json_object_set_new(j, "budget_ns", json_integer(most));
		json_object_set_new(j, "beyond_ns", json_integer(kw_search_elapsed_ns(s) - most));
	}
	status = json_object_size(j) ? kw_store_fact_put(s->store, s->run_id, "time", j, err) : KW_OK;
	json_decref(j);
	return status;
}

/* Marks the end in the store. A run that ended by a fault of the machine stays resumable. */
static enum kw_status close_run(struct kw_search *s, enum kw_status status, const struct kw_search_result *out,
				struct kw_error *err)
{
	bool failed = status != KW_OK && status != KW_ERR_INTERRUPTED;
	enum kw_status ended = kw_store_run_end(s->store, s->run_id, failed ? KW_RUN_FAILED : s->stop,
						out->list.count ? &out->list : NULL, failed ? NULL : err);

	if (failed) {
		s->stop = KW_RUN_FAILED;
		kw_search_tell_resume(s->run_id, status, err);
		return status;
	}
	return ended != KW_OK ? ended : status;
}

static void watch(void *arg, const char *role, bool waiting)
{
	struct kw_search *s = arg;

	s->role = waiting ? role : NULL;
	kw_search_progress(s, NULL, NULL, NULL);
}

/* The mark is the run's own, whatever other store has a run of this number. */
static enum kw_status join_agent(struct kw_search *s, struct kw_error *err)
{
	struct kw_run_row row;
	const char *mark;
	enum kw_status status = kw_store_run_get(s->store, s->run_id, s->arena, &row, err);

	if (status != KW_OK)
		return status;
	s->started_ms = row.started_ms;
	mark = kw_arena_printf(s->arena, "run %lld of %lld", (long long)s->run_id, (long long)row.started_ms);
	if (!mark)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a run");
	kw_agent_watch(s->ports->agent, watch, s);
	return kw_agent_join(s->ports->agent, s->store, s->run_id, mark, err);
}

static enum kw_status no_strategy(const char *name, struct kw_error *err)
{
	size_t count;
	const struct kw_strategy *const *all = kw_strategy_all(&count);
	struct kw_buf names;
	enum kw_status status;

	kw_buf_init(&names, 4096);
	for (size_t i = 0; i < count; i++)
		kw_buf_printf(&names, "%s%s", i ? ", " : "", all[i]->name);
	status = kw_fail(err, KW_ERR_USAGE, "", "no strategy '%.60s'; there %s %s", name, count == 1 ? "is" : "are",
			 names.ptr ? names.ptr : "none");
	kw_buf_release(&names);
	return status;
}

/* A resumed run had its numbers checked when it began. */
static enum kw_status check_numbers(const struct kw_search_opts *o, struct kw_error *err)
{
	if (o->resume_run)
		return KW_OK;
	if (o->width > KW_BATCH_MAX)
		return kw_fail(err, KW_ERR_USAGE, "", "--width %d: a round has at most %d kernels", o->width, KW_BATCH_MAX);
	if (o->agent.parallel > KW_PARALLEL_MAX)
		return kw_fail(err, KW_ERR_USAGE, "", "--parallel %d: at most %d calls are under way at once", o->agent.parallel, KW_PARALLEL_MAX);
	return KW_OK;
}

enum kw_status kw_search_run_with(const struct kw_search_ports *ports, const struct kw_task *t, const struct kw_expr *e,
				  const struct kw_search_opts *o, struct kw_store *store, struct kw_store *memory,
				  struct kw_search_result *out, struct kw_error *err)
{
	const struct kw_strategy *strategy = kw_strategy_find(o->strategy);
	struct kw_search s = { .task = t, .expr = e, .opts = o, .store = store, .memory = memory };
	enum kw_status status;

	*out = (struct kw_search_result){ 0 };
	kw_arena_init(&out->arena, 512u << 20);
	kw_verdict_init(&out->verdict);
	if (!strategy)
		return no_strategy(o->strategy, err);
	status = check_numbers(o, err);
	if (status == KW_OK)
		status = init_search(&s, ports, &out->arena, err);
	if (status != KW_OK)
		return status;
	if (strategy->needs_model && !ports->agent)
		return kw_fail(err, KW_ERR_USAGE, "", "strategy %s needs a model: --model PROVIDER:NAME", strategy->name);
	status = open_run(&s, err);
	if (status == KW_OK && ports->agent)
		status = join_agent(&s, err);
	if (status != KW_OK)
		return status;
	status = play_rounds(&s, strategy, out, err);
	if (status == KW_OK && s.stop != KW_RUN_INTERRUPTED)
		status = kw_search_finish(&s, out, err);
	if (status == KW_OK)
		status = keep_time(&s, strategy, err);
	if (status == KW_OK && s.stop == KW_RUN_INTERRUPTED)
		status = kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted; `kwright runs resume %lld` goes on",
				 (long long)s.run_id);
	status = close_run(&s, status, out, err);
	publish(&s, out);
	release_search(&s);
	return status;
}

enum kw_status kw_tune_run_with(const struct kw_search_ports *ports, const struct kw_task *t, const struct kw_expr *e,
				struct kw_candidate *c, const struct kw_search_opts *o, struct kw_store *store, int64_t run_id,
				struct kw_arena *a, struct kw_tune_result *out, struct kw_error *err)
{
	struct kw_search s = { .task = t, .expr = e, .opts = o, .store = store, .memory = o->memory, .run_id = run_id };
	struct kw_tune_points points = { 0 };
	struct kw_outcome outcome;
	enum kw_status status = init_search(&s, ports, a, err);

	*out = (struct kw_tune_result){ 0 };
	s.round = 1;
	if (status == KW_OK)
		status = kw_tuner_run(&s, c, o->budget.max_wall_ns ? o->budget.max_wall_ns : lone_tune_limit_ns,
				      &out->report, &points, err);
	/* A spent budget is no error: the best so far is judged in full. */
	if (status == KW_OK || (status == KW_NO && s.stop == KW_RUN_BUDGET)) {
		s.handing_over = true;
		/* Without a space there is nothing that tuning could save: the judgement in full says all that is wrong. */
		status = c->plan.tune_count ? judge_points(&s, c, &points, &out->right, err)
					    : judge_whole(&s, c, KW_EFFORT_FULL, &out->right, &outcome, err);
	}
	if (status == KW_NO) /* nothing else stops it then */
		status = kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted after %d of the tuner's points",
				 out->report.tried);
	out->state = status == KW_OK && s.stop == KW_RUN_EXHAUSTED && !out->right ? KW_RUN_NO_CORRECT : s.stop;
	out->reasons = s.reasons;
	out->reason_count = s.reason_count;
	release_search(&s);
	return status;
}

void kw_search_result_release(struct kw_search_result *r)
{
	kw_verdict_release(&r->verdict);
	kw_arena_release(&r->arena);
	*r = (struct kw_search_result){ 0 };
}
