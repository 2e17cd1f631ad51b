/* naive_stage.c - operations that are written as a nest of their own: scans, softmax, groupnorm, attention, top-k. */
#include "expr/naive.h"

#include <string.h>

struct nest {                             /* the loops over all axes but some, or on a GPU a thread for each */
	struct kernel kernel;
	struct scope root, loops[KW_MAX_RANK];
	struct at ix[KW_MAX_RANK];
	int count;
};

/* skip: a bit per axis that gets no loop. */
static struct scope *open_nest(struct gen *g, struct nest *t, const struct kw_node *n, unsigned skip)
{
	*t = (struct nest){ 0 };
	if (g->lang->gpu) {
		naive_begin_kernel(g, n, skip, -1, &t->kernel, &t->root, t->ix);
		return &t->root;
	}
	naive_scope(g, &t->root, NULL, NULL);
	for (int i = 0; i < n->rank; i++) {
		struct scope *parent = t->count ? &t->loops[t->count - 1] : &t->root;
		if (skip & 1u << i)
			continue;
		naive_scope(g, &t->loops[t->count], parent, naive_dim(g, n, i));
		t->ix[i] = (struct at){ t->loops[t->count].var, &t->loops[t->count] };
		t->count++;
	}
	return t->count ? &t->loops[t->count - 1] : &t->root;
}

static void close_nest(struct gen *g, struct nest *t)
{
	int n = 1;
	const char *pragma;

	if (g->lang->gpu) {
		naive_end_kernel(g, &t->kernel, &t->root);
		return;
	}
	while (n < t->count && t->loops[n - 1].text.len == 0)
		n++;
	pragma = n > 1 ? naive_text(g, " collapse(%d)", n) : "";
	while (t->count-- > 0)
		naive_close(g, &t->loops[t->count], t->count ? NULL : pragma);
	naive_flush(g, &t->root);
}

/* A loop inside s over an axis of n; sets ix. */
static void open_axis(struct gen *g, struct scope *loop, struct scope *s, const struct kw_node *n, int axis,
		      struct at *ix)
{
	naive_scope(g, loop, s, naive_dim(g, n, axis));
	ix[axis] = (struct at){ loop->var, loop };
}

static const struct kw_node *slot_node(const struct kw_node *n, const char *slot)
{
	const struct xnode *x = xn(n);

	for (int i = 0; i < x->slot_count; i++)
		if (strcmp(x->slot_name[i], slot) == 0)
			return x->slot[i].kind == V_NODE ? x->slot[i].n : NULL;
	return NULL;
}

/* A number among the slots, as text of type c; NULL: not given. */
static const char *slot_number(struct gen *g, const struct kw_node *n, const char *slot, enum ctype c, struct scope *cur)
{
	const struct xnode *x = xn(n);
	struct at none[KW_MAX_RANK] = { 0 };
	int64_t k;

	for (int i = 0; i < x->slot_count; i++) {
		const struct value *v = &x->slot[i];
		if (strcmp(x->slot_name[i], slot) != 0)
			continue;
		if (v->kind == V_NODE)
			return naive_value_as(g, v->n, none, cur, c);
		if (v->kind == V_INT && sym_is_const(v->i, &k))
			return naive_number(g, (double)k, c);
		if (v->kind == V_INT)
			return naive_cast(g, naive_size(g, v->i), CT_I64, c);
		if (v->kind == V_FLOAT)
			return naive_number(g, v->f, c);
	}
	return NULL;
}

static void scan(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d)
{
	enum ctype c = naive_ctype(g, n->dtype);
	const char *acc = naive_name(g, "acc"), *v, *least = c == CT_I64 ? g->lang->i64_min : naive_text(g, "-%s", g->lang->inf);
	struct nest t;
	struct scope in, *s = open_nest(g, &t, n, 1u << n->axes[0]);

	naive_line(s, "%s %s = %s;", naive_ctype_text(c), acc,
		   op_id(n) == OP_CUMSUM ? "0" : op_id(n) == OP_CUMPROD ? "1" : least);
	open_axis(g, &in, s, n, n->axes[0], t.ix);
	v = naive_value_as(g, n->args[0], t.ix, &in, c);
	if (op_id(n) == OP_CUMMAX) {
		v = naive_let(g, &in, c, "x", v);
		naive_line(&in, c == CT_I64 ? "if (%s > %s) {" : "if (%s > %s || isnan(%s)) {", v, acc, v);
		naive_line(&in, "%s = %s;", acc, v);
		naive_line(&in, "}");
	} else {
		naive_add(g, &in, n->dtype, acc, op_id(n) == OP_CUMSUM ? '+' : '*', v);
	}
	naive_store(g, &in, array, d, naive_offset(g, n, t.ix), c, acc);
	naive_close(g, &in, NULL);
	close_nest(g, &t);
}

/* ---- softmax: maximum, exponentials and their sum, division ---- */

static int open_axes(struct gen *g, struct scope *loops, struct scope *s, const struct kw_node *n, struct at *ix)
{
	for (int i = 0; i < n->axis_count; i++)
		open_axis(g, &loops[i], i ? &loops[i - 1] : s, n, n->axes[i], ix);
	return n->axis_count;
}

static void close_axes(struct gen *g, struct scope *loops, int count)
{
	while (count-- > 0)
		naive_close(g, &loops[count], NULL);
}

static void softmax(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d)
{
	enum ctype c = naive_ctype(g, n->dtype);
	const char *f = c == CT_F32 ? "f" : "", *most = naive_name(g, "most"), *sum = naive_name(g, "sum"), *v, *at;
	bool kept = naive_ctype(g, d) == c && kw_dtype_info(d)->bits >= 32; /* exponentials wait in the result */
	unsigned skip = 0;
	struct nest t;
	struct scope loops[KW_MAX_RANK], *s, *in;
	int k;

	for (int i = 0; i < n->axis_count; i++)
		skip |= 1u << n->axes[i];
	s = open_nest(g, &t, n, skip);
	naive_line(s, "%s %s = -INFINITY;", naive_ctype_text(c), most);
	k = open_axes(g, loops, s, n, t.ix);
	in = k ? &loops[k - 1] : s;
	v = naive_let(g, in, c, "x", naive_value_as(g, n->args[0], t.ix, in, c));
	naive_line(in, "%s = %s > %s ? %s : %s;", most, v, most, v, most);
	close_axes(g, loops, k);
	naive_line(s, "%s %s = 0;", naive_ctype_text(c), sum);
	k = open_axes(g, loops, s, n, t.ix);
	in = k ? &loops[k - 1] : s;
	v = naive_text(g, "exp%s(%s - %s)", f, naive_value_as(g, n->args[0], t.ix, in, c), most);
	v = naive_let(g, in, c, "e", v);
	if (kept)
		naive_line(in, "%s[%s] = %s;", array, naive_offset(g, n, t.ix), v);
	naive_line(in, "%s += %s;", sum, v);
	close_axes(g, loops, k);
	k = open_axes(g, loops, s, n, t.ix);
	in = k ? &loops[k - 1] : s;
	at = naive_offset(g, n, t.ix);
	if (kept) {
		naive_line(in, "%s[%s] /= %s;", array, at, sum);
	} else {
		v = naive_value_as(g, n->args[0], t.ix, in, c);
		naive_store(g, in, array, d, at, c, naive_text(g, "(exp%s(%s - %s) / %s)", f, v, most, sum));
	}
	close_axes(g, loops, k);
	close_nest(g, &t);
}

/* ---- groupnorm: statistics of a group of channels, then each channel's weight and bias ---- */

/* Loops over the channels of group `group` and what is behind them; returns how many. */
static int open_group(struct gen *g, struct scope *loops, struct scope *s, const struct kw_node *n, const char *group,
		      const char *per, struct at *ix)
{
	naive_scope(g, &loops[0], s, per);
	ix[1] = (struct at){ naive_let(g, &loops[0], CT_I64, "channel",
				       naive_text(g, "%s * %s + %s", group, per, loops[0].var)), &loops[0] };
	for (int i = 2; i < n->rank; i++)
		open_axis(g, &loops[i - 1], &loops[i - 2], n, i, ix);
	return n->rank - 1;
}

static void groupnorm(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d)
{
	enum ctype c = naive_ctype(g, n->dtype);
	const char *type = naive_ctype_text(c), *mean = naive_name(g, "mean"), *var = naive_name(g, "var"), *scale;
	const char *groups = slot_number(g, n, "num_groups", CT_I64, NULL), *per, *count, *v, *delta;
	const struct kw_node *x = n->args[0], *weight = slot_node(n, "weight"), *bias = slot_node(n, "bias");
	struct nest t;
	struct scope group, loops[KW_MAX_RANK], *s = open_nest(g, &t, n, ~1u), *in;
	int k;

	per = naive_text(g, "(%s / %s)", naive_dim(g, n, 1), groups);
	count = per;
	for (int i = 2; i < n->rank; i++)
		count = naive_product(g, count, naive_dim(g, n, i));
	naive_scope(g, &group, s, groups);
	naive_line(&group, "%s %s = 0;", type, mean);
	k = open_group(g, loops, &group, n, group.var, per, t.ix);
	in = &loops[k - 1];
	naive_line(in, "%s += %s;", mean, naive_value_as(g, x, t.ix, in, c));
	close_axes(g, loops, k);
	naive_line(&group, "%s /= (%s)(%s);", mean, type, count);
	naive_line(&group, "%s %s = 0;", type, var);
	k = open_group(g, loops, &group, n, group.var, per, t.ix);
	in = &loops[k - 1];
	delta = naive_name(g, "d");
	naive_line(in, "const %s %s = %s - %s;", type, delta, naive_value_as(g, x, t.ix, in, c), mean);
	naive_line(in, "%s += %s * %s;", var, delta, delta);
	close_axes(g, loops, k);
	scale = naive_let(g, &group, c, "scale", naive_text(g, "1 / sqrt%s(%s / (%s)(%s) + %s)", c == CT_F32 ? "f" : "",
							    var, type, count, slot_number(g, n, "eps", c, &group)));
	k = open_group(g, loops, &group, n, group.var, per, t.ix);
	in = &loops[k - 1];
	v = naive_text(g, "((%s - %s) * %s)", naive_value_as(g, x, t.ix, in, c), mean, scale);
	if (weight)
		v = naive_text(g, "(%s * %s)", v, naive_value_as(g, weight, &t.ix[1], in, c));
	if (bias)
		v = naive_text(g, "(%s + %s)", v, naive_value_as(g, bias, &t.ix[1], in, c));
	naive_store(g, in, array, d, naive_offset(g, n, t.ix), c, v);
	close_axes(g, loops, k);
	naive_close(g, &group, NULL);
	close_nest(g, &t);
}

/* ---- attention: a row of scores at a time ---- */

struct attention {
	const struct kw_node *n, *q, *k, *v, *mask;
	enum ctype c;
	const char *f, *scores, *scale;   /* scores: the row's place in the workspace */
	struct nest t;
};

/* Scores of a row: one per leading index, so that threads do not share one. */
static const char *score_array(struct gen *g, struct attention *a)
{
	const char *name = naive_name(g, "scores"), *type = a->c == CT_F64 ? "f64" : "f32";

	kw_buf_printf(&g->workspaces, "//@ workspace %s %s[", name, type);
	for (int i = 0; i < a->n->rank - 2; i++)
		kw_buf_printf(&g->workspaces, "%s, ", sym_text(g->a, a->n->shape[i].poly));
	kw_buf_printf(&g->workspaces, "%s]\n", sym_text(g->a, a->k->shape[a->k->rank - 2].poly));
	kw_buf_printf(&g->args, "%s,%s *%s\n", name, naive_ctype_text(a->c), name);
	return name;
}

/* The index of a key or value: its head is shared by a group of the query's heads. */
static void key_index(struct gen *g, const struct attention *a, const struct at *key, struct at *out)
{
	int r = a->n->rank;

	memcpy(out, a->t.ix, sizeof(a->t.ix));
	if (a->n->attr[1])
		out[r - 3].text = naive_text(g, "%s / (%s / %s)", out[r - 3].text, naive_dim(g, a->q, r - 3),
					     naive_dim(g, a->k, r - 3));
	out[r - 2] = *key;
}

static void score(struct gen *g, struct attention *a, struct scope *row, const char *most)
{
	int r = a->n->rank;
	struct at at_q[KW_MAX_RANK], at_k[KW_MAX_RANK], at_mask[KW_MAX_RANK];
	struct scope keys, dot;
	const char *acc = naive_name(g, "dot"), *value, *m;

	naive_scope(g, &keys, row, naive_dim(g, a->k, r - 2));
	naive_line(&keys, "%s %s = 0;", naive_ctype_text(a->c), acc);
	naive_scope(g, &dot, &keys, naive_dim(g, a->q, r - 1));
	memcpy(at_q, a->t.ix, sizeof(at_q));
	at_q[r - 1] = (struct at){ dot.var, &dot };
	key_index(g, a, &(struct at){ keys.var, &keys }, at_k);
	at_k[r - 1] = at_q[r - 1];
	value = naive_value_as(g, a->q, at_q, &dot, a->c);
	naive_line(&dot, "%s += %s * %s;", acc, value, naive_value_as(g, a->k, at_k, &dot, a->c));
	naive_close(g, &dot, NULL);
	naive_line(&keys, "%s *= %s;", acc, a->scale);
	if (a->mask) {
		memcpy(at_mask, at_q, sizeof(at_mask));
		at_mask[r - 1] = (struct at){ keys.var, &keys };
		memmove(at_mask, at_mask + r - a->mask->rank, sizeof(at_mask[0]) * (size_t)a->mask->rank);
		m = naive_value(g, a->mask, at_mask, &keys);
		if (kw_dtype_info(a->mask->dtype)->cls == KW_CLASS_BOOL) {
			naive_line(&keys, "if (!%s) {", m);
			naive_line(&keys, "%s = -INFINITY;", acc);
			naive_line(&keys, "}");
		} else {
			naive_line(&keys, "%s += %s;", acc, naive_cast(g, m, naive_ctype(g, a->mask->dtype), a->c));
		}
	}
	if (a->n->attr[0]) {
		naive_line(&keys, "if (%s > %s) {", keys.var, a->t.ix[r - 2].text);
		naive_line(&keys, "%s = -INFINITY;", acc);
		naive_line(&keys, "}");
	}
	naive_line(&keys, "%s[%s] = %s;", a->scores, keys.var, acc);
	naive_line(&keys, "%s = %s > %s ? %s : %s;", most, acc, most, acc, most);
	naive_close(g, &keys, NULL);
}

/* A row that sees no key has a sum of 0: its result is 0. */
static void weigh(struct gen *g, struct attention *a, struct scope *row, const char *most, const char *sum)
{
	struct scope keys;

	naive_line(row, "%s %s = 0;", naive_ctype_text(a->c), sum);
	naive_scope(g, &keys, row, naive_dim(g, a->k, a->k->rank - 2));
	naive_line(&keys, "%s[%s] = exp%s(%s[%s] - (%s == -INFINITY ? 0 : %s));", a->scores, keys.var, a->f, a->scores,
		   keys.var, most, most);
	naive_line(&keys, "%s += %s[%s];", sum, a->scores, keys.var);
	naive_close(g, &keys, NULL);
}

static void attention(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d)
{
	struct attention a = { .n = n, .q = n->args[0], .k = n->args[1], .v = n->args[2], .c = naive_ctype(g, n->dtype) };
	int r = n->rank;
	const char *most = naive_name(g, "most"), *sum = naive_name(g, "sum"), *acc = naive_name(g, "acc"), *type, *all;
	struct at at_v[KW_MAX_RANK];
	struct scope row, columns, keys, *s;

	type = naive_ctype_text(a.c);
	a.f = a.c == CT_F32 ? "f" : "";
	a.mask = slot_node(n, "mask");
	s = open_nest(g, &a.t, n, 3u << (r - 2));
	all = score_array(g, &a);
	a.scale = slot_number(g, n, "scale", a.c, s);
	if (!a.scale)
		a.scale = naive_let(g, &a.t.root, a.c, "scale",
				    naive_text(g, "1 / sqrt%s((%s)%s)", a.f, type, naive_dim(g, a.q, r - 1)));
	if (r > 2) {
		struct kw_node lead = *n;
		const char *at, *keys_count = naive_dim(g, a.k, r - 2);
		lead.rank = r - 2;
		at = naive_offset(g, &lead, a.t.ix);
		a.scores = naive_name(g, "row");
		naive_line(s, "%s *%s = %s + (%s) * %s;", type, a.scores, all, at, keys_count);
	} else {
		a.scores = all;
	}
	open_axis(g, &row, s, n, r - 2, a.t.ix);
	naive_line(&row, "%s %s = -INFINITY;", type, most);
	score(g, &a, &row, most);
	weigh(g, &a, &row, most, sum);
	open_axis(g, &columns, &row, n, r - 1, a.t.ix);
	naive_line(&columns, "%s %s = 0;", type, acc);
	naive_scope(g, &keys, &columns, naive_dim(g, a.v, r - 2));
	key_index(g, &a, &(struct at){ keys.var, &keys }, at_v);
	naive_line(&keys, "%s += %s[%s] * %s;", acc, a.scores, keys.var, naive_value_as(g, a.v, at_v, &keys, a.c));
	naive_close(g, &keys, NULL);
	naive_store(g, &columns, array, d, naive_offset(g, n, a.t.ix), a.c,
		    naive_text(g, "(%s == 0 ? 0 : %s / %s)", sum, acc, sum));
	naive_close(g, &columns, NULL);
	naive_close(g, &row, NULL);
	close_nest(g, &a.t);
}

/* ---- top-k: by selection, k passes over the row ---- */

static void topk(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d,
		 const struct kw_node *twin, const char *twin_array, enum kw_dtype twin_dtype)
{
	const struct kw_node *x = n->args[0];
	enum ctype c = naive_ctype(g, x->dtype);
	const char *type = naive_ctype_text(c), *best = naive_name(g, "best"), *at = naive_name(g, "at");
	const char *last = naive_name(g, "last"), *last_at = naive_name(g, "last_at"), *v, *after, *better;
	int axis = n->axes[0];
	struct nest t;
	struct at ix[KW_MAX_RANK];
	struct scope rank, in, *s = open_nest(g, &t, n, 1u << axis);

	naive_line(s, "%s %s = 0;", type, last);
	naive_line(s, "int64_t %s = -1;", last_at);
	open_axis(g, &rank, s, n, axis, t.ix);
	naive_line(&rank, "%s %s = 0;", type, best);
	naive_line(&rank, "int64_t %s = -1;", at);
	memcpy(ix, t.ix, sizeof(ix));
	open_axis(g, &in, &rank, x, axis, ix);
	v = naive_let(g, &in, c, "x", naive_value(g, x, ix, &in));
	/* Not chosen yet: less than the last one, or equal and behind it. NaN counts as the largest. */
	after = naive_text(g, "%s < 0 || %s < %s || (%s == %s && %s > %s)", last_at, v, last, v, last, in.var, last_at);
	better = naive_text(g, "%s < 0 || %s > %s", at, v, best);
	if (c != CT_I64) {
		after = naive_text(g, "%s || (isnan(%s) && (!isnan(%s) || %s > %s))", after, last, v, in.var, last_at);
		better = naive_text(g, "%s || (isnan(%s) && !isnan(%s))", better, v, best);
	}
	naive_line(&in, "if ((%s) && (%s)) {", after, better);
	naive_line(&in, "%s = %s;", best, v);
	naive_line(&in, "%s = %s;", at, in.var);
	naive_line(&in, "}");
	naive_close(g, &in, NULL);
	for (int i = 0; i < (twin ? 2 : 1); i++) {
		const struct kw_node *m = i ? twin : n;
		naive_store(g, &rank, i ? twin_array : array, i ? twin_dtype : d, naive_offset(g, m, t.ix),
			    m->index == 1 ? CT_I64 : c, m->index == 1 ? at : best);
	}
	naive_line(&rank, "%s = %s;", last, best);
	naive_line(&rank, "%s = %s;", last_at, at);
	naive_close(g, &rank, NULL);
	close_nest(g, &t);
}

void naive_template(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d,
		    const struct kw_node *twin, const char *twin_array, enum kw_dtype twin_dtype)
{
	switch (op_id(n)) {
	case OP_SOFTMAX: softmax(g, n, array, d); return;
	case OP_GROUPNORM: groupnorm(g, n, array, d); return;
	case OP_ATTENTION: attention(g, n, array, d); return;
	case OP_TOPK: topk(g, n, array, d, twin, twin_array, twin_dtype); return;
	default: scan(g, n, array, d); return;
	}
}
