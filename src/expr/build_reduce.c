/* build_reduce.c - reductions, scans, normalisations, losses. */
#include "expr/internal.h"

#include <string.h>

static bool give(struct kw_node *n, struct value *out)
{
	if (n)
		*out = v_node(n);
	return n != NULL;
}

/* Shape without the axes (or with 1 in their place). */
static bool reduced_shape(struct builder *b, struct kw_node *n, const struct kw_node *x)
{
	int r = 0, k = 0;

	for (int i = 0; i < x->rank; i++) {
		bool gone = k < n->axis_count && n->axes[k] == i;
		k += gone;
		if (gone && n->keepdims)
			n->shape[r++].poly = sym_const(b->a, 1);
		else if (!gone)
			n->shape[r++].poly = x->shape[i].poly;
	}
	n->rank = r;
	return true;
}

static enum kw_dtype reduce_dtype(enum op_id id, enum kw_dtype d)
{
	bool whole = !kw_dtype_is_float(d);

	switch (id) {
	case OP_ANY: case OP_ALL: return KW_BOOL;
	case OP_ARGMAX: case OP_ARGMIN: return KW_I64;
	case OP_MEAN: return to_float(d);
	case OP_SUM: case OP_PROD: return whole ? KW_I64 : to_float(d);
	default: return whole ? d : to_float(d);
	}
}

struct kw_node *make_reduce(struct builder *b, enum op_id id, struct kw_node *x, const int *axes, int count,
			    bool keepdims)
{
	struct kw_node *n = new_node(b, KW_NODE_REDUCE, id, reduce_dtype(id, x->dtype), x->rank);

	if (!n || !set_args(b, n, &x, 1))
		return NULL;
	n->keepdims = keepdims;
	n->axis_count = count;
	memcpy(n->axes, axes, sizeof(*axes) * (size_t)count);
	reduced_shape(b, n, x);
	return finish(b, n);
}

bool build_reduce(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x;
	int axes[KW_MAX_RANK] = { 0 }, count;
	bool keep;

	if (!get_node(b, c, "x", &x) || !get_axes(b, c, "axis", x->rank, axes, &count) ||
	    !get_bool(b, c, "keepdims", &keep))
		return false;
	return give(make_reduce(b, c->op->id, x, axes, count, keep), out);
}

bool build_argreduce(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x;
	int axes[KW_MAX_RANK] = { 0 }, count;
	bool keep;

	if (!get_node(b, c, "x", &x) || !get_axes(b, c, "axis", x->rank, axes, &count) ||
	    !get_bool(b, c, "keepdims", &keep))
		return false;
	if (count != 1)
		return bfail(b, c->line, c->column, "%s() needs one axis", c->name);
	if (!require_ge(b, x->shape[axes[0]].poly, sym_const(b->a, 1), "argmax or argmin of nothing"))
		return false;
	return give(make_reduce(b, c->op->id, x, axes, count, keep), out);
}

bool build_scan(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;
	int axis;

	if (!get_node(b, c, "x", &x) || !get_axis(b, c, "axis", x->rank, &axis))
		return false;
	n = new_node(b, KW_NODE_SCAN, c->op->id,
		     reduce_dtype(c->op->id == OP_CUMMAX ? OP_MAX : OP_SUM, x->dtype), x->rank);
	if (!n || !set_args(b, n, &x, 1))
		return false;
	memcpy(n->shape, x->shape, sizeof(n->shape));
	n->axes[0] = axis;
	n->axis_count = 1;
	return give(finish(b, n), out);
}

/* var, std, logsumexp: a composite with the shape of a reduction. */
bool build_stat(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;
	int axes[KW_MAX_RANK] = { 0 }, count;
	const struct kw_poly *size = sym_const(b->a, 1);
	struct value v;
	bool keep;

	if (!get_node(b, c, "x", &x) || !get_axes(b, c, "axis", x->rank, axes, &count) ||
	    !get_bool(b, c, "keepdims", &keep))
		return false;
	n = new_node(b, KW_NODE_COMPOSITE, c->op->id, to_float(x->dtype), x->rank);
	if (!n)
		return false;
	n->keepdims = keep;
	n->axis_count = count;
	memcpy(n->axes, axes, sizeof(*axes) * (size_t)count);
	reduced_shape(b, n, x);
	for (int i = 0; i < count; i++)
		size = sym_mul(b->a, size, x->shape[axes[i]].poly);
	if (!size)
		return false;
	v = v_int(size);
	add_slot(c, "count", &v);
	c->slot[0] = v_node(x);
	return give(finish_call(b, n, c), out);
}

bool build_norm(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x;
	int axes[KW_MAX_RANK] = { 0 }, count, i = slot_index(c, "ord");
	const struct value *ord = &c->slot[i];
	bool keep;

	if (!get_node(b, c, "x", &x) || !get_axes(b, c, "axis", x->rank, axes, &count) ||
	    !get_bool(b, c, "keepdims", &keep))
		return false;
	if (ord->kind == V_FLOAT && ord->f > 1e300)
		return give(make_reduce(b, OP_MAX, make(b, OP_ABS, 1, x), axes, count, keep), out);
	if (ord->kind == V_INT && sym_is(ord->i, 1))
		return give(make_reduce(b, OP_SUM, make(b, OP_ABS, 1, x), axes, count, keep), out);
	if (ord->kind == V_INT && sym_is(ord->i, 2)) {
		struct kw_node *s = make(b, OP_SQUARE, 1, x);
		s = s ? make_reduce(b, OP_SUM, s, axes, count, keep) : NULL;
		return give(make(b, OP_SQRT, 1, s), out);
	}
	return bfail(b, c->line, c->column, "norm(): ord is 1, 2 or inf");
}

/* A composite with the shape of x and axes from the slot. */
static struct kw_node *like(struct builder *b, struct call *c, struct kw_node *x, enum kw_dtype d)
{
	struct kw_node *n = new_node(b, KW_NODE_COMPOSITE, c->op->id, d, x->rank);

	if (!n)
		return NULL;
	memcpy(n->shape, x->shape, sizeof(n->shape));
	c->slot[0] = v_node(x);
	return n;
}

bool build_softmax(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;

	if (!get_node(b, c, "x", &x) || !(n = like(b, c, x, to_float(x->dtype))))
		return false;
	if (!get_axes(b, c, "axis", x->rank, n->axes, &n->axis_count))
		return false;
	return give(finish_call(b, n, c), out);
}

/* Makes a slot a node where it is given, and checks that it broadcasts to x's shape. */
static bool affine(struct builder *b, struct call *c, const char *name, const struct kw_node *x)
{
	int i = slot_index(c, name);
	struct kw_node *w;

	if (i < 0 || c->slot[i].kind == V_NONE)
		return true;
	if (!get_node(b, c, name, &w))
		return false;
	c->slot[i] = v_node(w);
	if (w->rank > x->rank)
		return bfail(b, c->line, c->column, "%s(): '%s' %s has more axes than x %s", c->name, name,
			     shape_text(b, w), shape_text(b, x));
	for (int k = 0; k < w->rank; k++) {
		char what[300];
		const struct kw_poly *d = w->shape[k].poly;
		if (sym_is(d, 1))
			continue;
		snprintf(what, sizeof(what), "%s(): '%s' %s does not fit x %s", c->name, name, shape_text(b, w),
			 shape_text(b, x));
		if (!require_eq(b, d, x->shape[x->rank - w->rank + k].poly, what))
			return false;
	}
	return true;
}

static void remember_eps(struct builder *b, const struct call *c, struct kw_node *n)
{
	int i = slot_index(c, "eps");
	int64_t v;

	(void)b;
	if (i >= 0 && c->slot[i].kind == V_FLOAT)
		n->fattr[0] = c->slot[i].f;
	else if (i >= 0 && c->slot[i].kind == V_INT && sym_is_const(c->slot[i].i, &v))
		n->fattr[0] = (double)v;
}

bool build_rownorm(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;

	if (!get_node(b, c, "x", &x) || !(n = like(b, c, x, to_float(x->dtype))))
		return false;
	if (!get_axes(b, c, "axis", x->rank, n->axes, &n->axis_count) || !affine(b, c, "weight", x) ||
	    !affine(b, c, "bias", x))
		return false;
	remember_eps(b, c, n);
	return give(finish_call(b, n, c), out);
}

/* The torch form: normalized_shape instead of axes. */
bool build_layer_norm(struct builder *b, struct call *c, struct value *out)
{
	const struct value *shape = &c->slot[slot_index(c, "normalized_shape")];
	struct value items[KW_MAX_RANK], axis;
	int n = shape->kind == V_TUPLE ? shape->count : 1;
	struct kw_node *x;
	static const char *const key[] = { "weight", "bias", "axis", "eps" };
	struct value kval[4] = { c->slot[2], c->slot[3] };

	if (!get_node(b, c, "x", &x))
		return false;
	if (n > x->rank || n < 1)
		return bfail(b, c->line, c->column, "layer_norm(): x %s has fewer than %d axes", shape_text(b, x), n);
	for (int i = 0; i < n; i++) {
		const struct value *v = shape->kind == V_TUPLE ? &shape->items[i] : shape;
		if (v->kind != V_INT)
			return bfail(b, c->line, c->column, "layer_norm(): normalized_shape is a list of sizes");
		if (!require_eq(b, v->i, x->shape[x->rank - n + i].poly, "layer_norm(): normalized_shape"))
			return false;
		items[i] = v_int(sym_const(b->a, i - n));
	}
	axis = (struct value){ .kind = V_TUPLE, .count = n, .items = kw_arena_copy(b->a, items, sizeof(items)) };
	if (!axis.items)
		return false;
	kval[2] = axis;
	kval[3] = c->slot[slot_index(c, "eps")];
	c->slot[0] = v_node(x);
	return call_op(b, op_get(OP_LAYERNORM), "layer_norm", c->line, c->column, c->slot, 1, key, kval, 4, out);
}

bool build_groupnorm(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n, *w;
	const struct kw_poly *groups, *rest = sym_const(b->a, 1);
	struct value v;
	static const char *const names[] = { "weight", "bias" };

	if (!get_node(b, c, "x", &x) || !get_poly(b, c, "num_groups", &groups))
		return false;
	if (x->rank < 2)
		return bfail(b, c->line, c->column, "groupnorm(): x needs axes (n, c, ...)");
	if (!require_eq(b, sym_mul(b->a, sym_div(b->a, x->shape[1].poly, groups), groups), x->shape[1].poly,
			"groupnorm(): the channels are no multiple of num_groups"))
		return false;
	n = like(b, c, x, to_float(x->dtype));
	for (int i = 0; n && i < 2; i++) {
		if (!has(c, names[i]))
			continue;
		if (!get_node(b, c, names[i], &w))
			return false;
		if (w->rank != 1 || !require_eq(b, w->shape[0].poly, x->shape[1].poly,
						"groupnorm(): one weight and bias per channel"))
			return bfail(b, c->line, c->column, "groupnorm(): '%s' must be (c)", names[i]);
		c->slot[slot_index(c, names[i])] = v_node(w);
	}
	if (!n)
		return false;
	for (int i = 2; i < x->rank; i++)
		rest = sym_mul(b->a, rest, x->shape[i].poly);
	if (!rest)
		return false;
	v = v_int(rest);
	add_slot(c, "rest", &v);
	remember_eps(b, c, n);
	return give(finish_call(b, n, c), out);
}

bool build_batchnorm(struct builder *b, struct call *c, struct value *out)
{
	static const char *const names[] = { "running_mean", "running_var", "weight", "bias" };
	struct kw_node *x, *n, *w;
	struct value axes = { .kind = V_TUPLE }, flag = { .kind = V_BOOL };
	bool training;

	if (!get_node(b, c, "x", &x) || !get_bool(b, c, "training", &training))
		return false;
	if (x->rank < 2)
		return bfail(b, c->line, c->column, "batchnorm(): x needs axes (n, c, ...)");
	if (has(c, "running_mean") != has(c, "running_var"))
		return bfail(b, c->line, c->column, "batchnorm(): give both running_mean and running_var, or none");
	n = like(b, c, x, to_float(x->dtype));
	if (!n)
		return false;
	for (int i = 0; i < 4; i++) {
		if (!has(c, names[i]))
			continue;
		if (!get_node(b, c, names[i], &w))
			return false;
		if (w->rank != 1)
			return bfail(b, c->line, c->column, "batchnorm(): '%s' must be (c), not %s", names[i],
				     shape_text(b, w));
		if (!require_eq(b, w->shape[0].poly, x->shape[1].poly, "batchnorm(): one value per channel"))
			return false;
		c->slot[slot_index(c, names[i])] = v_node(w);
	}
	axes.items = kw_arena_calloc(b->a, KW_MAX_RANK, sizeof(*axes.items));
	if (!axes.items)
		return false;
	for (int i = 0; i < x->rank; i++) {
		if (i != 1)
			axes.items[axes.count++] = v_int(sym_const(b->a, i));
	}
	flag.f = training || !has(c, "running_mean");
	n->attr[0] = flag.f != 0;
	if (flag.f != 0) {
		c->slot[slot_index(c, "running_mean")] = (struct value){ 0 };
		c->slot[slot_index(c, "running_var")] = (struct value){ 0 };
	}
	add_slot(c, "axes", &axes);
	add_slot(c, "batch", &flag);
	remember_eps(b, c, n);
	return give(finish_call(b, n, c), out);
}

static bool reduction(struct builder *b, const struct call *c, bool batchmean, const char **out)
{
	if (!get_str(b, c, "reduction", out))
		return false;
	if (strcmp(*out, "mean") && strcmp(*out, "sum") && strcmp(*out, "none") &&
	    !(batchmean && strcmp(*out, "batchmean") == 0))
		return bfail(b, c->line, c->column, "%s(): reduction is 'mean', 'sum'%s or 'none', not '%s'", c->name,
			     batchmean ? ", 'batchmean'" : "", *out);
	return true;
}

bool build_loss(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[2], *n;
	const char *how;
	int rank;
	struct value batch;

	if (!get_node(b, c, "x", &args[0]) || !get_node(b, c, "target", &args[1]) ||
	    !reduction(b, c, c->op->id == OP_KL_DIV, &how))
		return false;
	rank = args[0]->rank > args[1]->rank ? args[0]->rank : args[1]->rank;
	n = new_node(b, KW_NODE_COMPOSITE, c->op->id, to_float(promote(args, 2)), rank);
	if (!n || !broadcast(b, n, args, 2))
		return false;
	n->sattr = how;
	batch = v_int(rank ? n->shape[0].poly : sym_const(b->a, 1));
	add_slot(c, "batch", &batch);
	if (strcmp(how, "none"))
		n->rank = 0;
	c->slot[0] = v_node(args[0]);
	c->slot[1] = v_node(args[1]);
	return give(finish_call(b, n, c), out);
}

bool build_cross_entropy(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *t, *n;
	const char *how;
	struct value v = { .kind = V_BOOL };
	int axis;

	if (!get_node(b, c, "x", &x) || !get_node(b, c, "target", &t) || !reduction(b, c, false, &how))
		return false;
	if (x->rank < 1)
		return bfail(b, c->line, c->column, "%s(): x needs axes (n, c, ...)", c->name);
	axis = x->rank > 1 ? 1 : 0;
	v.f = !kw_dtype_is_float(t->dtype);
	if (t->rank != x->rank - (v.f != 0))
		return bfail(b, c->line, c->column, "%s(): target %s does not fit x %s", c->name, shape_text(b, t),
			     shape_text(b, x));
	if (v.f == 0 && c->op->id == OP_NLL_LOSS)
		return bfail(b, c->line, c->column, "nll_loss(): target must be whole numbers");
	for (int i = 0, k = 0; i < x->rank; i++) {
		if (v.f != 0 && i == axis)
			continue;
		if (!require_eq(b, t->shape[k++].poly, x->shape[i].poly, "the target's shape does not fit the logits'"))
			return false;
	}
	n = new_node(b, KW_NODE_COMPOSITE, c->op->id, to_float(x->dtype), strcmp(how, "none") ? 0 : x->rank - 1);
	if (!n)
		return false;
	for (int i = 0, k = 0; i < x->rank && n->rank; i++) {
		if (i != axis)
			n->shape[k++].poly = x->shape[i].poly;
	}
	n->sattr = how;
	n->axes[0] = axis;
	n->axis_count = 1;
	add_slot(c, "indices", &v);
	v = v_int(sym_const(b->a, axis));
	add_slot(c, "axis", &v);
	c->slot[0] = v_node(x);
	c->slot[1] = v_node(t);
	return give(finish_call(b, n, c), out);
}

bool build_tri(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;
	const struct kw_poly *k;

	if (!get_node(b, c, "x", &x) || !get_poly(b, c, "k", &k))
		return false;
	if (x->rank < 2)
		return bfail(b, c->line, c->column, "%s() needs at least two axes", c->name);
	n = like(b, c, x, x->dtype);
	return n && give(finish_call(b, n, c), out);
}

bool build_one_hot(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;
	const struct kw_poly *classes;

	if (!get_node(b, c, "indices", &x) || !get_poly(b, c, "num_classes", &classes))
		return false;
	if (kw_dtype_is_float(x->dtype))
		return bfail(b, c->line, c->column, "one_hot(): indices must be whole numbers");
	n = new_node(b, KW_NODE_COMPOSITE, OP_ONE_HOT, KW_I64, x->rank + 1);
	if (!n)
		return false;
	memcpy(n->shape, x->shape, sizeof(n->shape));
	n->shape[x->rank].poly = classes;
	c->slot[0] = v_node(x);
	return give(finish_call(b, n, c), out);
}

/* q (..., heads, l, d), k (..., kv heads, s, d), v (..., kv heads, s, dv). */
bool build_attention(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *q, *k, *v, *mask = NULL, *n;
	struct kw_node *all[4];
	bool causal;
	struct value flag = { .kind = V_BOOL };
	int r;

	if (!get_node(b, c, "q", &q) || !get_node(b, c, "k", &k) || !get_node(b, c, "v", &v) ||
	    !get_bool(b, c, "causal", &causal))
		return false;
	r = q->rank;
	if (r < 2 || k->rank != r || v->rank != r)
		return bfail(b, c->line, c->column, "attention(): q %s, k %s and v %s need the same number of axes, at least 2",
			     shape_text(b, q), shape_text(b, k), shape_text(b, v));
	if (!require_eq(b, q->shape[r - 1].poly, k->shape[r - 1].poly, "attention(): the last axes of q and k") ||
	    !require_eq(b, k->shape[r - 2].poly, v->shape[r - 2].poly, "attention(): the lengths of k and v"))
		return false;
	for (int i = 0; i < r - 2; i++) {
		if (!require_eq(b, k->shape[i].poly, v->shape[i].poly, "attention(): the leading axes of k and v"))
			return false;
		if (i < r - 3 && !require_eq(b, q->shape[i].poly, k->shape[i].poly,
					     "attention(): the leading axes of q and k"))
			return false;
	}
	if (r > 2 && !sym_eq(q->shape[r - 3].poly, k->shape[r - 3].poly)) {
		flag.f = 1;
		if (!require_eq(b, sym_mul(b->a, sym_div(b->a, q->shape[r - 3].poly, k->shape[r - 3].poly),
					   k->shape[r - 3].poly),
				q->shape[r - 3].poly, "attention(): the heads of q are no multiple of those of k"))
			return false;
	}
	add_slot(c, "grouped", &flag);
	if (has(c, "mask") && !get_node(b, c, "mask", &mask))
		return false;
	flag.f = mask && kw_dtype_info(mask->dtype)->cls == KW_CLASS_BOOL;
	add_slot(c, "keep", &flag);
	flag.f = mask && flag.f == 0;
	add_slot(c, "bias", &flag);
	if (mask && mask->rank > r)
		return bfail(b, c->line, c->column, "attention(): the mask %s has more axes than q %s",
			     shape_text(b, mask), shape_text(b, q));
	for (int i = 0; mask && i < mask->rank; i++) {
		int to = r - mask->rank + i;
		if (!sym_is(mask->shape[i].poly, 1) &&
		    !require_eq(b, mask->shape[i].poly, to == r - 1 ? k->shape[r - 2].poly : q->shape[to].poly,
				"attention(): the mask does not fit the scores"))
			return false;
	}
	all[0] = q, all[1] = k, all[2] = v;
	n = new_node(b, KW_NODE_COMPOSITE, OP_ATTENTION, to_float(promote(all, 3)), r);
	if (!n)
		return false;
	memcpy(n->shape, q->shape, sizeof(n->shape));
	n->shape[r - 1] = v->shape[r - 1];
	n->attr[0] = causal;
	n->attr[1] = c->slot[slot_index(c, "grouped")].f != 0;
	c->slot[0] = v_node(q), c->slot[1] = v_node(k), c->slot[2] = v_node(v);
	if (mask)
		c->slot[slot_index(c, "mask")] = v_node(mask);
	if (has(c, "scale") && c->slot[slot_index(c, "scale")].kind == V_FLOAT)
		n->fattr[0] = c->slot[slot_index(c, "scale")].f;
	return give(finish_call(b, n, c), out);
}
