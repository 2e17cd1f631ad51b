/* A verdict for people. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "report/table.h"

/* "12.3 ms"; "-" when unknown. Rotating buffers: a row may use eight. */
static const char *ns(double v)
{
	static _Thread_local char ring[8][40];
	static _Thread_local unsigned next;
	char *out = ring[next++ % 8];

	if (!(v > 0))
		return "-";
	return kw_human_ns(v, out, sizeof(ring[0]));
}

static const char *interval(struct kw_arena *a, double low, double high)
{
	if (!(low > 0) || !(high > 0))
		return "";
	return kw_arena_printf(a, "[%s, %s]", ns(low), ns(high));
}

static const char *ratio(struct kw_arena *a, double v)
{
	return v > 0 ? kw_arena_printf(a, "%.*fx", v < 10 ? 2 : v < 100 ? 1 : 0, v) : "";
}

static void baseline_rows(struct kw_table *t, struct kw_arena *a, const struct kw_case_result *c)
{
	for (size_t i = 0; i < c->baseline_count; i++) {
		const struct kw_baseline_time *b = &c->baselines[i];
		const char *between = "";

		if (!(b->times.median_ns > 0)) {
			kw_table_row(t, b->name, "none", "", "", "");
			continue;
		}
		if (b->speedup_low > 0)
			between = kw_arena_printf(a, "[%.3g, %.3g]", b->speedup_low, b->speedup_high);
		kw_table_row(t, b->name, ns(b->times.median_ns),
			     interval(a, b->times.ci_low_ns, b->times.ci_high_ns),
			     ratio(a, b->speedup), between);
	}
}

/* Of the baselines that have something to be said, a line each. */
static void baseline_notes(const struct kw_case_result *c, struct kw_buf *out)
{
	for (size_t i = 0; i < c->baseline_count; i++)
		if (c->baselines[i].why && c->baselines[i].why[0])
			kw_buf_printf(out, "    %s: %s\n", c->baselines[i].name, c->baselines[i].why);
}

static void sol_line(const struct kw_case_result *c, struct kw_buf *out)
{
	char rate[40], ceiling[40];
	double s = c->times.median_ns * 1e-9;
	bool compute = c->sol_bound && strcmp(c->sol_bound, "compute") == 0;
	double work = compute ? c->flops : c->bytes;
	double limit = compute ? c->ceiling_flops_per_s : c->ceiling_bytes_per_s;
	const char *unit = compute ? "FLOP/s" : "B/s";

	if (!(s > 0) || !(work > 0))
		return;
	kw_human_rate(work / s, unit, rate, sizeof(rate));
	if (c->sol > 0 && limit > 0)
		kw_buf_printf(out, "    speed of light  %.0f%% (%s: %s of %s)\n", 100 * c->sol,
			      c->sol_bound ? c->sol_bound : "?", rate,
			      kw_human_rate(limit, unit, ceiling, sizeof(ceiling)));
	else
		kw_buf_printf(out, "    speed of light  unknown (%s; no ceiling was measured)\n", rate);
}

static void timed_case(const struct kw_case_result *c, const char *name, struct kw_buf *out)
{
	struct kw_arena a;
	struct kw_table t;

	kw_arena_init(&a, 1 << 20);
	kw_table_init(&t, &a, "<>>>>");
	kw_table_row(&t, "", "time", "95% interval", "speedup", "interval");
	baseline_rows(&t, &a, c);
	kw_table_row(&t, name, ns(c->times.median_ns),
		     interval(&a, c->times.ci_low_ns, c->times.ci_high_ns), "", "");
	kw_buf_printf(out, "  %s%s\n", c->label ? c->label : "", c->times.cold ? "" : "  (warm)");
	kw_table_write(&t, "    ", out);
	baseline_notes(c, out);
	sol_line(c, out);
	kw_arena_release(&a);
}

/* Whether an earlier case was left out for the same reason. */
static bool told_before(const struct kw_verdict *v, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (v->cases[k].verdict == KW_V_NOT_APPLICABLE && strcmp(v->cases[k].why, v->cases[i].why) == 0)
			return true;
	return false;
}

/* Cases that its plan excludes, by reason: there may be many. */
static void excluded_cases(const struct kw_verdict *v, struct kw_buf *out)
{
	for (size_t i = 0; i < v->case_count; i++) {
		int n = 0;

		if (v->cases[i].verdict != KW_V_NOT_APPLICABLE || told_before(v, i))
			continue;
		for (size_t k = i; k < v->case_count; k++)
			n += v->cases[k].verdict == KW_V_NOT_APPLICABLE &&
			     strcmp(v->cases[k].why, v->cases[i].why) == 0;
		kw_buf_printf(out, "  not applicable in %d case%s: %s\n", n, n == 1 ? "" : "s", v->cases[i].why);
	}
}

/* Untimed cases: a count, and a line for each that is neither right nor excluded nor told above. */
static void checked_cases(const struct kw_verdict *v, struct kw_buf *out)
{
	int right = 0, unseen = 0;
	double worst = 0;

	for (size_t i = 0; i < v->case_count; i++) {
		const struct kw_case_result *c = &v->cases[i];
		const char *sub = kw_subclass_name(c->subclass), *label = c->label ? c->label : "";

		if (c->verdict == KW_V_OK && c->trials > 0) {
			right++;
			unseen += c->unseen;
			worst = fmax(worst, c->error_ratio);
		}
		if (c->verdict == KW_V_OK ? !c->why[0] : c->verdict == KW_V_NOT_APPLICABLE ||
						   (v->case_label && strcmp(v->case_label, label) == 0))
			continue;
		kw_buf_printf(out, "  %s: %s%s%s%s%s\n", label, kw_verdict_name(c->verdict), sub[0] ? " " : "", sub,
			      c->why[0] ? ": " : "", c->why);
	}
	if (right == 0)
		return;
	kw_buf_printf(out, "  right in %d of %zu cases", right, v->case_count);
	if (unseen)
		kw_buf_printf(out, ", %d of them of sizes it had not seen", unseen);
	kw_buf_printf(out, "; largest error %.0f%% of the tolerance\n", 100 * worst);
}

static void indented(const char *text, struct kw_buf *out)
{
	struct kw_str rest = kw_str_from(text), row;

	while (kw_str_split(&rest, '\n', &row))
		if (row.len)
			kw_buf_printf(out, "  " KW_STR_FMT "\n", KW_STR_ARG(row));
}

void kw_report_verdict_text(const struct kw_verdict *v, const char *name, struct kw_buf *out)
{
	const char *sub = kw_subclass_name(v->subclass);

	kw_buf_printf(out, "%s: %s%s%s%s\n", name, kw_verdict_name(v->cls), sub[0] ? " (" : "", sub,
		      sub[0] ? ")" : "");
	if (v->tune && v->tune[0])
		kw_buf_printf(out, "  at %s\n", v->tune);
	if (v->summary[0])
		kw_buf_printf(out, "  %s\n", v->summary);
	if (v->evidence[0] && v->cls != KW_V_OK)
		indented(v->evidence, out);
	for (size_t i = 0; i < v->case_count; i++)
		if (v->cases[i].has_times)
			timed_case(&v->cases[i], name, out);
	checked_cases(v, out);
	excluded_cases(v, out);
	for (size_t i = 0; i < v->flag_count; i++)
		kw_buf_printf(out, "  note: %s\n", v->flags[i]);
	kw_buf_printf(out, "  on %s", v->device ? v->device : "?");
	if (v->toolchain && v->toolchain[0])
		kw_buf_printf(out, "; %s", v->toolchain);
	if (v->sandbox_layers && v->sandbox_layers[0])
		kw_buf_printf(out, "; sandbox: %s", v->sandbox_layers);
	kw_buf_addc(out, '\n');
}
