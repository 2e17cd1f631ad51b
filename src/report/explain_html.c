/* One page: the roofline (time of the longest launch against what each unit could do), the stall reasons, the findings. */
#include <math.h>
#include <string.h>

#include "report/explain.h"

enum { WIDE = 720, ROW = 26, LEFT = 190, MAX_LAUNCHES = 20, PLOT = 320 };

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
		      "</text><rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" class=\"b\"/><text x=\"%.1f\" "
		      "y=\"%d\">%.1f%%</text>\n",
		      LEFT, row * ROW + 4, w, ROW - 8, LEFT + w + 6, row * ROW + 18, pct);
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
	kw_buf_printf(out, "<text x=\"8\" y=\"14\">share of the arithmetic's ceiling, against flops a byte</text>");
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

static void finding(const struct kw_explained_finding *f, struct kw_buf *out)
{
	kw_buf_addz(out, "<li><h4>");
	escaped(out, f->rule->title);
	kw_buf_addz(out, "</h4>\n");
	paragraph(out, "Evidence:", f->evidence);
	paragraph(out, "Where:", f->where);
	paragraph(out, "Do:", f->directive);
	if (!isnan(f->gain) && !f->rule->final)
		kw_buf_printf(out,
			      "<p><b>Gain:</b> at most %.0f%% of the time; expect %.2f to %.2f of the time now</p>\n",
			      100 * f->gain, f->factor_low, f->factor_high);
	else if (!isnan(f->bound) && !f->rule->final)
		kw_buf_printf(out, "<p><b>Gain:</b> not counted here; the roof leaves %.0f%% of the time at most</p>\n",
			      100 * f->bound);
	paragraph(out, "Check:", f->check);
	paragraph(out, "Wrong when:", f->rule->wrong_when);
	kw_buf_addz(out, "</li>\n");
}

static void input(const struct kw_explained_input *in, struct kw_buf *out)
{
	kw_buf_addz(out, "<h1>");
	escaped(out, in->file);
	kw_buf_addz(out, "</h1>\n<p class=\"v\">");
	escaped(out, in->verdict);
	kw_buf_addz(out, "</p>\n<ol>");
	for (size_t i = 0; i < in->message_count; i++)
		finding(&in->messages[i].finding, out);
	kw_buf_addz(out, "</ol>\n");
	for (size_t i = 0; i < in->launches.count && i < MAX_LAUNCHES; i++) {
		const struct kw_explained *e = &in->explained[in->order[i]];

		kw_buf_addz(out, "<section><h2>");
		escaped(out, e->launch->kernel);
		kw_buf_addz(out, "</h2>\n<p class=\"v\">");
		escaped(out, e->verdict);
		kw_buf_addz(out, "</p>\n");
		roofline_plot(e->launch, out);
		units(e, out);
		stalls(e->launch, out);
		kw_buf_addz(out, "<ol>");
		for (size_t k = 0; k < e->count; k++)
			finding(&e->findings[k], out);
		kw_buf_addz(out, "</ol></section>\n");
	}
	if (in->launches.count > MAX_LAUNCHES)
		kw_buf_printf(out, "<p>%zu shorter launches are left out.</p>\n", in->launches.count - MAX_LAUNCHES);
}

bool kw_report_explain_html(const struct kw_explanation *x, struct kw_buf *out)
{
	kw_buf_addz(out, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
			 "content=\"width=device-width\">"
			 "<title>Why it is slow</title><style>body{font:15px/1.5 "
			 "system-ui,sans-serif;max-width:820px;margin:2em auto;padding:0 1em}"
			 "svg{width:100%;font:12px "
			 "system-ui,sans-serif}.b{fill:#3568a8}.r{fill:none;stroke:#333;stroke-width:2}.g{stroke:#ddd}.d{fill:#c0392b}"
			 ".v{font-weight:600}section{border-top:1px solid #ccc}p{margin:.3em 0}</style>\n<body>\n");
	for (size_t i = 0; i < x->count; i++)
		input(&x->inputs[i], out);
	kw_buf_addz(out, "</body></html>\n");
	return !out->full;
}
