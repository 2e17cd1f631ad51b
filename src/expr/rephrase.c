/* rephrase.c - other formulas for the same operations: those of textbooks and of well-known kernels. With real numbers they are
 * equal to the definitions in define.c; in f32 they lose digits elsewhere. A formula that overflows where the definition
 * does not is no use here: it gives NaN, and that is wrong by itself. */
#include "expr/internal.h"

#include <string.h>

#define MEAN_OF_SQUARES "maximum(mean(x * x, axis=axis, keepdims=True) - m * m, 0)"
#define ON_CHANNELS                                                    \
	"?weight r = r * _channel(weight, x)\n"                        \
	"y = x * r - m * r\n"                                          \
	"?bias y = x * r + (_channel(bias, x) - m * r)"

struct phrase {
	enum op_id id;
	int form;
	const char *text, *says;          /* written like definitions; for people */
};

static const struct phrase phrases[] = {
	/* one pass over the data instead of two */
	{ OP_VAR, 1, "s = sum(x, axis=axis, keepdims=keepdims)\n"
		     "y = (sum(x * x, axis=axis, keepdims=keepdims) - s * mean(x, axis=axis, keepdims=keepdims)) / (count - correction)",
	  "as mean(x * x) - mean(x) * mean(x)" },
	{ OP_STD, 1, "s = sum(x, axis=axis, keepdims=keepdims)\n"
		     "q = maximum(sum(x * x, axis=axis, keepdims=keepdims) - s * mean(x, axis=axis, keepdims=keepdims), 0)\n"
		     "y = sqrt(q / (count - correction))",
	  "with its variance as mean(x * x) - mean(x) * mean(x)" },
	{ OP_LAYERNORM, 1, "m = mean(x, axis=axis, keepdims=True)\n"
			   "y = (x - m) * rsqrt(" MEAN_OF_SQUARES " + eps)\n"
			   "?weight y = y * weight\n"
			   "?bias y = y + bias",
	  "with its variance as mean(x * x) - mean(x) * mean(x)" },
	{ OP_GROUPNORM, 1, "g = reshape(x, x.shape[0], num_groups, (x.shape[1] // num_groups) * rest)\n"
			   "m = mean(g, axis=-1, keepdims=True)\n"
			   "v = maximum(mean(g * g, axis=-1, keepdims=True) - m * m, 0)\n"
			   "y = reshape((g - m) * rsqrt(v + eps), x.shape)\n"
			   "?weight y = y * _channel(weight, x)\n"
			   "?bias y = y + _channel(bias, x)",
	  "with its variance as mean(x * x) - mean(x) * mean(x)" },
	{ OP_BATCHNORM, 1, "?batch m = mean(x, axis=axes, keepdims=True)\n"
			   "?batch r = rsqrt(maximum(mean(x * x, axis=axes, keepdims=True) - m * m, 0) + eps)\n"
			   "?!batch m = _channel(running_mean, x)\n"
			   "?!batch r = rsqrt(_channel(running_var, x) + eps)\n"
			   "y = (x - m) * r\n"
			   "?weight y = y * _channel(weight, x)\n"
			   "?bias y = y + _channel(bias, x)",
	  "with its variance as mean(x * x) - mean(x) * mean(x)" },
	/* one multiplication and one addition an element */
	{ OP_LAYERNORM, 2, "m = mean(x, axis=axis, keepdims=True)\n"
			   "r = rsqrt(" MEAN_OF_SQUARES " + eps)\n"
			   "?weight r = r * weight\n"
			   "y = x * r - m * r\n"
			   "?bias y = x * r + (bias - m * r)",
	  "as x * scale + shift with its variance as mean(x * x) - mean(x) * mean(x)" },
	{ OP_BATCHNORM, 2, "?batch m = mean(x, axis=axes, keepdims=True)\n"
			   "?batch r = rsqrt(maximum(mean(x * x, axis=axes, keepdims=True) - m * m, 0) + eps)\n"
			   "?!batch m = _channel(running_mean, x)\n"
			   "?!batch r = rsqrt(_channel(running_var, x) + eps)\n" ON_CHANNELS,
	  "as x * scale + shift with its variance as mean(x * x) - mean(x) * mean(x)" },
	/* the sum of a softmax as a logarithm */
	{ OP_SOFTMAX, 1, "y = exp(x - logsumexp(x, axis=axis, keepdims=True))", "as exp(x - logsumexp(x))" },
	{ OP_LOG_SOFTMAX, 1, "y = x - logsumexp(x, axis=axis, keepdims=True)", "as x - logsumexp(x)" },
	{ OP_KL_DIV, 1, "?log_target l = exp(target) * target - exp(target) * x\n"
			"?!log_target l = where(target > 0, target * log(where(target > 0, target, 1)) - target * x, 0)\n"
			"?reduction=batchmean y = sum(l) / batch\n"
			"?reduction=mean y = mean(l)\n"
			"?reduction=sum y = sum(l)\n"
			"?reduction=none y = l",
	  "as target * log(target) - target * x" },
	/* functions by others */
	{ OP_EXPM1, 1, "y = exp(x) - 1", "as exp(x) - 1" },
	{ OP_LOG1P, 1, "y = log(1 + x)", "as log(1 + x)" },
	{ OP_TANH, 1, "y = 1 - 2 / (exp(2 * x) + 1)", "as 1 - 2 / (exp(2 * x) + 1)" },
	{ OP_SIGMOID, 1, "y = 1 - 1 / (1 + exp(x))", "as 1 - 1 / (1 + exp(x))" },
	{ OP_EXP, 2, "y = exp2(x * 1.4426950408889634)", "as exp2(x * log2(e))" },
	/* 1 - erfc(x); erf stands in it, so it comes last (see below) */
	{ OP_ERF, 1, "y = 1 - (1 - erf(x))", "as 1 - erfc(x)" },
};

static const struct phrase *phrase_of(const struct kw_node *n, int form)
{
	const struct phrase *found = NULL;

	for (size_t i = 0; i < sizeof phrases / sizeof phrases[0] && n->op; i++)
		if (phrases[i].id == op_id(n) && phrases[i].form <= form)
			found = &phrases[i];
	return found;
}

static bool text_of(const struct kw_node *n, int form, const char **text)
{
	const struct phrase *p = op_id(n) == OP_ERF ? NULL : phrase_of(n, form);

	*text = p ? p->text : n->op ? op_definition(n->op->id) : NULL;
	return true;
}

static bool first_form(const struct kw_node *n, struct kw_arena *a, const char **text)
{
	(void)a;
	return text_of(n, 1, text);
}

static bool second_form(const struct kw_node *n, struct kw_arena *a, const char **text)
{
	(void)a;
	return text_of(n, 2, text);
}

static bool error_function(const struct kw_node *n, struct kw_arena *a, const char **text)
{
	(void)a;
	*text = op_id(n) == OP_ERF ? phrase_of(n, 1)->text : NULL;
	return true;
}

/* Adds what is said otherwise in e; false: nothing is. own: what this form alone has. */
static bool note(const struct kw_expr *e, int form, struct kw_buf *says, bool *own)
{
	bool more = false;

	for (size_t i = 0; i < e->node_count; i++) {
		const struct phrase *p = phrase_of(e->nodes[i], form);
		const char *text;

		text_of(e->nodes[i], form, &text);
		more = more || text;
		if (!p)
			continue;
		*own = *own || p->form == form;
		if (says->ptr && memmem(says->ptr, says->len, p->says, strlen(p->says)))
			continue;
		kw_buf_printf(says, "%s%s %s", says->len ? ", " : "", e->nodes[i]->op->name, p->says);
	}
	return more;
}

enum kw_status kw_expr_rephrase(const struct kw_expr *e, int form, struct kw_arena *a, struct kw_expr **out, struct kw_buf *says,
				struct kw_error *err)
{
	enum kw_status st = KW_OK;
	bool own = false;

	*out = NULL;
	while (st == KW_OK && note(e, form, says, &own)) {
		st = rewrite(e, form == 1 ? first_form : second_form, a, out, err);
		e = *out;
	}
	if (st != KW_OK || !own)
		return st == KW_OK ? KW_NO : st;
	return rewrite(e, error_function, a, out, err);
}
