/* eval_gather.c - reads by index, and top-k. Only the rows that the indices of a box name are evaluated. */
#include "expr/eval_internal.h"

#include <stdlib.h>
#include <string.h>

static bool index_of(struct ctx *c, const struct kw_node *n, double v, int64_t size, int64_t *out)
{
	if (!(v >= -(double)size && v < (double)size))
		return ctx_fail(c, KW_ERR_INPUT, "%s(): index %.0f is out of range for an axis of %lld", n->op->name, v,
				(long long)size);
	*out = v < 0 ? (int64_t)v + size : (int64_t)v;
	return true;
}

/* One index at a time: the slice of x that it names goes to its place. */
static bool take(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	const struct kw_node *a = n->args[0], *i = n->args[1];
	int axis = n->axes[0];
	int64_t outer = 1, inner = 1, count, size = node_shape(c, a)->dim[axis];
	struct box need, ibox;
	const double *index;

	need_box(c->ev->b, n, x, 0, &need);
	need_box(c->ev->b, n, x, 1, &ibox);
	index = eval_node(c, i, &ibox);
	if (!index)
		return false;
	count = box_volume(&ibox, i->rank);
	for (int k = 0; k < a->rank; k++) {
		outer *= k < axis ? need.count[k] : 1;
		inner *= k > axis ? need.count[k] : 1;
	}
	need.count[axis] = 1;
	for (int64_t k = 0; k < count; k++) {
		struct mark m = ctx_mark(c);
		const double *p;
		if (!index_of(c, n, index[k], size, &need.start[axis]))
			return false;
		p = eval_node(c, a, &need);
		if (!p)
			return false;
		for (int64_t o = 0; o < outer; o++)
			vec_copy(p + o * inner, out + (o * count + k) * inner, inner);
		ctx_release(c, m);
	}
	return true;
}

/* One element of an input. */
static double load_one(const struct ctx *c, const struct kw_node *a, const int64_t *at)
{
	const struct kw_view *v = &c->ev->inputs[a->index];
	int64_t offset = 0;

	for (int k = 0; k < a->rank; k++)
		offset += at[k] * v->stride[k];
	return kw_dtype_load((enum kw_dtype)v->dtype,
			     (const char *)v->base + offset * (int64_t)kw_dtype_bytes((enum kw_dtype)v->dtype));
}

static bool gather(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	const struct kw_node *a = n->args[0];
	int axis = n->axes[0];
	int64_t volume = box_volume(x, n->rank), at[KW_MAX_RANK] = { 0 }, size = node_shape(c, a)->dim[axis];
	const double *index = eval_node(c, n->args[1], x);

	for (int64_t i = 0; index && i < volume; i++) {
		struct box one;

		for (int k = 0; k < n->rank; k++) {
			one.start[k] = x->start[k] + at[k];
			one.count[k] = 1;
		}
		if (!index_of(c, n, index[i], size, &one.start[axis]))
			return false;
		if (a->kind == KW_NODE_INPUT) {
			out[i] = load_one(c, a, one.start);
		} else {
			struct mark m = ctx_mark(c);
			const double *p = eval_node(c, a, &one);
			if (!p)
				return false;
			out[i] = *p;
			ctx_release(c, m);
		}
		for (int k = n->rank - 1; k >= 0; k--) {
			if (++at[k] < x->count[k])
				break;
			at[k] = 0;
		}
	}
	return index != NULL;
}

struct pair {
	double v;
	int64_t i;
};

/* Falling; NaN first; equal ones by index. */
static int by_value(const void *p, const void *q)
{
	const struct pair *x = p, *y = q;
	bool xn_ = x->v != x->v, yn_ = y->v != y->v;

	if (xn_ != yn_)
		return xn_ ? -1 : 1;
	if (x->v != y->v && !xn_)
		return x->v > y->v ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* The first `keep` of size elements in order. Few: by insertion behind a threshold; many: all are sorted. */
static void select_top(struct pair *pairs, const double *p, int64_t stride, int64_t size, int64_t keep)
{
	int64_t n = 0;

	if (keep > 64) {
		for (int64_t i = 0; i < size; i++)
			pairs[i] = (struct pair){ p[i * stride], i };
		qsort(pairs, (size_t)size, sizeof(*pairs), by_value);
		return;
	}
	for (int64_t i = 0; keep && i < size; i++) {
		struct pair new = { p[i * stride], i };
		int64_t at;

		if (n == keep && by_value(&new, &pairs[n - 1]) > 0)
			continue;
		n += n < keep;
		for (at = n - 1; at > 0 && by_value(&new, &pairs[at - 1]) < 0; at--)
			pairs[at] = pairs[at - 1];
		pairs[at] = new;
	}
}

static bool topk(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	int axis = n->axes[0];
	int64_t outer = 1, inner = 1, size;
	struct box need;
	const double *p;
	struct pair *pairs;

	need_box(c->ev->b, n, x, 0, &need);
	size = need.count[axis];
	p = eval_node(c, n->args[0], &need);
	pairs = p ? (struct pair *)(void *)ctx_alloc(c, 2 * size) : NULL;
	if (!pairs)
		return false;
	for (int i = 0; i < n->rank; i++) {
		outer *= i < axis ? x->count[i] : 1;
		inner *= i > axis ? x->count[i] : 1;
	}
	for (int64_t o = 0; o < outer; o++) {
		for (int64_t k = 0; k < inner; k++) {
			select_top(pairs, p + o * size * inner + k, inner, size, x->start[axis] + x->count[axis]);
			for (int64_t i = 0; i < x->count[axis]; i++) {
				const struct pair *q = &pairs[x->start[axis] + i];
				out[(o * x->count[axis] + i) * inner + k] = n->index ? (double)q->i : q->v;
			}
		}
	}
	return true;
}

bool eval_gather(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	switch (n->op->id) {
	case OP_TAKE: return take(c, n, x, out);
	case OP_GATHER: return gather(c, n, x, out);
	default: return topk(c, n, x, out);
	}
}
