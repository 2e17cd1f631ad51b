/* family.c - which kind of kernel an expression wants: decided by the operations that are more than elementwise. */
#include "expr/internal.h"

#include <string.h>

const char *kw_family_name(enum kw_family f)
{
	static const char *const names[] = {
#define X(e, name) name,
		KW_FAMILY_LIST(X)
#undef X
	};

	return f >= 0 && f < KW_FAMILY_COUNT ? names[f] : "mixed";
}

struct census {
	int row, column, scan, contract, attention, conv, pool, sort, gather, shuffle, arithmetic;
};

/* Axes that are the last ones (or all) make rows. Axes of size 1 do not matter. */
static void count_axes(struct census *c, const struct kw_node *n)
{
	const struct kw_node *x = n->args[0];
	bool gone[KW_MAX_RANK] = { false }, trailing = true;
	int last_kept = -1;

	for (int i = 0; i < n->axis_count; i++)
		gone[n->axes[i]] = true;
	for (int i = 0; i < x->rank; i++) {
		if (!gone[i] && !sym_is(x->shape[i].poly, 1))
			last_kept = i;
	}
	for (int i = 0; i < x->rank; i++)
		trailing = trailing && !(gone[i] && i < last_kept && !sym_is(x->shape[i].poly, 1));
	if (trailing)
		c->row++;
	else
		c->column++;
}

static void count_composite(struct census *c, const struct kw_node *n)
{
	switch (n->op->id) {
	case OP_ATTENTION: c->attention++; return;
	case OP_BATCHNORM:
		if (n->attr[0])
			c->column++;
		else
			c->arithmetic++;
		return;
	case OP_CROSS_ENTROPY: case OP_NLL_LOSS:
	case OP_VAR: case OP_STD: case OP_LOGSUMEXP: case OP_SOFTMAX: case OP_LOG_SOFTMAX: case OP_LAYERNORM:
	case OP_RMSNORM:
		count_axes(c, n);
		return;
	case OP_MSE_LOSS: case OP_L1_LOSS: case OP_HUBER_LOSS: case OP_SMOOTH_L1_LOSS: case OP_KL_DIV:
		if (n->sattr && strcmp(n->sattr, "none") == 0)
			c->arithmetic++;
		else
			c->row++;
		return;
	case OP_GROUPNORM: c->row++; return;
	case OP_RNN: case OP_GRU: case OP_LSTM: c->scan++; return;
	default: c->arithmetic++; return;
	}
}

static void count_node(struct census *c, const struct kw_node *n)
{
	switch (n->kind) {
	case KW_NODE_ELEMENTWISE: c->arithmetic += n->op->id != OP_ARANGE; return;
	case KW_NODE_REDUCE: count_axes(c, n); return;
	case KW_NODE_SCAN: c->scan++; return;
	case KW_NODE_CONTRACT: c->contract++; return;
	case KW_NODE_GATHER:
		if (n->op->id == OP_TOPK)
			c->sort++;
		else
			c->gather++;
		return;
	case KW_NODE_WINDOW:
		if (n->arg_count > 1)
			c->conv++;
		else
			c->pool++;
		return;
	case KW_NODE_MOVE: c->shuffle++; return;
	case KW_NODE_COMPOSITE: count_composite(c, n); return;
	default: return;
	}
}

enum kw_family kw_expr_family(const struct kw_expr *e)
{
	struct census c = { 0 };
	int kinds, reduces;

	if (kw_expr_is_external(e))
		return KW_FAMILY_MIXED;
	for (size_t i = 0; i < e->node_count; i++)
		count_node(&c, e->nodes[i]);
	reduces = c.row + c.column;
	kinds = (reduces > 0) + (c.scan > 0) + (c.contract > 0) + (c.attention > 0) + (c.conv > 0) + (c.pool > 0) +
		(c.sort > 0) + (c.gather > 0);
	if (kinds > 1 || c.contract > 1 || c.attention > 1 || c.conv > 1 || (c.row && c.column))
		return KW_FAMILY_MIXED;
	if (c.attention)
		return KW_FAMILY_ATTENTION;
	if (c.contract)
		return KW_FAMILY_MATMUL;
	if (c.conv)
		return KW_FAMILY_CONV;
	if (c.pool)
		return KW_FAMILY_POOL;
	if (c.sort)
		return KW_FAMILY_SORT;
	if (c.scan)
		return KW_FAMILY_SCAN;
	if (c.gather)
		return KW_FAMILY_GATHER;
	if (reduces)
		return c.row ? KW_FAMILY_ROW_REDUCE : KW_FAMILY_COLUMN_REDUCE;
	return c.arithmetic || !c.shuffle ? KW_FAMILY_POINTWISE : KW_FAMILY_MOVE;
}

bool kw_expr_has_steps(const struct kw_expr *e)
{
	for (size_t i = 0; i < e->node_count; i++) {
		const struct kw_node *n = e->nodes[i];

		if (!n->op)
			continue;
		switch (n->op->id) {
		case OP_FLOOR: case OP_CEIL: case OP_ROUND: case OP_TRUNC: case OP_FLOORDIV: case OP_MOD:
			return true;
		case OP_CAST:
			if (!kw_dtype_is_float(n->dtype) && kw_dtype_is_float(n->args[0]->dtype))
				return true;
			break;
		default:
			break;
		}
	}
	return false;
}
