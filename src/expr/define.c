/* define.c - what composites mean, written in the language itself, and the lowering that puts it in their place.
 *
 * The names are the slots of the call (ops.def) and what the builder added. `?name` before a line: only when the slot is
 * given (and not False); `?!name`: only when not; `?name=text`: when it is that string. The last line is the value. */
#include "expr/internal.h"

#include <string.h>

#define REDUCTION                              \
	"?reduction=mean y = mean(l)\n"        \
	"?reduction=sum y = sum(l)\n"          \
	"?reduction=none y = l\n"

static const struct {
	enum op_id id;
	const char *text;
} definitions[] = {
	/* Hendrycks and Gimpel 2016; torch's two forms */
	{ OP_GELU, "?approximate=none y = 0.5 * x * (1 + erf(x * 0.7071067811865476))\n"
		   "?approximate=tanh y = 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))" },
	{ OP_SILU, "y = x * sigmoid(x)" },
	{ OP_SOFTPLUS, "z = x * beta\ny = (maximum(z, 0) + log1p(exp(-abs(z)))) / beta" },
	{ OP_LEAKY_RELU, "y = where(x < 0, x * negative_slope, x)" },
	{ OP_ELU, "y = where(x > 0, x, alpha * expm1(minimum(x, 0)))" },
	{ OP_SELU, "y = 1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * expm1(minimum(x, 0)))" },
	{ OP_MISH, "y = x * tanh(maximum(x, 0) + log1p(exp(-abs(x))))" },
	{ OP_HARDTANH, "y = clip(x, min_val, max_val)" },
	{ OP_HARDSIGMOID, "y = clip(x / 6 + 0.5, 0, 1)" },
	{ OP_HARDSWISH, "y = x * clip(x / 6 + 0.5, 0, 1)" },
	{ OP_RELU6, "y = clip(x, 0, 6)" },
	{ OP_SOFTSIGN, "y = x / (1 + abs(x))" },
	{ OP_LOGSIGMOID, "y = minimum(x, 0) - log1p(exp(-abs(x)))" },
	{ OP_VAR, "d = x - mean(x, axis=axis, keepdims=True)\n"
		  "y = sum(d * d, axis=axis, keepdims=keepdims) / (count - correction)" },
	{ OP_STD, "d = x - mean(x, axis=axis, keepdims=True)\n"
		  "y = sqrt(sum(d * d, axis=axis, keepdims=keepdims) / (count - correction))" },
	{ OP_LOGSUMEXP, "m = max(x, axis=axis, keepdims=True)\n"
			"z = where(abs(m) == inf, 0, m)\n"
			"y = log(sum(exp(x - z), axis=axis, keepdims=True)) + z\n"
			"?!keepdims y = squeeze(y, axis)" },
	{ OP_SOFTMAX, "e = exp(x - max(x, axis=axis, keepdims=True))\n"
		      "y = e / sum(e, axis=axis, keepdims=True)" },
	{ OP_LOG_SOFTMAX, "d = x - max(x, axis=axis, keepdims=True)\n"
			  "y = d - log(sum(exp(d), axis=axis, keepdims=True))" },
	{ OP_LAYERNORM, "d = x - mean(x, axis=axis, keepdims=True)\n"
			"y = d * rsqrt(mean(d * d, axis=axis, keepdims=True) + eps)\n"
			"?weight y = y * weight\n"
			"?bias y = y + bias" },
	{ OP_RMSNORM, "y = x * rsqrt(mean(x * x, axis=axis, keepdims=True) + eps)\n"
		      "?weight y = y * weight" },
	{ OP_GROUPNORM, "g = reshape(x, x.shape[0], num_groups, (x.shape[1] // num_groups) * rest)\n"
			"d = g - mean(g, axis=-1, keepdims=True)\n"
			"y = reshape(d * rsqrt(mean(d * d, axis=-1, keepdims=True) + eps), x.shape)\n"
			"?weight y = y * _channel(weight, x)\n"
			"?bias y = y + _channel(bias, x)" },
	{ OP_BATCHNORM, "?batch d = x - mean(x, axis=axes, keepdims=True)\n"
			"?batch y = d * rsqrt(mean(d * d, axis=axes, keepdims=True) + eps)\n"
			"?!batch y = (x - _channel(running_mean, x)) * rsqrt(_channel(running_var, x) + eps)\n"
			"?weight y = y * _channel(weight, x)\n"
			"?bias y = y + _channel(bias, x)" },
	{ OP_CROSS_ENTROPY, "?indices l = logsumexp(x, axis=axis) - squeeze(gather(x, expand_dims(target, axis), axis=axis), axis)\n"
			    "?!indices l = 0 - sum(target * log_softmax(x, axis=axis), axis=axis)\n" REDUCTION },
	{ OP_NLL_LOSS, "l = 0 - squeeze(gather(x, expand_dims(target, axis), axis=axis), axis)\n" REDUCTION },
	{ OP_MSE_LOSS, "d = x - target\nl = d * d\n" REDUCTION },
	{ OP_L1_LOSS, "l = abs(x - target)\n" REDUCTION },
	{ OP_HUBER_LOSS, "d = abs(x - target)\n"
			 "l = where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))\n" REDUCTION },
	{ OP_SMOOTH_L1_LOSS, "d = abs(x - target)\n"
			     "l = where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)\n" REDUCTION },
	/* 0 log 0 is 0 */
	{ OP_KL_DIV, "?log_target l = exp(target) * (target - x)\n"
		     "?!log_target l = where(target > 0, target * (log(where(target > 0, target, 1)) - x), 0)\n"
		     "?reduction=batchmean y = sum(l) / batch\n" REDUCTION },
	{ OP_TRIL, "i = expand_dims(arange(x.shape[-2]), -1)\nj = arange(x.shape[-1])\ny = where(j <= i + k, x, 0)" },
	{ OP_TRIU, "i = expand_dims(arange(x.shape[-2]), -1)\nj = arange(x.shape[-1])\ny = where(j >= i + k, x, 0)" },
	{ OP_ONE_HOT, "y = i64(expand_dims(indices, -1) == arange(num_classes))" },
	/* A row whose every key is masked gives 0, not NaN. */
	{ OP_ATTENTION, "?grouped k = _heads(k, q)\n"
			"?grouped v = _heads(v, q)\n"
			"s = matmul(q, swapaxes(k, -1, -2))\n"
			"?scale s = s * scale\n"
			"?!scale s = s / sqrt(q.shape[-1])\n"
			"?keep s = where(mask, s, -inf)\n"
			"?bias s = s + mask\n"
			"?causal s = where(arange(k.shape[-2]) <= expand_dims(arange(q.shape[-2]), -1), s, -inf)\n"
			"m = max(s, axis=-1, keepdims=True)\n"
			"e = exp(s - where(m == -inf, 0, m))\n"
			"z = sum(e, axis=-1, keepdims=True)\n"
			"y = matmul(e / where(z == 0, 1, z), v)" },
};

const char *op_definition(enum op_id id)
{
	for (size_t i = 0; i < sizeof(definitions) / sizeof(*definitions); i++) {
		if (definitions[i].id == id)
			return definitions[i].text;
	}
	return NULL;
}

static void map_value(struct value *v, struct kw_node *const *map)
{
	if (v->kind == V_NODE)
		v->n = map[v->n->id];
}

/* The definition of n over its mapped arguments; one that has no slots knows its argument as x. */
static struct kw_node *expand(struct builder *b, const struct kw_node *n, const char *text,
			      struct kw_node *const *map)
{
	struct builder inner = *b;
	struct value last = { 0 };

	inner.names = NULL;
	inner.name_count = inner.name_cap = 0;
	inner.defining = true;
	inner.line = n->line;
	inner.column = n->column;
	for (int i = 0; i < xn(n)->slot_count; i++) {
		struct value v = xn(n)->slot[i];
		map_value(&v, map);
		set_name(&inner, xn(n)->slot_name[i], &v);
	}
	if (!xn(n)->slot_count && n->arg_count == 1) {
		struct value v = v_node(map[n->args[0]->id]);
		set_name(&inner, "x", &v);
	}
	run_block(&inner, text, false, &last);
	b->status = inner.status;
	if (b->status == KW_OK && last.kind != V_NODE)
		to_node(b, &last, &last.n);
	return b->status == KW_OK ? last.n : NULL;
}

bool run_definition(struct builder *b, const struct call *c, const char *text, struct value *out)
{
	struct builder inner = *b;

	inner.names = NULL;
	inner.name_count = inner.name_cap = 0;
	inner.defining = true;
	for (int i = 0; i < c->slot_count; i++)
		set_name(&inner, c->slot_name[i], &c->slot[i]);
	run_block(&inner, text, false, out);
	b->status = inner.status;
	return b->status == KW_OK;
}

static struct kw_node *copy_node(struct builder *b, const struct kw_node *n, struct kw_node *const *map)
{
	struct xnode *x = kw_arena_copy(b->a, n, sizeof(*x));

	if (!x)
		return NULL;
	x->n.args = NULL;
	if (n->arg_count || n->args) {
		if (!set_args(b, &x->n, n->args, n->arg_count))
			return NULL;
		for (int i = 0; i < n->arg_count; i++)
			x->n.args[i] = map[n->args[i]->id];
	}
	if (x->slot) {
		x->slot = kw_arena_copy(b->a, xn(n)->slot, sizeof(*x->slot) * (size_t)x->slot_count);
		for (int i = 0; x->slot && i < x->slot_count; i++)
			map_value(&x->slot[i], map);
	}
	x->n.use_count = 0;
	return finish(b, &x->n);
}

struct rewriting {                        /* what stands for a node: its definition, or what text_of says */
	bool (*keep)(const struct kw_node *);
	text_of_fn text_of;
};

/* False: no memory. *text NULL: n stays. */
static bool replacement(const struct rewriting *r, const struct kw_node *n, struct kw_arena *a, const char **text)
{
	if (r->text_of)
		return r->text_of(n, a, text);
	*text = n->op && !(r->keep && r->keep(n)) ? op_definition(n->op->id) : NULL;
	return true;
}

static enum kw_status rewrite_once(const struct kw_expr *e, const struct rewriting *r, struct kw_arena *a,
				   struct kw_expr **out, struct kw_error *err)
{
	struct xexpr *x = kw_arena_calloc(a, 1, sizeof(*x));
	struct kw_node **map = kw_arena_calloc(a, e->node_count + 1, sizeof(struct kw_node *));
	struct builder b = { .a = a, .task = e->task, .x = x, .err = err, .line = 1, .column = 1 };

	if (!x || !map)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory to lower the expression");
	*x = *xe(e);
	x->e.nodes = NULL;
	x->e.node_count = x->node_cap = 0;
	x->check_cap = x->check_count;
	for (size_t i = 0; i < e->node_count && b.status == KW_OK; i++) {
		const struct kw_node *n = e->nodes[i];
		const char *text;

		b.line = n->line;
		b.column = n->column;
		if (!replacement(r, n, a, &text))
			return kw_fail(err, KW_ERR_NOMEM, "", "no memory to lower the expression");
		map[i] = text ? expand(&b, n, text, map) : copy_node(&b, n, map);
		if (!map[i] && b.status == KW_OK)
			bnomem(&b);
	}
	if (b.status != KW_OK)
		return b.status;
	x->e.outputs = kw_arena_alloc(a, sizeof(struct kw_node *) * (e->output_count + 1));
	if (!x->e.outputs)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory to lower the expression");
	for (size_t i = 0; i < e->output_count; i++)
		x->e.outputs[i] = map[e->outputs[i]->id];
	*out = &x->e;
	(*out)->output_count = e->output_count;
	drop_unused(*out);
	return KW_OK;
}

static bool has_definitions(const struct kw_expr *e, bool (*keep)(const struct kw_node *))
{
	for (size_t i = 0; i < e->node_count; i++) {
		const struct kw_node *n = e->nodes[i];
		if (n->op && !(keep && keep(n)) && op_definition(n->op->id))
			return true;
	}
	return false;
}

/* Definitions may use composites: again until none is left (no definition uses itself). */
enum kw_status lower_except(const struct kw_expr *e, bool (*keep)(const struct kw_node *), struct kw_arena *a,
			    struct kw_expr **out, struct kw_error *err)
{
	struct rewriting r = { .keep = keep };
	enum kw_status s;

	do {
		s = rewrite_once(e, &r, a, out, err);
		if (s != KW_OK)
			return s;
		e = *out;
	} while (has_definitions(e, keep));
	count_uses(*out);
	return finish_sizes(*out, a, err);
}

enum kw_status rewrite(const struct kw_expr *e, text_of_fn text_of, struct kw_arena *a, struct kw_expr **out,
		       struct kw_error *err)
{
	struct rewriting r = { .text_of = text_of };
	enum kw_status s = rewrite_once(e, &r, a, out, err);

	if (s != KW_OK)
		return s;
	count_uses(*out);
	return finish_sizes(*out, a, err);
}

enum kw_status kw_expr_lower(const struct kw_expr *e, struct kw_arena *a, struct kw_expr **out, struct kw_error *err)
{
	return lower_except(e, NULL, a, out, err);
}
