/* The details page as text: a line a launch, sections with tables, rules wrapped over lines. */
#include "profile/ncu.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* "(4, 4, 1)" at p, up to its ')'; NULL: it is none. */
static const char *after_triple(const char *p, const char *end)
{
	int numbers = 0;

	if (p >= end || *p != '(')
		return NULL;
	for (p++; p < end && *p != ')'; p++) {
		if (isdigit((unsigned char)*p))
			numbers += !isdigit((unsigned char)p[-1]);
		else if (*p != ',' && *p != ' ')
			return NULL;
	}
	return p < end && numbers >= 1 && numbers <= 3 ? p + 1 : NULL;
}

/* Where the name ends: at " (GRID)x(BLOCK)", at ", 2023-Mar-12 20:20:45", or at ", Context". */
static size_t name_end(struct kw_str line, struct kw_launch *k)
{
	const char *end = line.ptr + line.len;
	const char *context = memmem(line.ptr, line.len, ", Context ", 10), *invocations;
	size_t stop = context ? (size_t)(context - line.ptr) : line.len;

	/* A summary: how often, before where. */
	if ((invocations = memmem(line.ptr, stop, ", Invocations ", 14)) != NULL)
		stop = (size_t)(invocations - line.ptr);
	for (size_t i = stop; i-- > 0;) {
		const char *grid = line.ptr + i, *x = after_triple(grid, end), *tail;

		if (!x || *x != 'x' || !(tail = after_triple(x + 1, end)))
			continue;
		kw_ncu_triple((struct kw_str){ grid, (size_t)(x - grid) }, k->grid);
		kw_ncu_triple((struct kw_str){ x + 1, (size_t)(tail - x - 1) }, k->block);
		return i;
	}
	for (size_t i = 0; i + 6 < stop; i++)
		if (line.ptr[i] == ',' && line.ptr[i + 1] == ' ' && line.ptr[i + 2] == '2' && line.ptr[i + 3] == '0' &&
		    isdigit((unsigned char)line.ptr[i + 4]) && line.ptr[i + 6] == '-')
			return i;
	return stop;
}

static bool launch_line(struct kw_ncu *r, struct kw_str line, bool above_section)
{
	struct kw_launch shape = { .line = 0 }, *k;
	struct kw_str name;
	const char *cc = memmem(line.ptr, line.len, ", CC ", 5), *count;
	size_t n;
	double v;

	if (kw_str_holds(line, ", Context ")) {
		if (!kw_str_holds(line, "Stream ") && !kw_str_holds(line, "Device "))
			return false;
		n = name_end(line, &shape);
	} else {
		/* Summaries leave context and stream out; people leave out all but the shape, above a section. */
		if (!kw_str_holds(line, ", Device ") && !above_section)
			return false;
		n = name_end(line, &shape);
		if (!shape.block[0] || n == 0)
			return false;
	}
	name = kw_str_trim((struct kw_str){ line.ptr, n });
	k = kw_launches_add(r->out, name.len ? name : kw_str_from(r->last), r->line);
	r->now = k;
	r->mode = KW_NCU_NOTHING;
	r->in_section = r->text_summary = false;
	r->side_count = 0;
	if (!k)
		return true;
	memcpy(k->grid, shape.grid, sizeof(k->grid));
	memcpy(k->block, shape.block, sizeof(k->block));
	if (k->grid[0])
		kw_launch_set(k, KW_M_GRID, (double)k->grid[0] * (double)k->grid[1] * (double)k->grid[2]);
	if (k->block[0])
		kw_launch_set(k, KW_M_BLOCK, (double)k->block[0] * (double)k->block[1] * (double)k->block[2]);
	if (cc) {
		struct kw_str s = { cc + 5, (size_t)(line.ptr + line.len - cc - 5) }, part;

		if (kw_str_split(&s, ',', &part) && kw_number_read(part, KW_NUMBER_POINT, &v))
			kw_launch_set(k, KW_M_CC, round(v * 10));
	}
	count = memmem(line.ptr, line.len, "Invocations ", 12);
	if (count) {
		struct kw_str s = { count + 12, (size_t)(line.ptr + line.len - count - 12) }, part;

		if (kw_str_split(&s, ',', &part) && kw_number_read(part, KW_NUMBER_POINT, &v))
			kw_launch_set(k, KW_M_INVOCATIONS, v);
	}
	r->out->form = "Nsight Compute details page, text";
	return true;
}

/* ---- tables ---- */

enum { MAX_CHUNKS = KW_NCU_SIDE + 2 };

/* Parts that two blanks or more (or a tab) divide. */
static size_t chunks_of(struct kw_str line, struct kw_str out[MAX_CHUNKS])
{
	size_t n = 0, i = 0;

	line = kw_str_trim(line);
	while (i < line.len && n < MAX_CHUNKS) {
		size_t start = i;

		while (i < line.len && line.ptr[i] != '\t' &&
		       !(line.ptr[i] == ' ' && i + 1 < line.len && line.ptr[i + 1] == ' '))
			i++;
		out[n++] = (struct kw_str){ line.ptr + start, i - start };
		while (i < line.len && (line.ptr[i] == ' ' || line.ptr[i] == '\t'))
			i++;
	}
	return n;
}

/* "% 95.02": the unit and the value when one blank is between them. */
static bool unit_and_value(struct kw_str s, struct kw_str *unit, struct kw_str *value)
{
	const char *blank = memchr(s.ptr, ' ', s.len);
	struct kw_str first;
	enum kw_quantity dim;
	double scale;

	if (!blank || blank == s.ptr)
		return false;
	/* "1 234,5" is a number with a blank in it. */
	first = (struct kw_str){ s.ptr, (size_t)(blank - s.ptr) };
	if (!kw_unit_find(first, &dim, &scale))
		return false;
	*unit = first;
	*value = kw_str_trim((struct kw_str){ blank, (size_t)(s.ptr + s.len - blank) });
	return true;
}

/* "Memory Throughput % 95.02" with single blanks: the name is what a metric is called. */
static bool single_blanks(struct kw_str s, struct kw_str *name, struct kw_str *unit, struct kw_str *value)
{
	const char *last = memrchr(s.ptr, ' ', s.len), *before;
	enum kw_quantity dim;
	double scale;

	if (!last)
		return false;
	*value = (struct kw_str){ last + 1, (size_t)(s.ptr + s.len - last - 1) };
	*name = kw_str_trim((struct kw_str){ s.ptr, (size_t)(last - s.ptr) });
	*unit = (struct kw_str){ "", 0 };
	if (kw_metric_find(*name, KW_QUANTITY_COUNT) >= 0)
		return true;
	before = memrchr(name->ptr, ' ', name->len);
	if (!before)
		return false;
	*unit = (struct kw_str){ before + 1, (size_t)(name->ptr + name->len - before - 1) };
	*name = kw_str_trim((struct kw_str){ name->ptr, (size_t)(before - name->ptr) });
	return kw_unit_find(*unit, &dim, &scale) && kw_metric_find(*name, dim) >= 0;
}

/* "Memory Throughput Gbyte/second     93.57": a unit as wide as its column. */
static void unit_behind(struct kw_str *name, struct kw_str *unit)
{
	const char *blank = memrchr(name->ptr, ' ', name->len);
	struct kw_str last, rest;
	enum kw_quantity dim;
	double scale;

	if (!blank || kw_metric_find(*name, KW_QUANTITY_COUNT) >= 0)
		return;
	last = (struct kw_str){ blank + 1, (size_t)(name->ptr + name->len - blank - 1) };
	rest = kw_str_trim((struct kw_str){ name->ptr, (size_t)(blank - name->ptr) });
	if (!kw_unit_find(last, &dim, &scale) || kw_metric_find(rest, dim) < 0)
		return;
	*name = rest;
	*unit = last;
}

/* "DRAM Throughput   %   67.8   46.0": a value for each kernel; the unit may be left out. */
static void side_row(struct kw_ncu *r, const struct kw_str *part, size_t n)
{
	bool unit = n == r->side_count + 2;

	if (!unit && n != r->side_count + 1)
		return;
	for (size_t i = 0; i < r->side_count; i++)
		kw_ncu_value(r, r->side[i], part[0], unit ? part[1] : KW_STR(""), part[i + 1 + unit]);
}

/* "Metric Name | Metric Unit | kernel a | kernel b", a comparison by hand: a launch a column, the same in all tables that name them. False: another
 * row of column names. */
static bool side_header(struct kw_ncu *r, struct kw_str line)
{
	struct kw_str part[MAX_CHUNKS];
	size_t n = chunks_of(line, part);

	if (n < 4 || !kw_str_eqz(part[0], "Metric Name") || !kw_str_eqz(part[1], "Metric Unit") || kw_str_holds(line, "Average") || kw_str_holds(line, "Metric Value"))
		return false;
	r->side_count = 0;
	for (size_t i = 2; i < n; i++) {
		struct kw_launch *k = NULL;

		for (size_t l = r->first; l < r->out->count && !k; l++)
			if (kw_str_eqz(part[i], r->out->list[l]->kernel))
				k = r->out->list[l];
		if (!k)
			k = kw_launches_add(r->out, part[i], r->line);
		if (!k)
			return true;
		r->side[r->side_count++] = k;
	}
	r->now = r->side[0];
	r->out->form = "Nsight Compute details page, kernels side by side";
	return true;
}

static void table_row(struct kw_ncu *r, struct kw_str line)
{
	struct kw_str part[MAX_CHUNKS], name, unit = { "", 0 }, value;
	size_t n = chunks_of(line, part);

	if (r->side_count) {
		side_row(r, part, n);
		return;
	}
	if (n >= 3 && r->text_summary) {
		double v;

		name = part[0];
		value = part[n - 1];
		if (!kw_number_read(part[1], r->style, &v))
			unit = part[1];
	} else if (n >= 3) {
		name = part[0];
		unit = part[1];
		value = part[2];
	} else if (n == 2) {
		name = part[0];
		value = part[1];
		if (!kw_str_starts(value, "(!)") && !unit_and_value(part[1], &unit, &value))
			unit_behind(&name, &unit);
	} else if (n != 1 || !single_blanks(part[0], &name, &unit, &value)) {
		return;
	}
	kw_ncu_value(r, r->now, name, unit, value);
}

/* ---- rules ---- */

void kw_ncu_text_end_rule(struct kw_ncu *r)
{
	static const char *const words[] = { "Est. Speedup: ", "Est. Local Speedup: ", "Estimated Speedup: " };
	const char *kind = "";
	double v = NAN;

	if (!r->rule.len)
		return;
	for (size_t i = 0; i < 3; i++) {
		const char *at = strstr(r->rule.ptr, words[i]);
		struct kw_str s;

		if (!at)
			continue;
		s = kw_str_from(at + strlen(words[i]));
		s.len = strcspn(s.ptr, "% ");
		kind = i == 1 ? "local" : "global";
		if (!kw_number_read(s, r->style, &v))
			v = NAN;
	}
	if (r->now)
		kw_ncu_said(r->now, KW_STR(""), kw_str_from(r->rule_type), kw_buf_str(&r->rule), kw_str_from(kind), v);
	kw_buf_reset(&r->rule);
}

/* "OPT   Est. Speedup: 50%": the beginning of a rule's text. */
static bool rule_line(struct kw_ncu *r, struct kw_str bare)
{
	static const char *const types[] = { "OPT ", "INF ", "WRN ", "ERR ", "SOL ", "OK  " };

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct kw_str part[MAX_CHUNKS];

		if (!kw_str_starts(bare, types[i]))
			continue;
		/* "SOL DRAM   %   85.34" is a metric of 2020. */
		if (chunks_of(bare, part) >= 2 && kw_metric_find(part[0], KW_QUANTITY_PCT) >= 0)
			return false;
		kw_ncu_text_end_rule(r);
		snprintf(r->rule_type, sizeof(r->rule_type), "%.3s", types[i]);
		bare = kw_str_trim((struct kw_str){ bare.ptr + 4, bare.len - 4 });
		kw_buf_add(&r->rule, bare.ptr, bare.len);
		return true;
	}
	return false;
}

static bool only_dashes(struct kw_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] != '-' && s.ptr[i] != ' ' && s.ptr[i] != ':')
			return false;
	return s.len > 0;
}

/* "| Duration | us | 120.5 |", as people paste tables: the same with blanks. out is as long as the line is at most. */
static struct kw_str without_bars(struct kw_str bare, char *out, size_t out_bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bare.len && n + 2 < out_bytes; i++) {
		out[n++] = bare.ptr[i] == '|' ? ' ' : bare.ptr[i];
		if (bare.ptr[i] == '|')
			out[n++] = ' ';
	}
	return (struct kw_str){ out, n };
}

void kw_ncu_text_line(struct kw_ncu *r, struct kw_str line)
{
	struct kw_str bare = kw_str_trim(line);
	char bars[512], last[sizeof(r->last)];

	if (bare.len > 2 && *bare.ptr == '|' && bare.ptr[bare.len - 1] == '|') {
		line = without_bars(bare, bars, sizeof(bars));
		bare = kw_str_trim(line);
		if (r->mode == KW_NCU_NOTHING && side_header(r, bare))
			return;
		if (!r->now && r->mode == KW_NCU_NOTHING && kw_str_starts(bare, "Metric Name") && (r->now = kw_launches_add(r->out, KW_STR(""), r->line)))
			r->out->form = "Nsight Compute details page, text";
	}
	if (launch_line(r, bare, false))
		return;
	memcpy(last, r->last, sizeof(last));
	snprintf(r->last, sizeof(r->last), "%.*s", (int)(bare.len < sizeof(r->last) ? bare.len : 0), bare.ptr);
	if (kw_str_starts(bare, "Section: "))
		launch_line(r, kw_str_from(last), true);
	/* A notebook that shows the sections alone. */
	if (!r->now && r->mode == KW_NCU_NOTHING && kw_str_starts(bare, "Section: ")) {
		r->now = kw_launches_add(r->out, KW_STR(""), r->line);
		r->out->form = "Nsight Compute details page, text";
	}
	if (!r->now)
		return;
	if (kw_str_starts(bare, "Section: ")) {
		kw_ncu_text_end_rule(r);
		r->in_section = true;
		r->text_summary = false;
		return;
	}
	if (only_dashes(bare)) {
		kw_ncu_text_end_rule(r);
		return;
	}
	if (rule_line(r, bare))
		return;
	if (r->rule.len) {
		kw_buf_addc(&r->rule, ' ');
		kw_buf_add(&r->rule, bare.ptr, bare.len);
		return;
	}
	if (kw_str_starts(bare, "Metric Name")) {
		r->text_summary = kw_str_holds(bare, "Average");
		return;
	}
	/* What the program printed between two launches is not indented. */
	if (r->mode == KW_NCU_NOTHING && (r->in_section || line.ptr[0] == ' ' || line.ptr[0] == '\t'))
		table_row(r, line);
}
