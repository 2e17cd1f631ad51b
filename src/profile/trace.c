#include "profile/trace.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "profile/input.h"

enum { MAX_PART_BYTES = 1 << 20, MAX_LINE = 1 << 30 };

/* ---- events ---- */

static void three(const json_t *list, int64_t out[3])
{
	for (size_t i = 0; i < 3; i++)
		out[i] = json_is_integer(json_array_get(list, i)) ? (int64_t)json_integer_value(json_array_get(list, i)) : 0;
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

/* "est. achieved occupancy %" is made of the other numbers, and measured no more than they are. */
static void event(struct kw_trace *t, const json_t *e)
{
	const char *category = kw_json_get_str(e, "cat", "");
	bool is_kernel = strcasecmp(category, "kernel") == 0;
	const json_t *args = json_object_get(e, "args");
	struct kw_device_event d = {
		.name = is_kernel ? kw_json_get_str(e, "name", "") : NULL,
		.begin_us = kw_json_get_f64(e, "ts", NAN),
		.us = kw_json_get_f64(e, "dur", NAN),
		.registers = kw_json_get_f64(args, "registers per thread", NAN),
		.smem_bytes = kw_json_get_f64(args, "shared memory", NAN),
		.device = kw_json_get_i64(args, "device", -1),
	};

	three(json_object_get(args, "grid"), d.grid);
	three(json_object_get(args, "block"), d.block);
	if (is_kernel || strncmp(category, "gpu_mem", 7) == 0)
		kw_device_event(&t->events, &d);
}

/* ---- the text ---- */

static void no_json(struct kw_trace *t, int line, const char *why)
{
	kw_launches_note(t->events.out, line, "this is no JSON that can be read: %.160s", why);
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
		kw_launches_note(t->events.out, t->part_line, "an entry of the trace is over 1 MB; it was left out");
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
	*t = (struct kw_trace){ .line = 1 };
	kw_device_events_init(&t->events, out);
	out->form = "PyTorch's profiler";
	kw_buf_init(&t->text, MAX_PART_BYTES);
}

void kw_trace_add(struct kw_trace *t, const char *text, size_t len)
{
	size_t from = 0; /* of the part that is being read, in this text */

	for (size_t i = 0; i < len; i++) {
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

void kw_trace_finish(struct kw_trace *t)
{
	struct kw_launches *out = t->events.out;

	for (size_t i = t->events.first; i < out->count; i++)
		out->list[i]->device = kw_launches_intern(out, kw_str_from(device_name(t, t->events.device_of[i - t->events.first])));
	if (t->depth && out->count > t->events.first)
		kw_launches_note(out, 0, "the trace is cut; what stands before is used");
	if (!kw_device_events_finish(&t->events))
		kw_launches_note(out, 0,
				 t->seen ? "there is no kernel in this trace, so it says nothing of one; PyTorch's profiler writes them where "
					   "ProfilerActivity.CUDA is among its activities"
					 : "there is no list of events in this trace");
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
