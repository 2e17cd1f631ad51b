/* eval_move.c - boxes of moved elements. */
#include "expr/eval_internal.h"

#include <string.h>

/* Copies a strided box: out contiguous with counts, from p with a stride per axis (may be negative or 0). */
static void copy_strided(const double *p, const int64_t *stride, const int64_t *count, int rank, double *out)
{
	int64_t at[KW_MAX_RANK] = { 0 }, inner = rank ? count[rank - 1] : 1, step = rank ? stride[rank - 1] : 1, rows = 1;

	for (int i = 0; i + 1 < rank; i++)
		rows *= count[i];
	for (int64_t r = 0; r < rows; r++, out += inner) {
		if (step == 1) {
			vec_copy(p, out, inner);
		} else {
			for (int64_t i = 0; i < inner; i++)
				out[i] = p[i * step];
		}
		for (int i = rank - 2; i >= 0; i--) {
			p += stride[i];
			if (++at[i] < count[i])
				break;
			p -= count[i] * stride[i];
			at[i] = 0;
		}
	}
}

/* Strides of a contiguous box. */
static void box_stride(const struct box *x, int rank, int64_t *stride)
{
	int64_t s = 1;

	for (int i = rank - 1; i >= 0; i--) {
		stride[i] = s;
		s *= x->count[i];
	}
}

static bool mapped(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	const struct kw_node *a = n->args[0];
	int64_t from[KW_MAX_RANK], stride[KW_MAX_RANK];
	struct box need;
	const double *p;

	need_box(c->ev->b, n, x, 0, &need);
	p = eval_node(c, a, &need);
	if (!p)
		return false;
	box_stride(&need, a->rank, from);
	for (int i = 0; i < n->rank; i++)
		stride[i] = n->attr[i] < 0 || node_shape(c, a)->dim[n->attr[i]] == 1 ? 0 : from[n->attr[i]];
	copy_strided(p, stride, x->count, n->rank, out);
	return true;
}

/* Flat positions of both sides agree: element by element through the argument's box. */
static bool reshaped(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	const struct kw_node *a = n->args[0];
	const struct kw_shape *s = node_shape(c, a), *to = node_shape(c, n);
	int64_t from[KW_MAX_RANK], stride[KW_MAX_RANK], at[KW_MAX_RANK] = { 0 }, volume = box_volume(x, n->rank);
	struct box need;
	const double *p;

	need_box(c->ev->b, n, x, 0, &need);
	p = eval_node(c, a, &need);
	if (!p)
		return false;
	if (box_volume(&need, a->rank) == volume) { /* all of it, in the same order */
		vec_copy(p, out, volume);
		return true;
	}
	box_stride(&need, a->rank, from);
	kw_shape_contiguous(to, stride);
	for (int64_t i = 0; i < volume; i++) {
		int64_t flat = 0, where = 0;
		for (int k = 0; k < n->rank; k++)
			flat += (x->start[k] + at[k]) * stride[k];
		for (int k = a->rank - 1; k >= 0; k--) {
			where += (flat % s->dim[k] - need.start[k]) * from[k];
			flat /= s->dim[k];
		}
		out[i] = p[where];
		for (int k = n->rank - 1; k >= 0; k--) {
			if (++at[k] < x->count[k])
				break;
			at[k] = 0;
		}
	}
	return true;
}

static bool sliced(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	const struct kw_node *a = n->args[0];
	int64_t stride[KW_MAX_RANK];
	struct box need;
	const double *p;

	need_box(c->ev->b, n, x, 0, &need);
	p = eval_node(c, a, &need);
	if (!p)
		return false;
	box_stride(&need, n->rank, stride);
	for (int i = 0; i < n->rank; i++) {
		bool flip = false;
		for (int k = 0; n->op->id == OP_FLIP && k < n->axis_count; k++)
			flip |= n->axes[k] == i;
		if (flip) {
			p += (x->count[i] - 1) * stride[i];
			stride[i] = -stride[i];
		} else if (n->op->id == OP_SLICE) {
			stride[i] *= n->attr[i];
		}
	}
	copy_strided(p, stride, x->count, n->rank, out);
	return true;
}

/* Writes a box of values into the part of out (box x) that begins at `first`. */
static void paste(const double *p, const struct box *part, const int64_t *first, const struct box *x, int rank,
		  double *out)
{
	int64_t stride[KW_MAX_RANK], at[KW_MAX_RANK] = { 0 }, inner = rank ? part->count[rank - 1] : 1, rows = 1, to = 0;

	box_stride(x, rank, stride);
	for (int i = 0; i < rank; i++) {
		to += (first[i] - x->start[i]) * stride[i];
		rows *= i + 1 < rank ? part->count[i] : 1;
	}
	for (int64_t r = 0; r < rows; r++) {
		vec_copy(p + r * inner, out + to, inner);
		for (int i = rank - 2; i >= 0; i--) {
			to += stride[i];
			if (++at[i] < part->count[i])
				break;
			to -= part->count[i] * stride[i];
			at[i] = 0;
		}
	}
}

static bool pasted(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	int64_t before = 0, volume = box_volume(x, n->rank);
	bool pad = n->op->id == OP_PAD;

	for (int64_t i = 0; pad && i < volume; i++)
		out[i] = n->fattr[0];
	for (int k = 0; k < n->arg_count; k++) {
		int64_t first[KW_MAX_RANK];
		struct box need;
		const double *p;

		need_box(c->ev->b, n, x, k, &need);
		if (box_volume(&need, n->rank) > 0) {
			p = eval_node(c, n->args[k], &need);
			if (!p)
				return false;
			for (int i = 0; i < n->rank; i++)
				first[i] = need.start[i] + (pad ? c->ev->b->sym[n->id][i] : 0);
			if (!pad)
				first[n->axes[0]] += before;
			paste(p, &need, first, x, n->rank, out);
		}
		if (!pad)
			before += node_shape(c, n->args[k])->dim[n->axes[0]];
	}
	return true;
}

static bool repeated(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	int axis = n->axes[0];
	int64_t times = c->ev->b->sym[n->id][0], inner = 1, outer = 1;
	struct box need;
	const double *p;

	need_box(c->ev->b, n, x, 0, &need);
	p = eval_node(c, n->args[0], &need);
	if (!p)
		return false;
	for (int i = 0; i < n->rank; i++) {
		outer *= i < axis ? x->count[i] : 1;
		inner *= i > axis ? x->count[i] : 1;
	}
	for (int64_t o = 0; o < outer; o++) {
		for (int64_t i = 0; i < x->count[axis]; i++, out += inner) {
			int64_t from = (x->start[axis] + i) / times - need.start[axis];
			vec_copy(p + (o * need.count[axis] + from) * inner, out, inner);
		}
	}
	return true;
}

bool eval_move(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	switch (n->op->id) {
	case OP_RESHAPE: return reshaped(c, n, x, out);
	case OP_SLICE:
	case OP_FLIP: return sliced(c, n, x, out);
	case OP_CONCAT:
	case OP_PAD: return pasted(c, n, x, out);
	case OP_REPEAT: return repeated(c, n, x, out);
	default: return mapped(c, n, x, out);
	}
}
