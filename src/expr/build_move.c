/* build_move.c - builders of operations that only move elements, and of x[...].
 *
 * Axis maps: TRANSPOSE (swapaxes too), BROADCAST_TO, EXPAND_DIMS, SQUEEZE keep in attr[i] which axis of the argument
 * output axis i reads, or -1 for none. SLICE: sym[i] start, attr[i] step. PAD: sym[i] elements before, fattr[0] the value.
 * CONCAT: axes[0]. FLIP: axes. REPEAT: axes[0], sym[0] times. RESHAPE: the shapes say all. */
#include "expr/internal.h"

#include <string.h>

static bool give(struct kw_node *n, struct value *out)
{
	if (n)
		*out = v_node(n);
	return n != NULL;
}

static struct kw_node *move(struct builder *b, enum op_id id, struct kw_node *x, int rank)
{
	struct kw_node *n = new_node(b, KW_NODE_MOVE, id, x->dtype, rank);

	if (!n || !set_args(b, n, &x, 1))
		return NULL;
	xn(n)->weak = false;
	return n;
}

/* A slot as a list of sizes; -1 allowed when wild is not NULL. */
static bool sizes(struct builder *b, const struct call *c, const char *name, const struct kw_poly **out, int *count,
		  int *wild)
{
	const struct value *v = &c->slot[slot_index(c, name)];
	int n = v->kind == V_TUPLE ? v->count : 1;

	if (wild)
		*wild = -1;
	if (n > KW_MAX_RANK)
		return bfail(b, c->line, c->column, "%s(): a shape of %d axes; at most %d are supported", c->name, n,
			     KW_MAX_RANK);
	for (int i = 0; i < n; i++) {
		const struct value *e = v->kind == V_TUPLE ? &v->items[i] : v;
		int64_t k;

		if (e->kind != V_INT)
			return bfail(b, e->line ? e->line : c->line, e->line ? e->column : c->column,
				     "%s(): a shape is made of whole numbers and dims", c->name);
		out[i] = e->i;
		if (!sym_is_const(e->i, &k) || k >= 0)
			continue;
		if (!wild || k != -1 || *wild >= 0)
			return bfail(b, c->line, c->column, "%s(): %lld is no size%s", c->name, (long long)k,
				     wild && k == -1 ? "; only one may be -1" : "");
		*wild = i;
	}
	*count = n;
	return true;
}

static const struct kw_poly *product(struct builder *b, const struct kw_node *x, int from, int to)
{
	const struct kw_poly *p = sym_const(b->a, 1);

	for (int i = from; i < to; i++)
		p = sym_mul(b->a, p, x->shape[i].poly);
	return p;
}

bool build_reshape(struct builder *b, struct call *c, struct value *out)
{
	const struct kw_poly *size[KW_MAX_RANK], *known = sym_const(b->a, 1), *total;
	struct kw_node *x, *n;
	int rank, wild;
	char what[300];

	if (!get_node(b, c, "x", &x) || !sizes(b, c, "shape", size, &rank, &wild))
		return false;
	total = product(b, x, 0, x->rank);
	for (int i = 0; i < rank; i++) {
		if (i != wild)
			known = sym_mul(b->a, known, size[i]);
	}
	if (!total || !known)
		return false;
	if (wild >= 0) {
		if (sym_is(known, 0))
			return bfail(b, c->line, c->column, "reshape(): -1 is not decided by a size of 0");
		size[wild] = sym_div(b->a, total, known);
		known = sym_mul(b->a, known, size[wild]);
	}
	n = move(b, OP_RESHAPE, x, rank);
	if (!n)
		return false;
	for (int i = 0; i < rank; i++)
		n->shape[i].poly = size[i];
	snprintf(what, sizeof(what), "reshape(): the number of elements of %s changes", shape_text(b, x));
	return require_eq(b, known, total, what) && give(finish(b, n), out);
}

bool build_flatten(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;
	int from, to;

	if (!get_node(b, c, "x", &x) || !get_axis(b, c, "start_dim", x->rank, &from) ||
	    !get_axis(b, c, "end_dim", x->rank, &to))
		return false;
	if (to < from)
		return bfail(b, c->line, c->column, "flatten(): end_dim comes before start_dim");
	n = move(b, OP_RESHAPE, x, x->rank - (to - from));
	if (!n)
		return false;
	for (int i = 0; i < n->rank; i++)
		n->shape[i].poly = i < from ? x->shape[i].poly : i == from ? product(b, x, from, to + 1) :
				   x->shape[i + to - from].poly;
	return give(finish(b, n), out);
}

static bool permuted(struct builder *b, struct kw_node *x, const int *perm, struct value *out)
{
	struct kw_node *n = move(b, OP_TRANSPOSE, x, x->rank);

	if (!n)
		return false;
	for (int i = 0; i < x->rank; i++) {
		n->attr[i] = perm[i];
		n->shape[i].poly = x->shape[perm[i]].poly;
	}
	return give(finish(b, n), out);
}

bool build_transpose(struct builder *b, struct call *c, struct value *out)
{
	const struct value *v = &c->slot[1];
	int perm[KW_MAX_RANK];
	bool used[KW_MAX_RANK] = { false };
	struct kw_node *x;

	if (!get_node(b, c, "x", &x))
		return false;
	if (v->kind == V_TUPLE && v->count && v->count != x->rank)
		return bfail(b, c->line, c->column, "%s(): %d axes named for a tensor of %d", c->name, v->count, x->rank);
	for (int i = 0; i < x->rank; i++) {
		int64_t k = x->rank - 1 - i;
		if (v->count && (v->items[i].kind != V_INT || !sym_is_const(v->items[i].i, &k) || k < -x->rank ||
				 k >= x->rank))
			return bfail(b, c->line, c->column, "%s(): axes are whole numbers from 0 to %d", c->name,
				     x->rank - 1);
		perm[i] = (int)(k < 0 ? k + x->rank : k);
		if (used[perm[i]])
			return bfail(b, c->line, c->column, "%s(): axis %d is named twice", c->name, perm[i]);
		used[perm[i]] = true;
	}
	return permuted(b, x, perm, out);
}

bool build_swapaxes(struct builder *b, struct call *c, struct value *out)
{
	int perm[KW_MAX_RANK], p, q;
	struct kw_node *x;

	if (!get_node(b, c, "x", &x) || !get_axis(b, c, "axis1", x->rank, &p) || !get_axis(b, c, "axis2", x->rank, &q))
		return false;
	for (int i = 0; i < x->rank; i++)
		perm[i] = i == p ? q : i == q ? p : i;
	return permuted(b, x, perm, out);
}

static bool concat(struct builder *b, struct kw_node **args, int count, int axis, struct value *out)
{
	struct kw_node *n = new_node(b, KW_NODE_MOVE, OP_CONCAT, promote(args, count), args[0]->rank);
	const struct kw_poly *sum = sym_const(b->a, 0);

	if (!n || !set_args(b, n, args, count))
		return false;
	n->axes[0] = axis;
	n->axis_count = 1;
	for (int k = 0; k < count; k++) {
		if (args[k]->rank != n->rank)
			return bfail(b, b->line, b->column, "concat: %s and %s differ in their number of axes",
				     shape_text(b, args[0]), shape_text(b, args[k]));
		for (int i = 0; i < n->rank; i++) {
			if (i != axis && !require_eq(b, args[k]->shape[i].poly, args[0]->shape[i].poly,
						     "concat: the other axes"))
				return false;
			n->shape[i].poly = args[0]->shape[i].poly;
		}
		sum = sym_add(b->a, sum, args[k]->shape[axis].poly);
	}
	n->shape[axis].poly = sum;
	return give(finish(b, n), out);
}

static bool arrays(struct builder *b, const struct call *c, struct kw_node **args, int *count)
{
	const struct value *v = &c->slot[0];

	if (v->kind != V_TUPLE || v->count < 1 || v->count > MAX_ARGS)
		return bfail(b, c->line, c->column, "%s() takes a list: %s([x, y], axis=0)", c->name, c->name);
	for (int i = 0; i < v->count; i++) {
		if (!to_node(b, &v->items[i], &args[i]))
			return false;
	}
	*count = v->count;
	return true;
}

bool build_concat(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[MAX_ARGS];
	int count, axis;

	return arrays(b, c, args, &count) && get_axis(b, c, "axis", args[0]->rank, &axis) &&
	       concat(b, args, count, axis, out);
}

static struct kw_node *expanded(struct builder *b, struct kw_node *x, const bool *fresh, int rank)
{
	struct kw_node *n = move(b, OP_EXPAND_DIMS, x, rank);

	for (int i = 0, k = 0; n && i < rank; i++) {
		n->attr[i] = fresh[i] ? -1 : k;
		n->shape[i].poly = fresh[i] ? sym_const(b->a, 1) : x->shape[k].poly;
		k += !fresh[i];
	}
	return finish(b, n);
}

bool build_expand_dims(struct builder *b, struct call *c, struct value *out)
{
	const struct value *v = &c->slot[slot_index(c, "axis")];
	bool fresh[KW_MAX_RANK] = { false };
	int axes[KW_MAX_RANK], count, extra = v->kind == V_TUPLE ? v->count : 1;
	struct kw_node *x;

	if (!get_node(b, c, "x", &x))
		return false;
	if (x->rank + extra > KW_MAX_RANK || v->kind == V_NONE)
		return bfail(b, c->line, c->column, "expand_dims(): at most %d axes", KW_MAX_RANK);
	if (!get_axes(b, c, "axis", x->rank + extra, axes, &count))
		return false;
	for (int i = 0; i < count; i++)
		fresh[axes[i]] = true;
	return give(expanded(b, x, fresh, x->rank + extra), out);
}

bool build_stack(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[MAX_ARGS];
	bool fresh[KW_MAX_RANK] = { false };
	int count, axis;

	if (!arrays(b, c, args, &count))
		return false;
	if (args[0]->rank >= KW_MAX_RANK)
		return bfail(b, c->line, c->column, "stack(): at most %d axes", KW_MAX_RANK);
	if (!get_axis(b, c, "axis", args[0]->rank + 1, &axis))
		return false;
	fresh[axis] = true;
	for (int i = 0; i < count; i++) {
		if (args[i]->rank != args[0]->rank)
			return bfail(b, c->line, c->column, "stack(): shapes differ");
	}
	for (int i = 0, rank = args[0]->rank + 1; i < count; i++) {
		if (!(args[i] = expanded(b, args[i], fresh, rank)))
			return false;
	}
	return concat(b, args, count, axis, out);
}

static struct kw_node *squeezed(struct builder *b, struct kw_node *x, const bool *gone)
{
	struct kw_node *n = move(b, OP_SQUEEZE, x, x->rank);
	int r = 0;

	for (int i = 0; n && i < x->rank; i++) {
		if (gone[i])
			continue;
		n->attr[r] = i;
		n->shape[r++].poly = x->shape[i].poly;
	}
	if (n)
		n->rank = r;
	return finish(b, n);
}

bool build_squeeze(struct builder *b, struct call *c, struct value *out)
{
	bool gone[KW_MAX_RANK] = { false };
	int axes[KW_MAX_RANK], count;
	struct kw_node *x;

	if (!get_node(b, c, "x", &x) || !get_axes(b, c, "axis", x->rank, axes, &count))
		return false;
	for (int i = 0; i < count; i++) {
		gone[axes[i]] = has(c, "axis") || sym_is(x->shape[axes[i]].poly, 1);
		if (has(c, "axis") && !require_eq(b, x->shape[axes[i]].poly, sym_const(b->a, 1),
						  "squeeze() of an axis whose size is not 1"))
			return false;
	}
	return give(squeezed(b, x, gone), out);
}

static bool broadcasted(struct builder *b, struct kw_node *x, const struct kw_poly *const *size, int rank,
			struct value *out)
{
	struct kw_node *n;

	if (rank < x->rank)
		return bfail(b, b->line, b->column, "broadcast_to(): %s has more axes than the shape", shape_text(b, x));
	n = move(b, OP_BROADCAST_TO, x, rank);
	if (!n)
		return false;
	for (int i = 0; i < rank; i++) {
		int from = i - (rank - x->rank);
		n->attr[i] = from < 0 ? -1 : from;
		n->shape[i].poly = size[i];
		if (from >= 0 && !sym_is(x->shape[from].poly, 1) &&
		    !require_eq(b, x->shape[from].poly, size[i], "broadcast_to(): a size that is not 1"))
			return false;
	}
	return give(finish(b, n), out);
}

bool build_broadcast_to(struct builder *b, struct call *c, struct value *out)
{
	const struct kw_poly *size[KW_MAX_RANK];
	struct kw_node *x;
	int rank;

	return get_node(b, c, "x", &x) && sizes(b, c, "shape", size, &rank, NULL) && broadcasted(b, x, size, rank, out);
}

bool build_full(struct builder *b, struct call *c, struct value *out)
{
	const struct kw_poly *size[KW_MAX_RANK];
	struct value v = { .kind = V_FLOAT, .f = c->op->id == OP_ONES };
	struct kw_node *x;
	int rank;

	if (c->op->id == OP_FULL)
		v = c->slot[1];
	if (!to_node(b, &v, &x) || !sizes(b, c, "shape", size, &rank, NULL))
		return false;
	return broadcasted(b, x, size, rank, out);
}

bool build_flip(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;

	if (!get_node(b, c, "x", &x) || !(n = move(b, OP_FLIP, x, x->rank)))
		return false;
	memcpy(n->shape, x->shape, sizeof(n->shape));
	return get_axes(b, c, "axis", x->rank, n->axes, &n->axis_count) && give(finish(b, n), out);
}

/* x[..., start : stop : step] along one axis; all checked by the caller. */
static struct kw_node *sliced(struct builder *b, struct kw_node *x, int axis, const struct kw_poly *start,
			      const struct kw_poly *stop, int64_t step)
{
	const struct kw_poly *zero = sym_const(b->a, 0), *count;
	struct kw_node *n;

	if (sym_is(start, 0) && step == 1 && sym_eq(stop, x->shape[axis].poly))
		return x;
	if (!require_ge(b, start, zero, "a slice starts before the axis") ||
	    !require_ge(b, x->shape[axis].poly, stop, "a slice ends behind the axis") ||
	    !require_ge(b, stop, start, "a slice ends before it starts"))
		return NULL;
	n = move(b, OP_SLICE, x, x->rank);
	if (!n)
		return NULL;
	memcpy(n->shape, x->shape, sizeof(n->shape));
	for (int i = 0; i < x->rank; i++) {
		xn(n)->sym[i] = zero;
		n->attr[i] = 1;
	}
	count = sym_sub(b->a, stop, start);
	if (step > 1)
		count = sym_div(b->a, sym_add(b->a, count, sym_const(b->a, step - 1)), sym_const(b->a, step));
	xn(n)->sym[axis] = start;
	n->attr[axis] = step;
	n->shape[axis].poly = count;
	return finish(b, n);
}

/* A bound of a slice: negative numbers count from the end, numbers beyond a known end are cut. */
static bool slice_bound(struct builder *b, const struct value *v, const struct kw_poly *size, bool stop,
			const struct kw_poly **out)
{
	int64_t k, n;

	if (v->kind == V_NONE) {
		*out = stop ? size : sym_const(b->a, 0);
		return true;
	}
	if (v->kind != V_INT)
		return bfail(b, v->line, v->column, "slices are made of whole numbers and dims");
	*out = v->i;
	if (!sym_is_const(v->i, &k))
		return true;
	if (k < 0)
		*out = sym_add(b->a, size, v->i);
	if (sym_is_const(size, &n)) {
		k = k < 0 ? k + n : k;
		*out = sym_const(b->a, k < 0 ? 0 : k > n ? n : k);
	}
	return true;
}

static bool slice_axis(struct builder *b, struct kw_node **x, int axis, const struct value *start,
		       const struct value *stop, const struct value *step)
{
	const struct kw_poly *from, *to, *size = (*x)->shape[axis].poly;
	int64_t by = 1, p, q;

	if (!slice_bound(b, start, size, false, &from) || !slice_bound(b, stop, size, true, &to))
		return false;
	if (step->kind != V_NONE && (step->kind != V_INT || !sym_is_const(step->i, &by) || by < 1))
		return bfail(b, step->line ? step->line : b->line, step->line ? step->column : b->column,
			     "the step of a slice must be a number from 1 on; use flip() to go backwards");
	if (sym_is_const(from, &p) && sym_is_const(to, &q) && q < p)
		to = from;
	*x = sliced(b, *x, axis, from, to, by);
	return *x != NULL;
}

bool build_slice(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x;
	int axis;

	return get_node(b, c, "x", &x) && get_axis(b, c, "axis", x->rank, &axis) &&
	       slice_axis(b, &x, axis, &c->slot[1], &c->slot[2], &c->slot[3]) && give(x, out);
}

bool build_roll(struct builder *b, struct call *c, struct value *out)
{
	const struct kw_poly *shift, *size, *cut;
	struct kw_node *x, *parts[2];
	int axis;

	if (!get_node(b, c, "x", &x) || !get_poly(b, c, "shift", &shift) || !get_axis(b, c, "axis", x->rank, &axis))
		return false;
	size = x->shape[axis].poly;
	cut = sym_sub(b->a, size, sym_mod(b->a, shift, sym_max(b->a, size, sym_const(b->a, 1))));
	parts[0] = sliced(b, x, axis, cut, size, 1);
	parts[1] = parts[0] ? sliced(b, x, axis, sym_const(b->a, 0), cut, 1) : NULL;
	return parts[1] && concat(b, parts, 2, axis, out);
}

bool build_pad(struct builder *b, struct call *c, struct value *out)
{
	const struct value *w = &c->slot[1];
	struct kw_node *x, *n;
	bool nested = w->kind == V_TUPLE && w->count && w->items[0].kind == V_TUPLE;
	int first;
	double f = 0;
	int64_t k;

	if (!get_node(b, c, "x", &x))
		return false;
	if (w->kind != V_TUPLE || (nested ? w->count != x->rank : w->count != 2 || x->rank < 1))
		return bfail(b, c->line, c->column, "pad(): pad_width is ((before, after), ...) for each of %d axes, or "
			     "(before, after) of the last one", x->rank);
	if (c->slot[2].kind == V_FLOAT)
		f = c->slot[2].f;
	else if (c->slot[2].kind == V_INT && sym_is_const(c->slot[2].i, &k))
		f = (double)k;
	else
		return bfail(b, c->line, c->column, "pad(): value must be a number");
	n = move(b, OP_PAD, x, x->rank);
	if (!n)
		return false;
	n->fattr[0] = f;
	memcpy(n->shape, x->shape, sizeof(n->shape));
	for (int i = 0; i < x->rank; i++)
		xn(n)->sym[i] = sym_const(b->a, 0);
	first = nested ? 0 : x->rank - 1;
	for (int i = first; i < x->rank; i++) {
		const struct value *pair = nested ? &w->items[i] : w;
		if (pair->kind != V_TUPLE || pair->count != 2 || pair->items[0].kind != V_INT ||
		    pair->items[1].kind != V_INT)
			return bfail(b, c->line, c->column, "pad(): pad_width is made of pairs of whole numbers");
		for (int e = 0; e < 2; e++) {
			if (!require_ge(b, pair->items[e].i, sym_const(b->a, 0), "pad(): a negative width"))
				return false;
			n->shape[i].poly = sym_add(b->a, n->shape[i].poly, pair->items[e].i);
		}
		xn(n)->sym[i] = pair->items[0].i;
	}
	return give(finish(b, n), out);
}

static struct kw_node *repeated(struct builder *b, struct kw_node *x, int axis, const struct kw_poly *times)
{
	struct kw_node *n = move(b, OP_REPEAT, x, x->rank);

	if (!n || !require_ge(b, times, sym_const(b->a, 0), "repeat(): a negative count"))
		return NULL;
	memcpy(n->shape, x->shape, sizeof(n->shape));
	n->axes[0] = axis;
	n->axis_count = 1;
	n->shape[axis].poly = sym_mul(b->a, n->shape[axis].poly, times);
	xn(n)->sym[0] = times;
	return finish(b, n);
}

bool build_repeat(struct builder *b, struct call *c, struct value *out)
{
	const struct kw_poly *times;
	struct kw_node *x;
	int axis;

	return get_node(b, c, "x", &x) && get_poly(b, c, "repeats", &times) &&
	       get_axis(b, c, "axis", x->rank, &axis) && give(repeated(b, x, axis, times), out);
}

bool build_heads(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *k, *q, *n;
	int axis;

	if (!get_node(b, c, "k", &k) || !get_node(b, c, "q", &q))
		return false;
	axis = k->rank - 3;
	n = repeated(b, k, axis, sym_div(b->a, q->shape[axis].poly, k->shape[axis].poly));
	if (n)
		n->shape[axis] = q->shape[axis]; /* checked when the call was built */
	return give(n, out);
}

bool build_channel(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *w, *x;
	bool fresh[KW_MAX_RANK] = { false };

	if (!get_node(b, c, "w", &w) || !get_node(b, c, "x", &x))
		return false;
	for (int i = 1; i < x->rank - 1; i++)
		fresh[i] = true;
	return give(x->rank > 2 ? expanded(b, w, fresh, x->rank - 1) : w, out);
}

/* ---- x[...] ---- */

static bool index_tuple(struct builder *b, const struct value *v, const struct value *i, struct value *out)
{
	int64_t k;

	if (i->kind != V_INT || !sym_is_const(i->i, &k) || k < -v->count || k >= v->count)
		return bfail(b, i->line, i->column, "the index of a list of %d must be a number below %d", v->count,
			     v->count);
	*out = v->items[k < 0 ? k + v->count : k];
	return true;
}

/* One item for the next axis; *axis moves on. gone, fresh mark what to squeeze and to add. */
static bool index_axis(struct builder *b, struct kw_node **x, const struct value *i, int *axis, bool *gone)
{
	const struct kw_poly *at;

	if (*axis >= (*x)->rank)
		return bfail(b, i->line, i->column, "too many indices for %d axes", (*x)->rank);
	if (i->kind == V_SLICE) {
		if (!slice_axis(b, x, *axis, &i->items[0], &i->items[1], &i->items[2]))
			return false;
	} else if (i->kind == V_INT) {
		if (!slice_bound(b, i, (*x)->shape[*axis].poly, false, &at))
			return false;
		if (!require_ge(b, sym_sub(b->a, (*x)->shape[*axis].poly, at), sym_const(b->a, 1),
				"an index behind the end of its axis"))
			return false;
		*x = sliced(b, *x, *axis, at, sym_add(b->a, at, sym_const(b->a, 1)), 1);
		gone[*axis] = true;
	} else {
		return bfail(b, i->line, i->column, "an index is a number, a slice, None or '...'");
	}
	(*axis)++;
	return *x != NULL;
}

bool index_value(struct builder *b, const struct value *v, const struct value *index, int count, int line, int column,
		 struct value *out)
{
	struct kw_node *x = v->n;
	bool gone[KW_MAX_RANK] = { false }, fresh[2 * KW_MAX_RANK] = { false };
	int used = 0, axis = 0, rank = 0;

	if (!b->defining) {
		b->line = line;
		b->column = column;
	}
	if (v->kind == V_TUPLE && count == 1)
		return index_tuple(b, v, &index[0], out);
	if (v->kind != V_NODE)
		return bfail(b, line, column, "only tensors and lists can be indexed");
	if (count == 1 && index[0].kind == V_NODE) {
		struct value args[3] = { *v, index[0], v_int(sym_const(b->a, 0)) };
		return apply(b, OP_TAKE, args, 3, out);
	}
	for (int i = 0; i < count; i++)
		used += index[i].kind == V_INT || index[i].kind == V_SLICE;
	for (int i = 0; i < count; i++) {
		if (index[i].kind == V_NONE) {
			fresh[rank++] = true;
		} else if (index[i].kind == V_ELLIPSIS) {
			for (int k = x->rank - used; k > 0 && axis < x->rank; k--, axis++)
				rank++;
		} else {
			if (!index_axis(b, &x, &index[i], &axis, gone))
				return false;
			rank += index[i].kind == V_SLICE;
		}
	}
	rank += x->rank - axis;
	if (rank > KW_MAX_RANK)
		return bfail(b, line, column, "more than %d axes", KW_MAX_RANK);
	for (int i = 0; i < KW_MAX_RANK; i++) {
		if (gone[i]) {
			x = squeezed(b, x, gone);
			break;
		}
	}
	if (x && rank > x->rank)
		x = expanded(b, x, fresh, rank);
	return give(x, out);
}
