/* naive_plan.c - which nodes get an array of their own, and in which order the loops of a nest run.
 *
 * A value without an array is computed where it is used. That is right for elementwise operations, and for a reduction
 * only when its loop can stand outside of the loops that it does not depend on; so a nest runs over the axes that its
 * reductions depend on first (batchnorm: channels), and what does not fit gets an array.
 *
 * On a GPU the loops of a nest are threads, which share no value: a reduction is computed in place only where every
 * thread has one of its own. */
#include "expr/naive.h"

#include <string.h>

#define MAX_FOUND 64
#define INNER (1u << 31)                  /* depends on a reduced axis of the reduction around it */

struct found {                            /* a reduction inside a nest */
	const struct kw_node *n;
	unsigned loops;                   /* the loops of the nest that it depends on */
};
struct walk {
	struct gen *g;
	unsigned threads;                 /* the loops that are threads; 0: none, or one */
	struct found found[MAX_FOUND];
	int count;
	bool changed;                     /* something became a stage */
};

bool naive_is_template(const struct kw_node *n)
{
	switch (op_id(n)) {
	case OP_SOFTMAX: case OP_ATTENTION: case OP_GROUPNORM: case OP_TOPK: return true;
	default: return n->kind == KW_NODE_SCAN;
	}
}

bool naive_keeps(const struct kw_node *n)
{
	return naive_is_template(n) && n->kind == KW_NODE_COMPOSITE;
}

static void make_stage(struct walk *w, const struct kw_node *n)
{
	if (!w->g->stage[n->id] && !w->g->array[n->id]) {
		w->g->stage[n->id] = true;
		w->changed = true;
	}
}

static bool is_computed(const struct gen *g, const struct kw_node *n)
{
	return !g->stage[n->id] && !g->array[n->id];
}

/* Whether the tree that is computed in place has something worth computing once. */
static bool is_costly(const struct gen *g, const struct kw_node *n)
{
	if (!is_computed(g, n))
		return false;
	if (n->kind == KW_NODE_REDUCE || n->kind == KW_NODE_CONTRACT || n->kind == KW_NODE_WINDOW)
		return true;
	if (n->kind == KW_NODE_ELEMENTWISE && n->op->special > 0)
		return true;
	for (int i = 0; i < n->arg_count; i++)
		if (is_costly(g, n->args[i]))
			return true;
	return false;
}

/* ---- what the loops of a nest reach ---- */

/* direct: only elementwise operations and reductions lie between the nest and n. */
static void walk(struct walk *w, const struct kw_node *n, const unsigned *loops, unsigned around, bool direct);

static unsigned all_of(const struct kw_node *n, const unsigned *loops)
{
	unsigned m = 0;

	for (int i = 0; i < n->rank; i++)
		m |= naive_is_one(n, i) ? 0 : loops[i];
	return m;
}

static void walk_reduce(struct walk *w, const struct kw_node *n, const unsigned *loops, unsigned around, bool direct)
{
	const struct kw_node *x = n->args[0];
	unsigned mine = all_of(n, loops), inner[KW_MAX_RANK] = { 0 };

	if (w->g->lang->gpu ? !direct || mine != w->threads : (mine & INNER) && mine != around) {
		make_stage(w, n);
		return;
	}
	if (!(mine & INNER)) {
		if (w->count == MAX_FOUND) {
			make_stage(w, n);
			return;
		}
		w->found[w->count++] = (struct found){ n, mine };
	}
	for (int i = 0, k = 0, o = 0; i < x->rank; i++) {
		bool gone = k < n->axis_count && n->axes[k] == i;
		k += gone;
		inner[i] = gone ? INNER : loops[o];
		o += !gone || n->keepdims;
	}
	walk(w, x, inner, mine | INNER, direct);
}

/* The loops that each axis of an argument depends on. */
static void arg_loops(const struct kw_node *n, int which, const unsigned *loops, unsigned *out)
{
	const struct kw_node *x = n->args[which];
	unsigned all = all_of(n, loops);

	for (int i = 0; i < x->rank; i++)
		out[i] = all;
	if (n->kind == KW_NODE_ELEMENTWISE) {
		for (int i = 0; i < x->rank; i++)
			out[i] = loops[n->rank - x->rank + i];
		return;
	}
	switch (op_id(n)) {
	case OP_TRANSPOSE: case OP_SWAPAXES: case OP_EXPAND_DIMS: case OP_SQUEEZE: case OP_BROADCAST_TO:
		for (int i = 0; i < x->rank; i++)
			out[i] = 0;
		for (int i = 0; i < n->rank; i++)
			if (n->attr[i] >= 0)
				out[n->attr[i]] = loops[i];
		return;
	case OP_SLICE: case OP_PAD: case OP_FLIP: case OP_CONCAT: case OP_REPEAT: case OP_HEADS:
		for (int i = 0; i < x->rank; i++)
			out[i] = loops[i];
		return;
	default:
		return;
	}
}

static void walk(struct walk *w, const struct kw_node *n, const unsigned *loops, unsigned around, bool direct)
{
	unsigned inner[KW_MAX_RANK] = { 0 };

	if (!is_computed(w->g, n))
		return;
	if (n->kind == KW_NODE_REDUCE) {
		walk_reduce(w, n, loops, around, direct);
		return;
	}
	for (int i = 0; i < n->arg_count; i++) {
		/* Read more than once per element: what costs something is computed before. */
		bool again = n->kind == KW_NODE_CONTRACT || n->kind == KW_NODE_WINDOW || naive_is_template(n);

		if (again && is_costly(w->g, n->args[i]))
			make_stage(w, n->args[i]);
		arg_loops(n, i, loops, inner);
		walk(w, n->args[i], inner, around, direct && n->kind == KW_NODE_ELEMENTWISE);
	}
}

static int bits(unsigned m)
{
	return __builtin_popcount(m);
}

/* The reductions of a nest, those with the fewest loops first. */
static void walk_nest(struct walk *w, const struct kw_node *n)
{
	unsigned loops[KW_MAX_RANK];
	bool was = w->g->stage[n->id];

	for (int i = 0; i < n->rank; i++)
		loops[i] = 1u << i;
	w->count = 0;
	w->threads = all_of(n, loops);
	w->g->stage[n->id] = false; /* computed here */
	if (naive_is_template(n)) {
		for (int i = 0; i < n->arg_count; i++)
			if (is_costly(w->g, n->args[i]) && n->kind != KW_NODE_SCAN)
				make_stage(w, n->args[i]);
	}
	walk(w, n, loops, 0, true);
	w->g->stage[n->id] = was;
	for (int i = 1; i < w->count; i++)
		for (int k = i; k > 0 && bits(w->found[k].loops) < bits(w->found[k - 1].loops); k--) {
			struct found f = w->found[k];
			w->found[k] = w->found[k - 1];
			w->found[k - 1] = f;
		}
}

/* Loops that each reduction depends on must be the first ones of the nest. */
static void fit_nest(struct walk *w, const struct kw_node *n)
{
	unsigned before = 0;

	walk_nest(w, n);
	for (int i = 0; i < w->count && !w->g->lang->gpu; i++) {
		if ((before & w->found[i].loops) == before)
			before = w->found[i].loops;
		else
			make_stage(w, w->found[i].n);
	}
}

void naive_loop_order(struct gen *g, const struct kw_node *n, int *order)
{
	struct walk w = { .g = g };
	unsigned placed = 0, all = 0;
	int at = 0;

	for (int i = 0; i < n->rank; i++)
		all |= 1u << i;
	walk_nest(&w, n);
	for (int f = 0; f <= w.count; f++) {
		unsigned next = (f < w.count ? w.found[f].loops : all) & ~placed;
		for (int i = 0; i < n->rank; i++)
			if (next & 1u << i)
				order[at++] = i;
		placed |= next;
	}
}

/* ---- which nodes ---- */

static void count_readers(struct gen *g)
{
	const struct kw_expr *e = g->e;

	for (size_t i = 0; i < e->output_count; i++) {
		g->live[e->outputs[i]->id] = true;
		g->uses[e->outputs[i]->id]++;
	}
	for (size_t i = e->node_count; i-- > 0;) {
		const struct kw_node *n = e->nodes[i];
		for (int k = 0; g->live[i] && k < n->arg_count; k++) {
			g->live[n->args[k]->id] = true;
			g->uses[n->args[k]->id]++;
			g->consumer[n->args[k]->id] = n;
		}
	}
}

/* A product or a convolution whose result goes through elementwise operations of its shape into an output. */
static bool has_epilogue(const struct gen *g, const struct kw_node *n)
{
	const struct kw_node *c = n;

	while (g->uses[c->id] == 1) {
		const struct kw_node *up = g->consumer[c->id];
		if (!up)
			return true;
		if (up->kind != KW_NODE_ELEMENTWISE || up->rank != n->rank)
			return false;
		for (int i = 0; i < n->rank; i++)
			if (!sym_eq(up->shape[i].poly, n->shape[i].poly))
				return false;
		c = up;
	}
	return false;
}

void naive_plan(struct gen *g)
{
	struct walk w = { .g = g, .changed = true };

	count_readers(g);
	for (size_t i = 0; i < g->e->node_count; i++) {
		const struct kw_node *n = g->e->nodes[i];
		bool heavy = n->kind == KW_NODE_CONTRACT || n->kind == KW_NODE_WINDOW;

		g->stage[i] = g->live[i] && (naive_is_template(n) || (heavy && !has_epilogue(g, n)));
	}
	while (w.changed && g->status == KW_OK) {
		w.changed = false;
		for (size_t i = 0; i < g->e->node_count; i++)
			if (g->stage[i])
				fit_nest(&w, g->e->nodes[i]);
		for (size_t i = 0; i < g->e->output_count; i++)
			fit_nest(&w, g->e->outputs[i]);
	}
}
