/* A run for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "judge/clock.h"
#include "report/report.h"
#include "report/table.h"

enum { STEP_SHOWN_BYTES = 116 };
#define WORTH_TELLING 1.01 /* of a case: how much slower the chosen point is than another */

const char *kw_report_state(const struct kw_run_row *r, char out[KW_REPORT_STATE_MAX])
{
	const long long pid = (long long)r->pid;

	if (r->state != KW_RUN_RUNNING)
		snprintf(out, KW_REPORT_STATE_MAX, "%s", kw_run_state_text(r->state));
	else if (r->killed)
		snprintf(out, KW_REPORT_STATE_MAX, "killed (process %lld is gone)", pid);
	else
		snprintf(out, KW_REPORT_STATE_MAX, "running (process %lld of %.100s)", pid, r->host);
	return out;
}

/* Judgements are not cut off: a budget of time that was not kept to is named. */
static void beyond(const struct kw_report *r, struct kw_buf *out)
{
	double ns = kw_json_get_f64(r->time, "beyond_ns", 0), budget = kw_json_get_f64(r->time, "budget_ns", 0);
	char over[40], most[40];

	if (ns > 0 && budget > 0)
		kw_buf_printf(out, ", %s beyond the budget of %s", kw_human_ns(ns, over, sizeof(over)), kw_human_ns(budget, most, sizeof(most)));
}

static void head(const struct kw_report *r, struct kw_buf *out)
{
	const struct kw_run_row *run = &r->run;
	char when[32], took[64], state[KW_REPORT_STATE_MAX];
	int64_t until_ms = run->ended_ms ? run->ended_ms : run->started_ms;

	for (size_t i = 0; i < r->verdict_count; i++)
		if (r->verdicts[i].when_ms > until_ms)
			until_ms = r->verdicts[i].when_ms;
	if (until_ms >= run->started_ms)
		kw_human_ns((double)(until_ms - run->started_ms) * 1e6, took, sizeof(took));
	else
		snprintf(took, sizeof(took), "a time that is not known (the clock was set back)");
	kw_buf_printf(out, "run %lld: %s by %s", (long long)run->id, run->task_name, run->strategy);
	if (run->backend[0]) /* an item of a benchmark has none before it is judged */
		kw_buf_printf(out, " (%s%s%s)", run->backend, run->device[0] ? ", " : "", run->device);
	kw_buf_printf(out, "\n  %s; %d evaluation%s in %s", kw_report_state(run, state), run->evaluations,
		      run->evaluations == 1 ? "" : "s", took);
	beyond(r, out);
	kw_buf_printf(out, ", begun %s\n", kw_wall_text(run->started_ms, when, sizeof(when)));
	if (run->task_text && strstr(run->task_text, "unconfirmed: true"))
		kw_buf_addz(out, "  the task is unconfirmed: a model drafted it, and nobody has accepted it\n");
}

static void counts(const struct kw_report *r, struct kw_buf *out)
{
	if (r->count_count == 0)
		return;
	kw_buf_addz(out, "verdicts: ");
	for (size_t i = 0; i < r->count_count; i++)
		kw_buf_printf(out, "%s%d %s%s%s", i ? ", " : "", r->counts[i].count, r->counts[i].cls,
			      r->counts[i].subclass[0] ? " " : "", r->counts[i].subclass);
	kw_buf_addc(out, '\n');
}

/* A cell of a table: what is longer ends behind a word. The reasons below have it whole. */
static const char *short_step(const char *step, struct kw_arena *a)
{
	size_t len = strlen(step);
	const char *cut;

	if (len <= STEP_SHOWN_BYTES)
		return step;
	for (len = STEP_SHOWN_BYTES - 3; len && step[len] != ' ';)
		len--;
	cut = len ? kw_arena_printf(a, "%.*s...", (int)len, step) : step;
	return cut ? cut : step;
}

static void rounds(const struct kw_report *r, struct kw_buf *out)
{
	struct kw_arena a;
	struct kw_table t;

	if (r->round_count == 0)
		return;
	kw_arena_init(&a, 1 << 20);
	kw_table_init(&t, &a, "><>>>>>");
	kw_table_row(&t, "round", "what changed", "evaluations", "predicted", "measured", "best before", "best after");
	for (size_t i = 0; i < r->round_count; i++) {
		const struct kw_round *x = &r->rounds[i];
		char number[16], n[16], before[40] = "none", after[40] = "none proven", predicted[24] = "-", measured[24] = "-";

		snprintf(number, sizeof(number), "%d", x->index);
		snprintf(n, sizeof(n), "%d", x->evaluations);
		if (x->best_ns_before > 0)
			kw_human_ns(x->best_ns_before, before, sizeof(before));
		if (x->best_ns_after > 0)
			kw_human_ns(x->best_ns_after, after, sizeof(after));
		/* Shares of the best time before. */
		if (x->predicted > 0)
			snprintf(predicted, sizeof(predicted), "%.2fx", x->predicted);
		if (x->measured_ns > 0 && x->best_ns_before > 0)
			snprintf(measured, sizeof(measured), "%.2fx", x->measured_ns / x->best_ns_before);
		kw_table_row(&t, number, short_step(x->step, &a), n, predicted, measured, before, after);
	}
	kw_table_write(&t, "  ", out);
	kw_arena_release(&a);
}

/* Of several cases: the mean that decided; and where no one point is best for all of them, how a line can choose by size. */
static void tuner_cases(const json_t *t, struct kw_buf *out)
{
	const json_t *cases = json_object_get(t, "cases"), *split = json_object_get(t, "split");
	double mean_ns = kw_json_get_f64(t, "best_ns", 0), promised = kw_json_get_f64(split, "ns", 0);
	const char *line = kw_json_get_str(split, "define", NULL);
	bool told = false;
	char text[40], other[40];
	size_t i;
	json_t *c;

	if (json_array_size(cases) < 2)
		return;
	kw_buf_printf(out, "  chosen by its mean over %zu cases, %s:", json_array_size(cases), kw_human_ns(mean_ns, text, sizeof(text)));
	json_array_foreach(cases, i, c)
		kw_buf_printf(out, "%s %s %s", i ? "," : "", kw_json_get_str(c, "case", "?"),
			      kw_human_ns(kw_json_get_f64(c, "ns", 0), text, sizeof(text)));
	kw_buf_addc(out, '\n');
	json_array_foreach(cases, i, c) {
		double ns = kw_json_get_f64(c, "ns", 0), least = kw_json_get_f64(c, "fastest_ns", 0);

		if (!(least > 0) || ns <= WORTH_TELLING * least || !kw_json_get_bool(c, "apart", false))
			continue;
		kw_buf_printf(out, "%s %s is fastest with %s (%s, not %s)", told ? "," : " ", kw_json_get_str(c, "case", "?"),
			      kw_json_get_str(c, "fastest", "?"), kw_human_ns(least, text, sizeof(text)), kw_human_ns(ns, other, sizeof(other)));
		told = true;
	}
	if (told && line && promised > 0)
		kw_buf_printf(out, "; no one point is best for all: `define %s` promises %.3fx of the mean\n", line, promised / mean_ns);
	else
		kw_buf_addz(out, told ? "; no one point is best for all: a `define` line can choose by the sizes\n" : "");
}

/* One line a tuned candidate: its space, what was tried, and how the best time fell on the case that all points were timed on. */
static void tuner(const struct kw_report *r, struct kw_buf *out)
{
	size_t i, k;
	json_t *t, *point;
	char text[40];

	json_array_foreach(r->tune, i, t) {
		int64_t space = kw_json_get_i64(t, "space", 0);
		const json_t *cases = json_object_get(t, "cases");
		double least = 0;

		kw_buf_printf(out, "tuner: %s: space %lld, tried %lld (%lld did not build, %lld wrong, "
			      "%lld pruned)", kw_json_get_str(t, "candidate", "?"), (long long)space,
			      (long long)kw_json_get_i64(t, "tried", 0),
			      (long long)kw_json_get_i64(t, "failed_build", 0),
			      (long long)kw_json_get_i64(t, "wrong", 0),
			      (long long)kw_json_get_i64(t, "pruned", 0));
		/* Later rungs time longer, so their points may be higher: only what fell. A mean over cases is no point of this line. */
		json_array_foreach(json_object_get(t, "curve"), k, point) {
			double ns = kw_json_get_f64(point, "best_ns", 0);

			if (!(ns > 0) || (least > 0 && ns >= least) || kw_json_get_i64(point, "cases", 1) > 1)
				continue;
			if (!(least > 0) && json_array_size(cases) > 1)
				kw_buf_printf(out, "; on %s", kw_json_get_str(t, "first_case", "?"));
			kw_buf_printf(out, "%s%lld: %s", least > 0 ? ", " : json_array_size(cases) > 1 ? " best after " : "; best after ",
				      (long long)kw_json_get_i64(point, "evaluations", 0),
				      kw_human_ns(ns, text, sizeof(text)));
			least = ns;
		}
		kw_buf_addc(out, '\n');
		tuner_cases(t, out);
	}
}

static void reasons(const struct kw_report *r, struct kw_buf *out)
{
	size_t i;
	json_t *reason;

	json_array_foreach(r->reasons, i, reason)
		kw_buf_printf(out, "  %s\n", json_string_value(reason));
}

/* A task in parts: who divided it, and a line each. */
static void parts(const struct kw_report *r, struct kw_buf *out)
{
	struct kw_arena a;
	struct kw_table t;
	size_t i;
	json_t *p;

	if (!r->parts)
		return;
	kw_buf_printf(out, "parts, divided by %s:\n", kw_json_get_str(r->parts, "divided_by", "?"));
	kw_arena_init(&a, 4 << 20);
	kw_table_init(&t, &a, "<><>><");
	kw_table_row(&t, "part", "run", "kernel", "time", "speedup", "statements");
	json_array_foreach(json_object_get(r->parts, "parts"), i, p) {
		double ns = kw_json_get_f64(p, "ns", 0), speedup = kw_json_get_f64(p, "speedup", 0);
		bool own = kw_json_get_bool(p, "own", false);
		char run[24], time[40] = "-", times[24] = "-";

		snprintf(run, sizeof(run), "%lld", (long long)kw_json_get_i64(p, "run", 0));
		if (own && ns > 0)
			kw_human_ns(ns, time, sizeof(time));
		if (own && speedup > 0)
			snprintf(times, sizeof(times), "%.3gx", speedup);
		kw_table_row(&t, kw_json_get_str(p, "part", "?"), run, own ? kw_json_get_str(p, "kernel", "?") : "baseline's", time, times,
			     kw_json_get_str(p, "statements", "?"));
	}
	kw_table_write(&t, "  ", out);
	kw_arena_release(&a);
	json_array_foreach(json_object_get(r->parts, "parts"), i, p)
		if (!kw_json_get_bool(p, "own", false))
			kw_buf_printf(out, "  %s keeps the baseline's kernel: %s\n", kw_json_get_str(p, "part", "?"), kw_json_get_str(p, "why", "?"));
}

static bool all_not_applicable(const struct kw_report *r)
{
	return r->count_count == 1 && strcmp(r->counts[0].cls, kw_verdict_name(KW_V_NOT_APPLICABLE)) == 0;
}

/* Why there is no best, in a sentence; what was refused, and by what. */
/* A part whose time was over before a judgement in full. */
static void only_screened(const struct kw_report *r, struct kw_buf *out)
{
	const struct kw_result_entry *e = &r->result.entries[0];
	const char *name = "candidate";

	for (size_t i = 0; i < r->verdict_count; i++)
		if (strcmp(r->verdicts[i].candidate_sha, e->candidate_sha) == 0)
			name = r->verdicts[i].candidate_name;
	kw_buf_printf(out, "best of this part, only screened: %s%s%s; its final check is that of the whole, run %lld\n", name, e->tune[0] ? " at " : "",
		      e->tune, (long long)r->run.parent);
}

static void nothing(const struct kw_report *r, struct kw_buf *out)
{
	if (r->of_whole)
		only_screened(r, out);
	else if (kw_run_state_open(r->run.state))
		kw_buf_addz(out, "best: none yet\n");
	else if (kw_run_state_spent(r->run.state))
		kw_buf_addz(out, "best: none; the budget was spent before any kernel was proven right\n");
	else
		kw_buf_addz(out, r->verdict_count == 0 ? "best: none; nothing was judged\n" :
			    all_not_applicable(r) ? "best: none could be judged\n" : "best: none was right\n");
	reasons(r, out);
}

/* Over all timed cases: against what, whether that was all that it was to be compared with, and whether it is worth having. */
static void standing(const struct kw_verdict *v, struct kw_buf *out)
{
	const char *failed[KW_REPORT_BASELINES], *baseline;
	size_t n = kw_verdict_failed_baselines(v, failed, KW_REPORT_BASELINES);

	if (v->geomean_speedup > 0) {
		kw_buf_printf(out, "  over all timed cases: %.3gx the best baseline%s", v->geomean_speedup, n ? " of those that ran (" : "");
		for (size_t i = 0; i < n; i++)
			kw_buf_printf(out, "%s%s", i ? ", " : "", failed[i]);
		kw_buf_addz(out, n ? " failed)" : "");
		if (v->geomean_sol > 0)
			kw_buf_printf(out, ", %.0f%% of the speed of light", 100 * v->geomean_sol);
		kw_buf_addc(out, '\n');
	} else if (n) {
		kw_buf_addz(out, "  no speedup: every baseline failed\n");
	}
	if (kw_verdict_is_slower(v, &baseline))
		kw_buf_printf(out, "  right, but slower than %s: keep the baseline\n", baseline ? baseline : "the best baseline of each case");
}

static void best(const struct kw_report *r, struct kw_buf *out)
{
	const char *name = r->best_row.candidate_name;

	if (!r->has_best) {
		nothing(r, out);
		return;
	}
	name = name[0] ? name : "candidate";
	kw_buf_addz(out, r->proven ? "best: "
			 : r->of_whole ? "best of this part: "
			 : strncmp(r->best_row.effort, "screen", 6) == 0 ? "best so far, only screened and not proven: "
									 : "best so far, not proven: ");
	kw_report_verdict_text(&r->best, name, out);
	standing(&r->best, out);
	if (r->of_whole)
		kw_buf_printf(out, "  its final check is that of the whole, run %lld\n", (long long)r->run.parent);
}

/* Where the time went; what is neither judging, building nor a model is ours. */
static void spent(const struct kw_report *r, struct kw_buf *out)
{
	static const char *const names[][2] = { { "judging_ns", "judging" }, { "building_ns", "building ahead of it" }, { "models_ns", "waiting for models" } };
	double wall = kw_json_get_f64(r->time, "wall_ns", 0), own = wall;

	if (!(wall > 0))
		return;
	kw_buf_addz(out, "time: ");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		double ns = kw_json_get_f64(r->time, names[i][0], 0);

		kw_buf_printf(out, "%.1f%% %s, ", 100 * ns / wall, names[i][1]);
		own -= ns;
	}
	kw_buf_printf(out, "%.1f%% the search itself\n", 100 * own / wall);
}

/* What models took part with: who, how often, what it cost; then what was of no use. */
static void models(const struct kw_report *r, struct kw_buf *out)
{
	int64_t in = 0, answered = 0;
	double usd = 0;
	bool estimated = false, unpriced = false;

	if (r->call_count == 0)
		return;
	for (size_t i = 0; i < r->call_count; i++) {
		in += r->calls[i].tokens_in;
		answered += r->calls[i].tokens_out;
		usd += r->calls[i].cost_usd;
		estimated = estimated || !r->calls[i].counted;
		unpriced = unpriced || !r->calls[i].priced;
	}
	kw_buf_printf(out, "models: %zu call%s, %s%lld tokens in, %lld out", r->call_count, r->call_count == 1 ? "" : "s",
		      estimated ? "about " : "", (long long)in, (long long)answered);
	if (usd > 0 || !unpriced)
		kw_buf_printf(out, ", $%.4g%s", usd, unpriced ? " and what is unpriced" : "");
	kw_buf_addz(out, "; answers by");
	for (size_t i = 0; i < r->call_count; i++) {
		bool told = false;

		for (size_t k = 0; k < i && !told; k++)
			told = strcmp(r->calls[k].model, r->calls[i].model) == 0 && strcmp(r->calls[k].note, r->calls[i].note) == 0;
		if (!told)
			kw_buf_printf(out, "%s %s%s%s%s", i ? "," : "", r->calls[i].model, r->calls[i].note[0] ? " (" : "",
				      r->calls[i].note, r->calls[i].note[0] ? ")" : "");
	}
	kw_buf_addc(out, '\n');
	spent(r, out);
	if (r->has_best)
		reasons(r, out);
}

static void files(const struct kw_report *r, struct kw_buf *out)
{
	static const char *const names[] = { "kernel", "header", "report" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *path = kw_json_get_str(r->files, names[i], NULL);

		if (path)
			kw_buf_printf(out, "%-8s%s\n", names[i], path);
	}
}

void kw_report_text(const struct kw_report *r, struct kw_buf *out)
{
	head(r, out);
	parts(r, out);
	rounds(r, out);
	if (r->run.state == KW_RUN_NO_PATTERN)
		reasons(r, out);
	else
		best(r, out);
	kw_report_shortfalls(r->falls_short, r->falls_short_count, out);
	tuner(r, out);
	models(r, out);
	counts(r, out);
	files(r, out);
}

/* The case of b with the same label and a time; NULL if none. */
static const struct kw_case_result *same_case(const struct kw_verdict *b, const char *label)
{
	for (size_t i = 0; i < b->case_count; i++)
		if (b->cases[i].has_times && strcmp(b->cases[i].label, label) == 0)
			return &b->cases[i];
	return NULL;
}

/* Different methods, or warm against cold, are not compared (design 7). */
static const char *judge_pair(const struct kw_times *a, const struct kw_times *b, char *out, size_t n)
{
	if (a->cold != b->cold || strcmp(a->method ? a->method : "", b->method ? b->method : "") != 0)
		return "not comparable: timed by different methods";
	if (!kw_times_differ(a, b))
		return "no difference";
	if (b->median_ns < a->median_ns)
		snprintf(out, n, "%.3gx faster", a->median_ns / b->median_ns);
	else
		snprintf(out, n, "%.3gx slower", b->median_ns / a->median_ns);
	return out;
}

void kw_report_diff_text(const struct kw_report *a, const struct kw_report *b, struct kw_buf *out)
{
	struct kw_arena arena;
	struct kw_table t;
	char left[KW_REPORT_STATE_MAX], right[KW_REPORT_STATE_MAX], word[64];
	const bool same_task = strcmp(a->run.task_sha, b->run.task_sha) == 0;

	kw_arena_init(&arena, 4 << 20);
	kw_table_init(&t, &arena, "<>><");
	snprintf(left, sizeof(left), "run %lld", (long long)a->run.id);
	snprintf(right, sizeof(right), "run %lld", (long long)b->run.id);
	kw_table_row(&t, "", left, right, "");
	kw_table_row(&t, "state", kw_report_state(&a->run, left), kw_report_state(&b->run, right), "");
	kw_table_row(&t, "best", a->has_best ? a->best_row.candidate_name : "none",
		     b->has_best ? b->best_row.candidate_name : "none", "");
	if (!same_task)
		kw_table_row(&t, "task", a->run.task_name, b->run.task_name, "");
	if (a->has_best && b->has_best)
		kw_table_row(&t, "tune", a->best_row.tune, b->best_row.tune, "");
	snprintf(left, sizeof(left), "%d", a->run.evaluations);
	snprintf(right, sizeof(right), "%d", b->run.evaluations);
	kw_table_row(&t, "evaluations", left, right, "");
	/* Cases of the same label are the same work only where the task is. */
	for (size_t i = 0; same_task && a->has_best && b->has_best && i < a->best.case_count; i++) {
		const struct kw_case_result *x = &a->best.cases[i], *y = same_case(&b->best, x->label);

		if (!x->has_times || !y)
			continue;
		kw_table_row(&t, x->label, kw_human_ns(x->times.median_ns, left, sizeof(left)),
			     kw_human_ns(y->times.median_ns, right, sizeof(right)),
			     judge_pair(&x->times, &y->times, word, sizeof(word)));
	}
	if (!same_task)
		kw_buf_addz(out, "these runs are of different tasks: their times are not compared\n");
	kw_table_write(&t, "", out);
	kw_arena_release(&arena);
}
