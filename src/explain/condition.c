#include "explain/condition.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 64, MAX_ARGS = 8, MAX_NAME = 64 };
enum op {
	NUMBER,
	METRIC,
	BEFORE,
	CAPTURE,
	NOT,
	NEGATE,
	ADD,
	SUBTRACT,
	MULTIPLY,
	DIVIDE,
	LESS,
	LESS_EQUAL,
	GREATER,
	GREATER_EQUAL,
	EQUAL,
	DIFFERENT,
	AND,
	OR,
	HAS,
	FIRST,
	MIN,
	MAX,
	ABS,
	FLOOR,
	CEIL
};
struct kw_condition {
	enum op op;
	double number;
	int metric;                       /* or index of a capture */
	struct kw_condition *arg[MAX_ARGS];
	size_t count;
};
struct parser {
	const char *p, *text, *where;
	const struct kw_captures *captures;
	struct kw_arena *arena;
	struct kw_error *err;
	int depth;
	bool failed;
};

static struct kw_condition *fail(struct parser *r, const char *what)
{
	if (!r->failed)
		kw_fail(r->err, KW_ERR_INPUT, r->where, "%s at '%.40s' in \"%.200s\"", what, *r->p ? r->p : "the end",
			r->text);
	r->failed = true;
	return NULL;
}

static struct kw_condition *node(struct parser *r, enum op op, struct kw_condition *a, struct kw_condition *b)
{
	struct kw_condition *n;

	if (r->failed)
		return NULL;
	n = kw_arena_calloc(r->arena, 1, sizeof(*n));
	if (!n)
		return fail(r, "out of memory");
	n->op = op;
	if (a)
		n->arg[n->count++] = a;
	if (b)
		n->arg[n->count++] = b;
	return n;
}

static void blanks(struct parser *r)
{
	while (isspace((unsigned char)*r->p))
		r->p++;
}

static bool take(struct parser *r, const char *word)
{
	blanks(r);
	if (strncmp(r->p, word, strlen(word)) != 0)
		return false;
	r->p += strlen(word);
	return true;
}

static struct kw_condition *either(struct parser *r);

static struct kw_condition *unknown_name(struct parser *r, const char *name)
{
	const char *list[KW_M_COUNT], *near;

	for (int m = 0; m < KW_M_COUNT; m++)
		list[m] = kw_metric_name(m);
	near = kw_str_nearest(name, list, KW_M_COUNT);
	if (!r->failed)
		kw_fail(r->err, KW_ERR_INPUT, r->where, near ? "no metric is called '%.60s'; did you mean '%s'?"
								: "no metric is called '%.60s'", name, near);
	r->failed = true;
	return NULL;
}

static struct kw_condition *call(struct parser *r, enum op op, size_t least, size_t most)
{
	struct kw_condition *n = node(r, op, NULL, NULL);

	do {
		struct kw_condition *a = either(r);

		if (!n || !a)
			return NULL;
		if (n->count == most)
			return fail(r, "too many arguments");
		n->arg[n->count++] = a;
	} while (take(r, ","));
	if (!take(r, ")"))
		return fail(r, "expected ')'");
	return n->count >= least ? n : fail(r, "too few arguments");
}

static struct kw_condition *name_or_call(struct parser *r)
{
	static const struct {
		const char *name;
		enum op op;
		size_t least, most;
	} functions[] = { { "has", HAS, 1, 1 },	       { "first", FIRST, 1, MAX_ARGS },
			  { "min", MIN, 1, MAX_ARGS }, { "max", MAX, 1, MAX_ARGS },
			  { "abs", ABS, 1, 1 },	       { "floor", FLOOR, 1, 1 },
			  { "ceil", CEIL, 1, 1 } };
	const char *start = r->p;
	char name[MAX_NAME];
	struct kw_condition *n;
	bool before;

	while (isalnum((unsigned char)*r->p) || *r->p == '_' || *r->p == '.')
		r->p++;
	if (r->p - start >= MAX_NAME)
		return fail(r, "a name that is too long");
	snprintf(name, sizeof(name), "%.*s", (int)(r->p - start), start);
	if (take(r, "(")) {
		for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
			if (strcmp(functions[i].name, name) == 0)
				return call(r, functions[i].op, functions[i].least, functions[i].most);
		return fail(r, "no such function");
	}
	for (size_t i = 0; r->captures && i < r->captures->count; i++)
		if (strcmp(r->captures->name[i], name) == 0) {
			n = node(r, CAPTURE, NULL, NULL);
			if (n)
				n->metric = (int)i;
			return n;
		}
	before = strncmp(name, "before.", 7) == 0;
	n = node(r, before ? BEFORE : METRIC, NULL, NULL);
	if (!n)
		return NULL;
	n->metric = kw_metric_by_name(before ? name + 7 : name);
	return n->metric >= 0 ? n : unknown_name(r, name);
}

static struct kw_condition *primary(struct parser *r)
{
	struct kw_condition *n;

	if (++r->depth > MAX_DEPTH)
		return fail(r, "nested too deeply");
	if (take(r, "(")) {
		n = either(r);
		if (n && !take(r, ")"))
			n = fail(r, "expected ')'");
	} else if (take(r, "!")) {
		n = node(r, NOT, primary(r), NULL);
	} else if (take(r, "-")) {
		n = node(r, NEGATE, primary(r), NULL);
	} else if (isdigit((unsigned char)*r->p)) {
		size_t len = strspn(r->p, "0123456789.");
		double v;

		n = node(r, NUMBER, NULL, NULL);
		if (!kw_str_to_f64((struct kw_str){ r->p, len }, &v))
			n = fail(r, "expected a number");
		else if (n)
			n->number = v;
		r->p += len;
	} else if (isalpha((unsigned char)*r->p)) {
		n = name_or_call(r);
	} else {
		n = fail(r, "expected a value");
	}
	r->depth--;
	return n;
}

static struct kw_condition *product(struct parser *r)
{
	struct kw_condition *n = primary(r);

	while (n && !r->failed) {
		if (take(r, "*"))
			n = node(r, MULTIPLY, n, primary(r));
		else if (take(r, "/"))
			n = node(r, DIVIDE, n, primary(r));
		else
			break;
	}
	return n;
}

static struct kw_condition *sum(struct parser *r)
{
	struct kw_condition *n = product(r);

	while (n && !r->failed) {
		if (take(r, "+"))
			n = node(r, ADD, n, product(r));
		else if (take(r, "-"))
			n = node(r, SUBTRACT, n, product(r));
		else
			break;
	}
	return n;
}

static struct kw_condition *comparison(struct parser *r)
{
	static const struct {
		const char *word;
		enum op op;
	} words[] = { { "<=", LESS_EQUAL }, { ">=", GREATER_EQUAL }, { "==", EQUAL },
		      { "!=", DIFFERENT },  { "<", LESS },	     { ">", GREATER } };
	struct kw_condition *n = sum(r);

	for (size_t i = 0; n && i < sizeof(words) / sizeof(words[0]); i++)
		if (take(r, words[i].word))
			return node(r, words[i].op, n, sum(r));
	return n;
}

static struct kw_condition *both(struct parser *r)
{
	struct kw_condition *n = comparison(r);

	while (n && !r->failed && take(r, "&&"))
		n = node(r, AND, n, comparison(r));
	return n;
}

static struct kw_condition *either(struct parser *r)
{
	struct kw_condition *n = both(r);

	while (n && !r->failed && take(r, "||"))
		n = node(r, OR, n, both(r));
	return n;
}

enum kw_status kw_condition_parse(const char *text, const struct kw_captures *captures, struct kw_arena *a,
				  struct kw_condition **out, const char *where, struct kw_error *err)
{
	struct parser r = { .p = text, .text = text, .where = where, .captures = captures, .arena = a, .err = err };

	*out = either(&r);
	blanks(&r);
	if (*out && *r.p)
		fail(&r, "expected an operator");
	if (!*out && !r.failed)
		fail(&r, "expected a value");
	if (!r.failed)
		return KW_OK;
	*out = NULL;
	return KW_ERR_INPUT;
}

/* ---- values ---- */

static double logic(enum op op, double a, double b)
{
	double decides = op == OR ? 1 : 0;

	if ((!isnan(a) && (a != 0) == (decides != 0)) || (!isnan(b) && (b != 0) == (decides != 0)))
		return decides;
	return isnan(a) || isnan(b) ? NAN : 1 - decides;
}

static double pick(const struct kw_condition *c, const struct kw_facts *f)
{
	double best = NAN;

	for (size_t i = 0; i < c->count; i++) {
		double v = kw_condition_eval(c->arg[i], f);

		if (isnan(v))
			continue;
		if (c->op == FIRST)
			return v;
		if (isnan(best) || (c->op == MIN ? v < best : v > best))
			best = v;
	}
	return best;
}

static double binary(enum op op, double a, double b)
{
	if (isnan(a) || isnan(b))
		return NAN;
	switch (op) {
	case ADD:
		return a + b;
	case SUBTRACT:
		return a - b;
	case MULTIPLY:
		return a * b;
	case DIVIDE:
		return b == 0 ? NAN : a / b;
	case LESS:
		return a < b;
	case LESS_EQUAL:
		return a <= b;
	case GREATER:
		return a > b;
	case GREATER_EQUAL:
		return a >= b;
	case EQUAL:
		return !(a < b) && !(a > b);
	default:
		return a < b || a > b;
	}
}

double kw_condition_eval(const struct kw_condition *c, const struct kw_facts *f)
{
	double a;

	switch (c->op) {
	case NUMBER:
		return c->number;
	case METRIC:
		return f->now[c->metric];
	case BEFORE:
		return f->before ? f->before[c->metric] : NAN;
	case CAPTURE:
		return f->captured[c->metric];
	case FIRST:
	case MIN:
	case MAX:
		return pick(c, f);
	default:
		break;
	}
	a = kw_condition_eval(c->arg[0], f);
	switch (c->op) {
	case HAS:
		return !isnan(a);
	case NOT:
		return isnan(a) || !(a < 0 || a > 0);
	case NEGATE:
		return -a;
	case ABS:
		return fabs(a);
	case FLOOR:
		return floor(a);
	case CEIL:
		return ceil(a);
	case AND:
	case OR:
		return logic(c->op, a, kw_condition_eval(c->arg[1], f));
	default:
		return binary(c->op, a, kw_condition_eval(c->arg[1], f));
	}
}

void kw_condition_metrics(const struct kw_condition *c, void (*fn)(void *arg, int metric), void *arg)
{
	if (c->op == METRIC)
		fn(arg, c->metric);
	for (size_t i = 0; i < c->count; i++)
		kw_condition_metrics(c->arg[i], fn, arg);
}
