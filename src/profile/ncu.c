#include "profile/ncu.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_RECORD = 256 << 10 };

/* Names of columns, in any order; "|" between what versions call them. */
static const char *const columns[KW_NCU_COLUMNS] = {
	[KW_NCU_ID] = "ID",
	[KW_NCU_PID] = "Process ID",
	[KW_NCU_KERNEL] = "Kernel Name|Function Name|Demangled Name",
	[KW_NCU_TIME] = "Kernel Time",
	[KW_NCU_CONTEXT] = "Context",
	[KW_NCU_STREAM] = "Stream",
	[KW_NCU_BLOCK] = "Block Size",
	[KW_NCU_GRID] = "Grid Size",
	[KW_NCU_CC] = "CC",
	[KW_NCU_SECTION] = "Section Name",
	[KW_NCU_METRIC] = "Metric Name",
	[KW_NCU_UNIT] = "Metric Unit",
	[KW_NCU_VALUE] = "Metric Value",
	[KW_NCU_RULE] = "Rule Name",
	[KW_NCU_RULE_TYPE] = "Rule Type",
	[KW_NCU_RULE_TEXT] = "Rule Description",
	[KW_NCU_EST_TYPE] = "Estimated Speedup Type",
	[KW_NCU_EST] = "Estimated Speedup",
	[KW_NCU_INVOCATIONS] = "Invocations",
	[KW_NCU_MIN] = "Minimum",
	[KW_NCU_MAX] = "Maximum",
	[KW_NCU_AVERAGE] = "Average",
};

void kw_ncu_init(struct kw_ncu *r, struct kw_launches *out, enum kw_number_style style)
{
	*r = (struct kw_ncu){ .out = out, .style = style };
	kw_csv_init(&r->csv, ',');
	kw_buf_init(&r->rule, 8192);
	kw_buf_init(&r->pending, MAX_RECORD);
}

static bool same(struct kw_str s, const char *word)
{
	return s.len == strlen(word) && strncasecmp(s.ptr, word, s.len) == 0;
}

bool kw_ncu_triple(struct kw_str s, int64_t out[3])
{
	int64_t v[3] = { 0, 1, 1 };
	size_t i = 0, n = 0;

	while (i < s.len && n < 3) {
		int64_t one = 0;

		if (!isdigit((unsigned char)s.ptr[i])) {
			i++;
			continue;
		}
		while (i < s.len && isdigit((unsigned char)s.ptr[i]) && one < INT64_MAX / 10 - 10)
			one = one * 10 + (s.ptr[i++] - '0');
		v[n++] = one;
		while (i < s.len && isdigit((unsigned char)s.ptr[i]))
			i++;
	}
	if (n == 0 || v[0] <= 0 || v[1] <= 0 || v[2] <= 0)
		return false;
	memcpy(out, v, sizeof(v));
	return true;
}

/* ---- a value ---- */

/* The matrix units have a counter for each type, under names that change with the architecture: sm__inst_executed_pipe_tensor_op_gmma, … */
static int tensor_part(struct kw_str name)
{
	const char *at = memmem(name.ptr, name.len, "pipe_tensor", 11);

	if (name.len < 12 || name.ptr[0] != 's' || name.ptr[1] != 'm' || !(at || kw_str_holds(name, "pipe_uniform_tensor")))
		return -1;
	if (kw_str_holds(name, ".avg.pct_of_peak_sustained_active") || kw_str_holds(name, ".max.pct_of_peak_sustained_active"))
		return KW_M_TENSOR_PART_PCT;
	if (kw_str_holds(name, ".avg.pct_of_peak_sustained_elapsed"))
		return KW_M_TENSOR_ELAPSED_PCT;
	return kw_str_holds(name, "inst_executed_pipe_") && name.len > 4 && memcmp(name.ptr + name.len - 4, ".sum", 4) == 0 ? KW_M_TENSOR_INST : -1;
}

/* sm__X and smsp__X count the same; the largest of all units stands for the mean where that was not asked for. */
static int find_form(struct kw_str name, enum kw_quantity dim)
{
	char text[200];
	const char *max = memmem(name.ptr, name.len, ".max.pct_of_peak", 16);
	int m = -1;

	if (name.len >= sizeof(text) - 4)
		return -1;
	if (name.len > 6 && memcmp(name.ptr, "sm__", 4) == 0)
		m = kw_metric_find((struct kw_str){ text, (size_t)snprintf(text, sizeof(text), "smsp__%.*s",
									   (int)name.len - 4, name.ptr + 4) },
				   dim);
	else if (name.len > 6 && memcmp(name.ptr, "smsp__", 6) == 0)
		m = kw_metric_find((struct kw_str){ text, (size_t)snprintf(text, sizeof(text), "sm__%.*s",
									   (int)name.len - 6, name.ptr + 6) },
				   dim);
	if (m < 0 && max)
		m = kw_metric_find(
			(struct kw_str){ text,
					 (size_t)snprintf(text, sizeof(text), "%.*s.avg%.*s", (int)(max - name.ptr),
							  name.ptr, (int)(name.ptr + name.len - max - 4), max + 4) },
			dim);
	return m >= 0 ? m : tensor_part(name);
}

/* "Stall Long Scoreboard" and "Stall: Long Scoreboard" are one name. */
static int find_metric(struct kw_str name, enum kw_quantity dim)
{
	char text[96];
	size_t n = 0;
	int m = kw_metric_find(name, dim);

	if (m < 0)
		m = find_form(name, dim);
	if (m >= 0 || name.len < 7 || name.len >= sizeof(text) || strncasecmp(name.ptr, "stall ", 6) != 0)
		return m;
	for (size_t i = 0; i < name.len; i++)
		text[n++] = i > 5 && name.ptr[i] == ' ' ? '_' : name.ptr[i];
	return kw_metric_find((struct kw_str){ text, n }, dim);
}

static const struct {
	const char *name;
} device_names[] = { { "device__attribute_display_name" }, { "Device Name" } };

static bool is_device_name(struct kw_str name)
{
	for (size_t i = 0; i < sizeof(device_names) / sizeof(device_names[0]); i++)
		if (same(name, device_names[i].name))
			return true;
	return false;
}

/* A value of any metric, ours or not. A missing one is remembered as asked for in vain. */
void kw_ncu_value(struct kw_ncu *r, struct kw_launch *k, struct kw_str name, struct kw_str unit, struct kw_str value)
{
	enum kw_quantity dim;
	double scale, v;
	int m;
	bool known = kw_unit_find(unit, &dim, &scale);

	if (!k || name.len == 0)
		return;
	if (is_device_name(name)) {
		k->device = kw_launches_intern(r->out, value);
		return;
	}
	if (!kw_number_read(value, r->style, &v)) {
		if (kw_number_is_missing(value) && value.len)
			kw_launch_unknown(k, name);
		else if (find_metric(name, KW_QUANTITY_COUNT) >= 0 && value.len)
			kw_launches_note(r->out, r->line,
					 "'" KW_STR_FMT "' of " KW_STR_FMT " is no number; it is taken as missing",
					 (int)(value.len < 40 ? value.len : 40), value.ptr,
					 (int)(name.len < 80 ? name.len : 80), name.ptr);
		return;
	}
	if (!known) {
		kw_launches_note(r->out, r->line,
				 "unit '" KW_STR_FMT "' is not known; values in it are taken as missing",
				 (int)(unit.len < 40 ? unit.len : 40), unit.ptr);
		return;
	}
	m = find_metric(name, dim);
	if (m >= 0)
		kw_launch_set_as(k, m, name, v * scale);
}

/* ---- the header ---- */

/* Strips the unit of "Duration [us]"; false when there is none. */
static bool bracket_unit(struct kw_str *name, struct kw_str *unit)
{
	const char *open = name->len > 3 && name->ptr[name->len - 1] == ']' ? memrchr(name->ptr, '[', name->len) : NULL;

	if (!open || open == name->ptr || same(*name, "Memory [%]") || same(*name, "Compute (SM) [%]") ||
	    same(*name, "SM [%]"))
		return false;
	*unit = (struct kw_str){ open + 1, (size_t)(name->ptr + name->len - open - 2) };
	*name = kw_str_trim((struct kw_str){ name->ptr, (size_t)(open - name->ptr) });
	return true;
}

static void wide_column(struct kw_ncu *r, size_t i, struct kw_str name)
{
	struct kw_ncu_wide *w = &r->wide[i];
	struct kw_str unit = { "", 0 };
	enum kw_quantity dim = KW_QUANTITY_COUNT;
	bool with_unit;

	w->metric = -1;
	w->scale = 1;
	w->device_name = is_device_name(name);
	w->name = "";
	for (int c = 0; c < KW_NCU_COLUMNS; c++)
		if (r->column[c] == (int)i)
			return;
	with_unit = bracket_unit(&name, &unit);
	w->name = kw_launches_intern(r->out, name);
	if (with_unit && !kw_unit_find(unit, &dim, &w->scale))
		kw_launches_note(r->out, r->line,
				 "unit '" KW_STR_FMT "' is not known; values in it are taken as missing",
				 KW_STR_ARG(unit));
	w->metric = find_metric(name, dim);
}

static const char *mode_form(const struct kw_ncu *r)
{
	if (r->mode == KW_NCU_LONG)
		return kw_arena_printf(r->out->arena, "Nsight Compute CSV, a row a metric, %zu columns",
				       r->header_count);
	return r->mode == KW_NCU_WIDE ? "Nsight Compute CSV, raw page: a row a launch" : "Nsight Compute CSV, summary";
}

static void set_columns(struct kw_ncu *r)
{
	for (int c = 0; c < KW_NCU_COLUMNS; c++) {
		struct kw_str rest = kw_str_from(columns[c]), word;

		r->column[c] = -1;
		while (r->column[c] < 0 && kw_str_split(&rest, '|', &word))
			for (size_t i = 0; i < r->csv.count && r->column[c] < 0; i++) {
				struct kw_str f = kw_str_trim(r->csv.field[i]);

				if (f.len == word.len && strncasecmp(f.ptr, word.ptr, f.len) == 0)
					r->column[c] = (int)i;
			}
	}
}

/* A field of the header is a raw metric: a page that leaves the kernel's name out. */
static bool knows_metric(const struct kw_ncu *r)
{
	double v;

	/* A row of the long form holds a metric's name too, but has as many fields as its header, or a number. */
	if (r->mode == KW_NCU_LONG && r->csv.count == r->header_count)
		return false;
	for (size_t i = 0; i < r->csv.count; i++)
		if (kw_number_read(r->csv.field[i], r->style, &v))
			return false;
	for (size_t i = 0; i < r->csv.count; i++)
		if (memmem(r->csv.field[i].ptr, r->csv.field[i].len, "__", 2) &&
		    find_metric(kw_str_trim(r->csv.field[i]), KW_QUANTITY_COUNT) >= 0)
			return true;
	return false;
}

/* Takes a line as header when it is one. */
static bool header(struct kw_ncu *r, struct kw_str line)
{
	static const char *const marks[] = { "Kernel Name", "Metric Name", "Function Name", "Demangled Name",
					     "\"gpu__",	    "\"sm__",	   "\"dram__",	    "\"launch__",
					     ",gpu__",	    ",sm__",	   ",dram__",	    ",launch__" };
	static const char separators[] = { ',', ';', '\t' };
	bool may = false;
	char separator = r->csv.separator;
	int column[KW_NCU_COLUMNS];

	/* Rows begin with an ID, and there are many of them. */
	if (line.len > 1 && isdigit((unsigned char)line.ptr[*line.ptr == '"']))
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		may = may || kw_str_holds(line, marks[i]);
	if (!may)
		return false;
	memcpy(column, r->column, sizeof(column));
	for (size_t s = 0; s < 3; s++) {
		const int *c = r->column;

		r->csv.separator = separators[s];
		if (!kw_csv_split(&r->csv, line) || r->csv.count < 3)
			continue;
		set_columns(r);
		if (c[KW_NCU_METRIC] >= 0 && c[KW_NCU_AVERAGE] >= 0)
			r->mode = KW_NCU_SUMMARY;
		else if (c[KW_NCU_METRIC] >= 0 && c[KW_NCU_VALUE] >= 0)
			r->mode = KW_NCU_LONG;
		else if (c[KW_NCU_METRIC] < 0 && c[KW_NCU_VALUE] < 0 && (c[KW_NCU_KERNEL] >= 0 || knows_metric(r)))
			r->mode = KW_NCU_WIDE;
		else
			continue;
		r->header_count = r->csv.count;
		r->wide_units = 0;
		r->wide_chosen = false;
		if (r->mode == KW_NCU_WIDE) {
			/* In this form these are metrics and not what the launch looked like. */
			r->column[KW_NCU_EST] = r->column[KW_NCU_RULE] = -1;
			r->wide = kw_arena_calloc(r->out->arena, r->csv.count, sizeof(*r->wide));
			for (size_t i = 0; r->wide && i < r->csv.count; i++)
				wide_column(r, i, kw_str_trim(r->csv.field[i]));
			if (!r->wide)
				r->mode = KW_NCU_NOTHING;
		}
		r->first = r->out->count;
		r->now = NULL;
		r->out->form = mode_form(r);
		return true;
	}
	/* No header after all: what the last one said still holds. */
	r->csv.separator = separator;
	memcpy(r->column, column, sizeof(column));
	return false;
}

/* ---- rows ---- */

static struct kw_str field(const struct kw_ncu *r, enum kw_ncu_column c)
{
	if (r->column[c] < 0 || (size_t)r->column[c] >= r->csv.count)
		return (struct kw_str){ "", 0 };
	return kw_str_trim(r->csv.field[r->column[c]]);
}

static bool is_key(const struct kw_ncu *r, size_t i, struct kw_str pid, struct kw_str id, struct kw_str kernel)
{
	return kw_str_eqz(id, r->ids[i]) && kw_str_eqz(pid, r->pids[i]) &&
	       kw_str_eqz(kernel, r->out->list[i]->kernel);
}

enum { SLOTS = 16384 };

static uint32_t slot_of(struct kw_str pid, struct kw_str id, struct kw_str kernel)
{
	const struct kw_str parts[] = { pid, id, kernel };
	uint32_t h = 2166136261u;

	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < parts[k].len; i++)
			h = (h ^ (unsigned char)parts[k].ptr[i]) * 16777619u;
	return h % SLOTS;
}

static void keep_key(struct kw_ncu *r, size_t i, struct kw_str pid, struct kw_str id)
{
	if (i >= r->keys_cap) {
		size_t cap = r->keys_cap ? r->keys_cap * 2 : 64;
		const char **pids, **ids;

		while (cap <= i)
			cap *= 2;
		pids = kw_arena_calloc(r->out->arena, cap, sizeof(*pids));
		ids = kw_arena_calloc(r->out->arena, cap, sizeof(*ids));
		if (!pids || !ids) {
			r->out->full = true;
			return;
		}
		if (r->keys_cap) {
			memcpy(pids, r->pids, r->keys_cap * sizeof(*pids));
			memcpy(ids, r->ids, r->keys_cap * sizeof(*ids));
		}
		for (size_t k = r->keys_cap; k < cap; k++)
			pids[k] = ids[k] = "";
		r->pids = pids;
		r->ids = ids;
		r->keys_cap = cap;
	}
	r->pids[i] = kw_launches_intern(r->out, pid);
	r->ids[i] = kw_arena_str(r->out->arena, id);
	if (!r->ids[i])
		r->ids[i] = "";
}

static void describe(struct kw_ncu *r, struct kw_launch *k)
{
	struct kw_str cc = field(r, KW_NCU_CC);
	double v;

	if (kw_ncu_triple(field(r, KW_NCU_GRID), k->grid))
		kw_launch_set(k, KW_M_GRID, (double)k->grid[0] * (double)k->grid[1] * (double)k->grid[2]);
	if (kw_ncu_triple(field(r, KW_NCU_BLOCK), k->block))
		kw_launch_set(k, KW_M_BLOCK, (double)k->block[0] * (double)k->block[1] * (double)k->block[2]);
	if (kw_number_read(cc, memchr(cc.ptr, ',', cc.len) ? KW_NUMBER_COMMA : KW_NUMBER_POINT, &v))
		kw_launch_set(k, KW_M_CC, round(v * 10));
}

/* The launch that a row is about: the last one, the one behind it (rows sorted by metric), any, or a new one. */
static struct kw_launch *launch_of(struct kw_ncu *r)
{
	struct kw_str id = field(r, KW_NCU_ID), pid = field(r, KW_NCU_PID), kernel = field(r, KW_NCU_KERNEL);
	size_t n = r->out->count < r->keys_cap ? r->out->count : r->keys_cap;
	uint32_t *hint;

	if (id.len == 0)
		id = field(r, KW_NCU_TIME);
	if (r->now && r->now_index < n && is_key(r, r->now_index, pid, id, kernel))
		return r->now;
	for (size_t i = r->now ? r->now_index + 1 : r->first; i < n && i < r->now_index + 2; i++)
		if (is_key(r, i, pid, id, kernel)) {
			r->now_index = i;
			return r->now = r->out->list[i];
		}
	if (!r->slots)
		r->slots = kw_arena_calloc(r->out->arena, SLOTS, sizeof(*r->slots));
	hint = r->slots ? &r->slots[slot_of(pid, id, kernel)] : NULL;
	if (hint && *hint > r->first && *hint <= n && is_key(r, *hint - 1, pid, id, kernel)) {
		r->now_index = *hint - 1;
		return r->now = r->out->list[r->now_index];
	}
	for (size_t i = n; i-- > r->first;)
		if (is_key(r, i, pid, id, kernel)) {
			r->now_index = i;
			return r->now = r->out->list[i];
		}
	r->now = kw_launches_add(r->out, kernel, r->line);
	if (!r->now)
		return NULL;
	r->now_index = r->out->count - 1;
	if (hint)
		*hint = (uint32_t)r->out->count;
	keep_key(r, r->now_index, pid, id);
	if (r->now_index < r->keys_cap)
		r->now->id = r->ids[r->now_index];
	describe(r, r->now);
	return r->now;
}

static void long_row(struct kw_ncu *r)
{
	struct kw_launch *k = launch_of(r);
	struct kw_str rule = field(r, KW_NCU_RULE), text = field(r, KW_NCU_RULE_TEXT);
	double v = NAN;

	if (!k)
		return;
	if (rule.len || text.len) {
		if (!kw_number_read(field(r, KW_NCU_EST), r->style, &v))
			v = NAN;
		kw_ncu_said(k, rule, field(r, KW_NCU_RULE_TYPE), text, field(r, KW_NCU_EST_TYPE), v);
	}
	kw_ncu_value(r, k, field(r, KW_NCU_METRIC), field(r, KW_NCU_UNIT), field(r, KW_NCU_VALUE));
}

static void summary_row(struct kw_ncu *r)
{
	struct kw_launch *k = launch_of(r);
	double v;

	if (!k)
		return;
	if (kw_number_read(field(r, KW_NCU_INVOCATIONS), r->style, &v))
		kw_launch_set(k, KW_M_INVOCATIONS, v);
	kw_ncu_value(r, k, field(r, KW_NCU_METRIC), field(r, KW_NCU_UNIT), field(r, KW_NCU_AVERAGE));
}

/* The row below the header, which has no ID: units. */
static void unit_row(struct kw_ncu *r)
{
	for (size_t i = 0; i < r->csv.count && i < r->header_count; i++) {
		struct kw_str unit = kw_str_trim(r->csv.field[i]);
		struct kw_ncu_wide *w = &r->wide[i];
		enum kw_quantity dim;

		if (unit.len == 0 || !w->name[0])
			continue;
		if (!kw_unit_find(unit, &dim, &w->scale)) {
			if (w->metric >= 0)
				kw_launches_note(r->out, r->line,
						 "unit '" KW_STR_FMT
						 "' is not known; values in it are taken as missing",
						 (int)(unit.len < 40 ? unit.len : 40), unit.ptr);
			w->metric = -1;
			continue;
		}
		w->metric = find_metric(kw_str_from(w->name), dim);
	}
	r->wide_units = 1;
}

/* A raw page has several columns that come near to a metric (shares of elapsed and of active cycles, of accesses and of requests): the one
 * that says it best is read, wherever it stands. */
static void choose_columns(struct kw_ncu *r)
{
	int best[KW_M_COUNT], rank[KW_M_COUNT];

	r->wide_chosen = true;
	for (int m = 0; m < KW_M_COUNT; m++)
		best[m] = -1;
	for (size_t i = 0; i < r->header_count; i++) {
		int m = r->wide[i].metric, now;

		if (m < 0 || kw_metric_is_greatest(m))
			continue;
		now = kw_metric_rank(m, kw_str_from(r->wide[i].name));
		if (best[m] >= 0 && now >= rank[m]) {
			r->wide[i].metric = -1;
			continue;
		}
		if (best[m] >= 0)
			r->wide[best[m]].metric = -1;
		best[m] = (int)i;
		rank[m] = now;
	}
}

static void wide_row(struct kw_ncu *r)
{
	struct kw_launch *k;

	if (field(r, KW_NCU_ID).len == 0 && field(r, KW_NCU_KERNEL).len == 0 &&
	    (r->column[KW_NCU_ID] >= 0 || r->column[KW_NCU_KERNEL] >= 0)) {
		unit_row(r);
		return;
	}
	if (!r->wide_chosen)
		choose_columns(r);
	k = kw_launches_add(r->out, field(r, KW_NCU_KERNEL), r->line);
	if (!k)
		return;
	if (r->csv.count < r->header_count)
		kw_launches_note(r->out, r->line, "the row has %zu fields and the row of column names %zu: it is cut, and what is not there is missing",
				 r->csv.count, r->header_count);
	k->id = kw_arena_str(r->out->arena, field(r, KW_NCU_ID));
	if (!k->id)
		k->id = "";
	describe(r, k);
	for (size_t i = 0; i < r->csv.count && i < r->header_count; i++) {
		struct kw_str text = kw_str_trim(r->csv.field[i]);
		double v;

		if (r->wide[i].device_name)
			k->device = kw_launches_intern(r->out, text);
		if (!r->wide[i].name[0])
			continue;
		if (kw_number_read(text, r->style, &v)) {
			if (r->wide[i].metric >= 0)
				kw_launch_set_as(k, r->wide[i].metric, kw_str_from(r->wide[i].name), v * r->wide[i].scale);
		} else if (kw_number_is_missing(text) && text.len) {
			kw_launch_unknown(k, kw_str_from(r->wide[i].name));
		}
	}
}

/* A kernel's name with quotes and commas that the writer did not double: more fields than the header has. */
static void rejoin_name(struct kw_ncu *r)
{
	size_t at = (size_t)r->column[KW_NCU_KERNEL], more = r->csv.count - r->header_count;
	struct kw_str *f = r->csv.field, last;

	last = f[at + more];
	if (last.ptr < f[at].ptr)
		return;
	f[at].len = (size_t)(last.ptr + last.len - f[at].ptr);
	if (f[at].len && f[at].ptr[f[at].len - 1] == '"')
		f[at].len--;
	memmove(&f[at + 1], &f[at + more + 1], (r->csv.count - at - more - 1) * sizeof(*f));
	r->csv.count = r->header_count;
}

static void row(struct kw_ncu *r)
{
	size_t least = r->mode == KW_NCU_WIDE	   ? 2
		       : r->mode == KW_NCU_SUMMARY ? 4
						   : (size_t)r->column[KW_NCU_METRIC] + 1;

	if (r->csv.count < least) {
		kw_launches_note(r->out, r->line, "the row has %zu fields and the row of column names %zu; it was left out",
				 r->csv.count, r->header_count);
		return;
	}
	if (r->csv.count > r->header_count && r->column[KW_NCU_KERNEL] >= 0 && r->csv.text.len == 0)
		rejoin_name(r);
	if (r->mode == KW_NCU_WIDE)
		wide_row(r);
	else if (r->mode == KW_NCU_SUMMARY)
		summary_row(r);
	else
		long_row(r);
}

/* ---- lines of the profiler itself ---- */

static void end_capture(struct kw_ncu *r)
{
	bool any = r->permission || r->failed || r->no_kernels || r->device_error || r->busy || r->no_device;

	if (any && r->out->count == r->launches_before)
		kw_launches_outcome(r->out, r->permission			 ? KW_OUTCOME_PERMISSION
					    : r->busy				 ? KW_OUTCOME_BUSY
					    : r->failed && r->no_kernels	 ? KW_OUTCOME_REPLAY_FAILED_NO_KERNELS
					    : r->failed				 ? KW_OUTCOME_REPLAY_FAILED
					    : r->device_error			 ? KW_OUTCOME_DEVICE_ERROR
					    : r->no_device			 ? KW_OUTCOME_NO_DEVICE
										 : KW_OUTCOME_NO_KERNELS);
	else if (any && (r->failed || r->permission || r->busy || r->device_error))
		kw_launches_note(r->out, r->line, "the profiler reported a fault beside the launches that it measured");
	r->permission = r->failed = r->no_kernels = r->device_error = r->busy = r->no_device = false;
	r->launches_before = r->out->count;
}

static bool profiler_line(struct kw_ncu *r, struct kw_str line)
{
	bool marked = kw_str_starts(line, "==");
	struct kw_str said = marked && line.len > 9 ? kw_str_trim((struct kw_str){ line.ptr + 9, line.len - 9 }) : KW_STR("");

	if (!marked && !kw_str_holds(line, "NVGPUCTRPERM") && !kw_str_holds(line, "No kernels were profiled"))
		return false;
	if (kw_str_holds(line, "Connected to process") || kw_str_holds(line, "==PROF== Connected"))
		end_capture(r);
	if (kw_str_holds(line, "NVGPUCTRPERM") || kw_str_holds(line, "INSUFFICIENT_PRIVILEGES") || (kw_str_holds(line, "permission") && kw_str_holds(line, "erformance")))
		r->permission = true;
	if (kw_str_holds(line, "Failed to profile") || kw_str_holds(line, "Failed to prepare kernel") ||
	    kw_str_holds(line, "replay failed") || kw_str_holds(line, "Failed to save memory") || kw_str_holds(line, "Failed to access"))
		r->failed = true;
	if (kw_str_holds(line, "No kernels were profiled"))
		r->no_kernels = true;
	if (kw_str_holds(line, "Unknown Error on device") || kw_str_holds(line, "LaunchFailed") ||
	    kw_str_holds(line, "Unknown error on device"))
		r->device_error = true;
	if (kw_str_holds(line, "river resource was unavailable") || kw_str_holds(line, "esource is unavailable") ||
	    kw_str_holds(line, "rofiling resource"))
		r->busy = true;
	if (kw_str_holds(line, "No supported GPU") || kw_str_holds(line, "not supported on this GPU") ||
	    kw_str_holds(line, "Profiling is not supported"))
		r->no_device = true;
	/* Words of its own that mean nothing here are still what a person needs. */
	if (kw_str_starts(line, "==ERROR==") && !r->permission && !r->failed && !r->no_kernels && !r->device_error && !r->busy && !r->no_device)
		kw_launches_note(r->out, r->line, "the profiler: %.*s", (int)(said.len < 300 ? said.len : 300), said.ptr);
	return true;
}

/* ---- lines ---- */

static void whole(struct kw_ncu *r, struct kw_str line)
{
	struct kw_str bare = kw_str_trim(line);

	if (profiler_line(r, bare))
		return;
	if (kw_str_eqz(bare, "---")) {
		end_capture(r);
		return;
	}
	if (header(r, bare))
		return;
	/* A sentence that begins with a quotation mark is no header. */
	if (r->mode == KW_NCU_NOTHING && bare.len && bare.ptr[0] == '"' && kw_str_holds(bare, "\",\"") && !kw_csv_split(&r->csv, bare))
		r->cut_line = r->line;
	if (r->mode != KW_NCU_NOTHING && (bare.ptr[0] == '"' || memchr(bare.ptr, r->csv.separator, bare.len))) {
		/* Whatever else the program printed is left out without a word unless it looks like a row. */
		if (!kw_csv_split(&r->csv, bare) && bare.ptr[0] == '"') {
			kw_buf_reset(&r->pending);
			kw_buf_add(&r->pending, bare.ptr, bare.len);
			r->pending_line = r->line;
			return;
		}
		if (bare.ptr[0] == '"' || r->csv.count == r->header_count) {
			row(r);
			return;
		}
	}
	kw_ncu_text_line(r, line);
}

/* Goes on with a record whose quotes are open; false: it is none, begin anew with this line. */
static bool continued(struct kw_ncu *r, struct kw_str line)
{
	int at = r->line;

	kw_buf_addc(&r->pending, '\n');
	kw_buf_add(&r->pending, line.ptr, line.len);
	if (!r->pending.full && !kw_str_starts(line, "\"") && !kw_str_starts(line, "==")) {
		if (!kw_csv_split(&r->csv, kw_buf_str(&r->pending)))
			return true;
		r->line = r->pending_line;
		row(r);
		r->line = at;
		kw_buf_reset(&r->pending);
		return true;
	}
	kw_launches_note(r->out, r->pending_line, "the row ends inside a quoted field; it was left out");
	kw_buf_release(&r->pending);
	kw_buf_init(&r->pending, MAX_RECORD);
	return false;
}

static bool digits(struct kw_str *s)
{
	size_t n = 0;

	while (n < s->len && isdigit((unsigned char)s->ptr[n]))
		n++;
	*s = (struct kw_str){ s->ptr + n, s->len - n };
	return n > 0;
}

static bool take(struct kw_str *s, const char *word)
{
	if (!kw_str_starts(*s, word))
		return false;
	*s = (struct kw_str){ s->ptr + strlen(word), s->len - strlen(word) };
	return true;
}

/* What launchers write in front of each line of a process: "[1,0]<stdout>:" (mpirun), "[rank0]: " (torchrun), "[0] " (mpiexec), "0: " (srun), and
 * a time of ISO 8601, as continuous integration does. */
static struct kw_str without_prefix(struct kw_str line)
{
	struct kw_str s = line, time = line;

	/* Quotations, and what stands in a program's comments. */
	if (take(&s, "> ") || take(&s, "// "))
		return s;
	if (line.len > 20 && digits(&time) && take(&time, "-") && digits(&time) && take(&time, "-") && digits(&time) && take(&time, "T")) {
		const char *blank = memchr(time.ptr, ' ', time.len);

		return blank ? (struct kw_str){ blank + 1, (size_t)(line.ptr + line.len - blank - 1) } : line;
	}
	if (take(&s, "[rank"))
		return digits(&s) && (take(&s, "]: ") || take(&s, "]:")) ? s : line;
	if (!take(&s, "["))
		return digits(&s) && take(&s, ": ") ? s : line;
	if (!digits(&s))
		return line;
	if (take(&s, "] "))
		return s;
	return take(&s, ",") && digits(&s) && (take(&s, "]<stdout>:") || take(&s, "]<stderr>:")) ? s : line;
}

static void one_line(struct kw_ncu *r, struct kw_str line)
{
	line = without_prefix(line);
	if (r->pending.len && continued(r, line))
		return;
	if (kw_str_trim(line).len == 0) {
		kw_ncu_text_end_rule(r);
		r->last[0] = '\0';
		return;
	}
	whole(r, line);
}

void kw_ncu_line(struct kw_ncu *r, struct kw_str line)
{
	struct kw_str part;

	r->line++;
	while (line.len && (line.ptr[line.len - 1] == '\r' || line.ptr[line.len - 1] == '\n'))
		line.len--;
	if (r->line == 1 && kw_str_starts(line, "\xef\xbb\xbf"))
		line = (struct kw_str){ line.ptr + 3, line.len - 3 };
	if (!line.len)
		one_line(r, line);
	/* Bars that say how far a program is go back to the beginning of their line; what comes behind them stands in it too. */
	while (line.len && kw_str_split(&line, '\r', &part))
		one_line(r, part);
}

void kw_ncu_finish(struct kw_ncu *r)
{
	if (r->pending.len)
		kw_launches_note(r->out, r->pending_line, "the row ends inside a quoted field; it was left out");
	if (r->mode == KW_NCU_NOTHING && r->cut_line && r->out->count == 0)
		kw_launches_note(r->out, r->cut_line, "the row of column names ends inside a quoted field: the file is cut");
	kw_ncu_text_end_rule(r);
	end_capture(r);
	kw_csv_release(&r->csv);
	kw_buf_release(&r->rule);
	kw_buf_release(&r->pending);
}
