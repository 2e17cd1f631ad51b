#include "author/graph.h"

#include <string.h>

#include "author/axes.h"

struct builder {
	struct kw_au_graph *g;
	struct kw_arena *a;
	struct kw_au_axes axes;
	int (*node_axis)[KW_MAX_RANK]; /* axis variable of every node's axis; -1: size 1 */
	int (*tensor_axis)[KW_MAX_RANK];
	struct kw_intenv env; /* probe dims */
	const char *why;
};

const char *kw_au_op(const struct kw_node *n)
{
	return n->op ? kw_op_name(n->op) : "";
}

const struct kw_node *kw_au_origin(const struct kw_au_graph *g, const struct kw_node *n)
{
	while (g->nodes[n->id].same)
		n = n->args[0];
	return n;
}

bool kw_au_is_argreduce(const struct kw_node *n)
{
	return n->kind == KW_NODE_REDUCE && strncmp(kw_au_op(n), "arg", 3) == 0;
}

static bool is_one(const struct kw_sym *s)
{
	return s->expr && strcmp(kw_intexpr_text(s->expr), "1") == 0;
}

/* One side is a vector, or the right one a matrix of one column. */
bool kw_au_is_dot(const struct kw_node *n)
{
	return n->kind == KW_NODE_CONTRACT && strcmp(kw_au_op(n), "matmul") == 0 && n->arg_count == 2 &&
	       (n->args[0]->rank == 1 || n->args[1]->rank == 1 ||
		(n->args[0]->rank == 2 && n->args[1]->rank == 2 && is_one(&n->args[1]->shape[1])));
}

bool kw_au_is_reduce(const struct kw_node *n)
{
	return n->kind == KW_NODE_REDUCE || kw_au_is_dot(n);
}

static enum kw_status no(struct builder *b, const char *why)
{
	b->why = why;
	return why ? KW_NO : KW_ERR_NOMEM;
}

/* Dims get different primes (times what they must be multiples of), so that equal sizes mean equal
 * axes. */
static enum kw_status probe_dims(struct builder *b, const struct kw_task *t)
{
	static const int primes[] = { 101, 67, 131, 53, 89,  71, 109, 61,
				      97,  59, 113, 73, 103, 79, 107, 83 };
	struct kw_intenv_var *v = kw_arena_calloc(b->a, t->dim_count + 1, sizeof(*v));

	if (!v)
		return KW_ERR_NOMEM;
	for (size_t i = 0; i < t->dim_count; i++) {
		const struct kw_dim *d = &t->dims[i];
		int64_t m = d->multiple > 1 ? d->multiple : 1, x = m * primes[i % 16];

		x = x > d->max ? d->max / m * m : x;
		v[i] = (struct kw_intenv_var){ d->name, x < d->min ? d->min : x };
	}
	b->env = (struct kw_intenv){ v, t->dim_count, NULL };
	return KW_OK;
}

static enum kw_status new_axis(struct builder *b, const struct kw_sym *s, int *out,
			       struct kw_error *err)
{
	int64_t n;
	enum kw_status st;

	*out = -1;
	if (is_one(s))
		return KW_OK;
	st = kw_intexpr_eval(s->expr, &b->env, &n, err);
	if (st != KW_OK)
		return st;
	*out = kw_au_axis_new(&b->axes, kw_intexpr_text(s->expr), n);
	return *out < 0 ? no(b, "the expression has too many axes") : KW_OK;
}

static enum kw_status visit_input(struct builder *b, const struct kw_node *n, struct kw_error *err)
{
	int *axis = b->tensor_axis[n->index];
	struct kw_au_tensor *t = &b->g->tensors[n->index];

	for (int i = 0; i < n->rank && !t->used; i++) {
		enum kw_status st = new_axis(b, &n->shape[i], &axis[i], err);

		if (st != KW_OK)
			return st;
	}
	t->used = true;
	memcpy(b->node_axis[n->id], axis, sizeof(*b->node_axis));
	return KW_OK;
}

/* Aligned at the last axis; what has size 1 (or is not there) follows the others. */
static enum kw_status visit_broadcast(struct builder *b, const struct kw_node *n)
{
	int *mine = b->node_axis[n->id];

	for (int k = 0; k < n->arg_count; k++) {
		const struct kw_node *arg = n->args[k];

		for (int i = 0; i < arg->rank; i++) {
			int theirs = b->node_axis[arg->id][i],
			    *own = &mine[n->rank - arg->rank + i];

			if (theirs < 0)
				continue;
			if (*own < 0)
				*own = theirs;
			else if (!kw_au_axes_join(&b->axes, own, 1, &theirs, 1))
				return no(b, "axes of operands do not line up");
		}
	}
	return KW_OK;
}

static enum kw_status visit_reduce(struct builder *b, const struct kw_node *n)
{
	const int *from = b->node_axis[n->args[0]->id];
	int *mine = b->node_axis[n->id], k = 0, r = 0;

	for (int i = 0; i < n->args[0]->rank; i++) {
		bool reduced = k < n->axis_count && n->axes[k] == i;

		k += reduced;
		if (!reduced)
			mine[r++] = from[i];
		else if (n->keepdims)
			mine[r++] = -1;
	}
	return KW_OK;
}

/* (..., m, k) @ (k) or (k) @ (..., k, n); (m, k) @ (k, 1), whose last axis is none. */
static enum kw_status visit_dot(struct builder *b, const struct kw_node *n)
{
	const struct kw_node *big = n->args[0]->rank > 1 ? n->args[0] : n->args[1];
	const struct kw_node *vec = big == n->args[0] ? n->args[1] : n->args[0];
	int axis = big == n->args[0] ? big->rank - 1 : big->rank > 1 ? big->rank - 2 : 0, r = 0;
	int *p = &b->node_axis[big->id][axis], *q = &b->node_axis[vec->id][0];

	if (!kw_au_is_dot(n))
		return no(b, kw_arena_printf(b->a, "%s is neither elementwise nor a reduction",
					     kw_au_op(n)));
	if (*p >= 0 && *q >= 0 && !kw_au_axes_join(&b->axes, p, 1, q, 1))
		return no(b, "axes of operands do not line up");
	for (int i = 0; i < big->rank; i++)
		if (i != axis)
			b->node_axis[n->id][r++] = b->node_axis[big->id][i];
	return KW_OK;
}

/* A value from elsewhere: axes of its own. */
static enum kw_status visit_given(struct builder *b, const struct kw_node *n, struct kw_error *err)
{
	for (int i = 0; i < n->rank; i++) {
		enum kw_status st = new_axis(b, &n->shape[i], &b->node_axis[n->id][i], err);

		if (st != KW_OK)
			return st;
	}
	return KW_OK;
}

static bool named(const char *op, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(op, *names) == 0)
			return true;
	return false;
}

static enum kw_status visit_move(struct builder *b, const struct kw_node *n, struct kw_error *err)
{
	static const char *const reshapes[] = { "reshape",     "flatten",  "squeeze",
						"expand_dims", "_channel", NULL };
	static const char *const permutes[] = { "transpose", "swapaxes", NULL };
	static const char *const widens[] = { "broadcast_to", NULL };
	const struct kw_node *arg = n->args[0];
	const int *from = b->node_axis[arg->id];
	int *mine = b->node_axis[n->id];

	if (named(kw_au_op(n), permutes)) {
		for (int i = 0; i < n->rank; i++)
			mine[i] = n->attr[i] >= 0 && n->attr[i] < arg->rank ? from[n->attr[i]] : -1;
		return KW_OK;
	}
	if (named(kw_au_op(n), widens))
		visit_broadcast(b, n);
	else if (!named(kw_au_op(n), reshapes))
		return no(b, kw_arena_printf(
				     b->a, "%s moves elements in a way that patterns do not follow",
				     kw_au_op(n)));
	for (int i = 0; i < n->rank; i++) {
		enum kw_status st = mine[i] < 0 ? new_axis(b, &n->shape[i], &mine[i], err) : KW_OK;

		if (st != KW_OK)
			return st;
	}
	if (named(kw_au_op(n), widens))
		return KW_OK;
	return kw_au_axes_join(&b->axes, from, arg->rank, mine, n->rank)
		       ? KW_OK
		       : no(b, "a reshape cuts across its axes");
}

/* x[..., index, ...]: one element of an input along one axis, the index having size 1 there. */
static enum kw_status visit_gather(struct builder *b, const struct kw_node *n)
{
	const struct kw_node *x = n->args[0], *index = n->arg_count > 1 ? n->args[1] : NULL;
	int *mine = b->node_axis[n->id];

	if (strcmp(kw_au_op(n), "gather") || x->kind != KW_NODE_INPUT || !index ||
	    index->rank != x->rank || !n->axis_count)
		return no(b,
			  kw_arena_printf(b->a, "%s is not a pick of one element a row of an input",
					  kw_au_op(n)));
	for (int i = 0; i < n->rank; i++) {
		int theirs = b->node_axis[x->id][i];

		mine[i] = b->node_axis[index->id][i];
		if (i == n->axes[0] && mine[i] >= 0)
			return no(b, "a gather of more than one element a row");
		if (i != n->axes[0] && theirs >= 0 && mine[i] >= 0 &&
		    !kw_au_axes_join(&b->axes, &theirs, 1, &mine[i], 1))
			return no(b, "axes of operands do not line up");
	}
	return KW_OK;
}

static enum kw_status visit_arange(struct builder *b, const struct kw_node *n, struct kw_error *err)
{
	return new_axis(b, &n->shape[0], &b->node_axis[n->id][0], err);
}

static enum kw_status visit(struct builder *b, const struct kw_node *n, struct kw_error *err)
{
	for (int i = 0; i < KW_MAX_RANK; i++)
		b->node_axis[n->id][i] = -1;
	if (n == b->g->given)
		return visit_given(b, n, err);
	switch (n->kind) {
	case KW_NODE_INPUT:
		return visit_input(b, n, err);
	case KW_NODE_PARAM:
	case KW_NODE_CONST:
	case KW_NODE_DIM:
		return KW_OK;
	case KW_NODE_CONTRACT:
		return visit_dot(b, n);
	case KW_NODE_GATHER:
		return visit_gather(b, n);
	case KW_NODE_ELEMENTWISE:
		return strcmp(kw_au_op(n), "arange") ? visit_broadcast(b, n)
						     : visit_arange(b, n, err);
	case KW_NODE_REDUCE:
		return visit_reduce(b, n);
	case KW_NODE_MOVE:
		return visit_move(b, n, err);
	case KW_NODE_SCAN:
	case KW_NODE_WINDOW:
	case KW_NODE_COMPOSITE:
		break;
	}
	return no(b,
		  kw_arena_printf(b->a, "%s is neither elementwise nor a reduction", kw_au_op(n)));
}

/* ---- atoms ---- */

static int find(const int *list, int n, int id)
{
	for (int i = 0; i < n; i++)
		if (list[i] == id)
			return i;
	return -1;
}

/* The axes of a node in its own order; -1 when one appears twice (a diagonal). */
static int node_parts(const struct builder *b, const int *axis, int rank, int out[KW_AU_RANK])
{
	int n = 0;

	for (int i = 0; i < rank; i++)
		if (!kw_au_axis_parts(&b->axes, axis[i], out, &n, KW_AU_RANK))
			return -1;
	for (int i = 0; i < n; i++)
		if (find(out, i, out[i]) >= 0)
			return -1;
	return n;
}

/* Whether a REDUCE does more than drop axes of size 1. */
static bool takes_away(const struct kw_node *n)
{
	for (int k = 0; k < n->axis_count; k++)
		if (!is_one(&n->args[0]->shape[n->axes[k]]))
			return true;
	return false;
}

/* The node whose axes give the space its order: what the first reduction reads, else the first
 * output. */
static const struct kw_node *widest(const struct kw_au_graph *g)
{
	const struct kw_expr *e = g->expr;

	if (g->root)
		return g->root;
	for (size_t i = 0; i < e->node_count; i++) {
		const struct kw_node *n = e->nodes[i];

		if (!g->nodes[n->id].live || n == g->given)
			continue;
		if (kw_au_is_dot(n))
			return n->args[n->args[1]->rank > n->args[0]->rank];
		if (n->kind == KW_NODE_REDUCE && takes_away(n))
			return n->args[0];
	}
	return e->outputs[0];
}

/* Atoms in order; space[] holds their axis variables. A value's mask, or -1 for "not in this
 * space". */
static int64_t mask_of(const struct builder *b, const int *space, int n, const int *axis, int rank)
{
	int parts[KW_AU_RANK], k = node_parts(b, axis, rank, parts);
	int64_t mask = 0;

	if (k < 0)
		return -1;
	for (int i = 0; i < k; i++) {
		int at = find(space, n, parts[i]);

		if (at < 0)
			return -1;
		mask |= INT64_C(1) << at;
	}
	return mask;
}

/* Which atoms are whole axes of the tensor. */
static void note_axes(const struct builder *b, struct kw_au_tensor *t, const int *axis, int rank)
{
	for (int k = 0; k < t->atom_count; k++)
		t->axis[k] = -1;
	for (int i = 0; i < rank; i++) {
		int part[KW_AU_RANK], n = 0;

		if (kw_au_axis_parts(&b->axes, axis[i], part, &n, KW_AU_RANK) && n == 1)
			t->axis[find(t->atoms, t->atom_count, part[0])] = i;
	}
}

static enum kw_status place_tensors(struct builder *b, const int *space, int n)
{
	struct kw_au_graph *g = b->g;

	for (size_t i = 0; i < g->tensor_count; i++) {
		struct kw_au_tensor *t = &g->tensors[i];
		const struct kw_node *out = t->given	? g->given
					    : t->output ? g->expr->outputs[t->index]
							: NULL;
		const int *axis = out ? b->node_axis[out->id] : b->tensor_axis[t->index];
		int rank = out ? out->rank : g->task->inputs[t->index].rank;

		if (!t->used)
			continue;
		t->atom_count = node_parts(b, axis, rank, t->atoms);
		if (t->atom_count < 0 || mask_of(b, space, n, axis, rank) < 0)
			return no(b, "operands span more than one index space");
		note_axes(b, t, axis, rank);
		for (int k = 0; k < t->atom_count; k++) {
			t->atoms[k] = find(space, n, t->atoms[k]);
			t->mask |= 1u << t->atoms[k];
		}
	}
	return KW_OK;
}

static enum kw_status place_nodes(struct builder *b, const int *space, int n)
{
	struct kw_au_graph *g = b->g;

	for (size_t i = 0; i < g->expr->node_count; i++) {
		const struct kw_node *node = g->expr->nodes[i];
		int64_t mask;

		g->nodes[node->id].node = node;
		if (!g->nodes[node->id].live)
			continue;
		mask = mask_of(b, space, n, b->node_axis[node->id], node->rank);
		if (mask < 0)
			return no(b, "values span more than one index space");
		g->nodes[node->id].mask = (uint32_t)mask;
	}
	return KW_OK;
}

/* What a REDUCE takes away. */
static uint32_t reduced_mask(const struct kw_au_graph *g, const struct kw_node *n)
{
	uint32_t mask = g->nodes[n->args[0]->id].mask;

	if (kw_au_is_dot(n))
		mask |= g->nodes[n->args[1]->id].mask;
	return mask & ~g->nodes[n->id].mask;
}

static enum kw_status order_stages(struct builder *b)
{
	struct kw_au_graph *g = b->g;

	for (size_t i = 0; i < g->expr->node_count; i++) {
		const struct kw_node *n = g->expr->nodes[i];
		struct kw_au_node *self = &g->nodes[n->id];

		if (!self->live || n == g->given)
			continue;
		for (int k = 0; k < n->arg_count; k++) {
			const struct kw_au_node *arg = &g->nodes[n->args[k]->id];

			self->stage = arg->stage > self->stage ? arg->stage : self->stage;
			self->total = self->total || arg->total;
		}
		self->same = n->kind == KW_NODE_MOVE && n->arg_count > 0;
		if (!kw_au_is_reduce(n))
			continue;
		if (!reduced_mask(g, n) && n->kind == KW_NODE_REDUCE && !kw_au_is_argreduce(n)) {
			self->same = true;
			continue;
		}
		if (!g->reduced)
			g->reduced = reduced_mask(g, n);
		if (reduced_mask(g, n) == g->reduced && !self->total) {
			self->stage += kw_au_is_argreduce(n) ? 2 : 1;
			g->stage_count =
				self->stage > g->stage_count ? self->stage : g->stage_count;
		} else if (self->mask == 0 && !(g->nodes[n->args[0]->id].mask & g->reduced) &&
			   !self->total) {
			self->total = g->has_total = true;
		} else {
			return no(b, "reductions over different axes");
		}
	}
	return KW_OK;
}

/* ---- merging ---- */

static bool alike(const struct kw_au_graph *g, int p, int q)
{
	bool reduced_p = g->reduced >> p & 1, reduced_q = g->reduced >> q & 1;

	if (reduced_p != reduced_q)
		return false;
	for (size_t i = 0; i < g->tensor_count; i++) {
		const struct kw_au_tensor *t = &g->tensors[i];
		int at = find(t->atoms, t->atom_count, p);

		if (at < 0 && find(t->atoms, t->atom_count, q) < 0)
			continue;
		if (at < 0 || at + 1 >= t->atom_count || t->atoms[at + 1] != q)
			return false;
		/* One loop over both would need one stride. */
		if (i < g->task->input_count && kw_tensor_any_strides(&g->task->inputs[i]))
			return false;
	}
	for (size_t i = 0; i < g->expr->node_count; i++) {
		uint32_t m = g->nodes[g->expr->nodes[i]->id].mask;

		if ((m >> p & 1) != (m >> q & 1))
			return false;
	}
	return true;
}

static uint32_t drop_bit(uint32_t mask, int at)
{
	uint32_t low = mask & ((1u << at) - 1);

	return low | (mask >> 1 & ~((1u << at) - 1));
}

/* Atom q = p + 1 becomes part of p. */
static bool merge(struct kw_au_graph *g, int p)
{
	int q = p + 1;

	g->atoms[p].size =
		kw_arena_printf(g->arena, "(%s) * (%s)", g->atoms[p].size, g->atoms[q].size);
	g->atoms[p].probe *= g->atoms[q].probe;
	for (int i = q; i + 1 < g->atom_count; i++)
		g->atoms[i] = g->atoms[i + 1];
	g->atom_count--;
	g->reduced = drop_bit(g->reduced, q);
	for (size_t i = 0; i < g->expr->node_count; i++)
		g->nodes[g->expr->nodes[i]->id].mask =
			drop_bit(g->nodes[g->expr->nodes[i]->id].mask, q);
	for (size_t i = 0; i < g->tensor_count; i++) {
		struct kw_au_tensor *t = &g->tensors[i];
		int n = 0;

		t->mask = drop_bit(t->mask, q);
		for (int k = 0; k < t->atom_count; k++) {
			if (t->atoms[k] == q)
				continue;
			t->axis[n] = t->atoms[k] == p ? -1 : t->axis[k];
			t->atoms[n++] = t->atoms[k] > q ? t->atoms[k] - 1 : t->atoms[k];
		}
		t->atom_count = n;
	}
	return g->atoms[p].size != NULL;
}

/* ---- the three loops ---- */

static void name_atoms(struct kw_au_graph *g)
{
	for (int i = 0; i < g->row_count; i++)
		g->atoms[g->row_atoms[i]].var =
			g->row_count == 1 ? "rows" : kw_arena_printf(g->arena, "row_dim%d", i);
	for (int i = 0; i < g->seg_count; i++)
		g->atoms[g->seg_atoms[i]].var =
			g->seg_count == 1 ? "segs" : kw_arena_printf(g->arena, "seg_dim%d", i);
	if (g->col_atom >= 0)
		g->atoms[g->col_atom].var = "cols";
}

static void choose_loops(struct kw_au_graph *g)
{
	int last = g->atom_count - 1;

	g->form = !g->stage_count			  ? KW_AU_POINTWISE
		  : last >= 0 && (g->reduced >> last & 1) ? KW_AU_ROWS
							  : KW_AU_COLUMNS;
	g->col_atom = last;
	for (int i = 0; i < last; i++) {
		if (g->reduced >> i & 1)
			g->seg_atoms[g->seg_count++] = i;
		else
			g->row_atoms[g->row_count++] = i;
	}
	for (int i = 0; i < g->atom_count; i++)
		g->atoms[i].reduced = g->reduced >> i & 1;
	g->kept = ((1u << g->atom_count) - 1) & ~g->reduced;
	name_atoms(g);
}

const char *kw_au_product(const struct kw_au_graph *g, const int *atoms, int count)
{
	const char *s = count ? g->atoms[atoms[0]].size : "1";

	for (int i = 1; i < count && s; i++)
		s = kw_arena_printf(g->arena, "(%s) * (%s)", s, g->atoms[atoms[i]].size);
	return s;
}

const char *kw_au_stride(struct kw_au_graph *g, const struct kw_au_tensor *t, int atom)
{
	int at = find(t->atoms, t->atom_count, atom);
	const char *s = NULL;

	if (at < 0)
		return "0";
	if (!t->output && !t->given && at < t->atom_count - 1 && t->axis[at] >= 0) {
		g->tensors[t->index].strides |= 1u << t->axis[at];
		s = kw_arena_printf(g->arena, "%s_stride%d", t->c_name, t->axis[at]);
		return s ? s : "0";
	}
	for (int i = at + 1; i < t->atom_count; i++) {
		const char *var = g->atoms[t->atoms[i]].var;

		s = s ? kw_arena_printf(g->arena, "%s * %s", s, var) : var;
	}
	return s ? s : "1";
}

static enum kw_status init_tensors(struct kw_au_graph *g)
{
	const struct kw_task *t = g->task;

	g->tensor_count = t->input_count + t->output_count + (g->given != NULL);
	g->tensors = kw_arena_calloc(g->arena, g->tensor_count, sizeof(*g->tensors));
	if (!g->tensors)
		return KW_ERR_NOMEM;
	for (size_t i = 0; i < g->tensor_count; i++) {
		bool output = i >= t->input_count;
		const struct kw_tensor_decl *d;

		if (i == t->input_count + t->output_count) {
			g->tensors[i] = (struct kw_au_tensor){
				.given = true, .used = true, .name = "", .dtype = g->given->dtype
			};
			continue;
		}
		d = output ? &t->outputs[i - t->input_count] : &t->inputs[i];
		g->tensors[i] =
			(struct kw_au_tensor){ .output = output,
					       .used = output && !g->root,
					       .name = output && d->inout ? t->inputs[d->partner].name : d->name,
					       .dtype = d->dtype,
					       .index = (int)(output ? i - t->input_count : i) };
	}
	return KW_OK;
}

/* Nodes -> axes -> atoms. */
static enum kw_status find_space(struct builder *b, struct kw_error *err)
{
	const struct kw_expr *e = b->g->expr;
	const struct kw_node *wide = widest(b->g);
	int space[KW_AU_RANK], n;
	enum kw_status st;

	for (size_t i = 0; i < e->node_count; i++) {
		st = b->g->nodes[e->nodes[i]->id].live ? visit(b, e->nodes[i], err) : KW_OK;
		if (st != KW_OK)
			return st;
	}
	n = node_parts(b, b->node_axis[wide->id], wide->rank, space);
	if (n < 0)
		return no(b, "an axis is used twice");
	for (int i = 0; i < n; i++) {
		const struct kw_au_axis *axis = &b->axes.axis[space[i]];

		b->g->atoms[i] = (struct kw_au_atom){ .size = axis->size, .probe = axis->probe };
	}
	b->g->atom_count = n;
	st = place_tensors(b, space, n);
	return st == KW_OK ? place_nodes(b, space, n) : st;
}

/* Marks what `n` needs; args have smaller positions, so one backward sweep does. */
static void mark_live(struct kw_au_graph *g)
{
	const struct kw_expr *e = g->expr;

	for (size_t i = 0; i < e->output_count && !g->root; i++)
		g->nodes[e->outputs[i]->id].live = true;
	if (g->root)
		g->nodes[g->root->id].live = true;
	for (size_t i = e->node_count; i-- > 0;) {
		const struct kw_node *n = e->nodes[i];

		for (int k = 0; k < n->arg_count && g->nodes[n->id].live && n != g->given; k++)
			g->nodes[n->args[k]->id].live = true;
	}
}

enum kw_status kw_au_analyse(const struct kw_expr *e, const struct kw_au_part *part,
			     struct kw_arena *a, struct kw_au_graph **out, const char **why,
			     struct kw_error *err)
{
	struct kw_au_graph *g = kw_arena_calloc(a, 1, sizeof(*g));
	struct builder *b = kw_arena_calloc(a, 1, sizeof(*b));
	int apart = part ? part->apart : 0;
	enum kw_status st;

	*why = NULL;
	*out = g;
	if (!g || !b)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory to analyse the expression");
	*g = (struct kw_au_graph){ .task = e->task, .expr = e, .arena = a };
	g->root = part ? part->root : NULL;
	g->given = part ? part->given : NULL;
	*b = (struct builder){ .g = g, .a = a, .axes = { .arena = a } };
	g->nodes = kw_arena_calloc(a, e->node_count + 1, sizeof(*g->nodes));
	b->node_axis = kw_arena_calloc(a, e->node_count + 1, sizeof(*b->node_axis));
	b->tensor_axis = kw_arena_alloc(a, (e->task->input_count + 1) * sizeof(*b->tensor_axis));
	if (!g->nodes || !b->node_axis || !b->tensor_axis || init_tensors(g) != KW_OK ||
	    probe_dims(b, e->task) != KW_OK)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory to analyse the expression");
	memset(b->tensor_axis, 0xff, (e->task->input_count + 1) * sizeof(*b->tensor_axis)); /* -1 */
	mark_live(g);
	st = find_space(b, err);
	st = st == KW_OK ? order_stages(b) : st;
	*why = b->why;
	if (st != KW_OK)
		return st == KW_ERR_NOMEM
			       ? kw_fail(err, st, "", "no memory to analyse the expression")
			       : st;
	for (int i = 0; i + 1 < g->atom_count;)
		if ((apart && i + 1 >= g->atom_count - apart) || !alike(g, i, i + 1) ||
		    !merge(g, i))
			i++;
	choose_loops(g);
	return KW_OK;
}
