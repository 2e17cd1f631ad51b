#include "profile/trace.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/input.h"

enum { MAX_KERNELS = 4096, MAX_PART_BYTES = 1 << 20, MAX_LINE = 1 << 30 };

/* ---- events ---- */

static void three(const json_t *list, int64_t out[3])
{
	for (size_t i = 0; i < 3; i++)
		out[i] = json_is_integer(json_array_get(list, i)) ? (int64_t)json_integer_value(json_array_get(list, i)) : 0;
	if (out[0] <= 0 || out[1] <= 0 || out[2] <= 0 || out[0] > INT32_MAX || out[1] > INT32_MAX || out[2] > INT32_MAX)
		out[0] = out[1] = out[2] = 0;
}

static const char *device_name(const struct kw_trace *t, int64_t id)
{
	const json_t *d;
	size_t i;

	json_array_foreach(t->devices, i, d)
		if (kw_json_get_i64(d, "id", -1) == id)
			return kw_json_get_str(d, "name", "");
	return "";
}

/* Numbers of the launch that do not differ between calls of one kernel. */
static void put_arguments(struct kw_launch *k, const json_t *args)
{
	double blocks = (double)k->grid[0] * (double)k->grid[1] * (double)k->grid[2];
	double threads = (double)k->block[0] * (double)k->block[1] * (double)k->block[2];
	double registers = kw_json_get_f64(args, "registers per thread", NAN), bytes = kw_json_get_f64(args, "shared memory", NAN);

	/* Its "est. achieved occupancy %" is made of the same numbers, and measured no more than they are. */
	k->value[KW_M_GPU] = 1;
	if (blocks > 0)
		kw_launch_set(k, KW_M_GRID, blocks);
	if (threads > 0)
		kw_launch_set(k, KW_M_BLOCK, threads);
	if (registers > 0)
		kw_launch_set(k, KW_M_REGISTERS, registers);
	if (bytes >= 0)
		kw_launch_set(k, KW_M_DYNAMIC_SMEM, bytes);
}

static struct kw_launch *launch_of(struct kw_trace *t, const char *name, const json_t *args)
{
	struct kw_launches *l = t->out;
	struct kw_launch *k;
	int64_t grid[3], block[3];

	three(json_object_get(args, "grid"), grid);
	three(json_object_get(args, "block"), block);
	for (size_t i = t->first; i < l->count; i++)
		if (memcmp(l->list[i]->grid, grid, sizeof(grid)) == 0 && memcmp(l->list[i]->block, block, sizeof(block)) == 0 &&
		    strcmp(l->list[i]->kernel, name) == 0)
			return l->list[i];
	if (l->count - t->first == MAX_KERNELS) {
		t->left_out = true;
		return NULL;
	}
	k = kw_launches_add(l, kw_str_from(name), 0);
	if (!k)
		return NULL;
	memcpy(k->grid, grid, sizeof(grid));
	memcpy(k->block, block, sizeof(block));
	put_arguments(k, args);
	t->device_of[l->count - 1 - t->first] = kw_json_get_i64(args, "device", -1);
	return k;
}

static bool add_span(struct kw_trace *t, double begin, double end)
{
	if (t->span_count == t->span_cap) {
		size_t n = t->span_cap ? t->span_cap * 2 : 1024;
		struct kw_trace_span *grown = kw_realloc(t->spans, n * sizeof(*grown));

		if (!grown) {
			t->out->full = true;
			return false;
		}
		t->spans = grown;
		t->span_cap = n;
	}
	t->spans[t->span_count++] = (struct kw_trace_span){ begin, end };
	return true;
}

static void event(struct kw_trace *t, const json_t *e)
{
	const char *category = kw_json_get_str(e, "cat", ""), *name = kw_json_get_str(e, "name", "");
	double begin = kw_json_get_f64(e, "ts", NAN), us = kw_json_get_f64(e, "dur", NAN), times;
	struct kw_launch *k;

	/* "gpu_memcpy" and "gpu_memset" keep the device busy and are no kernels. */
	if (strncmp(category, "gpu_mem", 7) != 0 && strcasecmp(category, "kernel") != 0)
		return;
	if (!(us >= 0 && us < 1e12) || !(fabs(begin) < 1e18) || !add_span(t, begin, begin + us))
		return;
	if (strcasecmp(category, "kernel") != 0 || !name[0] || !(us > 0))
		return;
	k = launch_of(t, name, json_object_get(e, "args"));
	if (!k)
		return;
	times = kw_launch_has(k, KW_M_INVOCATIONS) ? k->value[KW_M_INVOCATIONS] : 0;
	k->value[KW_M_DURATION_NS] = ((times > 0 ? k->value[KW_M_DURATION_NS] * times : 0) + us * 1e3) / (times + 1);
	k->value[KW_M_INVOCATIONS] = times + 1;
}

/* ---- the text ---- */

static void no_json(struct kw_trace *t, int line, const char *why)
{
	kw_launches_note(t->out, line, "this is no JSON that can be read: %.160s", why);
}

static bool may_be_of_the_device(const struct kw_buf *b)
{
	return memmem(b->ptr, b->len, "ernel", 5) || memmem(b->ptr, b->len, "gpu_mem", 7);
}

static void part_ends(struct kw_trace *t)
{
	bool is_event = t->part == KW_TRACE_EVENT;
	json_error_t e;
	json_t *j;

	t->part = KW_TRACE_BETWEEN;
	if (t->text.full) {
		kw_launches_note(t->out, t->part_line, "an entry of the trace is over 1 MB; it was left out");
		return;
	}
	if (is_event && !may_be_of_the_device(&t->text))
		return;
	j = json_loadb(t->text.ptr, t->text.len, 0, &e);
	if (!j) {
		no_json(t, t->part_line + (e.line > 1 ? e.line - 1 : 0), e.text);
		return;
	}
	if (is_event) {
		event(t, j);
		json_decref(j);
	} else {
		json_decref(t->devices);
		t->devices = j;
	}
}

static bool key_is(const struct kw_trace *t, const char *key)
{
	return kw_str_eqz((struct kw_str){ t->key, t->key_len }, key);
}

static void part_begins(struct kw_trace *t, char c)
{
	if (t->depth == 2 && t->in_events && c == '{') {
		t->part = KW_TRACE_EVENT;
	} else if (t->depth == 1 && c == '[') {
		t->in_events = key_is(t, "traceEvents");
		t->seen = t->seen || t->in_events;
		t->part = key_is(t, "deviceProperties") ? KW_TRACE_DEVICES : KW_TRACE_BETWEEN;
	}
	t->part_line = t->line;
	kw_buf_reset(&t->text);
}

static void in_string(struct kw_trace *t, char c)
{
	if (t->escaped)
		t->escaped = false;
	else if (c == '\\')
		t->escaped = true;
	else if (c == '"')
		t->in_string = false;
	if (t->in_string && t->depth == 1 && t->key_len < sizeof(t->key))
		t->key[t->key_len++] = c;
}

void kw_trace_init(struct kw_trace *t, struct kw_launches *out)
{
	*t = (struct kw_trace){ .out = out, .first = out->count, .line = 1 };
	out->form = "PyTorch's profiler";
	kw_buf_init(&t->text, MAX_PART_BYTES);
	t->device_of = kw_calloc(MAX_KERNELS, sizeof(*t->device_of));
	out->full = out->full || !t->device_of;
}

void kw_trace_add(struct kw_trace *t, const char *text, size_t len)
{
	size_t from = 0; /* of the part that is being read, in this text */

	for (size_t i = 0; i < len && t->device_of; i++) {
		char c = text[i];

		t->line += c == '\n' && t->line < MAX_LINE;
		if (t->in_string) {
			in_string(t, c);
		} else if (c == '"') {
			t->in_string = true;
			t->key_len = t->depth == 1 ? 0 : t->key_len;
		} else if (c == '{' || c == '[') {
			if (t->part == KW_TRACE_BETWEEN) {
				part_begins(t, c);
				from = i;
			}
			t->depth++;
		} else if (c == '}' || c == ']') {
			t->depth -= t->depth > 0;
			if (t->part != KW_TRACE_BETWEEN && t->depth == (t->part == KW_TRACE_EVENT ? 2 : 1)) {
				kw_buf_add(&t->text, text + from, i + 1 - from);
				part_ends(t);
			}
			t->in_events = t->in_events && t->depth > 1;
		} else if (t->in_events && t->depth == 2 && c != ',' && !isspace((unsigned char)c)) {
			if (!t->odd)
				no_json(t, t->line, "no event begins where one should");
			t->odd = true;
		}
	}
	if (t->part != KW_TRACE_BETWEEN)
		kw_buf_add(&t->text, text + from, len - from);
}

/* ---- the whole ---- */

static int earlier(const void *x, const void *y)
{
	const struct kw_trace_span *p = x, *q = y;

	return p->begin < q->begin ? -1 : p->begin > q->begin;
}

/* How long the device had something to do between its first kernel and its last. Told as a launch of its own where much of it was idle. */
static void idle(struct kw_trace *t)
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

void kw_trace_finish(struct kw_trace *t)
{
	struct kw_launches *out = t->out;

	for (size_t i = t->first; i < out->count; i++)
		out->list[i]->device = kw_launches_intern(out, kw_str_from(device_name(t, t->device_of[i - t->first])));
	if (out->count > t->first) {
		if (t->depth)
			kw_launches_note(out, 0, "the trace is cut; what stands before is used");
		if (t->left_out)
			kw_launches_note(out, 0, "only the first %d kernels with their grids were read", MAX_KERNELS);
		kw_launches_note(out, 0,
				 "a trace has times and launches, no counters; what limits a kernel takes Nsight Compute: ncu --set full --csv -k "
				 "regex:NAME PROGRAM");
		idle(t);
	} else if (t->seen) {
		kw_launches_note(out, 0,
				 "there is no kernel in this trace, so it says nothing of one; PyTorch's profiler writes them where "
				 "ProfilerActivity.CUDA is among its activities");
	} else {
		kw_launches_note(out, 0, "there is no list of events in this trace");
	}
	kw_free(t->spans);
	kw_free(t->device_of);
	json_decref(t->devices);
	kw_buf_release(&t->text);
}

void kw_read_trace(const char *text, size_t len, struct kw_launches *out)
{
	struct kw_trace t;

	kw_trace_init(&t, out);
	kw_trace_add(&t, text, len);
	kw_trace_finish(&t);
}
