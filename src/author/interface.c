/* interface.c - the kernel's arguments: plan lines for the judge, a C signature for the compiler.
 */
#include <ctype.h>
#include <string.h>

#include "author/emit_internal.h"

void kw_au_arg(struct kw_au_emit *e, struct kw_au_args *a, const char *plan, const char *c)
{
	a->plan = *a->plan ? kw_au_printf(e, "%s, %s", a->plan, plan) : plan;
	a->c = *a->c ? kw_au_printf(e, "%s, %s", a->c, c) : c;
}

void kw_au_arg_tensor(struct kw_au_emit *e, struct kw_au_args *a, const struct kw_au_tensor *t)
{
	if (t->used && !t->given)
		kw_au_arg(e, a, t->name,
			  kw_au_printf(e, "%s%s *restrict %s", t->output ? "" : "const ",
				       kw_dtype_info(t->dtype)->ctype, t->c_name));
}

void kw_au_arg_strides(struct kw_au_emit *e, struct kw_au_args *a, const struct kw_au_tensor *t)
{
	for (int i = 0; i < KW_MAX_RANK; i++)
		if (t->strides >> i & 1)
			kw_au_arg(e, a, kw_au_printf(e, "%s.stride%d:i64", t->name, i),
				  kw_au_printf(e, "int64_t %s_stride%d", t->c_name, i));
}

/* A workspace line, and the argument. */
const char *kw_au_arg_workspace(struct kw_au_emit *e, struct kw_au_args *a, const char *lines,
				const char *name, enum kw_dtype d, const char *shape)
{
	kw_au_arg(e, a, name, kw_au_printf(e, "%s *restrict %s", kw_dtype_info(d)->ctype, name));
	return kw_au_printf(e, "%s//@ workspace %s %s[%s]\n", lines, name, kw_dtype_name(d), shape);
}

static enum kw_dtype held_as(const struct kw_node *n)
{
	return n->dtype == KW_F64	     ? KW_F64
	       : kw_dtype_is_float(n->dtype) ? KW_F32
	       : n->dtype == KW_I64	     ? KW_I64
					     : KW_I32;
}

static const char *add_workspaces(struct kw_au_emit *e, struct kw_au_args *a, const char *rows,
				  const char *cols)
{
	const char *lines = "";

	for (int k = 0; k < e->cached_count; k++)
		lines = kw_au_arg_workspace(
			e, a, lines, kw_au_printf(e, "%ss", e->cached_name[k]),
			held_as(e->cached[k]),
			kw_au_printf(e, "cores, max(cdiv(%s, 16), 1) * 16", cols));
	for (int i = 0; i < e->red_count && e->split; i++)
		lines = kw_au_arg_workspace(
			e, a, lines, kw_au_printf(e, "%s_partial", e->red[i].name), e->red[i].dtype,
			kw_au_printf(e, "max(cdiv(%s, BLOCK), 1)", cols));
	for (size_t i = 0; i < e->g->expr->node_count; i++) {
		const struct kw_node *n = e->g->expr->nodes[i];
		const char *name = e->total_name[n->id];

		if (name)
			lines = kw_au_arg_workspace(e, a, lines, kw_au_printf(e, "%s_rows", name),
						    held_as(n->args[0]),
						    kw_au_printf(e, "max(%s, 1)", rows));
	}
	return lines;
}

void kw_au_arg_scalars(struct kw_au_emit *e, struct kw_au_args *a)
{
	for (size_t i = 0; i < e->g->task->param_count; i++) {
		const struct kw_param *p = &e->g->task->params[i];

		if (e->param_used[i])
			kw_au_arg(e, a, p->name,
				  kw_au_printf(e, "%s %s", kw_dtype_info(p->dtype)->ctype,
					       e->param_name[i]));
	}
	for (int i = 0; i < e->dim_count; i++)
		kw_au_arg(e, a,
			  kw_au_printf(e, "%s:i64", kw_intexpr_text(e->dim[i]->shape[0].expr)),
			  kw_au_printf(e, "int64_t dim%d", i));
}

void kw_au_arg_size(struct kw_au_emit *e, struct kw_au_args *a, const char *size, const char *name)
{
	kw_au_arg(e, a, kw_au_printf(e, "%s:i64", size), kw_au_printf(e, "int64_t %s", name));
}

static void add_atoms(struct kw_au_emit *e, struct kw_au_args *a, const int *atoms, int count,
		      const char *name)
{
	kw_au_arg_size(e, a, kw_au_product(e->g, atoms, count), name);
	for (int i = 0; i < count && count > 1; i++)
		if (kw_au_word_in(kw_str_from(e->text), e->g->atoms[atoms[i]].var))
			kw_au_arg_size(e, a, e->g->atoms[atoms[i]].size, e->g->atoms[atoms[i]].var);
}

/* Breaks "void f(a, b, ...)" into lines of at most 100 columns or so. */
const char *kw_au_wrap(struct kw_au_emit *e, const char *text)
{
	struct kw_str rest = kw_str_from(text), part;
	const char *s = "";
	size_t width = 0;

	while (rest.len && kw_str_split(&rest, ',', &part)) {
		bool first = !*s, broken = !first && width + part.len > 96;

		part = first ? part : kw_str_trim(part);
		s = kw_au_printf(e, "%s%s" KW_STR_FMT, s,
				 first	  ? ""
				 : broken ? ",\n\t\t"
					  : ", ",
				 KW_STR_ARG(part));
		width = broken ? 16 + part.len : width + part.len + 2;
	}
	return kw_au_printf(e, "%s\n", s);
}

/* `rows` and `cols` of a `when` line as the task's own sizes. */
const char *kw_au_substitute(struct kw_au_emit *e, const char *when)
{
	const struct kw_au_graph *g = e->g;
	const char *rows = kw_au_product(g, g->row_atoms, g->row_count), *segs, *cols;
	const char *out = "";

	segs = kw_au_product(g, g->seg_atoms, g->seg_count);
	cols = g->col_atom >= 0 ? g->atoms[g->col_atom].size : "1";
	for (const char *p = when; *p;) {
		size_t n = 0;
		const char *to = NULL;

		while (isalnum((unsigned char)p[n]) || p[n] == '_')
			n++;
		to = n == 4 && !memcmp(p, "rows", 4)   ? rows
		     : n == 4 && !memcmp(p, "segs", 4) ? segs
		     : n == 4 && !memcmp(p, "cols", 4) ? cols
						       : NULL;
		if (to)
			out = kw_au_printf(e, "%s(%s)", out, to);
		else
			out = kw_au_printf(e, "%s%.*s", out, (int)(n ? n : 1), p);
		p += n ? n : 1;
	}
	return out;
}

enum kw_status kw_au_emit_interface(struct kw_au_emit *e, const char *kernel, struct kw_fill *f)
{
	struct kw_au_graph *g = e->g;
	struct kw_au_args a = { "", "" };
	const char *rows = kw_au_product(g, g->row_atoms, g->row_count), *lines;
	const char *cols = g->col_atom >= 0 ? g->atoms[g->col_atom].size : "1";

	for (size_t i = 0; i < g->tensor_count; i++)
		kw_au_arg_tensor(e, &a, &g->tensors[i]);
	lines = add_workspaces(e, &a, rows, cols);
	kw_au_arg_scalars(e, &a);
	add_atoms(e, &a, g->row_atoms, g->row_count, "rows");
	if (e->wants_segs)
		add_atoms(e, &a, g->seg_atoms, g->seg_count, "segs");
	kw_au_arg_size(e, &a, cols, "cols");
	for (size_t i = 0; i < g->task->input_count; i++)
		kw_au_arg_strides(e, &a, &g->tensors[i]);
	if (e->uses_cores)
		kw_au_arg(e, &a, "cores:i32", "int32_t cores");
	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].kind == KW_AU_INDEX)
			lines = kw_au_printf(e, "%s//@ require (%s) * (%s) <= 2147483647\n", lines,
					     g->form == KW_AU_COLUMNS ? "1" : cols,
					     kw_au_product(g, g->seg_atoms, g->seg_count));
	kw_fill_set(f, "plan",
		    kw_au_printf(e, "//@ kernel %s args=(%s)\n%s", kernel, a.plan, lines));
	kw_fill_set(f, "signature",
		    kw_au_wrap(e, kw_au_printf(e, "%svoid %s(%s)",
					       e->cached_count ? "#include <omp.h>\n\n" : "",
					       kernel, a.c)));
	return e->failed ? kw_fail(e->err, KW_ERR_NOMEM, "", "no memory to write the kernel")
			 : KW_OK;
}
