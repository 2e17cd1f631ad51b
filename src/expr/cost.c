/* cost.c - flops, special functions and compulsory bytes of a bound expression; reduction lengths; families. */
#include "expr/internal.h"

#include <math.h>
#include <string.h>

static double elements(const struct kw_bound *b, const struct kw_node *n)
{
	return (double)kw_shape_count(&b->shape[n->id]);
}

/* Terms summed per output element. */
static double reduced(const struct kw_bound *b, const struct kw_node *n)
{
	const struct kw_shape *s = n->arg_count ? &b->shape[n->args[0]->id] : NULL;
	double k = 1;

	switch (n->kind) {
	case KW_NODE_REDUCE:
		for (int i = 0; i < n->axis_count; i++)
			k *= (double)s->dim[n->axes[i]];
		return k;
	case KW_NODE_SCAN:
		return (double)s->dim[n->axes[0]];
	case KW_NODE_CONTRACT: {
		struct labels l;
		contract_labels(n, &l);
		for (const char *p = l.sum; *p; p++) {
			const char *x = strchr(l.in[0], *p), *y = strchr(l.in[1], *p);
			int64_t dx = x ? s->dim[x - l.in[0]] : 1, dy = y ? b->shape[n->args[1]->id].dim[y - l.in[1]] : 1;
			k *= (double)(dx > dy ? dx : dy);
		}
		return k;
	}
	case KW_NODE_WINDOW: {
		struct window w;
		window_get(b, n, &w);
		for (int i = 0; i < w.nd; i++)
			k *= (double)w.kernel[i];
		return n->arg_count > 1 ? k * (double)s->dim[1] / (double)w.groups : k;
	}
	case KW_NODE_COMPOSITE:
		return is_recurrent(n) ? (double)b->shape[n->id].dim[2] : 1;
	default:
		return 1;
	}
}

static void node_cost(const struct kw_bound *b, const struct kw_node *n, struct kw_cost *c)
{
	double count = elements(b, n);

	switch (n->kind) {
	case KW_NODE_ELEMENTWISE:
		c->flops += count * n->op->flops;
		c->special += count * n->op->special;
		break;
	case KW_NODE_REDUCE:
	case KW_NODE_SCAN:
		c->flops += elements(b, n->args[0]);
		break;
	case KW_NODE_CONTRACT:
		c->flops += 2 * count * reduced(b, n);
		break;
	case KW_NODE_WINDOW:
		if (n->arg_count > 1 && n->op->id >= OP_CONV_TRANSPOSE1D && n->op->id <= OP_CONV_TRANSPOSE3D) {
			double taps = elements(b, n->args[1]) / (double)b->shape[n->args[1]->id].dim[0];
			c->flops += 2 * elements(b, n->args[0]) * taps;
		} else {
			c->flops += (n->arg_count > 1 ? 2 : 1) * count * reduced(b, n);
		}
		break;
	case KW_NODE_GATHER:
		if (n->op->id == OP_TOPK && n->index == 0)
			c->flops += elements(b, n->args[0]);
		break;
	default:
		break;
	}
}

/* Causal attention needs key j of query i only for j <= i. */
static double attention_share(const struct kw_bound *b, const struct kw_node *n)
{
	const struct kw_shape *q = &b->shape[n->args[0]->id], *k = &b->shape[n->args[1]->id];
	double l = (double)q->dim[q->rank - 2], s = (double)k->dim[k->rank - 2];
	double pairs = l <= s ? l * (l + 1) / 2 : s * (s + 1) / 2 + (l - s) * s;

	return n->attr[0] && l * s > 0 ? pairs / (l * s) : 1;
}

static void attention_cost(const struct kw_bound *b, const struct kw_node *n, struct kw_cost *c)
{
	const struct kw_shape *q = &b->shape[n->args[0]->id], *k = &b->shape[n->args[1]->id],
			      *v = &b->shape[n->args[2]->id];
	double rows = elements(b, n) / (double)(v->dim[v->rank - 1] ? v->dim[v->rank - 1] : 1);
	double scores = rows * (double)k->dim[k->rank - 2] * attention_share(b, n);

	c->flops += scores * (2.0 * (double)q->dim[q->rank - 1] + 2.0 * (double)v->dim[v->rank - 1] + 6);
	c->special += 2 * scores;
}

static bool is_attention(const struct kw_node *n)
{
	return n->op && n->op->id == OP_ATTENTION;
}

struct use {
	struct box box;
	bool any;
	double elements;                  /* at most so many elements of the node are used */
};

static void use_box(struct use *u, const struct box *x, int rank, double n)
{
	for (int i = 0; i < rank; i++) {
		int64_t lo = x->start[i], hi = lo + x->count[i];
		if (u->any) {
			lo = u->box.start[i] < lo ? u->box.start[i] : lo;
			hi = u->box.start[i] + u->box.count[i] > hi ? u->box.start[i] + u->box.count[i] : hi;
		}
		u->box.start[i] = lo;
		u->box.count[i] = hi - lo;
	}
	u->any = true;
	u->elements += n;
}

/* Elements of inputs that some output depends on: whole boxes, but for slices with steps and reads by index only what
 * they take. */
static void input_bytes(const struct kw_bound *b, struct use *u, struct kw_cost *c)
{
	const struct kw_expr *e = b->e;

	for (size_t i = 0; i < e->output_count; i++) {
		struct box x;
		box_whole(&b->shape[e->outputs[i]->id], &x);
		if (kw_shape_count(&b->shape[e->outputs[i]->id]) > 0)
			use_box(&u[e->outputs[i]->id], &x, e->outputs[i]->rank, elements(b, e->outputs[i]));
	}
	for (size_t i = e->node_count; i-- > 0;) {
		const struct kw_node *n = e->nodes[i];
		double volume, used;

		if (!u[i].any)
			continue;
		volume = (double)box_volume(&u[i].box, n->rank);
		used = u[i].elements < volume ? u[i].elements : volume;
		for (int k = 0; k < n->arg_count; k++) {
			struct box need;
			double some;
			need_box(b, n, &u[i].box, k, &need);
			some = (double)box_volume(&need, n->args[k]->rank);
			if (some == 0)
				continue;
			if ((n->kind == KW_NODE_MOVE || (n->kind == KW_NODE_GATHER && n->op->id != OP_TOPK && k == 0)) &&
			    used < some)
				some = used;
			use_box(&u[n->args[k]->id], &need, n->args[k]->rank, some);
		}
		if (n->kind == KW_NODE_INPUT)
			c->bytes_read += used * (double)kw_dtype_bytes(n->dtype);
	}
}

/* What the nodes under a box of one output cost, each as far as the box needs it. */
static double used_flops(const struct kw_bound *b, int output, const int64_t *start, const int64_t *count, struct use *u)
{
	const struct kw_expr *e = b->e;
	const struct kw_node *root = e->outputs[output];
	struct box x = { .start = { 0 } };
	double flops = 0;

	for (int i = 0; i < root->rank; i++) {
		x.start[i] = start[i];
		x.count[i] = count[i];
	}
	use_box(&u[root->id], &x, root->rank, (double)box_volume(&x, root->rank));
	for (size_t i = e->node_count; i-- > 0;) {
		const struct kw_node *n = e->nodes[i];
		struct kw_cost c = { 0 };
		double all = elements(b, n);

		if (!u[i].any || all <= 0)
			continue;
		node_cost(b, n, &c);
		flops += (c.flops + c.special) * (double)box_volume(&u[i].box, n->rank) / all;
		for (int k = 0; k < n->arg_count; k++) {
			struct box need;

			need_box(b, n, &u[i].box, k, &need);
			if (box_volume(&need, n->args[k]->rank) > 0)
				use_box(&u[n->args[k]->id], &need, n->args[k]->rank, 0);
		}
	}
	return flops;
}

/* Values of long sums that other sums go over may be computed anew each time. */
static bool sums_over_sums(const struct kw_expr *e)
{
	int heavy = 0, sums = 0;

	for (size_t i = 0; i < e->node_count; i++) {
		heavy += e->nodes[i]->kind == KW_NODE_CONTRACT || (e->nodes[i]->kind == KW_NODE_WINDOW && e->nodes[i]->arg_count > 1);
		sums += e->nodes[i]->kind == KW_NODE_REDUCE || e->nodes[i]->kind == KW_NODE_SCAN ||
			(e->nodes[i]->kind == KW_NODE_WINDOW && e->nodes[i]->arg_count == 1);
	}
	return heavy > 1 || (heavy == 1 && sums > 0);
}

double expr_box_flops(const struct kw_bound *b, int output, const int64_t *start, const int64_t *count)
{
	struct kw_expr *low;
	struct kw_bound *lb;
	struct kw_arena a;
	struct use *u;
	double flops = INFINITY;

	kw_arena_init(&a, 64 << 20);
	if (kw_expr_lower(b->e, &a, &low, NULL) == KW_OK && kw_expr_bind(low, b->c, &a, &lb, NULL) == KW_OK &&
	    (u = kw_arena_calloc(&a, low->node_count + 1, sizeof(*u))) && !sums_over_sums(low))
		flops = used_flops(lb, output, start, count, u);
	kw_arena_release(&a);
	return flops;
}

double kw_expr_sample_flops(const struct kw_bound *b)
{
	enum { ELEMENTS = 64 };
	int64_t start[KW_MAX_RANK] = { 0 }, one[KW_MAX_RANK];
	double sum = 0;

	for (int i = 0; i < KW_MAX_RANK; i++)
		one[i] = 1;
	for (size_t o = 0; o < b->e->output_count; o++)
		if (kw_shape_count(kw_bound_output_shape(b, (int)o)) > 0)
			sum += ELEMENTS * expr_box_flops(b, (int)o, start, one);
	return sum;
}

void kw_expr_cost(const struct kw_bound *b, struct kw_cost *out)
{
	struct kw_expr *low;
	struct kw_bound *lb;
	struct kw_arena a;
	struct use *u;

	*out = (struct kw_cost){ 0 };
	kw_arena_init(&a, 64 << 20);
	if (lower_except(b->e, is_attention, &a, &low, NULL) == KW_OK && kw_expr_bind(low, b->c, &a, &lb, NULL) == KW_OK &&
	    (u = kw_arena_calloc(&a, low->node_count + 1, sizeof(*u)))) {
		for (size_t i = 0; i < low->node_count; i++) {
			if (is_attention(low->nodes[i]))
				attention_cost(lb, low->nodes[i], out);
			else if (is_recurrent(low->nodes[i]))
				recurrent_cost(lb, low->nodes[i], out);
			else
				node_cost(lb, low->nodes[i], out);
		}
		input_bytes(lb, u, out);
	}
	kw_arena_release(&a);
	for (size_t i = 0; i < b->e->output_count; i++)
		out->bytes_written += elements(b, b->e->outputs[i]) *
				      (double)kw_dtype_bytes(b->e->task->outputs[i].dtype);
}

int64_t kw_bound_reduction(const struct kw_bound *b, int output)
{
	struct kw_arena a;
	struct kw_expr *low;
	struct kw_bound *lb;
	double longest = 1;

	kw_arena_init(&a, 64 << 20);
	if (kw_expr_lower(b->e, &a, &low, NULL) == KW_OK && kw_expr_bind(low, b->c, &a, &lb, NULL) == KW_OK) {
		bool *live = kw_arena_calloc(&a, low->node_count + 1, sizeof(*live));
		int root = low->outputs[output]->id;
		if (live)
			live[root] = true;
		for (int i = root; live && i >= 0; i--) {
			const struct kw_node *n = low->nodes[i];
			double k = live[i] ? reduced(lb, n) : 0;
			bool extreme = n->op && (n->op->id == OP_MAX || n->op->id == OP_MIN || n->op->id == OP_ARGMAX ||
						 n->op->id == OP_ARGMIN);
			for (int j = 0; live[i] && j < n->arg_count; j++)
				live[n->args[j]->id] = true;
			longest = !extreme && k > longest ? k : longest;
		}
	}
	kw_arena_release(&a);
	return (int64_t)longest;
}
