/* naive_split.c - reductions in steps, for GPUs: a thread computes one element of a result, so the mean of a whole image
 * batch would be one thread's work. Reductions of several axes go one axis at a time, the last first; those that
 * leave one number go through PARTS partial results. Both say so in the language itself. */
#include "expr/naive.h"

#include <string.h>

#define PARTS 1024

static bool splits(enum op_id op)
{
	return op == OP_SUM || op == OP_MEAN || op == OP_PROD || op == OP_MAX || op == OP_MIN || op == OP_ANY || op == OP_ALL;
}

static const char *truth(bool v)
{
	return v ? "True" : "False";
}

/* op(op(x, axis=2), axis=0) */
static bool by_axis(const struct kw_node *n, struct kw_arena *a, const char **text)
{
	const char *inner = "x";

	*text = NULL;
	if (n->kind != KW_NODE_REDUCE || !splits(op_id(n)) || n->axis_count < 2)
		return true;
	for (int i = n->axis_count; i-- > 0 && inner;)
		inner = kw_arena_printf(a, "%s(%s, axis=%d, keepdims=%s)", n->op->name, inner, n->axes[i],
					truth(n->keepdims));
	*text = inner ? kw_arena_printf(a, "y = %s", inner) : NULL;
	return *text != NULL;
}

/* What adds nothing to a reduction. */
static const char *neutral(enum op_id op)
{
	switch (op) {
	case OP_MAX: return "-inf";
	case OP_MIN: return "inf";
	case OP_PROD: case OP_ALL: return "1.0";
	default: return "0.0";
	}
}

/* The axis is filled up to PARTS columns; each is reduced, and then what they gave. */
static bool by_parts(const struct kw_node *n, struct kw_arena *a, const char **text)
{
	enum op_id op = op_id(n);
	const struct kw_node *x = n->arg_count ? n->args[0] : NULL;
	const char *name, *rows;
	int64_t size;

	*text = NULL;
	if (n->kind != KW_NODE_REDUCE || !splits(op) || x->rank != 1 || n->axis_count != 1 ||
	    (sym_is_const(x->shape[0].poly, &size) && size <= PARTS) ||
	    ((op == OP_MAX || op == OP_MIN) && !kw_dtype_is_float(x->dtype)))
		return true;
	name = op == OP_MEAN ? "sum" : n->op->name;
	rows = kw_arena_printf(a, "((x.shape[0] + %d) // %d)", PARTS - 1, PARTS);
	if (!rows)
		return false;
	*text = kw_arena_printf(a, "y = %s(%s(reshape(pad(x, (0, %s * %d - x.shape[0]), value=%s), %s, %d), axis=0), axis=0, "
				   "keepdims=%s)%s", name, name, rows, PARTS, neutral(op), rows, PARTS, truth(n->keepdims),
				op == OP_MEAN ? " / x.shape[0]" : "");
	return *text != NULL;
}

enum kw_status naive_split(const struct kw_expr *e, struct kw_arena *a, struct kw_expr **out, struct kw_error *err)
{
	enum kw_status s = rewrite(e, by_axis, a, out, err);

	if (s == KW_OK)
		s = rewrite(*out, by_parts, a, out, err);
	if (s != KW_ERR_INPUT)
		return s;
	if (err) /* the text is ours: a size that came out as none is what is left */
		kw_error_reset(err);
	return kw_fail(err, KW_ERR_NOMEM, "", "no memory to split the reductions");
}
