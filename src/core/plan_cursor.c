/* The small parts that plan lines are made of. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/plan_internal.h"

enum kw_status kw_plan_fail(const struct kw_plan_cursor *c, size_t at, const char *fmt, ...)
{
	char where[512], text[700];
	size_t from = at > 60 ? at - 60 : 0, show = c->text.len - from;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(where, sizeof(where), "%.400s:%d:%d", c->file, c->line, c->column + (int)at);
	return kw_fail(c->err, KW_ERR_INPUT, where, "%s\n    %.*s\n    %*s^", text,
		       (int)(show > 120 ? 120 : show), c->text.ptr + from, (int)(at - from), "");
}

enum kw_status kw_plan_nomem(const struct kw_plan_cursor *c)
{
	return kw_fail(c->err, KW_ERR_NOMEM, c->file, "out of memory");
}

static char here(const struct kw_plan_cursor *c)
{
	return c->at < c->text.len ? c->text.ptr[c->at] : '\0';
}

void kw_plan_blanks(struct kw_plan_cursor *c)
{
	while (here(c) == ' ' || here(c) == '\t' || here(c) == '\r')
		c->at++;
}

bool kw_plan_take(struct kw_plan_cursor *c, char wanted)
{
	kw_plan_blanks(c);
	if (here(c) != wanted)
		return false;
	c->at++;
	return true;
}

bool kw_plan_at_end(struct kw_plan_cursor *c)
{
	kw_plan_blanks(c);
	return c->at >= c->text.len;
}

struct kw_str kw_plan_word(struct kw_plan_cursor *c)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	struct kw_str word;

	kw_plan_blanks(c);
	word = (struct kw_str){ c->text.ptr + c->at, 0 };
	if (here(c) >= '0' && here(c) <= '9')
		return word;
	while (here(c) && strchr(letters, here(c))) {
		c->at++;
		word.len++;
	}
	return word;
}

struct kw_plan_cursor kw_plan_part(const struct kw_plan_cursor *c, size_t from, size_t to)
{
	struct kw_plan_cursor part = *c;

	part.text = (struct kw_str){ c->text.ptr + from, to - from };
	part.column = c->column + (int)from;
	part.at = 0;
	return part;
}

size_t kw_plan_closing(const struct kw_plan_cursor *c, size_t at)
{
	int depth = 0;

	for (; at < c->text.len; at++) {
		char b = c->text.ptr[at];

		if (b == '(' || b == '[' || b == '{')
			depth++;
		else if ((b == ')' || b == ']' || b == '}') && --depth <= 0)
			break;
	}
	return at;
}

enum kw_status kw_plan_list(struct kw_plan_cursor *c, char open, size_t max,
			    struct kw_plan_cursor *parts, size_t *count)
{
	size_t start, end, from;
	char close = open == '(' ? ')' : open == '{' ? '}' : ']';

	*count = 0;
	kw_plan_blanks(c);
	start = c->at;
	if (!kw_plan_take(c, open))
		return kw_plan_fail(c, c->at, "'%c' should follow", open);
	end = kw_plan_closing(c, start);
	if (end >= c->text.len || c->text.ptr[end] != close)
		return kw_plan_fail(c, start, "the '%c' that closes this is missing", close);
	c->at = end + 1;
	from = start + 1;
	if (kw_str_trim((struct kw_str){ c->text.ptr + from, end - from }).len == 0)
		return KW_OK;
	for (size_t i = from; i <= end; i++) {
		char b = c->text.ptr[i];

		if (i < end && (b == '(' || b == '[' || b == '{')) {
			i = kw_plan_closing(c, i);
			if (i >= end)
				return kw_plan_fail(c, from, "brackets that do not match");
			continue;
		}
		if (i < end && b != ',')
			continue;
		if (*count == max)
			return kw_plan_fail(c, from, "more than %zu entries", max);
		parts[(*count)++] = kw_plan_part(c, from, i);
		from = i + 1;
	}
	return KW_OK;
}

int kw_plan_tensor_index(const struct kw_task *t, const char *name)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (strcmp(t->inputs[i].name, name) == 0)
			return t->inputs[i].inout ? (int)t->input_count + t->inputs[i].partner : (int)i;
	for (size_t i = 0; i < t->output_count; i++)
		if (strcmp(t->outputs[i].name, name) == 0)
			return (int)(t->input_count + i);
	return -1;
}

/* Checks the names of an expression; *near is a known name that looks like it, or NULL. */
struct names {
	const struct kw_plan_cursor *c;
	char unknown[80];
	const char *near;
	char near_text[128];
};

static void check_dotted(struct names *n, const char *name, const char *dot)
{
	static const char *const parts[] = { "contiguous", "align",   "stride0", "dim0",    "stride1",
					     "dim1",       "stride2", "dim2",    "stride3", "dim3",
					     "stride4",    "dim4",    "stride5", "dim5",    "stride6",
					     "dim6",       "stride7", "dim7" };
	const struct kw_task *t = n->c->task;
	const struct kw_tensor_decl *d;
	char tensor[80];
	const char *near;
	int index;

	snprintf(tensor, sizeof(tensor), "%.*s", (int)(dot - name), name);
	snprintf(n->unknown, sizeof(n->unknown), "%s", name);
	index = kw_plan_tensor_index(t, tensor);
	if (index < 0)
		return;
	d = (size_t)index < t->input_count ? &t->inputs[index] : &t->outputs[index - t->input_count];
	for (int i = 0; i < 2 + 2 * d->rank; i++)
		if (strcmp(parts[i], dot + 1) == 0)
			n->unknown[0] = '\0';
	near = kw_str_nearest(dot + 1, parts, 2 + 2 * (size_t)d->rank);
	if (near && n->unknown[0]) {
		snprintf(n->near_text, sizeof(n->near_text), "%s.%s", tensor, near);
		n->near = n->near_text;
	}
}

static void check_name(void *arg, const char *name)
{
	static const char *const facts[] = { "sm", "cores", "simd_bytes", "smem_bytes" };
	struct names *n = arg;
	const struct kw_plan *p = n->c->plan;
	const struct kw_task *t = n->c->task;
	const char *known[KW_PLAN_MAX_LINES * 2 + 64];
	const char *dot = strchr(name, '.');
	size_t count = 0;

	if (n->unknown[0])
		return;
	if (dot) {
		check_dotted(n, name, dot);
		return;
	}
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		known[count++] = facts[i];
	for (size_t i = 0; i < t->dim_count; i++)
		known[count++] = t->dims[i].name;
	for (size_t i = 0; i < p->tune_count; i++)
		known[count++] = p->tunes[i].name;
	for (size_t i = 0; i < p->define_count; i++)
		known[count++] = p->defines[i].name;
	for (size_t i = 0; i < count; i++)
		if (strcmp(known[i], name) == 0)
			return;
	n->near = kw_str_nearest(name, known, count);
	snprintf(n->unknown, sizeof(n->unknown), "%s", name);
}

/* Where a whole word stands in the text. */
static size_t find_word(struct kw_str text, const char *word)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.";
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= text.len; i++)
		if (memcmp(text.ptr + i, word, n) == 0 &&
		    (i == 0 || !strchr(letters, text.ptr[i - 1])) &&
		    (i + n == text.len || !strchr(letters, text.ptr[i + n])))
			return i;
	return 0;
}

enum kw_status kw_plan_expr(struct kw_plan_cursor *c, const struct kw_intexpr **out)
{
	struct kw_str rest = { c->text.ptr + c->at, c->text.len - c->at };
	struct kw_intexpr *e = NULL;
	struct names names = { .c = c };
	size_t at = c->at;
	enum kw_status s = kw_intexpr_parse(rest, c->file, c->line, c->column + (int)at, c->arena, &e,
					    c->err);

	if (s != KW_OK)
		return s;
	*out = e;
	c->at = c->text.len;
	if (!c->task)
		return KW_OK;
	kw_intexpr_names(e, check_name, &names);
	if (!names.unknown[0])
		return KW_OK;
	at += find_word(rest, names.unknown);
	if (names.near)
		return kw_plan_fail(c, at, "unknown name '%s'; did you mean '%s'?", names.unknown,
				    names.near);
	return kw_plan_fail(c, at, "unknown name '%s'; an expression knows the task's dims, tune and "
				   "define names, x.stride0, x.align and the like of a tensor x, and "
				   "sm, cores, simd_bytes, smem_bytes",
			    names.unknown);
}

enum kw_status kw_plan_exprs(struct kw_plan_cursor *c, char open, size_t max,
			     const struct kw_intexpr **out, int *count)
{
	struct kw_plan_cursor parts[KW_MAX_RANK];
	size_t n;
	enum kw_status s = kw_plan_list(c, open, max, parts, &n);

	for (size_t i = 0; i < n && s == KW_OK; i++)
		s = kw_plan_expr(&parts[i], &out[i]);
	*count = (int)n;
	return s;
}
