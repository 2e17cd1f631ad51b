/* expr.c - from a task to a graph, its check against the declared outputs, and completing one-line tasks. */
#include "expr/expr.h"

#include <string.h>

#include "expr/internal.h"

static bool declare(struct builder *b, const struct kw_tensor_decl *d, int index)
{
	struct kw_node *n = new_node(b, KW_NODE_INPUT, OP_NONE, d->dtype, d->rank);

	if (!n)
		return false;
	n->index = index;
	for (int i = 0; i < d->rank; i++) {
		n->shape[i].poly = sym_parse(b->a, kw_intexpr_text(d->shape[i]));
		if (!n->shape[i].poly)
			return bnomem(b);
	}
	n = finish(b, n);
	if (n) {
		struct value v = v_node(n);
		set_name(b, d->name, &v);
	}
	return n != NULL;
}

static bool declare_all(struct builder *b, const struct kw_task *t)
{
	b->line = b->column = 1;
	for (size_t i = 0; i < t->dim_count; i++) {
		struct value v = v_int(sym_name(b->a, t->dims[i].name));
		if (!v.i)
			return bnomem(b);
		set_name(b, t->dims[i].name, &v);
	}
	for (size_t i = 0; i < t->input_count; i++) {
		if (!declare(b, &t->inputs[i], (int)i))
			return false;
	}
	for (size_t i = 0; i < t->param_count; i++) {
		struct kw_node *n = new_node(b, KW_NODE_PARAM, OP_NONE, t->params[i].dtype, 0);
		struct value v;
		if (!n)
			return false;
		n->index = (int)i;
		n->value = t->params[i].value;
		xn(n)->weak = true;
		if (!(n = finish(b, n)))
			return false;
		v = v_node(n);
		set_name(b, t->params[i].name, &v);
	}
	return b->status == KW_OK;
}

static enum kw_status begin(struct builder *b, const struct kw_task *t, struct kw_arena *a, struct kw_error *err)
{
	struct xexpr *x = kw_arena_calloc(a, 1, sizeof(*x));

	*b = (struct builder){ .a = a, .task = t, .x = x, .err = err };
	if (!x)
		return kw_fail(err, KW_ERR_NOMEM, t->file ? t->file : "", "no memory for the expression");
	x->e.task = t;
	x->file = t->file && t->file[0] ? t->file : "(expression)";
	x->text = t->expr ? t->expr : "";
	x->file_line = t->expr_line > 0 ? t->expr_line : 1;
	x->file_column = t->expr_column > 0 ? t->expr_column : 1;
	if (!t->expr && !t->reference_c && !t->torch_form)
		return kw_fail(err, KW_ERR_INPUT, x->file, "the task has no reference expression");
	return KW_OK;
}

enum kw_status finish_sizes(struct kw_expr *e, struct kw_arena *a, struct kw_error *err)
{
	for (size_t i = 0; i < e->node_count; i++) {
		struct kw_node *n = e->nodes[i];
		int count = n->kind == KW_NODE_DIM ? 1 : n->rank;

		for (int k = 0; k < count; k++) {
			char *text = sym_text(a, n->shape[k].poly);
			struct kw_intexpr *x = NULL;
			if (!text)
				return kw_fail(err, KW_ERR_LIMIT, "", "a size of the expression is too complicated");
			for (size_t j = i; j-- > 0 && !x && j + 8 > i;) {
				for (int m = 0; m < e->nodes[j]->rank && !x; m++) {
					if (sym_eq(e->nodes[j]->shape[m].poly, n->shape[k].poly))
						n->shape[k].expr = e->nodes[j]->shape[m].expr;
				}
			}
			if (n->shape[k].expr)
				continue;
			if (kw_intexpr_parse(kw_str_from(text), "(size)", 1, 1, a, &x, err) != KW_OK)
				return kw_error_while(err, "writing down a size");
			n->shape[k].expr = x;
		}
	}
	return KW_OK;
}

static struct value *result_of(struct builder *b, const char *name)
{
	for (size_t i = b->name_count; i-- > 0;) {
		if (strcmp(b->names[i].name, name) == 0)
			return &b->names[i].v;
	}
	return NULL;
}

const struct value *expr_name(struct builder *b, const char *name)
{
	return result_of(b, name);
}

bool expr_run(struct builder *b, const struct kw_task *t, struct kw_arena *a, const char *text, struct kw_error *err)
{
	struct value last = { 0 };

	b->status = begin(b, t, a, err);
	if (b->status != KW_OK)
		return false;
	b->x->text = text;
	return declare_all(b, t) && run_block(b, text, true, &last);
}

/* An output is what was assigned to its name, or, for a lone expression, its value (or its i-th one). */
static bool find_output(struct builder *b, const struct kw_task *t, size_t i, struct value *out)
{
	struct value *v = result_of(b, t->outputs[i].name), *lone = result_of(b, "(result)");
	const char *names[64];
	const char *near;
	size_t n = 0;

	if (lone && lone->kind == V_TUPLE && t->output_count == (size_t)lone->count)
		v = &lone->items[i];
	else if (lone && t->output_count == 1)
		v = lone;
	if (v) {
		*out = *v;
		return true;
	}
	for (size_t k = 0; k < b->name_count && n < 64; k++)
		names[n++] = b->names[k].name;
	near = kw_str_nearest(t->outputs[i].name, names, n);
	return bfail(b, 1, 1, "the expression does not assign output '%s'%s%s%s", t->outputs[i].name,
		     near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool dtype_fits(enum kw_dtype from, enum kw_dtype to)
{
	enum kw_dtype_class f = kw_dtype_info(from)->cls, t = kw_dtype_info(to)->cls;

	return t == KW_CLASS_FLOAT || f == t || (t == KW_CLASS_INT && f == KW_CLASS_BOOL);
}

static bool check_output(struct builder *b, const struct kw_tensor_decl *d, const struct kw_node *n)
{
	char what[400];

	b->line = n->line;
	b->column = n->column;
	if (n->rank != d->rank)
		return bfail(b, n->line, n->column, "output '%s' is declared with %d axes, but the expression gives %s",
			     d->name, d->rank, shape_text(b, n));
	for (int i = 0; i < d->rank; i++) {
		const struct kw_poly *p = sym_parse(b->a, kw_intexpr_text(d->shape[i]));
		if (!p)
			return bnomem(b);
		snprintf(what, sizeof(what), "output '%s' axis %d is declared %s, but the expression gives %s", d->name,
			 i, kw_intexpr_text(d->shape[i]), shape_text(b, n));
		if (!require_eq(b, n->shape[i].poly, p, what))
			return false;
	}
	if (!dtype_fits(n->dtype, d->dtype))
		return bfail(b, n->line, n->column, "output '%s' is declared %s, but the expression gives %s; "
			     "write %s(...) if that is meant", d->name, kw_dtype_name(d->dtype), kw_dtype_name(n->dtype),
			     kw_dtype_name(d->dtype));
	return true;
}

/* Sizes that the text alone does not decide are tried on the task's own cases. */
static enum kw_status check_cases(struct builder *b, const struct kw_task *t)
{
	for (size_t i = 0; i < t->case_count; i++) {
		struct kw_intenv env;
		enum kw_status s = kw_case_env(t, &t->cases[i], b->a, &env, b->err);

		if (s == KW_OK)
			s = run_checks(b->x, &env, t->cases[i].label ? t->cases[i].label : "?", b->err);
		if (s != KW_OK)
			return s;
	}
	return KW_OK;
}

void count_uses(struct kw_expr *e)
{
	for (size_t i = 0; i < e->node_count; i++)
		e->nodes[i]->use_count = 0;
	for (size_t i = 0; i < e->node_count; i++) {
		for (int k = 0; k < e->nodes[i]->arg_count; k++)
			e->nodes[i]->args[k]->use_count++;
	}
	for (size_t i = 0; i < e->output_count; i++)
		e->outputs[i]->use_count++;
}

/* Inputs stay; what no output needs goes. */
void drop_unused(struct kw_expr *e)
{
	bool live[MAX_NODES] = { false };
	size_t n = 0;

	for (size_t i = 0; i < e->output_count; i++)
		live[e->outputs[i]->id] = true;
	for (size_t i = e->node_count; i-- > 0;) {
		live[i] = live[i] || e->nodes[i]->kind == KW_NODE_INPUT;
		for (int k = 0; live[i] && k < e->nodes[i]->arg_count; k++)
			live[e->nodes[i]->args[k]->id] = true;
	}
	for (size_t i = 0; i < e->node_count; i++) {
		if (!live[i])
			continue;
		e->nodes[n] = e->nodes[i];
		e->nodes[n]->id = (int)n;
		n++;
	}
	e->node_count = n;
}

/* The outputs of the expression: of a backward task those of the pass before it. */
static bool parse_outputs(struct builder *b, const struct kw_task *t)
{
	struct kw_task forward = *t;
	struct value last = { 0 }, v = { 0 };

	if (t->grad_count) {
		forward.outputs = t->forward_outputs;
		forward.output_count = t->forward_count;
	}
	if (!declare_all(b, t) || (t->expr && !run_block(b, t->expr, true, &last)))
		return false;
	b->x->e.outputs = kw_arena_calloc(b->a, forward.output_count + 1, sizeof(struct kw_node *));
	if (!b->x->e.outputs)
		return bnomem(b);
	if (!t->expr)
		return external_outputs(b, t);
	for (size_t i = 0; i < forward.output_count; i++) {
		struct kw_node *n;
		b->line = b->column = 1;
		if (!find_output(b, &forward, i, &v) || !to_node(b, &v, &n) || !check_output(b, &forward.outputs[i], n))
			return false;
		b->x->e.outputs[b->x->e.output_count++] = n;
	}
	return true;
}

static bool check_random(struct builder *b, const struct kw_task *t)
{
	for (size_t i = 0; i < t->output_count; i++)
		if (t->outputs[i].compare == KW_COMPARE_DISTRIBUTION && !kw_expr_is_random(&b->x->e, (int)i))
			return bfail(b, 1, 1, "output '%s' is compared by its distribution, but draws no random numbers "
				     "(rand, randn, bernoulli, dropout)", t->outputs[i].name);
	return true;
}

enum kw_status kw_expr_parse(const struct kw_task *t, struct kw_arena *a, struct kw_expr **out, struct kw_error *err)
{
	struct builder b;
	enum kw_status s = begin(&b, t, a, err);

	*out = NULL;
	if (s != KW_OK)
		return s;
	if (t->grad_count && !t->forward_outputs)
		return kw_fail(err, KW_ERR_BUG, t->file, "a backward task that was not completed");
	if (!parse_outputs(&b, t))
		return b.status;
	if ((s = check_cases(&b, t)) != KW_OK)
		return s;
	if (!t->grad_count && !check_random(&b, t))
		return b.status;
	drop_unused(&b.x->e);
	count_uses(&b.x->e);
	if (t->grad_count)
		return grad_of(&b.x->e, a, out, err);
	s = finish_sizes(&b.x->e, a, err);
	*out = s == KW_OK ? &b.x->e : NULL;
	return s;
}

static enum kw_status add_output(struct kw_task *t, struct builder *b, const char *name, struct kw_node *n,
				 struct kw_error *err)
{
	struct kw_tensor_decl *d = &t->outputs[t->output_count];

	*d = (struct kw_tensor_decl){ .name = kw_arena_strdup(&t->arena, name), .dtype = n->dtype, .rank = n->rank };
	if (op_id(n) == OP_TOPK && n->index == 1) {
		d->compare = KW_COMPARE_INDICES;
		d->indexes_axis = n->axes[0];
	} else if (op_id(n) == OP_ARGMAX || op_id(n) == OP_ARGMIN) {
		d->compare = KW_COMPARE_INDICES;
		d->indexes_axis = n->axes[0];
	}
	if (d->compare == KW_COMPARE_INDICES) {
		if (n->args[0]->kind == KW_NODE_INPUT)
			d->indexes = t->inputs[n->args[0]->index].name;
		else
			d->compare = KW_COMPARE_VALUES;
	}
	if (!d->name)
		return kw_fail(err, KW_ERR_NOMEM, t->file, "no memory for the outputs");
	for (int i = 0; i < n->rank; i++) {
		char *text = sym_text(b->a, n->shape[i].poly);
		enum kw_status s;
		if (!text)
			return kw_fail(err, KW_ERR_LIMIT, t->file, "the size of an output is too complicated");
		s = kw_intexpr_parse(kw_str_from(text), t->file, 1, 1, &t->arena, &d->shape[i], err);
		if (s != KW_OK)
			return s;
	}
	t->output_count++;
	return KW_OK;
}

/* y, or y0, y1, …; out where an input has that name: "x * y" is a task. */
static void output_name(const struct kw_task *t, int i, int count, char *name, size_t name_bytes)
{
	static const char *const stems[] = { "y", "out", "result", "output_" };

	for (size_t k = 0; k < sizeof(stems) / sizeof(*stems); k++) {
		if (count > 1)
			snprintf(name, name_bytes, "%s%d", stems[k], i);
		else
			snprintf(name, name_bytes, "%s", stems[k]);
		if (!kw_task_has_name(t, name))
			return;
	}
}

static enum kw_status add_outputs(struct kw_task *t, struct kw_error *err)
{
	struct builder b;
	struct kw_arena a;
	struct value last = { 0 };
	enum kw_status s;
	int count;
	char name[32];

	kw_arena_init(&a, 64 << 20);
	s = begin(&b, t, &a, err);
	if (s == KW_OK && (!declare_all(&b, t) || !run_block(&b, t->expr, true, &last)))
		s = b.status;
	count = last.kind == V_TUPLE ? last.count : 1;
	t->output_count = 0;
	t->outputs = kw_arena_calloc(&t->arena, (size_t)count + 1, sizeof(*t->outputs));
	if (s == KW_OK && !t->outputs)
		s = kw_fail(err, KW_ERR_NOMEM, t->file, "no memory for the outputs");
	for (int i = 0; s == KW_OK && i < count; i++) {
		struct kw_node *n;
		output_name(t, i, count, name, sizeof(name));
		s = to_node(&b, last.kind == V_TUPLE ? &last.items[i] : &last, &n) ? add_output(t, &b, name, n, err) :
										    b.status;
	}
	if (s == KW_OK)
		s = check_cases(&b, t);
	kw_arena_release(&a);
	return s == KW_OK ? kw_task_link_inout(t, err) : s;
}

enum kw_status kw_expr_complete_task(struct kw_task *t, struct kw_error *err)
{
	enum kw_status s = t->expr && t->output_count == 0 ? add_outputs(t, err) : KW_OK;

	return s == KW_OK && t->grad_count && !t->forward_outputs ? grad_task(t, err) : s;
}
