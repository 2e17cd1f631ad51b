/* The header of a pattern file: `//@ pattern NAME family=F backend=B`, title, why, when, roles. The
 * kernel's own plan lines in the same file are read by plan.c. */
#include "core/pattern.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LINES = 32 };

struct reader {
	const char *path;
	int line, column;          /* of the text behind the marker */
	struct kw_arena *arena;
	struct kw_pattern *out;
	struct kw_error *err;
};

__attribute__((format(printf, 2, 3))) static enum kw_status fail(const struct reader *r,
								 const char *fmt, ...)
{
	char where[512], text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(where, sizeof(where), "%.480s:%d:%d", r->path, r->line, r->column);
	return kw_fail(r->err, KW_ERR_INPUT, where, "%s", text);
}

static enum kw_status keep(const struct reader *r, struct kw_str s, const char **out)
{
	*out = kw_arena_str(r->arena, s);
	return *out ? KW_OK : kw_fail(r->err, KW_ERR_NOMEM, r->path, "out of memory");
}

/* The first blank-separated word of *rest. */
static struct kw_str next_word(struct kw_str *rest)
{
	struct kw_str word;

	*rest = kw_str_trim(*rest);
	word = (struct kw_str){ rest->ptr, 0 };
	while (word.len < rest->len && !strchr(" \t", rest->ptr[word.len]))
		word.len++;
	rest->ptr += word.len;
	rest->len -= word.len;
	return word;
}

/* pattern NAME family=F backend=B */
static enum kw_status read_pattern(struct reader *r, struct kw_str rest)
{
	static const char *const keys[] = { "family", "backend" };
	struct kw_str word = next_word(&rest), key;
	enum kw_status s;
	char text[64];
	const char *near;

	if (r->out->name)
		return fail(r, "a second 'pattern' line");
	if (word.len == 0 || memchr(word.ptr, '=', word.len))
		return fail(r, "the pattern's name should follow");
	s = keep(r, word, &r->out->name);
	while (s == KW_OK && (word = next_word(&rest)).len > 0) {
		struct kw_str value = word;

		kw_str_split(&value, '=', &key);
		if (!value.ptr || value.len == 0)
			return fail(r, "'" KW_STR_FMT "' should be KEY=VALUE", KW_STR_ARG(word));
		if (kw_str_eqz(key, "family")) {
			s = keep(r, value, &r->out->family);
		} else if (kw_str_eqz(key, "backend")) {
			s = keep(r, value, &r->out->backend);
		} else {
			snprintf(text, sizeof(text), KW_STR_FMT, (int)(key.len > 60 ? 60 : key.len),
				 key.ptr);
			near = kw_str_nearest(text, keys, 2);
			return fail(r, "unknown key '%s'; did you mean '%s'?", text,
				    near ? near : "family");
		}
	}
	return s;
}

static enum kw_status read_line(struct reader *r, struct kw_str text)
{
	struct kw_str rest = text, word = next_word(&rest);
	struct kw_pattern *p = r->out;
	struct kw_intexpr *e;
	enum kw_status s;

	if (kw_str_eqz(word, "pattern"))
		return read_pattern(r, rest);
	if (kw_str_eqz(word, "title"))
		return keep(r, kw_str_trim(rest), &p->title);
	if (kw_str_eqz(word, "why")) {
		if (p->why_count == MAX_LINES)
			return fail(r, "more than %d 'why' lines", MAX_LINES);
		return keep(r, kw_str_trim(rest), &p->why[p->why_count++]);
	}
	if (!kw_str_eqz(word, "when"))
		return KW_OK; /* roles, and the plan's own lines */
	if (p->when_count == MAX_LINES)
		return fail(r, "more than %d 'when' lines", MAX_LINES);
	s = kw_intexpr_parse(rest, r->path, r->line, r->column + (int)(rest.ptr - text.ptr), r->arena,
			     &e, r->err);
	if (s == KW_OK)
		p->when[p->when_count++] = e;
	return s;
}

static enum kw_status check_complete(struct reader *r)
{
	const struct kw_pattern *p = r->out;
	const char *missing = !p->family ? "family=" : !p->backend ? "backend=" : NULL;

	r->line = r->column = 1;
	if (!p->name)
		return fail(r, "has no line `//@ pattern NAME family=F backend=B`");
	if (missing)
		return fail(r, "the 'pattern' line does not say %s", missing);
	if (!p->title)
		return fail(r, "the pattern has no 'title' line");
	return KW_OK;
}

enum kw_status kw_pattern_parse(const char *path, const char *text, size_t len, struct kw_arena *a,
				struct kw_pattern *out, struct kw_error *err)
{
	struct reader r = { .path = path, .arena = a, .out = out, .err = err };
	struct kw_str rest, line;
	enum kw_status s = KW_OK;

	*out = (struct kw_pattern){ .path = kw_arena_strdup(a, path),
				    .text = kw_arena_strndup(a, text, len),
				    .len = len };
	out->why = kw_arena_calloc(a, MAX_LINES, sizeof(*out->why));
	out->when = kw_arena_calloc(a, MAX_LINES, sizeof(*out->when));
	if (!out->path || !out->text || !out->why || !out->when)
		return kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	rest = (struct kw_str){ out->text, len };
	while (s == KW_OK && kw_str_split(&rest, '\n', &line)) {
		struct kw_str body = kw_str_trim(line);
		size_t mark = kw_str_starts(body, "//@") ? 3 : kw_str_starts(body, "#@") ? 2 : 0;

		r.line++;
		if (mark == 0)
			continue;
		body.ptr += mark;
		body.len -= mark;
		r.column = (int)(body.ptr - line.ptr) + 1;
		s = read_line(&r, body);
	}
	return s == KW_OK ? check_complete(&r) : s;
}
