/* One page: the roofline (time of the longest launch against what each unit could do), the stall reasons, the findings. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "report/explain.h"

enum { WIDE = 720, ROW = 26, LEFT = 190, MAX_LAUNCHES = 20, TOLD_ONE_BY_ONE = 6, MAX_KERNELS = 200, NAME_BYTES = 96, PLOT = 320, ARENA_BYTES = 64 << 20 };

static void escaped(struct kw_buf *out, const char *s)
{
	for (; s && *s; s++) {
		if (*s == '<')
			kw_buf_addz(out, "&lt;");
		else if (*s == '>')
			kw_buf_addz(out, "&gt;");
		else if (*s == '&')
			kw_buf_addz(out, "&amp;");
		else if (*s == '"')
			kw_buf_addz(out, "&quot;");
		else if ((unsigned char)*s >= 32)
			kw_buf_addc(out, *s);
	}
}

static void bar(struct kw_buf *out, int row, const char *name, double pct)
{
	double w = fmin(fmax(pct, 0), 100) / 100 * (WIDE - LEFT - 70);

	kw_buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 8, row * ROW + 18);
	escaped(out, name);
	kw_buf_printf(out,
		      "</text><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" class=\"t\"/><rect x=\"%d\" y=\"%d\" width=\"%.1f\" "
		      "height=\"%d\" class=\"b\"/><text x=\"%d\" y=\"%d\">%.1f%%</text>\n",
		      LEFT, row * ROW + 4, WIDE - LEFT - 70, ROW - 8, LEFT, row * ROW + 4, w, ROW - 8, WIDE - 64, row * ROW + 18, pct);
}

/* Logarithms of intensity (0.01 to 10,000 flops a byte) and of the share of the peak to places on the plot. */
static double plot_x(double intensity)
{
	return LEFT + (log10(fmin(fmax(intensity, 0.01), 1e4)) + 2) / 6 * (WIDE - LEFT - 40);
}

static double plot_y(double rate, double peak)
{
	return 20 + -log10(fmin(fmax(rate / peak, 1e-5), 1)) / 5 * (PLOT - 60);
}

/* Tens on both axes, and what they are. */
static void axes(struct kw_buf *out)
{
	for (int e = -2; e <= 4; e++)
		kw_buf_printf(out, "<line class=\"g\" x1=\"%.1f\" y1=\"20\" x2=\"%.1f\" y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>",
			      plot_x(pow(10, e)), plot_x(pow(10, e)), PLOT - 40, plot_x(pow(10, e)), PLOT - 26, pow(10, e));
	for (int e = -5; e <= 0; e++)
		kw_buf_printf(out, "<line class=\"g\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g%%</text>", LEFT,
			      plot_y(pow(10, e), 1), WIDE - 40, plot_y(pow(10, e), 1), LEFT - 8, plot_y(pow(10, e), 1) + 4, 100 * pow(10, e));
	kw_buf_printf(out, "<text x=\"%d\" y=\"12\">share of the arithmetic's ceiling, against flops a byte</text>", LEFT);
}

/* The classical picture where flops, bytes and both ceilings are known. */
static void roofline_plot(const struct kw_launch *k, struct kw_buf *out)
{
	const double *v = k->value;
	double bytes = isnan(v[KW_M_DRAM_BYTES]) ? v[KW_M_MIN_BYTES] : v[KW_M_DRAM_BYTES], ridge, intensity;

	if (!(v[KW_M_FLOPS] > 0) || !(bytes > 0) || !(v[KW_M_PEAK_FLOPS] > 0) || !(v[KW_M_PEAK_RATE] > 0) ||
	    !(v[KW_M_DURATION_NS] > 0))
		return;
	ridge = v[KW_M_PEAK_FLOPS] / v[KW_M_PEAK_RATE];
	intensity = v[KW_M_FLOPS] / bytes;
	kw_buf_printf(out,
		      "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"roofline\">",
		      WIDE, PLOT);
	axes(out);
	kw_buf_printf(out,
		      "<polyline class=\"r\" "
		      "points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>",
		      plot_x(0.01), plot_y(0.01 * v[KW_M_PEAK_RATE], v[KW_M_PEAK_FLOPS]), plot_x(ridge),
		      plot_y(1, 1), plot_x(1e4), plot_y(1, 1));
	kw_buf_printf(out,
		      "<circle class=\"d\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/><text x=\"%d\" y=\"%d\">flops a byte: "
		      "%.3g; ridge at %.3g</text></svg>\n",
		      plot_x(intensity), plot_y(v[KW_M_FLOPS] / v[KW_M_DURATION_NS] * 1e9, v[KW_M_PEAK_FLOPS]), LEFT,
		      PLOT - 10, intensity, ridge);
}

static void units(const struct kw_explained *e, struct kw_buf *out)
{
	int n = 0;

	for (size_t i = 0; i < KW_ROOF_UNITS; i++)
		n += !isnan(e->unit[i].pct);
	if (n == 0)
		return;
	kw_buf_printf(out,
		      "<h3>Roofline: share of each unit's peak</h3><svg viewBox=\"0 0 %d %d\" role=\"img\" "
		      "aria-label=\"roofline shares\">\n",
		      WIDE, n * ROW + 8);
	n = 0;
	for (size_t i = 0; i < KW_ROOF_UNITS; i++)
		if (!isnan(e->unit[i].pct))
			bar(out, n++, e->unit[i].name, e->unit[i].pct);
	kw_buf_addz(out, "</svg>\n");
}

/* A warp that goes, or could go and is not picked, waits for nothing. */
static bool is_stall(int metric)
{
	return metric != KW_M_STALL_SELECTED_PCT && metric != KW_M_STALL_NOT_SELECTED_PCT;
}

static void stalls(const struct kw_launch *k, struct kw_buf *out)
{
	int list[KW_M_STALL_NOT_SELECTED_PCT - KW_M_STALL_LONG_SCOREBOARD_PCT + 1], n = 0;


	for (int m = KW_M_STALL_LONG_SCOREBOARD_PCT; m <= KW_M_STALL_NOT_SELECTED_PCT; m += 2)
		if (is_stall(m) && k->value[m] > 0.05)
			list[n++] = m;
	if (n == 0)
		return;
	/* The longest first. */
	for (int i = 1; i < n; i++)
		for (int j = i; j > 0 && k->value[list[j]] > k->value[list[j - 1]]; j--) {
			int swap = list[j];

			list[j] = list[j - 1];
			list[j - 1] = swap;
		}
	kw_buf_printf(
		out,
		"<h3>What warps wait for</h3><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"stall reasons\">\n",
		WIDE, n * ROW + 8);
	for (int i = 0; i < n; i++)
		bar(out, i, kw_metric_name(list[i] - 1) + strlen("stall_"), k->value[list[i]]);
	kw_buf_addz(out, "</svg>\n");
}

static void paragraph(struct kw_buf *out, const char *label, const char *text)
{
	if (!text || !text[0])
		return;
	kw_buf_printf(out, "<p><b>%s</b> ", label);
	escaped(out, text);
	kw_buf_addz(out, "</p>\n");
}

/* k: the launch that it is of; NULL: it is of a line. */
static void finding(const struct kw_explained_finding *f, const struct kw_launch *k, struct kw_buf *out)
{
	char text[64];

	kw_buf_addz(out, "<li><h4>");
	escaped(out, f->rule->title);
	kw_buf_addz(out, " <code>");
	escaped(out, f->rule->name);
	kw_buf_addz(out, "</code></h4>\n");
	paragraph(out, "Evidence:", f->evidence);
	paragraph(out, "Where:", f->where);
	paragraph(out, "Do:", f->directive);
	if (!isnan(f->gain) && !f->rule->final)
		kw_buf_printf(out, "<p><b>Gain:</b> at most %.0f%% of the time%s%s%s; expect %.2f to %.2f of the time now</p>\n", 100 * f->gain,
			      k && kw_launch_has(k, KW_M_DURATION_NS) ? " (" : "",
			      k && kw_launch_has(k, KW_M_DURATION_NS) ? kw_human_ns(f->gain * k->value[KW_M_DURATION_NS], text, sizeof(text)) : "",
			      k && kw_launch_has(k, KW_M_DURATION_NS) ? ")" : "", f->factor_low, f->factor_high);
	else if (!isnan(f->bound) && !f->rule->final)
		kw_buf_printf(out, "<p><b>Gain:</b> not counted here; the roof leaves %.0f%% of the time at most</p>\n",
			      100 * f->bound);
	paragraph(out, "Check:", f->check);
	paragraph(out, "Wrong when:", f->rule->wrong_when);
	if (f->against) {
		kw_buf_addz(out, "<p><b>A choice:</b> this and <code>");
		escaped(out, f->against);
		kw_buf_addz(out, "</code> pull in opposite directions; try one, and time both</p>\n");
	}
	if (strcmp(f->rule->cls, "kernel") != 0)
		kw_buf_printf(out, "<p>This is about the %s, not about the kernel.</p>\n", f->rule->cls);
	kw_buf_addz(out, "</li>\n");
}

/* "grid (1, 1, 1), block (256, 1, 1), 12 us, moves 3 MiB". */
static void facts(const struct kw_launch *k, struct kw_buf *out)
{
	const double *v = k->value;
	char text[64];
	size_t start;

	kw_buf_addz(out, "<p>");
	start = out->len;
	if (k->grid[0])
		kw_buf_printf(out, ", grid (%lld, %lld, %lld)", (long long)k->grid[0], (long long)k->grid[1], (long long)k->grid[2]);
	if (k->block[0])
		kw_buf_printf(out, ", block (%lld, %lld, %lld)", (long long)k->block[0], (long long)k->block[1], (long long)k->block[2]);
	if (kw_launch_has(k, KW_M_ARCH))
		kw_buf_printf(out, ", compiled for sm_%.0f", v[KW_M_ARCH]);
	if (kw_launch_has(k, KW_M_DURATION_NS))
		kw_buf_printf(out, ", time %s", kw_human_ns(v[KW_M_DURATION_NS], text, sizeof(text)));
	if (kw_launch_has(k, KW_M_DRAM_BYTES))
		kw_buf_printf(out, ", moves %s", kw_human_bytes(v[KW_M_DRAM_BYTES], text, sizeof(text)));
	if (kw_launch_has(k, KW_M_DRAM_RATE))
		kw_buf_printf(out, " at %s", kw_human_rate(v[KW_M_DRAM_RATE], "B/s", text, sizeof(text)));
	if (kw_launch_has(k, KW_M_MIN_BYTES))
		kw_buf_printf(out, ", must move %s", kw_human_bytes(v[KW_M_MIN_BYTES], text, sizeof(text)));
	if (out->len > start + 2 && out->ptr)
		memcpy(out->ptr + start, "  ", 2); /* the first comma */
	kw_buf_addz(out, "</p>\n");
}

static void missing(const struct kw_launch *k, struct kw_buf *out)
{
	if (!k->unknown_count)
		return;
	kw_buf_addz(out, "<p><b>Missing, not zero</b> (the profiler knows no such metric on this chip or version):");
	for (size_t i = 0; i < k->unknown_count; i++) {
		kw_buf_addz(out, i ? ", <code>" : " <code>");
		escaped(out, k->unknown[i]);
		kw_buf_addz(out, "</code>");
	}
	kw_buf_addz(out, "</p>\n");
}

/* of: the launches that it stands for; NULL: only itself. */
static void launch(const struct kw_explained *e, const struct kw_explained_group *of, struct kw_buf *out)
{
	char text[64];

	kw_buf_addz(out, "<section><h2>");
	escaped(out, e->launch->kernel[0] ? e->launch->kernel : "a launch without a name");
	kw_buf_addz(out, "</h2>\n");
	if (of && of->shown != of->longest)
		kw_buf_printf(out, "<p>A usual one of %zu launches; the longest takes %s.</p>\n", of->count, kw_human_ns(of->most_ns, text, sizeof(text)));
	else if (of && of->count > 1)
		kw_buf_printf(out, "<p>The longest of %zu launches.</p>\n", of->count);
	kw_buf_addz(out, "<p class=\"v\">");
	escaped(out, e->verdict);
	kw_buf_addz(out, "</p>\n");
	facts(e->launch, out);
	if (e->resources[0]) {
		kw_buf_addz(out, "<p>");
		escaped(out, e->resources);
		kw_buf_addz(out, "</p>\n");
	}
	roofline_plot(e->launch, out);
	units(e, out);
	stalls(e->launch, out);
	kw_buf_addz(out, e->count ? "<ol>" : "");
	for (size_t k = 0; k < e->count; k++)
		finding(&e->findings[k], e->launch, out);
	kw_buf_addz(out, e->count ? "</ol>" : "");
	missing(e->launch, out);
	kw_buf_addz(out, "</section>\n");
}

/* A name of a row: whole where it is short, else its begin; the whole stands at its own place, and in the JSON. */
static void cut(struct kw_buf *out, const char *name)
{
	char begin[NAME_BYTES + 1];
	size_t n = strnlen(name, NAME_BYTES + 1);

	if (n <= NAME_BYTES) {
		escaped(out, name);
		return;
	}
	for (n = NAME_BYTES; n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80;)
		n--;
	memcpy(begin, name, n);
	begin[n] = '\0';
	escaped(out, begin);
	kw_buf_addz(out, "&hellip;");
}

static void cell_ns(struct kw_buf *out, double ns)
{
	char text[64];

	kw_buf_printf(out, "<td class=\"n\">%s</td>", isnan(ns) ? "" : kw_human_ns(ns, text, sizeof(text)));
}

/* Of many launches: a table of the kernels, and one launch of each. */
static void groups(const struct kw_explained_input *in, const struct kw_explained_group *list, size_t n, struct kw_buf *out)
{
	kw_buf_printf(out, "<div class=\"w\"><table><caption>%zu launches of %zu kernel%s</caption><tr><th>kernel</th><th>blocks</th><th>launches</th><th>time</th>"
			   "<th>least</th><th>most</th><th>limit</th></tr>\n",
		      in->launches.count, n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n && i < MAX_KERNELS; i++) {
		const struct kw_explained *e = &in->explained[list[i].shown];

		kw_buf_addz(out, "<tr><td>");
		cut(out, e->launch->kernel);
		if (kw_launch_has(e->launch, KW_M_GRID))
			kw_buf_printf(out, "</td><td class=\"n\">%.0f</td>", e->launch->value[KW_M_GRID]);
		else
			kw_buf_addz(out, "</td><td></td>");
		kw_buf_printf(out, "<td class=\"n\">%zu</td>", list[i].count);
		cell_ns(out, list[i].total_ns);
		cell_ns(out, list[i].least_ns);
		cell_ns(out, list[i].most_ns);
		kw_buf_printf(out, "<td>%s</td></tr>\n", e->bottleneck);
	}
	kw_buf_addz(out, "</table></div>\n");
	if (n > MAX_KERNELS)
		kw_buf_printf(out, "<p>and %zu more; --json has all</p>\n", n - MAX_KERNELS);
	for (size_t i = 0; i < n && i < MAX_LAUNCHES; i++)
		launch(&in->explained[list[i].shown], &list[i], out);
	if (n > MAX_LAUNCHES)
		kw_buf_printf(out, "<p>%zu kernels that take less time are in the table only.</p>\n", n - MAX_LAUNCHES);
}

static void outcomes(const struct kw_launches *l, struct kw_buf *out)
{
	for (size_t i = 0; i < l->outcome_count; i++)
		kw_buf_printf(out, "%s%s", i ? ", " : "<p><b>No data:</b> ", kw_outcome_name(l->outcomes[i]));
	if (l->outcome_count)
		kw_buf_addz(out, " (not zeros; until it is measured, use times and static facts)</p>\n");
}

static void notes(const struct kw_launches *l, struct kw_buf *out)
{
	kw_buf_addz(out, l->note_count ? "<h3>Notes</h3><ul>" : "");
	for (size_t i = 0; i < l->note_count; i++) {
		kw_buf_addz(out, "<li>");
		if (l->notes[i].line)
			kw_buf_printf(out, "line %d: ", l->notes[i].line);
		escaped(out, l->notes[i].text);
		if (l->notes[i].count > 1)
			kw_buf_printf(out, " (%d times)", l->notes[i].count);
		kw_buf_addz(out, "</li>\n");
	}
	kw_buf_addz(out, l->note_count ? "</ul>\n" : "");
}

static void falls_short(const struct kw_explanation *x, struct kw_buf *out)
{
	if (!x->falls_short_count)
		return;
	kw_buf_addz(out, "<h2>Where it falls short of the best baseline</h2>\n<div class=\"w\"><table><tr><th>case</th><th>time</th><th>baseline</th><th>its time</th>"
			 "<th>why</th><th>what is missing</th></tr>\n");
	for (size_t i = 0; i < x->falls_short_count; i++) {
		const struct kw_falls_short *f = &x->falls_short[i];

		kw_buf_addz(out, "<tr><td>");
		escaped(out, f->label);
		kw_buf_addz(out, "</td>");
		cell_ns(out, f->ns);
		kw_buf_addz(out, "<td>");
		escaped(out, f->baseline);
		kw_buf_addz(out, "</td>");
		cell_ns(out, f->baseline_ns);
		kw_buf_addz(out, "<td>");
		escaped(out, f->evidence[0] ? f->evidence : "no finding says why, a profile would");
		kw_buf_addz(out, "</td><td>");
		escaped(out, f->missing);
		kw_buf_addz(out, "</td></tr>\n");
	}
	kw_buf_addz(out, "</table></div>\n");
}

static bool input(const struct kw_explained_input *in, struct kw_arena *a, struct kw_buf *out)
{
	struct kw_explained_group *list;
	size_t n, count = in->launches.count;

	kw_buf_addz(out, "<h1>");
	escaped(out, in->file);
	kw_buf_addz(out, "</h1>\n<p>");
	escaped(out, kw_input_name(in->kind));
	if (in->launches.form[0] && strcmp(in->launches.form, kw_input_name(in->kind)) != 0) {
		kw_buf_addz(out, ": ");
		escaped(out, in->launches.form);
	}
	kw_buf_addz(out, "</p>\n");
	outcomes(&in->launches, out);
	if (count != 1) {
		kw_buf_addz(out, "<p class=\"v\">");
		escaped(out, in->verdict);
		kw_buf_addz(out, "</p>\n");
	}
	for (size_t i = 0; i < in->message_count; i++) {
		kw_buf_printf(out, "<p>Line %d%s: <code>", in->messages[i].line, in->messages[i].count > 1 ? " (and again)" : "");
		escaped(out, in->messages[i].text);
		kw_buf_addz(out, "</code></p>\n<ul>");
		finding(&in->messages[i].finding, NULL, out);
		kw_buf_addz(out, "</ul>\n");
	}
	if (count > TOLD_ONE_BY_ONE) {
		if (!kw_explain_groups(in, a, &list, &n))
			return false;
		groups(in, list, n, out);
	}
	for (size_t i = 0; i < count && count <= TOLD_ONE_BY_ONE; i++)
		launch(&in->explained[i], NULL, out);
	notes(&in->launches, out);
	return true;
}

static const char style[] =
	":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:820px;margin:2em auto;padding:0 1em;overflow-wrap:anywhere}"
	"h1{font-size:1.5em}h2{font-size:1.15em}h3{font-size:1.05em}h4{margin:.8em 0 .3em}"
	"svg{width:100%;font:12px system-ui,sans-serif}svg text{fill:currentColor}"
	".b{fill:#4477aa}.t{fill:currentColor;opacity:.08}.r{fill:none;stroke:currentColor;stroke-width:2}.g{stroke:currentColor;opacity:.15}"
	".d{fill:#cc3311;stroke:#fff}.v{font-weight:600}section{border-top:1px solid #8888}p{margin:.3em 0}"
	"table{border-collapse:collapse;width:100%;font-size:13px;margin:1em 0}caption{text-align:left;font-weight:600}"
	"th,td{text-align:left;vertical-align:top;padding:.2em .5em;border-bottom:1px solid #8884;overflow-wrap:normal}"
	"td:first-child{overflow-wrap:anywhere;min-width:11em}.w{overflow-x:auto}.n{text-align:right;white-space:nowrap}"
	"@media print{body{max-width:none;margin:0}svg,li,tr{break-inside:avoid}h1,h2,h3,h4{break-after:avoid}}";

bool kw_report_explain_html(const struct kw_explanation *x, struct kw_buf *out)
{
	struct kw_arena a;
	bool good = true;

	kw_arena_init(&a, ARENA_BYTES);
	kw_buf_addz(out, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
			 "content=\"width=device-width\"><title>Why it is slow: ");
	escaped(out, x->count ? x->inputs[x->count - 1].file : "");
	kw_buf_printf(out, "</title><style>%s</style>\n<body>\n", style);
	if (x->compared) {
		kw_buf_addz(out, "<p>What the change did:</p>\n<p class=\"v\">");
		escaped(out, x->inputs[x->count - 1].verdict);
		kw_buf_addz(out, "</p>\n");
	}
	for (size_t i = 0; i < x->count && good; i++)
		good = input(&x->inputs[i], &a, out);
	if (x->verdict_class[0] && strcmp(x->verdict_class, "ok") != 0)
		kw_buf_printf(out, "<p class=\"v\">The candidate is not right, so it was not timed: %s</p>\n", x->verdict_class);
	falls_short(x, out);
	kw_buf_addz(out, "</body></html>\n");
	kw_arena_release(&a);
	return good && !out->full;
}
