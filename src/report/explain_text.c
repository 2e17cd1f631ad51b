#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "report/explain.h"
#include "report/report.h"
#include "report/table.h"

enum { SHOWN_FINDINGS = 3, SHOWN_LAUNCHES = 6, SHOWN_GROUPS = 15, SHOWN_NOTES = 8, BAR = 40, ARENA_BYTES = 64 << 20 };

static void bar(struct kw_buf *out, double pct)
{
	int n = (int)(fmin(fmax(pct, 0), 100) / 100 * BAR + 0.5);

	for (int i = 0; i < BAR; i++)
		kw_buf_addc(out, i < n ? '#' : '.');
}

static void roofline(const struct kw_explained *e, struct kw_buf *out)
{
	char text[64];
	const double *v = e->launch->value;

	for (size_t i = 0; i < KW_ROOF_UNITS; i++) {
		if (isnan(e->unit[i].pct))
			continue;
		kw_buf_printf(out, "  %-20s ", e->unit[i].name);
		bar(out, e->unit[i].pct);
		kw_buf_printf(out, " %5.1f%%\n", e->unit[i].pct);
	}
	if (isnan(v[KW_M_DURATION_NS]))
		return;
	kw_buf_printf(out, "  time %s", kw_human_ns(v[KW_M_DURATION_NS], text, sizeof(text)));
	if (!isnan(v[KW_M_DRAM_BYTES]))
		kw_buf_printf(out, ", moves %s", kw_human_bytes(v[KW_M_DRAM_BYTES], text, sizeof(text)));
	if (!isnan(v[KW_M_DRAM_RATE]))
		kw_buf_printf(out, " at %s", kw_human_rate(v[KW_M_DRAM_RATE], "B/s", text, sizeof(text)));
	if (!isnan(v[KW_M_MIN_BYTES]))
		kw_buf_printf(out, "; must move %s", kw_human_bytes(v[KW_M_MIN_BYTES], text, sizeof(text)));
	kw_buf_addc(out, '\n');
}

/* The rule's own estimate needs what this input lacks; what the busiest unit leaves is a bound all the same. */
static void unknown_gain(const struct kw_explained_finding *f, const struct kw_launch *k, struct kw_buf *out)
{
	if (!k || f->rule->about == KW_ABOUT_COMPARE)
		return;
	if (!isnan(f->bound))
		kw_buf_printf(out, "     gain: no counter here says how much; the roof leaves %.0f%% of the time at most\n",
			      100 * f->bound);
	else if (isnan(k->value[KW_M_DURATION_NS]))
		kw_buf_addz(out, "     gain: not known: this input has no time; a profile or kwright explain TASK FILE gives one\n");
	else
		kw_buf_addz(out, "     gain: not known: no unit's share of its peak was measured\n");
}

static void gain(const struct kw_explained_finding *f, const struct kw_launch *k, struct kw_buf *out)
{
	char text[64];

	if (f->rule->final)
		return;
	if (isnan(f->gain)) {
		unknown_gain(f, k, out);
		return;
	}
	kw_buf_printf(out, "     gain: at most %.0f%% of the time", 100 * f->gain);
	if (k && !isnan(k->value[KW_M_DURATION_NS]))
		kw_buf_printf(out, " (%s)", kw_human_ns(f->gain * k->value[KW_M_DURATION_NS], text, sizeof(text)));
	kw_buf_printf(out, "; expect %.2f to %.2f of the time now\n", f->factor_low, f->factor_high);
}

static void finding(const struct kw_explained_finding *f, size_t number, const struct kw_launch *k, struct kw_buf *out)
{
	kw_buf_printf(out, "  %zu. %s [%s]\n     %s\n", number, f->rule->title, f->rule->name, f->evidence);
	if (f->where && f->where[0])
		kw_buf_printf(out, "     where: %s\n", f->where);
	kw_buf_printf(out, "     do: %s\n", f->directive);
	gain(f, k, out);
	kw_buf_printf(out, "     check: %s\n     wrong when: %s\n", f->check, f->rule->wrong_when);
	if (f->against)
		kw_buf_printf(out, "     a choice: this and %s pull in opposite directions; try one, and time both\n",
			      f->against);
	if (strcmp(f->rule->cls, "kernel") != 0)
		kw_buf_printf(out, "     this is about the %s, not about the kernel\n", f->rule->cls);
}

static void shape(const struct kw_launch *k, struct kw_buf *out)
{
	if (k->grid[0])
		kw_buf_printf(out, " grid (%lld, %lld, %lld)", (long long)k->grid[0], (long long)k->grid[1],
			      (long long)k->grid[2]);
	if (k->block[0])
		kw_buf_printf(out, " block (%lld, %lld, %lld)", (long long)k->block[0], (long long)k->block[1],
			      (long long)k->block[2]);
}

static void missing(const struct kw_launch *k, struct kw_buf *out)
{
	if (!k->unknown_count)
		return;
	kw_buf_addz(out, "  missing (the profiler knows no such metric on this chip or version; not zero):\n");
	for (size_t i = 0; i < k->unknown_count; i++) {
		const char *near = kw_metric_nearest(k->unknown[i]);

		kw_buf_printf(out, "    %s", k->unknown[i]);
		if (near && strcmp(near, k->unknown[i]) != 0)
			kw_buf_printf(out, "; did you mean %s?", near);
		kw_buf_addc(out, '\n');
	}
}

/* The profiler's own estimates, so that nobody takes a local one for a gain of the kernel. */
static void profiler_rules(const struct kw_launch *k, bool whole, struct kw_buf *out)
{
	size_t count = 0;

	for (const struct kw_profiler_rule *r = k->rules; r; r = r->next)
		count += !isnan(r->estimate_pct);
	if (count && !whole)
		kw_buf_printf(out, "  and %zu estimate%s of the profiler's own with --all\n", count, count == 1 ? "" : "s");
	if (!whole)
		return;
	for (const struct kw_profiler_rule *r = k->rules; r; r = r->next)
		if (!isnan(r->estimate_pct))
			kw_buf_printf(out, "  the profiler's own estimate (%s): %.2f%%%s %s\n",
				      r->name[0] ? r->name : r->type, r->estimate_pct,
				      strcmp(r->estimate_kind, "local") == 0
					      ? ", local to the metric, no speedup of the kernel;"
					      : ";",
				      "ours above is capped by the roofline");
}

/* of: the launches of this kernel that it stands for; NULL: only itself. */
static void launch(const struct kw_explained *e, const struct kw_explained_group *of, bool whole, struct kw_buf *out)
{
	const struct kw_launch *k = e->launch;
	char text[64];
	size_t shown = whole ? e->count : e->count < SHOWN_FINDINGS ? e->count : SHOWN_FINDINGS;

	kw_buf_printf(out, "%s%s", k->kernel[0] ? k->kernel : "launch ", k->kernel[0] ? "" : k->id);
	if (kw_launch_has(k, KW_M_ARCH))
		kw_buf_printf(out, ", compiled for sm_%.0f", k->value[KW_M_ARCH]);
	if (of && of->shown != of->longest)
		kw_buf_printf(out, " (a usual one of %zu launches; the longest takes %s)", of->count, kw_human_ns(of->most_ns, text, sizeof(text)));
	else if (of && of->count > 1)
		kw_buf_printf(out, " (the longest of %zu launches)", of->count);
	kw_buf_addc(out, '\n');
	kw_buf_printf(out, "  => %s\n", e->verdict);
	if (k->grid[0] || k->block[0]) {
		kw_buf_addz(out, " ");
		shape(k, out);
		kw_buf_addc(out, '\n');
	}
	roofline(e, out);
	if (e->resources[0])
		kw_buf_printf(out, "  %s\n", e->resources);
	for (size_t i = 0; i < shown; i++)
		finding(&e->findings[i], i + 1, k, out);
	if (shown < e->count)
		kw_buf_printf(out, "  %zu more with --all\n", e->count - shown);
	for (size_t i = 0; i < e->dropped_count && whole; i++)
		kw_buf_printf(out, "  not told: %s (%s)\n", e->dropped[i].rule->title, e->dropped[i].why);
	missing(k, out);
	profiler_rules(k, whole, out);
	kw_buf_addc(out, '\n');
}

/* Of many launches: a table of the kernels, and one launch of each. */
static bool groups(const struct kw_explained_input *in, struct kw_arena *a, struct kw_buf *out)
{
	struct kw_explained_group *list;
	struct kw_table t;
	size_t n;

	if (!kw_explain_groups(in, a, &list, &n))
		return false;
	kw_buf_printf(out, "%zu launches of %zu kernel%s\n", in->launches.count, n, n == 1 ? "" : "s");
	kw_table_init(&t, a, "<>>>>><");
	kw_table_row(&t, "kernel", "blocks", "launches", "time", "least", "most", "limit");
	for (size_t i = 0; i < n && i < SHOWN_GROUPS; i++) {
		const struct kw_explained *e = &in->explained[list[i].shown];
		char blocks[32] = "", count[32], total[64] = "", least[64] = "", most[64] = "";

		if (kw_launch_has(e->launch, KW_M_GRID))
			snprintf(blocks, sizeof(blocks), "%.0f", e->launch->value[KW_M_GRID]);
		snprintf(count, sizeof(count), "%zu", list[i].count);
		if (!isnan(list[i].total_ns)) {
			kw_human_ns(list[i].total_ns, total, sizeof(total));
			kw_human_ns(list[i].least_ns, least, sizeof(least));
			kw_human_ns(list[i].most_ns, most, sizeof(most));
		}
		kw_table_row(&t, kw_arena_strndup(a, e->launch->kernel, strnlen(e->launch->kernel, 48)), blocks, count,
			     total, least, most, e->bottleneck);
	}
	kw_table_write(&t, "  ", out);
	if (n > SHOWN_GROUPS)
		kw_buf_printf(out, "  and %zu more; --json has all\n", n - SHOWN_GROUPS);
	kw_buf_addc(out, '\n');
	for (size_t i = 0; i < n && i < SHOWN_LAUNCHES; i++)
		launch(&in->explained[list[i].shown], &list[i], false, out);
	return !t.failed;
}

static void outcomes(const struct kw_launches *l, struct kw_buf *out)
{
	if (!l->outcome_count)
		return;
	kw_buf_addz(out, "no data:");
	for (size_t i = 0; i < l->outcome_count; i++)
		kw_buf_printf(out, "%s %s", i ? "," : "", kw_outcome_name(l->outcomes[i]));
	kw_buf_addz(out, " (not zeros; until it is measured, use times and static facts)\n");
}

static void notes(const struct kw_launches *l, bool whole, struct kw_buf *out)
{
	for (size_t i = 0; i < l->note_count && (whole || i < SHOWN_NOTES); i++) {
		if (l->notes[i].line)
			kw_buf_printf(out, "note: line %d: %s", l->notes[i].line, l->notes[i].text);
		else
			kw_buf_printf(out, "note: %s", l->notes[i].text);
		if (l->notes[i].count > 1)
			kw_buf_printf(out, " (%d times)", l->notes[i].count);
		kw_buf_addc(out, '\n');
	}
}

static bool input(const struct kw_explained_input *in, bool whole, struct kw_arena *a, struct kw_buf *out)
{
	size_t n = in->launches.count;
	bool many = n > SHOWN_LAUNCHES && !whole;
	bool by_time = n > SHOWN_LAUNCHES || !isnan(in->total_ns); /* what takes longest comes first */
	bool said = strcmp(in->launches.form, kw_input_name(in->kind)) == 0 || in->launches.form[0] == '\0';

	kw_buf_printf(out, "%s: %s%s%s\n", in->file, kw_input_name(in->kind), said ? "" : ": ",
		      said ? "" : in->launches.form);
	outcomes(&in->launches, out);
	for (size_t i = 0; i < in->message_count; i++) {
		const struct kw_explained_message *m = &in->messages[i];

		kw_buf_printf(out, "line %d%s: %s\n", m->line, m->count > 1 ? " (and again)" : "", m->text);
		finding(&m->finding, i + 1, NULL, out);
	}
	if (many && !groups(in, a, out))
		return false;
	for (size_t i = 0; i < n && !many; i++)
		launch(&in->explained[by_time ? in->order[i] : i], NULL, whole, out);
	notes(&in->launches, whole, out);
	return true;
}

void kw_report_shortfalls(const struct kw_falls_short *list, size_t count, struct kw_buf *out)
{
	char a[64], b[64];

	if (!count)
		return;
	kw_buf_addz(out, "where it falls short of the best baseline:\n");
	for (size_t i = 0; i < count; i++) {
		const struct kw_falls_short *f = &list[i];

		kw_buf_printf(out, "  %s: %s against %s of %s (%.2fx)%s%s\n", f->label,
			      kw_human_ns(f->ns, a, sizeof(a)), kw_human_ns(f->baseline_ns, b, sizeof(b)), f->baseline,
			      f->ns / f->baseline_ns, f->evidence[0] ? ": " : "; no finding says why, a profile would", f->evidence);
		if (f->missing[0])
			kw_buf_printf(out, "    missing: %s\n", f->missing);
	}
}

bool kw_report_explain_text(const struct kw_explanation *x, bool whole, struct kw_buf *out)
{
	struct kw_arena a;
	bool good = true;

	kw_arena_init(&a, ARENA_BYTES);
	for (size_t i = 0; i < x->count && good; i++) {
		if (i)
			kw_buf_addc(out, '\n');
		good = input(&x->inputs[i], whole, &a, out);
	}
	if (x->verdict_class[0] && strcmp(x->verdict_class, "ok") != 0)
		kw_buf_printf(out, "the candidate is not right, so it was not timed: %s\n", x->verdict_class);
	kw_report_shortfalls(x->falls_short, x->falls_short_count, out);
	kw_arena_release(&a);
	return good && !out->full;
}
