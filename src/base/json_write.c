/* JSON text (declared in json.h). Not jansson's own writer, because that prints every double with
 * 17 digits: 0.1 would read 0.10000000000000001. Here it is the shortest text that reads back as
 * the same double. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

enum { MAX_DEPTH = 200 }; /* of a tree we built ourselves; parsing allows fewer */

struct writer {
	struct kw_buf *out;
	bool pretty, failed;
	int depth;
};

static void write_value(struct writer *w, const json_t *j);

static void new_line(struct writer *w)
{
	if (!w->pretty)
		return;
	kw_buf_addc(w->out, '\n');
	for (int i = 0; i < w->depth; i++)
		kw_buf_addz(w->out, "  ");
}

static void write_string(struct writer *w, const char *s, size_t len)
{
	size_t from = 0;

	kw_buf_addc(w->out, '"');
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];
		const char *at = strchr("\"\\\b\f\n\r\t", c);

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		kw_buf_add(w->out, s + from, i - from);
		from = i + 1;
		if (c && at)
			kw_buf_printf(w->out, "\\%c", "\"\\bfnrt"[at - "\"\\\b\f\n\r\t"]);
		else
			kw_buf_printf(w->out, "\\u%04x", c);
	}
	kw_buf_add(w->out, s + from, len - from);
	kw_buf_addc(w->out, '"');
}

/* The program never leaves the C locale, so the point is a point. */
static void write_real(struct writer *w, double v)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	kw_buf_addz(w->out, text);
	if (!strpbrk(text, ".e")) /* stays a real when it is read again */
		kw_buf_addz(w->out, ".0");
}

static void write_array(struct writer *w, const json_t *j)
{
	size_t n = json_array_size(j);

	kw_buf_addc(w->out, '[');
	w->depth++;
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			kw_buf_addc(w->out, ',');
		new_line(w);
		write_value(w, json_array_get(j, i));
	}
	w->depth--;
	if (n > 0)
		new_line(w);
	kw_buf_addc(w->out, ']');
}

static void write_member(struct writer *w, const char *key, const json_t *value, bool first)
{
	if (!first)
		kw_buf_addc(w->out, ',');
	new_line(w);
	write_string(w, key, strlen(key));
	kw_buf_addz(w->out, w->pretty ? ": " : ":");
	write_value(w, value);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_sorted(struct writer *w, json_t *j)
{
	size_t n = json_object_size(j), i = 0;
	const char **keys = kw_calloc(n, sizeof(*keys));

	if (!keys) {
		w->failed = true;
		return;
	}
	for (void *it = json_object_iter(j); it; it = json_object_iter_next(j, it))
		keys[i++] = json_object_iter_key(it);
	qsort(keys, n, sizeof(*keys), by_text);
	for (i = 0; i < n; i++)
		write_member(w, keys[i], json_object_get(j, keys[i]), i == 0);
	kw_free(keys);
}

static void write_object(struct writer *w, const json_t *j)
{
	/* The iterators take a json_t that is not const; they do not change it. */
	json_t *object = (json_t *)(uintptr_t)j;
	bool first = true;

	kw_buf_addc(w->out, '{');
	w->depth++;
	if (w->pretty) {
		for (void *it = json_object_iter(object); it;
		     it = json_object_iter_next(object, it)) {
			write_member(w, json_object_iter_key(it), json_object_iter_value(it),
				     first);
			first = false;
		}
	} else {
		write_sorted(w, object);
	}
	w->depth--;
	if (json_object_size(j) > 0)
		new_line(w);
	kw_buf_addc(w->out, '}');
}

static void write_value(struct writer *w, const json_t *j)
{
	if (!j || w->depth > MAX_DEPTH || w->failed) {
		w->failed = true;
		return;
	}
	switch (json_typeof(j)) {
	case JSON_OBJECT:
		write_object(w, j);
		break;
	case JSON_ARRAY:
		write_array(w, j);
		break;
	case JSON_STRING:
		write_string(w, json_string_value(j), json_string_length(j));
		break;
	case JSON_INTEGER:
		kw_buf_printf(w->out, "%" JSON_INTEGER_FORMAT, json_integer_value(j));
		break;
	case JSON_REAL:
		write_real(w, json_real_value(j));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		kw_buf_addz(w->out, json_is_true(j) ? "true" : "false");
		break;
	case JSON_NULL:
		kw_buf_addz(w->out, "null");
		break;
	}
}

static enum kw_status dump(const json_t *j, bool pretty, struct kw_buf *out, struct kw_error *err)
{
	struct writer w = { .out = out, .pretty = pretty };

	write_value(&w, j);
	if (w.failed)
		return kw_fail(err, KW_ERR_NOMEM, "",
			       "JSON text cannot be made: no tree, or out of memory");
	if (out->full)
		return kw_fail(err, KW_ERR_LIMIT, "",
			       "JSON text does not fit %zu bytes (or memory is out)",
			       out->max_bytes);
	return KW_OK;
}

enum kw_status kw_json_canonical(const json_t *j, struct kw_buf *out, struct kw_error *err)
{
	return dump(j, false, out, err);
}

enum kw_status kw_json_pretty(const json_t *j, struct kw_buf *out, struct kw_error *err)
{
	return dump(j, true, out, err);
}
