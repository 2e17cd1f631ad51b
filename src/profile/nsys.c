/* What `nsys stats` prints, as CSV or as text with a row of dashes: summaries of kernels, and the trace of the device. The summaries
 * of calls, copies and ranges that stand beside them are no kernels. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "profile/csv.h"
#include "profile/device_events.h"
#include "profile/input.h"

enum { MAX_COLUMNS = 40 };
enum what { NAME, INSTANCES, AVERAGE, START, DURATION, GRID, GRID_X, GRID_Y, GRID_Z, BLOCK, BLOCK_X, BLOCK_Y, BLOCK_Z, REGISTERS, STATIC, DYNAMIC,
	    DEVICE, WHATS };
enum section { NO_SECTION, KERNELS, TRACE };
struct nsys {
	struct kw_launches *out;
	struct kw_device_events events;
	struct kw_csv csv;
	enum kw_number_style style;
	enum section section;
	int line, column[WHATS];          /* -1: there is none */
	double scale[WHATS];
	size_t columns;
	/* of a table in text: where each column begins; not known before the row of dashes */
	bool text;
	size_t begin[MAX_COLUMNS];
	const char *device;
	bool devices_differ;
};

/* "Avg (ns)": the name without its unit, and the unit's scale. */
static struct kw_str without_unit(struct kw_str s, double *scale)
{
	const char *open = memchr(s.ptr, '(', s.len);
	enum kw_quantity dim;

	*scale = 1;
	if (!open || s.ptr[s.len - 1] != ')' ||
	    !kw_unit_find((struct kw_str){ open + 1, (size_t)(s.ptr + s.len - open - 2) }, &dim, scale))
		return s;
	return kw_str_trim((struct kw_str){ s.ptr, (size_t)(open - s.ptr) });
}

static void take_column(struct nsys *n, size_t i, struct kw_str name)
{
	static const struct {
		const char *name;
		enum what what;
	} list[] = { { "Name", NAME },	      { "Instances", INSTANCES }, { "Avg", AVERAGE },	    { "Average", AVERAGE },  { "Start", START },
		     { "Duration", DURATION }, { "GridXYZ", GRID },	  { "BlockXYZ", BLOCK },    { "GrdX", GRID_X },	     { "GrdY", GRID_Y },
		     { "GrdZ", GRID_Z },       { "BlkX", BLOCK_X },	  { "BlkY", BLOCK_Y },	    { "BlkZ", BLOCK_Z },     { "Reg/Trd", REGISTERS },
		     { "StcSMem", STATIC },    { "DymSMem", DYNAMIC },	  { "Device", DEVICE } };
	double scale;

	name = without_unit(kw_str_trim(name), &scale);
	for (size_t k = 0; k < sizeof(list) / sizeof(list[0]); k++)
		if (kw_str_eqz(name, list[k].name)) {
			n->column[list[k].what] = (int)i;
			n->scale[list[k].what] = scale;
		}
}

static enum section section_of(const struct nsys *n)
{
	const int *c = n->column;

	if (c[NAME] < 0)
		return NO_SECTION;
	if (c[INSTANCES] >= 0 && c[AVERAGE] >= 0)
		return KERNELS;
	return c[START] >= 0 && c[DURATION] >= 0 && c[GRID_X] >= 0 ? TRACE : NO_SECTION;
}

static void header(struct nsys *n)
{
	for (size_t i = 0; i < WHATS; i++)
		n->column[i] = -1;
	n->columns = n->csv.count;
	for (size_t i = 0; i < n->csv.count; i++)
		take_column(n, i, n->csv.field[i]);
	n->section = section_of(n);
}

/* Names that stand two blanks apart, as many as there are columns: an editor may have moved their line by a blank. */
static bool take_names(struct nsys *n, struct kw_str head)
{
	struct kw_str name[MAX_COLUMNS];
	size_t count = 0;

	head = kw_str_trim(head);
	while (head.len && count < MAX_COLUMNS) {
		const char *end = memmem(head.ptr, head.len, "  ", 2);
		size_t len = end ? (size_t)(end - head.ptr) : head.len;

		name[count++] = (struct kw_str){ head.ptr, len };
		head = kw_str_trim((struct kw_str){ head.ptr + len, head.len - len });
	}
	for (size_t i = 0; count == n->columns && i < count; i++)
		take_column(n, i, name[i]);
	return count == n->columns;
}

/* Columns stand over runs of dashes; the last one reaches to the end of the line. */
static void dashes(struct nsys *n, struct kw_str head, struct kw_str line)
{
	n->columns = 0;
	for (size_t i = 0; i < line.len && n->columns < MAX_COLUMNS; i++)
		if (line.ptr[i] == '-' && (i == 0 || line.ptr[i - 1] == ' '))
			n->begin[n->columns++] = i;
	for (size_t i = 0; i < WHATS; i++)
		n->column[i] = -1;
	if (!take_names(n, head))
		for (size_t i = 0; i < n->columns; i++) {
			size_t from = n->begin[i], to = i + 1 < n->columns ? n->begin[i + 1] : head.len;

			if (from < head.len)
				take_column(n, i, (struct kw_str){ head.ptr + from, (to < head.len ? to : head.len) - from });
		}
	n->text = true;
	n->section = section_of(n);
}

static struct kw_str field(const struct nsys *n, struct kw_str line, enum what w)
{
	int i = n->column[w];
	size_t from, to;

	if (i < 0)
		return KW_STR("");
	if (!n->text)
		return (size_t)i < n->csv.count ? kw_str_trim(n->csv.field[i]) : KW_STR("");
	from = n->begin[i];
	to = (size_t)i + 1 < n->columns ? n->begin[i + 1] : line.len;
	to = to < line.len ? to : line.len;
	return from < to ? kw_str_trim((struct kw_str){ line.ptr + from, to - from }) : KW_STR("");
}

static double number(const struct nsys *n, struct kw_str line, enum what w)
{
	double v;

	return kw_number_read(field(n, line, w), n->style, &v) ? v * n->scale[w] : NAN;
}

/* "(64, 1, 1)" or "64 1 1", or a column for each. */
static void three(const struct nsys *n, struct kw_str line, enum what whole, int64_t out[3])
{
	struct kw_str s = field(n, line, whole);
	size_t k = 0;

	for (size_t i = 0; i < 3; i++) {
		double v = number(n, line, whole + 1 + (enum what)i);

		out[i] = v >= 1 && v <= INT32_MAX ? (int64_t)v : 0;
	}
	for (size_t i = 0; i < s.len && k < 3; i++)
		if (isdigit((unsigned char)s.ptr[i])) {
			int64_t v = 0;

			while (i < s.len && isdigit((unsigned char)s.ptr[i]))
				v = v <= INT32_MAX ? v * 10 + (s.ptr[i++] - '0') : (i++, v);
			out[k++] = v;
		}
}

static void note_device(struct nsys *n, struct kw_str s)
{
	const char *ordinal = memrchr(s.ptr, '(', s.len); /* "NVIDIA H200 (0)" */
	const char *name = kw_launches_intern(n->out, kw_str_trim((struct kw_str){ s.ptr, ordinal ? (size_t)(ordinal - s.ptr) : s.len }));

	n->devices_differ = n->devices_differ || (n->device && strcmp(n->device, name) != 0);
	n->device = name;
}

static void trace_row(struct nsys *n, struct kw_str line)
{
	struct kw_str name = field(n, line, NAME);
	double shared = number(n, line, STATIC), dynamic = number(n, line, DYNAMIC);
	struct kw_device_event e = { .begin_us = number(n, line, START) / 1e3, .us = number(n, line, DURATION) / 1e3,
				     .registers = number(n, line, REGISTERS), .smem_bytes = dynamic, .device = 0 };

	three(n, line, GRID, e.grid);
	three(n, line, BLOCK, e.block);
	if (!isnan(shared) && !isnan(dynamic))
		e.smem_bytes = shared + dynamic;
	/* "[CUDA memcpy Host-to-Device]" */
	if (name.len && *name.ptr != '[')
		e.name = kw_launches_intern(n->out, name);
	if (isnan(e.us)) {
		kw_launches_note(n->out, n->line, "the row has no time of a kernel; it was left out");
		return;
	}
	if (field(n, line, DEVICE).len)
		note_device(n, field(n, line, DEVICE));
	kw_device_event(&n->events, &e);
}

static void kernel_row(struct nsys *n, struct kw_str line)
{
	double ns = number(n, line, AVERAGE), times = number(n, line, INSTANCES);
	struct kw_launch *k;

	if (isnan(ns) || isnan(times)) {
		kw_launches_note(n->out, n->line, "the row has no time of a kernel; it was left out");
		return;
	}
	k = kw_launches_add(n->out, field(n, line, NAME), n->line);
	if (!k)
		return;
	three(n, line, GRID, k->grid);
	three(n, line, BLOCK, k->block);
	k->value[KW_M_GPU] = 1;
	kw_launch_set(k, KW_M_DURATION_NS, ns);
	kw_launch_set(k, KW_M_INVOCATIONS, times);
	if (k->grid[0] > 0 && k->grid[1] > 0 && k->grid[2] > 0)
		kw_launch_set(k, KW_M_GRID, (double)k->grid[0] * (double)k->grid[1] * (double)k->grid[2]);
	if (k->block[0] > 0 && k->block[1] > 0 && k->block[2] > 0)
		kw_launch_set(k, KW_M_BLOCK, (double)k->block[0] * (double)k->block[1] * (double)k->block[2]);
}

static bool is_header(struct kw_str bare)
{
	return memmem(bare.ptr, bare.len, "Time (%)", 8) || memmem(bare.ptr, bare.len, "Time(%)", 7) ||
	       (memmem(bare.ptr, bare.len, "Duration", 8) && memmem(bare.ptr, bare.len, "Start", 5) && memmem(bare.ptr, bare.len, "Name", 4));
}

static bool only_dashes(struct kw_str bare)
{
	for (size_t i = 0; i < bare.len; i++)
		if (bare.ptr[i] != '-' && bare.ptr[i] != ' ')
			return false;
	return bare.len > 0;
}

static void read_line(struct nsys *n, struct kw_str line, struct kw_str *head)
{
	struct kw_str bare = kw_str_trim(line);

	if (is_header(bare)) {
		*head = line;
		n->text = false;
		n->section = NO_SECTION;
		n->csv.separator = memchr(bare.ptr, ';', bare.len) ? ';' : memchr(bare.ptr, '\t', bare.len) ? '\t' : ',';
		if (memchr(bare.ptr, n->csv.separator, bare.len) && kw_csv_split(&n->csv, bare))
			header(n);
		return;
	}
	if (head->len && only_dashes(bare)) {
		dashes(n, *head, line);
		return;
	}
	if (bare.len == 0 || n->section == NO_SECTION) {
		/* A blank line ends a table; a row of another summary is none of a kernel. */
		n->section = bare.len ? n->section : NO_SECTION;
		return;
	}
	if (!n->text && (!kw_csv_split(&n->csv, bare) || n->csv.count < n->columns)) {
		kw_launches_note(n->out, n->line, "the row has %zu fields and the row of column names %zu; it was left out", n->csv.count, n->columns);
		return;
	}
	if (n->section == KERNELS)
		kernel_row(n, line);
	else
		trace_row(n, line);
}

void kw_read_nsys(const char *text, size_t len, struct kw_launches *out)
{
	struct nsys n = { .out = out };
	struct kw_str rest = { text, len }, line, head = { "", 0 };

	out->form = "Nsight Systems";
	n.style = kw_number_style_of(text, len);
	kw_csv_init(&n.csv, ',');
	kw_device_events_init(&n.events, out);
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		n.line++;
		if (line.len && line.ptr[line.len - 1] == '\r')
			line.len--;
		read_line(&n, line, &head);
	}
	for (size_t i = n.events.first; i < out->count && n.device && !n.devices_differ; i++)
		out->list[i]->device = n.device;
	if (!kw_device_events_finish(&n.events))
		kw_launches_note(out, 0,
				 "there is no kernel in this summary, so it says nothing of one: nsys stats --report cuda_gpu_kern_sum,cuda_gpu_trace "
				 "--format csv REPORT");
	kw_csv_release(&n.csv);
}
