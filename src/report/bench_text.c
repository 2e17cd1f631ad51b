/* A benchmark for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/bench.h"
#include "report/report.h"
#include "report/table.h"

enum { LINE_BYTES = 64 };

static void share(double v, char *out)
{
	snprintf(out, LINE_BYTES, "%.3f", v);
}

static void times(double v, char *out)
{
	if (v > 0)
		snprintf(out, LINE_BYTES, "%.3gx", v);
	else
		snprintf(out, LINE_BYTES, "-");
}

static void head(const struct kw_bench_report *r, struct kw_buf *out)
{
	const struct kw_bench_group *g = &r->groups[0];
	char wall[LINE_BYTES], state[KW_REPORT_STATE_MAX];

	kw_buf_printf(out, "%s: %zu problem%s, %zu sample%s by %s", r->title, g->problems, g->problems == 1 ? "" : "s", r->count,
		      r->count == 1 ? "" : "s", r->proposer);
	kw_buf_printf(out, "; run %lld%s", (long long)r->run.id, r->complete ? "" : ", not complete");
	if (!r->complete && kw_run_state_open(r->run.state))
		kw_buf_printf(out, ": %s", kw_report_state(&r->run, state));
	kw_buf_addz(out, "\n");
	kw_buf_printf(out, "right: %zu of %zu", g->right, g->samples);
	for (int s = 0; s < KW_BENCH_STATE_COUNT; s++)
		if (s != KW_BENCH_JUDGED && g->states[s])
			kw_buf_printf(out, "; %s: %zu", kw_bench_state_name((enum kw_bench_state)s), g->states[s]);
	for (int v = 0; v < KW_V_COUNT; v++)
		if (v != KW_V_OK && g->verdicts[v])
			kw_buf_printf(out, "; %s: %zu", kw_verdict_name((enum kw_verdict_class)v), g->verdicts[v]);
	kw_buf_addz(out, "\n");
	if (g->took) {
		kw_human_ns((double)g->wall_ns / (double)g->took, wall, sizeof(wall));
		kw_buf_printf(out, "time for a candidate: %s in the mean\n", wall);
	}
	if (g->tokens_in + g->tokens_out) {
		kw_buf_printf(out, "tokens: %lld in, %lld out", (long long)g->tokens_in, (long long)g->tokens_out);
		kw_buf_printf(out, g->unpriced ? "; cost not known\n" : "; $%.4g\n", g->cost_usd);
	}
}

static void score_row(struct kw_table *t, const char *name, double correct, const double *fast, double geomean, size_t timed)
{
	char c[LINE_BYTES], f[KW_FAST_COUNT][LINE_BYTES], m[LINE_BYTES], n[LINE_BYTES];

	share(correct, c);
	for (int p = 0; p < KW_FAST_COUNT; p++)
		share(fast[p], f[p]);
	times(geomean, m);
	snprintf(n, sizeof(n), "%zu", timed);
	kw_table_row(t, name, c, f[0], f[1], f[2], f[3], f[4], f[5], m, n);
}

static void scores(const struct kw_bench_report *r, struct kw_arena *a, struct kw_buf *out)
{
	struct kw_table t;

	kw_table_init(&t, a, "<>>>>>>>>>");
	kw_table_row(&t, "against", "correct", "fast_0", "fast_0.5", "fast_0.8", "fast_1", "fast_1.5", "fast_2", "geomean", "timed");
	for (size_t k = 0; k < r->group_count; k++) {
		const struct kw_bench_group *g = &r->groups[k];
		double none[KW_FAST_COUNT] = { g->correct };

		if (r->group_count == 2 && k == 1) /* the only group: it is all */
			continue;
		if (k > 0)
			kw_table_row(&t, kw_arena_printf(a, "%s (%zu)", g->name, g->problems), "", "", "", "", "", "", "", "", "");
		for (size_t b = 0; b < r->baseline_count; b++)
			score_row(&t, r->baselines[b], g->correct, g->fast[b], g->geomean[b], g->timed[b]);
		if (r->baseline_count == 0)
			score_row(&t, "(no baseline was timed)", g->correct, none, 0, 0);
	}
	kw_table_write(&t, "", out);
}

static void pass_line(const struct kw_bench_group *g, struct kw_buf *out)
{
	const char *between = "pass@k:";

	for (int k = 0; k < KW_PASS_COUNT; k++)
		if (!isnan(g->pass[k])) {
			kw_buf_printf(out, "%s pass@%d %.3f", between, kw_pass_k_values[k], g->pass[k]);
			if (g->pass_problems[k] != g->counted)
				kw_buf_printf(out, " (of %zu problems)", g->pass_problems[k]);
			between = ",";
		}
	if (between[0] == ',')
		kw_buf_addz(out, "\n");
}

static void suite_part(const struct kw_bench_report *r, struct kw_arena *a, struct kw_buf *out)
{
	const struct kw_bench_group *g = &r->groups[0];
	struct kw_table t;

	kw_buf_printf(out, "\nas the suite would score it (%s)\n", r->rule);
	kw_table_init(&t, a, "<>>>>>>>>>");
	kw_table_row(&t, "against", "correct", "fast_0", "fast_0.5", "fast_0.8", "fast_1", "fast_1.5", "fast_2", "geomean", "timed");
	score_row(&t, r->suite_baseline[0] ? r->suite_baseline : "(no baseline was timed)", g->suite_correct, g->suite_fast,
		  g->suite_geomean, g->suite_right - g->suite_untimed);
	kw_table_write(&t, "", out);
	if (g->suite_untimed)
		kw_buf_printf(out, "  %zu that it would take for right %s not timed here\n", g->suite_untimed,
			      g->suite_untimed == 1 ? "was" : "were");
	if (g->suite_known < g->samples - g->states[KW_BENCH_NO_CANDIDATE])
		kw_buf_printf(out, "  of %zu its answer is not known: they did not get so far\n",
			      g->samples - g->states[KW_BENCH_NO_CANDIDATE] - g->suite_known);
	if (g->disagreements)
		kw_buf_printf(out, "  it says something else of %zu:\n", g->disagreements);
	for (size_t i = 0; i < r->count; i++)
		if (r->items[i].disagreement)
			kw_buf_printf(out, "  %s %s: %s; %s\n", r->items[i].key, r->items[i].name,
				      r->items[i].suite_right ? "right there" : "wrong there", r->items[i].disagreement);
}

/* A cell has one line. */
static const char *first_line(struct kw_arena *a, const char *text)
{
	return kw_arena_strndup(a, text, strcspn(text, "\n"));
}

static void item_rows(const struct kw_bench_report *r, struct kw_arena *a, struct kw_buf *out)
{
	struct kw_table t;

	kw_table_init(&t, a, "<<<>>>><");
	kw_table_row(&t, "item", "problem", "verdict", "time", "speedup", "SOL", "took", "");
	for (size_t i = 0; i < r->count; i++) {
		const struct kw_bench_item *o = &r->items[i];
		char time[LINE_BYTES] = "-", speedup[LINE_BYTES], sol[LINE_BYTES] = "-", wall[LINE_BYTES] = "-";
		const char *verdict = kw_bench_state_name(o->state);

		if (o->has_verdict)
			verdict = kw_arena_printf(a, "%s%s%s", kw_verdict_name(o->cls), o->subclass ? "/" : "",
						  kw_subclass_name(o->subclass));
		if (o->median_ns > 0)
			kw_human_ns(o->median_ns, time, sizeof(time));
		times(o->best_speedup, speedup);
		if (o->sol > 0)
			snprintf(sol, sizeof(sol), "%.3g", o->sol);
		if (o->wall_ns > 0)
			kw_human_ns((double)o->wall_ns, wall, sizeof(wall));
		kw_table_row(&t, o->key, o->name, verdict, time, speedup, sol, wall, o->right ? "" : first_line(a, o->text));
	}
	kw_table_write(&t, "", out);
	kw_buf_addz(out, "\n");
}

void kw_bench_report_text(const struct kw_bench_report *r, bool rows, struct kw_buf *out)
{
	const struct kw_bench_group *g = &r->groups[0];
	struct kw_arena a;

	kw_arena_init(&a, 256 << 20);
	if (rows)
		item_rows(r, &a, out);
	head(r, out);
	scores(r, &a, out);
	pass_line(g, out);
	if (g->sol > 0)
		kw_buf_printf(out, "share of the speed of light: %.3g (geometric mean of the right ones)\n", g->sol);
	for (size_t i = 0; i < r->cheat_count; i++)
		kw_buf_printf(out, "%s %s: %lld", i ? "," : "cheats:", r->cheats[i].subclass, (long long)r->cheats[i].count);
	kw_buf_addz(out, r->cheat_count ? "\n" : "");
	suite_part(r, &a, out);
	kw_arena_release(&a);
}
