/* external.c - references that are no expression: a graph of one operation of which nothing is known but the shapes, and an
 * evaluator whose values somebody else computes. */
#include "expr/eval_internal.h"

#include "base/alloc.h"

bool build_external(struct builder *b, struct call *c, struct value *out)
{
	(void)out;
	return bfail(b, c->line, c->column, "'%s' cannot be written", c->name);
}

/* Each output is what _reference makes of all inputs; index says which. */
bool external_outputs(struct builder *b, const struct kw_task *t)
{
	int count = (int)b->x->e.node_count;
	struct kw_node **args = kw_arena_copy(b->a, b->x->e.nodes, (size_t)count * sizeof(*args));

	if (!args)
		return bnomem(b);
	for (size_t o = 0; o < t->output_count; o++) {
		struct kw_node *n = new_node(b, KW_NODE_COMPOSITE, OP_EXTERNAL, t->outputs[o].dtype, t->outputs[o].rank);

		if (!n || !set_args(b, n, args, count))
			return false;
		n->index = (int)o;
		for (int i = 0; i < n->rank; i++)
			n->shape[i].poly = sym_parse(b->a, kw_intexpr_text(t->outputs[o].shape[i]));
		if (!(n = finish(b, n)))
			return false;
		b->x->e.outputs[b->x->e.output_count++] = n;
	}
	return true;
}

bool kw_expr_is_external(const struct kw_expr *e)
{
	return e->output_count && op_id(e->outputs[0]) == OP_EXTERNAL;
}

enum kw_status kw_eval_new_external(const struct kw_bound *b, const struct kw_view *inputs, enum kw_eval_mode mode,
				    const struct kw_external *from, struct kw_eval **out, struct kw_error *err)
{
	enum kw_status s = kw_eval_new(b, inputs, NULL, mode, 1, 1u << 20, out, err);

	if (s == KW_OK)
		(*out)->external = *from;
	return s;
}

static void copy_box(const double *from, const struct kw_shape *shape, const int64_t *start, const int64_t *count, double *out)
{
	int64_t stride[KW_MAX_RANK], at[KW_MAX_RANK] = { 0 }, total = 1, run = shape->rank ? count[shape->rank - 1] : 1;

	kw_shape_contiguous(shape, stride);
	for (int i = 0; i < shape->rank; i++)
		total *= count[i];
	for (int64_t done = 0; done < total; done += run) {
		int64_t flat = 0;

		for (int i = 0; i < shape->rank; i++)
			flat += (start[i] + at[i]) * stride[i];
		vec_copy(from + flat, out + done, run);
		for (int i = shape->rank - 2; i >= 0; i--) {
			if (++at[i] < count[i])
				break;
			at[i] = 0;
		}
	}
}

enum kw_status eval_external(struct kw_eval *ev, int output, const struct box *x, double *out, struct kw_error *err)
{
	enum kw_eval_mode mode = ev->coarse ? KW_EVAL_COARSE : ev->f32 ? KW_EVAL_F32 : KW_EVAL_F64;
	const double *values = NULL;
	enum kw_status s = ev->external.values(ev->external.arg, mode, output, ev->inputs, &values, err);

	if (s == KW_OK)
		copy_box(values, &ev->b->shape[ev->e->outputs[output]->id], x->start, x->count, out);
	return s;
}
