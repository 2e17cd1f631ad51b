/* eval_elem.c - elementwise nodes: broadcasting down to long inner loops. Also inputs: any layout, any dtype. */
#include "expr/eval_internal.h"

#include <string.h>

#define STRIP 512
#define MAX_ELEM_ARGS 3

/* The loop nest of a box: axes merged where all operands allow it. */
struct nest {
	int rank;                                        /* outer axes + the inner one, which is last */
	int64_t count[KW_MAX_RANK];
	int64_t stride[MAX_ELEM_ARGS][KW_MAX_RANK];      /* of each operand, elements; 0: repeated */
};

static void nest_make(const struct ctx *c, const struct kw_node *n, const struct box *x, struct nest *t)
{
	int64_t stride[MAX_ELEM_ARGS][KW_MAX_RANK] = { { 0 } };

	for (int k = 0; k < n->arg_count; k++) {
		const struct kw_node *a = n->args[k];
		const struct kw_shape *s = node_shape(c, a);
		int64_t step = 1;
		for (int i = a->rank - 1; i >= 0; i--) {
			int to = n->rank - a->rank + i;
			if (s->dim[i] == 1)
				continue;
			stride[k][to] = step;
			step *= x->count[to];
		}
	}
	*t = (struct nest){ .rank = 0 };
	for (int i = 0; i < n->rank; i++) {
		bool merge = t->rank > 0;
		if (x->count[i] == 1)
			continue;
		for (int k = 0; k < n->arg_count && merge; k++)
			merge = t->stride[k][t->rank - 1] == stride[k][i] * x->count[i];
		if (merge) {
			t->count[t->rank - 1] *= x->count[i];
		} else {
			t->count[t->rank++] = x->count[i];
		}
		for (int k = 0; k < n->arg_count; k++)
			t->stride[k][t->rank - 1] = stride[k][i];
	}
	if (!t->rank) {
		t->count[t->rank++] = 1;
	}
}

/* One inner run: operand k starts at p[k], stride 0 or 1. */
static void run(const struct kw_node *n, const double *const *p, const bool *repeated, double *out, int64_t count)
{
	enum op_id id = n->op->id;

	if (n->arg_count == 1) {
		vec1_fn f = vec_unary(id);
		f(p[0], out, repeated[0] ? 1 : count);
		for (int64_t i = 1; repeated[0] && i < count; i++)
			out[i] = out[0];
		return;
	}
	if (n->arg_count == 2 && repeated[1] && !repeated[0]) {
		vec_binary_scalar(id)(p[0], *p[1], out, count);
		return;
	}
	if (n->arg_count == 2 && repeated[0] && !repeated[1]) {
		vec_scalar_binary(id)(p[1], *p[0], out, count);
		return;
	}
	if (n->arg_count == 2 && !repeated[0] && !repeated[1]) {
		vec_binary(id)(p[0], p[1], out, count);
		return;
	}
	for (int64_t i = 0; i < count; i += STRIP) {
		double strip[MAX_ELEM_ARGS][STRIP];
		const double *q[MAX_ELEM_ARGS];
		int64_t m = count - i < STRIP ? count - i : STRIP;

		for (int k = 0; k < n->arg_count; k++) {
			q[k] = repeated[k] ? strip[k] : p[k] + i;
			for (int64_t j = 0; repeated[k] && j < m; j++)
				strip[k][j] = *p[k];
		}
		if (n->arg_count == 2)
			vec_binary(id)(q[0], q[1], out + i, m);
		else
			vec_where(q[0], q[1], q[2], out + i, m);
	}
}

static bool arange(const struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	const int64_t *sym = c->ev->b->sym[n->id];

	for (int64_t i = 0; i < x->count[0]; i++)
		out[i] = (double)(sym[0] + (x->start[0] + i) * sym[1]);
	return true;
}

/* Narrow formats round; floats become whole by truncating and saturating, whole numbers wrap; f64 and f32 are the mode's own business. */
static bool cast(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	int64_t volume = box_volume(x, n->rank);
	enum kw_dtype from = n->args[0]->dtype;
	unsigned char narrow[STRIP * 8];

	if (!eval_into(c, n->args[0], x, out))
		return false;
	if (n->dtype == KW_F64 || n->dtype == KW_F32 || from == n->dtype)
		return true;
	if (!kw_dtype_is_float(from))
		kw_dtype_wrap(n->dtype, out, (size_t)volume);
	for (int64_t i = 0; i < volume; i += STRIP) {
		size_t m = (size_t)(volume - i < STRIP ? volume - i : STRIP);
		if (n->dtype == KW_BOOL) {
			for (size_t k = 0; k < m; k++)
				out[i + (int64_t)k] = out[i + (int64_t)k] != 0;
			continue;
		}
		kw_dtype_from_f64(n->dtype, out + i, narrow, m);
		kw_dtype_to_f64(n->dtype, narrow, out + i, m);
	}
	return true;
}

/* The one seed of this draw. */
static const double *other_seed(struct ctx *c, const struct kw_node *n, const double *seed)
{
	double *p = n->args[0]->rank == 0 ? ctx_alloc(c, 1) : NULL;

	if (p)
		*p = *seed + (double)(c->ev->draw * DRAW_STEP);
	return p;
}

bool eval_elementwise(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	const double *base[MAX_ELEM_ARGS], *p[MAX_ELEM_ARGS];
	int64_t at[KW_MAX_RANK] = { 0 }, inner, rows = 1;
	bool repeated[MAX_ELEM_ARGS], exact = whole_is_exact(n), beyond = false;
	struct nest t;

	if (n->op->id == OP_ARANGE)
		return arange(c, n, x, out);
	if (n->op->id == OP_CAST)
		return cast(c, n, x, out);
	for (int k = 0; k < n->arg_count; k++) {
		struct box need;
		need_box(c->ev->b, n, x, k, &need);
		base[k] = eval_operand(c, n, k, &need);
		if (!base[k])
			return false;
	}
	if (n->op->id == OP_UNIFORM && c->ev->draw && !(base[0] = other_seed(c, n, base[0])))
		return false;
	if (n->op->id == OP_NOT && kw_dtype_info(n->dtype)->cls == KW_CLASS_INT) {
		whole_not(base[0], out, box_volume(x, n->rank));
		whole_finish(c, n, out, box_volume(x, n->rank), false);
		return true;
	}
	nest_make(c, n, x, &t);
	inner = t.count[t.rank - 1];
	for (int i = 0; i + 1 < t.rank; i++)
		rows *= t.count[i];
	for (int k = 0; k < n->arg_count; k++) {
		repeated[k] = t.stride[k][t.rank - 1] == 0;
		p[k] = base[k];
	}
	for (int64_t r = 0; r < rows; r++) {
		if (exact)
			whole_run(n, p, repeated, out + r * inner, inner, &beyond);
		else
			run(n, p, repeated, out + r * inner, inner);
		for (int i = t.rank - 2; i >= 0; i--) {
			bool more = ++at[i] < t.count[i];
			for (int k = 0; k < n->arg_count; k++)
				p[k] += more ? t.stride[k][i] : -(t.count[i] - 1) * t.stride[k][i];
			if (more)
				break;
			at[i] = 0;
		}
	}
	if (!kw_dtype_is_float(n->dtype))
		whole_finish(c, n, out, rows * inner, beyond);
	return true;
}

/* ---- inputs ---- */

static void load_run(enum kw_dtype d, const char *p, int64_t stride, double *out, int64_t count)
{
	size_t bytes = kw_dtype_bytes(d);
	unsigned char strip[STRIP * 8];

	if (stride == 1) {
		kw_dtype_to_f64(d, p, out, (size_t)count);
		return;
	}
	for (int64_t i = 0; i < count; i += STRIP) {
		int64_t m = count - i < STRIP ? count - i : STRIP;
		for (int64_t k = 0; k < m; k++)
			memcpy(strip + (size_t)k * bytes, p + (i + k) * stride * (int64_t)bytes, bytes);
		kw_dtype_to_f64(d, strip, out + i, (size_t)m);
	}
}

bool eval_input(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	const struct kw_view *v = &c->ev->inputs[n->index];
	enum kw_dtype d = (enum kw_dtype)v->dtype;
	int64_t bytes = (int64_t)kw_dtype_bytes(d), offset = 0, inner = 1, rows = 1, at[KW_MAX_RANK] = { 0 };
	int64_t count[KW_MAX_RANK], stride[KW_MAX_RANK];
	int rank = 0;

	for (int i = 0; i < n->rank; i++) {
		offset += x->start[i] * v->stride[i];
		if (x->count[i] == 1)
			continue;
		if (rank && stride[rank - 1] == v->stride[i] * x->count[i]) {
			count[rank - 1] *= x->count[i];
		} else {
			count[rank++] = x->count[i];
		}
		stride[rank - 1] = v->stride[i];
	}
	if (rank)
		inner = count[rank - 1];
	for (int i = 0; i + 1 < rank; i++)
		rows *= count[i];
	for (int64_t r = 0; r < rows; r++) {
		load_run(d, (const char *)v->base + offset * bytes, rank ? stride[rank - 1] : 1, out + r * inner, inner);
		for (int i = rank - 2; i >= 0; i--) {
			offset += stride[i];
			if (++at[i] < count[i])
				break;
			offset -= count[i] * stride[i];
			at[i] = 0;
		}
	}
	return true;
}
