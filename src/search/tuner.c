/* The tuner: successive halving over a tune space (Jamieson and Talwalkar 2016).
 *
 * Rung 0 gives every point a little time on one perf case, the first that the candidate applies to: they are many. The fastest third
 * goes on to a rung with more time, beside the default and an earlier run's winner; all of them, where several cases have few points. Those that
 * are too close to tell apart go on to a third. These are timed on every perf case that they apply to, and the geometric mean decides, as it
 * does for what is judged in full: a point that is the fastest on one case can be far from it on another. Where the sizes tell such cases apart,
 * the report says so (split.h). Every point is judged by itself: its outputs are poisoned before and compared after each call, so one point
 * cannot live on what another has written. */
#include "search/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/ahead.h"
#include "search/space.h"
#include "search/split.h"

enum { POINTS_MAX = 40, NEIGHBOURS_MAX = 6, LAST_RUNG_MAX = 3, PATIENCE_MIN = 10, AT_LEAST = 4, SAME_FAULT = 3 };
/* Of a later rung, over its cases: most of what a look costs is not its timing, so more cases mean fewer points. Those that are looked at
 * on every case even when the time is over: without the leader and the default nothing would have been compared. */
enum { LOOKS_MAX = 12, COMPARED = 2 };
/* Further apart they need no third look. */
static const double close_enough = 1.05;

enum fate { NOT_TRIED, RIGHT, FAILED_BUILD, NOT_APPLICABLE, WRONG };
struct point {
	int64_t *values;
	enum fate fate;
	double ns;                        /* geometric mean of case_ns */
	double *case_ns;                  /* its latest time on each perf case of the task; 0: none */
	double *low_ns, *high_ns;         /* the ends of its interval */
	double before_ns;                 /* of the case that is looked at now, before it was */
	int covered;                      /* cases with a time */
	int rung;                         /* the last one that it went through */
	size_t turn;                      /* its place in the list: among equals the earlier one leads */
	bool ahead;                       /* compiled before its turn */
	bool stays;                       /* the default, the earlier winner: goes on whatever its time on the first case */
	bool missed;                      /* the time was over before its turn in this rung */
};
struct tuner {
	struct kw_search *s;
	struct kw_candidate *c;
	struct kw_tune_report *report;
	struct kw_space space;
	struct point *points;
	size_t count, room;
	int64_t started_ns, limit_ns;
	int perf_case;                    /* the one that is timed now; -1: none applies, the judge will say why */
	int first_case;                   /* that of rung 0 */
	bool *unfit;                      /* perf cases that the default cannot be judged on here */
	int *cases;                       /* those of the later rungs, in their order */
	size_t case_count;
	int since_better;
	double best_ns;                   /* within this rung, on this case */
	bool cheat;
	const char *fault;                /* why the default does not build, while no point did otherwise */
	const char *first_fault;          /* what was found out about the first point that was not right, a cheat before all; or NULL */
	int same_faults;                  /* points that do not build for just that */
};

static const struct {
	const char *label;
	int64_t time_ns;
} rungs[] = { { "screen", 50 * 1000000ll }, { "screen.1", 250 * 1000000ll }, { "screen.2", 800 * 1000000ll } };

/* The cases share a rung's time, so that several do not make it longer: a mean of them is no less certain than one time of one case that
 * took as long. None gets less than in rung 0. */
static int64_t look_ns(const struct tuner *t, int rung)
{
	int64_t share = t->case_count ? rungs[rung].time_ns / (int64_t)t->case_count : rungs[rung].time_ns;

	return share > rungs[0].time_ns ? share : rungs[0].time_ns;
}

static bool out_of_time(const struct tuner *t)
{
	return t->limit_ns && kw_search_elapsed_ns(t->s) - t->started_ns > t->limit_ns;
}

static enum kw_status add_curve(struct tuner *t, double best_ns, int cases, struct kw_error *err)
{
	struct kw_tune_report *r = t->report;
	struct kw_curve_point *grown = kw_arena_calloc(t->s->arena, r->curve_count + 1, sizeof(*grown));

	if (!grown)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the tuner's curve");
	if (r->curve_count)
		memcpy(grown, r->curve, r->curve_count * sizeof(*grown));
	grown[r->curve_count] = (struct kw_curve_point){ t->report->tried, cases, best_ns,
							 kw_search_elapsed_ns(t->s) - t->started_ns };
	r->curve = grown;
	r->curve_count++;
	return KW_OK;
}

static void mean_of(const struct tuner *t, struct point *p)
{
	double logs = 0.0;

	p->covered = 0;
	for (size_t i = 0; i <= t->s->task->perf_count; i++) /* one more, for a task that has none */
		if (p->case_ns[i] > 0.0) {
			logs += log(p->case_ns[i]);
			p->covered++;
		}
	p->ns = p->covered ? exp(logs / p->covered) : 0.0;
}

/* A point that a further case does not apply to stays what it was, and covers a case less. */
static void settle(struct tuner *t, struct point *p, const struct kw_outcome *o)
{
	struct kw_tune_report *r = t->report;
	int at = t->perf_case < 0 ? 0 : t->perf_case;
	bool first = p->fate == NOT_TRIED, timed = o->cls == KW_V_OK && o->ns > 0.0;

	switch (o->cls) {
	case KW_V_OK:
	case KW_V_NOT_APPLICABLE:
		if (first)
			p->fate = timed ? RIGHT : NOT_APPLICABLE;
		r->pruned += first && o->cls == KW_V_NOT_APPLICABLE;
		p->case_ns[at] = timed ? o->ns : 0.0;
		p->low_ns[at] = o->low_ns;
		p->high_ns[at] = o->high_ns;
		mean_of(t, p);
		break;
	case KW_V_BUILD_ERROR:
		p->fate = FAILED_BUILD;
		r->failed_build++;
		break;
	default:
		p->fate = WRONG;
		r->wrong++;
		t->cheat = t->cheat || o->cls == KW_V_CHEAT;
	}
}

/* Where a rung has several cases, its point of the curve is the mean at its end. */
static enum kw_status note_better(struct tuner *t, const struct point *p, int rung, double ns, struct kw_error *err)
{
	t->since_better++;
	if (p->fate != RIGHT || !(ns > 0.0) || (t->best_ns > 0.0 && ns >= t->best_ns))
		return KW_OK;
	if (t->best_ns == 0.0 || ns < 0.99 * t->best_ns)
		t->since_better = 0;
	t->best_ns = ns;
	return rung == 0 || t->case_count == 1 ? add_curve(t, ns, 1, err) : KW_OK;
}

static void rung_opts(const struct tuner *t, int rung, struct kw_judge_opts *o)
{
	kw_search_judge_opts(t->s, KW_EFFORT_SCREEN, o);
	o->time_limit_ns = look_ns(t, rung);
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
	t->report->tried += p->fate == NOT_TRIED;
	/* Without a build cache it would be built twice. */
	if (p->ahead && !outcome->recalled && outcome->cls == KW_V_OK && !outcome->cached)
		t->s->no_ahead = true;
	settle(t, p, outcome);
	return note_better(t, p, rung, outcome->cls == KW_V_OK ? outcome->ns : 0.0, err);
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
		if (next != t->perf_case)
			t->unfit[t->perf_case] = true;
		t->perf_case = next;
		status = judge_point(t, &t->points[0], 0, &outcome, &why, err);
		next = next < 0 ? next : kw_space_case(t->c, t->s->task, hw, t->s->opts->judge.large, next + 1);
	} while (status == KW_OK && outcome.cls == KW_V_NOT_APPLICABLE && next >= 0);
	t->first_case = t->perf_case;
	if (status == KW_OK)
		status = take(t, &t->points[0], 0, &outcome, err);
	if (t->points[0].fate == FAILED_BUILD)
		t->fault = why;
	return status;
}

/* Right ones of the latest rung first; then those that serve more of the cases, as the ranking has it; then by time. */
static int by_time(const void *a, const void *b)
{
	const struct point *p = a, *q = b;

	if ((p->fate == RIGHT) != (q->fate == RIGHT))
		return p->fate == RIGHT ? -1 : 1;
	if (p->rung != q->rung)
		return p->rung > q->rung ? -1 : 1;
	if (p->covered != q->covered)
		return p->covered > q->covered ? -1 : 1;
	if (p->ns < q->ns || p->ns > q->ns)
		return p->ns < q->ns ? -1 : 1;
	return p->turn < q->turn ? -1 : p->turn > q->turn;
}

/* What is judged next on this case is compiled at once, before anything of it is timed; and begun, where there are several devices. build
 * false: it was built for this case before. */
static void prepare_ahead(struct tuner *t, struct point *const *points, size_t count, int rung, bool build)
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
		copies[i].tune_values = points[i]->values;
		list[i] = &copies[i];
	}
	if (copies && list && label && build && kw_search_build_ahead(t->s, list, count, t->perf_case, label))
		for (size_t i = 0; i < count; i++)
			points[i]->ahead = true;
	rung_opts(t, rung, &o);
	kw_search_drop_ahead(t->s, t->c->sha256); /* of a rung that ended early */
	if (copies && list && label)
		kw_search_judge_ahead(t->s, list, count, label, &o);
	kw_arena_release(&scratch);
}

/* Some of the list in rung 0. */
static void build_ahead(struct tuner *t, size_t first, size_t count)
{
	struct point *points[POINTS_MAX + NEIGHBOURS_MAX + 1];

	for (size_t i = 0; i < count; i++)
		points[i] = &t->points[first + i];
	prepare_ahead(t, points, count, 0, true);
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
			build_ahead(t, i, t->count - i < batch ? t->count - i : batch);
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

static void add_point(struct tuner *t, size_t at, int64_t *values)
{
	const struct point *p = &t->points[at];

	t->points[at] = (struct point){ .values = values, .case_ns = p->case_ns, .low_ns = p->low_ns, .high_ns = p->high_ns };
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
			add_point(t, t->count, values);
			t->points[t->count].turn = t->count;
			t->count++;
			(*added)++;
		}
	}
	return KW_OK;
}

static void sort_points(struct tuner *t)
{
	qsort(t->points, t->count, sizeof(*t->points), by_time);
}

/* The neighbours of the best point take part in rung 0. */
static enum kw_status try_neighbours(struct tuner *t, struct kw_error *err)
{
	size_t added = 0;
	enum kw_status status = t->space.whole ? KW_OK : add_neighbours(t, &added, err);

	t->s->upcoming = (int)added;
	if (status == KW_OK && added && !out_of_time(t))
		build_ahead(t, t->count - added, added);
	for (size_t i = t->count - added; i < t->count && status == KW_OK && !out_of_time(t); i++)
		status = try_point(t, &t->points[i], 0, err);
	sort_points(t);
	return status;
}

static bool applies(const struct tuner *t, const struct point *p, int perf_case)
{
	struct kw_candidate c = *t->c;

	c.tune_values = p->values;
	return kw_space_case(&c, t->s->task, t->s->ports->hardware, t->s->opts->judge.large, perf_case) == perf_case;
}

/* The first case comes last: of that one there are times already, should the tuner's own end. */
static void list_cases(struct tuner *t)
{
	int count = (int)t->s->task->perf_count;

	for (int k = 0; k < count; k++) {
		bool any = false;

		for (size_t i = 0; i < t->count && !any && k != t->first_case && !t->unfit[k]; i++)
			any = t->points[i].fate == RIGHT && applies(t, &t->points[i], k);
		if (any)
			t->cases[t->case_count++] = k;
	}
	t->cases[t->case_count++] = t->first_case;
}

static void move_up(struct tuner *t, size_t from, size_t to)
{
	struct point moved = t->points[from];

	memmove(&t->points[to + 1], &t->points[to], (from - to) * sizeof(moved));
	t->points[to] = moved;
}

/* How many go on; they are put at the head of the list, the default among the COMPARED first. On several cases the places of those that
 * stay anyway are among them. */
static size_t finalists(struct tuner *t)
{
	bool several = t->case_count > 1;
	size_t right = right_count(t), least = several ? COMPARED + 1 : COMPARED, most = LOOKS_MAX / t->case_count;
	size_t keep = right / 3, staying = 0;

	keep = several && right <= most ? right : keep < most ? keep : most;
	keep = keep > least ? keep : least;
	keep = keep < right ? keep : right;
	for (size_t i = keep; i < right; i++)
		staying += t->points[i].stays;
	if (several && staying)
		keep = keep - staying > COMPARED && keep > staying ? keep - staying : COMPARED;
	for (size_t i = keep; i < right; i++)
		if (t->points[i].stays)
			move_up(t, i, keep++);
	for (size_t i = COMPARED; i < keep; i++)
		if (t->points[i].stays && t->points[i].turn == 0)
			move_up(t, i, COMPARED - 1);
	return keep;
}

/* A case counts when all were looked at on it: what a spent budget cut off is as if it had not begun. */
static void forget_case(struct tuner *t, size_t keep)
{
	for (size_t i = 0; i < keep; i++) {
		struct point *p = &t->points[i];

		p->case_ns[t->perf_case] = p->before_ns;
		mean_of(t, p);
	}
}

/* The first `keep` on one case. Each beside the others, so that a machine that gets slower does not decide. */
static enum kw_status look_at_case(struct tuner *t, int rung, size_t keep, bool needed, struct kw_error *err)
{
	struct point *now[POINTS_MAX + NEIGHBOURS_MAX + 1];
	enum kw_status status = KW_OK;
	size_t count = 0;

	t->best_ns = 0.0;
	for (size_t i = 0; i < keep; i++) {
		struct point *p = &t->points[i];

		p->before_ns = p->case_ns[t->perf_case];
		p->ahead = false;
		if (p->fate == RIGHT && !p->missed && applies(t, p, t->perf_case))
			now[count++] = p;
	}
	if (count && !out_of_time(t))
		prepare_ahead(t, now, count, rung, t->perf_case != t->first_case);
	for (size_t i = 0; i < count && status == KW_OK && !t->cheat; i++) {
		now[i]->missed = out_of_time(t) && !(needed && now[i] < &t->points[COMPARED]);
		if (!now[i]->missed)
			status = try_point(t, now[i], rung, err);
	}
	if (status != KW_OK)
		forget_case(t, keep);
	return status;
}

static enum kw_status next_rung(struct tuner *t, int rung, size_t keep, struct kw_error *err)
{
	enum kw_status status = KW_OK;

	t->s->upcoming = (int)(keep * t->case_count);
	for (size_t i = 0; i < keep; i++)
		t->points[i].missed = false;
	for (size_t i = 0; i < t->case_count && status == KW_OK && !t->cheat; i++) {
		bool needed = rung == 1 && (t->case_count == 1 || t->cases[i] != t->first_case);

		if (!needed && out_of_time(t))
			break;
		t->perf_case = t->cases[i];
		status = look_at_case(t, rung, keep, needed, err);
	}
	for (size_t i = 0; i < keep && status == KW_OK; i++)
		t->points[i].rung = t->points[i].missed ? t->points[i].rung : rung;
	sort_points(t);
	if (status == KW_OK && t->case_count > 1 && t->points[0].fate == RIGHT)
		status = add_curve(t, t->points[0].ns, t->points[0].covered, err);
	return status;
}

/* Those of rung 1 that are too close to tell apart from its best; 1: none is. Of several cases the best two: each is a look a case. */
static size_t close_ones(const struct tuner *t)
{
	const struct point *best = &t->points[0];
	size_t n = 1, most = t->case_count > 1 ? COMPARED : LAST_RUNG_MAX;

	while (n < t->count && n < most && t->points[n].fate == RIGHT && t->points[n].rung == 1 &&
	       t->points[n].covered == best->covered && t->points[n].ns < close_enough * best->ns)
		n++;
	return best->fate == RIGHT && best->rung == 1 ? n : 0;
}

/* Right, and as far as the best: its times are of more than the first look. */
static bool compared(const struct point *best, const struct point *p)
{
	return p->fate == RIGHT && p->rung >= (best->rung > 0);
}

/* Whether the sizes should choose; medians: as if they were certain. */
static enum kw_status look_for_split(struct tuner *t, bool medians, const struct kw_tune_split **out, struct kw_error *err)
{
	struct kw_split_point *points = kw_arena_calloc(t->s->arena, t->count + 1, sizeof(*points));
	size_t n = 0;

	if (!points)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the tuner's report");
	for (size_t i = 0; i < t->count; i++) {
		const struct point *p = &t->points[i];

		if (compared(&t->points[0], p))
			points[n++] = (struct kw_split_point){ p->values, p->case_ns, medians ? p->case_ns : p->low_ns,
							       medians ? p->case_ns : p->high_ns };
	}
	return kw_split_find(t->c, t->s->task, points, n, t->s->arena, out, err);
}

/* The best, and what is the fastest on a case, at the head of the list; how many. */
static size_t rivals(struct tuner *t)
{
	size_t n = 1;

	for (size_t k = 0; k < t->case_count && n < LAST_RUNG_MAX; k++) {
		int at = t->cases[k];
		size_t fastest = 0;

		for (size_t i = 1; i < t->count; i++)
			if (compared(&t->points[0], &t->points[i]) && t->points[i].case_ns[at] > 0.0 &&
			    t->points[i].case_ns[at] < t->points[fastest].case_ns[at])
				fastest = i;
		if (fastest >= n)
			move_up(t, fastest, n++);
	}
	return n;
}

/* Where one point for each size would be worth having, and the looks so far were too short to be sure, they get longer ones. */
static enum kw_status look_again_for_split(struct tuner *t, struct kw_error *err)
{
	const struct kw_tune_split *by_median = NULL, *sure = NULL;
	enum kw_status status = look_for_split(t, true, &by_median, err);

	if (status == KW_OK && by_median)
		status = look_for_split(t, false, &sure, err);
	return status == KW_OK && by_median && !sure ? next_rung(t, 2, rivals(t), err) : status;
}

static enum kw_status halve(struct tuner *t, struct kw_error *err)
{
	enum kw_status status = first_rung(t, err);

	if (status != KW_OK)
		return status;
	sort_points(t);
	if (right_count(t) < 2 || t->cheat || t->first_case < 0)
		return KW_OK;
	status = try_neighbours(t, err);
	if (status != KW_OK || t->cheat)
		return status;
	list_cases(t);
	status = next_rung(t, 1, finalists(t), err);
	if (status == KW_OK && !t->cheat && close_ones(t) > 1 && !out_of_time(t))
		status = next_rung(t, 2, close_ones(t), err);
	if (status == KW_OK && !t->cheat && t->case_count > 1 && t->points[0].rung > 0 && !out_of_time(t))
		status = look_again_for_split(t, err);
	return status;
}

/* Where an earlier run found its winner for this very candidate on this kind of machine, it is tried second. It was the best over the cases
 * of that run, which may not be ours: it goes on with the default, and has to win again. */
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
	status = kw_store_kv_get(t->s->memory, "tune", kw_split_key(t->c, t->s->ports->hardware, t->s->arena), t->s->arena, &text, err);
	if (status != KW_OK || !text || kw_plan_tune_parse(&t->c->plan, text, values, NULL) != KW_OK)
		return status;
	while (at < t->count && memcmp(t->points[at].values, values, n * sizeof(*values)) != 0)
		at++;
	if (at == 0)
		return KW_OK;
	if (at == t->count)
		add_point(t, t->count++, values);
	move_up(t, at, 1);
	t->points[1].stays = true;
	return KW_OK;
}

static enum kw_status start(struct tuner *t, struct kw_error *err)
{
	size_t cases = t->s->task->perf_count + 1;
	double *times;
	enum kw_status status;

	status = kw_space_list(t->c, t->s->task, t->s->ports->hardware, POINTS_MAX, t->s->arena, &t->space, err);
	if (status != KW_OK)
		return status;
	t->room = t->space.count + NEIGHBOURS_MAX + 1;
	t->points = kw_arena_calloc(t->s->arena, t->room, sizeof(*t->points));
	t->unfit = kw_arena_calloc(t->s->arena, cases, sizeof(*t->unfit));
	t->cases = kw_arena_calloc(t->s->arena, cases, sizeof(*t->cases));
	times = kw_arena_calloc(t->s->arena, 3 * t->room * cases, sizeof(*times));
	if (!t->points || !t->unfit || !t->cases || !times)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for tune points");
	for (size_t i = 0; i < t->room; i++) {
		t->points[i].case_ns = &times[3 * i * cases];
		t->points[i].low_ns = t->points[i].case_ns + cases;
		t->points[i].high_ns = t->points[i].low_ns + cases;
	}
	for (t->count = 0; t->count < t->space.count; t->count++)
		add_point(t, t->count, t->space.points[t->count]);
	t->points[0].stays = true;
	t->report->space = t->space.size;
	t->report->pruned = (int)t->space.pruned;
	status = add_known_winner(t, err);
	for (size_t i = 0; i < t->count; i++)
		t->points[i].turn = i;
	t->s->upcoming = (int)t->count;
	return status;
}

/* What the best point took on each case that it was timed on, and what was faster there. */
static enum kw_status tell_cases(struct tuner *t, struct kw_error *err)
{
	const struct point *best = &t->points[0];
	struct kw_tune_report *r = t->report;

	r->cases = kw_arena_calloc(t->s->arena, (size_t)best->covered + 1, sizeof(*r->cases));
	for (size_t k = 0; r->cases && k < t->s->task->perf_count; k++) {
		const struct point *fastest = best;

		if (!(best->case_ns[k] > 0.0))
			continue;
		for (size_t i = 1; i < t->count; i++) {
			const struct point *p = &t->points[i];

			if (compared(best, p) && p->case_ns[k] > 0.0 && p->case_ns[k] < fastest->case_ns[k])
				fastest = p;
		}
		r->cases[r->case_count++] = (struct kw_tune_case){
			.label = t->s->task->cases[k].label, .ns = best->case_ns[k], .fastest_ns = fastest->case_ns[k],
			.apart = fastest->high_ns[k] < best->low_ns[k],
			.fastest = kw_plan_tune_text(&t->c->plan, fastest->values, t->s->arena),
		};
	}
	if (t->first_case >= 0)
		r->first_case = t->s->task->cases[t->first_case].label;
	return r->cases ? look_for_split(t, false, &r->split, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the tuner's report");
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
	return n ? tell_cases(t, err) : KW_OK;
}

enum kw_status kw_tuner_run(struct kw_search *s, struct kw_candidate *c, int64_t limit_ns,
			    struct kw_tune_report *report, struct kw_tune_points *points, struct kw_error *err)
{
	struct tuner t = { .s = s, .c = c, .report = report, .limit_ns = limit_ns, .started_ns = kw_search_elapsed_ns(s), .first_case = -1,
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
	if (ended == KW_OK && status == KW_OK && s->memory && c->tune_values && c->plan.tune_count) {
		const char *key = kw_split_key(c, s->ports->hardware, s->arena);

		ended = kw_store_kv_put(s->memory, "tune", key, kw_plan_tune_text(&c->plan, c->tune_values, s->arena), err);
		if (ended == KW_OK)
			ended = kw_split_remember(s->memory, key, report, s->arena, err);
	}
	return ended != KW_OK ? ended : status;
}
