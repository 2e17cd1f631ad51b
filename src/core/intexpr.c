#include "core/intexpr.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 128, MAX_NODES = 2048, MAX_ARGS = 16, MAX_NAME = 64 };

enum node_kind { NODE_NUMBER, NODE_NAME, NODE_NOT, NODE_NEG, NODE_BINARY, NODE_CHOICE, NODE_CALL };
enum binary { MUL, DIV, MOD, ADD, SUB, LE, LT, GE, GT, EQ, NE, AND, OR };
enum call { CALL_MIN, CALL_MAX, CALL_CDIV };

struct node {
	enum node_kind kind;
	int op;                    /* enum binary, enum call */
	size_t at;                 /* offset in the text, for messages */
	int64_t value;
	const char *name;
	struct node *arg[3];       /* CHOICE: condition, then, else */
	struct node **args;        /* CALL */
	size_t arg_count;
};

struct kw_intexpr {
	const char *text, *file;
	int line, column;
	const struct node *root;
};

/* By precedence, lowest first; longer spellings stand before their prefixes. */
static const struct {
	const char *text;
	enum binary op;
	int level;
} operators[] = {
	{ "||", OR, 0 }, { "&&", AND, 1 }, { "==", EQ, 2 }, { "!=", NE, 2 }, { "<=", LE, 3 },
	{ ">=", GE, 3 }, { "<", LT, 3 },   { ">", GT, 3 },  { "+", ADD, 4 }, { "-", SUB, 4 },
	{ "*", MUL, 5 }, { "/", DIV, 5 },  { "%", MOD, 5 },
};
enum { LEVELS = 6, LEVEL_EQUALITY = 2, LEVEL_ORDER = 3 };

/* What other languages write, and what we write. */
static const struct {
	const char *text, *hint;
} foreign[] = {
	{ "**", "there is no power operator; multiply" },
	{ "//", "division is written / (it truncates)" },
	{ "<<", "there are no shifts; multiply" },
	{ ">>", "there are no shifts; divide" },
	{ "&", "write && for 'and'; there is no bitwise &" },
	{ "|", "write || for 'or'; there is no bitwise |" },
	{ "=", "write == to compare" },
	{ "and ", "write && for 'and'" },
	{ "or ", "write || for 'or'" },
	{ "not ", "write ! for 'not'" },
	{ "if ", "write CONDITION ? A : B" },
};

static const char *const call_names[] = { "min", "max", "cdiv" };

struct parser {
	const struct kw_intexpr *e;
	struct kw_arena *arena;
	struct kw_error *err;
	size_t at;
	int depth, nodes;
	enum kw_status status;
};

/* "TEXT", then the expression with a caret below. The caret goes below the byte at `at`: all that can
 * stand before it is ASCII. */
static enum kw_status fail_at(const struct kw_intexpr *e, size_t at, struct kw_error *err,
			      enum kw_status s, const char *text)
{
	char where[512], first[2048];
	size_t len = strlen(e->text), from = at > 60 ? at - 60 : 0;
	int show = (int)(len - from > 120 ? 120 : len - from);

	snprintf(where, sizeof(where), "%s:%d:%d", e->file, e->line, e->column + (int)at);
	snprintf(first, sizeof(first), "%s\n    %.*s\n    %*s^", text, show, e->text + from,
		 (int)(at - from), "");
	return kw_fail(err, s, e->line ? where : e->file, "%s", first);
}

__attribute__((format(printf, 3, 4))) static struct node *fail(struct parser *p, size_t at,
								const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* The first complaint is the cause. */
	if (p->status == KW_OK)
		p->status = fail_at(p->e, at, p->err, KW_ERR_INPUT, text);
	return NULL;
}

static void skip_blanks(struct parser *p)
{
	while (p->e->text[p->at] && strchr(" \t\r\n", p->e->text[p->at]))
		p->at++;
}

static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct node *make(struct parser *p, enum node_kind kind, size_t at)
{
	struct node *n;

	if (++p->nodes > MAX_NODES)
		return fail(p, at, "the expression is too long");
	n = kw_arena_calloc(p->arena, 1, sizeof(*n));
	if (!n) {
		if (p->status == KW_OK)
			p->status = kw_fail(p->err, KW_ERR_NOMEM, p->e->file, "out of memory");
		return NULL;
	}
	n->kind = kind;
	n->at = at;
	return n;
}

static struct node *parse_choice(struct parser *p);

static bool take(struct parser *p, const char *text)
{
	skip_blanks(p);
	if (strncmp(p->e->text + p->at, text, strlen(text)) != 0)
		return false;
	p->at += strlen(text);
	return true;
}

/* Says what stands where something else should. */
static struct node *fail_token(struct parser *p, const char *wanted)
{
	const char *at;

	skip_blanks(p);
	at = p->e->text + p->at;
	if (!*at)
		return fail(p, p->at, "the expression ends where %s should follow", wanted);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (strncmp(at, foreign[i].text, strlen(foreign[i].text)) == 0 &&
		    (foreign[i].text[1] || at[1] != at[0])) /* & but not && */
			return fail(p, p->at, "%s", foreign[i].hint);
	if ((unsigned char)*at >= 0x80 || (unsigned char)*at < 0x20)
		return fail(p, p->at, "a character that no expression has; %s should follow",
			    wanted);
	return fail(p, p->at, "unexpected '%c'; %s should follow", *at, wanted);
}

static struct node *parse_number(struct parser *p)
{
	size_t start = p->at, end = start;
	struct node *n;

	while (is_digit(p->e->text[end]))
		end++;
	if (p->e->text[end] == '.' || is_name_start(p->e->text[end]))
		return fail(p, end, "only whole decimal numbers are allowed");
	n = make(p, NODE_NUMBER, start);
	if (n && !kw_str_to_i64((struct kw_str){ p->e->text + start, end - start }, &n->value))
		return fail(p, start, "the number does not fit 64 bits");
	p->at = end;
	return n;
}

static struct node *parse_call(struct parser *p, const char *name, size_t start)
{
	struct node *n = make(p, NODE_CALL, start), *args[MAX_ARGS];
	const char *near;

	if (!n)
		return NULL;
	n->op = -1;
	for (int i = 0; i < 3; i++)
		if (strcmp(name, call_names[i]) == 0)
			n->op = i;
	near = kw_str_nearest(name, call_names, 3);
	if (n->op < 0 && near)
		return fail(p, start, "unknown function '%s'; did you mean '%s'?", name, near);
	if (n->op < 0)
		return fail(p, start, "unknown function '%s'; there are min, max and cdiv", name);
	do {
		if (n->arg_count == MAX_ARGS)
			return fail(p, p->at, "more than %d arguments", MAX_ARGS);
		args[n->arg_count] = parse_choice(p);
		if (!args[n->arg_count++])
			return NULL;
	} while (take(p, ","));
	if (!take(p, ")"))
		return fail_token(p, "',' or ')'");
	if (n->op == CALL_CDIV && n->arg_count != 2)
		return fail(p, start, "cdiv takes 2 arguments, not %zu", n->arg_count);
	n->args = kw_arena_copy(p->arena, args, n->arg_count * sizeof(args[0]));
	if (!n->args && p->status == KW_OK)
		p->status = kw_fail(p->err, KW_ERR_NOMEM, p->e->file, "out of memory");
	return n->args ? n : NULL;
}

/* NAME, NAME.part, or NAME(…) */
static struct node *parse_name(struct parser *p)
{
	size_t start = p->at, end = start;
	char name[MAX_NAME + 1];
	struct node *n;

	while (is_name_start(p->e->text[end]) || is_digit(p->e->text[end]) ||
	       (p->e->text[end] == '.' && is_name_start(p->e->text[end + 1])))
		end++;
	if (end - start > MAX_NAME)
		return fail(p, start, "a name of more than %d characters", MAX_NAME);
	memcpy(name, p->e->text + start, end - start);
	name[end - start] = '\0';
	p->at = end;
	if (strcmp(name, "and") == 0 || strcmp(name, "or") == 0 || strcmp(name, "not") == 0) {
		p->at = start;
		return fail_token(p, "a value");
	}
	if (take(p, "("))
		return parse_call(p, name, start);
	n = make(p, NODE_NAME, start);
	if (n)
		n->name = kw_arena_strdup(p->arena, name);
	if (n && !n->name && p->status == KW_OK)
		p->status = kw_fail(p->err, KW_ERR_NOMEM, p->e->file, "out of memory");
	return n && n->name ? n : NULL;
}

static struct node *parse_unary(struct parser *p)
{
	struct node *n;
	size_t start;
	char c;

	skip_blanks(p);
	start = p->at;
	c = p->e->text[start];
	if (++p->depth > MAX_DEPTH)
		return fail(p, start, "more than %d levels of nesting", MAX_DEPTH);
	if (c == '-' || (c == '!' && p->e->text[start + 1] != '=')) {
		p->at++;
		n = make(p, c == '-' ? NODE_NEG : NODE_NOT, start);
		if (n)
			n->arg[0] = parse_unary(p);
		n = n && n->arg[0] ? n : NULL;
	} else if (c == '(') {
		p->at++;
		n = parse_choice(p);
		if (n && !take(p, ")"))
			n = fail_token(p, "')'");
	} else if (is_digit(c)) {
		n = parse_number(p);
	} else if (is_name_start(c)) {
		n = parse_name(p);
	} else {
		n = fail_token(p, "a value");
	}
	p->depth--;
	return n;
}

/* Index of the operator of this level that stands here, or -1. */
static int operator_here(struct parser *p, int level)
{
	const char *at;

	skip_blanks(p);
	at = p->e->text + p->at;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (strlen(foreign[i].text) == 2 && strncmp(at, foreign[i].text, 2) == 0)
			return -1;
	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (strncmp(at, operators[i].text, strlen(operators[i].text)) == 0)
			return operators[i].level == level ? (int)i : -1;
	return -1;
}

static struct node *parse_binary(struct parser *p, int level)
{
	struct node *left = level == LEVELS ? parse_unary(p) : parse_binary(p, level + 1);
	int found = level == LEVELS ? -1 : 0;
	int taken = 0;

	while (left && (found = level == LEVELS ? -1 : operator_here(p, level)) >= 0) {
		struct node *n = make(p, NODE_BINARY, p->at);

		if (taken++ && (level == LEVEL_EQUALITY || level == LEVEL_ORDER))
			return fail(p, p->at, "a chain of comparisons does not mean what it says; "
					      "join two with &&");
		p->at += strlen(operators[found].text);
		if (!n)
			return NULL;
		n->op = operators[found].op;
		n->arg[0] = left;
		n->arg[1] = parse_binary(p, level + 1);
		left = n->arg[1] ? n : NULL;
	}
	return left;
}

static struct node *parse_choice(struct parser *p)
{
	struct node *condition, *n;
	size_t start;

	if (++p->depth > MAX_DEPTH)
		return fail(p, p->at, "more than %d levels of nesting", MAX_DEPTH);
	condition = parse_binary(p, 0);
	skip_blanks(p);
	start = p->at;
	n = condition;
	if (condition && take(p, "?")) {
		n = make(p, NODE_CHOICE, start);
		if (n) {
			n->arg[0] = condition;
			n->arg[1] = parse_choice(p);
		}
		if (n && n->arg[1] && !take(p, ":"))
			n = fail_token(p, "':'");
		else if (n && n->arg[1])
			n->arg[2] = parse_choice(p);
		n = n && n->arg[1] && n->arg[2] ? n : NULL;
	}
	p->depth--;
	return n;
}

enum kw_status kw_intexpr_parse(struct kw_str text, const char *file, int line, int column,
				struct kw_arena *a, struct kw_intexpr **out, struct kw_error *err)
{
	struct kw_str trimmed = kw_str_trim(text);
	struct kw_intexpr *e = kw_arena_calloc(a, 1, sizeof(*e));
	struct parser p = { .e = e, .arena = a, .err = err };

	*out = NULL;
	if (e) {
		e->text = kw_arena_str(a, trimmed);
		e->file = kw_arena_strdup(a, file ? file : "");
	}
	if (!e || !e->text || !e->file)
		return kw_fail(err, KW_ERR_NOMEM, file, "out of memory");
	e->line = line;
	e->column = column + (trimmed.len ? (int)(trimmed.ptr - text.ptr) : 0);
	if (strlen(e->text) != trimmed.len)
		return fail_at(e, strlen(e->text), err, KW_ERR_INPUT, "a NUL byte in an expression");
	e->root = parse_choice(&p);
	skip_blanks(&p);
	if (e->root && e->text[p.at])
		fail_token(&p, "an operator or the end");
	if (p.status == KW_OK && e->root)
		*out = e;
	return p.status;
}

static enum kw_status eval_fail(const struct kw_intexpr *e, const struct node *n,
				struct kw_error *err, const char *text)
{
	char line[800];

	snprintf(line, sizeof(line), "%s in '%.400s'", text, e->text);
	return fail_at(e, n->at, err, KW_ERR_INPUT, line);
}

static enum kw_status eval(const struct kw_intexpr *e, const struct node *n,
			   const struct kw_intenv *env, int64_t *out, struct kw_error *err);

static enum kw_status divide(const struct kw_intexpr *e, const struct node *n, int op, int64_t a,
			     int64_t b, int64_t *out, struct kw_error *err)
{
	if (b == 0)
		return eval_fail(e, n, err, "division by zero");
	if (a == INT64_MIN && b == -1) {
		*out = 0;
		return op == MOD ? KW_OK : eval_fail(e, n, err, "a result beyond 64 bits");
	}
	*out = op == MOD ? a % b : a / b;
	return KW_OK;
}

static enum kw_status eval_binary(const struct kw_intexpr *e, const struct node *n,
				  const struct kw_intenv *env, int64_t *out, struct kw_error *err)
{
	int64_t a, b;
	bool over = false;
	enum kw_status s = eval(e, n->arg[0], env, &a, err);

	if (s != KW_OK)
		return s;
	/* As in C: the right side is not looked at when the left decides. */
	if ((n->op == AND && !a) || (n->op == OR && a)) {
		*out = n->op == OR;
		return KW_OK;
	}
	s = eval(e, n->arg[1], env, &b, err);
	if (s != KW_OK)
		return s;
	switch ((enum binary)n->op) {
	case MUL: over = __builtin_mul_overflow(a, b, out); break;
	case ADD: over = __builtin_add_overflow(a, b, out); break;
	case SUB: over = __builtin_sub_overflow(a, b, out); break;
	case DIV:
	case MOD: return divide(e, n, n->op, a, b, out, err);
	case LE: *out = a <= b; break;
	case LT: *out = a < b; break;
	case GE: *out = a >= b; break;
	case GT: *out = a > b; break;
	case EQ: *out = a == b; break;
	case NE: *out = a != b; break;
	case AND:
	case OR: *out = b != 0; break;
	}
	return over ? eval_fail(e, n, err, "a result beyond 64 bits") : KW_OK;
}

static enum kw_status eval_call(const struct kw_intexpr *e, const struct node *n,
				const struct kw_intenv *env, int64_t *out, struct kw_error *err)
{
	int64_t v;
	enum kw_status s = eval(e, n->args[0], env, out, err);

	for (size_t i = 1; i < n->arg_count && s == KW_OK; i++) {
		s = eval(e, n->args[i], env, &v, err);
		if (s != KW_OK)
			return s;
		if (n->op == CALL_MIN)
			*out = v < *out ? v : *out;
		else if (n->op == CALL_MAX)
			*out = v > *out ? v : *out;
		else if (v <= 0)
			return eval_fail(e, n, err, v ? "cdiv by a negative number"
						      : "division by zero");
		else /* rounds up; for a negative dividend truncation is that already */
			*out = *out / v + (*out % v > 0);
	}
	return s;
}

static enum kw_status eval_name(const struct kw_intexpr *e, const struct node *n,
				const struct kw_intenv *env, int64_t *out, struct kw_error *err)
{
	const char *names[256], *near;
	char text[256];
	size_t count = 0;

	if (kw_intenv_get(env, n->name, out))
		return KW_OK;
	for (; env; env = env->next)
		for (size_t i = 0; i < env->count && count < 256; i++)
			names[count++] = env->vars[i].name;
	near = kw_str_nearest(n->name, names, count);
	if (near)
		snprintf(text, sizeof(text), "unknown name '%s' (did you mean '%s'?)", n->name, near);
	else
		snprintf(text, sizeof(text), "unknown name '%s'", n->name);
	return eval_fail(e, n, err, text);
}

static enum kw_status eval(const struct kw_intexpr *e, const struct node *n,
			   const struct kw_intenv *env, int64_t *out, struct kw_error *err)
{
	enum kw_status s = KW_OK;
	int64_t v = 0;

	switch (n->kind) {
	case NODE_NUMBER: *out = n->value; return KW_OK;
	case NODE_NAME: return eval_name(e, n, env, out, err);
	case NODE_CALL: return eval_call(e, n, env, out, err);
	case NODE_BINARY: return eval_binary(e, n, env, out, err);
	case NODE_NOT:
	case NODE_NEG:
	case NODE_CHOICE: s = eval(e, n->arg[0], env, &v, err); break;
	}
	if (s != KW_OK)
		return s;
	if (n->kind == NODE_CHOICE)
		return eval(e, n->arg[v ? 1 : 2], env, out, err);
	if (n->kind == NODE_NEG && v == INT64_MIN)
		return eval_fail(e, n, err, "a result beyond 64 bits");
	*out = n->kind == NODE_NEG ? -v : !v;
	return KW_OK;
}

enum kw_status kw_intexpr_eval(const struct kw_intexpr *e, const struct kw_intenv *env,
			       int64_t *out, struct kw_error *err)
{
	return eval(e, e->root, env, out, err);
}

const char *kw_intexpr_text(const struct kw_intexpr *e)
{
	return e->text;
}

struct visit {
	void (*fn)(void *arg, const char *name);
	void *arg;
	const char *seen[256];
	size_t count;
};

static void visit_names(const struct node *n, struct visit *v)
{
	if (!n)
		return;
	if (n->kind == NODE_NAME) {
		for (size_t i = 0; i < v->count; i++)
			if (strcmp(v->seen[i], n->name) == 0)
				return;
		if (v->count < sizeof(v->seen) / sizeof(v->seen[0]))
			v->seen[v->count++] = n->name;
		v->fn(v->arg, n->name);
	}
	for (int i = 0; i < 3; i++)
		visit_names(n->arg[i], v);
	for (size_t i = 0; i < n->arg_count; i++)
		visit_names(n->args[i], v);
}

void kw_intexpr_names(const struct kw_intexpr *e, void (*fn)(void *arg, const char *name), void *arg)
{
	struct visit v = { .fn = fn, .arg = arg };

	visit_names(e->root, &v);
}

bool kw_intenv_get(const struct kw_intenv *env, const char *name, int64_t *out)
{
	for (; env; env = env->next) {
		for (size_t i = 0; i < env->count; i++) {
			if (strcmp(env->vars[i].name, name) == 0) {
				*out = env->vars[i].value;
				return true;
			}
		}
	}
	return false;
}
