/* recurrent.c - rnn, gru and lstm: one layer, one direction, with the products of the inputs already made.
 *
 * COMPOSITE nodes without a definition: what a step needs of the step before it is no expression. x is (steps, n, gates * h),
 * weight (gates * h, h), h0 and c0 (n, h); a result is (steps, n, h). attr[0]: gates; attr[1]: relu; attr[2]: a bias is given.
 * Gates are ordered as in PyTorch: r, z, n and i, f, g, o. An LSTM has two results, its index says which: states, cells. */
#include <math.h>

#include "expr/eval_internal.h"

bool is_recurrent(const struct kw_node *n)
{
	return n->op && (n->op->id == OP_RNN || n->op->id == OP_GRU || n->op->id == OP_LSTM);
}

/* ---- building ---- */

static bool fits(struct builder *b, const struct call *c, struct kw_node *const *args, int count, int64_t gates)
{
	const struct kw_poly *hidden, *all;

	if (args[0]->rank != 3 || args[1]->rank != 2 || args[2]->rank != 2)
		return bfail(b, c->line, c->column, "%s(): x %s, weight %s, h0 %s need 3, 2 and 2 axes", c->name,
			     shape_text(b, args[0]), shape_text(b, args[1]), shape_text(b, args[2]));
	hidden = args[2]->shape[1].poly;
	all = sym_mul(b->a, hidden, sym_const(b->a, gates));
	if (!require_eq(b, args[0]->shape[1].poly, args[2]->shape[0].poly, "the batches of x and h0") ||
	    !require_eq(b, args[0]->shape[2].poly, all, "the last axis of x, and the hidden size times the gates") ||
	    !require_eq(b, args[1]->shape[0].poly, all, "the rows of weight, and the hidden size times the gates") ||
	    !require_eq(b, args[1]->shape[1].poly, hidden, "the columns of weight, and the hidden size"))
		return false;
	for (int i = 3; i < count; i++) {
		if (args[i]->rank != (c->op->id == OP_GRU ? 1 : 2))
			return bfail(b, c->line, c->column, "%s(): %s has the shape %s", c->name,
				     c->op->id == OP_GRU ? "bias" : "c0", shape_text(b, args[i]));
		if (!require_eq(b, args[i]->shape[args[i]->rank - 1].poly, c->op->id == OP_GRU ? all : hidden,
				"the last axis of the fourth argument") ||
		    (args[i]->rank == 2 && !require_eq(b, args[i]->shape[0].poly, args[2]->shape[0].poly, "the batches of c0 and h0")))
			return false;
	}
	return true;
}

static struct kw_node *result(struct builder *b, const struct call *c, struct kw_node *const *args, int count, int64_t gates,
			      bool relu, int index)
{
	struct kw_node *n = new_node(b, KW_NODE_COMPOSITE, c->op->id, to_float(promote(args, count)), 3);

	if (!n || !set_args(b, n, args, count))
		return NULL;
	n->shape[0] = args[0]->shape[0];
	n->shape[1] = args[0]->shape[1];
	n->shape[2] = args[2]->shape[1];
	n->attr[0] = gates;
	n->attr[1] = relu;
	n->attr[2] = c->op->id == OP_GRU && count == 4;
	n->index = index;
	return finish(b, n);
}

bool build_recurrent(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[4], *n;
	int64_t gates = c->op->id == OP_LSTM ? 4 : c->op->id == OP_GRU ? 3 : 1;
	const char *how = "tanh", *fourth = c->op->id == OP_LSTM ? "c0" : "bias";
	int count = 3;
	struct value pair[2];

	if (!get_node(b, c, "x", &args[0]) || !get_node(b, c, "weight", &args[1]) || !get_node(b, c, "h0", &args[2]))
		return false;
	if (c->op->id == OP_RNN && !get_str(b, c, "activation", &how))
		return false;
	if (strcmp(how, "tanh") != 0 && strcmp(how, "relu") != 0)
		return bfail(b, c->line, c->column, "rnn(): the activation is 'tanh' or 'relu'");
	if (c->op->id != OP_RNN && has(c, fourth) && !get_node(b, c, fourth, &args[count++]))
		return false;
	if (!fits(b, c, args, count, gates))
		return false;
	for (int i = 0; i < (c->op->id == OP_LSTM ? 2 : 1); i++) {
		n = result(b, c, args, count, gates, strcmp(how, "relu") == 0, i);
		if (!n)
			return false;
		pair[i] = v_node(n);
	}
	if (c->op->id != OP_LSTM) {
		*out = pair[0];
		return true;
	}
	*out = (struct value){ .kind = V_TUPLE, .count = 2, .items = kw_arena_copy(b->a, pair, sizeof(pair)) };
	return out->items ? true : bnomem(b);
}

/* ---- what a box needs, and what it costs ---- */

/* All steps up to the last one that is asked for, of the same rows of the batch. */
void need_recurrent(const struct kw_bound *b, const struct kw_node *n, const struct box *x, int arg, struct box *out)
{
	box_whole(&b->shape[n->args[arg]->id], out);
	if (arg == 0) {
		out->count[0] = x->start[0] + x->count[0];
		out->start[1] = x->start[1];
		out->count[1] = x->count[1];
	} else if (arg == 2 || (arg == 3 && n->op->id == OP_LSTM)) {
		out->start[0] = x->start[1];
		out->count[0] = x->count[1];
	}
}

/* Both results of an LSTM are one computation: the states', or the cells' where only those are asked for. */
static bool counted_already(const struct kw_expr *e, const struct kw_node *n)
{
	for (int i = 0; n->index == 1 && i < n->id; i++) {
		const struct kw_node *m = e->nodes[i];
		if (m->op == n->op && m->index == 0 && memcmp(m->args, n->args, sizeof(*m->args) * (size_t)n->arg_count) == 0)
			return true;
	}
	return false;
}

void recurrent_cost(const struct kw_bound *b, const struct kw_node *n, struct kw_cost *c)
{
	const struct kw_shape *s = &b->shape[n->id];
	double cells = (double)kw_shape_count(s), gates = (double)n->attr[0];

	if (counted_already(b->e, n))
		return;
	c->flops += cells * gates * 2 * (double)s->dim[2];
	c->flops += cells * (n->op->id == OP_LSTM ? 9 : n->op->id == OP_GRU ? 10 : 2);
	c->special += cells * (n->op->id == OP_LSTM ? 5 : n->op->id == OP_GRU ? 3 : n->attr[1] ? 0 : 1);
}

/* ---- evaluation ---- */

struct cell {
	const struct kw_node *n;
	enum rounding round;
	int64_t hidden;
	const double *weight, *bias;
	double *h, *c, *product;          /* product: gates * hidden */
};

static double sigmoid(enum rounding r, double v)
{
	return rounded(r, 1 / (1 + exp(-v)));
}

/* weight @ h, and the bias that belongs to it. */
static void products(struct cell *k)
{
	int64_t rows = k->n->attr[0] * k->hidden;

	for (int64_t j = 0; j < rows; j++) {
		const double *w = k->weight + j * k->hidden;
		double sum = 0;

		if (k->round == ROUND_NONE)
			sum = vec_dot(w, k->h, k->hidden);
		else
			for (int64_t i = 0; i < k->hidden; i++)
				sum = rounded(k->round, sum + w[i] * k->h[i]);
		k->product[j] = k->bias ? rounded(k->round, sum + k->bias[j]) : sum;
	}
}

static void rnn_step(struct cell *k, const double *x)
{
	for (int64_t j = 0; j < k->hidden; j++) {
		double v = rounded(k->round, x[j] + k->product[j]);
		k->h[j] = k->n->attr[1] ? (v < 0 ? 0 : v) : rounded(k->round, tanh(v));
	}
}

static void gru_step(struct cell *k, const double *x)
{
	enum rounding q = k->round;
	int64_t m = k->hidden;

	for (int64_t j = 0; j < m; j++) {
		double r = sigmoid(q, rounded(q, x[j] + k->product[j])), z = sigmoid(q, rounded(q, x[m + j] + k->product[m + j]));
		double n = rounded(q, tanh(rounded(q, x[2 * m + j] + rounded(q, r * k->product[2 * m + j]))));

		k->h[j] = rounded(q, rounded(q, rounded(q, 1 - z) * n) + rounded(q, z * k->h[j]));
	}
}

static void lstm_step(struct cell *k, const double *x)
{
	enum rounding q = k->round;
	int64_t m = k->hidden;

	for (int64_t j = 0; j < m; j++) {
		double i = sigmoid(q, rounded(q, x[j] + k->product[j])), f = sigmoid(q, rounded(q, x[m + j] + k->product[m + j]));
		double g = rounded(q, tanh(rounded(q, x[2 * m + j] + k->product[2 * m + j])));
		double o = sigmoid(q, rounded(q, x[3 * m + j] + k->product[3 * m + j]));

		k->c[j] = rounded(q, rounded(q, f * k->c[j]) + rounded(q, i * g));
		k->h[j] = rounded(q, o * rounded(q, tanh(k->c[j])));
	}
}

static void run_row(struct cell *k, const double *x, int64_t steps, int64_t stride, const struct box *want, double *out,
		    int64_t out_stride)
{
	const double *from = k->n->op->id == OP_LSTM && k->n->index == 1 ? k->c : k->h;

	for (int64_t t = 0; t < steps; t++) {
		products(k);
		if (k->n->op->id == OP_LSTM)
			lstm_step(k, x + t * stride);
		else if (k->n->op->id == OP_GRU)
			gru_step(k, x + t * stride);
		else
			rnn_step(k, x + t * stride);
		if (t >= want->start[0])
			vec_copy(from + want->start[2], out + (t - want->start[0]) * out_stride, want->count[2]);
	}
}

bool eval_recurrent(struct ctx *c, const struct kw_node *n, const struct box *x, double *out)
{
	struct cell k = { .n = n, .round = rounds(c, n), .hidden = node_shape(c, n)->dim[2] };
	int64_t rows = x->count[1], steps = x->start[0] + x->count[0], wide = n->attr[0] * k.hidden;
	const double *p[4] = { NULL };
	double *state;

	for (int i = 0; i < n->arg_count; i++) {
		struct box need;

		need_box(c->ev->b, n, x, i, &need);
		p[i] = eval_operand(c, n, i, &need);
		if (!p[i])
			return false;
	}
	state = ctx_alloc(c, wide + 2 * k.hidden);
	if (!state)
		return false;
	k.product = state;
	k.h = state + wide;
	k.c = k.h + k.hidden;
	k.weight = p[1];
	k.bias = n->attr[2] ? p[3] : NULL;
	for (int64_t r = 0; r < rows; r++) {
		vec_copy(p[2] + r * k.hidden, k.h, k.hidden);
		if (n->op->id == OP_LSTM)
			vec_copy(p[3] + r * k.hidden, k.c, k.hidden);
		run_row(&k, p[0] + r * wide, steps, rows * wide, x, out + r * x->count[2], rows * x->count[2]);
	}
	return true;
}
