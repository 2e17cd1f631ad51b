#include "author/triton.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "author/emit_internal.h"

/* How an operation of floats is written; $0 is its first argument, which is a name where it stands more than once. */
static const struct {
	const char *op, *text;
} floats[] = {
	{ "add", "($0 + $1)" },
	{ "subtract", "($0 - $1)" },
	{ "multiply", "($0 * $1)" },
	{ "divide", "($0 / $1)" },
	{ "negative", "(-$0)" },
	{ "square", "($0 * $0)" },
	{ "reciprocal", "(1.0 / $0)" },
	{ "exp", "tl.exp($0)" },
	{ "exp2", "tl.exp2($0)" },
	{ "expm1", "libdevice.expm1($0)" },
	{ "log", "tl.log($0)" },
	{ "log2", "tl.log2($0)" },
	{ "log10", "libdevice.log10($0)" },
	{ "log1p", "libdevice.log1p($0)" },
	{ "sqrt", "tl.sqrt_rn($0)" },
	{ "rsqrt", "tl.rsqrt($0)" },
	{ "sin", "libdevice.sin($0)" },
	{ "cos", "libdevice.cos($0)" },
	{ "tan", "libdevice.tan($0)" },
	{ "arctan", "libdevice.atan($0)" },
	{ "tanh", "libdevice.tanh($0)" },
	{ "erf", "tl.erf($0)" },
	{ "power", "libdevice.pow($0, $1)" },
	{ "sigmoid", "(1.0 / (1.0 + tl.exp(-$0)))" },
	{ "silu", "($0 / (1.0 + tl.exp(-$0)))" },
	{ "relu", "tl.maximum($0, 0.0, propagate_nan=tl.PropagateNan.ALL)" },
	{ "maximum", "tl.maximum($0, $1, propagate_nan=tl.PropagateNan.ALL)" },
	{ "minimum", "tl.minimum($0, $1, propagate_nan=tl.PropagateNan.ALL)" },
	{ "abs", "tl.abs($0)" },
	{ "floor", "tl.floor($0)" },
	{ "ceil", "tl.ceil($0)" },
	{ "round", "libdevice.rint($0)" },
	{ "trunc", "libdevice.trunc($0)" },
	{ "sign", "tl.where($0 > 0, 1.0, tl.where($0 < 0, -1.0, 0.0))" },
	{ "floor_divide", "floor_div_float($0, $1)" },
	{ "remainder", "floor_mod_float($0, $1)" },
	{ "where", "tl.where($0, $1, $2)" },
	{ "gelu", "(0.5 * $0 * (1.0 + tl.erf(0.7071067811865476 * $0)))" },
	{ NULL, NULL },
}, whole[] = {
	{ "add", "($0 + $1)" },
	{ "subtract", "($0 - $1)" },
	{ "multiply", "($0 * $1)" },
	{ "negative", "(-$0)" },
	{ "square", "($0 * $0)" },
	{ "relu", "tl.maximum($0, 0)" },
	{ "maximum", "tl.maximum($0, $1)" },
	{ "minimum", "tl.minimum($0, $1)" },
	{ "abs", "tl.abs($0)" },
	{ "floor", "$0" },
	{ "floor_divide", "floor_div($0, $1)" },
	{ "remainder", "floor_mod($0, $1)" },
	{ "ceil", "$0" },
	{ "round", "$0" },
	{ "trunc", "$0" },
	{ "where", "tl.where($0, $1, $2)" },
	{ "equal", "($0 == $1)" },
	{ "not_equal", "($0 != $1)" },
	{ "less", "($0 < $1)" },
	{ "less_equal", "($0 <= $1)" },
	{ "greater", "($0 > $1)" },
	{ "greater_equal", "($0 >= $1)" },
	{ "logical_and", "($0 & $1)" },
	{ "logical_or", "($0 | $1)" },
	{ "isnan", "($0 != $0)" },
	{ NULL, NULL },
};

struct writer {
	struct kw_au_emit *e;
	const char *outer, *inner; /* statements outside of and inside a pass over memory; one and the same without */
	bool streams;		   /* the pattern has passes */
	uint32_t reduced;	   /* atoms that a pass goes along */
	const char *axis, *edge;   /* of the block that is reduced; the mask of what is inside along it */
	const char *lane_shape;
	int pass;
};

static const char *no(struct kw_au_emit *e, const char *why)
{
	if (!e->why)
		e->why = why;
	e->failed = true;
	return "0";
}

/* ---- types and numbers ---- */

static const char *type_name(enum kw_dtype d)
{
	if (kw_dtype_is_float(d))
		return d == KW_F64 ? "tl.float64" : "tl.float32";
	return d == KW_BOOL ? "tl.int1" : d == KW_I64 ? "tl.int64" : "tl.int32";
}

static const char *number(struct kw_au_emit *e, const struct kw_node *n)
{
	char text[40];

	if (!kw_dtype_is_float(n->dtype))
		return kw_au_printf(e, "%lld", (long long)n->value);
	if (isnan(n->value))
		return "float(\"nan\")";
	if (isinf(n->value))
		return n->value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
	for (int digits = 6; digits <= 17; digits++) {
		double back;

		snprintf(text, sizeof(text), "%.*g", digits, n->value);
		if (kw_str_to_f64(kw_str_from(text), &back) && back == n->value)
			break;
	}
	return kw_au_printf(e, "%s%s%s%s", n->value < 0 ? "(" : "", text, strpbrk(text, ".e") ? "" : ".0", n->value < 0 ? ")" : "");
}

/* ---- addresses ---- */

static const char *address(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	const char *s = t->c_name;

	for (int i = 0; i < t->atom_count; i++) {
		const char *stride = kw_au_stride(e->g, t, t->atoms[i]), *index = e->index[t->atoms[i]];

		if (!index)
			return no(e, "a tensor that varies over an axis which no loop walks");
		s = strcmp(stride, "1") == 0 ? kw_au_printf(e, "%s + %s", s, index) :
					       kw_au_printf(e, "%s + %s * %s", s, index, strchr(stride, ' ') ?
							    kw_au_printf(e, "(%s)", stride) : stride);
	}
	return s;
}

/* "row_in & at_in": every limit once; "" where nothing limits it. */
static const char *mask_of(struct kw_au_emit *e, const struct kw_au_tensor *t)
{
	const char *s = "";

	for (int i = 0; i < t->atom_count; i++) {
		const char *limit = e->limit[t->atoms[i]];

		if (limit && !strstr(s, limit))
			s = *s ? kw_au_printf(e, "%s & %s", s, limit) : limit;
	}
	return s;
}

static const char *load(struct kw_au_emit *e, const struct kw_node *n)
{
	struct kw_au_tensor *t = &e->g->tensors[n->index];
	const char *mask = mask_of(e, t), *cast = "";

	t->used = true;
	if (kw_dtype_is_float(t->dtype) && kw_dtype_bytes(t->dtype) < 4)
		cast = ".to(tl.float32)";
	else if (!kw_dtype_is_float(t->dtype) && t->dtype != KW_BOOL && kw_dtype_bytes(t->dtype) < 4)
		cast = ".to(tl.int32)";
	return kw_au_printf(e, "tl.load(%s%s%s)%s", address(e, t), *mask ? ", mask=" : "", mask, cast);
}

/* ---- values ---- */

static const char *value(struct writer *w, const struct kw_node *n);

/* A value inside of a pass: it varies along what the pass goes along. */
static bool is_inner(const struct writer *w, const struct kw_node *n)
{
	return w->streams && (w->e->g->nodes[n->id].mask & w->reduced) && !kw_au_is_reduce(n);
}

static const char *say(const struct kw_au_emit *e, const struct kw_node *n)
{
	static const struct {
		const char *op, *say;
	} words[] = { { "subtract", "diff" }, { "add", "sum" }, { "multiply", "product" }, { "divide", "quotient" },
		      { "negative", "minus" }, { "power", "power" }, { "where", "chosen" }, { "cast", "rounded" } };
	const char *s = n->kind == KW_NODE_INPUT ? e->g->tensors[n->index].c_name : kw_au_op(n);

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(s, words[i].op) == 0)
			return words[i].say;
	return *s ? s : "value";
}

/* Gives a text a name, where it has none yet. */
static const char *name_it(struct writer *w, const struct kw_node *n, const char *text)
{
	struct kw_au_emit *e = w->e;
	const char **lines = is_inner(w, n) ? &w->inner : &w->outer, *name;

	if (e->var[n->id])
		return e->var[n->id];
	name = kw_au_name(e, kw_au_printf(e, "%s_v", say(e, n)));
	*lines = kw_au_printf(e, "%s%s = %s\n", *lines, name, kw_au_bare(e, text));
	e->var[n->id] = name;
	return name;
}

static bool is_number(const struct kw_node *n)
{
	return n->kind == KW_NODE_CONST || n->kind == KW_NODE_PARAM || n->kind == KW_NODE_DIM;
}

static const char *named(struct writer *w, const struct kw_node *n)
{
	const char *text = value(w, n);

	n = kw_au_origin(w->e->g, n);
	return is_number(n) ? text : name_it(w, n, text);
}

static int times_used(const char *text, char digit)
{
	int n = 0;

	for (; *text; text++)
		n += text[0] == '$' && text[1] == digit;
	return n;
}

static const char *put_args(struct writer *w, const struct kw_node *n, const char *text)
{
	const char *arg[3] = { "", "", "" }, *s = "";

	for (int i = 0; i < n->arg_count && i < 3; i++)
		arg[i] = times_used(text, (char)('0' + i)) > 1 ? named(w, n->args[i]) : value(w, n->args[i]);
	for (; *text; text++)
		if (*text == '$' && text[1] >= '0' && text[1] <= '2')
			s = kw_au_printf(w->e, "%s%s", s, arg[*++text - '0']);
		else
			s = kw_au_printf(w->e, "%s%c", s, *text);
	return s;
}

/* Narrow whole numbers are held in 32 bits: what may be beyond their own goes through their type, where it wraps. */
static const char *narrowed(struct writer *w, enum kw_dtype d, const char *text)
{
	const char *type = d == KW_U8 ? "tl.uint8" : d == KW_I8 ? "tl.int8" : d == KW_I16 ? "tl.int16" : NULL;

	return type ? kw_au_printf(w->e, "%s.to(%s).to(tl.int32)", text, type) : text;
}

/* A float as a whole number: towards 0, and within the range of d. */
static const char *saturated(struct writer *w, enum kw_dtype d, const char *text)
{
	static const struct {
		enum kw_dtype d;
		const char *range; /* low, high, and the largest float below */
	} ranges[] = { { KW_U8, "0.0, 255, 255.0" }, { KW_I8, "-128.0, 127, 127.0" }, { KW_I16, "-32768.0, 32767, 32767.0" },
		       { KW_I32, "-2147483648.0, 2147483647, 2147483520.0" },
		       { KW_I64, "-9223372036854775808.0, 9223372036854775807, 9223371487098961920.0" } };

	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (ranges[i].d == d)
			text = kw_au_printf(w->e, "to_whole(%s, %s, %s)", text, ranges[i].range, type_name(d));
	return text;
}

static const char *cast(struct writer *w, const struct kw_node *n)
{
	static const struct {
		enum kw_dtype d;
		const char *name;
	} narrow[] = { { KW_F16, "tl.float16" }, { KW_BF16, "tl.bfloat16" }, { KW_F8E4M3, "tl.float8e4nv" }, { KW_F8E5M2, "tl.float8e5" } };
	const char *from = value(w, n->args[0]);

	if (is_number(n->args[0]))
		return from;
	for (size_t i = 0; i < sizeof(narrow) / sizeof(*narrow); i++)
		if (narrow[i].d == n->dtype)
			return kw_au_printf(w->e, "%s.to(%s).to(tl.float32)", from, narrow[i].name);
	if (n->dtype == KW_BOOL)
		return kw_au_printf(w->e, "(%s != 0)", from);
	if (!kw_dtype_is_float(n->dtype) && kw_dtype_is_float(n->args[0]->dtype))
		return saturated(w, n->dtype, from);
	return narrowed(w, n->dtype, kw_au_printf(w->e, "%s.to(%s)", from, type_name(n->dtype)));
}

/* Whole numbers and truth values among floats. */
static const char *as_float(struct writer *w, const struct kw_node *arg)
{
	const char *text = value(w, arg);

	if (is_number(arg) || kw_dtype_is_float(arg->dtype))
		return text;
	return kw_au_printf(w->e, "%s.to(tl.float32)", text);
}

static const char *special(struct writer *w, const struct kw_node *n)
{
	const char *op = kw_au_op(n);

	if (strcmp(op, "cast") == 0)
		return cast(w, n);
	if (strcmp(op, "divide") == 0 && !kw_dtype_is_float(n->args[0]->dtype))
		return kw_au_printf(w->e, "(%s / %s)", as_float(w, n->args[0]), as_float(w, n->args[1]));
	if (strcmp(op, "logical_not") == 0)
		return put_args(w, n, n->dtype == KW_BOOL ? "($0 == 0)" : "(~$0)");
	if (strcmp(op, "where") == 0 && n->args[0]->dtype != KW_BOOL)
		return put_args(w, n, "tl.where($0 != 0, $1, $2)");
	if (strcmp(op, "gelu") == 0 && n->sattr && strcmp(n->sattr, "tanh") == 0)
		return put_args(w, n, "(0.5 * $0 * (1.0 + libdevice.tanh(0.7978845608028654 * ($0 + 0.044715 * $0 * $0 * $0))))");
	return NULL;
}

/* The number of the axis's element, where the block stands. */
static const char *position(struct kw_au_emit *e, const struct kw_node *n)
{
	uint32_t mask = e->g->nodes[n->id].mask;

	for (int i = 0; i < e->g->atom_count; i++)
		if (mask == 1u << i && e->index[i])
			return kw_au_printf(e, "(%s).to(tl.int32)", e->index[i]);
	return no(e, "an arange that varies over more than one loop");
}

static const char *elementwise(struct writer *w, const struct kw_node *n)
{
	bool flt = kw_dtype_is_float(n->dtype);
	const char *text;

	if (strcmp(kw_au_op(n), "arange") == 0)
		return position(w->e, n);
	text = special(w, n);
	for (size_t i = 0; !text && flt && floats[i].op; i++)
		if (strcmp(floats[i].op, kw_au_op(n)) == 0)
			text = put_args(w, n, floats[i].text);
	for (size_t i = 0; !text && !flt && whole[i].op; i++)
		if (strcmp(whole[i].op, kw_au_op(n)) == 0)
			text = put_args(w, n, whole[i].text);
	if (text && kw_expr_wraps(n))
		text = narrowed(w, n->dtype, text);
	return text ? text : no(w->e, kw_arena_printf(w->e->g->arena, "%s has no Triton form", kw_au_op(n)));
}

static const char *dim_value(struct kw_au_emit *e, const struct kw_node *n)
{
	int i = 0;

	while (i < e->dim_count && e->dim[i] != n)
		i++;
	if (i == (int)(sizeof(e->dim) / sizeof(*e->dim)))
		return no(e, "it computes with too many dims");
	if (i == e->dim_count)
		e->dim[e->dim_count++] = n;
	return kw_au_printf(e, "dim%d", i);
}

static const char *fresh(struct writer *w, const struct kw_node *n)
{
	struct kw_au_emit *e = w->e;

	switch (n->kind) {
	case KW_NODE_INPUT:
		return load(e, n);
	case KW_NODE_PARAM:
		e->param_used[n->index] = true;
		return e->param_name[n->index];
	case KW_NODE_DIM:
		return dim_value(e, n);
	case KW_NODE_CONST:
		return number(e, n);
	case KW_NODE_ELEMENTWISE:
		return elementwise(w, n);
	default:
		return no(e, kw_arena_printf(e->g->arena, "%s has no Triton form", *kw_au_op(n) ? kw_au_op(n) : "a part of it"));
	}
}

static const char *reduction(struct writer *w, const struct kw_node *n);

static const char *value(struct writer *w, const struct kw_node *n)
{
	const char *text;

	n = kw_au_origin(w->e->g, n);
	if (w->e->failed)
		return "0";
	if (w->e->var[n->id])
		return w->e->var[n->id];
	if (kw_au_is_reduce(n))
		return reduction(w, n);
	text = fresh(w, n);
	/* A value of an outer level that a pass uses would be computed anew in each of its turns. */
	return is_number(n) || (n->use_count < 2 && (!w->streams || is_inner(w, n)) && n->kind != KW_NODE_INPUT) ? text : name_it(w, n, text);
}

/* ---- reductions ---- */

static const char *neutral(int kind, enum kw_dtype d)
{
	bool flt = kw_dtype_is_float(d);

	switch (kind) {
	case KW_AU_MAX:
		return flt ? "float(\"-inf\")" : d == KW_I64 ? "-9223372036854775808" : "-2147483648";
	case KW_AU_MIN:
		return flt ? "float(\"inf\")" : d == KW_I64 ? "9223372036854775807" : "2147483647";
	case KW_AU_PROD:
		return flt ? "1.0" : "1";
	case KW_AU_ALL:
		return "1";
	default:
		return flt ? "0.0" : "0";
	}
}

static enum kw_dtype held(const struct kw_node *n, int kind)
{
	if (kind == KW_AU_ANY || kind == KW_AU_ALL)
		return KW_I32;
	if (kw_au_is_argreduce(n))
		n = n->args[0];
	return kw_dtype_is_float(n->dtype) ? (n->dtype == KW_F64 ? KW_F64 : KW_F32) : n->dtype == KW_I64 ? KW_I64 : KW_I32;
}

/* What is reduced, in the type that it is reduced in. */
static const char *operand(struct writer *w, const struct kw_node *n, int kind)
{
	enum kw_dtype d = held(n, kind);
	const struct kw_node *arg = n->args[0];
	const char *text = kw_au_is_dot(n) ? kw_au_printf(w->e, "(%s * %s)", value(w, arg), value(w, n->args[1])) : value(w, arg);

	if (kind == KW_AU_ANY || kind == KW_AU_ALL)
		return kw_au_printf(w->e, "(%s != 0).to(tl.int32)", text);
	if (!is_number(arg) && arg->dtype != d && !(kw_dtype_is_float(arg->dtype) && d == KW_F32))
		return kw_au_printf(w->e, "%s.to(%s)", text, type_name(d));
	return text;
}

/* A block, or the lanes of a pass, down to one value a row or column. */
static const char *fold(struct writer *w, const struct kw_node *n, int kind, const char *block)
{
	bool flt = kw_dtype_is_float(held(n, kind));

	if (kind == KW_AU_PROD)
		return kw_au_printf(w->e, "tl.reduce(%s, axis=%s, combine_fn=times, keep_dims=True)", block, w->axis);
	/* Where the operand is used further on, what is no number is still in it. */
	if (flt && (kind == KW_AU_MAX || kind == KW_AU_MIN) && n->args[0]->use_count < 2)
		return kw_au_printf(w->e, "%s(%s, axis=%s)", kind == KW_AU_MAX ? "largest" : "smallest", block, w->axis);
	return kw_au_printf(w->e, "tl.%s(%s, axis=%s, keep_dims=True)", kind == KW_AU_SUM ? "sum" : kind == KW_AU_MAX || kind == KW_AU_ANY ?
			    "max" : "min", block, w->axis);
}

static const char *finished(struct writer *w, const struct kw_node *n, int kind, const char *text)
{
	if (kw_au_is_mean(n))
		return kw_au_printf(w->e, "%s / size", text);
	if (kind == KW_AU_ANY || kind == KW_AU_ALL)
		return kw_au_printf(w->e, "%s != 0", text);
	return text;
}

/* In one block. */
static const char *reduction(struct writer *w, const struct kw_node *n)
{
	int kind = kw_au_red_kind(n);
	struct kw_au_emit *e = w->e;
	const char *block;

	if (w->streams || kind < 0)
		return no(e, "a reduction that does not fit the passes");
	block = kw_au_printf(e, "tl.where(%s, %s, %s)", w->edge, kw_au_bare(e, operand(w, n, kind)), neutral(kind, held(n, kind)));
	if (kw_au_is_argreduce(n))
		return name_it(w, n, kw_au_printf(e, "tl.%s(%s, axis=%s, keep_dims=True).to(tl.int64)", kw_au_op(n), block, w->axis));
	return name_it(w, n, finished(w, n, kind, fold(w, n, kind, block)));
}

/* ---- passes ---- */

static const char *take_in(struct writer *w, const char *lanes, int kind, enum kw_dtype d, const char *block)
{
	const char *nan = kw_dtype_is_float(d) ? ", propagate_nan=tl.PropagateNan.ALL" : "";

	if (kind == KW_AU_SUM || kind == KW_AU_PROD)
		return kw_au_printf(w->e, "%s %s= %s\n", lanes, kind == KW_AU_SUM ? "+" : "*", block);
	return kw_au_printf(w->e, "%s = tl.%s(%s, %s%s)\n", lanes, kind == KW_AU_MAX || kind == KW_AU_ANY ? "maximum" : "minimum", lanes, block,
			    nan);
}

/* What was named inside of a pass is not there in the next. */
static void forget_inner(struct writer *w)
{
	for (size_t i = 0; i < w->e->g->expr->node_count; i++)
		if (is_inner(w, w->e->g->expr->nodes[i]))
			w->e->var[i] = NULL;
	w->inner = "";
}

static bool live(const struct kw_au_emit *e, const struct kw_node *n)
{
	return e->g->nodes[n->id].live && !e->g->nodes[n->id].same;
}

/* One pass over memory: all reductions of a stage. Its slots: lanes before it, `body` in it, `fold` behind it. */
static void fill_pass(struct writer *w, int stage, struct kw_fill *f)
{
	struct kw_au_emit *e = w->e;
	const char *lanes = "", *folds = "", *takes = "", *before;

	w->pass = stage;
	for (size_t i = 0; i < e->g->expr->node_count; i++) {
		const struct kw_node *n = e->g->expr->nodes[i];
		int kind = kw_au_is_reduce(n) ? kw_au_red_kind(n) : -1;
		const char *name, *block;
		enum kw_dtype d;

		if (!kw_au_is_reduce(n) || !live(e, n) || e->g->nodes[n->id].stage != stage + 1)
			continue;
		if (kind < 0 || kw_au_is_argreduce(n)) {
			no(e, "an index is not reduced piece by piece");
			return;
		}
		d = held(n, kind);
		name = kw_au_name(e, kw_au_printf(e, "%s_lanes", say(e, n)));
		block = kw_au_printf(e, "tl.where(%s, %s, %s)", w->edge, kw_au_bare(e, operand(w, n, kind)), neutral(kind, d));
		lanes = kw_au_printf(e, "%s%s = tl.full(%s, %s, %s)\n", lanes, name, w->lane_shape, neutral(kind, d), type_name(d));
		takes = kw_au_printf(e, "%s%s", takes, take_in(w, name, kind, d, block));
		e->var[n->id] = kw_au_name(e, kw_au_printf(e, "%s_v", say(e, n)));
		folds = kw_au_printf(e, "%s%s = %s\n", folds, e->var[n->id], finished(w, n, kind, fold(w, n, kind, name)));
	}
	before = w->outer;
	w->outer = "";
	kw_fill_set(f, "lanes", kw_au_printf(e, "%s%s", before, lanes));
	kw_fill_set(f, "body", kw_au_printf(e, "%s%s", w->inner, takes));
	kw_fill_set(f, "fold", folds);
	forget_inner(w);
}

/* ---- stores ---- */

static void store(struct writer *w, size_t output)
{
	struct kw_au_emit *e = w->e;
	struct kw_au_tensor *t = &e->g->tensors[e->g->task->input_count + output];
	const char *text = kw_au_bare(e, value(w, e->g->expr->outputs[output])), *mask = mask_of(e, t);
	const char **lines = w->streams && (t->mask & w->reduced) ? &w->inner : &w->outer;

	t->used = true;
	*lines = kw_au_printf(e, "%stl.store(%s, %s%s%s)\n", *lines, address(e, t), text, *mask ? ", mask=" : "", mask);
}

/* ---- for matmul.c ---- */

const char *kw_au_triton_operand(struct kw_au_emit *e, const struct kw_node *n, bool plain, const char *edge, const char **lines)
{
	struct writer w = { .e = e, .outer = "", .inner = "" };
	const struct kw_node *origin = kw_au_origin(e->g, n);
	const char *text;

	*lines = "";
	if (plain) {
		struct kw_au_tensor *t = &e->g->tensors[origin->index];

		t->used = true;
		return kw_au_printf(e, "tl.load(%s, mask=%s, other=0.0)", address(e, t), mask_of(e, t));
	}
	text = kw_au_bare(e, value(&w, n));
	*lines = w.outer;
	return kw_au_printf(e, "tl.where(%s, %s, 0.0)", edge, text);
}

const char *kw_au_triton_stores(struct kw_au_emit *e)
{
	struct writer w = { .e = e, .outer = "", .inner = "" };

	for (size_t i = 0; i < e->g->expr->output_count; i++)
		store(&w, i);
	return w.outer;
}

/* ---- the loops of a pattern ---- */

/* Names and limits of the indices of several atoms whose product is one: row_i0, row_i1, ... */
static const char *take_apart(struct kw_au_emit *e, const int *atoms, int count, const char *whole_index, const char *limit)
{
	const char *s = "", *rest = NULL;

	for (int i = 0; i < count; i++) {
		e->index[atoms[i]] = count == 1 ? whole_index : kw_au_printf(e, "%s_i%d", whole_index, i);
		e->limit[atoms[i]] = limit;
	}
	for (int i = count - 1; i >= 0 && count > 1; i--) {
		const char *var = e->g->atoms[atoms[i]].var, *from = rest ? kw_au_printf(e, "%s // (%s)", whole_index, rest) : whole_index;

		s = kw_au_printf(e, i ? "%s%s_i%d = %s %% %s\n" : "%s%s_i%d = %s\n", s, whole_index, i, from, var);
		rest = rest ? kw_au_printf(e, "%s * %s", rest, var) : var;
	}
	return s;
}

static bool uses(const char *text, const char *word)
{
	return kw_au_word_in(kw_str_from(text), word);
}

/* The lines that make the indices of rows, and those of what is reduced. */
static void set_indices(struct writer *w, const char **rows, const char **along)
{
	struct kw_au_emit *e = w->e;
	struct kw_au_graph *g = e->g;

	*rows = take_apart(e, g->row_atoms, g->row_count, "row", g->form == KW_AU_COLUMNS ? NULL : "row_in");
	*along = "";
	if (g->form == KW_AU_COLUMNS) {
		*along = take_apart(e, g->seg_atoms, g->seg_count, "seg", "seg_in");
		e->index[g->col_atom] = "col";
		e->limit[g->col_atom] = "col_in";
	} else if (g->form == KW_AU_POINTWISE) {
		if (g->col_atom >= 0) {
			e->index[g->col_atom] = "col";
			e->limit[g->col_atom] = "col_in";
		}
	} else {
		if (g->seg_count)
			*along = kw_au_printf(e, "seg = at // cols\n%scol = at %% cols\n",
					      take_apart(e, g->seg_atoms, g->seg_count, "seg", "at_in"));
		e->index[g->col_atom] = g->seg_count ? "col" : "at";
		e->limit[g->col_atom] = "at_in";
	}
}

static void set_block(struct writer *w)
{
	struct kw_au_graph *g = w->e->g;
	bool columns = g->form == KW_AU_COLUMNS;

	for (int i = 0; i < g->seg_count; i++)
		w->reduced |= 1u << g->seg_atoms[i];
	if (g->form == KW_AU_ROWS && g->col_atom >= 0)
		w->reduced |= 1u << g->col_atom;
	w->axis = columns ? "0" : "1";
	w->edge = columns ? "seg_in" : "at_in";
	w->lane_shape = columns ? "(SEGS, COLS)" : "(ROWS, COLS)";
}

static const char helper_text[] =
	"@triton.jit\n"
	"def largest(v, axis: tl.constexpr):\n"
	"    \"\"\"A maximum that is no number where one of its values is none.\"\"\"\n"
	"    m = tl.max(v, axis=axis, keep_dims=True)\n"
	"    return tl.where(tl.max((v != v).to(tl.int32), axis=axis, keep_dims=True) > 0, float(\"nan\"), m)\n";
static const char smallest_text[] =
	"@triton.jit\n"
	"def smallest(v, axis: tl.constexpr):\n"
	"    \"\"\"A minimum that is no number where one of its values is none.\"\"\"\n"
	"    m = tl.min(v, axis=axis, keep_dims=True)\n"
	"    return tl.where(tl.max((v != v).to(tl.int32), axis=axis, keep_dims=True) > 0, float(\"nan\"), m)\n";
static const char times_text[] = "@triton.jit\ndef times(a, b):\n    return a * b\n";

static const char *helpers(struct kw_au_emit *e, const char *text)
{
	return kw_au_printf(e, "%s%s%s%s", kw_au_triton_imports(e, text), strstr(text, "largest(") ? helper_text : "",
			    strstr(text, "smallest(") ? smallest_text : "", strstr(text, "combine_fn=times") ? times_text : "");
}

/* ---- the kernel's arguments ---- */

static void add_arg(struct kw_au_emit *e, struct kw_au_args *a, const char *plan, const char *name)
{
	kw_au_arg(e, a, plan, name);
}

static void add_size(struct kw_au_emit *e, struct kw_au_args *a, const char *text, const char *size, const char *name)
{
	if (uses(text, name))
		add_arg(e, a, kw_au_printf(e, "%s:i64", size), name);
}

static void add_atoms(struct kw_au_emit *e, struct kw_au_args *a, const char *text, const int *atoms, int count, const char *name)
{
	add_size(e, a, text, kw_au_product(e->g, atoms, count), name);
	for (int i = 0; i < count && count > 1; i++)
		add_size(e, a, text, e->g->atoms[atoms[i]].size, e->g->atoms[atoms[i]].var);
}

static enum kw_status interface(struct kw_au_emit *e, const char *kernel, const char *text, struct kw_fill *f)
{
	struct kw_au_graph *g = e->g;
	struct kw_au_args a = { "", "" };
	const char *cols = g->col_atom >= 0 ? g->atoms[g->col_atom].size : "1", *segs = kw_au_product(g, g->seg_atoms, g->seg_count);
	const char *blocks = g->form == KW_AU_COLUMNS ? "SEGS: tl.constexpr, COLS: tl.constexpr" : "ROWS: tl.constexpr, COLS: tl.constexpr";

	kw_au_triton_args(e, &a);
	add_atoms(e, &a, text, g->row_atoms, g->row_count, "rows");
	add_atoms(e, &a, text, g->seg_atoms, g->seg_count, "segs");
	add_size(e, &a, text, cols, "cols");
	add_size(e, &a, text, g->form == KW_AU_COLUMNS ? segs : kw_au_printf(e, "(%s) * (%s)", segs, cols), "size");
	kw_au_triton_strides(e, &a);
	kw_fill_set(f, "signature", kw_au_printf(e, "def %s(%s, %s):\n", kernel, a.c, blocks));
	kw_fill_set(f, "plan", kw_au_printf(e, "%s%s", kw_au_plan(e, kernel, &a, f), kw_au_require_strides(e)));
	return e->failed ? kw_fail(e->err, KW_ERR_NOMEM, "", "no memory to write the kernel") : KW_OK;
}

/* Everything in one block. */
static const char *one_block(struct writer *w, struct kw_fill *f, const char *along)
{
	const char *text;

	for (size_t i = 0; i < w->e->g->expr->output_count; i++)
		store(w, i);
	text = kw_au_printf(w->e, "%s%s", along, w->outer);
	kw_fill_set(f, "body", text);
	return text;
}

static const char *with_passes(struct writer *w, struct kw_fill *f, const char *along)
{
	struct kw_au_emit *e = w->e;
	struct kw_fill *pass = kw_arena_calloc(e->g->arena, (size_t)e->g->stage_count + 2, sizeof(*pass));
	const char *text = along;
	int count = e->g->stage_count;

	if (!pass)
		return no(e, "no memory");
	for (int s = 0; s < count; s++)
		fill_pass(w, s, &pass[s]);
	for (size_t i = 0; i < e->g->expr->output_count; i++)
		store(w, i);
	if (*w->inner) {
		kw_fill_set(&pass[count], "lanes", w->outer);
		kw_fill_set(&pass[count], "body", w->inner);
		w->outer = "";
		count++;
	}
	for (int s = 0; s < count; s++) {
		kw_fill_set(&pass[s], "along", along);
		for (int i = 0; i < pass[s].slot_count; i++)
			text = kw_au_printf(e, "%s%s", text, pass[s].slot[i].text);
	}
	kw_fill_list(f, "pass", pass, (size_t)count);
	kw_fill_set(f, "finish", w->outer);
	return kw_au_printf(e, "%s%s", text, w->outer);
}

/* The code of the pattern itself uses sizes too. */
static const char *own_text(struct kw_au_emit *e)
{
	struct kw_str rest = { e->pattern->text, e->pattern->len }, line;
	const char *s = "";
	int depth = 0;

	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		struct kw_str t = kw_str_trim(line);

		depth += kw_str_starts(t, "#<") && !kw_str_starts(t, "#< for ");
		if (depth == 0 && !kw_str_starts(t, "#"))
			s = kw_au_printf(e, "%s" KW_STR_FMT "\n", s, KW_STR_ARG(line));
		depth -= depth > 0 && kw_str_eqz(t, "#>");
	}
	return s;
}

enum kw_status kw_au_triton_loops(struct kw_au_emit *e, const char *kernel, struct kw_fill *f)
{
	struct writer w = { .e = e, .outer = "", .inner = "", .streams = kw_fill_has(e->pattern->text, e->pattern->len, "for pass") };
	const char *rows, *along, *text;

	if (e->g->has_total)
		return e->why = "it reduces the rows too", KW_NO;
	if (e->g->form != KW_AU_POINTWISE && e->g->col_atom < 0)
		return e->why = "it has no innermost axis", KW_NO;
	set_block(&w);
	set_indices(&w, &rows, &along);
	text = w.streams ? with_passes(&w, f, along) : one_block(&w, f, along);
	if (e->failed)
		return e->why ? KW_NO : kw_fail(e->err, KW_ERR_NOMEM, "", "no memory to write the kernel");
	kw_fill_set(f, "row", rows);
	kw_fill_set(f, "helpers", helpers(e, text));
	return interface(e, kernel, kw_au_printf(e, "%s%s%s", own_text(e), rows, text), f);
}
