/* grad.c - the backward pass of an expression: reverse accumulation over its graph (Griewank and Walther 2008), with the graph of
 * the derivative as the result.
 *
 * What each operation gives to its arguments is written in the language itself, like definitions (define.c): `g` is what arrives,
 * `out` the operation, a, b, c its arguments; composites know their slots by name. A gradient may be smaller than its node along axes
 * where it is the same everywhere (what a sum gives to its terms), and is repeated only where an operation moves elements. */
#include "expr/internal.h"

#include <stdio.h>
#include <string.h>

/* Elementwise operations: one text for each argument; "" : nothing flows there. */
static const struct {
	enum op_id id;
	const char *text[3];
} rules[] = {
	{ OP_ADD, { "y = g", "y = g" } },
	{ OP_SUB, { "y = g", "y = 0 - g" } },
	{ OP_MUL, { "y = g * b", "y = g * a" } },
	{ OP_DIV, { "y = g / b", "y = 0 - g * out / b" } },
	{ OP_MOD, { "y = g", "y = 0 - g * floor(a / b)" } },
	{ OP_POW, { "y = g * b * a ** (b - 1)", "y = g * out * log(a)" } },
	{ OP_NEG, { "y = 0 - g" } },
	{ OP_EXP, { "y = g * out" } },
	{ OP_EXP2, { "y = g * out * 0.6931471805599453" } },
	{ OP_EXPM1, { "y = g * (out + 1)" } },
	{ OP_LOG, { "y = g / a" } },
	{ OP_LOG2, { "y = g / (a * 0.6931471805599453)" } },
	{ OP_LOG10, { "y = g / (a * 2.302585092994046)" } },
	{ OP_LOG1P, { "y = g / (1 + a)" } },
	{ OP_SQRT, { "y = 0.5 * g / out" } },
	{ OP_RSQRT, { "y = -0.5 * g * out * out * out" } },
	{ OP_RECIPROCAL, { "y = 0 - g * out * out" } },
	{ OP_SIN, { "y = g * cos(a)" } },
	{ OP_COS, { "y = 0 - g * sin(a)" } },
	{ OP_TAN, { "y = g * (1 + out * out)" } },
	{ OP_ATAN, { "y = g / (1 + a * a)" } },
	{ OP_TANH, { "y = g * (1 - out * out)" } },
	{ OP_ERF, { "y = 1.1283791670955126 * g * exp(0 - a * a)" } },
	{ OP_SIGMOID, { "y = g * out * (1 - out)" } },
	{ OP_RELU, { "y = where(a > 0, g, 0)" } },
	{ OP_ABS, { "y = g * sign(a)" } },
	{ OP_SQUARE, { "y = 2 * g * a" } },
	/* Equal ones share it, as in torch. */
	{ OP_MAXIMUM, { "y = where(a > b, g, where(a == b, 0.5 * g, 0))", "y = where(b > a, g, where(a == b, 0.5 * g, 0))" } },
	{ OP_MINIMUM, { "y = where(a < b, g, where(a == b, 0.5 * g, 0))", "y = where(b < a, g, where(a == b, 0.5 * g, 0))" } },
	{ OP_WHERE, { "", "y = where(a, g, 0)", "y = where(a, 0, g)" } },
	{ OP_CAST, { "y = g" } },
	/* steps: flat, but where they jump */
	{ OP_SIGN, { "" } }, { OP_FLOOR, { "" } }, { OP_CEIL, { "" } }, { OP_ROUND, { "" } }, { OP_TRUNC, { "" } },
	{ OP_FLOORDIV, { "", "" } }, { OP_ISNAN, { "" } }, { OP_EQ, { "", "" } }, { OP_NE, { "", "" } }, { OP_LT, { "", "" } },
	{ OP_LE, { "", "" } }, { OP_GT, { "", "" } }, { OP_GE, { "", "" } }, { OP_UNIFORM, { "", "" } },
};

/* Composites whose own derivative is shorter, or exacter, than that of their definition: one text for each slot. */
#define NORMALISED                                                              \
	"d = x - mean(x, axis=axis, keepdims=True)\n"                           \
	"r = rsqrt(mean(d * d, axis=axis, keepdims=True) + eps)\n"              \
	"h = d * r\n"                                                           \
	"p = g\n"                                                               \
	"?weight p = g * weight\n"
#define ROOT_MEAN                                                               \
	"r = rsqrt(mean(x * x, axis=axis, keepdims=True) + eps)\n"              \
	"p = g\n"                                                               \
	"?weight p = g * weight\n"
static const struct {
	enum op_id id;
	const char *slot, *text;
} composites[] = {
	{ OP_SOFTMAX, "x", "y = out * (g - sum(g * out, axis=axis, keepdims=True))" },
	{ OP_LOG_SOFTMAX, "x", "y = g - exp(out) * sum(g, axis=axis, keepdims=True)" },
	{ OP_LOGSUMEXP, "x", "?keepdims y = g * exp(x - out)\n"
			     "?!keepdims y = expand_dims(g, _axes) * exp(x - expand_dims(out, _axes))" },
	{ OP_VAR, "x", "p = g\n?!keepdims p = expand_dims(g, _axes)\n"
		       "y = p * 2.0 * (x - mean(x, axis=axis, keepdims=True)) / (count - correction)" },
	{ OP_STD, "x", "p = g / out\n?!keepdims p = expand_dims(g / out, _axes)\n"
		       "y = p * (x - mean(x, axis=axis, keepdims=True)) / (count - correction)" },
	{ OP_LAYERNORM, "x", NORMALISED "y = r * (p - mean(p, axis=axis, keepdims=True) - h * mean(p * h, axis=axis, keepdims=True))" },
	{ OP_LAYERNORM, "weight", NORMALISED "y = g * h" },
	{ OP_LAYERNORM, "bias", "y = g" },
	{ OP_RMSNORM, "x", ROOT_MEAN "y = r * (p - x * (r * r * mean(p * x, axis=axis, keepdims=True)))" },
	{ OP_RMSNORM, "weight", ROOT_MEAN "y = g * x * r" },
	{ OP_CROSS_ENTROPY, "x", "p = softmax(x, axis=axis)\n"
				 "?indices p = p - where(expand_dims(target, axis) == _classes, 1, 0)\n"
				 "?!indices p = p * sum(target, axis=axis, keepdims=True) - target\n"
				 "?reduction=mean y = p * (g / _terms)\n"
				 "?reduction=sum y = p * g\n"
				 "?reduction=none y = p * expand_dims(g, axis)" },
	{ OP_CROSS_ENTROPY, "target", "?indices y = 0\n"
				      "p = log_softmax(x, axis=axis)\n"
				      "?reduction=mean y = 0 - p * (g / _terms)\n"
				      "?reduction=sum y = 0 - p * g\n"
				      "?reduction=none y = 0 - p * expand_dims(g, axis)" },
};

struct grad {
	struct builder *b;
	size_t count;                     /* nodes of the forward pass */
	bool *wanted;                     /* depends on what is differentiated */
	struct kw_node **g;               /* per node: NULL, nothing arrived yet */
};

static bool keeps(const struct kw_node *n)
{
	for (size_t i = 0; i < sizeof(composites) / sizeof(composites[0]); i++)
		if (composites[i].id == op_id(n))
			return true;
	return false;
}

/* ---- pieces of text ---- */

struct name {
	const char *name;
	struct value v;
};

static struct kw_node *run_rule(struct builder *b, const struct kw_node *n, const char *text, const struct name *names, int count)
{
	struct call c = { .op = n->op, .name = kw_op_name(n->op), .line = n->line, .column = n->column };
	struct value out = { 0 };
	struct kw_node *result;

	for (int i = 0; i < xn(n)->slot_count && c.slot_count < MAX_SLOTS; i++)
		add_slot(&c, xn(n)->slot_name[i], &xn(n)->slot[i]);
	for (int i = 0; i < count && c.slot_count < MAX_SLOTS; i++)
		add_slot(&c, names[i].name, &names[i].v);
	return run_definition(b, &c, text, &out) && to_node(b, &out, &result) ? result : NULL;
}

static struct kw_node *with_one(struct builder *b, const struct kw_node *n, const char *text, struct kw_node *g, struct kw_node *a)
{
	const struct name names[] = { { "g", v_node(g) }, { "a", v_node(a) } };

	return run_rule(b, n, text, names, 2);
}

static bool one(const struct kw_node *n, int axis)
{
	return sym_is(n->shape[axis].poly, 1);
}

static bool same_shape(const struct kw_node *p, const struct kw_node *q)
{
	bool same = p->rank == q->rank;

	for (int i = 0; same && i < p->rank; i++)
		same = sym_eq(p->shape[i].poly, q->shape[i].poly);
	return same;
}

static struct kw_node *whole(struct builder *b, struct kw_node *g, struct kw_node *n)
{
	return same_shape(g, n) ? g : with_one(b, n, "y = broadcast_to(g, a.shape)", g, n);
}

static struct value tuple_of(struct builder *b, const int *axes, int count)
{
	struct value items[KW_MAX_RANK], tuple = { .kind = V_TUPLE, .count = count };

	for (int i = 0; i < count; i++)
		items[i] = v_int(sym_const(b->a, axes[i]));
	tuple.items = kw_arena_copy(b->a, items, sizeof(items));
	if (!tuple.items)
		bnomem(b);
	return tuple;
}

static struct kw_node *with_axes(struct builder *b, const struct kw_node *n, const char *text, struct kw_node *g, const int *axes,
				 int count)
{
	struct name names[2] = { { "g", v_node(g) }, { "axes", tuple_of(b, axes, count) } };

	if (b->status != KW_OK)
		return NULL;
	return count ? run_rule(b, n, text, names, 2) : g;
}

/* The sum over what an argument was repeated to: g fits n's shape, the result the argument's. */
static struct kw_node *unbroadcast(struct builder *b, struct kw_node *g, struct kw_node *arg, const struct kw_node *n)
{
	const struct kw_poly *times = sym_const(b->a, 1);
	int axes[KW_MAX_RANK], lead[KW_MAX_RANK], count = 0, drop = g->rank - arg->rank;

	for (int k = 0; k < n->rank && times; k++) {
		int ka = k - (n->rank - arg->rank), kg = k - (n->rank - g->rank);

		if ((ka >= 0 && !one(arg, ka)) || one(n, k))
			continue;
		if (kg >= 0 && !one(g, kg))
			axes[count++] = kg;
		else /* the same everywhere: so many times itself */
			times = sym_mul(b->a, times, n->shape[k].poly);
	}
	if (!times) {
		bnomem(b);
		return NULL;
	}
	g = count ? make_reduce(b, OP_SUM, g, axes, count, true) : g;
	if (g && !sym_is(times, 1)) {
		const struct name names[] = { { "g", v_node(g) }, { "times", v_int(times) } };

		g = run_rule(b, n, "y = g * times", names, 2);
	}
	for (int i = 0; i < drop; i++)
		lead[i] = i;
	return g && drop > 0 ? with_axes(b, n, "y = squeeze(g, axes)", g, lead, drop) : g;
}

/* g flows into arg, an argument of n. */
static bool give_to(struct grad *r, struct kw_node *arg, struct kw_node *g)
{
	if (!g)
		return false;
	if ((size_t)arg->id >= r->count || !r->wanted[arg->id])
		return true;
	r->g[arg->id] = r->g[arg->id] ? make(r->b, OP_ADD, 2, r->g[arg->id], g) : g;
	return r->g[arg->id] != NULL;
}

static bool unknown(struct grad *r, const struct kw_node *n)
{
	return bfail(r->b, n->line, n->column, "'%s' has no derivative here yet", kw_op_name(n->op));
}

/* ---- the kinds ---- */

static bool elementwise(struct grad *r, struct kw_node *n, struct kw_node *g)
{
	size_t k = 0;

	while (k < sizeof(rules) / sizeof(rules[0]) && rules[k].id != op_id(n))
		k++;
	if (k == sizeof(rules) / sizeof(rules[0]))
		return n->arg_count == 0 || unknown(r, n);
	if (op_id(n) == OP_MUL && n->args[0] == n->args[1])
		return give_to(r, n->args[0], with_one(r->b, n, "y = 2 * g * a", g, n->args[0]));
	for (int i = 0; i < n->arg_count; i++) {
		struct name names[5] = { { "g", v_node(g) }, { "out", v_node(n) } };
		struct kw_node *d;

		if (!rules[k].text[i] || !*rules[k].text[i] || !r->wanted[n->args[i]->id])
			continue;
		for (int a = 0; a < n->arg_count; a++)
			names[2 + a] = (struct name){ a == 0 ? "a" : a == 1 ? "b" : "c", v_node(n->args[a]) };
		d = run_rule(r->b, n, rules[k].text[i], names, 2 + n->arg_count);
		if (!d || !give_to(r, n->args[i], unbroadcast(r->b, d, n->args[i], n)))
			return false;
	}
	return true;
}

/* What is normalised or reduced: its own rules, over its slots. */
static bool composite(struct grad *r, struct kw_node *n, struct kw_node *g)
{
	struct kw_node *x = n->args[0];
	const struct kw_poly *terms = sym_const(r->b->a, 1);
	struct name names[5] = { { "g", v_node(g) }, { "out", v_node(n) }, { "_axes", tuple_of(r->b, n->axes, n->axis_count) } };
	int count = 3;

	if (op_id(n) == OP_CROSS_ENTROPY) {
		int axis = n->axes[0];
		struct kw_node *like = with_one(r->b, n, axis ? "y = _channel(arange(a.shape[1]), a)" : "y = arange(a.shape[0])", x, x);

		for (int i = 0; i < x->rank; i++)
			terms = i == axis ? terms : sym_mul(r->b->a, terms, x->shape[i].poly);
		if (!like || !terms)
			return false;
		names[count++] = (struct name){ "_classes", v_node(like) };
		names[count++] = (struct name){ "_terms", v_int(terms) };
	}
	for (size_t k = 0; k < sizeof(composites) / sizeof(composites[0]); k++) {
		struct kw_node *d, *arg = NULL;

		if (composites[k].id != op_id(n))
			continue;
		for (int i = 0; i < xn(n)->slot_count; i++)
			if (strcmp(xn(n)->slot_name[i], composites[k].slot) == 0 && xn(n)->slot[i].kind == V_NODE)
				arg = xn(n)->slot[i].n;
		if (!arg || !r->wanted[arg->id])
			continue;
		d = run_rule(r->b, n, composites[k].text, names, count);
		/* what has the shape of x flows into a weight or bias that was repeated along it */
		if (!d || !give_to(r, arg, arg == x ? d : unbroadcast(r->b, d, arg, x)))
			return false;
	}
	return true;
}

/* What a reduction gives to its terms: g beside the axes that are gone. */
static bool reduce(struct grad *r, struct kw_node *n, struct kw_node *g)
{
	struct kw_node *x = n->args[0], *out = n;
	const struct kw_poly *terms = sym_const(r->b->a, 1);
	struct name names[4];
	const char *text;

	if (!n->keepdims) {
		g = with_axes(r->b, n, "y = expand_dims(g, axes)", g, n->axes, n->axis_count);
		out = g ? with_axes(r->b, n, "y = expand_dims(g, axes)", n, n->axes, n->axis_count) : NULL;
	}
	for (int i = 0; i < n->axis_count; i++)
		terms = sym_mul(r->b->a, terms, x->shape[n->axes[i]].poly);
	if (!g || !out || !terms)
		return false;
	switch (op_id(n)) {
	case OP_SUM: text = "y = g"; break;
	case OP_MEAN: text = "y = g / terms"; break;
	case OP_MAX: case OP_MIN: text = "y = where(a == out, g / sum(where(a == out, 1.0, 0.0), axis=axes, keepdims=True), 0)"; break;
	case OP_PROD: text = "y = g * out / a"; break;
	default: return unknown(r, n);
	}
	names[0] = (struct name){ "g", v_node(g) };
	names[1] = (struct name){ "a", v_node(x) };
	names[2] = (struct name){ "out", v_node(out) };
	names[3] = (struct name){ "terms", v_int(terms) };
	if (op_id(n) == OP_MAX || op_id(n) == OP_MIN) {
		struct kw_node *hit = run_rule(r->b, n, "y = where(a == out, 1.0, 0.0)", names, 3), *hits;

		hits = hit ? make_reduce(r->b, OP_SUM, hit, n->axes, n->axis_count, true) : NULL;
		if (!hits)
			return false;
		names[3] = (struct name){ "hits", v_node(hits) };
		text = "y = where(a == out, g / hits, 0)";
	}
	return give_to(r, x, run_rule(r->b, n, text, names, 4));
}

/* Where n's elements came from. g is whole. */
static bool move(struct grad *r, struct kw_node *n, struct kw_node *g)
{
	struct builder *b = r->b;
	struct kw_node *x = n->args[0];
	int axes[KW_MAX_RANK], count = 0;

	switch (op_id(n)) {
	case OP_RESHAPE: case OP_EXPAND_DIMS: case OP_SQUEEZE: case OP_CHANNEL:
		return give_to(r, x, with_one(b, n, "y = reshape(g, a.shape)", g, x));
	case OP_BROADCAST_TO:
		return give_to(r, x, unbroadcast(b, g, x, n));
	case OP_FLIP:
		return give_to(r, x, with_axes(b, n, "y = flip(g, axes)", g, n->axes, n->axis_count));
	case OP_TRANSPOSE:
		for (int i = 0; i < n->rank; i++)
			axes[n->attr[i]] = i;
		return give_to(r, x, with_axes(b, n, "y = transpose(g, axes)", g, axes, n->rank));
	case OP_CONCAT: {
		const struct kw_poly *from = sym_const(b->a, 0);

		for (int i = 0; i < n->arg_count; i++) {
			const struct kw_poly *to = sym_add(b->a, from, n->args[i]->shape[n->axes[0]].poly);
			const struct name names[] = { { "g", v_node(g) }, { "from", v_int(from) }, { "to", v_int(to) },
						      { "axis", v_int(sym_const(b->a, n->axes[0])) } };

			if (!to || !give_to(r, n->args[i], run_rule(b, n, "y = slice(g, from, to, 1, axis)", names, 4)))
				return to ? false : bnomem(b);
			from = to;
		}
		return true;
	}
	case OP_SLICE:
		for (int i = 0; i < n->rank; i++) {
			const struct kw_poly *before = xn(n)->sym[i], *after;
			struct value pair[2], pairs[KW_MAX_RANK];
			struct name names[2] = { { "g", v_node(g) } };

			if (n->attr[i] != 1)
				return bfail(b, n->line, n->column, "a slice with a step has no derivative here yet");
			if (sym_eq(n->shape[i].poly, x->shape[i].poly))
				continue;
			after = sym_sub(b->a, sym_sub(b->a, x->shape[i].poly, before), n->shape[i].poly);
			for (int k = 0; k < n->rank; k++) {
				pair[0] = v_int(k == i ? before : sym_const(b->a, 0));
				pair[1] = v_int(k == i ? after : sym_const(b->a, 0));
				pairs[k] = (struct value){ .kind = V_TUPLE, .count = 2, .items = kw_arena_copy(b->a, pair, sizeof(pair)) };
			}
			names[1] = (struct name){ "width", { .kind = V_TUPLE, .count = n->rank,
							     .items = kw_arena_copy(b->a, pairs, sizeof(pairs)) } };
			if (!(g = run_rule(b, n, "y = pad(g, width)", names, 2)))
				return false;
			count++;
		}
		return give_to(r, x, g);
	case OP_PAD:
		for (int i = 0; i < n->rank; i++) {
			const struct kw_poly *from = xn(n)->sym[i], *to = sym_add(b->a, from, x->shape[i].poly);
			const struct name names[] = { { "g", v_node(g) }, { "from", v_int(from) }, { "to", v_int(to) },
						      { "axis", v_int(sym_const(b->a, i)) } };

			if (!to || !(g = run_rule(b, n, "y = slice(g, from, to, 1, axis)", names, 4)))
				return to ? false : bnomem(b);
		}
		return give_to(r, x, g);
	default:
		return unknown(r, n);
	}
}

/* einsum(ab -> c): each argument gets einsum(c, other -> itself). g is whole. */
static bool contract(struct grad *r, struct kw_node *n, struct kw_node *g)
{
	struct labels l;
	char text[6 * KW_MAX_RANK];

	contract_labels(n, &l);
	for (int k = 0; k < 2; k++) {
		struct kw_node *other = n->args[1 - k], *d;
		struct value equation = { .kind = V_STR };
		const struct name names[] = { { "g", v_node(g) }, { "a", v_node(other) }, { "equation", equation } };
		struct name own[3];

		if (!r->wanted[n->args[k]->id])
			continue;
		for (const char *p = l.in[k]; *p; p++)
			if (!strchr(l.out, *p) && !strchr(l.in[1 - k], *p))
				return bfail(r->b, n->line, n->column, "'%s' that sums over an axis of one operand alone has no "
					     "derivative here yet", kw_op_name(n->op));
		for (int i = 0; i < n->args[k]->rank; i++)
			if (one(n->args[k], i)) /* it may have been repeated */
				return bfail(r->b, n->line, n->column, "'%s' of an operand with an axis of 1 has no derivative here yet",
					     kw_op_name(n->op));
		snprintf(text, sizeof(text), "%s,%s->%s", l.out, l.in[1 - k], l.in[k]);
		memcpy(own, names, sizeof(own));
		own[2].v.s = kw_arena_strdup(r->b->a, text);
		d = own[2].v.s ? run_rule(r->b, n, "y = einsum(equation, g, a)", own, 3) : NULL;
		if (!give_to(r, n->args[k], d))
			return false;
	}
	return true;
}

static bool scan(struct grad *r, struct kw_node *n, struct kw_node *g)
{
	if (op_id(n) != OP_CUMSUM)
		return unknown(r, n);
	g = with_axes(r->b, n, "y = flip(g, axes)", g, n->axes, 1);
	if (g) {
		const struct name names[] = { { "g", v_node(g) }, { "axis", v_int(sym_const(r->b->a, n->axes[0])) } };

		g = run_rule(r->b, n, "y = cumsum(g, axis=axis)", names, 2);
	}
	return g && give_to(r, n->args[0], with_axes(r->b, n, "y = flip(g, axes)", g, n->axes, 1));
}

static bool flow(struct grad *r, struct kw_node *n)
{
	struct kw_node *g = r->g[n->id];

	r->b->line = n->line;
	r->b->column = n->column;
	if (n->kind == KW_NODE_ELEMENTWISE)
		return elementwise(r, n, g);
	if (n->kind == KW_NODE_INPUT || n->kind == KW_NODE_PARAM || n->kind == KW_NODE_CONST || n->kind == KW_NODE_DIM)
		return true;
	g = whole(r->b, g, n);
	if (!g)
		return false;
	switch (n->kind) {
	case KW_NODE_REDUCE: return reduce(r, n, g);
	case KW_NODE_MOVE: return move(r, n, g);
	case KW_NODE_CONTRACT: return contract(r, n, g);
	case KW_NODE_SCAN: return scan(r, n, g);
	case KW_NODE_COMPOSITE: return keeps(n) ? composite(r, n, g) : unknown(r, n);
	default: return unknown(r, n);
	}
}

/* ---- the whole ---- */

static struct kw_node *input_node(const struct kw_expr *e, int index)
{
	for (size_t i = 0; i < e->node_count; i++)
		if (e->nodes[i]->kind == KW_NODE_INPUT && e->nodes[i]->index == index)
			return e->nodes[i];
	return NULL;
}

static int input_index(const struct kw_task *t, const char *name)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (strcmp(t->inputs[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* Floats that depend on an input of the list. */
static void mark_wanted(const struct kw_task *t, const struct kw_expr *e, bool *wanted)
{
	for (size_t i = 0; i < e->node_count; i++) {
		const struct kw_node *n = e->nodes[i];

		for (size_t k = 0; k < t->grad_count && n->kind == KW_NODE_INPUT; k++)
			wanted[i] = wanted[i] || strcmp(t->inputs[n->index].name, t->grad[k]) == 0;
		for (int k = 0; k < n->arg_count; k++)
			wanted[i] = wanted[i] || wanted[n->args[k]->id];
		wanted[i] = wanted[i] && kw_dtype_is_float(n->dtype);
	}
}

static bool collect(struct grad *r, struct kw_expr *e, struct kw_node **results)
{
	const struct kw_task *t = r->b->task;

	for (size_t k = 0; k < t->grad_count; k++) {
		struct kw_node *x = input_node(e, input_index(t, t->grad[k])), *g = x ? r->g[x->id] : NULL;

		if (!g)
			return bfail(r->b, 1, 1, "grad: no output depends on '%s' in a way that has a derivative", t->grad[k]);
		results[k] = whole(r->b, g, x);
		if (!results[k])
			return false;
	}
	return true;
}

enum kw_status grad_of(const struct kw_expr *forward, struct kw_arena *a, struct kw_expr **out, struct kw_error *err)
{
	const struct kw_task *t = forward->task;
	struct kw_expr *e;
	struct kw_node **results = kw_arena_calloc(a, t->grad_count + 1, sizeof(struct kw_node *));
	enum kw_status s = lower_except(forward, keeps, a, &e, err);
	struct builder b = { .a = a, .task = t, .err = err, .line = 1, .column = 1 };
	struct grad r = { .b = &b };

	if (s != KW_OK)
		return s;
	b.x = (struct xexpr *)(void *)e;
	r.count = e->node_count;
	r.wanted = kw_arena_calloc(a, r.count + 1, sizeof(*r.wanted));
	r.g = kw_arena_calloc(a, r.count + 1, sizeof(struct kw_node *));
	if (!results || !r.wanted || !r.g)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the derivative");
	mark_wanted(t, e, r.wanted);
	for (size_t o = 0; o < e->output_count; o++) {
		int from = t->forward_outputs[o].partner;
		struct kw_node *up = from >= 0 ? input_node(e, from) : NULL;

		if (up && r.wanted[e->outputs[o]->id] && !give_to(&r, e->outputs[o], up))
			return b.status;
	}
	for (size_t i = r.count; i-- > 0;)
		if (r.wanted[i] && r.g[i] && !flow(&r, e->nodes[i]))
			return b.status;
	if (!collect(&r, e, results))
		return b.status;
	e->outputs = results;
	e->output_count = t->grad_count;
	drop_unused(e);
	count_uses(e);
	*out = e;
	return finish_sizes(e, a, err);
}

/* ---- the task ---- */

static enum kw_status nomem(const struct kw_task *t, struct kw_error *err)
{
	return kw_fail(err, KW_ERR_NOMEM, t->file, "no memory for the backward task");
}

static enum kw_status check_names(const struct kw_task *t, struct kw_error *err)
{
	const char *names[64], *near;
	size_t n = 0;

	for (size_t i = 0; i < t->input_count && n < 64; i++)
		names[n++] = t->inputs[i].name;
	for (size_t k = 0; k < t->grad_count; k++) {
		int i = input_index(t, t->grad[k]);

		near = kw_str_nearest(t->grad[k], names, n);
		if (i < 0)
			return kw_fail(err, KW_ERR_INPUT, t->file, "grad: there is no input '%.60s'%s%s%s", t->grad[k],
				       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		if (!kw_dtype_is_float(t->inputs[i].dtype))
			return kw_fail(err, KW_ERR_INPUT, t->file, "grad: '%s' is %s, and only floats have gradients", t->grad[k],
				       kw_dtype_name(t->inputs[i].dtype));
		for (size_t j = 0; j < k; j++)
			if (strcmp(t->grad[j], t->grad[k]) == 0)
				return kw_fail(err, KW_ERR_INPUT, t->file, "grad: '%s' is named twice", t->grad[k]);
	}
	return KW_OK;
}

static const char *grad_name(struct kw_task *t, const char *of)
{
	const char *name = kw_arena_printf(&t->arena, "grad_%s", of);

	while (name && kw_task_has_name(t, name))
		name = kw_arena_printf(&t->arena, "%s_", name);
	return name;
}

/* An input for what arrives at each float output, beside those that are there. */
static enum kw_status add_upstream(struct kw_task *t, struct kw_error *err)
{
	struct kw_tensor_decl *inputs = kw_arena_calloc(&t->arena, t->input_count + t->output_count, sizeof(*inputs));
	size_t n = t->input_count;

	if (!inputs)
		return nomem(t, err);
	memcpy(inputs, t->inputs, n * sizeof(*inputs));
	t->inputs = inputs;
	for (size_t o = 0; o < t->forward_count; o++) {
		struct kw_tensor_decl *out = &t->forward_outputs[o], *up = &inputs[n];

		out->partner = -1;
		if (!kw_dtype_is_float(out->dtype))
			continue;
		*up = (struct kw_tensor_decl){ .name = grad_name(t, out->name), .dtype = out->dtype, .rank = out->rank,
					       .dist = KW_DIST_NORMAL, .line = out->line };
		memcpy(up->shape, out->shape, sizeof(up->shape));
		if (!up->name)
			return nomem(t, err);
		out->partner = (int)n;
		t->input_count = ++n;
	}
	return KW_OK;
}

enum kw_status grad_task(struct kw_task *t, struct kw_error *err)
{
	size_t before = t->input_count;
	struct kw_tensor_decl *outputs;
	enum kw_status s = check_names(t, err);

	if (s != KW_OK)
		return s;
	t->forward_outputs = t->outputs;
	t->forward_count = t->output_count;
	if ((s = add_upstream(t, err)) != KW_OK)
		return s;
	outputs = kw_arena_calloc(&t->arena, t->grad_count + 1, sizeof(*outputs));
	if (!outputs)
		return nomem(t, err);
	for (size_t k = 0; k < t->grad_count; k++) {
		const struct kw_tensor_decl *x = &t->inputs[input_index(t, t->grad[k])];

		outputs[k] = (struct kw_tensor_decl){ .name = grad_name(t, x->name), .dtype = x->dtype, .rank = x->rank, .line = x->line };
		memcpy(outputs[k].shape, x->shape, sizeof(x->shape));
		if (!outputs[k].name)
			return nomem(t, err);
	}
	t->outputs = outputs;
	t->output_count = t->grad_count;
	for (size_t i = 0; i < t->case_count; i++) {
		enum kw_layout_kind *layouts = kw_arena_calloc(&t->arena, t->input_count + 1, sizeof(*layouts));

		if (!layouts)
			return nomem(t, err);
		memcpy(layouts, t->cases[i].layouts, before * sizeof(*layouts));
		t->cases[i].layouts = layouts;
	}
	return KW_OK;
}
