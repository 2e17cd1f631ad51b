/* scalar.c - an elementwise subgraph as one C expression over the functions of kw.h. */
#include "expr/internal.h"

#include <math.h>
#include <string.h>

struct form {
	enum op_id id;
	const char *f32, *f64;            /* NULL f64: no double form */
};
static const struct form infix[] = {
	{ OP_ADD, " + ", " + " }, { OP_SUB, " - ", " - " }, { OP_MUL, " * ", " * " }, { OP_DIV, " / ", " / " },
	{ OP_EQ, " == ", " == " }, { OP_NE, " != ", " != " }, { OP_LT, " < ", " < " }, { OP_LE, " <= ", " <= " },
	{ OP_GT, " > ", " > " }, { OP_GE, " >= ", " >= " }, { OP_AND, " & ", " & " }, { OP_OR, " | ", " | " },
};
static const struct form calls[] = {
	{ OP_EXP, "kw_expf", "kw_exp" }, { OP_EXP2, "kw_exp2f", "exp2" }, { OP_EXPM1, "kw_expm1f", "expm1" },
	{ OP_LOG, "kw_logf", "kw_log" }, { OP_LOG2, "kw_log2f", "log2" }, { OP_LOG10, "kw_log10f", "log10" },
	{ OP_LOG1P, "kw_log1pf", "log1p" }, { OP_SQRT, "sqrtf", "sqrt" }, { OP_RSQRT, "kw_rsqrtf", "kw_rsqrt" },
	{ OP_SIN, "kw_sinf", "kw_sin" }, { OP_COS, "kw_cosf", "kw_cos" }, { OP_TAN, "tanf", "tan" },
	{ OP_ATAN, "atanf", "atan" }, { OP_TANH, "kw_tanhf", "kw_tanh" }, { OP_ERF, "kw_erff", "kw_erf" },
	{ OP_SIGMOID, "kw_sigmoidf", "kw_sigmoid" }, { OP_ABS, "fabsf", "fabs" }, { OP_FLOOR, "floorf", "floor" },
	{ OP_CEIL, "ceilf", "ceil" }, { OP_ROUND, "rintf", "rint" }, { OP_TRUNC, "truncf", "trunc" },
	{ OP_MAXIMUM, "kw_maxf", "kw_max" }, { OP_MINIMUM, "kw_minf", "kw_min" }, { OP_POW, "kw_powf", "kw_pow" },
	{ OP_FLOORDIV, "kw_floor_divf", "kw_floor_div" }, { OP_MOD, "kw_floor_modf", "kw_floor_mod" },
	{ OP_SILU, "kw_siluf", NULL }, { OP_UNIFORM, "kw_uniformf", "kw_uniformf" },
};

struct printer {
	kw_leaf_fn leaf;
	void *arg;
	struct kw_buf *out;
	struct kw_error *err;
	const struct kw_node *bad;
	int depth;
	bool wide;                        /* inside an f64 operation: numbers are doubles */
};

static const char *find_form(const struct form *f, size_t n, enum op_id id, bool wide)
{
	for (size_t i = 0; i < n; i++) {
		if (f[i].id == id)
			return wide ? f[i].f64 : f[i].f32;
	}
	return NULL;
}

static void print_number(struct kw_buf *out, double v, bool wide)
{
	char text[40];
	float f = (float)v;

	if (v != v || v - v != 0) {
		kw_buf_addz(out, v != v ? "KW_NAN" : v > 0 ? "KW_INF" : "(-KW_INF)");
		return;
	}
	snprintf(text, sizeof(text), "%.17g", wide ? v : (double)f);
	for (int digits = 6; digits < 17; digits++) { /* the shortest that reads back the same */
		char shorter[40];
		double back;
		snprintf(shorter, sizeof(shorter), "%.*g", digits, wide ? v : (double)f);
		if (kw_str_to_f64(kw_str_from(shorter), &back) && (wide ? back == v : (float)back == f)) {
			memcpy(text, shorter, sizeof(shorter));
			break;
		}
	}
	kw_buf_printf(out, v < 0 ? "(%s%s%s)" : "%s%s%s", text, strpbrk(text, ".e") ? "" : ".0", wide ? "" : "f");
}

static bool print(struct printer *p, const struct kw_node *n);

static bool is_wide(const struct kw_node *n)
{
	return n->dtype == KW_F64;
}

static bool print_call(struct printer *p, const char *name, const struct kw_node *n)
{
	kw_buf_printf(p->out, "%s(", name);
	for (int i = 0; i < n->arg_count; i++) {
		if (i)
			kw_buf_addz(p->out, ", ");
		if (!print(p, n->args[i]))
			return false;
	}
	kw_buf_addc(p->out, ')');
	return true;
}

/* "a|b|c" around the arguments in the order of the digits: "(|0| < 0 ? 0 : |0|)". */
static bool print_around(struct printer *p, const struct kw_node *n, const char *pattern)
{
	for (const char *s = pattern; *s; s++) {
		if (*s != '$')
			kw_buf_addc(p->out, *s);
		else if (!print(p, n->args[*++s - '0']))
			return false;
	}
	return true;
}

static const char *whole_from(enum kw_dtype d, bool wide)
{
	switch (d) {
	case KW_U8: return wide ? "kw_u8_from_f64" : "kw_u8_from_f32";
	case KW_I8: return wide ? "kw_i8_from_f64" : "kw_i8_from_f32";
	case KW_I16: return wide ? "kw_i16_from_f64" : "kw_i16_from_f32";
	case KW_I32: return wide ? "kw_i32_from_f64" : "kw_i32_from_f32";
	default: return wide ? "kw_i64_from_f64" : "kw_i64_from_f32";
	}
}

static bool print_cast(struct printer *p, const struct kw_node *n)
{
	const char *round = NULL;

	switch (n->dtype) {
	case KW_F16: round = "kw_f16"; break;
	case KW_BF16: round = "kw_bf16"; break;
	case KW_F8E4M3: round = "kw_f8e4m3"; break;
	case KW_F8E5M2: round = "kw_f8e5m2"; break;
	case KW_BOOL: return print_around(p, n, "($0 != 0)");
	default: break;
	}
	if (round) {
		kw_buf_printf(p->out, "%s_to_f32(%s_from_f32(", round, round);
		if (!print(p, n->args[0]))
			return false;
		kw_buf_addz(p->out, "))");
		return true;
	}
	if (kw_dtype_info(n->dtype)->cls == KW_CLASS_INT && kw_dtype_is_float(n->args[0]->dtype))
		return print_call(p, whole_from(n->dtype, is_wide(n->args[0])), n);
	kw_buf_printf(p->out, "(%s)", kw_dtype_info(n->dtype)->ctype);
	return print(p, n->args[0]);
}

static bool print_special(struct printer *p, const struct kw_node *n)
{
	bool wide = is_wide(n), whole = !kw_dtype_is_float(n->dtype);

	switch (n->op->id) {
	case OP_NEG: return print_around(p, n, "(-$0)");
	case OP_SQUARE: return print_around(p, n, "($0 * $0)");
	case OP_RELU: return print_around(p, n, whole ? "($0 < 0 ? 0 : $0)" : wide ? "kw_max($0, 0.0)" : "kw_maxf($0, 0.0f)");
	case OP_RECIPROCAL: return print_around(p, n, wide ? "(1.0 / $0)" : "(1.0f / $0)");
	case OP_SIGN: return print_around(p, n, wide ? "(double)(($0 > 0) - ($0 < 0))" : "(float)(($0 > 0) - ($0 < 0))");
	case OP_NOT: return print_around(p, n, kw_dtype_info(n->dtype)->cls == KW_CLASS_BOOL ? "(!$0)" : "(~$0)");
	case OP_ISNAN: return print_around(p, n, "($0 != $0)");
	case OP_WHERE: return print_around(p, n, "($0 ? $1 : $2)");
	case OP_CAST: return print_cast(p, n);
	case OP_GELU:
		return !wide && print_call(p, n->sattr && strcmp(n->sattr, "tanh") == 0 ? "kw_gelu_tanhf" : "kw_geluf", n);
	default: return false;
	}
}

/* Whole numbers have no functions of their own but these. What may wrap is computed without signs, where C defines how. */
static bool print_whole(struct printer *p, const struct kw_node *n)
{
	bool wraps = kw_expr_wraps(n);

	switch (n->op->id) {
	case OP_ABS: return print_around(p, n, wraps ? "($0 < 0 ? 0 - (uint32_t)$0 : (uint32_t)$0)" : "($0 < 0 ? -$0 : $0)");
	case OP_ADD: return wraps && print_around(p, n, "((uint32_t)$0 + (uint32_t)$1)");
	case OP_SUB: return wraps && print_around(p, n, "((uint32_t)$0 - (uint32_t)$1)");
	case OP_MUL: return wraps && print_around(p, n, "((uint32_t)$0 * (uint32_t)$1)");
	case OP_SQUARE: return print_around(p, n, wraps ? "((uint32_t)$0 * (uint32_t)$0)" : "($0 * $0)");
	case OP_NEG: return print_around(p, n, wraps ? "(0 - (uint32_t)$0)" : "(-$0)");
	case OP_MAXIMUM: return print_around(p, n, "($0 > $1 ? $0 : $1)");
	case OP_MINIMUM: return print_around(p, n, "($0 < $1 ? $0 : $1)");
	case OP_FLOORDIV: return print_call(p, n->dtype == KW_I64 ? "kw_floor_div64" : "kw_floor_div32", n);
	case OP_MOD: return print_call(p, n->dtype == KW_I64 ? "kw_floor_mod64" : "kw_floor_mod32", n);
	case OP_FLOOR: case OP_CEIL: case OP_ROUND: case OP_TRUNC: return print(p, n->args[0]);
	default: return print_special(p, n);
	}
}

static bool print_elementwise(struct printer *p, const struct kw_node *n)
{
	const char *s = find_form(infix, sizeof(infix) / sizeof(*infix), n->op->id, is_wide(n));
	bool divide = n->op->id == OP_DIV;

	if (kw_expr_wraps(n)) {
		kw_buf_printf(p->out, "(%s)", kw_dtype_info(n->dtype)->ctype);
		return print_whole(p, n);
	}
	if (s) {
		kw_buf_addz(p->out, divide && !kw_dtype_is_float(n->args[0]->dtype) ? is_wide(n) ? "((double)" : "((float)" : "(");
		if (!print(p, n->args[0]))
			return false;
		kw_buf_addz(p->out, s);
		if (!print(p, n->args[1]))
			return false;
		kw_buf_addc(p->out, ')');
		return true;
	}
	if (!kw_dtype_is_float(n->dtype))
		return print_whole(p, n);
	s = find_form(calls, sizeof(calls) / sizeof(*calls), n->op->id, is_wide(n));
	return s ? print_call(p, s, n) : print_special(p, n);
}

static bool print_node(struct printer *p, const struct kw_node *n)
{
	switch (n->kind) {
	case KW_NODE_CONST:
		if (kw_dtype_is_float(n->dtype))
			print_number(p->out, n->value, p->wide);
		else
			kw_buf_printf(p->out, n->value < 0 ? "(%lld)" : "%lld", (long long)n->value);
		return true;
	case KW_NODE_DIM: kw_buf_printf(p->out, "(%s)", kw_intexpr_text(n->shape[0].expr)); return true;
	case KW_NODE_PARAM: return false;
	case KW_NODE_ELEMENTWISE: return n->arg_count > 0 && print_elementwise(p, n);
	default: return false;
	}
}

/* Comparisons of doubles give bools, so the arguments decide too. */
static bool reads_f64(const struct kw_node *n)
{
	bool wide = is_wide(n);

	for (int i = 0; i < n->arg_count; i++)
		wide = wide || is_wide(n->args[i]);
	return wide;
}

/* Numbers beside doubles are printed as doubles. */
static bool print(struct printer *p, const struct kw_node *n)
{
	bool good, outer = p->wide;

	if (p->leaf && p->leaf(p->arg, n, p->out))
		return true;
	if (++p->depth > MAX_DEPTH * 2)
		good = false;
	else {
		if (n->kind == KW_NODE_ELEMENTWISE)
			p->wide = reads_f64(n);
		good = print_node(p, n);
		p->wide = outer;
	}
	p->depth--;
	if (!good && !p->bad)
		p->bad = n;
	return good;
}

enum kw_status kw_expr_emit_scalar_c(const struct kw_node *root, kw_leaf_fn leaf, void *arg, struct kw_buf *out,
				     struct kw_error *err)
{
	struct printer p = { .leaf = leaf, .arg = arg, .out = out, .err = err };

	if (print(&p, root))
		return out->full ? kw_fail(err, KW_ERR_LIMIT, "", "the C expression is too long") : KW_OK;
	return kw_fail(err, KW_NO, "", "'%s' has no scalar C form", p.bad && p.bad->op ? p.bad->op->name :
		       p.bad && p.bad->kind == KW_NODE_PARAM ? "a param" : p.bad && p.bad->kind == KW_NODE_INPUT ?
		       "an input" : "this operation");
}
