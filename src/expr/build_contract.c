/* build_contract.c - matmul, einsum, convolutions, pooling, and reads by index.
 *
 * A CONTRACT node has two arguments and sattr "ab,bc->ac": a letter per axis, the letters missing from the right side are
 * summed over. An argument's axis of size 1 under a letter that is larger elsewhere is repeated.
 * A WINDOW node: attr[0] spatial axes; 1.. stride, 4.. padding, 7.. dilation, 10.. kernel (pooling) or output padding
 * (transposed convolution), 13 groups, 14 count_include_pad.
 * GATHER: TAKE attr[0] axis, attr[1] rank of the indices; GATHER axes[0]; TOPK axes[0], sym[0] = k, index 0 values, 1 indices. */
#include "expr/internal.h"

#include <string.h>

static bool give(struct kw_node *n, struct value *out)
{
	if (n)
		*out = v_node(n);
	return n != NULL;
}

/* Sizes of the letters, from both arguments, and the output's shape. */
static struct kw_node *contract(struct builder *b, enum op_id id, struct kw_node *x, struct kw_node *y,
				const char *text)
{
	struct kw_node *args[2] = { x, y };
	const struct kw_poly *size[128] = { 0 };
	const char *p = text, *arrow = strstr(text, "->");
	struct kw_node *n = new_node(b, KW_NODE_CONTRACT, id, to_float(promote(args, 2)), (int)strlen(arrow + 2));
	char what[300];

	if (!n || !set_args(b, n, args, 2))
		return NULL;
	if (!kw_dtype_is_float(x->dtype) && !kw_dtype_is_float(y->dtype))
		n->dtype = KW_I64;
	for (int k = 0; k < 2; k++, p++) {
		for (int i = 0; *p != ',' && p < arrow; p++, i++) {
			const struct kw_poly **s = &size[(unsigned char)*p], *d = args[k]->shape[i].poly;
			if (!*s || sym_is(*s, 1)) {
				*s = d;
				continue;
			}
			if (sym_is(d, 1))
				continue;
			snprintf(what, sizeof(what), "%s of %s and %s: sizes that must agree differ", n->op->name,
				 shape_text(b, x), shape_text(b, y));
			if (!require_eq(b, *s, d, what))
				return NULL;
		}
	}
	for (int i = 0; i < n->rank; i++)
		n->shape[i].poly = size[(unsigned char)arrow[2 + i]];
	n->sattr = kw_arena_strdup(b->a, text);
	if (!n->sattr) {
		bnomem(b);
		return NULL;
	}
	return finish(b, n);
}

bool build_matmul(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *y;
	char l[KW_MAX_RANK + 2] = "", r[KW_MAX_RANK + 2] = "", o[KW_MAX_RANK + 2] = "", text[64];
	int batch, nl = 0, nr = 0, no = 0;

	if (!get_node(b, c, "x", &x) || !get_node(b, c, "y", &y))
		return false;
	if (x->rank < 1 || y->rank < 1)
		return bfail(b, c->line, c->column, "matmul of a number; write * instead");
	batch = (x->rank > y->rank ? x->rank : y->rank) - 2;
	for (int i = 0; i < batch; i++) {
		char letter = (char)('A' + i);
		if (i >= batch - (x->rank - 2) && x->rank > 2)
			l[nl++] = letter;
		if (i >= batch - (y->rank - 2) && y->rank > 2)
			r[nr++] = letter;
		o[no++] = letter;
	}
	if (x->rank > 1) {
		l[nl++] = 'm';
		o[no++] = 'm';
	}
	l[nl] = 'k';
	r[nr++] = 'k';
	if (y->rank > 1) {
		r[nr] = 'n';
		o[no] = 'n';
	}
	if (!sym_eq(x->shape[x->rank - 1].poly, y->shape[y->rank > 1 ? y->rank - 2 : 0].poly)) {
		char what[300];
		snprintf(what, sizeof(what), "matmul of %s and %s: the inner sizes differ", shape_text(b, x),
			 shape_text(b, y));
		if (!require_eq(b, x->shape[x->rank - 1].poly, y->shape[y->rank > 1 ? y->rank - 2 : 0].poly, what))
			return false;
	}
	snprintf(text, sizeof(text), "%s,%s->%s", l, r, o);
	return give(contract(b, OP_MATMUL, x, y, text), out);
}

bool build_linear(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *w, *n, *bias;
	char l[KW_MAX_RANK + 1] = "", text[64];
	int r;

	if (!get_node(b, c, "x", &x) || !get_node(b, c, "weight", &w))
		return false;
	if (x->rank < 1 || w->rank != 2)
		return bfail(b, c->line, c->column, "linear(): x %s, weight %s; weight must be (out, in)",
			     shape_text(b, x), shape_text(b, w));
	r = x->rank - 1;
	for (int i = 0; i < r; i++)
		l[i] = (char)('A' + i);
	if (!require_eq(b, x->shape[r].poly, w->shape[1].poly, "linear(): the last axes of x and weight"))
		return false;
	snprintf(text, sizeof(text), "%sk,nk->%sn", l, l);
	n = contract(b, OP_LINEAR, x, w, text);
	if (n && has(c, "bias"))
		n = get_node(b, c, "bias", &bias) ? make(b, OP_ADD, 2, n, bias) : NULL;
	return give(n, out);
}

/* ---- einsum ---- */

struct term_text {
	struct kw_node *n;
	char letters[KW_MAX_RANK + 1];
};

static bool einsum_side(struct builder *b, const struct call *c, struct term_text *t, const char **p)
{
	int i = 0;

	for (; **p && **p != ',' && **p != '-'; (*p)++) {
		if (**p == ' ')
			continue;
		if (!((**p >= 'a' && **p <= 'z') || (**p >= 'A' && **p <= 'Z')))
			return bfail(b, c->line, c->column, "einsum(): '%c' is no letter", **p);
		if (i == KW_MAX_RANK || memchr(t->letters, **p, (size_t)i))
			return bfail(b, c->line, c->column, "einsum(): '%c' twice in one operand is not supported", **p);
		t->letters[i++] = **p;
	}
	t->letters[i] = '\0';
	if (t->n && t->n->rank != i)
		return bfail(b, c->line, c->column, "einsum(): '%s' for an operand %s of %d axes", t->letters,
			     shape_text(b, t->n), t->n->rank);
	return true;
}

/* Sums the letters away that neither the others nor the output have. */
static bool einsum_presum(struct builder *b, struct term_text *t, const char *needed)
{
	int axes[KW_MAX_RANK] = { 0 }, count = 0, r = 0;

	for (int i = 0; t->letters[i]; i++) {
		if (strchr(needed, t->letters[i]))
			t->letters[r++] = t->letters[i];
		else
			axes[count++] = i;
	}
	t->letters[r] = '\0';
	t->n = count ? make_reduce(b, OP_SUM, t->n, axes, count, false) : t->n;
	return t->n != NULL;
}

static bool einsum_transpose(struct builder *b, const struct term_text *t, const char *to, struct value *out)
{
	struct value items[KW_MAX_RANK + 1], args[2] = { v_node(t->n), { .kind = V_TUPLE, .items = items } };

	for (int i = 0; to[i]; i++) {
		const char *at = strchr(t->letters, to[i]);
		items[args[1].count++] = v_int(sym_const(b->a, at - t->letters));
	}
	return args[1].count ? apply(b, OP_TRANSPOSE, args, 2, out) : give(t->n, out);
}

static void letters_needed(const struct term_text *t, int from, int count, const char *result, char *out)
{
	size_t n = strlen(result);

	memcpy(out, result, n);
	for (int i = from; i < count; i++) {
		memcpy(out + n, t[i].letters, strlen(t[i].letters));
		n += strlen(t[i].letters);
	}
	out[n] = '\0';
}

static bool einsum_fold(struct builder *b, struct term_text *t, int count, const char *result, struct value *out)
{
	char needed[KW_MAX_RANK * 10], keep[2 * KW_MAX_RANK + 1], text[64];

	for (int i = 1; i < count; i++) {
		int k = 0;

		letters_needed(t, 1, count, result, needed);
		if (i == 1 && !einsum_presum(b, &t[0], needed))
			return false;
		letters_needed(t, i + 1, count, result, needed);
		memcpy(needed + strlen(needed), t[0].letters, strlen(t[0].letters) + 1);
		if (!einsum_presum(b, &t[i], needed))
			return false;
		letters_needed(t, i + 1, count, result, needed);
		for (const char *s = i + 1 == count ? result : t[0].letters; *s; s++) {
			if (strchr(needed, *s) && (strchr(t[0].letters, *s) || strchr(t[i].letters, *s)))
				keep[k++] = *s;
		}
		for (const char *s = t[i].letters; i + 1 < count && *s; s++) {
			if (strchr(needed, *s) && !memchr(keep, *s, (size_t)k))
				keep[k++] = *s;
		}
		keep[k] = '\0';
		if (k > KW_MAX_RANK)
			return bfail(b, b->line, b->column, "einsum(): more than %d axes on the way", KW_MAX_RANK);
		snprintf(text, sizeof(text), "%s,%s->%s", t[0].letters, t[i].letters, keep);
		t[0].n = contract(b, OP_EINSUM, t[0].n, t[i].n, text);
		if (!t[0].n)
			return false;
		memcpy(t[0].letters, keep, (size_t)k + 1);
	}
	return give(t[0].n, out);
}

bool build_einsum(struct builder *b, struct call *c, struct value *out)
{
	const struct value *ops = &c->slot[1];
	struct term_text t[9] = { 0 }, result = { 0 };
	const char *p;
	int count = ops->kind == V_TUPLE ? ops->count : 0, k;

	if (!get_str(b, c, "equation", &p))
		return false;
	if (count < 1 || count > 8)
		return bfail(b, c->line, c->column, "einsum() takes an equation and 1 to 8 operands");
	for (k = 0; k < count; k++) {
		if (!to_node(b, &ops->items[k], &t[k].n) || !einsum_side(b, c, &t[k], &p))
			return false;
		if (k + 1 < count && *p++ != ',')
			return bfail(b, c->line, c->column, "einsum(): %d operands, but the equation has %d", count, k + 1);
	}
	if (*p == '-' && p[1] == '>') {
		p += 2;
		if (!einsum_side(b, c, &result, &p))
			return false;
	} else if (!*p) {
		/* numpy: letters that occur once, in alphabetical order */
		for (int l = 'A', r = 0; l <= 'z'; l++) {
			int seen = 0;
			for (k = 0; k < count; k++)
				seen += strchr(t[k].letters, l) != NULL;
			if (seen == 1 && r < KW_MAX_RANK)
				result.letters[r++] = (char)l;
		}
	}
	if (*p)
		return bfail(b, c->line, c->column, "einsum(): the equation has more operands than the call");
	for (const char *s = result.letters; *s; s++) {
		bool found = false;
		for (k = 0; k < count; k++)
			found |= strchr(t[k].letters, *s) != NULL;
		if (!found)
			return bfail(b, c->line, c->column, "einsum(): '%c' is in no operand", *s);
	}
	if (count == 1)
		return einsum_presum(b, &t[0], result.letters) && einsum_transpose(b, &t[0], result.letters, out);
	return einsum_fold(b, t, count, result.letters, out);
}

/* ---- windows ---- */

static int spatial(enum op_id id)
{
	switch (id) {
	case OP_CONV1D: case OP_CONV_TRANSPOSE1D: case OP_MAX_POOL1D: case OP_AVG_POOL1D: return 1;
	case OP_CONV2D: case OP_CONV_TRANSPOSE2D: case OP_MAX_POOL2D: case OP_AVG_POOL2D: return 2;
	default: return 3;
	}
}

static bool at_least(struct builder *b, const struct call *c, const char *name, const int64_t *v, int n, int64_t least)
{
	for (int i = 0; i < n; i++) {
		if (v[i] < least)
			return bfail(b, c->line, c->column, "%s(): '%s' must be at least %lld", c->name, name,
				     (long long)least);
	}
	return true;
}

static struct kw_node *with_bias(struct builder *b, struct call *c, struct kw_node *n)
{
	struct kw_node *bias;
	struct value args[2], out;

	n = finish(b, n);
	if (!n || !has(c, "bias"))
		return n;
	if (!get_node(b, c, "bias", &bias))
		return NULL;
	if (bias->rank != 1 || !require_eq(b, bias->shape[0].poly, n->shape[1].poly, "the bias and the output channels")) {
		bfail(b, c->line, c->column, "%s(): bias must be (out channels), not %s", c->name, shape_text(b, bias));
		return NULL;
	}
	args[0] = v_node(bias);
	args[1] = v_node(n);
	return apply(b, OP_CHANNEL, args, 2, &out) ? make(b, OP_ADD, 2, n, out.n) : NULL;
}

/* (size + 2 pad - dilation (kernel - 1) - 1) // stride + 1 */
static const struct kw_poly *window_size(struct builder *b, const struct kw_poly *size, const struct kw_poly *kernel,
					 int64_t stride, int64_t pad, int64_t dilation)
{
	struct kw_arena *a = b->a;
	const struct kw_poly *one = sym_const(a, 1);
	const struct kw_poly *reach = sym_mul(a, sym_const(a, dilation), sym_sub(a, kernel, one));
	const struct kw_poly *room = sym_sub(a, sym_sub(a, sym_add(a, size, sym_const(a, 2 * pad)), reach), one);

	if (!room || !require_ge(b, room, sym_const(a, 0), "the window is larger than the padded input"))
		return NULL;
	return sym_add(a, sym_div(a, room, sym_const(a, stride)), one);
}

bool build_conv(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[2], *n;
	int nd = spatial(c->op->id);
	const struct kw_poly *groups;
	int64_t *at;

	if (!get_node(b, c, "x", &args[0]) || !get_node(b, c, "weight", &args[1]) || !get_poly(b, c, "groups", &groups))
		return false;
	if (args[0]->rank != nd + 2 || args[1]->rank != nd + 2)
		return bfail(b, c->line, c->column, "%s(): x %s and weight %s need %d axes each", c->name,
			     shape_text(b, args[0]), shape_text(b, args[1]), nd + 2);
	n = new_node(b, KW_NODE_WINDOW, c->op->id, to_float(promote(args, 2)), nd + 2);
	if (!n || !set_args(b, n, args, 2))
		return false;
	at = n->attr;
	at[0] = nd;
	if (!get_tuple(b, c, "stride", nd, at + 1) || !get_tuple(b, c, "padding", nd, at + 4) ||
	    !get_tuple(b, c, "dilation", nd, at + 7) || !at_least(b, c, "stride", at + 1, nd, 1) ||
	    !at_least(b, c, "padding", at + 4, nd, 0) || !at_least(b, c, "dilation", at + 7, nd, 1))
		return false;
	xn(n)->sym[0] = groups;
	if (!require_ge(b, groups, sym_const(b->a, 1), "groups") ||
	    !require_eq(b, sym_mul(b->a, args[1]->shape[1].poly, groups), args[0]->shape[1].poly,
			"the channels of weight times groups, and those of x") ||
	    !require_eq(b, sym_mul(b->a, sym_div(b->a, args[1]->shape[0].poly, groups), groups), args[1]->shape[0].poly,
			"the output channels are no multiple of groups"))
		return false;
	n->shape[0] = args[0]->shape[0];
	n->shape[1] = args[1]->shape[0];
	for (int i = 0; i < nd; i++)
		n->shape[2 + i].poly = window_size(b, args[0]->shape[2 + i].poly, args[1]->shape[2 + i].poly, at[1 + i],
						   at[4 + i], at[7 + i]);
	return give(with_bias(b, c, n), out);
}

bool build_conv_transpose(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[2], *n;
	int nd = spatial(c->op->id);
	const struct kw_poly *groups, *one = sym_const(b->a, 1);
	int64_t *at;

	if (!get_node(b, c, "x", &args[0]) || !get_node(b, c, "weight", &args[1]) || !get_poly(b, c, "groups", &groups))
		return false;
	if (args[0]->rank != nd + 2 || args[1]->rank != nd + 2)
		return bfail(b, c->line, c->column, "%s(): x %s and weight %s need %d axes each", c->name,
			     shape_text(b, args[0]), shape_text(b, args[1]), nd + 2);
	n = new_node(b, KW_NODE_WINDOW, c->op->id, to_float(promote(args, 2)), nd + 2);
	if (!n || !set_args(b, n, args, 2))
		return false;
	at = n->attr;
	at[0] = nd;
	if (!get_tuple(b, c, "stride", nd, at + 1) || !get_tuple(b, c, "padding", nd, at + 4) ||
	    !get_tuple(b, c, "dilation", nd, at + 7) || !get_tuple(b, c, "output_padding", nd, at + 10) ||
	    !at_least(b, c, "stride", at + 1, nd, 1) || !at_least(b, c, "padding", at + 4, nd, 0) ||
	    !at_least(b, c, "dilation", at + 7, nd, 1) || !at_least(b, c, "output_padding", at + 10, nd, 0))
		return false;
	xn(n)->sym[0] = groups;
	if (!require_ge(b, groups, one, "groups") ||
	    !require_eq(b, args[0]->shape[1].poly, args[1]->shape[0].poly, "the channels of x and of weight") ||
	    !require_eq(b, sym_mul(b->a, sym_div(b->a, args[0]->shape[1].poly, groups), groups), args[0]->shape[1].poly,
			"the channels are no multiple of groups"))
		return false;
	n->shape[0] = args[0]->shape[0];
	n->shape[1].poly = sym_mul(b->a, args[1]->shape[1].poly, groups);
	for (int i = 0; i < nd; i++) {
		const struct kw_poly *p = sym_mul(b->a, sym_sub(b->a, args[0]->shape[2 + i].poly, one),
						  sym_const(b->a, at[1 + i]));
		p = sym_add(b->a, p, sym_mul(b->a, sym_const(b->a, at[7 + i]),
					     sym_sub(b->a, args[1]->shape[2 + i].poly, one)));
		n->shape[2 + i].poly = sym_add(b->a, p, sym_const(b->a, at[10 + i] + 1 - 2 * at[4 + i]));
		if (!require_ge(b, n->shape[2 + i].poly, sym_const(b->a, 0), "the padding leaves nothing"))
			return false;
	}
	return give(with_bias(b, c, n), out);
}

bool build_pool(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *n;
	int nd = spatial(c->op->id), lead;
	bool max = c->op->id == OP_MAX_POOL1D || c->op->id == OP_MAX_POOL2D || c->op->id == OP_MAX_POOL3D, count = false;
	int64_t *at;

	if (!get_node(b, c, "x", &x))
		return false;
	lead = x->rank - nd;
	if (lead < 0)
		return bfail(b, c->line, c->column, "%s(): x %s needs at least %d axes", c->name, shape_text(b, x), nd);
	n = new_node(b, KW_NODE_WINDOW, c->op->id, max ? x->dtype : to_float(x->dtype), x->rank);
	if (!n || !set_args(b, n, &x, 1))
		return false;
	at = n->attr;
	at[0] = nd;
	at[7] = at[8] = at[9] = 1;
	if (!get_tuple(b, c, "kernel_size", nd, at + 10) || !get_tuple(b, c, "padding", nd, at + 4) ||
	    !get_tuple(b, c, has(c, "stride") ? "stride" : "kernel_size", nd, at + 1) ||
	    (max && !get_tuple(b, c, "dilation", nd, at + 7)) || (!max && !get_bool(b, c, "count_include_pad", &count)) ||
	    !at_least(b, c, "kernel_size", at + 10, nd, 1) || !at_least(b, c, "stride", at + 1, nd, 1) ||
	    !at_least(b, c, "padding", at + 4, nd, 0) || !at_least(b, c, "dilation", at + 7, nd, 1))
		return false;
	at[14] = count;
	xn(n)->sym[0] = sym_const(b->a, 1);
	for (int i = 0; i < lead; i++)
		n->shape[i] = x->shape[i];
	for (int i = 0; i < nd; i++) {
		if (2 * at[4 + i] > at[10 + i])
			return bfail(b, c->line, c->column, "%s(): the padding is more than half the kernel", c->name);
		n->shape[lead + i].poly = window_size(b, x->shape[lead + i].poly, sym_const(b->a, at[10 + i]), at[1 + i],
						      at[4 + i], at[7 + i]);
	}
	return give(finish(b, n), out);
}

/* ---- by index ---- */

static bool whole(struct builder *b, const struct call *c, const struct kw_node *i)
{
	return !kw_dtype_is_float(i->dtype) ? true :
	       bfail(b, c->line, c->column, "%s(): indices must be whole numbers, not %s", c->name,
		     kw_dtype_name(i->dtype));
}

static bool take(struct builder *b, struct kw_node *x, struct kw_node *i, int axis, struct value *out)
{
	struct kw_node *args[2] = { x, i };
	struct kw_node *n = new_node(b, KW_NODE_GATHER, OP_TAKE, x->dtype, x->rank - 1 + i->rank);

	if (!n || !set_args(b, n, args, 2))
		return false;
	n->attr[0] = axis;
	n->attr[1] = i->rank;
	n->axes[0] = axis;
	n->axis_count = 1;
	for (int k = 0; k < n->rank; k++)
		n->shape[k] = k < axis ? x->shape[k] : k < axis + i->rank ? i->shape[k - axis] :
			      x->shape[k - i->rank + 1];
	return give(finish(b, n), out);
}

bool build_take(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *x, *i;
	int axis;

	return get_node(b, c, "x", &x) && get_node(b, c, "indices", &i) && whole(b, c, i) &&
	       get_axis(b, c, "axis", x->rank, &axis) && take(b, x, i, axis, out);
}

bool build_embedding(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *w, *i;

	if (!get_node(b, c, "indices", &i) || !get_node(b, c, "weight", &w) || !whole(b, c, i))
		return false;
	if (w->rank < 1)
		return bfail(b, c->line, c->column, "embedding(indices, weight): weight needs axes (rows, width)");
	return take(b, w, i, 0, out);
}

bool build_gather(struct builder *b, struct call *c, struct value *out)
{
	struct kw_node *args[2], *n;
	int axis;

	if (!get_node(b, c, "x", &args[0]) || !get_node(b, c, "indices", &args[1]) || !whole(b, c, args[1]) ||
	    !get_axis(b, c, "axis", args[0]->rank, &axis))
		return false;
	if (args[1]->rank != args[0]->rank)
		return bfail(b, c->line, c->column, "gather(): x %s and indices %s need the same number of axes",
			     shape_text(b, args[0]), shape_text(b, args[1]));
	n = new_node(b, KW_NODE_GATHER, OP_GATHER, args[0]->dtype, args[1]->rank);
	if (!n || !set_args(b, n, args, 2))
		return false;
	n->axes[0] = axis;
	n->axis_count = 1;
	for (int i = 0; i < n->rank; i++) {
		n->shape[i] = args[1]->shape[i];
		if (i != axis && !require_ge(b, args[0]->shape[i].poly, n->shape[i].poly,
					     "gather(): the indices reach beyond x"))
			return false;
	}
	return give(finish(b, n), out);
}

bool build_topk(struct builder *b, struct call *c, struct value *out)
{
	const struct kw_poly *k;
	struct value pair[2];
	struct kw_node *x;
	int axis;

	if (!get_node(b, c, "x", &x) || !get_poly(b, c, "k", &k) || !get_axis(b, c, "axis", x->rank, &axis))
		return false;
	if (!require_ge(b, k, sym_const(b->a, 0), "topk(): k") ||
	    !require_ge(b, x->shape[axis].poly, k, "topk(): k is larger than the axis"))
		return false;
	for (int i = 0; i < 2; i++) {
		struct kw_node *n = new_node(b, KW_NODE_GATHER, OP_TOPK, i ? KW_I64 : x->dtype, x->rank);
		if (!n || !set_args(b, n, &x, 1))
			return false;
		memcpy(n->shape, x->shape, sizeof(n->shape));
		n->shape[axis].poly = k;
		n->axes[0] = axis;
		n->axis_count = 1;
		n->index = i;
		xn(n)->sym[0] = k;
		n = finish(b, n);
		if (!n)
			return false;
		pair[i] = v_node(n);
	}
	*out = (struct value){ .kind = V_TUPLE, .count = 2, .items = kw_arena_copy(b->a, pair, sizeof(pair)) };
	return out->items != NULL;
}
