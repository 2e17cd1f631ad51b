/* eval_whole.c - elementwise whole numbers narrower than 64 bits: they wrap after each operation, as in numpy and PyTorch.
 *
 * Sums and differences of them are exact in a double, products and powers are not: those are computed modulo 2^64, whose low
 * bits are what wrapping leaves. */
#include "expr/eval_internal.h"

#include <math.h>

/* Modulo 2^64. A negative exponent leaves what PyTorch does: 1, -1, else 0. */
static uint64_t power(int64_t x, int64_t y)
{
	uint64_t r = 1, b = (uint64_t)x;

	if (y < 0)
		return x == 1 ? 1 : x == -1 ? (y % 2 ? (uint64_t)-1 : 1) : 0;
	for (; y; y >>= 1, b *= b)
		r *= y & 1 ? b : 1;
	return r;
}

bool kw_expr_wraps(const struct kw_node *n)
{
	if (kw_dtype_info(n->dtype)->cls != KW_CLASS_INT || n->dtype == KW_I64 || n->kind != KW_NODE_ELEMENTWISE)
		return false;
	switch (op_id(n)) {
	case OP_ADD: case OP_SUB: case OP_MUL: case OP_SQUARE: case OP_POW: case OP_NEG: case OP_ABS: case OP_FLOORDIV:
		return true;
	case OP_NOT: return n->dtype == KW_U8;
	default: return false;
	}
}

bool whole_is_exact(const struct kw_node *n)
{
	enum op_id id = op_id(n);

	return kw_expr_wraps(n) && (id == OP_MUL || id == OP_SQUARE || id == OP_POW);
}

void whole_run(const struct kw_node *n, const double *const *p, const bool *repeated, double *out, int64_t count, bool *beyond)
{
	enum op_id id = op_id(n);
	int last = n->arg_count - 1;

	for (int64_t i = 0; i < count; i++) {
		int64_t x = (int64_t)p[0][repeated[0] ? 0 : i], y = (int64_t)p[last][repeated[last] ? 0 : i];
		double low = (double)(int32_t)(uint32_t)(id == OP_POW ? power(x, y) : (uint64_t)x * (uint64_t)y);
		double full = id == OP_POW ? pow((double)x, (double)y) : (double)x * (double)y;

		*beyond = *beyond || fabs(full - low) >= 1;
		out[i] = low;
	}
}

void whole_not(const double *p, double *out, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		out[i] = (double)~(int64_t)p[i];
}

/* They have no infinity: divided by 0 they give 0, as in numpy. */
static void divided(double *out, int64_t count)
{
	for (int64_t i = 0; i < count; i++)
		out[i] = out[i] - out[i] == 0 ? out[i] : 0.0;
}

void whole_finish(struct ctx *c, const struct kw_node *n, double *out, int64_t count, bool beyond)
{
	if (op_id(n) == OP_FLOORDIV || op_id(n) == OP_MOD)
		divided(out, count);
	if (!kw_expr_wraps(n))
		return;
	beyond = kw_dtype_wrap(n->dtype, out, (size_t)count) || beyond;
	if (beyond)
		atomic_store_explicit(&c->ev->wrapped, n->id + 1, memory_order_relaxed);
}

const struct kw_node *kw_eval_wrapped(const struct kw_eval *ev)
{
	int id = atomic_load_explicit(&ev->wrapped, memory_order_relaxed);

	return id ? ev->e->nodes[id - 1] : NULL;
}
