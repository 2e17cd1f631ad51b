/* build_elem.c - builders of elementwise operations. */
#include "expr/internal.h"

#include <string.h>

static bool elementwise(struct builder *b, const struct call *c, enum kw_dtype d, struct kw_node *const *args,
			int count, struct value *out)
{
	int rank = 0;
	struct kw_node *n;
	bool weak = count > 0;

	for (int i = 0; i < count; i++) {
		rank = args[i]->rank > rank ? args[i]->rank : rank;
		weak = weak && xn(args[i])->weak;
	}
	n = new_node(b, KW_NODE_ELEMENTWISE, c->op->id, d, rank);
	if (!n || !set_args(b, n, args, count) || !broadcast(b, n, args, count))
		return false;
	xn(n)->weak = weak;
	n = finish(b, n);
	if (n)
		*out = v_node(n);
	return n != NULL;
}

/* The first slots as nodes. */
static bool operands(struct builder *b, const struct call *c, int count, struct kw_node **args)
{
	for (int i = 0; i < count; i++) {
		if (!get_node(b, c, c->slot_name[i], &args[i]))
			return false;
	}
	return true;
}

bool build_arith(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[2];
	enum kw_dtype d;

	if (!operands(b, c, 2, args))
		return false;
	d = promote(args, 2);
	if (kw_dtype_info(d)->cls == KW_CLASS_BOOL && c->op->id != OP_MAXIMUM && c->op->id != OP_MINIMUM)
		d = KW_I64;
	return elementwise(b, c, d, args, 2, out);
}

bool build_divide(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[2];

	return operands(b, c, 2, args) && elementwise(b, c, to_float(promote(args, 2)), args, 2, out);
}

bool build_float(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[1];

	return operands(b, c, 1, args) && elementwise(b, c, to_float(args[0]->dtype), args, 1, out);
}

bool build_same(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[1];
	enum kw_dtype d;

	if (!operands(b, c, 1, args))
		return false;
	d = promote(args, 1);
	if (kw_dtype_info(d)->cls == KW_CLASS_BOOL)
		d = KW_I64;
	return elementwise(b, c, d, args, 1, out);
}

bool build_compare(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[2];
	int count = c->op->id == OP_ISNAN ? 1 : 2;

	return operands(b, c, count, args) && elementwise(b, c, KW_BOOL, args, count, out);
}

bool build_logic(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[2];
	int count = c->op->id == OP_NOT ? 1 : 2;

	if (!operands(b, c, count, args))
		return false;
	for (int i = 0; i < count; i++) {
		if (kw_dtype_is_float(args[i]->dtype))
			return bfail(b, c->line, c->column, "%s: of floats; compare them first, as in (x > 0) & (y > 0)",
				     c->op->name);
	}
	return elementwise(b, c, promote(args, count), args, count, out);
}

bool build_where(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[3];

	return operands(b, c, 3, args) && elementwise(b, c, promote(args + 1, 2), args, 3, out);
}

bool build_clip(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *bound;

	if (!get_node(b, c, "x", &x))
		return false;
	if (!has(c, "min") && !has(c, "max"))
		return bfail(b, c->line, c->column, "clip() needs 'min' or 'max'");
	if (has(c, "min") && !(get_node(b, c, "min", &bound) && (x = make(b, OP_MAXIMUM, 2, x, bound))))
		return false;
	if (has(c, "max") && !(get_node(b, c, "max", &bound) && (x = make(b, OP_MINIMUM, 2, x, bound))))
		return false;
	*out = v_node(x);
	return true;
}

bool build_cast(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x;
	const char *name, *near;
	enum kw_dtype d;

	if (!get_node(b, c, "x", &x) || !get_str(b, c, "dtype", &name))
		return false;
	d = kw_dtype_parse(kw_str_from(name));
	if (d == KW_DTYPE_NONE) {
		near = kw_dtype_nearest(name);
		return bfail(b, c->line, c->column, "unknown dtype '%s'%s%s%s", name, near ? "; did you mean '" : "",
			     near ? near : "", near ? "'?" : "");
	}
	if (x->dtype == d && !xn(x)->weak) {
		*out = v_node(x);
		return true;
	}
	if (!elementwise(b, c, d, &x, 1, out))
		return false;
	xn(out->n)->weak = false;
	return true;
}

bool build_activation(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;
	const char *form;

	if (!get_node(b, c, "x", &x))
		return false;
	if (c->op->id == OP_GELU) {
		if (!get_str(b, c, "approximate", &form))
			return false;
		if (strcmp(form, "none") && strcmp(form, "tanh"))
			return bfail(b, c->line, c->column, "gelu(): approximate is 'none' or 'tanh', not '%s'", form);
	}
	n = new_node(b, KW_NODE_ELEMENTWISE, c->op->id, to_float(x->dtype), x->rank);
	if (!n)
		return false;
	memcpy(n->shape, x->shape, sizeof(n->shape));
	for (int i = 1; i < c->slot_count; i++) {
		if (c->slot[i].kind == V_STR)
			n->sattr = c->slot[i].s;
		else if (c->slot[i].kind == V_FLOAT && i <= 4)
			n->fattr[i - 1] = c->slot[i].f;
	}
	c->slot[0] = v_node(x);
	n = finish_call(b, n, c);
	if (n)
		*out = v_node(n);
	return n != NULL;
}

bool build_arange(struct builder *b, struct call *c, struct value *out)
{
	const struct kw_poly *start = sym_const(b->a, 0), *stop;
	struct kw_node *n;
	int64_t step;

	if (!get_poly(b, c, "start", &stop) || !get_i64(b, c, "step", &step))
		return false;
	if (has(c, "stop")) {
		start = stop;
		if (!get_poly(b, c, "stop", &stop))
			return false;
	}
	if (step < 1)
		return bfail(b, c->line, c->column, "arange(): the step must be at least 1");
	n = new_node(b, KW_NODE_ELEMENTWISE, OP_ARANGE, KW_I64, 1);
	if (!n || !set_args(b, n, NULL, 0))
		return false;
	n->shape[0].poly = sym_sub(b->a, stop, start);
	if (step > 1)
		n->shape[0].poly = sym_div(b->a, sym_add(b->a, n->shape[0].poly, sym_const(b->a, step - 1)),
					   sym_const(b->a, step));
	if (!require_ge(b, n->shape[0].poly, sym_const(b->a, 0), "arange() backwards"))
		return false;
	xn(n)->sym[0] = start;
	xn(n)->sym[1] = sym_const(b->a, step);
	n = finish(b, n);
	if (n)
		*out = v_node(n);
	return n != NULL;
}
