#include "author/fill.h"

#include <stdio.h>
#include <string.h>

struct lines {
	const char *file;
	struct kw_str *line;
	size_t count;
};

bool kw_fill_set(struct kw_fill *f, const char *name, const char *text)
{
	if (f->slot_count == KW_FILL_SLOTS || !text)
		return false;
	f->slot[f->slot_count].name = name;
	f->slot[f->slot_count++].text = text;
	return true;
}

bool kw_fill_list(struct kw_fill *f, const char *name, const struct kw_fill *items, size_t count)
{
	if (f->list_count == KW_FILL_LISTS)
		return false;
	f->list[f->list_count].name = name;
	f->list[f->list_count].items = items;
	f->list[f->list_count++].count = count;
	return true;
}

/* `//< NAME`, or in Python `#< NAME`, gives NAME. */
static bool opens(struct kw_str line, struct kw_str *name)
{
	struct kw_str s = kw_str_trim(line);

	size_t n = kw_str_starts(s, "//<") ? 3 : kw_str_starts(s, "#<") ? 2 : 0;

	if (!n)
		return false;
	*name = kw_str_trim((struct kw_str){ s.ptr + n, s.len - n });
	return true;
}

static bool closes(struct kw_str line)
{
	struct kw_str s = kw_str_trim(line);

	return kw_str_eqz(s, "//>") || kw_str_eqz(s, "#>");
}

static bool header_only(struct kw_str line)
{
	static const char *const words[] = { "pattern ", "title ", "why ", "when ", "roles " };
	struct kw_str s = kw_str_trim(line);

	size_t n = kw_str_starts(s, "//@") ? 3 : kw_str_starts(s, "#@") ? 2 : 0;

	if (!n)
		return false;
	s = kw_str_trim((struct kw_str){ s.ptr + n, s.len - n });
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (kw_str_starts(s, words[i]))
			return true;
	return false;
}

/* The line of the `//>` that belongs to the `//<` at `at`, or count. */
static size_t closing(const struct lines *l, size_t at)
{
	int depth = 0;
	struct kw_str name;

	for (size_t i = at; i < l->count; i++) {
		depth += opens(l->line[i], &name) - closes(l->line[i]);
		if (depth == 0)
			return i;
	}
	return l->count;
}

static size_t indent_of(struct kw_str line)
{
	size_t n = 0;

	while (n < line.len && (line.ptr[n] == '\t' || line.ptr[n] == ' '))
		n++;
	return n;
}

/* Adds text line by line behind the marker's indentation. */
static void add_indented(struct kw_buf *out, struct kw_str marker, const char *text)
{
	struct kw_str rest = kw_str_from(text), line;

	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		if (line.len && line.ptr[0] != '#')
			kw_buf_add(out, marker.ptr, indent_of(marker));
		kw_buf_add(out, line.ptr, line.len);
		kw_buf_addc(out, '\n');
	}
}

static const char *slot_text(const struct kw_fill *f, struct kw_str name)
{
	for (int i = 0; i < f->slot_count; i++)
		if (kw_str_eqz(name, f->slot[i].name))
			return f->slot[i].text;
	return "";
}

static bool list_name(struct kw_str *name)
{
	if (!kw_str_starts(*name, "for "))
		return false;
	*name = kw_str_trim((struct kw_str){ name->ptr + 4, name->len - 4 });
	return true;
}

static enum kw_status walk(const struct lines *l, size_t from, size_t to, const struct kw_fill *f,
			   struct kw_buf *out, struct kw_error *err);

static enum kw_status repeat(const struct lines *l, size_t from, size_t to, const struct kw_fill *f,
			     struct kw_str name, struct kw_buf *out, struct kw_error *err)
{
	for (int i = 0; i < f->list_count; i++) {
		if (!kw_str_eqz(name, f->list[i].name))
			continue;
		for (size_t k = 0; k < f->list[i].count; k++) {
			enum kw_status st = walk(l, from, to, &f->list[i].items[k], out, err);

			if (st != KW_OK)
				return st;
		}
	}
	return KW_OK;
}

static enum kw_status bad_marker(const struct lines *l, size_t at, const char *text,
				 struct kw_error *err)
{
	char where[512];

	snprintf(where, sizeof(where), "%s:%zu", l->file, at + 1);
	return kw_fail(err, KW_ERR_INPUT, where, "%s", text);
}

static enum kw_status walk(const struct lines *l, size_t from, size_t to, const struct kw_fill *f,
			   struct kw_buf *out, struct kw_error *err)
{
	for (size_t i = from; i < to; i++) {
		struct kw_str name;
		enum kw_status st = KW_OK;
		size_t end;

		if (closes(l->line[i]))
			return bad_marker(l, i, "`//>` without a `//<` before it", err);
		if (!opens(l->line[i], &name)) {
			if (!header_only(l->line[i]))
				kw_buf_printf(out, KW_STR_FMT "\n", KW_STR_ARG(l->line[i]));
			continue;
		}
		end = closing(l, i);
		if (end >= to)
			return bad_marker(l, i, "`//<` without its `//>`", err);
		if (list_name(&name))
			st = repeat(l, i + 1, end, f, name, out, err);
		else
			add_indented(out, l->line[i], slot_text(f, name));
		if (st != KW_OK)
			return st;
		i = end;
	}
	return KW_OK;
}

/* Two blank lines, and blank lines before a closing brace, are what empty slots leave behind. */
static void tidy(struct kw_buf *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->len; i++) {
		char c = b->ptr[i];
		size_t k = i + 1;

		if (c == '\n' && n && b->ptr[n - 1] == '\n') {
			while (k < b->len && b->ptr[k] == '\t')
				k++;
			if (n < 2 || b->ptr[n - 2] == '\n' || b->ptr[n - 2] == '{' ||
			    (k < b->len && b->ptr[k] == '}'))
				continue;
		}
		b->ptr[n++] = c;
	}
	b->len = n;
	if (b->ptr)
		b->ptr[n] = '\0';
}

enum kw_status kw_fill_pattern(const char *file, const char *text, size_t len,
			       const struct kw_fill *f, struct kw_buf *out, struct kw_error *err)
{
	struct kw_str rest = { text, len }, line;
	struct lines l = { .file = file };
	struct kw_arena a;
	enum kw_status st;
	size_t n = 1;

	for (size_t i = 0; i < len; i++)
		n += text[i] == '\n';
	kw_arena_init(&a, len * 4 + n * 2 * sizeof(*l.line) + 65536);
	l.line = kw_arena_calloc(&a, n, sizeof(*l.line));
	if (!l.line) {
		kw_arena_release(&a);
		return kw_fail(err, KW_ERR_NOMEM, file, "no memory to fill the pattern");
	}
	while (l.count < n && rest.len && kw_str_split(&rest, '\n', &line))
		l.line[l.count++] = line;
	st = walk(&l, 0, l.count, f, out, err);
	kw_arena_release(&a);
	if (st == KW_OK && out->full)
		return kw_fail(err, KW_ERR_LIMIT, file, "the filled pattern is over %zu bytes",
			       out->max_bytes);
	tidy(out);
	return st;
}

bool kw_fill_has(const char *text, size_t len, const char *name)
{
	struct kw_str rest = { text, len }, line, got;

	while (rest.len && kw_str_split(&rest, '\n', &line))
		if (opens(line, &got) && kw_str_eqz(got, name))
			return true;
	return false;
}

struct kw_str kw_fill_example(const char *text, size_t len, const char *name)
{
	struct kw_str rest = { text, len }, line, got, out = { NULL, 0 };
	int depth = 0;

	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		if (!out.ptr) {
			if (opens(line, &got) && kw_str_eqz(got, name))
				out = (struct kw_str){ rest.ptr, 0 };
			continue;
		}
		depth += opens(line, &got);
		if (closes(line) && depth-- == 0)
			return (struct kw_str){ out.ptr, (size_t)(line.ptr - out.ptr) };
	}
	return (struct kw_str){ "", 0 };
}
