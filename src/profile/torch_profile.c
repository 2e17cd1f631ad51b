/* What PyTorch's profiler writes: a trace for a browser (its events of category "kernel"), and the
 * table of averages that it prints. Launches of one kernel with one grid and block are one here,
 * with their mean time; no counter of a unit is in either. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "profile/input.h"

enum { MAX_KERNELS = 4096, MAX_COLUMNS = 32 };

/* ---- the trace ---- */

struct span {
	double begin, end; /* us */
};
struct trace {
	struct kw_launches *out;
	const json_t *devices;
	struct span *spans;
	size_t span_count;
	bool left_out;
};

static void three(const json_t *list, int64_t out[3])
{
	for (size_t i = 0; i < 3; i++)
		out[i] = json_is_integer(json_array_get(list, i))
				 ? (int64_t)json_integer_value(json_array_get(list, i))
				 : 0;
	if (out[0] <= 0 || out[1] <= 0 || out[2] <= 0 || out[0] > INT32_MAX || out[1] > INT32_MAX ||
	    out[2] > INT32_MAX)
		out[0] = out[1] = out[2] = 0;
}

static const char *device_name(const struct trace *t, int64_t id)
{
	const json_t *d;
	size_t i;

	json_array_foreach(t->devices, i, d) if (kw_json_get_i64(d, "id", -1) ==
						 id) return kw_json_get_str(d, "name", "");
	return "";
}

/* Numbers of the launch that do not differ between calls of one kernel. */
static void put_arguments(struct trace *t, struct kw_launch *k, const json_t *args)
{
	double blocks = (double)k->grid[0] * (double)k->grid[1] * (double)k->grid[2];
	double threads = (double)k->block[0] * (double)k->block[1] * (double)k->block[2];
	double registers = kw_json_get_f64(args, "registers per thread", NAN),
	       bytes = kw_json_get_f64(args, "shared memory", NAN);

	/* Its "est. achieved occupancy %" is made of the same numbers, and measured no more than
	 * they are. */
	k->value[KW_M_GPU] = 1;
	if (blocks > 0)
		kw_launch_set(k, KW_M_GRID, blocks);
	if (threads > 0)
		kw_launch_set(k, KW_M_BLOCK, threads);
	if (registers > 0)
		kw_launch_set(k, KW_M_REGISTERS, registers);
	if (bytes >= 0)
		kw_launch_set(k, KW_M_DYNAMIC_SMEM, bytes);
	k->device = kw_launches_intern(
		t->out, kw_str_from(device_name(t, kw_json_get_i64(args, "device", -1))));
}

static struct kw_launch *launch_of(struct trace *t, const char *name, const json_t *args)
{
	struct kw_launches *l = t->out;
	struct kw_launch *k;
	int64_t grid[3], block[3];

	three(json_object_get(args, "grid"), grid);
	three(json_object_get(args, "block"), block);
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->list[i]->kernel, name) == 0 &&
		    memcmp(l->list[i]->grid, grid, sizeof(grid)) == 0 &&
		    memcmp(l->list[i]->block, block, sizeof(block)) == 0)
			return l->list[i];
	if (l->count == MAX_KERNELS) {
		t->left_out = true;
		return NULL;
	}
	k = kw_launches_add(l, kw_str_from(name), 0);
	if (!k)
		return NULL;
	memcpy(k->grid, grid, sizeof(grid));
	memcpy(k->block, block, sizeof(block));
	put_arguments(t, k, args);
	return k;
}

static void event(struct trace *t, const json_t *e)
{
	const char *category = kw_json_get_str(e, "cat", ""),
		   *name = kw_json_get_str(e, "name", "");
	double begin = kw_json_get_f64(e, "ts", NAN), us = kw_json_get_f64(e, "dur", NAN), times;
	struct kw_launch *k;

	/* "gpu_memcpy" and "gpu_memset" keep the device busy and are no kernels. */
	if (strncmp(category, "gpu_mem", 7) != 0 && strcasecmp(category, "kernel") != 0)
		return;
	if (!(us >= 0 && us < 1e12) || !(fabs(begin) < 1e18))
		return;
	t->spans[t->span_count++] = (struct span){ begin, begin + us };
	if (strcasecmp(category, "kernel") != 0 || !name[0] || !(us > 0))
		return;
	k = launch_of(t, name, json_object_get(e, "args"));
	if (!k)
		return;
	times = kw_launch_has(k, KW_M_INVOCATIONS) ? k->value[KW_M_INVOCATIONS] : 0;
	k->value[KW_M_DURATION_NS] =
		((times > 0 ? k->value[KW_M_DURATION_NS] * times : 0) + us * 1e3) / (times + 1);
	k->value[KW_M_INVOCATIONS] = times + 1;
}

static int earlier(const void *x, const void *y)
{
	const struct span *p = x, *q = y;

	return p->begin < q->begin ? -1 : p->begin > q->begin;
}

/* How long the device had something to do between its first kernel and its last. Told as a launch
 * of its own where much of it was idle. */
static void idle(struct trace *t)
{
	double busy = 0, end, begin;
	struct kw_launch *k;

	if (t->span_count < 10)
		return;
	qsort(t->spans, t->span_count, sizeof(*t->spans), earlier);
	begin = end = t->spans[0].begin;
	for (size_t i = 0; i < t->span_count; i++) {
		if (t->spans[i].end > end)
			busy += t->spans[i].end - fmax(end, t->spans[i].begin);
		end = fmax(end, t->spans[i].end);
	}
	if (!(busy > 0) || !(busy < 0.7 * (end - begin)))
		return;
	k = kw_launches_add(t->out, KW_STR("the device, from its first kernel to its last"), 0);
	if (!k)
		return;
	memmove(t->out->list + 1, t->out->list, (t->out->count - 1) * sizeof(*t->out->list));
	t->out->list[0] = k;
	k->value[KW_M_GPU] = 1;
	kw_launch_set(k, KW_M_DURATION_NS, (end - begin) * 1e3);
	kw_launch_set(k, KW_M_TRACE_BUSY, busy * 1e3);
	kw_launch_set(k, KW_M_TRACE_EVENTS, (double)t->span_count);
}

/* A file that was cut while it was written: what stands before its last whole event. */
static json_t *load(const char *text, size_t len, struct kw_launches *out)
{
	json_error_t e;
	json_t *j = json_loadb(text, len, 0, &e);
	const char *last = text;
	struct kw_buf whole;

	if (j)
		return j;
	for (const char *p = text; (p = memmem(p, (size_t)(text + len - p), "},", 2)); p++)
		last = p;
	kw_buf_init(&whole, len + 16);
	kw_buf_add(&whole, text, (size_t)(last - text));
	kw_buf_addz(&whole, "}]}");
	if (last > text && !whole.full)
		j = json_loadb(whole.ptr, whole.len, 0, &e);
	kw_buf_release(&whole);
	if (j)
		kw_launches_note(out, 0, "the trace is cut; what stands before is used");
	else
		kw_launches_note(out, e.line > 0 ? e.line : 0,
				 "this is no JSON that can be read: %.160s", e.text);
	return j;
}

void kw_read_trace(const char *text, size_t len, struct kw_launches *out)
{
	json_t *j = load(text, len, out), *events, *e;
	struct trace t = { .out = out, .devices = json_object_get(j, "deviceProperties") };
	size_t i;

	out->form = "PyTorch's profiler";
	events = json_object_get(j, "traceEvents");
	t.spans = kw_calloc(json_array_size(events) + 1, sizeof(*t.spans));
	out->full = out->full || !t.spans;
	json_array_foreach(events, i, e) if (t.spans) event(&t, e);
	if (out->count) {
		if (t.left_out)
			kw_launches_note(out, 0,
					 "only the first %d kernels with their grids were read",
					 MAX_KERNELS);
		kw_launches_note(
			out, 0,
			"a trace has times and launches, no counters; what limits a kernel takes "
			"Nsight Compute: ncu --set full --csv -k regex:NAME PROGRAM");
		idle(&t);
	} else if (j) {
		kw_launches_note(
			out, 0,
			"there is no kernel in this trace, so it says nothing of one; PyTorch's "
			"profiler writes them where ProfilerActivity.CUDA is among its "
			"activities");
	}
	kw_free(t.spans);
	json_decref(j);
}

/* ---- the table ---- */

struct table {
	struct kw_str name[MAX_COLUMNS];
	size_t count;
};

/* Columns stand two blanks apart; names have single ones in them. */
static void split(struct kw_str line, struct table *out)
{
	const char *p = line.ptr, *end = line.ptr + line.len;

	out->count = 0;
	while (p < end && out->count < MAX_COLUMNS) {
		const char *stop;

		while (p < end && *p == ' ')
			p++;
		stop = p < end ? memmem(p, (size_t)(end - p), "  ", 2) : NULL;
		stop = stop ? stop : end;
		if (stop > p)
			out->name[out->count++] =
				kw_str_trim((struct kw_str){ p, (size_t)(stop - p) });
		p = stop;
	}
}

static size_t column(const struct table *t, const char *const *names)
{
	for (; *names; names++)
		for (size_t i = 0; i < t->count; i++)
			if (kw_str_eqz(t->name[i], *names))
				return i;
	return SIZE_MAX;
}

/* "31.120ms"; NaN: no time. */
static double time_of(struct kw_str s)
{
	size_t n = 0;
	enum kw_quantity dim;
	double v, scale;

	while (n < s.len && ((s.ptr[n] >= '0' && s.ptr[n] <= '9') || s.ptr[n] == '.'))
		n++;
	if (!kw_number_read((struct kw_str){ s.ptr, n }, KW_NUMBER_POINT, &v) ||
	    !kw_unit_find((struct kw_str){ s.ptr + n, s.len - n }, &dim, &scale) ||
	    dim != KW_QUANTITY_TIME)
		return NAN;
	return v * scale;
}

void kw_read_torch_table(const char *text, size_t len, struct kw_launches *out)
{
	static const char *const averages[] = { "CUDA time avg", "XPU time avg", "Device time avg",
						NULL };
	static const char *const own[] = { "Self CUDA", "Self XPU", "Self Device", NULL },
				 *const cpu[] = { "CPU total", NULL },
				 *const calls[] = { "# of Calls", NULL };
	struct kw_str rest = { text, len }, line;
	struct table head = { .count = 0 }, row;
	size_t average = SIZE_MAX, self = SIZE_MAX, host = SIZE_MAX, number = SIZE_MAX;
	bool operators = false;
	int n = 0;

	out->form = "PyTorch's table of averages";
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		double ns, times;
		struct kw_launch *k;

		n++;
		split(kw_str_trim(line), &row);
		if (row.count >= 4 && kw_str_eqz(row.name[0], "Name")) {
			head = row;
			average = column(&head, averages);
			self = column(&head, own);
			host = column(&head, cpu);
			number = column(&head, calls);
			continue;
		}
		if (head.count == 0 || row.count < 4)
			continue;
		if (row.count != head.count) {
			kw_launches_note(out, n,
					 "the row has %zu fields and the row of column names %zu; "
					 "it was left out",
					 row.count, head.count);
			continue;
		}
		operators = true;
		/* A row of a kernel has no time of the host; an operator's has that of its kernels,
		 * which have rows of their own. */
		if (average == SIZE_MAX || host == SIZE_MAX || self == SIZE_MAX ||
		    time_of(row.name[host]) > 0 || !(time_of(row.name[self]) > 0) ||
		    kw_str_starts(row.name[0], "Memcpy") || kw_str_starts(row.name[0], "Memset"))
			continue;
		ns = time_of(row.name[average]);
		k = kw_launches_add(out, row.name[0], n);
		if (!k)
			break;
		k->value[KW_M_GPU] = 1;
		if (ns > 0)
			kw_launch_set(k, KW_M_DURATION_NS, ns);
		if (number != SIZE_MAX && kw_number_read(row.name[number], KW_NUMBER_POINT, &times))
			kw_launch_set(k, KW_M_INVOCATIONS, times);
	}
	if (out->count)
		kw_launches_note(
			out, 0,
			"this table has times and counts alone; prof.export_chrome_trace(FILE) has "
			"grids, registers and the gaps between kernels, and explain reads it");
	else
		kw_launches_note(
			out, 0,
			operators
				? "only operators of the host are in this table and no kernel of a "
				  "GPU, so it says nothing of one; explain the operator itself: "
				  "kwright explain TASK FILE, or a profile with "
				  "ProfilerActivity.CUDA"
				: "this looks like a table of PyTorch's profiler, but no row of it "
				  "can be read");
}
