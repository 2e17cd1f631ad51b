/* naive_value.c - the value of a node at an index, as a C expression; what it needs first becomes statements. */
#include "expr/naive.h"

#include <string.h>

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

static struct scope *root_of(struct scope *s)
{
	while (s->parent)
		s = s->parent;
	return s;
}

struct scope *naive_deepest(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *root)
{
	struct scope *s = root;

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

static const char *load(struct gen *g, const struct kw_node *n, const struct at *ix)
{
	const char *offset = naive_offset(g, n, ix), *array = g->array[n->id];
	enum kw_dtype d = g->array_dtype[n->id];
	const struct kw_dtype_info *info = kw_dtype_info(d);

	if (info->cls == KW_CLASS_FLOAT && info->bits < 32)
		return naive_text(g, "kw_%s_to_f32(%s[%s])", info->name, array, offset);
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

static const char *leaf(struct gen *g, const struct kw_node *n, const struct at *ix)
{
	if (g->array[n->id])
		return load(g, n, ix);
	if (n->kind == KW_NODE_PARAM)
		return g->task->params[n->index].name;
	if (n->kind == KW_NODE_DIM)
		return naive_size(g, n->shape[0].poly);
	return naive_number(g, n->value, naive_ctype(n->dtype));
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
	s = naive_deepest(g, n, ix, root_of(cur));
	/* A step on the way that is used once stays inside the expression. */
	if (s == cur && g->uses[n->id] < 2 && n->kind != KW_NODE_REDUCE)
		return compute(g, n, ix, s);
	if (n->kind == KW_NODE_MOVE)
		return compute(g, n, ix, cur);
	key = key_of(g, n, ix);
	v = find_known(s, n, key);
	if (v)
		return v;
	v = naive_let(g, s, naive_ctype(n->dtype), "v", compute(g, n, ix, s));
	remember(g, s, n, key, v);
	return v;
}

const char *naive_value_as(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *cur, enum ctype c)
{
	if (n->kind == KW_NODE_CONST && !g->array[n->id])
		return naive_number(g, n->value, c);
	return naive_cast(g, naive_value(g, n, ix, cur), naive_ctype(n->dtype), c);
}

/* ---- reductions ---- */

static const char *start_value(struct gen *g, enum op_id op, enum ctype c)
{
	switch (op) {
	case OP_MAX: case OP_ARGMAX: return c == CT_I64 ? "INT64_MIN" : "-INFINITY";
	case OP_MIN: case OP_ARGMIN: return c == CT_I64 ? "INT64_MAX" : "INFINITY";
	case OP_PROD: case OP_ALL: return naive_number(g, 1, c);
	default: return naive_number(g, 0, c);
	}
}

static void accumulate(struct gen *g, enum op_id op, struct scope *s, const char *acc, const char *index,
		       const char *v, enum ctype c)
{
	bool more = op == OP_MAX || op == OP_ARGMAX, arg = op == OP_ARGMAX || op == OP_ARGMIN;

	switch (op) {
	case OP_SUM: case OP_MEAN: naive_line(s, "%s += %s;", acc, v); return;
	case OP_PROD: naive_line(s, "%s *= %s;", acc, v); return;
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

static const char *reduce(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const struct kw_node *x = n->args[0];
	enum op_id op = op_id(n);
	bool arg = op == OP_ARGMAX || op == OP_ARGMIN, truth = op == OP_ANY || op == OP_ALL;
	enum ctype c = truth ? CT_I64 : arg || op == OP_MAX || op == OP_MIN ? naive_ctype(x->dtype) : naive_ctype(n->dtype);
	const char *acc = naive_name(g, op == OP_MAX || op == OP_MIN || arg ? "best" : "acc"), *count = "1", *pragma;
	struct scope loops[KW_MAX_RANK], *in = s;
	struct at inner[KW_MAX_RANK] = { 0 };
	int depth = 0;

	naive_line(s, "%s %s = %s;", naive_ctype_text(c), acc, start_value(g, op, c));
	if (arg)
		naive_line(s, "int64_t at_%s = 0;", acc);
	for (int i = 0, k = 0, o = 0; i < x->rank; i++) {
		bool gone = k < n->axis_count && n->axes[k] == i;
		k += gone;
		if (gone) {
			naive_scope(g, &loops[depth], in, naive_dim(g, x, i));
			in = &loops[depth++];
			inner[i] = (struct at){ in->var, in };
			count = depth == 1 ? in->bound : naive_text(g, "%s * %s", count, in->bound);
		} else {
			inner[i] = ix[o];
		}
		o += !gone || n->keepdims;
	}
	if (depth == 0)
		return naive_value_as(g, x, inner, s, naive_ctype(n->dtype));
	accumulate(g, op, in, acc, depth ? loops[0].var : "0",
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
	enum ctype c = naive_ctype(n->dtype);
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
	naive_line(in, "%s += %s * %s;", acc, a, b);
	while (depth-- > 0)
		naive_close(g, &loops[depth], NULL);
	return acc;
}

/* ---- moves: the same value at another index ---- */

static const char *reshape(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	const struct kw_node *x = n->args[0];
	struct at inner[KW_MAX_RANK] = { 0 };
	struct scope *from = naive_deepest(g, n, ix, root_of(s));
	const char *flat, *step = "1";
	int same = 0;

	while (same < n->rank && same < x->rank && sym_eq(n->shape[same].poly, x->shape[same].poly)) {
		inner[same] = ix[same];
		same++;
	}
	if (same == n->rank && same == x->rank)
		return naive_value(g, x, inner, s);
	flat = naive_offset(g, n, ix);
	if (g->array[x->id] && x->rank > 0) { /* row-major both: the offset is the same */
		struct kw_node line = *x;
		struct at one = { flat, from };
		const char *v;
		line.rank = 1;
		v = load(g, &line, &one);
		return v;
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
		step = strcmp(step, "1") == 0 ? naive_dim(g, x, i) : naive_text(g, "%s * %s", step, naive_dim(g, x, i));
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
	enum ctype c = naive_ctype(n->dtype);
	const char *name = naive_name(g, "part"), *first = "0";
	struct scope *b = kw_arena_calloc(g->a, (size_t)count, sizeof(*b));
	struct at inner[KW_MAX_RANK];

	if (!b) {
		naive_fail(g, n, "out of memory");
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
	enum ctype c = naive_ctype(n->dtype);
	const char *name = naive_name(g, "part"), *test = "", *v;
	struct at inner[KW_MAX_RANK];
	struct scope b;

	memcpy(inner, ix, sizeof(inner));
	naive_scope(g, &b, s, NULL);
	for (int i = 0; i < n->rank; i++) {
		const char *before = naive_size(g, xn(n)->sym[i]), *size = naive_dim(g, n->args[0], i);
		if (sym_eq(n->shape[i].poly, n->args[0]->shape[i].poly))
			continue;
		inner[i] = (struct at){ naive_text(g, "%s - %s", ix[i].text, before), &b };
		test = naive_text(g, "%s%s%s >= %s && %s < %s + %s", test, test[0] ? " && " : "", ix[i].text, before,
				  ix[i].text, before, size);
	}
	naive_line(s, "%s %s = %s;", naive_ctype_text(c), name, naive_number(g, n->fattr[0], c));
	v = naive_value_as(g, n->args[0], inner, &b, c);
	naive_line(&b, "%s = %s;", name, v);
	close_branch(s, &b, naive_text(g, "if (%s)", test[0] ? test : "1"));
	return name;
}

static const char *move(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
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
	case OP_REPEAT:
		inner[n->axes[0]].text = naive_text(g, "(%s) / %s", ix[n->axes[0]].text, naive_size(g, xn(n)->sym[0]));
		break;
	default:
		naive_fail(g, n, "");
		return "0";
	}
	return naive_value(g, x, inner, s);
}

/* ---- by index ---- */

static const char *gather(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
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
	from = naive_deepest(g, i, which, root_of(s));
	inner[axis] = (struct at){ naive_let(g, from, CT_I64, "at", naive_value(g, i, which, from)), from };
	return naive_value(g, x, inner, s);
}

static const char *compute(struct gen *g, const struct kw_node *n, const struct at *ix, struct scope *s)
{
	switch (n->kind) {
	case KW_NODE_ELEMENTWISE: return naive_elem(g, n, ix, s);
	case KW_NODE_REDUCE: return reduce(g, n, ix, s);
	case KW_NODE_CONTRACT: return contract(g, n, ix, s);
	case KW_NODE_WINDOW: return naive_window(g, n, ix, s);
	case KW_NODE_MOVE: return move(g, n, ix, s);
	case KW_NODE_GATHER:
		if (op_id(n) != OP_TOPK)
			return gather(g, n, ix, s);
		break;
	default: break;
	}
	naive_fail(g, n, "");
	return "0";
}
