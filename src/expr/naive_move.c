/* naive_move.c - operations that move elements, and reads by index: the value of the argument at another index. */
#include "expr/naive.h"

#include <string.h>

static const char *reshape(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const struct kw_node *x = n->args[0];
	struct at inner[KW_MAX_RANK] = { 0 };
	struct scope *from = naive_deepest(g, n, ix, s);
	const char *flat, *step = "1";
	int same = 0;

	while (same < n->rank && same < x->rank && sym_eq(n->shape[same].poly, x->shape[same].poly)) {
		inner[same] = ix[same];
		same++;
	}
	if (same == n->rank && same == x->rank)
		return naive_value(g, x, inner, s);
	flat = naive_offset(g, n, ix);
	if (g->array[x->id] && x->rank > 0 && !naive_is_strided(g, x)) {
		/* row-major both: the offset is the same */
		struct kw_node line = *x;
		struct at one = { flat, from };
		line.rank = 1;
		return naive_load(g, &line, &one);
	}
	if (same) { /* the offset behind the axes that stay */
		struct kw_node rest = *n;
		rest.rank = n->rank - same;
		memmove(rest.shape, n->shape + same, sizeof(rest.shape[0]) * (size_t)rest.rank);
		flat = naive_offset(g, &rest, ix + same);
	}
	flat = naive_let(g, s, CT_I64, "at", flat);
	for (int i = x->rank; i-- > same;) {
		const char *q = strcmp(step, "1") == 0 ? flat : naive_text(g, "%s / (%s)", flat, step);
		inner[i] = (struct at){ i > same ? naive_text(g, "%s %% %s", q, naive_dim(g, x, i)) : q, from };
		step = strcmp(step, "1") == 0 ? naive_dim(g, x, i) : naive_product(g, step, naive_dim(g, x, i));
	}
	return naive_value(g, x, inner, s);
}

/* A branch is a scope: what depends on its index is computed inside, for elsewhere the index leaves the tensor. */
static void close_branch(struct scope *s, struct scope *b, const char *head)
{
	naive_line(s, "%s {", head);
	kw_buf_add(&s->text, b->text.ptr, b->text.len);
	naive_line(s, "}");
	kw_buf_release(&b->text);
}

static const char *concat(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	int axis = n->axes[0], count = n->arg_count;
	enum ctype c = naive_ctype(g, n->dtype);
	const char *name = naive_name(g, "part"), *first = "0";
	struct scope *b = kw_arena_calloc(g->a, (size_t)count, sizeof(*b));
	struct at inner[KW_MAX_RANK];

	if (!b) {
		naive_nomem(g);
		return "0";
	}
	memcpy(inner, ix, sizeof(inner));
	naive_line(s, "%s %s;", naive_ctype_text(c), name);
	for (int k = 0; k < count; k++) { /* all values first: they may add lines to s */
		const char *size = naive_dim(g, n->args[k], axis), *v;
		naive_scope(g, &b[k], s, NULL);
		inner[axis] = (struct at){ k ? naive_text(g, "%s - (%s)", ix[axis].text, first) : ix[axis].text, &b[k] };
		v = naive_value_as(g, n->args[k], inner, &b[k], c);
		naive_line(&b[k], "%s = %s;", name, v);
		first = k ? naive_text(g, "%s + %s", first, size) : size;
	}
	first = "0";
	for (int k = 0; k < count; k++) {
		first = k ? naive_text(g, "%s + %s", first, naive_dim(g, n->args[k], axis)) : naive_dim(g, n->args[k], axis);
		close_branch(s, &b[k], k + 1 == count ? (k ? "else" : "") :
			     naive_text(g, "%sif (%s < %s)", k ? "else " : "", ix[axis].text, first));
	}
	return name;
}

static const char *pad(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	enum ctype c = naive_ctype(g, n->dtype);
	const char *name = naive_name(g, "part"), *test = "", *v;
	struct at inner[KW_MAX_RANK];
	struct scope b;

	memcpy(inner, ix, sizeof(inner));
	naive_scope(g, &b, s, NULL);
	for (int i = 0; i < n->rank; i++) {
		const char *before = naive_size(g, xn(n)->sym[i]), *size = naive_dim(g, n->args[0], i);
		if (sym_eq(n->shape[i].poly, n->args[0]->shape[i].poly))
			continue;
		inner[i] = (struct at){ sym_is(xn(n)->sym[i], 0) ? ix[i].text : naive_text(g, "%s - %s", ix[i].text, before), &b };
		if (sym_is(xn(n)->sym[i], 0))
			test = naive_text(g, "%s%s%s < %s", test, test[0] ? " && " : "", ix[i].text, size);
		else
			test = naive_text(g, "%s%s%s >= %s && %s < %s + %s", test, test[0] ? " && " : "", ix[i].text,
					  before, ix[i].text, before, size);
	}
	naive_line(s, "%s %s = %s;", naive_ctype_text(c), name, naive_number(g, n->fattr[0], c));
	v = naive_value_as(g, n->args[0], inner, &b, c);
	naive_line(&b, "%s = %s;", name, v);
	close_branch(s, &b, naive_text(g, "if (%s)", test[0] ? test : "1"));
	return name;
}

const char *naive_move(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const struct kw_node *x = n->args[0];
	struct at inner[KW_MAX_RANK] = { 0 };

	memcpy(inner, ix, sizeof(inner));
	switch (op_id(n)) {
	case OP_RESHAPE: return reshape(g, n, ix, s);
	case OP_CONCAT: return concat(g, n, ix, s);
	case OP_PAD: return pad(g, n, ix, s);
	case OP_TRANSPOSE: case OP_EXPAND_DIMS: case OP_SQUEEZE: case OP_BROADCAST_TO:
		for (int i = 0; i < x->rank; i++)
			inner[i] = (struct at){ "0", NULL };
		for (int i = 0; i < n->rank; i++)
			if (n->attr[i] >= 0)
				inner[n->attr[i]] = ix[i];
		break;
	case OP_SLICE:
		for (int i = 0; i < n->rank; i++) {
			const char *start = sym_is(xn(n)->sym[i], 0) ? "" :
					    naive_text(g, "%s + ", naive_size(g, xn(n)->sym[i]));
			if (n->attr[i] != 1)
				inner[i].text = naive_text(g, "%s(%s) * %lld", start, ix[i].text, (long long)n->attr[i]);
			else if (start[0])
				inner[i].text = naive_text(g, "%s%s", start, ix[i].text);
		}
		break;
	case OP_FLIP:
		for (int k = 0; k < n->axis_count; k++)
			inner[n->axes[k]].text = naive_text(g, "%s - 1 - (%s)", naive_dim(g, x, n->axes[k]),
							    ix[n->axes[k]].text);
		break;
	case OP_REPEAT: case OP_HEADS:
		inner[n->axes[0]].text = naive_text(g, "(%s) / %s", ix[n->axes[0]].text, naive_size(g, xn(n)->sym[0]));
		break;
	default:
		naive_fail(g, n, "");
		return "0";
	}
	return naive_value(g, x, inner, s);
}

/* ---- by index ---- */

const char *naive_gather(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const struct kw_node *x = n->args[0], *i = n->args[1];
	struct at which[KW_MAX_RANK] = { 0 }, inner[KW_MAX_RANK] = { 0 };
	int axis = n->axes[0], ranks = (int)n->attr[1];
	struct scope *from;

	if (op_id(n) == OP_TAKE) {
		for (int k = 0; k < i->rank; k++)
			which[k] = ix[axis + k];
		for (int k = 0; k < x->rank; k++)
			inner[k] = k < axis ? ix[k] : k > axis ? ix[k + ranks - 1] : (struct at){ "0", NULL };
	} else {
		memcpy(which, ix, sizeof(which));
		memcpy(inner, ix, sizeof(inner));
	}
	from = naive_deepest(g, i, which, s);
	inner[axis] = (struct at){ naive_let(g, from, CT_I64, "at", naive_value(g, i, which, from)), from };
	return naive_value(g, x, inner, s);
}
