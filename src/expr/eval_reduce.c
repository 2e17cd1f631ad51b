/* eval_reduce.c - reductions, in slabs where the argument's box is large, and scans.
 *
 * Slabs are cut along the first axis that is longer than 1, so that every output still sees its elements in row-major
 * order: that is the order in which a plain kernel adds them up (F32 mode). */
#include "expr/eval_internal.h"

#include <math.h>
#include <string.h>

struct reduction {
	struct ctx *c;
	const struct kw_node *n, *arg;
	enum op_id id;
	enum rounding round;
	bool gone[KW_MAX_RANK];
	struct box whole;                 /* the argument's box */
	int64_t stride[KW_MAX_RANK];      /* of the output per axis of the argument, 0 where reduced */
	double *out, *best;               /* best: argmax, argmin keep the value here */
};

static double start_value(enum op_id id)
{
	switch (id) {
	case OP_MAX: case OP_ARGMAX: return -INFINITY;
	case OP_MIN: case OP_ARGMIN: return INFINITY;
	case OP_PROD: case OP_ALL: return 1;
	default: return 0;
	}
}

/* Sums and products one by one, each step rounded. */
static double reduce_row_rounded(enum op_id id, enum rounding r, double acc, const double *p, int64_t n)
{
	float s = (float)acc;

	if (r == ROUND_24_BITS) {
		for (int64_t i = 0; i < n; i++)
			acc = keep_24_bits(id == OP_PROD ? acc * p[i] : acc + p[i]);
		return acc;
	}
	for (int64_t i = 0; i < n; i++)
		s = id == OP_PROD ? s * (float)p[i] : s + (float)p[i];
	return (double)s;
}

static double reduce_row(enum op_id id, double acc, const double *p, int64_t n)
{
	double m;

	switch (id) {
	case OP_MAX:
		m = vec_max(p, n);
		return m > acc || m != m ? m : acc;
	case OP_MIN:
		m = vec_min(p, n);
		return m < acc || m != m ? m : acc;
	case OP_PROD:
		for (int64_t i = 0; i < n; i++)
			acc *= p[i];
		return acc;
	case OP_ANY:
		for (int64_t i = 0; i < n; i++)
			acc = p[i] != 0 ? 1 : acc;
		return acc;
	case OP_ALL:
		for (int64_t i = 0; i < n; i++)
			acc = p[i] == 0 ? 0 : acc;
		return acc;
	default:
		return acc + vec_sum(p, n);
	}
}

static void reduce_column(const struct reduction *r, double *acc, const double *p, int64_t n)
{
	switch (r->id) {
	case OP_SUM: case OP_MEAN:
		vec_add(r->round, p, acc, n);
		return;
	case OP_MAX:
		vec_binary(OP_MAXIMUM)(p, acc, acc, n);
		return;
	case OP_MIN:
		vec_binary(OP_MINIMUM)(p, acc, acc, n);
		return;
	case OP_PROD:
		vec_binary(OP_MUL)(p, acc, acc, n);
		vec_round(r->round, acc, n);
		return;
	default:
		for (int64_t i = 0; i < n; i++)
			acc[i] = reduce_row(r->id, acc[i], p + i, 1);
	}
}

/* The first of equals; NaN counts as the largest (and the smallest), as numpy and torch have it. */
static void arg_step(const struct reduction *r, int64_t at, double v, int64_t index)
{
	double b = r->best[at];
	bool better = r->id == OP_ARGMAX ? v > b : v < b;

	if (better || (v != v && b == b) || r->out[at] < 0) {
		r->best[at] = v;
		r->out[at] = (double)index;
	}
}

/* A slab p, whose box is x, into the accumulators. */
static void accumulate(const struct reduction *r, const struct box *x, const double *p)
{
	int rank = r->arg->rank, last = rank - 1;
	int64_t inner = rank ? x->count[last] : 1, rows = 1, at[KW_MAX_RANK] = { 0 }, to = 0;
	bool arg = r->id == OP_ARGMAX || r->id == OP_ARGMIN;
	int axis = r->n->axes[0];

	for (int i = 0; i < rank; i++) {
		to += (x->start[i] - r->whole.start[i]) * r->stride[i];
		rows *= i < last ? x->count[i] : 1;
	}
	for (int64_t k = 0; k < rows; k++, p += inner) {
		if (arg) {
			for (int64_t i = 0; i < inner; i++)
				arg_step(r, to + i * r->stride[last], p[i],
					 x->start[axis] + (axis == last ? i : at[axis]));
		} else if (rank && !r->gone[last]) {
			reduce_column(r, r->out + to, p, inner);
		} else if (r->round && (r->id == OP_SUM || r->id == OP_MEAN || r->id == OP_PROD)) {
			r->out[to] = reduce_row_rounded(r->id, r->round, r->out[to], p, inner);
		} else {
			r->out[to] = reduce_row(r->id, r->out[to], p, inner);
		}
		for (int i = last - 1; i >= 0; i--) {
			to += r->stride[i];
			if (++at[i] < x->count[i])
				break;
			to -= x->count[i] * r->stride[i];
			at[i] = 0;
		}
	}
}

static bool slab(const struct reduction *r, const struct box *x)
{
	int rank = r->arg->rank, axis = 0;
	const double *p;

	if (box_volume(x, rank) > SLAB_ELEMENTS) {
		int64_t rest = 1, step;
		while (axis < rank && x->count[axis] == 1)
			axis++;
		for (int i = axis + 1; i < rank; i++)
			rest *= x->count[i];
		step = rest >= SLAB_ELEMENTS ? 1 : SLAB_ELEMENTS / rest;
		for (int64_t i = 0; i < x->count[axis]; i += step) {
			struct box part = *x;
			struct mark m = ctx_mark(r->c);
			part.start[axis] += i;
			part.count[axis] = x->count[axis] - i < step ? x->count[axis] - i : step;
			if (!slab(r, &part))
				return false;
			ctx_release(r->c, m);
		}
		return true;
	}
	p = eval_operand(r->c, r->n, 0, x);
	if (!p)
		return false;
	accumulate(r, x, p);
	return true;
}

static void finish_mean(const struct reduction *r, double *out, int64_t volume)
{
	double count = 1;

	for (int i = 0; i < r->arg->rank; i++)
		count *= r->gone[i] ? (double)r->whole.count[i] : 1;
	for (int64_t i = 0; i < volume; i++)
		out[i] /= count;
}

bool eval_reduce(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	struct reduction r = { .c = c, .n = n, .arg = n->args[0], .id = n->op->id, .round = rounds(c, n), .out = out };
	int64_t volume = box_volume(x, n->rank), step = 1;
	int o = n->rank - 1;

	need_box(c->ev->b, n, x, 0, &r.whole);
	for (int k = 0; k < n->axis_count; k++)
		r.gone[n->axes[k]] = true;
	for (int i = r.arg->rank - 1; i >= 0; i--) {
		if (r.gone[i]) {
			o -= n->keepdims;
			continue;
		}
		r.stride[i] = step;
		step *= x->count[o--];
	}
	for (int64_t i = 0; i < volume; i++)
		out[i] = start_value(r.id);
	if (r.id == OP_ARGMAX || r.id == OP_ARGMIN) {
		r.best = ctx_alloc(c, volume);
		if (!r.best)
			return false;
		for (int64_t i = 0; i < volume; i++)
			out[i] = -1;
	}
	if (box_volume(&r.whole, r.arg->rank) > 0 && !slab(&r, &r.whole))
		return false;
	if (r.id == OP_MEAN)
		finish_mean(&r, out, volume);
	return true;
}

/* ---- scans ---- */

static double scan_step(enum op_id id, double acc, double v)
{
	switch (id) {
	case OP_CUMPROD: return acc * v;
	case OP_CUMMAX: return v > acc || v != v ? v : acc;
	default: return acc + v;
	}
}

bool eval_scan(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	enum op_id id = n->op->id;
	int axis = n->axes[0];
	int64_t inner = 1, outer = 1, total, skip = x->start[axis], keep = x->count[axis];
	enum rounding round = rounds(c, n);
	struct box need;
	const double *p;
	double first = id == OP_CUMPROD ? 1 : id == OP_CUMMAX ? -INFINITY : 0, *acc;

	need_box(c->ev->b, n, x, 0, &need);
	p = eval_operand(c, n, 0, &need);
	for (int i = 0; i < n->rank; i++) {
		outer *= i < axis ? x->count[i] : 1;
		inner *= i > axis ? x->count[i] : 1;
	}
	acc = p ? ctx_alloc(c, inner) : NULL;
	if (!acc)
		return false;
	total = need.count[axis];
	for (int64_t o = 0; o < outer; o++) {
		for (int64_t k = 0; k < inner; k++)
			acc[k] = first;
		for (int64_t i = 0; i < total; i++) {
			const double *row = p + (o * total + i) * inner;
			for (int64_t k = 0; k < inner; k++) {
				acc[k] = rounded(round, scan_step(id, acc[k], row[k]));
			}
			if (i >= skip)
				vec_copy(acc, out + (o * keep + i - skip) * inner, inner);
		}
	}
	return true;
}
