/* parse.c - text to values: a recursive descent with Python's precedence.
 *
 *     block     = { statement newline }
 *     statement = [ names "=" ] tuple
 *     tuple     = compare { "," compare }
 *     compare   = or [ ("==" | "!=" | "<" | "<=" | ">" | ">=") or ]
 *     or        = and { "|" and }          and = sum { "&" sum }
 *     sum       = product { ("+" | "-") product }
 *     product   = unary { ("*" | "/" | "//" | "%" | "@") unary }
 *     unary     = ("-" | "+" | "~") unary | power
 *     power     = postfix [ "**" unary ]
 *     postfix   = atom { "[" index "]" | "." name [ "(" arguments ")" ] } */
#include "expr/internal.h"
#include "expr/lex.h"

#include <math.h>
#include <string.h>

struct parser {
	struct builder *b;
	struct lexer lex;
	struct token t;
	int depth;
};

static bool parse_compare(struct parser *p, struct value *out);

bool bnomem(struct builder *b)
{
	if (b->status == KW_OK)
		b->status = kw_fail(b->err, KW_ERR_LIMIT, b->x->file, "the expression is too large for its memory");
	return false;
}

/* The line of text with a caret under column. */
static void caret(const char *text, int line, int column, char *out, size_t out_bytes)
{
	size_t n = 0;
	int len;

	out[0] = '\0';
	for (int i = 1; i < line && text; i++) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	if (!text || column > 200)
		return;
	len = (int)strcspn(text, "\r\n");
	n = (size_t)snprintf(out, out_bytes, "\n    %.*s\n    ", len > 240 ? 240 : len, text);
	for (int i = 0; i < column - 1 && n + 2 < out_bytes; i++)
		out[n++] = i < len && text[i] == '\t' ? '\t' : ' ';
	snprintf(out + n, out_bytes - n, "^");
}

enum kw_status fail_at(const struct xexpr *x, int line, int column, struct kw_error *err, const char *text)
{
	char where[512], mark[600];

	caret(x->text, line, column, mark, sizeof(mark));
	snprintf(where, sizeof(where), "%s:%d:%d", x->file, x->file_line + line - 1, x->file_column + column - 1);
	return kw_fail(err, KW_ERR_INPUT, where, "%s%s", text, mark);
}

bool bfail(struct builder *b, int line, int column, const char *fmt, ...)
{
	char text[800];
	va_list ap;

	if (b->status != KW_OK)
		return false;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (b->defining) {
		line = b->line;
		column = b->column;
	}
	b->status = fail_at(b->x, line, column, b->err, text);
	return false;
}

static bool fail_tok(struct parser *p, const char *what)
{
	if (p->t.kind == T_BAD)
		return bfail(p->b, p->t.line, p->t.column, "%s", p->t.why);
	if (p->t.kind == T_END || p->t.kind == T_NEWLINE)
		return bfail(p->b, p->t.line, p->t.column, "%s, but the line ends here", what);
	return bfail(p->b, p->t.line, p->t.column, "%s, not '" KW_STR_FMT "'", what,
		     KW_STR_ARG(p->t.text));
}

static void next(struct parser *p)
{
	p->t = lex_next(&p->lex);
}

static bool is_op(const struct parser *p, const char *op)
{
	return p->t.kind == T_OP && kw_str_eqz(p->t.text, op);
}

static bool accept(struct parser *p, const char *op)
{
	if (!is_op(p, op))
		return false;
	next(p);
	return true;
}

void set_name(struct builder *b, const char *name, const struct value *v)
{
	for (size_t i = b->name_count; i-- > 0;) {
		if (strcmp(b->names[i].name, name) == 0) {
			b->names[i].v = *v;
			return;
		}
	}
	if (b->name_count == b->name_cap) {
		size_t cap = b->name_cap ? 2 * b->name_cap : 32;
		struct name_entry *grown = kw_arena_alloc(b->a, cap * sizeof(*grown));
		if (!grown) {
			bnomem(b);
			return;
		}
		if (b->name_count)
			memcpy(grown, b->names, b->name_count * sizeof(*grown));
		b->names = grown;
		b->name_cap = cap;
	}
	b->names[b->name_count++] = (struct name_entry){ name, *v };
}

static const struct value *get_name(const struct builder *b, struct kw_str name)
{
	for (size_t i = b->name_count; i-- > 0;) {
		if (kw_str_eqz(name, b->names[i].name))
			return &b->names[i].v;
	}
	return NULL;
}

static const char *nearest_name(struct builder *b, const char *word)
{
	const char *names[256];
	const char *found;
	size_t n = 0;

	for (size_t i = 0; i < b->name_count && n < 256; i++)
		names[n++] = b->names[i].name;
	found = kw_str_nearest(word, names, n);
	return found ? found : op_nearest(word);
}

/* ---- arithmetic of values ---- */

static bool number_of(const struct value *v, double *out)
{
	int64_t i;

	if (v->kind == V_FLOAT || v->kind == V_BOOL)
		*out = v->f;
	else if (v->kind == V_INT && sym_is_const(v->i, &i))
		*out = (double)i;
	else
		return false;
	return true;
}

static bool fold_float(enum op_id op, double x, double y, double *out)
{
	switch (op) {
	case OP_ADD: *out = x + y; return true;
	case OP_SUB: *out = x - y; return true;
	case OP_MUL: *out = x * y; return true;
	case OP_DIV: *out = x / y; return true;
	case OP_POW: *out = pow(x, y); return true;
	case OP_FLOORDIV: *out = floor(x / y); return true;
	case OP_MOD: *out = x - floor(x / y) * y; return true;
	default: return false;
	}
}

static const struct kw_poly *fold_int(struct kw_arena *a, enum op_id op, const struct kw_poly *x,
				      const struct kw_poly *y)
{
	const struct kw_poly *r = x;
	int64_t n;

	switch (op) {
	case OP_ADD: return sym_add(a, x, y);
	case OP_SUB: return sym_sub(a, x, y);
	case OP_MUL: return sym_mul(a, x, y);
	case OP_FLOORDIV: return sym_div(a, x, y);
	case OP_MOD: return sym_mod(a, x, y);
	case OP_POW:
		if (!sym_is_const(y, &n) || n < 0 || n > 62)
			return NULL;
		for (r = sym_const(a, 1); n > 0; n--)
			r = sym_mul(a, r, x);
		return r;
	default: return NULL;
	}
}

static bool tuple_binary(struct parser *p, enum op_id op, const struct value *x, const struct value *y,
			 struct value *out)
{
	int64_t times = 1;
	bool add = op == OP_ADD && x->kind == V_TUPLE && y->kind == V_TUPLE;
	int n;

	if (!add && !(op == OP_MUL && x->kind == V_TUPLE && y->kind == V_INT && sym_is_const(y->i, &times) &&
		      times >= 0 && times <= MAX_ARGS))
		return bfail(p->b, x->line, x->column, "a list cannot be used as a number here");
	n = add ? x->count + y->count : x->count * (int)times;
	if (n > 4 * MAX_ARGS)
		return bfail(p->b, x->line, x->column, "a list of %d elements is too long", n);
	*out = (struct value){ .kind = V_TUPLE, .count = n, .line = x->line, .column = x->column };
	out->items = kw_arena_calloc(p->b->a, (size_t)n + 1, sizeof(*out->items));
	if (!out->items)
		return bnomem(p->b);
	for (int i = 0; i < n; i++)
		out->items[i] = i < x->count ? x->items[i] : add ? y->items[i - x->count] : x->items[i % x->count];
	return true;
}

static bool binary(struct parser *p, enum op_id op, const struct value *x, const struct value *y, int line, int column,
		   struct value *out)
{
	struct builder *b = p->b;
	double f, g;
	const struct kw_poly *r;
	struct value args[2] = { *x, *y };

	if (x->kind == V_TUPLE || y->kind == V_TUPLE)
		return tuple_binary(p, op, x, y, out);
	if (x->kind == V_INT && y->kind == V_INT && (r = fold_int(b->a, op, x->i, y->i))) {
		if ((op == OP_FLOORDIV || op == OP_MOD) && sym_is(y->i, 0))
			return bfail(b, line, column, "division by zero");
		*out = v_int(r);
	} else if (number_of(x, &f) && number_of(y, &g) && fold_float(op, f, g, &f)) {
		if (g == 0 && (op == OP_DIV || op == OP_FLOORDIV || op == OP_MOD))
			return bfail(b, line, column, "division by zero");
		*out = (struct value){ .kind = V_FLOAT, .f = f };
	} else {
		b->line = b->defining ? b->line : line;
		b->column = b->defining ? b->column : column;
		if (!apply(b, op, args, 2, out))
			return false;
	}
	out->line = x->line;
	out->column = x->column;
	return true;
}

static bool unary(struct parser *p, char op, const struct value *x, struct value *out)
{
	struct builder *b = p->b;

	if (op == '+') {
		*out = *x;
		return true;
	}
	if (op == '-' && x->kind == V_INT)
		*out = v_int(sym_sub(b->a, sym_const(b->a, 0), x->i));
	else if (op == '-' && x->kind == V_FLOAT)
		*out = (struct value){ .kind = V_FLOAT, .f = -x->f };
	else if (!apply(b, op == '-' ? OP_NEG : OP_NOT, x, 1, out))
		return false;
	if (out->kind == V_INT && !out->i)
		return bnomem(b);
	out->line = x->line;
	out->column = x->column;
	return true;
}

/* ---- grammar ---- */

/* `a, b, c` until something that cannot continue; a single value without a comma stays itself. */
static bool parse_tuple(struct parser *p, const char *close, bool always, struct value *out)
{
	struct value items[4 * MAX_ARGS];
	int n = 0, line = p->t.line, column = p->t.column;
	bool comma = always;

	while (!(close && is_op(p, close))) {
		if (n == 4 * MAX_ARGS)
			return bfail(p->b, p->t.line, p->t.column, "a list is too long");
		if (!parse_compare(p, &items[n++]))
			return false;
		if (!accept(p, ","))
			break;
		comma = true;
		if (!close && (p->t.kind == T_NEWLINE || p->t.kind == T_END))
			break;
	}
	if (n == 1 && !comma) {
		*out = items[0];
		return true;
	}
	*out = (struct value){ .kind = V_TUPLE, .count = n, .line = line, .column = column };
	out->items = kw_arena_copy(p->b->a, items, sizeof(*items) * (size_t)(n ? n : 1));
	return out->items ? true : bnomem(p->b);
}

static bool expect(struct parser *p, const char *op)
{
	char what[32];

	if (accept(p, op))
		return true;
	snprintf(what, sizeof(what), "expected '%s'", op);
	return fail_tok(p, what);
}

static bool parse_arguments(struct parser *p, const char *name, int line, int column, const struct value *self,
			    struct value *out)
{
	struct builder *b = p->b;
	struct value pos[MAX_ARGS], kval[MAX_SLOTS];
	const char *key[MAX_SLOTS];
	int npos = 0, nkey = 0;
	const struct kw_op *op;
	enum kw_dtype d = kw_dtype_parse(kw_str_from(name));

	if (self)
		pos[npos++] = *self;
	while (!is_op(p, ")")) {
		struct parser save = *p;
		bool keyword = false;

		if (p->t.kind == T_NAME) {
			struct token word = p->t;
			next(p);
			keyword = is_op(p, "=");
			if (keyword && nkey < MAX_SLOTS) {
				next(p);
				key[nkey] = kw_arena_str(b->a, word.text);
				if (!key[nkey])
					return bnomem(b);
			} else {
				*p = save;
			}
		}
		if ((keyword ? nkey >= MAX_SLOTS : npos >= MAX_ARGS) || (!keyword && nkey))
			return bfail(b, p->t.line, p->t.column, nkey && !keyword ?
				     "a positional argument after a keyword argument" : "too many arguments");
		if (!parse_compare(p, keyword ? &kval[nkey] : &pos[npos]))
			return false;
		nkey += keyword;
		npos += !keyword;
		if (!accept(p, ","))
			break;
	}
	if (!expect(p, ")"))
		return false;
	op = b->defining ? op_find_hidden(kw_str_from(name)) : op_find(kw_str_from(name));
	if (!op && d != KW_DTYPE_NONE && npos + nkey == 1) {
		op = op_get(OP_CAST);
		pos[npos++] = (struct value){ .kind = V_STR, .s = kw_dtype_name(d), .line = line, .column = column };
	}
	if (!op) {
		const char *near = op_nearest(name);
		return bfail(b, line, column, "unknown function '%s'%s%s%s", name, near ? "; did you mean '" : "",
			     near ? near : "", near ? "'?" : "");
	}
	if (!call_op(b, op, name, line, column, pos, npos, key, kval, nkey, out))
		return false;
	out->line = line;
	out->column = column;
	return true;
}

static bool parse_name(struct parser *p, struct value *out)
{
	static const struct { const char *name; enum value_kind kind; double f; } known[] = {
		{ "inf", V_FLOAT, INFINITY }, { "nan", V_FLOAT, NAN }, { "pi", V_FLOAT, 3.14159265358979323846 },
		{ "True", V_BOOL, 1 }, { "False", V_BOOL, 0 }, { "None", V_NONE, 0 }, { "newaxis", V_NONE, 0 },
	};
	struct token t = p->t;
	const struct value *v;
	char *name = kw_arena_str(p->b->a, t.text);
	const char *near;

	if (!name)
		return bnomem(p->b);
	next(p);
	if (accept(p, "("))
		return parse_arguments(p, name, t.line, t.column, NULL, out);
	v = get_name(p->b, t.text);
	if (v) {
		*out = *v;
		out->line = t.line;
		out->column = t.column;
		return true;
	}
	*out = (struct value){ .line = t.line, .column = t.column };
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (kw_str_eqz(t.text, known[i].name)) {
			out->kind = known[i].kind;
			out->f = known[i].f;
			return true;
		}
	}
	if (kw_dtype_parse(t.text) != KW_DTYPE_NONE) {
		out->kind = V_STR;
		out->s = name;
		return true;
	}
	if (op_find(t.text))
		return bfail(p->b, t.line, t.column, "'%s' is a function: write %s(...)", name, name);
	near = nearest_name(p->b, name);
	return bfail(p->b, t.line, t.column, "unknown name '%s'%s%s%s", name, near ? "; did you mean '" : "",
		     near ? near : "", near ? "'?" : "");
}

static bool parse_atom(struct parser *p, struct value *out)
{
	struct token t = p->t;

	*out = (struct value){ .line = t.line, .column = t.column };
	if (t.kind == T_NAME)
		return parse_name(p, out);
	if (t.kind == T_INT || t.kind == T_FLOAT) {
		next(p);
		out->kind = t.kind == T_INT ? V_INT : V_FLOAT;
		out->i = t.kind == T_INT ? sym_const(p->b->a, t.i) : NULL;
		out->f = t.f;
		return t.kind == T_FLOAT || out->i ? true : bnomem(p->b);
	}
	if (t.kind == T_STR) {
		next(p);
		out->kind = V_STR;
		out->s = kw_arena_str(p->b->a, t.text);
		return out->s ? true : bnomem(p->b);
	}
	if (accept(p, "(")) {
		if (is_op(p, ")")) {
			next(p);
			out->kind = V_TUPLE;
			return true;
		}
		return parse_tuple(p, ")", false, out) && expect(p, ")");
	}
	if (accept(p, "["))
		return parse_tuple(p, "]", true, out) && expect(p, "]");
	return fail_tok(p, "expected a value");
}

static bool parse_index_item(struct parser *p, struct value *out)
{
	int line = p->t.line, column = p->t.column, part = 0;

	if (is_op(p, ".")) {
		for (int i = 0; i < 3; i++) {
			if (!expect(p, "."))
				return false;
		}
		*out = (struct value){ .kind = V_ELLIPSIS, .line = line, .column = column };
		return true;
	}
	if (!is_op(p, ":") && !parse_compare(p, out))
		return false;
	else if (!is_op(p, ":"))
		return true;
	struct value first = is_op(p, ":") && p->t.line == line && p->t.column == column ?
			     (struct value){ 0 } : *out;
	*out = (struct value){ .kind = V_SLICE, .count = 3, .line = line, .column = column };
	out->items = kw_arena_calloc(p->b->a, 3, sizeof(*out->items));
	if (!out->items)
		return bnomem(p->b);
	out->items[0] = first;
	while (part < 2 && accept(p, ":")) {
		part++;
		if (!is_op(p, ":") && !is_op(p, ",") && !is_op(p, "]") && !parse_compare(p, &out->items[part]))
			return false;
	}
	return true;
}

static bool parse_index(struct parser *p, const struct value *v, struct value *out)
{
	struct value items[2 * KW_MAX_RANK];
	int n = 0, line = p->t.line, column = p->t.column;

	while (!is_op(p, "]")) {
		if (n == 2 * KW_MAX_RANK)
			return bfail(p->b, p->t.line, p->t.column, "too many indices");
		if (!parse_index_item(p, &items[n++]))
			return false;
		if (!accept(p, ","))
			break;
	}
	return expect(p, "]") && index_value(p->b, v, items, n, line, column, out);
}

static bool shape_value(struct parser *p, const struct value *v, struct value *out)
{
	*out = (struct value){ .kind = V_TUPLE, .count = v->n->rank, .line = v->line, .column = v->column };
	out->items = kw_arena_calloc(p->b->a, KW_MAX_RANK, sizeof(*out->items));
	if (!out->items)
		return bnomem(p->b);
	for (int i = 0; i < v->n->rank; i++)
		out->items[i] = v_int(v->n->shape[i].poly);
	return true;
}

static bool parse_attribute(struct parser *p, const struct value *v, struct value *out)
{
	struct token t = p->t;
	char *name;

	if (t.kind != T_NAME)
		return fail_tok(p, "expected a name behind '.'");
	name = kw_arena_str(p->b->a, t.text);
	next(p);
	if (!name)
		return bnomem(p->b);
	if (accept(p, "("))
		return parse_arguments(p, name, t.line, t.column, v, out);
	if (v->kind == V_NODE && strcmp(name, "shape") == 0)
		return shape_value(p, v, out);
	if (v->kind == V_NODE && (strcmp(name, "T") == 0 || strcmp(name, "mT") == 0)) {
		struct value args[3] = { *v, v_int(sym_const(p->b->a, -1)), v_int(sym_const(p->b->a, -2)) };
		if (v->n->rank < 2)
			return bfail(p->b, t.line, t.column, ".%s needs at least two axes", name);
		return strcmp(name, "T") == 0 ? apply(p->b, OP_TRANSPOSE, args, 1, out) :
						apply(p->b, OP_SWAPAXES, args, 3, out);
	}
	return bfail(p->b, t.line, t.column, "there is no '.%s'; known are .shape, .T, .mT and functions", name);
}

static bool parse_postfix(struct parser *p, struct value *out)
{
	struct value v;

	if (!parse_atom(p, &v))
		return false;
	for (;;) {
		struct value r;
		if (accept(p, "[")) {
			if (!parse_index(p, &v, &r))
				return false;
		} else if (accept(p, ".")) {
			if (!parse_attribute(p, &v, &r))
				return false;
		} else {
			*out = v;
			return true;
		}
		r.line = v.line;
		r.column = v.column;
		v = r;
	}
}

static bool parse_unary(struct parser *p, struct value *out)
{
	struct value x, y;
	struct token t = p->t;
	bool r;

	if (++p->depth > MAX_DEPTH)
		return bfail(p->b, t.line, t.column, "nested more than %d deep", MAX_DEPTH);
	if (accept(p, "-"))
		r = parse_unary(p, &x) && unary(p, '-', &x, out);
	else if (accept(p, "+"))
		r = parse_unary(p, &x) && unary(p, '+', &x, out);
	else if (accept(p, "~"))
		r = parse_unary(p, &x) && unary(p, '~', &x, out);
	else if ((r = parse_postfix(p, out)) && is_op(p, "**")) {
		x = *out;
		t = p->t;
		next(p);
		r = parse_unary(p, &y) && binary(p, OP_POW, &x, &y, t.line, t.column, out);
	}
	p->depth--;
	return r;
}

struct level {
	const char *op[6];
	enum op_id id[6];
	int count;
};
static const struct level levels[] = {
	{ { "|" }, { OP_OR }, 1 },
	{ { "&" }, { OP_AND }, 1 },
	{ { "+", "-" }, { OP_ADD, OP_SUB }, 2 },
	{ { "*", "/", "//", "%", "@" }, { OP_MUL, OP_DIV, OP_FLOORDIV, OP_MOD, OP_MATMUL }, 5 },
};
static const struct level compares = { { "==", "!=", "<", "<=", ">", ">=" },
				       { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE }, 6 };

static enum op_id find_op(const struct parser *p, const struct level *l)
{
	for (int i = 0; i < l->count; i++) {
		if (is_op(p, l->op[i]))
			return l->id[i];
	}
	return OP_NONE;
}

static bool parse_level(struct parser *p, int level, struct value *out)
{
	struct value x, y;
	enum op_id op;

	if (level == 4)
		return parse_unary(p, out);
	if (!parse_level(p, level + 1, &x))
		return false;
	while ((op = find_op(p, &levels[level])) != OP_NONE) {
		struct token t = p->t;
		next(p);
		if (!parse_level(p, level + 1, &y) || !binary(p, op, &x, &y, t.line, t.column, out))
			return false;
		x = *out;
	}
	*out = x;
	return true;
}

static bool parse_compare(struct parser *p, struct value *out)
{
	struct value x, y;
	struct token t;
	enum op_id op;

	if (++p->depth > MAX_DEPTH)
		return bfail(p->b, p->t.line, p->t.column, "nested more than %d deep", MAX_DEPTH);
	if (!parse_level(p, 0, &x))
		return false;
	t = p->t;
	op = find_op(p, &compares);
	if (op != OP_NONE) {
		next(p);
		if (!parse_level(p, 0, &y) || !binary(p, op, &x, &y, t.line, t.column, out))
			return false;
		if (find_op(p, &compares) != OP_NONE)
			return bfail(p->b, p->t.line, p->t.column, "comparisons cannot be chained; write (a < b) & (b < c)");
	} else {
		*out = x;
	}
	p->depth--;
	return true;
}

/* `?name`, `?!name` or `?name=text` before a line of a definition: whether it holds. */
static bool parse_condition(struct parser *p, bool *holds)
{
	bool negate = accept(p, "!");
	const struct value *v = p->t.kind == T_NAME ? get_name(p->b, p->t.text) : NULL;

	next(p);
	*holds = v && v->kind != V_NONE && !(v->kind == V_BOOL && v->f == 0);
	if (accept(p, "=")) {
		*holds = v && v->kind == V_STR && kw_str_eqz(p->t.text, v->s);
		next(p);
	}
	*holds ^= negate;
	return true;
}

static bool assign(struct parser *p, const struct token *targets, int count, const struct value *v)
{
	if (count > 1 && (v->kind != V_TUPLE || v->count != count))
		return bfail(p->b, targets[0].line, targets[0].column, "%d names for %d value%s", count,
			     v->kind == V_TUPLE ? v->count : 1, v->kind == V_TUPLE && v->count != 1 ? "s" : "");
	for (int i = 0; i < count; i++) {
		char *name = kw_arena_str(p->b->a, targets[i].text);
		if (!name)
			return bnomem(p->b);
		set_name(p->b, name, count > 1 ? &v->items[i] : v);
	}
	return true;
}

static bool parse_statement(struct parser *p, bool *assigned, struct value *last)
{
	struct token targets[KW_MAX_RANK];
	struct parser save = *p;
	int count = 0;

	*assigned = false;
	while (p->t.kind == T_NAME && count < KW_MAX_RANK) {
		targets[count++] = p->t;
		next(p);
		if (is_op(p, "=")) {
			*assigned = true;
			next(p);
			break;
		}
		if (!accept(p, ","))
			break;
	}
	if (!*assigned)
		*p = save;
	if (!parse_tuple(p, NULL, false, last))
		return false;
	if (p->t.kind != T_NEWLINE && p->t.kind != T_END)
		return fail_tok(p, "expected an operator or the end of the line");
	return !*assigned || assign(p, targets, count, last);
}

bool run_block(struct builder *b, const char *text, bool single, struct value *last)
{
	struct parser p = { .b = b };
	int statements = 0;

	lex_init(&p.lex, text, strlen(text));
	next(&p);
	while (p.t.kind != T_END && b->status == KW_OK) {
		bool assigned, holds = true;
		struct token t = p.t;

		if (p.t.kind == T_NEWLINE) {
			next(&p);
			continue;
		}
		if (b->defining && accept(&p, "?"))
			parse_condition(&p, &holds);
		while (!holds && p.t.kind != T_NEWLINE && p.t.kind != T_END)
			next(&p);
		if (!holds)
			continue;
		if (!parse_statement(&p, &assigned, last))
			return false;
		if (!assigned && (!single || statements))
			return bfail(b, t.line, t.column, "expected 'name = expression'");
		single = single && !assigned;
		statements++;
		if (!assigned)
			set_name(b, "(result)", last);
	}
	if (b->status == KW_OK && !statements)
		return bfail(b, 1, 1, "the expression is empty");
	return b->status == KW_OK;
}
