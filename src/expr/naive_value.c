/* naive_value.c - the value of a node at an index, as a C expression; what it needs first becomes statements. */
#include "expr/naive.h"

#include <string.h>

enum { SHORT_TERM = 200, TERMS_AHEAD = 32 }; /* bytes of text; four sectors of memory of f32 */

static const char *compute(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s);

const char *naive_cast(struct gen *g, const char *v, enum ctype from, enum ctype to)
{
	size_t n = strlen(v);

	if (from == to || (from == CT_F32 && to == CT_F64))
		return v;
	/* "(int64_t)x[i]" to a float needs no step between. */
	if (from == CT_I64 && strncmp(v, "(int64_t)", 9) == 0 && v[9] != '(' && v[n - 1] == ']')
		v += 9;
	return naive_text(g, "(%s)%s", naive_ctype_text(to), v);
}

static bool is_plain(const char *v)
{
	return v[strspn(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.")] == '\0';
}

const char *naive_let(struct gen *g, struct scope *s, enum ctype c, const char *stem, const char *v)
{
	const char *name;

	if (is_plain(v))
		return v;
	name = naive_name(g, stem);
	naive_line(s, "const %s %s = %s;", naive_ctype_text(c), name, v);
	return name;
}

struct scope *naive_deepest(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *cur)
{
	struct scope *s = cur;

	while (s->parent)
		s = s->parent;
	for (int i = 0; i < n->rank; i++)
		if (ix[i].scope && ix[i].scope->depth > s->depth && (g->flat || !naive_is_one(n, i)))
			s = ix[i].scope;
	return s;
}

/* The index of an elementwise argument: the last axes, 0 where it is repeated. */
void naive_arg_index(struct gen *g, const struct kw_node *n, const struct kw_node *arg, const struct at *ix,
		     struct at *out)
{
	for (int i = 0; i < arg->rank; i++)
		out[i] = g->flat ? ix[0] : ix[n->rank - arg->rank + i];
}

static const char *find_known(const struct scope *s, const struct kw_node *n, const char *key)
{
	for (const struct known *k = s->known; k; k = k->next)
		if (k->n == n && strcmp(k->key, key) == 0)
			return k->name;
	return NULL;
}

static void remember(struct gen *g, struct scope *s, const struct kw_node *n, const char *key, const char *name)
{
	struct known *k = kw_arena_calloc(g->a, 1, sizeof(*k));

	if (!k)
		return; /* it is computed again */
	*k = (struct known){ n, key, name, s->known };
	s->known = k;
}

/* An input that has the strides of its case. */
static const char *input_offset(struct gen *g, const struct kw_node *n, const struct at *ix)
{
	const char *text = NULL;

	for (int i = 0; i < n->rank; i++) {
		if (strcmp(ix[i].text, "0") == 0)
			continue;
		text = naive_text(g, is_plain(ix[i].text) ? "%s%s%s * %s" : "%s%s(%s) * %s", text ? text : "",
				  text ? " + " : "", ix[i].text, naive_stride(g, n->index, i));
	}
	return text ? text : "0";
}

const char *naive_load(struct gen *g, const struct kw_node *n, const struct at *ix)
{
	const char *offset = naive_is_strided(g, n) ? input_offset(g, n, ix) : naive_offset(g, n, ix), *array = g->array[n->id];
	enum kw_dtype d = g->array_dtype[n->id];
	const struct kw_dtype_info *info = kw_dtype_info(d);
	const char *widen = g->wide ? "(double)" : "";

	if (info->cls == KW_CLASS_FLOAT && info->bits < 32)
		return naive_text(g, "%skw_%s_to_f32(%s[%s])", widen, info->name, array, offset);
	if (d == KW_F32)
		return naive_text(g, "%s%s[%s]", widen, array, offset);
	if (d == KW_BOOL)
		return naive_text(g, "(%s[%s] != 0)", array, offset);
	if (info->cls == KW_CLASS_INT && d != KW_I64)
		return naive_text(g, "(int64_t)%s[%s]", array, offset);
	return naive_text(g, "%s[%s]", array, offset);
}

static bool is_leaf(const struct gen *g, const struct kw_node *n)
{
	return g->array[n->id] || n->kind == KW_NODE_PARAM || n->kind == KW_NODE_CONST || n->kind == KW_NODE_DIM;
}

/* In a reference what a kernel is handed: the param in its own dtype. */
static const char *param(struct gen *g, const struct kw_node *n)
{
	const char *name = naive_ident(g, g->task->params[n->index].name);
	const struct kw_dtype_info *info = kw_dtype_info(n->dtype);

	if (!g->wide || info->cls != KW_CLASS_FLOAT || n->dtype == KW_F64)
		return name;
	if (info->bits == 32)
		return naive_text(g, "(double)%s", name);
	return naive_text(g, "(double)kw_%s_to_f32(kw_%s_from_f32(%s))", info->name, info->name, name);
}

static const char *constant(struct gen *g, const struct kw_node *n, enum ctype c)
{
	bool narrow = g->rounds && kw_dtype_is_float(n->dtype) && n->dtype != KW_F64;

	return naive_number(g, narrow ? (double)(float)n->value : n->value, c);
}

static const char *leaf(struct gen *g, const struct kw_node *n, const struct at *ix)
{
	if (g->array[n->id])
		return naive_load(g, n, ix);
	if (n->kind == KW_NODE_PARAM)
		return param(g, n);
	if (n->kind == KW_NODE_DIM)
		return naive_size(g, n->shape[0].poly);
	return constant(g, n, naive_ctype(g, n->dtype));
}

static const char *key_of(struct gen *g, const struct kw_node *n, const struct at *ix)
{
	const char *key = "";

	for (int i = 0; i < n->rank; i++)
		key = naive_text(g, "%s%s;", key, ix[i].text);
	return key;
}

const char *naive_value(struct gen *g, const struct kw_node *n, const struct at *given, struct scope *cur)
{
	struct at ix[KW_MAX_RANK] = { 0 };
	struct scope *s;
	const char *key, *v;

	for (int i = 0; i < n->rank; i++) {
		ix[i] = given[i];
		if (!g->flat && naive_is_one(n, i))
			ix[i] = (struct at){ "0", NULL };
	}
	if (is_leaf(g, n))
		return leaf(g, n, ix);
	s = naive_deepest(g, n, ix, cur);
	/* A step on the way that is used once stays inside the expression. */
	if (s == cur && g->uses[n->id] < 2 && n->kind != KW_NODE_REDUCE)
		return compute(g, n, ix, s);
	if (n->kind == KW_NODE_MOVE)
		return compute(g, n, ix, cur);
	key = key_of(g, n, ix);
	v = find_known(s, n, key);
	if (v)
		return v;
	v = naive_let(g, s, naive_ctype(g, n->dtype), "v", compute(g, n, ix, s));
	remember(g, s, n, key, v);
	return v;
}

const char *naive_value_as(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *cur, enum ctype c)
{
	if (n->kind == KW_NODE_CONST && !g->array[n->id])
		return constant(g, n, c);
	return naive_cast(g, naive_value(g, n, ix, cur), naive_ctype(g, n->dtype), c);
}

/* ---- reductions ---- */

static const char *start_value(struct gen *g, enum op_id op, enum ctype c)
{
	switch (op) {
	case OP_MAX: case OP_ARGMAX: return c == CT_I64 ? g->lang->i64_min : naive_text(g, "-%s", g->lang->inf);
	case OP_MIN: case OP_ARGMIN: return c == CT_I64 ? g->lang->i64_max : g->lang->inf;
	case OP_PROD: case OP_ALL: return naive_number(g, 1, c);
	default: return naive_number(g, 0, c);
	}
}

static void accumulate(struct gen *g, const struct kw_node *n, struct scope *s, const char *acc, const char *index,
		       const char *v, enum ctype c)
{
	enum op_id op = op_id(n);
	bool more = op == OP_MAX || op == OP_ARGMAX, arg = op == OP_ARGMAX || op == OP_ARGMIN;

	switch (op) {
	case OP_SUM: case OP_MEAN: naive_add(g, s, n->dtype, acc, '+', v); return;
	case OP_PROD: naive_add(g, s, n->dtype, acc, '*', v); return;
	case OP_ANY: naive_line(s, "%s |= %s != 0;", acc, v); return;
	case OP_ALL: naive_line(s, "%s &= %s != 0;", acc, v); return;
	default: break;
	}
	v = naive_let(g, s, c, "x", v);
	/* A NaN wins, and the first one stays. */
	if (c == CT_I64)
		naive_line(s, "if (%s %c %s) {", v, more ? '>' : '<', acc);
	else
		naive_line(s, "if (%s %c %s || (%s != %s && %s == %s)) {", v, more ? '>' : '<', acc, v, v, acc, acc);
	naive_line(s, "%s = %s;", acc, v);
	if (arg)
		naive_line(s, "at_%s = %s;", acc, index);
	naive_line(s, "}");
}

/* A running sum that is rounded to f32 at each step, of terms that are f32: the sum of two such in f64, rounded, is the one in f32 (Figueroa
 * 1995), and that takes a tenth of the time of two conversions a step. */
static bool adds_singles(const struct gen *g, const struct kw_node *n)
{
	enum kw_dtype from = n->args[0]->dtype;

	return g->rounds && (op_id(n) == OP_SUM || op_id(n) == OP_MEAN) && kw_dtype_is_float(n->dtype) && n->dtype != KW_F64 &&
	       kw_dtype_is_float(from) && from != KW_F64;
}

/* One thread adds all: its next terms have to be on their way meanwhile. */
static void close_sum(struct gen *g, struct scope *loop)
{
	if (loop->text.len < SHORT_TERM)
		naive_line(loop->parent, "#pragma unroll %d", TERMS_AHEAD);
	naive_close(g, loop, NULL);
}

/* ---- sums of a warp ----
 *
 * One thread that adds a million terms in their order waits for memory most of the time. In a warp each lane brings terms, neighbours those of
 * neighbouring addresses, and every lane adds all of them in the same order: the same sum, bit for bit. */

enum { FEW = 8192, LONG = 4096, LONG_LAST = 64 }; /* elements; terms of a sum; of its last axis */

/* How large an axis is in the task's first case; -1: not known. */
static int64_t size_of(const struct gen *g, const struct kw_node *n, int axis)
{
	int64_t size;

	return sym_eval(n->shape[axis].poly, &g->sizes, &size, NULL) == KW_OK ? size : -1;
}

static bool is_long(const struct gen *g, const struct kw_node *n)
{
	const struct kw_node *x = n->kind == KW_NODE_REDUCE ? n->args[0] : NULL;
	int64_t terms = 1, last = 0;

	if (!x || !n->axis_count || !adds_singles(g, n))
		return false;
	for (int i = 0; i < n->axis_count; i++)
		if ((last = size_of(g, x, n->axes[i])) < 0 || __builtin_mul_overflow(terms, last, &terms))
			return false;
	return last >= LONG_LAST && terms >= LONG;
}

static bool has_long(const struct gen *g, const struct kw_node *n, bool *seen)
{
	if (is_long(g, n))
		return true;
	for (int i = 0; i < n->arg_count; i++) {
		const struct kw_node *x = n->args[i];

		if (seen[x->id] || g->array[x->id])
			continue;
		seen[x->id] = true;
		if (has_long(g, x, seen))
			return true;
	}
	return false;
}

bool naive_wants_lanes(struct gen *g, const struct kw_node *n)
{
	int64_t size, elements = 1;
	bool *seen;

	if (!g->rounds)
		return false;
	for (int i = 0; i < n->rank; i++)
		if ((size = size_of(g, n, i)) < 0 || __builtin_mul_overflow(elements, size, &elements))
			return false;
	if (elements > FEW)
		return false;
	seen = kw_arena_calloc(g->a, g->e->node_count + 1, sizeof *seen);
	if (!seen)
		naive_nomem(g);
	return seen && has_long(g, n, seen);
}

/* The loop of a sum's last axis, whose terms are of the scope `loop`. */
static void add_by_lanes(struct gen *g, struct scope *loop, const char *acc, const struct kw_node *x, const struct at *ix, enum ctype c)
{
	const char *lane = g->lane, *from = naive_name(g, "from"), *terms = naive_name(g, "terms"), *term = naive_name(g, "term");
	struct scope *out = loop->parent;

	g->lane = NULL; /* what a term needs is each lane's own */
	naive_line(loop, "%s[%s] = (float)(%s);", terms, term, naive_value_as(g, x, ix, loop, c));
	g->lane = lane;
	naive_line(out, "for (int64_t %s = 0; %s < %s; %s += %d) {", from, from, loop->bound, from, NAIVE_LANES * NAIVE_LANE_TERMS);
	naive_line(out, "float %s[%d];", terms, NAIVE_LANE_TERMS);
	naive_line(out, loop->text.len < SHORT_TERM ? "#pragma unroll" : "#pragma unroll 1");
	naive_line(out, "for (int %s = 0; %s < %d; %s++) {", term, term, NAIVE_LANE_TERMS, term);
	naive_line(out, "const int64_t %s = %s(%s + %d * %s + %s, %s - 1);", loop->var, g->lang->min, from, NAIVE_LANES, term, lane, loop->bound);
	kw_buf_add(&out->text, loop->text.ptr, loop->text.len);
	naive_line(out, "}");
	naive_line(out, "%s = add_in_order(%s, %s, %s - %s);", acc, acc, terms, loop->bound, from);
	naive_line(out, "}");
	if (loop->text.full || out->text.full)
		naive_nomem(g);
	kw_buf_release(&loop->text);
}

static const char *reduce(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const struct kw_node *x = n->args[0];
	enum op_id op = op_id(n);
	bool arg = op == OP_ARGMAX || op == OP_ARGMIN, truth = op == OP_ANY || op == OP_ALL;
	enum ctype c = truth ? CT_I64 : arg || op == OP_MAX || op == OP_MIN ? naive_ctype(g, x->dtype) : naive_ctype(g, n->dtype);
	const char *acc = naive_name(g, op == OP_MAX || op == OP_MIN || arg ? "best" : "acc"), *count = "1", *pragma;
	struct scope loops[KW_MAX_RANK], *in = s;
	struct at inner[KW_MAX_RANK] = { 0 };
	bool singles = adds_singles(g, n);
	int depth = 0;

	naive_line(s, "%s %s = %s;", singles ? "float" : naive_ctype_text(c), acc, singles ? "0.0f" : start_value(g, op, c));
	if (arg)
		naive_line(s, "int64_t at_%s = 0;", acc);
	for (int i = 0, k = 0, o = 0; i < x->rank; i++) {
		bool gone = k < n->axis_count && n->axes[k] == i;
		k += gone;
		if (gone) {
			naive_scope(g, &loops[depth], in, naive_dim(g, x, i));
			in = &loops[depth++];
			inner[i] = (struct at){ in->var, in };
			count = depth == 1 ? in->bound : naive_product(g, count, in->bound);
		} else {
			inner[i] = ix[o];
		}
		o += !gone || n->keepdims;
	}
	if (depth == 0)
		return naive_value_as(g, x, inner, s, naive_ctype(g, n->dtype));
	if (singles) {
		if (g->lane && is_long(g, n)) {
			add_by_lanes(g, &loops[--depth], acc, x, inner, c);
		} else {
			naive_line(in, "%s = __fadd_rn(%s, (float)(%s));", acc, acc, naive_value_as(g, x, inner, in, c));
			close_sum(g, &loops[--depth]);
		}
		while (depth-- > 0)
			naive_close(g, &loops[depth], NULL);
		acc = naive_text(g, "(double)%s", acc);
		return op == OP_MEAN ? naive_text(g, "(%s / (double)(%s))", acc, count) : acc;
	}
	accumulate(g, n, in, acc, depth ? loops[0].var : "0",
		   truth ? naive_value(g, x, inner, in) : naive_value_as(g, x, inner, in, c), c);
	pragma = s->depth || !(op == OP_SUM || op == OP_MEAN || op == OP_PROD) ? NULL :
		 naive_text(g, " reduction(%c:%s)", op == OP_PROD ? '*' : '+', acc);
	while (depth-- > 0)
		naive_close(g, &loops[depth], depth ? NULL : pragma);
	if (arg)
		return naive_text(g, "at_%s", acc);
	return op == OP_MEAN ? naive_text(g, "(%s / (%s)(%s))", acc, naive_ctype_text(c), count) : acc;
}

/* ---- products: a loop per letter that is summed over ---- */

static const char *contract(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	struct labels l;
	struct scope loops[2 * KW_MAX_RANK], *in = s;
	struct at letter[128] = { 0 }, at[2][KW_MAX_RANK] = { 0 };
	enum ctype c = naive_ctype(g, n->dtype);
	const char *acc = naive_name(g, "acc"), *a, *b;
	int depth = 0;

	contract_labels(n, &l);
	for (int i = 0; i < n->rank; i++)
		letter[(unsigned char)l.out[i]] = ix[i];
	naive_line(s, "%s %s = 0;", naive_ctype_text(c), acc);
	for (const char *p = l.sum; *p; p++) {
		const char *bound = "1";
		for (int k = 0; k < 2; k++) {
			const char *found = strchr(l.in[k], *p);
			if (found && !naive_is_one(n->args[k], (int)(found - l.in[k])))
				bound = naive_dim(g, n->args[k], (int)(found - l.in[k]));
		}
		naive_scope(g, &loops[depth], in, bound);
		in = &loops[depth++];
		letter[(unsigned char)*p] = (struct at){ in->var, in };
	}
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < n->args[k]->rank; i++)
			at[k][i] = letter[(unsigned char)l.in[k][i]];
	a = naive_value_as(g, n->args[0], at[0], in, c);
	b = naive_value_as(g, n->args[1], at[1], in, c);
	naive_add(g, in, n->dtype, acc, '+', naive_text(g, "%s * %s", a, b));
	while (depth-- > 0)
		naive_close(g, &loops[depth], NULL);
	return acc;
}

static const char *compute(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const char *v;

	switch (n->kind) {
	case KW_NODE_ELEMENTWISE: return naive_rounded(g, n->dtype, naive_elem(g, n, ix, s));
	case KW_NODE_REDUCE:
		v = reduce(g, n, ix, s);
		return op_id(n) == OP_MEAN ? naive_rounded(g, n->dtype, v) : v;
	case KW_NODE_CONTRACT: return contract(g, n, ix, s);
	case KW_NODE_WINDOW: return naive_window(g, n, ix, s);
	case KW_NODE_MOVE: return naive_move(g, n, ix, s);
	case KW_NODE_GATHER:
		if (op_id(n) != OP_TOPK)
			return naive_gather(g, n, ix, s);
		break;
	default: break;
	}
	naive_fail(g, n, "");
	return "0";
}
