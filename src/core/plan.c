/* Plan lines of a candidate: which lines they are, and every keyword but `kernel`. */
#include "core/plan.h"

#include <stdio.h>
#include <string.h>

#include "core/plan_internal.h"
#include "core/task_internal.h"

struct reader {
	struct kw_plan *plan;
	struct kw_plan_cursor base; /* file, arena, err, task, plan */
};

typedef enum kw_status (*read_fn)(struct reader *r, struct kw_plan_cursor *c);

/* A name that a line declares; nothing else may be called so. */
static enum kw_status read_name(struct reader *r, struct kw_plan_cursor *c, const char **out)
{
	size_t at;
	struct kw_str word;
	const struct kw_task *t = c->task;
	const struct kw_plan *p = r->plan;
	bool taken = false;
	char *name;

	kw_plan_blanks(c);
	at = c->at;
	word = kw_plan_word(c);
	if (word.len == 0)
		return kw_plan_fail(c, at, "a name should follow");
	if (word.len > KW_CORE_MAX_NAME)
		return kw_plan_fail(c, at, "a name of more than %d characters", KW_CORE_MAX_NAME);
	name = kw_arena_str(c->arena, word);
	if (!name)
		return kw_plan_nomem(c);
	if (kw_core_is_reserved(name) || strncmp(name, "__", 2) == 0)
		return kw_plan_fail(c, at, "'%s' is reserved and cannot be a name", name);
	for (size_t i = 0; i < p->define_count; i++)
		taken = taken || strcmp(p->defines[i].name, name) == 0;
	for (size_t i = 0; i < p->tune_count; i++)
		taken = taken || strcmp(p->tunes[i].name, name) == 0;
	for (size_t i = 0; i < p->workspace_count; i++)
		taken = taken || strcmp(p->workspaces[i].name, name) == 0;
	for (size_t i = 0; i < p->tensormap_count; i++)
		taken = taken || strcmp(p->tensormaps[i].name, name) == 0;
	if (taken)
		return kw_plan_fail(c, at, "'%s' is declared already", name);
	taken = t && kw_plan_tensor_index(t, name) >= 0;
	for (size_t i = 0; t && i < t->dim_count; i++)
		taken = taken || strcmp(t->dims[i].name, name) == 0;
	for (size_t i = 0; t && i < t->param_count; i++)
		taken = taken || strcmp(t->params[i].name, name) == 0;
	if (taken)
		return kw_plan_fail(c, at, "'%s' is a name of the task already", name);
	*out = name;
	return KW_OK;
}

static enum kw_status expect_end(struct kw_plan_cursor *c)
{
	return kw_plan_at_end(c) ? KW_OK : kw_plan_fail(c, c->at, "nothing should follow here");
}

/* kernel … */
static enum kw_status read_kernel(struct reader *r, struct kw_plan_cursor *c)
{
	struct kw_plan *p = r->plan;
	enum kw_status s = kw_plan_read_kernel(c, &p->kernels[p->kernel_count]);

	p->kernel_count += s == KW_OK;
	return s;
}

/* workspace NAME f32[rows, 2] [zero] */
static enum kw_status read_workspace(struct reader *r, struct kw_plan_cursor *c)
{
	struct kw_plan_workspace *w = &r->plan->workspaces[r->plan->workspace_count];
	struct kw_str word;
	const char *near;
	char text[64];
	size_t at;
	enum kw_status s = read_name(r, c, &w->name);

	if (s != KW_OK)
		return s;
	kw_plan_blanks(c);
	at = c->at;
	word = kw_plan_word(c);
	w->line = c->line;
	w->dtype = kw_dtype_parse(word);
	if (w->dtype == KW_DTYPE_NONE) {
		snprintf(text, sizeof(text), KW_STR_FMT, (int)(word.len > 60 ? 60 : word.len),
			 word.ptr);
		near = kw_dtype_nearest(text);
		return kw_plan_fail(c, at, "unknown dtype '%s'; did you mean '%s'?", text,
				    near ? near : "f32");
	}
	s = kw_plan_exprs(c, '[', KW_MAX_RANK, w->shape, &w->rank);
	if (s != KW_OK)
		return s;
	kw_plan_blanks(c);
	at = c->at;
	word = kw_plan_word(c);
	w->zero = kw_str_eqz(word, "zero");
	if (word.len && !w->zero)
		return kw_plan_fail(c, at, "unknown word '" KW_STR_FMT "'; only 'zero' can follow",
				    KW_STR_ARG(word));
	r->plan->workspace_count++;
	return expect_end(c);
}

/* tensormap … */
static enum kw_status read_tensormap(struct reader *r, struct kw_plan_cursor *c)
{
	struct kw_plan_tensormap *m = &r->plan->tensormaps[r->plan->tensormap_count];
	enum kw_status s = read_name(r, c, &m->name);

	if (s == KW_OK)
		s = kw_plan_read_tensormap(c, m);
	r->plan->tensormap_count += s == KW_OK;
	return s;
}

/* define NAME = EXPR */
static enum kw_status read_define(struct reader *r, struct kw_plan_cursor *c)
{
	struct kw_plan_define *d = &r->plan->defines[r->plan->define_count];
	enum kw_status s = read_name(r, c, &d->name);

	if (s != KW_OK)
		return s;
	if (!kw_plan_take(c, '='))
		return kw_plan_fail(c, c->at, "'= EXPRESSION' should follow");
	d->line = c->line;
	s = kw_plan_expr(c, &d->expr);
	r->plan->define_count += s == KW_OK;
	return s;
}

static enum kw_status read_values(struct kw_plan_cursor *c, struct kw_plan_tune *t)
{
	struct kw_plan_cursor *parts =
		kw_arena_calloc(c->arena, KW_PLAN_MAX_VALUES, sizeof(*parts));
	size_t start;
	enum kw_status s;

	if (!parts)
		return kw_plan_nomem(c);
	kw_plan_blanks(c);
	start = c->at;
	s = kw_plan_list(c, '{', KW_PLAN_MAX_VALUES, parts, &t->value_count);
	if (s != KW_OK)
		return s;
	if (t->value_count == 0)
		return kw_plan_fail(c, start, "a tune line needs at least one value");
	t->values = kw_arena_calloc(c->arena, t->value_count, sizeof(*t->values));
	if (!t->values)
		return kw_plan_nomem(c);
	for (size_t i = 0; i < t->value_count; i++) {
		if (!kw_str_to_i64(kw_str_trim(parts[i].text), &t->values[i]))
			return kw_plan_fail(&parts[i], 0, "a tune value must be a whole number");
		for (size_t j = 0; j < i; j++)
			if (t->values[j] == t->values[i])
				return kw_plan_fail(&parts[i], 0, "the value %lld is there already",
						    (long long)t->values[i]);
	}
	return KW_OK;
}

/* tune NAME in {1, 2, 4} default 2 */
static enum kw_status read_tune(struct reader *r, struct kw_plan_cursor *c)
{
	struct kw_plan_tune *t = &r->plan->tunes[r->plan->tune_count];
	struct kw_str word;
	size_t at, i = 0;
	enum kw_status s = read_name(r, c, &t->name);

	if (s != KW_OK)
		return s;
	t->line = c->line;
	kw_plan_blanks(c);
	at = c->at;
	if (!kw_str_eqz(kw_plan_word(c), "in"))
		return kw_plan_fail(c, at, "'in {1, 2, 4}' should follow");
	s = read_values(c, t);
	if (s != KW_OK)
		return s;
	kw_plan_blanks(c);
	at = c->at;
	t->default_value = t->values[0];
	if (kw_plan_at_end(c)) {
		r->plan->tune_count++;
		return KW_OK;
	}
	if (!kw_str_eqz(kw_plan_word(c), "default"))
		return kw_plan_fail(c, at, "'default VALUE' should follow");
	kw_plan_blanks(c);
	at = c->at;
	word = kw_str_trim((struct kw_str){ c->text.ptr + at, c->text.len - at });
	if (!kw_str_to_i64(word, &t->default_value))
		return kw_plan_fail(c, at, "the default must be a whole number");
	while (i < t->value_count && t->values[i] != t->default_value)
		i++;
	if (i == t->value_count)
		return kw_plan_fail(c, at, "the default %lld is not one of the values",
				    (long long)t->default_value);
	r->plan->tune_count++;
	return KW_OK;
}

static enum kw_status read_where(struct reader *r, struct kw_plan_cursor *c)
{
	return kw_plan_expr(c, &r->plan->wheres[r->plan->where_count++]);
}

static enum kw_status read_require(struct reader *r, struct kw_plan_cursor *c)
{
	return kw_plan_expr(c, &r->plan->requires[r->plan->require_count++]);
}

/* flags -ffast-math -funroll-loops: whether they are allowed, the backend says. */
static enum kw_status read_flags(struct reader *r, struct kw_plan_cursor *c)
{
	if (kw_plan_at_end(c))
		return kw_plan_fail(c, c->at, "a compiler flag should follow");
	while (!kw_plan_at_end(c)) {
		size_t at = c->at;
		const char *flag;

		while (c->at < c->text.len && !strchr(" \t\r", c->text.ptr[c->at]))
			c->at++;
		if (c->text.ptr[at] != '-')
			return kw_plan_fail(c, at, "a compiler flag begins with '-'");
		if (r->plan->flag_count == KW_PLAN_MAX_LINES)
			return kw_plan_fail(c, at, "more than %d flags", KW_PLAN_MAX_LINES);
		flag = kw_arena_strndup(c->arena, c->text.ptr + at, c->at - at);
		if (!flag)
			return kw_plan_nomem(c);
		r->plan->flags[r->plan->flag_count++] = flag;
	}
	return KW_OK;
}

/* In this order they are read: expressions know all tune names and the defines above them;
 * arguments know the workspaces and tensor maps. The words of a pattern's header are skipped. */
static const char *const keywords[] = { "tune",	   "define",  "workspace", "tensormap", "kernel",
					"where",   "require", "flags",	   "pattern",	"title",
					"why",	   "when",    "roles" };
enum { KEYWORDS = sizeof(keywords) / sizeof(keywords[0]), OWN_KEYWORDS = 8 };
static const read_fn readers[OWN_KEYWORDS] = { read_tune,   read_define, read_workspace,
					       read_tensormap, read_kernel, read_where,
					       read_require, read_flags };

const char *const *kw_plan_keywords(size_t *count)
{
	*count = OWN_KEYWORDS;
	return keywords;
}

static size_t line_count(const struct kw_plan *p, int keyword)
{
	const size_t counts[OWN_KEYWORDS] = { p->tune_count,	  p->define_count,
					      p->workspace_count, p->tensormap_count,
					      p->kernel_count,	  p->where_count,
					      p->require_count,	  0 };

	return counts[keyword];
}

/* True when the line is a plan line; *c then begins behind the marker. */
static bool is_plan_line(struct kw_str line, struct kw_plan_cursor *c)
{
	size_t blank = 0, mark;

	while (blank < line.len && (line.ptr[blank] == ' ' || line.ptr[blank] == '\t'))
		blank++;
	line.ptr += blank;
	line.len -= blank;
	mark = kw_str_starts(line, "//@") ? 3 : kw_str_starts(line, "#@") ? 2 : 0;
	if (mark == 0)
		return false;
	c->text = (struct kw_str){ line.ptr + mark, line.len - mark };
	if (c->text.len && c->text.ptr[c->text.len - 1] == '\r')
		c->text.len--;
	c->column = (int)(blank + mark) + 1;
	c->at = 0;
	return true;
}

/* Which keyword a line begins with; KEYWORDS for an empty line. */
static enum kw_status read_keyword(struct kw_plan_cursor *c, int *out)
{
	struct kw_str word;
	char text[64];
	const char *near;
	size_t at;

	*out = KEYWORDS;
	if (kw_plan_at_end(c))
		return KW_OK;
	at = c->at;
	word = kw_plan_word(c);
	for (int i = 0; i < KEYWORDS; i++) {
		if (kw_str_eqz(word, keywords[i])) {
			*out = i;
			return KW_OK;
		}
	}
	if (word.len == 0)
		return kw_plan_fail(c, at, "a plan line begins with a word like 'kernel'");
	snprintf(text, sizeof(text), KW_STR_FMT, (int)(word.len > 60 ? 60 : word.len), word.ptr);
	near = kw_str_nearest(text, keywords, OWN_KEYWORDS);
	if (near)
		return kw_plan_fail(c, at, "unknown plan line '%s'; did you mean '%s'?", text, near);
	return kw_plan_fail(c, at, "unknown plan line '%s'; there are tune, define, workspace, "
				   "tensormap, kernel, where, require and flags",
			    text);
}

/* Reads all lines that begin with one keyword. */
static enum kw_status read_pass(struct reader *r, struct kw_str text, int keyword)
{
	struct kw_str line;
	struct kw_plan_cursor c = r->base;
	enum kw_status s = KW_OK;
	int found;

	c.line = 0;
	while (s == KW_OK && kw_str_split(&text, '\n', &line)) {
		c.line++;
		if (!is_plan_line(line, &c))
			continue;
		s = read_keyword(&c, &found);
		if (s != KW_OK || found != keyword)
			continue;
		if (line_count(r->plan, keyword) == KW_PLAN_MAX_LINES)
			return kw_plan_fail(&c, 0, "more than %d '%s' lines", KW_PLAN_MAX_LINES,
					    keywords[keyword]);
		s = readers[keyword](r, &c);
	}
	return s;
}

static bool alloc_lists(struct kw_plan *p, struct kw_arena *a)
{
	p->kernels = kw_arena_calloc(a, KW_PLAN_MAX_LINES, sizeof(*p->kernels));
	p->workspaces = kw_arena_calloc(a, KW_PLAN_MAX_LINES, sizeof(*p->workspaces));
	p->tensormaps = kw_arena_calloc(a, KW_PLAN_MAX_LINES, sizeof(*p->tensormaps));
	p->defines = kw_arena_calloc(a, KW_PLAN_MAX_LINES, sizeof(*p->defines));
	p->tunes = kw_arena_calloc(a, KW_PLAN_MAX_LINES, sizeof(*p->tunes));
	p->wheres = kw_arena_calloc(a, KW_PLAN_MAX_LINES, sizeof(*p->wheres));
	p->requires = kw_arena_calloc(a, KW_PLAN_MAX_LINES, sizeof(*p->requires));
	p->flags = kw_arena_calloc(a, KW_PLAN_MAX_LINES, sizeof(*p->flags));
	return p->kernels && p->workspaces && p->tensormaps && p->defines && p->tunes && p->wheres &&
	       p->requires && p->flags;
}

enum kw_status kw_plan_parse(const char *file, const char *text, size_t len,
			     const struct kw_task *task, struct kw_arena *a, struct kw_plan *out,
			     struct kw_error *err)
{
	struct reader r = { .plan = out };
	enum kw_status s = KW_OK;

	*out = (struct kw_plan){ 0 };
	file = kw_arena_strdup(a, file);
	if (!file || !alloc_lists(out, a))
		return kw_fail(err, KW_ERR_NOMEM, file, "out of memory");
	out->file = file;
	r.base = (struct kw_plan_cursor){
		.file = file, .arena = a, .err = err, .task = task, .plan = out
	};
	for (int k = 0; k < OWN_KEYWORDS && s == KW_OK; k++)
		s = read_pass(&r, (struct kw_str){ text, len }, k);
	if (s == KW_OK && out->kernel_count == 0)
		return kw_fail(err, KW_ERR_INPUT, file,
			       "has no kernel line; write one like `//@ kernel NAME args=(x, y, "
			       "rows:i64)` (#@ in Python) on top");
	return s;
}
