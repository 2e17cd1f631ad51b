/* naive.c - the C that one writes first: the order of the stages, and the whole text. */
#include "expr/naive.h"

#include <string.h>

const struct language naive_c = {
	.backend = "c",
	.f32_suffix = "f",
	.i64_min = "INT64_MIN",
	.i64_max = "INT64_MAX",
	.inf = "INFINITY",
	.nan = "NAN",
	.min = "min",
	.max = "max",
	.cdiv = "cdiv",
	.includes = "#include <math.h>\n#include <stdint.h>\n",
	.helper = "static inline ",
	.kernel = "void ",
	.global = "",
};

/* ---- stages ---- */

static bool same_size(const struct kw_node *p, const struct kw_node *q)
{
	if (p->rank != q->rank)
		return false;
	for (int i = 0; i < p->rank; i++)
		if (!sym_eq(p->shape[i].poly, q->shape[i].poly))
			return false;
	return true;
}

bool naive_is_flat(struct gen *g, const struct kw_node *n, const struct kw_node *root)
{
	if (n->rank && (!same_size(n, root) || naive_is_strided(g, n)))
		return false;
	if (g->array[n->id] || n->kind == KW_NODE_PARAM || n->kind == KW_NODE_CONST || n->kind == KW_NODE_DIM)
		return true;
	if (n->kind != KW_NODE_ELEMENTWISE || op_id(n) == OP_ARANGE)
		return false;
	for (int i = 0; i < n->arg_count; i++)
		if (!naive_is_flat(g, n->args[i], root))
			return false;
	return true;
}

/* How many of the outer loops have nothing between them. */
static const char *outer_pragma(struct gen *g, const struct scope *loops, int count)
{
	int n = 1;

	while (n + 1 < count && loops[n - 1].text.len == 0)
		n++;
	return n > 1 ? naive_text(g, " collapse(%d)", n) : "";
}

/* A nest over n's elements that computes and stores each. */
static void emit_nest(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d)
{
	struct scope root, loops[KW_MAX_RANK];
	struct at ix[KW_MAX_RANK] = { 0 };
	int order[KW_MAX_RANK] = { 0 }, count = n->rank;
	const char *v, *bound = "1";

	if (g->lang->gpu) {
		naive_gpu_nest(g, n, array, d, -1);
		return;
	}
	naive_scope(g, &root, NULL, NULL);
	g->flat = n->rank > 0 && naive_is_flat(g, n, n);
	naive_loop_order(g, n, order);
	if (g->flat) {
		count = 1;
		bound = naive_dim(g, n, 0);
		for (int i = 1; i < n->rank; i++)
			bound = naive_product(g, bound, naive_dim(g, n, i));
	}
	for (int i = 0; i < count; i++) {
		naive_scope(g, &loops[i], i ? &loops[i - 1] : &root, g->flat ? bound : naive_dim(g, n, order[i]));
		ix[g->flat ? 0 : order[i]] = (struct at){ loops[i].var, &loops[i] };
	}
	for (int i = 1; g->flat && i < n->rank; i++)
		ix[i] = ix[0];
	v = naive_value(g, n, ix, count ? &loops[count - 1] : &root);
	naive_store(g, count ? &loops[count - 1] : &root, array, d, naive_offset(g, n, ix), naive_ctype(g, n->dtype), v);
	v = count ? outer_pragma(g, loops, count) : NULL;
	for (int i = count; i-- > 0;)
		naive_close(g, &loops[i], i ? NULL : v);
	g->flat = false;
	naive_flush(g, &root);
}

static bool is_exact(enum ctype c, enum kw_dtype d)
{
	return d == (c == CT_F64 ? KW_F64 : c == CT_F32 ? KW_F32 : KW_I64);
}

/* The output that a stage may write into, or -1. */
static int output_of(const struct gen *g, const struct kw_node *n)
{
	for (size_t i = 0; !g->wide && i < g->e->output_count; i++) {
		enum kw_dtype d = g->task->outputs[i].dtype;
		if (g->e->outputs[i] == n && !g->written[i] &&
		    (g->uses[n->id] == 1 || is_exact(naive_ctype(g, n->dtype), d)))
			return (int)i;
	}
	return -1;
}

static void destination(struct gen *g, const struct kw_node *n, const char **array, enum kw_dtype *d)
{
	int o = output_of(g, n);
	enum ctype c = naive_ctype(g, n->dtype);

	if (o >= 0) {
		*array = naive_ident(g, g->task->outputs[o].name);
		*d = g->task->outputs[o].dtype;
		g->written[o] = true;
		return;
	}
	*d = c == CT_F64 ? KW_F64 : c == CT_F32 ? KW_F32 : KW_I64;
	*array = naive_name(g, "tmp");
	kw_buf_printf(&g->workspaces, "//@ workspace %s %s[", *array, kw_dtype_name(*d));
	for (int i = 0; i < n->rank; i++)
		kw_buf_printf(&g->workspaces, "%s%s", i ? ", " : "", sym_text(g->a, n->shape[i].poly));
	kw_buf_printf(&g->workspaces, "%s]\n", n->rank ? "" : "1");
	kw_buf_printf(&g->args, "%s,%s%s *%s\n", *array, g->lang->global, kw_dtype_info(*d)->ctype, *array);
	g->workspace_count++;
}

static void set_array(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d)
{
	if (!g->array[n->id]) {
		g->array[n->id] = array;
		g->array_dtype[n->id] = d;
	}
}

/* The other half of topk. */
static const struct kw_node *find_twin(const struct gen *g, const struct kw_node *n)
{
	for (size_t i = 0; op_id(n) == OP_TOPK && i < g->e->node_count; i++) {
		const struct kw_node *m = g->e->nodes[i];
		if (m != n && g->live[i] && op_id(m) == OP_TOPK && m->args[0] == n->args[0] && m->axes[0] == n->axes[0] &&
		    m->index != n->index && !g->array[i] && sym_eq(xn(m)->sym[0], xn(n)->sym[0]))
			return m;
	}
	return NULL;
}

static void emit_stage(struct gen *g, const struct kw_node *n)
{
	const char *array, *twin_array = NULL;
	enum kw_dtype d, twin_dtype = KW_DTYPE_NONE;
	const struct kw_node *twin = find_twin(g, n);

	destination(g, n, &array, &d);
	if (!naive_is_template(n)) {
		emit_nest(g, n, array, d);
	} else {
		if (twin)
			destination(g, twin, &twin_array, &twin_dtype);
		naive_template(g, n, array, d, twin, twin_array, twin_dtype);
		if (twin)
			set_array(g, twin, twin_array, twin_dtype);
	}
	set_array(g, n, array, d);
}

static void emit_output(struct gen *g, const struct kw_node *n, int o)
{
	const struct kw_tensor_decl *out = &g->task->outputs[o];
	const char *name = naive_ident(g, out->name);

	g->written[o] = true;
	if (g->wide) {
		naive_gpu_nest(g, n, name, out->dtype, o);
		return;
	}
	emit_nest(g, n, name, out->dtype);
	if (is_exact(naive_ctype(g, n->dtype), out->dtype))
		set_array(g, n, name, out->dtype);
}

void naive_emit_all(struct gen *g)
{
	for (size_t i = 0; i < g->e->node_count && g->status == KW_OK; i++) {
		const struct kw_node *n = g->e->nodes[i];

		if (!g->live[i])
			continue;
		if (n->kind != KW_NODE_INPUT && g->stage[i] && !g->array[i])
			emit_stage(g, n);
		for (size_t o = 0; o < g->e->output_count; o++)
			if (g->e->outputs[o] == n && !g->written[o])
				emit_output(g, n, (int)o);
	}
}

/* ---- the text ---- */

static struct kw_str last_word(struct kw_str s)
{
	size_t at = s.len;

	while (at > 0 && s.ptr[at - 1] != ' ' && s.ptr[at - 1] != '*')
		at--;
	return (struct kw_str){ s.ptr + at, s.len - at };
}

void naive_arguments(struct kw_buf *out, struct kw_str lines, bool plan, const char *text)
{
	struct kw_str line;
	bool first = true;

	while (lines.len && kw_str_split(&lines, '\n', &line)) {
		struct kw_str rest = line, name;
		if (!line.len)
			continue;
		kw_str_split(&rest, ',', &name);
		if (text && !naive_names(text, last_word(rest)))
			continue;
		kw_buf_addz(out, first ? "" : ", ");
		kw_buf_add(out, plan ? name.ptr : rest.ptr, plan ? name.len : rest.len);
		first = false;
	}
}

void naive_declare(struct gen *g)
{
	const struct kw_task *t = g->task;

	for (size_t i = 0; i < t->input_count; i++)
		kw_buf_printf(&g->args, "%s,%sconst %s *%s\n", t->inputs[i].name, g->lang->global,
			      kw_dtype_info(t->inputs[i].dtype)->ctype, naive_ident(g, t->inputs[i].name));
	for (size_t i = 0; i < t->output_count; i++)
		kw_buf_printf(&g->args, "%s,%s%s *%s\n", t->outputs[i].name, g->lang->global,
			      g->wide ? "double" : kw_dtype_info(t->outputs[i].dtype)->ctype,
			      naive_ident(g, t->outputs[i].name));
	for (size_t i = 0; i < t->input_count; i++)
		for (int k = 0; (g->wide || kw_tensor_any_strides(&t->inputs[i])) && k < t->inputs[i].rank; k++)
			kw_buf_printf(&g->numbers, "%s.stride%d:i64,int64_t %s\n", t->inputs[i].name, k,
				      naive_stride(g, (int)i, k));
	for (size_t i = 0; i < t->dim_count; i++)
		kw_buf_printf(&g->numbers, "%s:i64,int64_t %s\n", t->dims[i].name, naive_ident(g, t->dims[i].name));
	for (size_t i = 0; i < t->param_count; i++) {
		enum kw_dtype d = t->params[i].dtype;
		enum ctype c = d == KW_F64 ? CT_F64 : kw_dtype_is_float(d) ? CT_F32 : CT_I64;
		kw_buf_printf(&g->numbers, "%s:%s,%s %s\n", t->params[i].name,
			      c == CT_F64 ? "f64" : c == CT_F32 ? "f32" : "i64", naive_ctype_text(c),
			      naive_ident(g, t->params[i].name));
	}
}

static void assemble(struct gen *g, struct kw_buf *out)
{
	const char *body = kw_arena_str(g->a, kw_buf_str(&g->body));

	if (!body) {
		naive_nomem(g);
		return;
	}
	kw_buf_add(&g->args, g->numbers.ptr, g->numbers.len);
	kw_buf_add(out, g->workspaces.ptr, g->workspaces.len);
	kw_buf_addz(out, "//@ kernel naive args=(");
	naive_arguments(out, kw_buf_str(&g->args), true, NULL);
	kw_buf_printf(out, ")\n%s\n", g->lang->includes);
	naive_helpers(g, body, out);
	kw_buf_addz(out, "void naive(");
	naive_arguments(out, kw_buf_str(&g->args), false, NULL);
	kw_buf_addz(out, ")\n{\n");
	naive_indent(out, kw_buf_str(&g->body));
	kw_buf_addz(out, "}\n");
}

/* A plan has so many lines of each kind and no more. */
void naive_limit(struct gen *g)
{
	size_t lines = 0;

	for (size_t i = 0; i < g->workspaces.len; i++)
		lines += g->workspaces.ptr[i] == '\n';
	if (g->status == KW_OK && (lines > KW_NAIVE_MAX_WORKSPACES || g->kernel_count > KW_NAIVE_MAX_KERNELS))
		naive_fail(g, NULL, "it would be more kernels or workspaces than a plan may have");
}

bool naive_prepare(struct gen *g)
{
	size_t n = g->e->node_count + 1;

	kw_buf_init(&g->body, NAIVE_MAX_TEXT);
	kw_buf_init(&g->workspaces, 1 << 16);
	kw_buf_init(&g->args, 1 << 18);
	kw_buf_init(&g->numbers, 1 << 18);
	g->uses = kw_arena_calloc(g->a, n, sizeof(*g->uses));
	g->consumer = kw_arena_calloc(g->a, n, sizeof(struct kw_node *));
	g->live = kw_arena_calloc(g->a, n, sizeof(*g->live));
	g->stage = kw_arena_calloc(g->a, n, sizeof(*g->stage));
	g->array = kw_arena_calloc(g->a, n, sizeof(char *));
	g->array_dtype = kw_arena_calloc(g->a, n, sizeof(*g->array_dtype));
	g->written = kw_arena_calloc(g->a, g->e->output_count + 1, sizeof(*g->written));
	if (!g->uses || !g->consumer || !g->live || !g->stage || !g->array || !g->array_dtype || !g->written) {
		naive_nomem(g);
		return false;
	}
	for (size_t i = 0; i < g->e->node_count; i++) {
		const struct kw_node *node = g->e->nodes[i];
		if (node->kind == KW_NODE_INPUT)
			set_array(g, node, naive_ident(g, g->task->inputs[node->index].name),
				  g->task->inputs[node->index].dtype);
	}
	return g->status == KW_OK;
}

void naive_release(struct gen *g)
{
	kw_buf_release(&g->body);
	kw_buf_release(&g->workspaces);
	kw_buf_release(&g->args);
	kw_buf_release(&g->numbers);
}

enum kw_status kw_expr_emit_naive_c(const struct kw_expr *e, bool openmp, struct kw_buf *out, struct kw_error *err)
{
	struct kw_arena a;
	struct kw_expr *lowered = NULL;
	struct gen g = { .task = e->task, .a = &a, .err = err, .lang = &naive_c, .openmp = openmp };

	kw_arena_init(&a, 256u << 20);
	g.status = lower_except(e, naive_keeps, &a, &lowered, err);
	g.e = lowered;
	if (g.status == KW_OK && naive_prepare(&g)) {
		naive_plan(&g);
		naive_declare(&g);
		naive_emit_all(&g);
		if (g.body.full || g.workspaces.full || g.args.full || g.numbers.full)
			naive_nomem(&g);
		naive_limit(&g);
		if (g.status == KW_OK)
			assemble(&g, out);
		if (g.status == KW_OK && out->full)
			naive_nomem(&g);
	}
	naive_release(&g);
	kw_arena_release(&a);
	return g.status;
}
