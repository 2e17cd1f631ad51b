/* build.c - tools of the builders: nodes, broadcasting, dtypes, calls and their slots. */
#include "expr/internal.h"

#include <string.h>

struct value v_node(struct kw_node *n)
{
	return (struct value){ .kind = V_NODE, .n = n, .line = n->line, .column = n->column };
}

struct value v_int(const struct kw_poly *p)
{
	return (struct value){ .kind = V_INT, .i = p };
}

/* ---- nodes ---- */

struct kw_node *new_node(struct builder *b, enum kw_node_kind kind, enum op_id op, enum kw_dtype d, int rank)
{
	struct xnode *x;

	if (rank > KW_MAX_RANK) {
		bfail(b, b->line, b->column, "a tensor of %d axes; at most %d are supported", rank, KW_MAX_RANK);
		return NULL;
	}
	x = kw_arena_calloc(b->a, 1, sizeof(*x));
	if (!x) {
		bnomem(b);
		return NULL;
	}
	x->n.kind = kind;
	x->n.op = op ? op_get(op) : NULL;
	x->n.dtype = d;
	x->n.rank = rank;
	x->n.line = b->line;
	x->n.column = b->column;
	return &x->n;
}

static bool same_node(const struct kw_node *p, const struct kw_node *q)
{
	const struct xnode *x = xn(p), *y = xn(q);

	if (p->kind != q->kind || p->op != q->op || p->dtype != q->dtype || p->rank != q->rank ||
	    p->arg_count != q->arg_count || p->index != q->index || p->axis_count != q->axis_count ||
	    p->keepdims != q->keepdims || memcmp(&p->value, &q->value, sizeof(p->value)) ||
	    memcmp(p->attr, q->attr, sizeof(p->attr)) || memcmp(p->fattr, q->fattr, sizeof(p->fattr)) ||
	    memcmp(p->axes, q->axes, sizeof(p->axes)) || (p->sattr == NULL) != (q->sattr == NULL) ||
	    (p->sattr && strcmp(p->sattr, q->sattr)) || x->slot || y->slot)
		return false;
	for (int i = 0; i < p->arg_count; i++) {
		if (p->args[i] != q->args[i])
			return false;
	}
	for (int i = 0; i < p->rank || (i == 0 && p->kind == KW_NODE_DIM); i++) {
		if (!sym_eq(p->shape[i].poly, q->shape[i].poly))
			return false;
	}
	for (int i = 0; i < 3 * KW_MAX_RANK; i++) {
		if (!sym_eq(x->sym[i], y->sym[i]))
			return false;
	}
	return true;
}

struct kw_node *finish(struct builder *b, struct kw_node *n)
{
	struct xexpr *x = b->x;

	if (!n || b->status != KW_OK)
		return NULL;
	for (int i = 0; i < n->rank; i++) {
		if (!n->shape[i].poly) {
			bfail(b, n->line, n->column, "a size here is too complicated, or overflows");
			return NULL;
		}
	}
	for (size_t i = x->e.node_count; i-- > 0;) {
		if (same_node(x->e.nodes[i], n))
			return x->e.nodes[i];
	}
	if (x->e.node_count == MAX_NODES) {
		bfail(b, n->line, n->column, "the expression has more than %d operations", MAX_NODES);
		return NULL;
	}
	if (x->e.node_count == x->node_cap) {
		size_t cap = x->node_cap ? 2 * x->node_cap : 64;
		struct kw_node **grown = kw_arena_alloc(b->a, cap * sizeof(struct kw_node *));
		if (!grown) {
			bnomem(b);
			return NULL;
		}
		if (x->e.node_count)
			memcpy(grown, x->e.nodes, x->e.node_count * sizeof(struct kw_node *));
		x->e.nodes = grown;
		x->node_cap = cap;
	}
	n->id = (int)x->e.node_count;
	x->e.nodes[x->e.node_count++] = n;
	return n;
}

/* Args are the nodes among the slots, in order. */
struct kw_node *finish_call(struct builder *b, struct kw_node *n, const struct call *c)
{
	struct kw_node *args[MAX_SLOTS];
	int count = 0;

	if (!n || b->status != KW_OK)
		return NULL;
	for (int i = 0; i < c->slot_count; i++) {
		if (c->slot[i].kind == V_NODE)
			args[count++] = c->slot[i].n;
	}
	if (!n->args && !set_args(b, n, args, count))
		return NULL;
	xn(n)->slot = kw_arena_copy(b->a, c->slot, sizeof(*c->slot) * (size_t)c->slot_count);
	xn(n)->slot_name = kw_arena_alloc(b->a, sizeof(*c->slot_name) * (size_t)c->slot_count);
	xn(n)->slot_count = c->slot_count;
	if (!xn(n)->slot || !xn(n)->slot_name) {
		bnomem(b);
		return NULL;
	}
	memcpy(xn(n)->slot_name, c->slot_name, sizeof(*c->slot_name) * (size_t)c->slot_count);
	return finish(b, n);
}

bool set_args(struct builder *b, struct kw_node *n, struct kw_node *const *args, int count)
{
	n->args = kw_arena_alloc(b->a, sizeof(struct kw_node *) * (size_t)(count ? count : 1));
	if (!n->args)
		return bnomem(b);
	for (int i = 0; i < count; i++)
		n->args[i] = args[i];
	n->arg_count = count;
	return true;
}

bool to_node(struct builder *b, const struct value *v, struct kw_node **out)
{
	struct kw_node *n;
	int64_t i;

	switch (v->kind) {
	case V_NODE:
		*out = v->n;
		return true;
	case V_INT:
		if (sym_is_const(v->i, &i)) {
			n = new_node(b, KW_NODE_CONST, OP_NONE, KW_I64, 0);
			if (n)
				n->value = (double)i;
		} else {
			n = new_node(b, KW_NODE_DIM, OP_NONE, KW_I64, 0);
			if (n && !(n->shape[0].poly = v->i))
				return bnomem(b);
		}
		break;
	case V_FLOAT:
	case V_BOOL:
		n = new_node(b, KW_NODE_CONST, OP_NONE, v->kind == V_FLOAT ? KW_F32 : KW_BOOL, 0);
		if (n)
			n->value = v->f;
		break;
	default:
		return bfail(b, v->line, v->column, "a tensor or a number is needed here, not %s",
			     v->kind == V_TUPLE ? "a list" : v->kind == V_STR ? "a string" :
			     v->kind == V_NONE ? "None" : "a slice");
	}
	if (n)
		xn(n)->weak = true;
	*out = finish(b, n);
	return *out != NULL;
}

/* ---- sizes ---- */

static bool add_check(struct builder *b, enum constraint_kind kind, const struct kw_poly *p, const struct kw_poly *q,
		      const char *what)
{
	struct xexpr *x = b->x;

	if (!p || !q)
		return bnomem(b);
	for (size_t i = 0; i < x->check_count; i++) {
		if (x->checks[i].kind == kind && sym_eq(x->checks[i].a, p) && sym_eq(x->checks[i].b, q))
			return true;
	}
	if (x->check_count == x->check_cap) {
		size_t cap = x->check_cap ? 2 * x->check_cap : 16;
		struct constraint *grown = kw_arena_alloc(b->a, cap * sizeof(*grown));
		if (!grown)
			return bnomem(b);
		if (x->check_count)
			memcpy(grown, x->checks, x->check_count * sizeof(*grown));
		x->checks = grown;
		x->check_cap = cap;
	}
	what = kw_arena_strdup(b->a, what);
	if (!what)
		return bnomem(b);
	x->checks[x->check_count++] = (struct constraint){ kind, p, q, what, b->line, b->column };
	return true;
}

bool require_eq(struct builder *b, const struct kw_poly *p, const struct kw_poly *q, const char *what)
{
	if (sym_eq(p, q))
		return true;
	if (sym_differs(b->a, p, q))
		return bfail(b, b->line, b->column, "%s: %s is not %s", what, sym_text(b->a, p), sym_text(b->a, q));
	return add_check(b, CHECK_EQ, p, q, what);
}

bool require_ge(struct builder *b, const struct kw_poly *p, const struct kw_poly *q, const char *what)
{
	int64_t v;

	if (sym_is_const(sym_sub(b->a, p, q), &v)) {
		if (v >= 0)
			return true;
		return bfail(b, b->line, b->column, "%s: %s is less than %s", what, sym_text(b->a, p),
			     sym_text(b->a, q));
	}
	return add_check(b, CHECK_GE, p, q, what);
}

enum kw_status run_checks(const struct xexpr *x, const struct kw_intenv *env, const char *where, struct kw_error *err)
{
	for (size_t i = 0; i < x->check_count; i++) {
		const struct constraint *c = &x->checks[i];
		int64_t p, q;
		struct kw_error inner = { 0 };
		char text[1800];

		if (sym_eval(c->a, env, &p, &inner) != KW_OK || sym_eval(c->b, env, &q, &inner) != KW_OK) {
			snprintf(text, sizeof(text), "%s (case %s)", inner.text, where);
			return fail_at(x, c->line, c->column, err, text);
		}
		if (c->kind == CHECK_EQ ? p == q : p >= q)
			continue;
		snprintf(text, sizeof(text), "%s: %lld %s %lld (case %s)", c->what, (long long)p,
			 c->kind == CHECK_EQ ? "is not" : "is less than", (long long)q, where);
		return fail_at(x, c->line, c->column, err, text);
	}
	return KW_OK;
}

const char *shape_text(struct builder *b, const struct kw_node *n)
{
	struct kw_buf t;
	char *out;

	kw_buf_init(&t, 1 << 14);
	kw_buf_addc(&t, '[');
	for (int i = 0; i < n->rank; i++) {
		const char *d = sym_text(b->a, n->shape[i].poly);
		kw_buf_printf(&t, "%s%s", i ? ", " : "", d ? d : "?");
	}
	kw_buf_addc(&t, ']');
	out = kw_arena_str(b->a, kw_buf_str(&t));
	kw_buf_release(&t);
	return out ? out : "[?]";
}

bool broadcast(struct builder *b, struct kw_node *n, struct kw_node *const *args, int count)
{
	const struct kw_poly *one = sym_const(b->a, 1);
	char what[400];

	for (int i = 0; i < n->rank; i++)
		n->shape[i].poly = one;
	for (int k = 0; k < count; k++) {
		for (int i = 0; i < args[k]->rank; i++) {
			int to = n->rank - args[k]->rank + i;
			const struct kw_poly *d = args[k]->shape[i].poly;

			if (sym_is(d, 1))
				continue;
			if (sym_is(n->shape[to].poly, 1)) {
				n->shape[to].poly = d;
				continue;
			}
			if (sym_eq(n->shape[to].poly, d))
				continue;
			snprintf(what, sizeof(what), "shapes %s and %s do not broadcast in '%s'",
				 shape_text(b, args[0]), shape_text(b, args[k]), n->op ? n->op->name : "output");
			if (!require_eq(b, n->shape[to].poly, d, what))
				return false;
		}
	}
	return true;
}

/* ---- dtypes ---- */

enum kw_dtype to_float(enum kw_dtype d)
{
	return kw_dtype_is_float(d) && kw_dtype_info(d)->bits > 8 ? d : KW_F32;
}

static enum kw_dtype promote2(enum kw_dtype p, enum kw_dtype q)
{
	const struct kw_dtype_info *x = kw_dtype_info(p), *y = kw_dtype_info(q);

	if (p == q)
		return x->cls == KW_CLASS_FLOAT ? to_float(p) : p;
	if (x->cls != y->cls) {
		bool left = x->cls == KW_CLASS_FLOAT || y->cls == KW_CLASS_BOOL;
		enum kw_dtype d = left ? p : q;
		return kw_dtype_is_float(d) ? to_float(d) : d;
	}
	if (x->cls == KW_CLASS_FLOAT)
		return x->bits == y->bits ? KW_F32 : to_float(x->bits > y->bits ? p : q);
	if (x->bits == y->bits)
		return KW_I16; /* i8 with u8 */
	return x->bits > y->bits ? p : q;
}

enum kw_dtype promote(struct kw_node *const *args, int count)
{
	enum kw_dtype strong = KW_DTYPE_NONE, weak = KW_DTYPE_NONE;

	for (int i = 0; i < count; i++) {
		enum kw_dtype *d = xn(args[i])->weak ? &weak : &strong;
		*d = *d == KW_DTYPE_NONE ? args[i]->dtype : promote2(*d, args[i]->dtype);
	}
	if (strong == KW_DTYPE_NONE)
		return weak;
	if (weak == KW_DTYPE_NONE || kw_dtype_is_float(strong))
		return kw_dtype_is_float(strong) ? to_float(strong) : strong;
	if (kw_dtype_is_float(weak))
		return KW_F32;
	return kw_dtype_info(strong)->cls == KW_CLASS_BOOL && kw_dtype_info(weak)->cls == KW_CLASS_INT ? KW_I64 :
													 strong;
}

/* ---- slots ---- */

int slot_index(const struct call *c, const char *name)
{
	for (int i = 0; i < c->slot_count; i++) {
		if (strcmp(c->slot_name[i], name) == 0)
			return i;
	}
	return -1;
}

static const struct value *slot(const struct call *c, const char *name)
{
	static const struct value none = { .kind = V_NONE };
	int i = slot_index(c, name);

	return i < 0 ? &none : &c->slot[i];
}

bool has(const struct call *c, const char *name)
{
	return slot(c, name)->kind != V_NONE;
}

static bool wrong(struct builder *b, const struct call *c, const char *name, const char *want)
{
	const struct value *v = slot(c, name);

	return bfail(b, v->line ? v->line : c->line, v->line ? v->column : c->column, "%s(): '%s' must be %s",
		     c->name, name, want);
}

bool get_node(struct builder *b, const struct call *c, const char *name, struct kw_node **out)
{
	const struct value *v = slot(c, name);

	if (v->kind == V_NONE || v->kind == V_TUPLE || v->kind == V_STR || v->kind == V_SLICE)
		return wrong(b, c, name, "a tensor or a number");
	return to_node(b, v, out);
}

bool get_poly(struct builder *b, const struct call *c, const char *name, const struct kw_poly **out)
{
	const struct value *v = slot(c, name);

	if (v->kind != V_INT)
		return wrong(b, c, name, "a whole number or a dim");
	*out = v->i;
	return true;
}

bool get_i64(struct builder *b, const struct call *c, const char *name, int64_t *out)
{
	const struct value *v = slot(c, name);

	return v->kind == V_INT && sym_is_const(v->i, out) ? true : wrong(b, c, name, "a whole number");
}

bool get_bool(struct builder *b, const struct call *c, const char *name, bool *out)
{
	const struct value *v = slot(c, name);

	if (v->kind != V_BOOL)
		return wrong(b, c, name, "True or False");
	*out = v->f != 0;
	return true;
}

bool get_str(struct builder *b, const struct call *c, const char *name, const char **out)
{
	const struct value *v = slot(c, name);

	if (v->kind != V_STR)
		return wrong(b, c, name, "a string");
	*out = v->s;
	return true;
}

static bool one_axis(struct builder *b, const struct call *c, const char *name, const struct value *v, int rank,
		     int *out)
{
	int64_t i;

	if (v->kind != V_INT || !sym_is_const(v->i, &i))
		return wrong(b, c, name, "a whole number");
	if (i < -rank || i >= rank)
		return bfail(b, v->line ? v->line : c->line, v->line ? v->column : c->column,
			     "%s(): axis %lld is out of range for %d ax%s", c->name, (long long)i, rank,
			     rank == 1 ? "is" : "es");
	*out = (int)(i < 0 ? i + rank : i);
	return true;
}

bool get_axis(struct builder *b, const struct call *c, const char *name, int rank, int *out)
{
	return one_axis(b, c, name, slot(c, name), rank, out);
}

bool get_axes(struct builder *b, const struct call *c, const char *name, int rank, int *axes, int *count)
{
	const struct value *v = slot(c, name);
	bool used[KW_MAX_RANK] = { false };
	int n = v->kind == V_TUPLE ? v->count : v->kind == V_NONE ? 0 : 1, axis;

	for (int i = 0; i < n; i++) {
		if (!one_axis(b, c, name, v->kind == V_TUPLE ? &v->items[i] : v, rank, &axis))
			return false;
		if (used[axis])
			return wrong(b, c, name, "axes that differ");
		used[axis] = true;
	}
	*count = 0;
	for (int i = 0; i < rank; i++) {
		if (used[i] || v->kind == V_NONE)
			axes[(*count)++] = i;
	}
	return true;
}

bool get_tuple(struct builder *b, const struct call *c, const char *name, int n, int64_t *out)
{
	const struct value *v = slot(c, name);
	char want[64];

	snprintf(want, sizeof(want), "a whole number, or %d of them", n);
	if (v->kind == V_TUPLE && v->count != n && v->count != 1)
		return wrong(b, c, name, want);
	for (int i = 0; i < n; i++) {
		const struct value *e = v->kind == V_TUPLE ? &v->items[v->count == 1 ? 0 : i] : v;
		if (e->kind != V_INT || !sym_is_const(e->i, &out[i]) || out[i] < -(1 << 20) || out[i] > 1 << 20)
			return wrong(b, c, name, want);
	}
	return true;
}

void add_slot(struct call *c, const char *name, const struct value *v)
{
	int i = slot_index(c, name);

	if (i < 0 && c->slot_count < MAX_SLOTS) {
		i = c->slot_count++;
		c->slot_name[i] = name;
	}
	if (i >= 0)
		c->slot[i] = *v;
}

/* ---- calls ---- */

static bool default_value(struct builder *b, struct kw_str s, struct value *v)
{
	int64_t i;

	if (kw_str_eqz(s, "None"))
		v->kind = V_NONE;
	else if (kw_str_eqz(s, "True") || kw_str_eqz(s, "False")) {
		v->kind = V_BOOL;
		v->f = kw_str_eqz(s, "True");
	} else if (s.ptr[0] == '\'') {
		v->kind = V_STR;
		v->s = kw_arena_strndup(b->a, s.ptr + 1, s.len - 2);
		return v->s ? true : bnomem(b);
	} else if (kw_str_to_i64(s, &i)) {
		v->kind = V_INT;
		v->i = sym_const(b->a, i);
		return v->i ? true : bnomem(b);
	} else {
		v->kind = V_FLOAT;
		return kw_str_to_f64(s, &v->f);
	}
	return true;
}

struct binding {
	const struct value *pos, *kval;
	const char *const *key;
	int npos, nkey, used;
	bool key_used[MAX_SLOTS];
};

static int find_key(const struct binding *in, struct kw_str names)
{
	struct kw_str part;

	while (names.len && kw_str_split(&names, '|', &part)) {
		for (int k = 0; k < in->nkey; k++) {
			if (kw_str_eqz(part, in->key[k]))
				return k;
		}
	}
	return -1;
}

static bool bind_slot(struct builder *b, struct call *c, struct binding *in, struct kw_str field)
{
	struct kw_str names, part, rest = field;
	struct value *v = &c->slot[c->slot_count];
	bool star = field.ptr[0] == '*';
	int k;

	kw_str_split(&rest, '=', &names);
	if (star)
		names = (struct kw_str){ names.ptr + 1, names.len - 1 };
	k = find_key(in, names);
	part = names;
	{
		struct kw_str all = names;
		kw_str_split(&all, '|', &part);
	}
	c->slot_name[c->slot_count] = kw_arena_str(b->a, part);
	if (!c->slot_name[c->slot_count])
		return bnomem(b);
	*v = (struct value){ 0 };
	if (star && k < 0) {
		int n = in->npos - in->used;
		*v = (struct value){ .kind = V_TUPLE, .count = n, .line = c->line, .column = c->column };
		if (n == 1 && in->pos[in->used].kind == V_TUPLE)
			*v = in->pos[in->used];
		else if (n && !(v->items = kw_arena_copy(b->a, in->pos + in->used, sizeof(*in->pos) * (size_t)n)))
			return bnomem(b);
		in->used = in->npos;
		c->given[c->slot_count] = n > 0;
	} else if (in->used < in->npos) {
		if (k >= 0)
			return bfail(b, in->kval[k].line, in->kval[k].column, "%s(): '%s' is given twice", c->name,
				     in->key[k]);
		*v = in->pos[in->used++];
		c->given[c->slot_count] = true;
	} else if (k >= 0) {
		*v = in->kval[k];
		in->key_used[k] = true;
		c->given[c->slot_count] = true;
	} else if (memchr(field.ptr, '=', field.len)) {
		if (!default_value(b, rest, v))
			return false;
	} else {
		return bfail(b, c->line, c->column, "%s() needs '%s'; it is %s(%s)", c->name,
			     c->slot_name[c->slot_count], c->op->name, c->op->sig);
	}
	c->slot_count++;
	return true;
}

static bool unknown_key(struct builder *b, const struct call *c, const struct binding *in, int k)
{
	const char *near = kw_str_nearest(in->key[k], c->slot_name, (size_t)c->slot_count);

	return bfail(b, in->kval[k].line, in->kval[k].column, "%s() has no argument '%s'%s%s%s; it is %s(%s)", c->name,
		     in->key[k], near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "", c->op->name,
		     c->op->sig);
}

bool call_op(struct builder *b, const struct kw_op *op, const char *name, int line, int column,
	     const struct value *pos, int npos, const char *const *key, const struct value *kval, int nkey,
	     struct value *out)
{
	struct call c = { .op = op, .name = name, .line = line, .column = column };
	struct binding in = { .pos = pos, .kval = kval, .key = key, .npos = npos, .nkey = nkey };
	struct kw_str rest = kw_str_from(op->sig), field;

	if (!b->defining) {
		b->line = line;
		b->column = column;
	}
	while (rest.len && kw_str_split(&rest, ',', &field)) {
		if (!bind_slot(b, &c, &in, kw_str_trim(field)))
			return false;
	}
	for (int k = 0; k < nkey; k++) {
		if (!in.key_used[k])
			return unknown_key(b, &c, &in, k);
	}
	if (in.used < npos)
		return bfail(b, pos[in.used].line ? pos[in.used].line : line,
			     pos[in.used].line ? pos[in.used].column : column, "%s() takes at most %d argument%s: %s(%s)",
			     name, c.slot_count, c.slot_count == 1 ? "" : "s", op->name, op->sig);
	if (!op->build(b, &c, out))
		return b->status == KW_OK ? bnomem(b) : false;
	return true;
}

bool apply(struct builder *b, enum op_id id, const struct value *args, int count, struct value *out)
{
	const struct kw_op *op = op_get(id);

	return call_op(b, op, op->name, b->line, b->column, args, count, NULL, NULL, 0, out);
}

struct kw_node *make(struct builder *b, enum op_id id, int count, ...)
{
	struct value args[4], out;
	va_list ap;

	va_start(ap, count);
	for (int i = 0; i < count; i++) {
		struct kw_node *n = va_arg(ap, struct kw_node *);
		if (!n) {
			va_end(ap);
			return NULL;
		}
		args[i] = v_node(n);
	}
	va_end(ap);
	return apply(b, id, args, count, &out) && out.kind == V_NODE ? out.n : NULL;
}
