/* random.c - random numbers of an expression: a generator that is a function of a seed and a place, so that a reference can be
 * evaluated in any order and again. Other generators are as good where an output is compared by its distribution. */
#include "expr/internal.h"

/* u(seed, place) in [0, 1), 24 bits. */
bool build_uniform(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[2], *n;

	if (!get_node(b, c, "x", &args[0]) || !get_node(b, c, "y", &args[1]))
		return false;
	n = new_node(b, KW_NODE_ELEMENTWISE, OP_UNIFORM, KW_F32, args[1]->rank);
	if (!n || !set_args(b, n, args, 2) || !broadcast(b, n, args, 2))
		return false;
	n = finish(b, n);
	if (n)
		*out = v_node(n);
	return n != NULL;
}

static const char *text_of(enum op_id id)
{
#define PLACES "i = reshape(arange(count), like.shape)\n"
	switch (id) {
	case OP_RAND: return PLACES "y = _uniform(seed, i)";
	/* Box and Muller 1958; the second number has places of its own */
	case OP_RANDN: return PLACES "y = sqrt(-2.0 * log(1.0 - _uniform(seed, i))) * cos(6.283185307179586 * "
				     "_uniform(seed, i + 1099511627776))";
	case OP_BERNOULLI: return PLACES "y = where(_uniform(seed, i) < p, 1.0, 0.0)";
	default: return PLACES "y = where(_uniform(seed, i) < p, 0.0, x / (1.0 - p))";
	}
#undef PLACES
}

/* What has the shape of the result: an argument, or zeros of the sizes that are named. */
static bool find_like(struct builder *b, const struct call *c, struct kw_node **like)
{
	struct value zeros;
	int at = slot_index(c, "shape");

	if (at < 0)
		return get_node(b, c, c->op->id == OP_BERNOULLI ? "p" : "x", like);
	if (!call_op(b, op_get(OP_ZEROS), "zeros", c->line, c->column, &c->slot[at], 1, NULL, NULL, 0, &zeros))
		return false;
	*like = zeros.n;
	return true;
}

bool build_random(struct builder *b, struct call *c, struct value *out)
{
	const struct kw_poly *count = sym_const(b->a, 1);
	struct kw_node *seed, *like;
	struct value v;

	if (!get_node(b, c, "seed", &seed) || !find_like(b, c, &like))
		return false;
	if (seed->rank != 0 || kw_dtype_info(seed->dtype)->cls != KW_CLASS_INT)
		return bfail(b, c->line, c->column, "%s(): the seed must be one whole number, like an input s:i64", c->op->name);
	for (int i = 0; i < like->rank; i++)
		count = sym_mul(b->a, count, like->shape[i].poly);
	if (!count)
		return bnomem(b);
	v = v_node(like);
	add_slot(c, "like", &v);
	v = v_int(count);
	add_slot(c, "count", &v);
	return run_definition(b, c, text_of(c->op->id), out);
}

bool kw_expr_is_random(const struct kw_expr *e, int output)
{
	bool live[MAX_NODES] = { false };

	live[e->outputs[output]->id] = true;
	for (int i = e->outputs[output]->id; i >= 0; i--) {
		if (live[i] && op_id(e->nodes[i]) == OP_UNIFORM)
			return true;
		for (int k = 0; live[i] && k < e->nodes[i]->arg_count; k++)
			live[e->nodes[i]->args[k]->id] = true;
	}
	return false;
}
