/* The tuner: successive halving over a tune space (Jamieson and Talwalkar 2016).
 *
 * Rung 0 gives every point a little time. The fastest third goes on to a rung with five times as much, beside the neighbours of
 * the best point where the list was only a sample; the best few of those to a third rung. All on one perf case, the first
 * that the candidate applies to; the full judgement that follows sees every case. Every point is judged by itself: its outputs are poisoned before and compared
 * after each call, so one point cannot live on what another has written. */
#include "search/engine.h"

#include <stdlib.h>
#include <string.h>

#include "search/ahead.h"
#include "search/space.h"

enum { POINTS_MAX = 40, NEIGHBOURS_MAX = 6, LAST_RUNG_MAX = 3, PATIENCE_MIN = 10, AT_LEAST = 4, SAME_FAULT = 3 };

enum fate { NOT_TRIED, RIGHT, FAILED_BUILD, NOT_APPLICABLE, WRONG };
struct point {
	int64_t *values;
	enum fate fate;
	double ns;
	int rung;                         /* the last one it was timed in */
	bool ahead;                       /* compiled before its turn */
};
struct tuner {
	struct kw_search *s;
	struct kw_candidate *c;
	struct kw_tune_report *report;
	struct kw_space space;
	struct point *points;
	size_t count, room;
	int64_t started_ns, limit_ns;
	int perf_case;                    /* the one that is timed; -1: none applies, the judge will say why */
	int since_better;
	double best_ns;                   /* within this rung */
	bool cheat;
	const char *fault;                /* why the default does not build, while no point did otherwise */
	const char *first_fault;          /* what was found out about the first point that was not right, a cheat before all; or NULL */
	int same_faults;                  /* points that do not build for just that */
};

static const struct {
	const char *label;
	int64_t time_ns;
} rungs[] = { { "screen", 50 * 1000000ll }, { "screen.1", 250 * 1000000ll }, { "screen.2", 800 * 1000000ll } };

static bool out_of_time(const struct tuner *t)
{
	return t->limit_ns && kw_search_elapsed_ns(t->s) - t->started_ns > t->limit_ns;
}

static enum kw_status add_curve(struct tuner *t, double best_ns, struct kw_error *err)
{
	struct kw_tune_report *r = t->report;
	struct kw_curve_point *grown = kw_arena_calloc(t->s->arena, r->curve_count + 1, sizeof(*grown));

	if (!grown)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the tuner's curve");
	if (r->curve_count)
		memcpy(grown, r->curve, r->curve_count * sizeof(*grown));
	grown[r->curve_count] = (struct kw_curve_point){ t->report->tried, best_ns,
							 kw_search_elapsed_ns(t->s) - t->started_ns };
	r->curve = grown;
	r->curve_count++;
	return KW_OK;
}

static void settle(struct tuner *t, struct point *p, const struct kw_outcome *o, bool first)
{
	struct kw_tune_report *r = t->report;

	switch (o->cls) {
	case KW_V_OK:
		p->fate = o->ns > 0.0 ? RIGHT : NOT_APPLICABLE;
		p->ns = o->ns;
		break;
	case KW_V_BUILD_ERROR:
		p->fate = FAILED_BUILD;
		r->failed_build += first;
		break;
	case KW_V_NOT_APPLICABLE:
		p->fate = NOT_APPLICABLE;
		r->pruned += first;
		break;
	default:
		p->fate = WRONG;
		r->wrong += first;
		t->cheat = t->cheat || o->cls == KW_V_CHEAT;
	}
}

static enum kw_status note_better(struct tuner *t, const struct point *p, struct kw_error *err)
{
	t->since_better++;
	if (p->fate != RIGHT || (t->best_ns > 0.0 && p->ns >= t->best_ns))
		return KW_OK;
	if (t->best_ns == 0.0 || p->ns < 0.99 * t->best_ns)
		t->since_better = 0;
	t->best_ns = p->ns;
	return add_curve(t, p->ns, err);
}

static void rung_opts(const struct tuner *t, int rung, struct kw_judge_opts *o)
{
	kw_search_judge_opts(t->s, KW_EFFORT_SCREEN, o);
	o->time_limit_ns = rungs[rung].time_ns;
	o->only_case = t->perf_case;
	o->best_ns = t->best_ns;
}

/* For the case that no point is of use: the tuner's counts alone would not say why. */
static void note_fault(struct tuner *t, const struct kw_outcome *o, const char *why)
{
	if (o->cls == KW_V_OK || t->cheat || (t->first_fault && o->cls != KW_V_CHEAT))
		return;
	t->first_fault = kw_arena_printf(t->s->arena, "%s%s%s: %s%s%s: %s", t->c->name, *o->tune ? " " : "", o->tune,
					 kw_verdict_name(o->cls), o->subclass == KW_S_NONE ? "" : "/",
					 kw_subclass_name(o->subclass), why);
}

/* Under the label of its rung and case. why: the verdict's summary, where not NULL. */
static enum kw_status judge_point(struct tuner *t, struct point *p, int rung, struct kw_outcome *outcome, const char **why,
				  struct kw_error *err)
{
	const char *label = kw_search_label(t->s, rungs[rung].label, t->perf_case);
	struct kw_judge_opts o;
	struct kw_verdict v;
	const char *text;
	enum kw_status status;

	rung_opts(t, rung, &o);
	t->c->tune_values = p->values;
	kw_verdict_init(&v);
	status = label ? kw_search_evaluate(t->s, t->c, label, &o, &v, outcome, err)
		       : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the tuner");
	text = kw_arena_strdup(t->s->arena, v.summary);
	if (why)
		*why = text;
	if (status == KW_OK)
		note_fault(t, outcome, text ? text : "");
	kw_verdict_release(&v);
	return status;
}

static enum kw_status take(struct tuner *t, struct point *p, int rung, const struct kw_outcome *outcome,
			   struct kw_error *err)
{
	bool first = p->fate == NOT_TRIED;

	t->report->tried += first;
	p->rung = rung;
	/* Without a build cache it would be built twice. */
	if (p->ahead && !outcome->recalled && outcome->cls == KW_V_OK && !outcome->cached)
		t->s->no_ahead = true;
	settle(t, p, outcome, first);
	return note_better(t, p, err);
}

static enum kw_status try_point(struct tuner *t, struct point *p, int rung, struct kw_error *err)
{
	struct kw_outcome outcome;
	const char *why = NULL;
	enum kw_status status = judge_point(t, p, rung, &outcome, t->fault ? &why : NULL, err);

	if (status == KW_OK)
		status = take(t, p, rung, &outcome, err);
	if (status != KW_OK || !t->fault)
		return status;
	if (p->fate == FAILED_BUILD && why && strcmp(why, t->fault) == 0)
		t->same_faults++;
	else
		t->fault = NULL;
	return status;
}

/* The default point, on the first perf case that it can be judged on: one that does not fit this machine is no reason
 * against a kernel. */
static enum kw_status try_default(struct tuner *t, struct kw_error *err)
{
	const struct kw_hardware *hw = t->s->ports->hardware;
	struct kw_outcome outcome;
	const char *why = NULL;
	enum kw_status status;
	int next = t->perf_case;

	do {
		t->perf_case = next;
		status = judge_point(t, &t->points[0], 0, &outcome, &why, err);
		next = next < 0 ? next : kw_space_case(t->c, t->s->task, hw, t->s->opts->judge.large, next + 1);
	} while (status == KW_OK && outcome.cls == KW_V_NOT_APPLICABLE && next >= 0);
	if (status == KW_OK)
		status = take(t, &t->points[0], 0, &outcome, err);
	if (t->points[0].fate == FAILED_BUILD)
		t->fault = why;
	return status;
}

/* Right ones of the latest rung first, then by time. */
static int by_time(const void *a, const void *b)
{
	const struct point *p = a, *q = b;

	if ((p->fate == RIGHT) != (q->fate == RIGHT))
		return p->fate == RIGHT ? -1 : 1;
	if (p->rung != q->rung)
		return p->rung > q->rung ? -1 : 1;
	return p->ns < q->ns ? -1 : p->ns > q->ns;
}

/* The points from `first` on that are judged next are compiled at once, before anything of them is timed; and begun, where there are
 * several devices. */
static void build_ahead(struct tuner *t, size_t first, size_t count, int rung)
{
	const char *label = kw_search_label(t->s, rungs[rung].label, t->perf_case);
	struct kw_candidate *copies;
	const struct kw_candidate **list;
	struct kw_judge_opts o;
	struct kw_arena scratch;

	kw_arena_init(&scratch, 16 << 20);
	copies = kw_arena_calloc(&scratch, count + 1, sizeof(*copies));
	list = kw_arena_calloc(&scratch, count + 1, sizeof(*list));
	for (size_t i = 0; copies && list && i < count; i++) {
		copies[i] = *t->c;
		copies[i].tune_values = t->points[first + i].values;
		list[i] = &copies[i];
	}
	if (copies && list && label && kw_search_build_ahead(t->s, list, count, t->perf_case, label))
		for (size_t i = 0; i < count; i++)
			t->points[first + i].ahead = true;
	rung_opts(t, rung, &o);
	kw_search_drop_ahead(t->s, t->c->sha256); /* of a rung that ended early */
	if (copies && list && label)
		kw_search_judge_ahead(t->s, list, count, label, &o);
	kw_arena_release(&scratch);
}

/* The tune point that is judged first; NULL where there is nothing to tune, or no memory. */
static int64_t *default_values(const struct kw_plan *p, struct kw_arena *a)
{
	int64_t *values = p->tune_count ? kw_arena_calloc(a, p->tune_count, sizeof(*values)) : NULL;

	for (size_t i = 0; values && i < p->tune_count; i++)
		values[i] = p->tunes[i].default_value;
	return values;
}

static void begin_one(struct kw_search *s, const struct kw_candidate *c, bool looks, struct kw_arena *scratch)
{
	struct tuner t = { .s = s, .perf_case = kw_space_case(c, s->task, s->ports->hardware, s->opts->judge.large, 0) };
	struct kw_candidate copy = *c;
	const struct kw_candidate *list[1] = { &copy };
	const char *label = "full";
	struct kw_judge_opts o;

	kw_search_judge_opts(s, KW_EFFORT_FULL, &o);
	if (looks || c->plan.tune_count) {
		rung_opts(&t, 0, &o);
		label = kw_search_label(s, rungs[0].label, t.perf_case);
	}
	if (!looks)
		copy.tune_values = default_values(&c->plan, scratch);
	if (label)
		kw_search_judge_ahead(s, list, 1, label, &o);
}

void kw_search_begin_ahead(struct kw_search *s, const struct kw_candidate *const *list, size_t count, bool looks)
{
	struct kw_arena scratch;

	kw_search_build_ahead(s, list, count, -1, looks || (count && list[0]->plan.tune_count) ? rungs[0].label : "full");
	kw_arena_init(&scratch, 16 << 20);
	for (size_t i = 0; i < count; i++)
		begin_one(s, list[i], looks, &scratch);
	kw_arena_release(&scratch);
}

static size_t right_count(const struct tuner *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += t->points[i].fate == RIGHT;
	return n;
}

static enum kw_status first_rung(struct tuner *t, struct kw_error *err)
{
	int patience = t->count / 2 > PATIENCE_MIN ? (int)(t->count / 2) : PATIENCE_MIN;
	size_t batch = kw_ahead_batch(t->s->ports->hardware), built = 1;
	enum kw_status status = try_default(t, err);

	/* What is wrong at its default is not saved by tuning; what does not build there may build elsewhere, unless the next points have the
	 * very same fault. */
	if (status != KW_OK || t->points[0].fate == WRONG || t->points[0].fate == NOT_APPLICABLE)
		return status;
	for (size_t i = 1; i < t->count && status == KW_OK; i++) {
		if (i > AT_LEAST && (out_of_time(t) || t->since_better > patience))
			break;
		if (t->fault && t->same_faults == SAME_FAULT)
			break;
		if (i >= built && !t->fault) {
			build_ahead(t, i, t->count - i < batch ? t->count - i : batch, 0);
			built = i + batch;
		}
		status = try_point(t, &t->points[i], 0, err);
	}
	return status;
}

static bool known(const struct tuner *t, const int64_t *values)
{
	for (size_t i = 0; i < t->count; i++)
		if (memcmp(t->points[i].values, values, t->c->plan.tune_count * sizeof(*values)) == 0)
			return true;
	return false;
}

/* One step up or down on one axis from the best point, where the list was only a sample. */
static enum kw_status add_neighbours(struct tuner *t, size_t *added, struct kw_error *err)
{
	const struct kw_plan *plan = &t->c->plan;
	const int64_t *best = t->points[0].values;

	*added = 0;
	for (size_t axis = 0; axis < plan->tune_count; axis++) {
		const struct kw_plan_tune *tune = &plan->tunes[axis];

		for (size_t k = 0; k < tune->value_count; k++) {
			bool near = (k > 0 && tune->values[k - 1] == best[axis]) ||
				    (k + 1 < tune->value_count && tune->values[k + 1] == best[axis]);
			int64_t *values;

			if (!near || *added == NEIGHBOURS_MAX || t->count == t->room)
				continue;
			values = kw_arena_copy(t->s->arena, best, plan->tune_count * sizeof(*best));
			if (!values)
				return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for tune points");
			values[axis] = tune->values[k];
			if (known(t, values) || !kw_space_allows(t->c, t->s->task, t->s->ports->hardware, values))
				continue;
			t->points[t->count++] = (struct point){ .values = values };
			(*added)++;
		}
	}
	return KW_OK;
}

/* The best `keep` of what is right, and the `added` at the end of the list, once more with more time. */
static enum kw_status next_rung(struct tuner *t, int rung, size_t keep, size_t added, struct kw_error *err)
{
	enum kw_status status = KW_OK;

	t->best_ns = 0.0;
	t->s->upcoming = (int)(keep + added);
	for (size_t i = 0; i < keep && status == KW_OK; i++)
		status = try_point(t, &t->points[i], rung, err);
	if (status == KW_OK && !out_of_time(t))
		build_ahead(t, t->count - added, added, rung);
	for (size_t i = t->count - added; i < t->count && status == KW_OK && !out_of_time(t); i++)
		status = try_point(t, &t->points[i], rung, err);
	return status;
}

static void sort_points(struct tuner *t)
{
	qsort(t->points, t->count, sizeof(*t->points), by_time);
}

static enum kw_status halve(struct tuner *t, struct kw_error *err)
{
	size_t right, added = 0, keep;
	enum kw_status status = first_rung(t, err);

	if (status != KW_OK)
		return status;
	sort_points(t);
	right = right_count(t);
	if (right < 2 || t->cheat)
		return KW_OK;
	if (!t->space.whole)
		status = add_neighbours(t, &added, err);
	keep = right / 3 > 2 ? right / 3 : 2;
	if (status == KW_OK)
		status = next_rung(t, 1, keep, added, err);
	sort_points(t);
	/* A third look only where the two fastest are too close to tell apart. */
	if (status == KW_OK && t->points[1].rung == 1 && t->points[1].fate == RIGHT &&
	    t->points[1].ns < 1.05 * t->points[0].ns && !out_of_time(t)) {
		keep = keep + added < LAST_RUNG_MAX ? keep + added : LAST_RUNG_MAX;
		while (keep > 0 && (t->points[keep - 1].fate != RIGHT || t->points[keep - 1].rung != 1))
			keep--;
		status = next_rung(t, 2, keep, 0, err);
		sort_points(t);
	}
	return status;
}

static const char *key_of(const struct kw_search *s, const struct kw_candidate *c)
{
	const struct kw_hardware *hw = s->ports->hardware;
	const char *key = kw_arena_printf(s->arena, "%s|%s|%s|%d", c->sha256, hw->name, hw->arch, hw->units);

	return key ? key : c->sha256;
}

/* Where an earlier run found its winner for this very candidate on this kind of machine, it is tried second. */
static enum kw_status add_known_winner(struct tuner *t, struct kw_error *err)
{
	size_t n = t->c->plan.tune_count, at = 0;
	const char *text = NULL;
	int64_t *values = kw_arena_calloc(t->s->arena, n + 1, sizeof(*values));
	enum kw_status status;

	if (!values)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for tune points");
	if (!t->s->memory || n == 0)
		return KW_OK;
	status = kw_store_kv_get(t->s->memory, "tune", key_of(t->s, t->c), t->s->arena, &text, err);
	if (status != KW_OK || !text || kw_plan_tune_parse(&t->c->plan, text, values, NULL) != KW_OK)
		return status;
	while (at < t->count && memcmp(t->points[at].values, values, n * sizeof(*values)) != 0)
		at++;
	if (at == 0)
		return KW_OK;
	if (at == t->count && at == t->room)
		at--;
	t->count = at == t->count ? at + 1 : t->count;
	memmove(&t->points[2], &t->points[1], (at - 1) * sizeof(*t->points));
	t->points[1] = (struct point){ .values = values };
	return KW_OK;
}

static enum kw_status start(struct tuner *t, struct kw_error *err)
{
	enum kw_status status;

	status = kw_space_list(t->c, t->s->task, t->s->ports->hardware, POINTS_MAX, t->s->arena, &t->space, err);
	if (status != KW_OK)
		return status;
	t->room = t->space.count + NEIGHBOURS_MAX + 1;
	t->points = kw_arena_calloc(t->s->arena, t->room, sizeof(*t->points));
	if (!t->points)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for tune points");
	for (t->count = 0; t->count < t->space.count; t->count++)
		t->points[t->count].values = t->space.points[t->count];
	t->report->space = t->space.size;
	t->report->pruned = (int)t->space.pruned;
	status = add_known_winner(t, err);
	t->s->upcoming = (int)t->count;
	return status;
}

static enum kw_status hand_over(struct tuner *t, struct kw_tune_points *points, struct kw_error *err)
{
	size_t n = t->cheat ? 0 : right_count(t);

	if (points) {
		*points = (struct kw_tune_points){ .at = kw_arena_calloc(t->s->arena, n + 1, sizeof(*points->at)) };
		if (!points->at)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for tune points");
		for (; points->count < n; points->count++)
			points->at[points->count] = (struct kw_tune_point_time){ t->points[points->count].values,
										 t->points[points->count].ns };
	}
	t->c->tune_values = n ? t->points[0].values : NULL;
	t->report->best_values = t->c->tune_values;
	t->report->best_ns = n ? t->points[0].ns : 0.0;
	return KW_OK;
}

enum kw_status kw_tuner_run(struct kw_search *s, struct kw_candidate *c, int64_t limit_ns,
			    struct kw_tune_report *report, struct kw_tune_points *points, struct kw_error *err)
{
	struct tuner t = { .s = s, .c = c, .report = report, .limit_ns = limit_ns, .started_ns = kw_search_elapsed_ns(s),
			   .perf_case = kw_space_case(c, s->task, s->ports->hardware, s->opts->judge.large, 0) };
	enum kw_status status, ended;

	*report = (struct kw_tune_report){ .candidate = c->name };
	status = start(&t, err);
	if (status == KW_OK)
		status = halve(&t, err);
	if (status != KW_OK && status != KW_NO)
		return status;
	if (t.first_fault && (t.cheat || right_count(&t) == 0))
		kw_search_reason(s, "%s", t.first_fault);
	sort_points(&t);
	ended = hand_over(&t, points, err);
	s->upcoming = 0;
	if (ended == KW_OK && status == KW_OK && s->memory && c->tune_values && c->plan.tune_count)
		ended = kw_store_kv_put(s->memory, "tune", key_of(s, c),
					kw_plan_tune_text(&c->plan, c->tune_values, s->arena), err);
	return ended != KW_OK ? ended : status;
}
