/* naive_window.c - convolution, transposed convolution and pooling, each output element on its own. */
#include "expr/naive.h"

#include <string.h>

struct taps {                             /* loops over channels and window of one output element */
	struct scope loops[5];
	int depth;
	struct scope *in;
};

static void open_tap(struct gen *g, struct taps *t, struct scope *s, const char *bound)
{
	struct scope *parent = t->depth ? &t->loops[t->depth - 1] : s;

	t->in = &t->loops[t->depth++];
	naive_scope(g, t->in, parent, bound);
}

static void close_taps(struct gen *g, struct taps *t)
{
	while (t->depth-- > 0)
		naive_close(g, &t->loops[t->depth], NULL);
}

static const char *scaled(struct gen *g, const char *v, int64_t by)
{
	return by == 1 ? v : naive_text(g, "%s * %lld", v, (long long)by);
}

/* The place in x that output place o and tap k read: o stride + k dilation - pad. */
static struct at place(struct gen *g, const struct kw_node *n, int i, const char *o, struct scope *in)
{
	const char *v = naive_text(g, "%s + %s", scaled(g, o, n->attr[1 + i]), scaled(g, in->var, n->attr[7 + i]));

	if (n->attr[4 + i])
		v = naive_text(g, "%s - %lld", v, (long long)n->attr[4 + i]);
	return (struct at){ naive_let(g, in, CT_I64, "at", v), in };
}

static void skip_outside(struct gen *g, const struct kw_node *x, int axis, struct at at, struct scope *in)
{
	naive_line(in, "if (%s < 0 || %s >= %s) {", at.text, at.text, naive_dim(g, x, axis));
	naive_line(in, "continue;");
	naive_line(in, "}");
}

/* The group that output channel o is in, times what a group has of something. */
static const char *group_of(struct gen *g, const char *o, const char *per_out, const struct kw_poly *groups,
			    const char *per)
{
	return sym_is(groups, 1) ? NULL : naive_text(g, "(%s / %s) * %s", o, per_out, per);
}

static const char *conv(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const struct kw_node *x = n->args[0], *w = n->args[1];
	const struct kw_poly *groups = xn(n)->sym[0];
	int nd = (int)n->attr[0];
	enum ctype c = naive_ctype(g, n->dtype);
	const char *acc = naive_name(g, "acc"), *base, *a, *b;
	struct taps t = { 0 };
	struct at in_x[KW_MAX_RANK] = { 0 }, in_w[KW_MAX_RANK] = { 0 };

	naive_line(s, "%s %s = 0;", naive_ctype_text(c), acc);
	base = group_of(g, ix[1].text, naive_size(g, sym_div(g->a, n->shape[1].poly, groups)), groups, naive_dim(g, w, 1));
	open_tap(g, &t, s, naive_dim(g, w, 1));
	in_x[0] = ix[0];
	in_x[1] = (struct at){ base ? naive_text(g, "%s + %s", base, t.in->var) : t.in->var, t.in };
	in_w[0] = ix[1];
	in_w[1] = (struct at){ t.in->var, t.in };
	for (int i = 0; i < nd; i++) {
		open_tap(g, &t, s, naive_dim(g, w, 2 + i));
		in_w[2 + i] = (struct at){ t.in->var, t.in };
		in_x[2 + i] = place(g, n, i, ix[2 + i].text, t.in);
		skip_outside(g, x, 2 + i, in_x[2 + i], t.in);
	}
	a = naive_value_as(g, x, in_x, t.in, c);
	b = naive_value_as(g, w, in_w, t.in, c);
	naive_add(g, t.in, n->dtype, acc, '+', naive_text(g, "%s * %s", a, b));
	close_taps(g, &t);
	return acc;
}

/* Output place o gets x[p] w[k] for every p, k with p stride - pad + k dilation = o. */
static const char *conv_transpose(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const struct kw_node *x = n->args[0], *w = n->args[1];
	const struct kw_poly *groups = xn(n)->sym[0];
	int nd = (int)n->attr[0];
	enum ctype c = naive_ctype(g, n->dtype);
	const char *acc = naive_name(g, "acc"), *per_in = naive_size(g, sym_div(g->a, x->shape[1].poly, groups)), *base;
	const char *a, *b;
	struct taps t = { 0 };
	struct at in_x[KW_MAX_RANK] = { 0 }, in_w[KW_MAX_RANK] = { 0 };

	naive_line(s, "%s %s = 0;", naive_ctype_text(c), acc);
	base = group_of(g, ix[1].text, naive_dim(g, w, 1), groups, per_in);
	open_tap(g, &t, s, per_in);
	in_x[0] = ix[0];
	in_x[1] = (struct at){ base ? naive_text(g, "%s + %s", base, t.in->var) : t.in->var, t.in };
	in_w[0] = in_x[1];
	in_w[1] = (struct at){ base ? naive_text(g, "%s %% %s", ix[1].text, naive_dim(g, w, 1)) : ix[1].text, ix[1].scope };
	for (int i = 0; i < nd; i++) {
		long long stride = n->attr[1 + i];
		const char *from, *tap;
		open_tap(g, &t, s, naive_dim(g, w, 2 + i));
		tap = t.in->var;
		if (g->rounds) /* the evaluator adds in the order of x */
			tap = naive_let(g, t.in, CT_I64, "tap", naive_text(g, "%s - 1 - %s", naive_dim(g, w, 2 + i), tap));
		in_w[2 + i] = (struct at){ tap, t.in };
		from = naive_let(g, t.in, CT_I64, "from",
				 naive_text(g, "%s + %lld - %s", ix[2 + i].text, (long long)n->attr[4 + i],
					    scaled(g, tap, n->attr[7 + i])));
		naive_line(t.in, "if (%s < 0 || %s %% %lld != 0 || %s / %lld >= %s) {", from, from, stride, from, stride,
			   naive_dim(g, x, 2 + i));
		naive_line(t.in, "continue;");
		naive_line(t.in, "}");
		in_x[2 + i] = (struct at){ stride == 1 ? from : naive_text(g, "%s / %lld", from, stride), t.in };
	}
	a = naive_value_as(g, x, in_x, t.in, c);
	b = naive_value_as(g, w, in_w, t.in, c);
	naive_add(g, t.in, n->dtype, acc, '+', naive_text(g, "%s * %s", a, b));
	close_taps(g, &t);
	return acc;
}

static const char *pool(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s, bool max)
{
	const struct kw_node *x = n->args[0];
	int nd = (int)n->attr[0], lead = n->rank - nd;
	enum ctype c = naive_ctype(g, n->dtype);
	const char *acc = naive_name(g, max ? "best" : "acc"), *count = NULL, *v;
	struct taps t = { 0 };
	struct at in[KW_MAX_RANK] = { 0 };
	int64_t all = 1;

	naive_line(s, "%s %s = %s%s;", naive_ctype_text(c), acc, max && c != CT_I64 ? "-" : "",
		   !max ? "0" : c == CT_I64 ? g->lang->i64_min : g->lang->inf);
	if (!max && !n->attr[14]) {
		count = naive_name(g, "count");
		naive_line(s, "int64_t %s = 0;", count);
	}
	memcpy(in, ix, sizeof(in[0]) * (size_t)lead);
	for (int i = 0; i < nd; i++) {
		all *= n->attr[10 + i];
		open_tap(g, &t, s, naive_text(g, "%lld", (long long)n->attr[10 + i]));
		in[lead + i] = place(g, n, i, ix[lead + i].text, t.in);
		skip_outside(g, x, lead + i, in[lead + i], t.in);
	}
	v = naive_value_as(g, x, in, t.in, c);
	if (!max) {
		naive_add(g, t.in, n->dtype, acc, '+', v);
		if (count)
			naive_line(t.in, "%s++;", count);
	} else {
		v = naive_let(g, t.in, c, "x", v);
		naive_line(t.in, c == CT_I64 ? "if (%s > %s) {" : "if (%s > %s || isnan(%s)) {", v, acc, v);
		naive_line(t.in, "%s = %s;", acc, v);
		naive_line(t.in, "}");
	}
	close_taps(g, &t);
	if (max)
		return acc;
	v = count ? naive_text(g, "(%s)%s", naive_ctype_text(c), count) : naive_number(g, (double)all, c);
	return naive_rounded(g, n->dtype, naive_text(g, "(%s / %s)", acc, v));
}

const char *naive_window(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	switch (op_id(n)) {
	case OP_CONV1D: case OP_CONV2D: case OP_CONV3D: return conv(g, n, ix, s);
	case OP_CONV_TRANSPOSE1D: case OP_CONV_TRANSPOSE2D: case OP_CONV_TRANSPOSE3D: return conv_transpose(g, n, ix, s);
	case OP_MAX_POOL1D: case OP_MAX_POOL2D: case OP_MAX_POOL3D: return pool(g, n, ix, s, true);
	case OP_AVG_POOL1D: case OP_AVG_POOL2D: case OP_AVG_POOL3D: return pool(g, n, ix, s, false);
	default: naive_fail(g, n, ""); return "0";
	}
}
