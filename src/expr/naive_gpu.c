/* naive_gpu.c - the CUDA and OpenCL C that one writes first, and the references for a GPU: a kernel a stage, a thread an
 * element. */
#include "expr/naive.h"

#include <string.h>

#define BLOCK 256
#define MAX_ARGS_OF_KERNEL 64

static const struct language languages[] = {
	{
		.backend = "cuda",
		.gpu = true,
		.f32_suffix = "f",
		.i64_min = "(-9223372036854775807LL - 1)",
		.i64_max = "9223372036854775807LL",
		.inf = "KW_INF",
		.nan = "KW_NAN",
		.min = "smaller",
		.max = "larger",
		.cdiv = "cdiv",
		.includes = "#include <math.h>\n",
		.helper = "static __device__ inline ",
		.kernel = "extern \"C\" __global__ void ",
		.global = "",
		.thread = "(int64_t)blockIdx.x * blockDim.x + threadIdx.x",
	},
	{
		.backend = "opencl",
		.gpu = true,
		.f32_suffix = "",
		.i64_min = "LONG_MIN",
		.i64_max = "LONG_MAX",
		.inf = "KW_INF",
		.nan = "KW_NAN",
		.min = "smaller",
		.max = "larger",
		.cdiv = "cdiv",
		.includes = "",
		.helper = "static inline ",
		.kernel = "__kernel void ",
		.global = "__global ",
		.thread = "get_global_id(0)",
	},
};

/* ---- kernels ---- */

static void add_factor(struct gen *g, const struct kw_node *n, int axis, struct kernel *k)
{
	const char *size = naive_dim(g, n, axis), *plan = sym_text(g->a, n->shape[axis].poly);

	if (!plan) {
		naive_nomem(g);
		return;
	}
	if (size[0] == '(')
		plan = naive_text(g, "(%s)", plan);
	k->total = k->total ? naive_product(g, k->total, size) : size;
	k->plan_total = k->plan_total ? naive_text(g, "%s * %s", k->plan_total, plan) : plan;
}

/* The index of each axis from the number of the element: at / (cols) % rows. */
static void take_apart(struct gen *g, const struct kw_node *n, unsigned skip, const char *at, struct scope *root,
		       struct at *ix)
{
	static const char *const letters[] = { "i", "j", "k", "l", "p", "q", "r", "s" };
	const char *behind = NULL;
	int first = 0;

	while (first < n->rank && (skip & 1u << first || naive_is_one(n, first)))
		first++;
	for (int i = n->rank; i-- > 0;) {
		const char *v = at;
		ix[i] = (struct at){ "0", root };
		if (skip & 1u << i || naive_is_one(n, i))
			continue;
		if (behind)
			v = naive_text(g, strchr(behind, '*') ? "%s / (%s)" : "%s / %s", v, behind);
		if (i > first)
			v = naive_text(g, "%s %% %s", v, naive_dim(g, n, i));
		ix[i].text = naive_let(g, root, CT_I64, letters[i % 8], v);
		behind = behind ? naive_product(g, naive_dim(g, n, i), behind) : naive_dim(g, n, i);
	}
}

const char *naive_begin_kernel(struct gen *g, const struct kw_node *n, unsigned skip, int output, struct kernel *k,
			       struct scope *root, struct at *ix)
{
	const char *t = naive_name(g, "t"), *at = t;

	*k = (struct kernel){ .output = output, .lanes = g->lane ? NAIVE_LANES : 1 };
	naive_scope(g, root, NULL, NULL);
	for (int i = 0; i < n->rank; i++)
		if (!(skip & 1u << i) && !naive_is_one(n, i))
			add_factor(g, n, i, k);
	if (g->lane)
		naive_line(root, "const int %s = threadIdx.x %% %d;", g->lane, NAIVE_LANES);
	if (k->total || output >= 0) {
		naive_line(root, g->lane ? "const int64_t %s = (%s) / %d;" : "const int64_t %s = %s;", t, g->lang->thread, NAIVE_LANES);
		naive_line(root, "if (%s >= %s) {", t, output >= 0 ? g->count : k->total);
		naive_line(root, "return;");
		naive_line(root, "}");
	}
	if (output >= 0)
		at = naive_let(g, root, CT_I64, "at", naive_text(g, "%s + %s", g->first, t));
	if (g->flat) {
		for (int i = 0; i < n->rank; i++)
			ix[i] = (struct at){ at, root };
	} else {
		take_apart(g, n, skip, at, root, ix);
	}
	return t;
}

void naive_end_kernel(struct gen *g, struct kernel *k, struct scope *root)
{
	struct kernel *all;

	k->body = root->text.full ? NULL : kw_arena_str(g->a, kw_buf_str(&root->text));
	kw_buf_release(&root->text);
	all = kw_arena_calloc(g->a, g->kernel_count + 1, sizeof(*all));
	if (!k->body || !all) {
		naive_nomem(g);
		return;
	}
	if (g->kernel_count)
		memcpy(all, g->kernels, g->kernel_count * sizeof(*all));
	all[g->kernel_count++] = *k;
	g->kernels = all;
}

/* What an output's dtype makes of a result of the reference that rounds. */
static const char *as_stored(struct gen *g, const struct kw_node *n, enum kw_dtype d, const char *v)
{
	const struct kw_dtype_info *info = kw_dtype_info(d);

	if (info->cls == KW_CLASS_INT && d != KW_I64 && !kw_dtype_is_float(n->dtype))
		return naive_text(g, "(double)(%s)%s", info->ctype, v);
	if (!kw_dtype_is_float(d) || !kw_dtype_is_float(n->dtype))
		return info->cls == KW_CLASS_BOOL ? naive_text(g, "(double)(%s != 0)", v) :
						    naive_cast(g, v, naive_ctype(g, n->dtype), CT_F64);
	if (!g->rounds || d == KW_F64)
		return v;
	if (info->bits == 32)
		return strncmp(v, "to_f32(", 7) == 0 ? v : naive_text(g, "to_f32(%s)", v);
	return naive_text(g, "(double)kw_%s_to_f32(kw_%s_from_f32(to_odd(%s)))", info->name, info->name, v);
}

void naive_gpu_nest(struct gen *g, const struct kw_node *n, const char *array, enum kw_dtype d, int output)
{
	struct at ix[KW_MAX_RANK] = { 0 };
	struct scope root;
	struct kernel k;
	const char *t, *v;

	g->flat = !g->wide && n->rank > 0 && naive_is_flat(g, n, n);
	g->lane = naive_wants_lanes(g, n) ? naive_name(g, "lane") : NULL;
	t = naive_begin_kernel(g, n, 0, output, &k, &root, ix);
	v = naive_value(g, n, ix, &root);
	if (output >= 0)
		naive_line(&root, "%s[%s] = %s;", array, t, as_stored(g, n, d, v));
	else
		naive_store(g, &root, array, d, naive_offset(g, n, ix), naive_ctype(g, n->dtype), v);
	naive_end_kernel(g, &k, &root);
	g->flat = false;
	g->lane = NULL;
}

/* ---- the text ---- */

static const char *kernel_name(struct gen *g, enum kw_naive_form form, size_t i)
{
	static const char *const stems[] = { "naive", "wide", "plain" };

	return g->kernel_count > 1 ? naive_text(g, "%s_%zu", stems[form], i) : stems[form];
}

static void add_range(struct gen *g, const struct kernel *k, bool plan, struct kw_buf *list)
{
	kw_buf_addz(list, list->len ? ", " : "");
	if (plan)
		kw_buf_printf(list, "0:i64, %s:i64", k->plan_total ? k->plan_total : "1");
	else
		kw_buf_printf(list, "int64_t %s, int64_t %s", g->first, g->count);
}

/* The arguments that the body names, as the plan or the function has them. */
static const char *arguments(struct gen *g, const struct kernel *k, bool plan)
{
	struct kw_buf list, lines;
	const char *text;

	kw_buf_init(&list, 1 << 18);
	kw_buf_init(&lines, 1 << 19);
	kw_buf_add(&lines, g->args.ptr, g->args.len);
	kw_buf_add(&lines, g->numbers.ptr, g->numbers.len);
	naive_arguments(&list, kw_buf_str(&lines), plan, k->body);
	if (k->output >= 0)
		add_range(g, k, plan, &list);
	text = list.full || lines.full ? NULL : kw_arena_str(g->a, kw_buf_str(&list));
	kw_buf_release(&list);
	kw_buf_release(&lines);
	if (!text)
		naive_nomem(g);
	return text ? text : "";
}

static size_t count_commas(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == ',';
	return n;
}

static void plan_line(struct gen *g, enum kw_naive_form form, size_t i, struct kw_buf *out)
{
	const struct kernel *k = &g->kernels[i];
	const char *args = arguments(g, k, true);

	if (count_commas(arguments(g, k, false)) >= MAX_ARGS_OF_KERNEL) /* sizes of a plan's list may have commas */
		naive_fail(g, NULL, "a kernel would have more arguments than a plan may pass");
	kw_buf_printf(out, "//@ kernel %s ", kernel_name(g, form, i));
	if (k->total)
		kw_buf_printf(out, "grid=(cdiv(%s, %d)) block=(%d)", k->plan_total, BLOCK / k->lanes, BLOCK);
	else
		kw_buf_printf(out, "grid=(1) block=(%d)", k->lanes);
	kw_buf_printf(out, " args=(%s)\n", args);
}

static void assemble(struct gen *g, enum kw_naive_form form, struct kw_buf *out)
{
	const char *all = "";

	for (size_t i = 0; i < g->kernel_count; i++)
		all = naive_text(g, "%s%s", all, g->kernels[i].body);
	kw_buf_add(out, g->workspaces.ptr, g->workspaces.len);
	for (size_t i = 0; i < g->kernel_count; i++)
		plan_line(g, form, i, out);
	kw_buf_printf(out, "%s\n", g->lang->includes);
	naive_helpers(g, all, out);
	for (size_t i = 0; i < g->kernel_count; i++) {
		kw_buf_printf(out, "%s%s%s(%s)\n{\n", i ? "\n" : "", g->lang->kernel, kernel_name(g, form, i),
			      arguments(g, &g->kernels[i], false));
		naive_indent(out, kw_str_from(g->kernels[i].body));
		kw_buf_addz(out, "}\n");
	}
}

static const char *free_name(struct gen *g, const char *name)
{
	return kw_task_has_name(g->task, name) ? naive_name(g, name) : name;
}

static void emit(struct gen *g, enum kw_naive_form form, struct kw_buf *out, struct kw_naive_info *info)
{
	naive_plan(g);
	naive_declare(g);
	g->first = free_name(g, "first");
	g->count = free_name(g, "count");
	naive_emit_all(g);
	if (g->workspaces.full || g->args.full || g->numbers.full)
		naive_nomem(g);
	naive_limit(g);
	if (g->status == KW_OK)
		assemble(g, form, out);
	if (g->status == KW_OK && out->full)
		naive_nomem(g);
	if (g->status != KW_OK || !info)
		return;
	info->kernel_count = g->kernel_count;
	for (size_t i = 0; i < g->kernel_count; i++) {
		info->output[i] = g->kernels[i].output;
		info->lanes[i] = g->kernels[i].lanes;
	}
}

static const struct language *find_language(const char *backend, enum kw_naive_form form)
{
	for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++)
		if (strcmp(languages[i].backend, backend) == 0 && (form == KW_NAIVE_BASELINE || i == 0))
			return &languages[i];
	return NULL;
}

enum kw_status kw_expr_emit_naive_gpu(const struct kw_expr *e, const char *backend, enum kw_naive_form form,
				      struct kw_buf *out, struct kw_naive_info *info, struct kw_error *err)
{
	struct kw_arena a;
	struct kw_expr *lowered = NULL;
	struct gen g = { .task = e->task, .a = &a, .err = err, .lang = find_language(backend, form),
			 .wide = form != KW_NAIVE_BASELINE, .rounds = form == KW_NAIVE_F32 };

	if (!g.lang)
		return kw_fail(err, KW_NO, "", "there is no naive %s for '%s'",
			       form == KW_NAIVE_BASELINE ? "kernel" : "reference", backend);
	kw_arena_init(&a, 256u << 20);
	g.status = lower_except(e, NULL, &a, &lowered, err);
	if (g.status == KW_OK && !g.rounds)
		g.status = naive_split(lowered, &a, &lowered, err);
	if (g.status == KW_OK && g.rounds && e->task->case_count)
		g.status = kw_case_env(e->task, &e->task->cases[0], &a, &g.sizes, err);
	g.e = lowered;
	if (g.status == KW_OK && naive_prepare(&g))
		emit(&g, form, out, info);
	naive_release(&g);
	kw_arena_release(&a);
	return g.status;
}
