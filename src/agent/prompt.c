#include "agent/prompt.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

enum { PROMPT_MAX_BYTES = 64 << 20, DROPPED_MAX = 256, NESTING_MAX = 3 };

static const struct {
	const char *name, *text;
} roles[] = {
#define X(e, name, text) { name, text },
	KW_ROLE_LIST(X)
#undef X
};
static const struct {
	const char *name;
	int worth;
	const char *meaning;
} places[] = {
#define X(name, worth, meaning) { #name, worth, meaning },
#include "agent/placeholders.def"
#undef X
};

const char *kw_role_name(enum kw_role r)
{
	return (unsigned)r < KW_ROLE_COUNT ? roles[r].name : "unknown";
}

const char *kw_role_text(enum kw_role r)
{
	return (unsigned)r < KW_ROLE_COUNT ? roles[r].text : "unknown";
}

static enum kw_status unknown(const char *where, const char *what, const char *word, const char *const *words, size_t count,
			      enum kw_status status, struct kw_error *err)
{
	const char *near = kw_str_nearest(word, words, count);
	struct kw_buf all;

	if (near)
		return kw_fail(err, status, where, "no %s '%.60s'; did you mean '%s'?", what, word, near);
	kw_buf_init(&all, 4096);
	for (size_t i = 0; i < count; i++)
		kw_buf_printf(&all, "%s%s", i ? ", " : "", words[i]);
	kw_fail(err, status, where, "no %s '%.60s'; there are %s", what, word, all.ptr ? all.ptr : "none");
	kw_buf_release(&all);
	return status;
}

enum kw_status kw_role_parse(const char *name, enum kw_role *out, struct kw_error *err)
{
	const char *words[KW_ROLE_COUNT];

	for (int i = 0; i < KW_ROLE_COUNT; i++) {
		words[i] = roles[i].name;
		if (strcmp(name, words[i]) == 0) {
			*out = (enum kw_role)i;
			return KW_OK;
		}
	}
	return unknown("", "role", name, words, KW_ROLE_COUNT, KW_ERR_USAGE, err);
}

bool kw_prompt_placeholder(size_t n, const char **name, int *worth, const char **meaning)
{
	if (n >= KW_PLACE_COUNT)
		return false;
	*name = places[n].name;
	*worth = places[n].worth;
	*meaning = places[n].meaning;
	return true;
}

/* ---- filling in ---- */

struct maker {
	const struct kw_prompt_facts *facts;
	struct kw_arena *arena;
	struct kw_part parts[KW_PLACE_COUNT];
	bool filled[KW_PLACE_COUNT];
	const char *file;
	struct kw_error *err;
};

static int line_of(const char *text, const char *at)
{
	int n = 1;

	for (const char *p = text; p < at; p++)
		n += *p == '\n';
	return n;
}

static enum kw_status find_place(const struct maker *m, const char *text, struct kw_str name, enum kw_placeholder *out)
{
	const char *words[KW_PLACE_COUNT];
	char word[64], where[300];

	for (int i = 0; i < KW_PLACE_COUNT; i++) {
		words[i] = places[i].name;
		if (kw_str_eqz(name, words[i])) {
			*out = (enum kw_placeholder)i;
			return KW_OK;
		}
	}
	snprintf(word, sizeof(word), KW_STR_FMT, (int)(name.len < 60 ? name.len : 60), name.ptr);
	snprintf(where, sizeof(where), "%s:%d", m->file, line_of(text, name.ptr));
	return unknown(where, "placeholder", word, words, KW_PLACE_COUNT, KW_ERR_INPUT, m->err);
}

static enum kw_status need(struct maker *m, enum kw_placeholder p)
{
	enum kw_status status;

	if (m->filled[p])
		return KW_OK;
	m->filled[p] = true;
	status = kw_part_fill(p, m->facts, m->arena, &m->parts[p], m->err);
	m->parts[p].kept = m->parts[p].count;
	return status;
}

static enum kw_status expand(struct maker *m, const char *whole, struct kw_str text, int nesting, struct kw_buf *out,
			     bool *asked, bool *told);

/* What stands for a placeholder; parts from files may hold placeholders of their own. */
static enum kw_status put_part(struct maker *m, enum kw_placeholder p, int nesting, struct kw_buf *out, bool *told)
{
	const struct kw_part *part = &m->parts[p];
	enum kw_status status = KW_OK;

	for (size_t i = 0; i < part->kept && status == KW_OK; i++) {
		struct kw_str item = kw_str_from(part->item[i]);
		bool ignored = false;

		while (item.len && item.ptr[item.len - 1] == '\n')
			item.len--;
		*told = *told || item.len > 0;
		if (i)
			kw_buf_addc(out, '\n');
		if (p == KW_PLACE_plan_lines && nesting < NESTING_MAX)
			status = expand(m, part->item[i], item, nesting + 1, out, &ignored, &ignored);
		else
			kw_buf_add(out, item.ptr, item.len);
	}
	return status;
}

static enum kw_status expand(struct maker *m, const char *whole, struct kw_str text, int nesting, struct kw_buf *out,
			     bool *asked, bool *told)
{
	const char *end = text.ptr + text.len, *p = text.ptr;

	while (p < end) {
		const char *open = memmem(p, (size_t)(end - p), "{{", 2), *close;
		enum kw_placeholder place;
		enum kw_status status;

		if (!open) {
			kw_buf_add(out, p, (size_t)(end - p));
			break;
		}
		close = memmem(open, (size_t)(end - open), "}}", 2);
		if (!close)
			return kw_fail(m->err, KW_ERR_INPUT, m->file, "line %d: a placeholder is not closed by }}",
				       line_of(whole, open));
		kw_buf_add(out, p, (size_t)(open - p));
		status = find_place(m, whole, (struct kw_str){ open + 2, (size_t)(close - open - 2) }, &place);
		if (status == KW_OK)
			status = need(m, place);
		/* A section lives by its own part, not by the words in its text. */
		if (status == KW_OK && (open == text.ptr || open[-1] == '\n'))
			*asked = true;
		if (status == KW_OK)
			status = put_part(m, place, nesting, out, told);
		if (status != KW_OK)
			return status;
		p = close + 2;
	}
	return KW_OK;
}

/* The next section: from a "## " line (or the beginning) to the next. */
static struct kw_str next_section(struct kw_str *rest)
{
	struct kw_str out = { rest->ptr, rest->len };
	const char *stop = rest->len ? memmem(rest->ptr + 1, rest->len - 1, "\n## ", 4) : NULL;

	if (stop)
		out.len = (size_t)(stop + 1 - rest->ptr);
	*rest = (struct kw_str){ rest->ptr + out.len, rest->len - out.len };
	return out;
}

static enum kw_status write_all(struct maker *m, const char *template, struct kw_buf *out)
{
	struct kw_str rest = kw_str_from(template);
	enum kw_status status = KW_OK;

	kw_buf_reset(out);
	while (rest.len && status == KW_OK) {
		struct kw_str section = next_section(&rest);
		bool asked = false, told = false;
		size_t before = out->len;

		status = expand(m, template, section, 0, out, &asked, &told);
		if (asked && !told)
			out->len = before;
	}
	if (out->ptr)
		out->ptr[out->len] = '\0';
	if (status == KW_OK && out->full)
		status = kw_fail(m->err, KW_ERR_NOMEM, m->file, "out of memory for a prompt");
	return status;
}

/* The least useful item that is still there; KW_PLACE_COUNT: none can go. */
static enum kw_placeholder least(const struct maker *m)
{
	enum kw_placeholder worst = KW_PLACE_COUNT;

	for (int i = 0; i < KW_PLACE_COUNT; i++)
		if (places[i].worth && m->parts[i].kept &&
		    (worst == KW_PLACE_COUNT || places[i].worth > places[worst].worth))
			worst = (enum kw_placeholder)i;
	return worst;
}

static enum kw_status shrink(struct maker *m, const char *template, size_t max_bytes, struct kw_buf *text,
			     struct kw_prompt *out)
{
	enum kw_status status = write_all(m, template, text);

	while (status == KW_OK && text->len > max_bytes) {
		enum kw_placeholder p = least(m);
		struct kw_part *part;

		out->len = text->len;
		if (p == KW_PLACE_COUNT)
			return kw_fail(m->err, KW_ERR_LIMIT, m->file, "what the model must be told has %zu bytes, and at most %zu "
				       "may be sent", text->len, max_bytes);
		part = &m->parts[p];
		part->kept--;
		if (out->dropped_count < DROPPED_MAX)
			out->dropped[out->dropped_count++] = part->label[part->kept] ? part->label[part->kept] : places[p].name;
		status = write_all(m, template, text);
	}
	return status;
}

enum kw_status kw_prompt_make(enum kw_role role, const struct kw_prompt_facts *f, size_t max_bytes, struct kw_arena *a,
			      struct kw_prompt *out, struct kw_error *err)
{
	struct maker *m = kw_calloc(1, sizeof(*m));
	struct kw_buf text;
	char *template;
	enum kw_status status;

	*out = (struct kw_prompt){ .text = "", .dropped = kw_arena_calloc(a, DROPPED_MAX, sizeof(char *)) };
	if (!m || !out->dropped) {
		kw_free(m);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a prompt");
	}
	*m = (struct maker){ .facts = f, .arena = a, .err = err };
	kw_buf_init(&text, PROMPT_MAX_BYTES);
	m->file = kw_arena_printf(a, "prompts/%s.md", kw_role_name(role));
	status = m->file ? kw_data_read(m->file, a, &template, NULL, err)
			 : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a prompt");
	if (status == KW_OK)
		status = shrink(m, template, max_bytes, &text, out);
	if (status == KW_OK) {
		out->text = kw_arena_strndup(a, text.ptr ? text.ptr : "", text.len);
		out->len = text.len;
		if (!out->text)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a prompt");
	}
	kw_buf_release(&text);
	kw_free(m);
	return status;
}
