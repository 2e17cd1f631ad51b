/* The formulas of a benchmark, and its scores. */
#include <math.h>
#include <string.h>

#include "report/bench.h"

const double kw_fast_p_values[KW_FAST_COUNT] = { 0, 0.5, 0.8, 1, 1.5, 2 };
const int kw_pass_k_values[KW_PASS_COUNT] = { 1, 2, 3, 5, 10, 20, 50, 100 };

static const struct {
	const char *name, *text;
} states[] = {
#define X(e, name, text) { name, text },
	KW_BENCH_STATE_LIST(X)
#undef X
};

const char *kw_bench_state_name(enum kw_bench_state s)
{
	return (unsigned)s < KW_BENCH_STATE_COUNT ? states[s].name : "unknown";
}

bool kw_bench_state_parse(const char *name, enum kw_bench_state *out)
{
	for (int i = 0; i < KW_BENCH_STATE_COUNT; i++)
		if (strcmp(name, states[i].name) == 0) {
			*out = (enum kw_bench_state)i;
			return true;
		}
	return false;
}

double kw_pass_at_k(int n, int c, int k)
{
	double none = 1;

	if (n < 1 || k < 1 || k > n || c < 0 || c > n)
		return NAN;
	/* C(n-c, k) / C(n, k) = (n-c)! (n-k)! / (n! (n-c-k)!), factor by factor: neither overflows. */
	for (int i = n - c + 1; i <= n; i++)
		none *= i > k ? 1 - (double)k / i : 0;
	return 1 - none;
}

bool kw_is_fast(bool right, double speedup, double p)
{
	return right && (p == 0 || speedup > p);
}

double kw_geometric_mean(const double *v, size_t n)
{
	double logs = 0;
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i] > 0 && isfinite(v[i])) {
			logs += log(v[i]);
			used++;
		}
	return used ? exp(logs / (double)used) : 0;
}

/* ---- the suite's own rule ------------------------------------------------------------------------ */

static double mean(const struct kw_times *t)
{
	double sum = 0;

	for (size_t i = 0; i < t->sample_count; i++)
		sum += t->samples_ns[i];
	return t->sample_count ? sum / (double)t->sample_count : t->median_ns;
}

/* Suites measure against what PyTorch does by itself. */
static const struct kw_baseline_time *suite_baseline(const struct kw_case_result *c)
{
	for (size_t i = 0; i < c->baseline_count; i++)
		if (strstr(c->baselines[i].name, "eager"))
			return &c->baselines[i];
	return c->baseline_count ? &c->baselines[0] : NULL;
}

void kw_suite_look(const struct kw_verdict *v, double wide, int64_t compared, int64_t far, struct kw_suite_view *out)
{
	bool ran = v->cls == KW_V_OK || v->cls == KW_V_CHEAT ||
		   (v->cls == KW_V_WRONG && v->subclass != KW_S_SHAPE && v->subclass != KW_S_DTYPE);
	double logs = 0;
	int timed = 0;

	/* What this machine cannot build or hold another one may. */
	*out = (struct kw_suite_view){ .known = v->cls != KW_V_NOT_APPLICABLE && !(v->cls == KW_V_BUILD_ERROR &&
										 v->subclass == KW_S_BUILD_ARCHITECTURE) };
	if (!ran)
		return;
	for (size_t i = 0; i < v->case_count; i++) {
		const struct kw_case_result *c = &v->cases[i];
		const struct kw_baseline_time *b = suite_baseline(c);

		if (!c->perf || c->unseen)
			continue;
		compared += c->close_compared;
		far += c->not_close;
		if (!c->has_times || !b || !(mean(&c->times) > 0))
			continue;
		out->baseline = b->name;
		logs += log(mean(&b->times) / mean(&c->times));
		timed++;
	}
	out->known = wide <= 0 || compared > 0;
	out->right = out->known && (wide <= 0 || far == 0);
	out->speedup = timed ? exp(logs / timed) : 0;
	out->compared = compared;
	out->far = far;
}

/* ---- scores -------------------------------------------------------------------------------------- */

static bool counts(const struct kw_bench_item *i)
{
	return i->state != KW_BENCH_WAITING && i->state != KW_BENCH_MACHINE;
}

/* What one problem's samples add up to. */
struct tally {
	int n, c, suite;
	int fast[KW_BENCH_BASELINES][KW_FAST_COUNT], suite_fast[KW_FAST_COUNT];
};

static void tally_item(const struct kw_bench_report *r, const struct kw_bench_item *i, struct tally *t)
{
	t->n++;
	t->c += i->right;
	t->suite += i->suite_right;
	for (int p = 0; p < KW_FAST_COUNT; p++) {
		for (size_t b = 0; b < r->baseline_count; b++)
			t->fast[b][p] += kw_is_fast(i->right, i->speedup[b], kw_fast_p_values[p]);
		t->suite_fast[p] += kw_is_fast(i->suite_right, i->suite_speedup, kw_fast_p_values[p]);
	}
}

static void add_problem(const struct kw_bench_report *r, const struct tally *t, struct kw_bench_group *g)
{
	if (t->n == 0)
		return;
	g->counted++;
	g->correct += (double)t->c / t->n;
	g->suite_correct += (double)t->suite / t->n;
	for (int p = 0; p < KW_FAST_COUNT; p++) {
		for (size_t b = 0; b < r->baseline_count; b++)
			g->fast[b][p] += (double)t->fast[b][p] / t->n;
		g->suite_fast[p] += (double)t->suite_fast[p] / t->n;
	}
	for (int k = 0; k < KW_PASS_COUNT; k++) {
		double pass = kw_pass_at_k(t->n, t->c, kw_pass_k_values[k]);

		if (isnan(pass))
			continue;
		g->pass[k] = (g->pass_problems[k] ? g->pass[k] : 0) + pass;
		g->pass_problems[k]++;
	}
}

static void add_sample(const struct kw_bench_report *r, const struct kw_bench_item *i, struct kw_bench_group *g)
{
	g->states[i->state]++;
	g->took += i->wall_ns > 0;
	if (i->state == KW_BENCH_JUDGED && i->has_verdict)
		g->verdicts[i->cls]++;
	g->wall_ns += i->wall_ns;
	g->tokens_in += i->tokens_in;
	g->tokens_out += i->tokens_out;
	g->cost_usd += i->cost_usd;
	g->unpriced = g->unpriced || i->unpriced;
	if (!counts(i))
		return;
	g->samples++;
	g->right += i->right;
	for (size_t b = 0; b < r->baseline_count; b++)
		g->timed[b] += i->right && i->speedup[b] > 0;
	g->suite_known += i->suite_known;
	g->suite_right += i->suite_right;
	g->suite_untimed += i->suite_right && !(i->suite_speedup > 0);
	g->disagreements += i->disagreement != NULL;
}

static void finish_group(const struct kw_bench_report *r, struct kw_bench_group *g)
{
	double n = (double)(g->counted ? g->counted : 1);

	g->correct /= n;
	g->suite_correct /= n;
	for (int p = 0; p < KW_FAST_COUNT; p++) {
		for (size_t b = 0; b < r->baseline_count; b++)
			g->fast[b][p] /= n;
		g->suite_fast[p] /= n;
	}
	for (int k = 0; k < KW_PASS_COUNT; k++)
		g->pass[k] = g->pass_problems[k] ? g->pass[k] / (double)g->pass_problems[k] : NAN;
}

static bool is_in(const struct kw_bench_group *g, bool all, const struct kw_bench_item *i)
{
	return all || strcmp(i->group, g->name) == 0;
}

/* A column of the right samples, for its geometric mean. */
enum column { COLUMN_SOL, COLUMN_SUITE, COLUMN_BASELINE };

static double mean_of(const struct kw_bench_report *r, const struct kw_bench_group *g, bool all, enum column what, size_t b,
		      double *room)
{
	size_t n = 0;

	for (size_t k = 0; k < r->count; k++) {
		const struct kw_bench_item *i = &r->items[k];

		if (!is_in(g, all, i) || !counts(i) || !(what == COLUMN_SUITE ? i->suite_right : i->right))
			continue;
		room[n++] = what == COLUMN_SOL ? i->sol : what == COLUMN_SUITE ? i->suite_speedup : i->speedup[b];
	}
	return kw_geometric_mean(room, n);
}

/* Samples of a problem stand together. */
static void score(const struct kw_bench_report *r, struct kw_bench_group *g, bool all, double *room)
{
	for (size_t k = 0; k < r->count;) {
		struct tally t = { 0 };
		size_t first = k;

		for (; k < r->count && strcmp(r->items[k].problem, r->items[first].problem) == 0; k++) {
			if (!is_in(g, all, &r->items[k]))
				continue;
			add_sample(r, &r->items[k], g);
			if (counts(&r->items[k]))
				tally_item(r, &r->items[k], &t);
		}
		g->problems += is_in(g, all, &r->items[first]);
		add_problem(r, &t, g);
	}
	finish_group(r, g);
	g->sol = mean_of(r, g, all, COLUMN_SOL, 0, room);
	g->suite_geomean = mean_of(r, g, all, COLUMN_SUITE, 0, room);
	for (size_t b = 0; b < r->baseline_count; b++)
		g->geomean[b] = mean_of(r, g, all, COLUMN_BASELINE, b, room);
}

enum kw_status kw_bench_report_score(struct kw_bench_report *r, struct kw_error *err)
{
	double *room = kw_arena_calloc(&r->arena, r->count + 1, sizeof(*room));

	r->groups = kw_arena_calloc(&r->arena, r->count + 1, sizeof(*r->groups));
	if (!room || !r->groups)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the scores");
	r->groups[0].name = "all";
	r->group_count = 1;
	r->complete = true;
	for (size_t k = 0; k < r->count; k++) {
		bool known = false;

		for (size_t g = 1; g < r->group_count; g++)
			known = known || strcmp(r->groups[g].name, r->items[k].group) == 0;
		if (!known)
			r->groups[r->group_count++].name = r->items[k].group;
		r->complete = r->complete && counts(&r->items[k]);
	}
	for (size_t g = 0; g < r->group_count; g++)
		score(r, &r->groups[g], g == 0, room);
	return KW_OK;
}
