/* naive_elem.c - elementwise operations as C expressions, with the functions of math.h. */
#include "expr/naive.h"

#include <math.h>
#include <string.h>

const char *naive_number(struct gen *g, double v, enum ctype c)
{
	const char *text;

	if (c == CT_I64)
		return naive_text(g, "%lld", (long long)v);
	if (isnan(v))
		return g->lang->nan;
	if (isinf(v))
		return naive_text(g, "%s%s", v < 0 ? "-" : "", g->lang->inf);
	if (c == CT_F32 && (double)(float)v == v && v == floor(v) && fabs(v) < 1e6)
		return naive_text(g, "%.1ff", v);
	text = naive_text(g, c == CT_F64 ? "%.17g" : "%.9g", v);
	if (!strpbrk(text, ".e"))
		text = naive_text(g, "%s.0", text);
	return c == CT_F64 ? text : naive_text(g, "%sf", text);
}

/* C's name of a function of one argument; the float one ends in f. */
static const char *function_of(enum op_id op)
{
	switch (op) {
	case OP_EXP: return "exp";
	case OP_EXP2: return "exp2";
	case OP_EXPM1: return "expm1";
	case OP_LOG: return "log";
	case OP_LOG2: return "log2";
	case OP_LOG10: return "log10";
	case OP_LOG1P: return "log1p";
	case OP_SQRT: return "sqrt";
	case OP_SIN: return "sin";
	case OP_COS: return "cos";
	case OP_TAN: return "tan";
	case OP_ATAN: return "atan";
	case OP_TANH: return "tanh";
	case OP_ERF: return "erf";
	case OP_FLOOR: return "floor";
	case OP_CEIL: return "ceil";
	case OP_ROUND: return "rint";
	case OP_TRUNC: return "trunc";
	default: return NULL;
	}
}

static const char *operator_of(enum op_id op)
{
	switch (op) {
	case OP_ADD: return "+";
	case OP_SUB: return "-";
	case OP_MUL: return "*";
	case OP_DIV: return "/";
	case OP_EQ: return "==";
	case OP_NE: return "!=";
	case OP_LT: return "<";
	case OP_LE: return "<=";
	case OP_GT: return ">";
	case OP_GE: return ">=";
	case OP_AND: return "&";
	case OP_OR: return "|";
	default: return NULL;
	}
}

static bool is_comparison(enum op_id op)
{
	return op == OP_EQ || op == OP_NE || op == OP_LT || op == OP_LE || op == OP_GT || op == OP_GE || op == OP_ISNAN;
}

/* What the arguments are computed in: for comparisons the widest of them, else the result's type. */
static enum ctype argument_type(const struct gen *g, const struct kw_node *n)
{
	enum ctype c = naive_ctype(g, n->dtype);

	if (!is_comparison(op_id(n)))
		return c;
	for (int i = 0; i < n->arg_count; i++) {
		enum ctype a = naive_ctype(g, n->args[i]->dtype);
		if (a == CT_F64 || (a == CT_F32 && c == CT_I64))
			c = a;
	}
	return c;
}

static const char *whole_function(struct gen *g, enum op_id op, const char *a, const char *b)
{
	if (op == OP_FLOORDIV)
		return naive_text(g, "floor_div(%s, %s)", a, b);
	return naive_text(g, "(%s == 0 ? 0 : %s - floor_div(%s, %s) * %s)", b, a, a, b, b);
}

/* Operations that name an argument twice; v are names or numbers. */
static const char *repeated(struct gen *g, const struct kw_node *n, const char *a, const char *b, enum ctype c)
{
	const char *f = c == CT_F32 ? g->lang->f32_suffix : "", *zero = naive_number(g, 0, c);
	bool whole = c == CT_I64;

	switch (op_id(n)) {
	case OP_MAXIMUM: return naive_text(g, whole ? "(%s > %s ? %s : %s)" : "(%s > %s || isnan(%s) ? %s : %s)", a, b,
					   a, whole ? b : a, b);
	case OP_MINIMUM: return naive_text(g, whole ? "(%s < %s ? %s : %s)" : "(%s < %s || isnan(%s) ? %s : %s)", a, b,
					   a, whole ? b : a, b);
	case OP_RELU: return naive_text(g, "(%s < %s ? %s : %s)", a, zero, zero, a);
	case OP_SQUARE: return naive_text(g, "(%s * %s)", a, a);
	case OP_SIGN: return naive_text(g, "(%s > 0 ? %s : %s < 0 ? %s : %s)", a, naive_number(g, 1, c), a,
					naive_number(g, -1, c), a);
	case OP_ABS: return whole ? naive_text(g, "(%s < 0 ? -%s : %s)", a, a, a) : naive_text(g, "fabs%s(%s)", f, a);
	case OP_FLOORDIV: return whole ? whole_function(g, OP_FLOORDIV, a, b) :
					 naive_text(g, "kw_floor_div%s(%s, %s)", c == CT_F32 ? "f" : "", a, b);
	case OP_MOD: return whole ? whole_function(g, OP_MOD, a, b) :
				    naive_text(g, "kw_floor_mod%s(%s, %s)", c == CT_F32 ? "f" : "", a, b);
	default: return NULL;
	}
}

/* A float as a whole number of dtype d: towards 0, and within its range. */
static const char *saturated(struct gen *g, enum kw_dtype d, enum ctype from, const char *v)
{
	return naive_text(g, "(int64_t)kw_%s_from_%s(%s)", kw_dtype_name(d), from == CT_F64 ? "f64" : "f32", v);
}

/* In a reference: as the judge converts. v is a double or an int64_t. */
static const char *wide_cast(struct gen *g, enum kw_dtype from, enum kw_dtype d, const char *v)
{
	const struct kw_dtype_info *info = kw_dtype_info(d);

	if (info->cls == KW_CLASS_FLOAT && info->bits < 32 && from != d)
		return naive_text(g, "(double)kw_%s_to_f32(kw_%s_from_f32(to_odd(%s)))", info->name, info->name, v);
	if (info->cls != KW_CLASS_INT || from == d)
		return v;
	if (kw_dtype_is_float(from))
		return saturated(g, d, CT_F64, v);
	return d == KW_I64 ? v : naive_text(g, "(int64_t)(%s)%s", info->ctype, v);
}

/* Rounds to the dtype that a cast names. */
static const char *cast(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const struct kw_node *x = n->args[0];
	const struct kw_dtype_info *info = kw_dtype_info(n->dtype);
	enum ctype from = naive_ctype(g, x->dtype), to = naive_ctype(g, n->dtype);
	bool odd = from == CT_F64 && !g->lang->gpu; /* rounded once; a baseline for a GPU keeps the two that one writes */
	struct at inner[KW_MAX_RANK] = { 0 };
	const char *v;

	naive_arg_index(g, n, x, ix, inner);
	if (info->cls == KW_CLASS_BOOL)
		return naive_text(g, "(%s != 0)", naive_value(g, x, inner, s));
	if (g->wide) {
		v = naive_value_as(g, x, inner, s, info->cls == KW_CLASS_INT ? from : to);
		return wide_cast(g, x->dtype, n->dtype, v);
	}
	if (info->cls == KW_CLASS_INT && kw_dtype_is_float(x->dtype))
		return saturated(g, n->dtype, from, naive_value(g, x, inner, s));
	v = naive_value_as(g, x, inner, s, to);
	if (info->cls == KW_CLASS_FLOAT && info->bits < 32)
		return naive_text(g, odd ? "kw_%s_to_f32(kw_%s_from_f32(to_odd(%s)))" : "kw_%s_to_f32(kw_%s_from_f32(%s))",
				  info->name, info->name, odd ? naive_value(g, x, inner, s) : v);
	if (info->cls == KW_CLASS_INT && info->bits < 64)
		return naive_text(g, "(int64_t)(%s)%s", info->ctype, v);
	return from == CT_F64 && to == CT_F32 ? naive_text(g, "(float)%s", v) : v;
}

static const char *iota(struct gen *g, const struct kw_node *n, const struct at *ix)
{
	const char *v = ix[0].text;
	int64_t step;

	if (!(sym_is_const(xn(n)->sym[1], &step) && step == 1))
		v = naive_text(g, "(%s) * %s", v, naive_size(g, xn(n)->sym[1]));
	if (!sym_is(xn(n)->sym[0], 0))
		v = naive_text(g, "%s + %s", naive_size(g, xn(n)->sym[0]), v);
	return naive_text(g, "(%s)", v);
}

static const char *power(struct gen *g, const char *a, const char *b, enum ctype c)
{
	if (c == CT_I64)
		return naive_text(g, "power_of(%s, %s)", a, b);
	return naive_text(g, "pow%s(%s, %s)", c == CT_F32 ? g->lang->f32_suffix : "", a, b);
}

static const char *fixed(struct gen *g, const struct kw_node *n, const char *const *v, enum ctype c)
{
	enum op_id op = op_id(n);
	const char *f = c == CT_F32 ? g->lang->f32_suffix : "", *one = naive_number(g, 1, c);

	if (function_of(op))
		return c == CT_I64 ? v[0] : naive_text(g, "%s%s(%s)", function_of(op), f, v[0]);
	if (operator_of(op))
		return naive_text(g, "(%s %s %s)", v[0], operator_of(op), v[1]);
	switch (op) {
	case OP_NEG: return naive_text(g, "(-%s)", v[0]);
	case OP_NOT: return naive_text(g, n->dtype == KW_BOOL ? "(!%s)" : "(~%s)", v[0]);
	case OP_RSQRT: return naive_text(g, "(%s / sqrt%s(%s))", one, f, v[0]);
	case OP_RECIPROCAL: return naive_text(g, "(%s / %s)", one, v[0]);
	case OP_SIGMOID: return naive_text(g, "(%s / (%s + exp%s(-%s)))", one, one, f, v[0]);
	case OP_ISNAN: return c == CT_I64 ? "0" : naive_text(g, "(isnan(%s) != 0)", v[0]);
	case OP_POW: return power(g, v[0], v[1], c);
	case OP_UNIFORM: return naive_text(g, "kw_uniformf(%s, %s)", v[0], v[1]);
	default: return NULL;
	}
}

static bool names_twice(enum op_id op)
{
	return op == OP_MAXIMUM || op == OP_MINIMUM || op == OP_RELU || op == OP_SQUARE || op == OP_SIGN || op == OP_ABS ||
	       op == OP_FLOORDIV || op == OP_MOD;
}

static const char *where(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	enum ctype c = naive_ctype(g, n->dtype);
	struct at inner[KW_MAX_RANK] = { 0 };
	const char *v[3];

	for (int i = 0; i < 3; i++) {
		naive_arg_index(g, n, n->args[i], ix, inner);
		v[i] = i ? naive_value_as(g, n->args[i], inner, s, c) : naive_value(g, n->args[0], inner, s);
	}
	return naive_text(g, "(%s ? %s : %s)", v[0], v[1], v[2]);
}

const char *naive_elem(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	enum op_id op = op_id(n);
	enum ctype c = argument_type(g, n);
	struct at inner[KW_MAX_RANK] = { 0 };
	const char *v[3] = { 0 }, *text;

	if (op == OP_CAST)
		return cast(g, n, ix, s);
	if (op == OP_ARANGE)
		return iota(g, n, ix);
	if (op == OP_WHERE)
		return where(g, n, ix, s);
	if (op == OP_UNIFORM) /* whole numbers in, a float out */
		c = CT_I64;
	if (n->arg_count < 1 || n->arg_count > 2) {
		naive_fail(g, n, "");
		return "0";
	}
	for (int i = 0; i < n->arg_count; i++) {
		naive_arg_index(g, n, n->args[i], ix, inner);
		v[i] = naive_value_as(g, n->args[i], inner, s, c);
		if (names_twice(op))
			v[i] = naive_let(g, s, c, "x", v[i]);
	}
	text = names_twice(op) ? repeated(g, n, v[0], v[1], c) : fixed(g, n, v, c);
	if (!text)
		naive_fail(g, n, "");
	else if (kw_expr_wraps(n))
		text = naive_text(g, "(int64_t)(%s)%s", kw_dtype_info(n->dtype)->ctype, text);
	return text ? text : "0";
}
