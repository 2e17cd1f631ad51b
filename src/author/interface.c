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

const char *kw_au_restricted(struct kw_au_emit *e)
{
	return kw_task_has_inout(e->g->task) ? "" : kw_au_printf(e, "%s ", e->lang->restricted);
}

void kw_au_arg_tensor(struct kw_au_emit *e, struct kw_au_args *a, const struct kw_au_tensor *t)
{
	if (t->used && !t->given)
		kw_au_arg(e, a, t->name,
			  kw_au_printf(e, "%s%s%s *%s%s", e->lang->address,
				       t->output ? "" : "const ", kw_au_storage(t->dtype),
				       kw_au_restricted(e), t->c_name));
}

void kw_au_arg_strides(struct kw_au_emit *e, struct kw_au_args *a, const struct kw_au_tensor *t)
{
	for (int i = 0; i < KW_MAX_RANK; i++)
		if (t->strides >> i & 1)
			kw_au_arg(e, a, kw_au_printf(e, "%s.stride%d:i64", t->name, i),
				  kw_au_printf(e, "int64_t %s_stride%d", t->c_name, i));
}

/* Where the task says that an input has strides, nobody assumes for us that the others are those of a contiguous one. */
const char *kw_au_require_strides(struct kw_au_emit *e)
{
	const struct kw_task *task = e->g->task;
	const char *lines = "";

	for (size_t i = 0; i < task->input_count; i++) {
		const struct kw_au_tensor *t = &e->g->tensors[i];
		const char *plain = "1";

		for (int k = task->inputs[i].rank - 1; k >= 0 && t->used && kw_tensor_any_strides(&task->inputs[i]); k--) {
			if (!(t->strides >> k & 1))
				lines = kw_au_printf(e, "%s%s@ require %s.dim%d <= 1 || %s.stride%d == %s\n", lines,
						     e->lang->comment, t->name, k, t->name, k, plain);
			plain = kw_au_printf(e, "%s%s%s.dim%d", k == task->inputs[i].rank - 1 ? "" : plain,
					     k == task->inputs[i].rank - 1 ? "" : " * ", t->name, k);
		}
	}
	return lines;
}

/* A workspace line, and the argument. */
const char *kw_au_arg_workspace(struct kw_au_emit *e, struct kw_au_args *a, const char *lines,
				const char *name, enum kw_dtype d, const char *shape)
{
	kw_au_arg(e, a, name,
		  kw_au_printf(e, "%s%s *%s %s", e->lang->address, kw_au_storage(d),
			       e->lang->restricted, name));
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
	const char *lines = "", *partial;

	partial = !e->lang->device ? kw_au_printf(e, "max(cdiv(%s, BLOCK), 1)", cols)
		  : e->g->form == KW_AU_COLUMNS
			  ? kw_au_printf(e, "max(%s, 1), CHUNKS, max(%s, 1)", rows, cols)
			  : kw_au_printf(e, "max(%s, 1), CHUNKS", rows);
	for (int k = 0; k < e->cached_count && !e->lang->device; k++)
		lines = kw_au_arg_workspace(e, a, lines, kw_au_printf(e, "%ss", e->cached_name[k]),
					    held_as(e->cached[k]),
					    kw_au_printf(e, "cores%s, max(cdiv(%s, 16), 1) * 16",
							 kw_au_cached_twice(e, k) ? " * 2" : "",
							 cols));
	for (int i = 0; i < e->red_count && e->split; i++)
		lines = kw_au_arg_workspace(e, a, lines,
					    kw_au_printf(e, "%s_partial", e->red[i].name),
					    e->red[i].dtype, partial);
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

/* The pattern's words for sizes, as the task's own. */
static const char *size_text(struct kw_au_emit *e, const char *word, size_t n)
{
	const struct kw_au_graph *g = e->g;

	if (e->sizes) {
		for (size_t i = 0; e->sizes[i][0]; i++)
			if (strlen(e->sizes[i][0]) == n && !memcmp(word, e->sizes[i][0], n))
				return e->sizes[i][1];
		return NULL;
	}
	if (n == 4 && !memcmp(word, "rows", 4))
		return kw_au_product(g, g->row_atoms, g->row_count);
	if (n == 4 && !memcmp(word, "segs", 4))
		return kw_au_product(g, g->seg_atoms, g->seg_count);
	if (n == 4 && !memcmp(word, "cols", 4))
		return g->col_atom >= 0 ? g->atoms[g->col_atom].size : "1";
	return NULL;
}

/* Sizes in a line of the pattern as the task's own. */
const char *kw_au_substitute(struct kw_au_emit *e, const char *when)
{
	const char *out = "";

	for (const char *p = when; *p;) {
		size_t n = 0;
		const char *to;

		while (isalnum((unsigned char)p[n]) || p[n] == '_')
			n++;
		to = n ? size_text(e, p, n) : NULL;
		if (to)
			out = kw_au_printf(e, "%s(%s)", out, to);
		else
			out = kw_au_printf(e, "%s%.*s", out, (int)(n ? n : 1), p);
		p += n ? n : 1;
	}
	return out;
}

/* ---- the plan: the pattern's own lines, in the task's sizes ---- */

/* Conditions under which v elements of t can be moved at once: every row begins at a multiple of v,
 * and the address at one of the access, which is at most 16 bytes. */
static const char *tensor_condition(struct kw_au_emit *e, const struct kw_au_tensor *t, int v)
{
	int bytes = v * (int)kw_dtype_bytes(t->dtype);
	const char *s = kw_au_printf(e, " && %s.align >= %d", t->name, bytes < 16 ? bytes : 16);

	for (int k = 0; k < KW_MAX_RANK; k++)
		if (t->strides >> k & 1)
			s = kw_au_printf(e, "%s && %s.stride%d %% %d == 0", s, t->name, k, v);
	return s;
}

const char *kw_au_vector_lines(struct kw_au_emit *e, const char *name, const char *cols,
			       const bool *tensors)
{
	const char *s = "", *choice = "";
	int most = 1;

	for (size_t i = 0; i < e->g->tensor_count; i++) {
		int n = 16 / (int)kw_dtype_bytes(e->g->tensors[i].dtype);

		if (tensors[i] && n > most)
			most = n > 8 ? 8 : n;
	}
	for (int v = most; v > 1; v /= 2) {
		s = kw_au_printf(e, "%s//@ define %s%d = (%s) %% %d == 0", s, name, v, cols, v);
		for (size_t i = 0; i < e->g->tensor_count; i++)
			if (tensors[i] && e->g->tensors[i].used)
				s = kw_au_printf(e, "%s%s", s,
						 tensor_condition(e, &e->g->tensors[i], v));
		s = kw_au_printf(e, "%s\n", s);
		choice = kw_au_printf(e, "%s%s%d ? %d : ", choice, name, v, v);
	}
	return kw_au_printf(e, "%s//@ define %s = %s1\n", s, name, choice);
}

/* `//@ kernel NAME_pass grid=(…) args=(…)`: what follows the pattern's name, and what is between
 * name and args. */
struct head {
	struct kw_str suffix, launch;
};

static bool read_head(struct kw_str line, const char *pattern, struct head *h)
{
	static const char start[] = "@ kernel ";
	size_t n = strlen(pattern), end;
	struct kw_str s = kw_str_trim(line);

	while (s.len && (*s.ptr == '/' || *s.ptr == '#'))
		s = (struct kw_str){ s.ptr + 1, s.len - 1 };
	if (!kw_str_starts(s, start))
		return false;
	s = (struct kw_str){ s.ptr + sizeof(start) - 1, s.len - (sizeof(start) - 1) };
	if (!kw_str_starts(s, pattern))
		return false;
	s = (struct kw_str){ s.ptr + n, s.len - n };
	for (n = 0; n < s.len && s.ptr[n] != ' ';)
		n++;
	for (end = n; end + 5 < s.len && memcmp(s.ptr + end, "args=", 5) != 0;)
		end++;
	*h = (struct head){ { s.ptr, n }, { s.ptr + n, end - n } };
	return true;
}

static const char *kernel_line(struct kw_au_emit *e, const char *name, const struct head *h,
			       const char *args)
{
	const char *launch = kw_au_printf(e, KW_STR_FMT, KW_STR_ARG(h->launch));

	return kw_au_printf(e, "%s@ kernel %s%sargs=(%s)\n", e->lang->comment, name, kw_au_substitute(e, launch),
			    args);
}

static const char *signature(struct kw_au_emit *e, const char *name, const char *args)
{
	bool omp = (e->cached_count || e->late) && !e->lang->device;

	return kw_au_wrap(e, kw_au_printf(e, "%s%s%s(%s)", omp ? "#include <omp.h>\n\n" : "",
					  e->lang->kernel, name, args));
}

/* One kernel line of the pattern stands for the kernels of all passes, or for one that may not be
 * there. */
static const char *kernel_lines(struct kw_au_emit *e, const char *kernel, const struct head *h,
				const struct kw_au_args *a, struct kw_fill *f)
{
	struct kw_fill *one = kw_str_eqz(h->suffix, "_finish")	? e->finish
			      : kw_str_eqz(h->suffix, "_write") ? e->write
			      : kw_str_eqz(h->suffix, "_total") ? e->total
								: NULL;
	const char *s = "", *name;

	if (!h->suffix.len) {
		kw_fill_set(f, "signature", signature(e, kernel, a->c));
		return kernel_line(e, kernel, h, a->plan);
	}
	if (one) {
		name = kw_au_printf(e, "%s" KW_STR_FMT, kernel, KW_STR_ARG(h->suffix));
		kw_fill_set(one, "signature", signature(e, name, a->c));
		return kernel_line(e, name, h, a->plan);
	}
	for (int i = 0; i < e->g->stage_count && kw_str_eqz(h->suffix, "_pass"); i++) {
		name = kw_au_printf(e, "%s_pass%d", kernel, i + 1);
		kw_fill_set(&e->stages[i], "signature", signature(e, name, a->c));
		s = kw_au_printf(e, "%s%s", s, kernel_line(e, name, h, a->plan));
	}
	return s;
}

/* `//@ define NAME = …` of a name that the author knows better. */
static const char *own_define(struct kw_au_emit *e, struct kw_str line)
{
	for (size_t i = 0; e->defines && e->defines[i][0]; i++)
		if (kw_str_starts(line, kw_au_printf(e, "//@ define %s ", e->defines[i][0])))
			return e->defines[i][1];
	return NULL;
}

const char *kw_au_plan(struct kw_au_emit *e, const char *kernel, const struct kw_au_args *a,
		       struct kw_fill *f)
{
	const struct kw_pattern *p = e->pattern;
	struct kw_str rest = kw_fill_example(p->text, p->len, "plan"), line;
	const char *s = "";
	struct head h;

	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		const char *text = own_define(e, line);

		if (read_head(line, p->name, &h))
			text = kernel_lines(e, kernel, &h, a, f);
		else if (!text && !kw_str_starts(line, "//@ workspace "))
			text = kw_au_printf(
				e, "%s\n",
				kw_au_substitute(e, kw_au_printf(e, KW_STR_FMT, KW_STR_ARG(line))));
		s = kw_au_printf(e, "%s%s", s, text ? text : "");
	}
	return e->rough && e->lang->rough_lines ? kw_au_printf(e, "%s%s", s, e->lang->rough_lines)
						: s;
}

enum kw_status kw_au_emit_interface(struct kw_au_emit *e, const char *kernel, struct kw_fill *f)
{
	struct kw_au_graph *g = e->g;
	struct kw_au_args a = { "", "" };
	const char *rows = kw_au_product(g, g->row_atoms, g->row_count), *lines;
	const char *cols = g->col_atom >= 0 ? g->atoms[g->col_atom].size : "1";
	const char *defines[][2] = { { e->lang->strip, NULL },
				     { "KEPT_BYTES", NULL },
				     { NULL, NULL } };

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
	lines = kw_au_printf(e, "%s%s", lines, kw_au_require_strides(e));
	if (e->uses_cores)
		kw_au_arg(e, &a, "cores:i32", "int32_t cores");
	for (int i = 0; i < e->red_count; i++)
		if (e->red[i].kind == KW_AU_INDEX)
			lines = kw_au_printf(e, "%s//@ require (%s) * (%s) <= 2147483647\n", lines,
					     g->form == KW_AU_COLUMNS ? "1" : cols,
					     kw_au_product(g, g->seg_atoms, g->seg_count));
	defines[0][1] = kw_au_vector_lines(e, e->lang->strip, cols, e->vector);
	defines[1][1] = kw_au_printf(e, "//@ define KEPT_BYTES = %zu\n", e->kept_bytes);
	e->defines = defines;
	kw_fill_set(f, "plan", kw_au_printf(e, "%s%s", kw_au_plan(e, kernel, &a, f), lines));
	e->defines = NULL;
	return e->failed ? kw_fail(e->err, KW_ERR_NOMEM, "", "no memory to write the kernel")
			 : KW_OK;
}
