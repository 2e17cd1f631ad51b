#include "author/forms.h"

#include <string.h>

#include "author/emit_internal.h"

static bool is_op(const struct kw_node *n, const char *op)
{
	return n->kind == KW_NODE_ELEMENTWISE && strcmp(kw_au_op(n), op) == 0;
}

/* Computed in float, whatever its storage. */
static bool in_float(const struct kw_node *n)
{
	return strcmp(kw_au_ctype(n->dtype), "float") == 0 && kw_dtype_is_float(n->dtype);
}

/* ---- exp ---- */

/* a - max(a): the very same a, its maximum laid out beside it. */
static bool is_below_maximum(const struct kw_node *n)
{
	const struct kw_node *a, *m;

	if (!is_op(n, "subtract"))
		return false;
	a = n->args[0];
	m = n->args[1];
	return m->kind == KW_NODE_REDUCE && strcmp(kw_au_op(m), "max") == 0 && m->keepdims &&
	       m->args[0] == a;
}

/* At most 0, or NaN. */
static bool is_never_positive(const struct kw_node *n)
{
	if (is_below_maximum(n))
		return true;
	if (!is_op(n, "negative"))
		return false;
	n = n->args[0];
	return is_op(n, "abs") || is_op(n, "square") ||
	       (is_op(n, "multiply") && n->args[0] == n->args[1]);
}

/* ---- 1 + erf ---- */

static bool is_one_plus_erf(const struct kw_node *n)
{
	return is_op(n, "add") && in_float(n) && n->args[0]->kind == KW_NODE_CONST &&
	       n->args[0]->value == 1.0 && is_op(n->args[1], "erf") && n->args[1]->use_count == 1;
}

/* ---- quotients ---- */

/* Operations through which one unit more in the last place stays about that. */
static bool is_tame(const struct kw_node *user)
{
	return user->kind == KW_NODE_MOVE || is_op(user, "multiply") || is_op(user, "divide") ||
	       is_op(user, "negative") || is_op(user, "abs") ||
	       (is_op(user, "cast") && kw_dtype_is_float(user->dtype));
}

static bool is_by_row(const struct kw_au_emit *e, const struct kw_node *n)
{
	enum kw_au_level d;

	if (!is_op(n, "divide") || !in_float(n) || !in_float(n->args[0]) || !in_float(n->args[1]) ||
	    !e->g->nodes[n->id].live || kw_au_level(e, n) != KW_AU_ELEMENT)
		return false;
	d = kw_au_level(e, n->args[1]);
	return d == KW_AU_ROW || d == KW_AU_SEGMENT;
}

void kw_au_find_divisors(struct kw_au_emit *e)
{
	const struct kw_expr *x = e->g->expr;

	if (!e->lang->forms)
		return;
	/* From the outputs backwards: what a use needs exact, its arguments are needed exact for.
	 */
	for (size_t i = x->node_count; i-- > 0;) {
		const struct kw_node *n = x->nodes[i];

		if (!e->g->nodes[n->id].live)
			continue;
		for (int k = 0; k < n->arg_count; k++)
			if (e->exact[n->id] || !is_tame(n))
				e->exact[n->args[k]->id] = true;
		if (!e->exact[n->id] && is_by_row(e, n))
			e->divides[kw_au_origin(e->g, n->args[1])->id] = true;
	}
}

const char *kw_au_divisor(struct kw_au_emit *e, const struct kw_node *n, const char *name)
{
	const char *by;

	if (!e->divides[n->id])
		return "";
	by = kw_au_name(e, kw_au_printf(e, "by_%s", name));
	e->by[n->id] = by;
	if (e->g->nodes[n->id].stage > 0)
		kw_au_note_value(e, "kw_divisor", by);
	return kw_au_printf(e, "const kw_divisor %s = kw_divisor_of(%s);\n", by, name);
}

const char *kw_au_form(struct kw_au_emit *e, const struct kw_node *n)
{
	const char *a, *by;

	if (!e->lang->forms)
		return NULL;
	if (is_op(n, "exp") && in_float(n) && in_float(n->args[0]) &&
	    is_never_positive(n->args[0])) {
		a = kw_au_bare(e, kw_au_expression(e, n->args[0]));
		return kw_au_printf(e, "kw_exp_negf(%s)", a);
	}
	if (e->rough && e->lang->erf1 && is_one_plus_erf(n)) {
		a = kw_au_bare(e, kw_au_expression(e, n->args[1]->args[0]));
		return kw_au_printf(e, "%s(%s)", e->lang->erf1, a);
	}
	if (!is_by_row(e, n))
		return NULL;
	by = e->by[kw_au_origin(e->g, n->args[1])->id];
	if (!by || e->exact[n->id])
		return NULL;
	a = kw_au_bare(e, kw_au_expression(e, n->args[0]));
	return kw_au_printf(e, "kw_overf(%s, %s)", a, by);
}
