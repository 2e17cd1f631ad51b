/* What a plan means for one case and one tune point. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/plan_internal.h"
#include "core/task_internal.h"

enum { PROPERTIES = 2 + 2 * KW_MAX_RANK };

struct binder {
	const struct kw_plan *plan;
	const struct kw_task *task;
	const struct kw_view *views;
	struct kw_arena *arena;
	struct kw_bound_plan *out;
	struct kw_error *err;
	struct kw_intenv cases, tensors, defines; /* defines: tune values, then defines so far */
};

static enum kw_status nomem(const struct binder *b)
{
	return kw_fail(b->err, KW_ERR_NOMEM, "", "out of memory");
}

/* Fails at a line of the plan. */
__attribute__((format(printf, 3, 4))) static enum kw_status fail_line(const struct binder *b, int line,
								     const char *fmt, ...)
{
	char where[512], text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(where, sizeof(where), "%.490s:%d", b->plan->file, line);
	return kw_fail(b->err, KW_ERR_INPUT, where, "%s", text);
}

static size_t tensor_count(const struct kw_task *t)
{
	return t->input_count + t->output_count;
}

static const struct kw_tensor_decl *tensor(const struct kw_task *t, size_t i)
{
	return i < t->input_count ? &t->inputs[i] : &t->outputs[i - t->input_count];
}

static void on_name(void *arg, const char *name)
{
	bool *has_dot = arg;

	*has_dot = *has_dot || strchr(name, '.');
}

/* Whether any line asks for a property of a tensor; most plans do not. */
static bool uses_tensors(const struct kw_plan *p)
{
	bool used = false;

	for (size_t i = 0; i < p->define_count; i++)
		kw_intexpr_names(p->defines[i].expr, on_name, &used);
	for (size_t i = 0; i < p->require_count; i++)
		kw_intexpr_names(p->requires[i], on_name, &used);
	for (size_t i = 0; i < p->where_count; i++)
		kw_intexpr_names(p->wheres[i], on_name, &used);
	for (size_t i = 0; i < p->workspace_count; i++)
		for (int j = 0; j < p->workspaces[i].rank; j++)
			kw_intexpr_names(p->workspaces[i].shape[j], on_name, &used);
	for (size_t i = 0; i < p->tensormap_count; i++)
		for (int j = 0; j < p->tensormaps[i].rank; j++)
			kw_intexpr_names(p->tensormaps[i].box[j], on_name, &used);
	for (size_t i = 0; i < p->kernel_count; i++) {
		const struct kw_plan_kernel *k = &p->kernels[i];

		for (int j = 0; j < 3; j++) {
			if (j < k->grid_rank)
				kw_intexpr_names(k->grid[j], on_name, &used);
			if (j < k->block_rank)
				kw_intexpr_names(k->block[j], on_name, &used);
			if (j < k->cluster_rank)
				kw_intexpr_names(k->cluster[j], on_name, &used);
		}
		if (k->smem)
			kw_intexpr_names(k->smem, on_name, &used);
		for (size_t j = 0; j < k->arg_count; j++)
			if (k->args[j].expr)
				kw_intexpr_names(k->args[j].expr, on_name, &used);
	}
	return used;
}

static int64_t alignment(const void *base)
{
	uintptr_t u = (uintptr_t)base;
	int64_t align = 4096;

	while (align > 1 && u % (uintptr_t)align)
		align /= 2;
	return align;
}

/* x.contiguous, x.align, x.stride0 …, x.dim0 … of every tensor. */
static enum kw_status make_tensor_env(struct binder *b)
{
	size_t count = tensor_count(b->task), n = 0;
	struct kw_intenv_var *vars;
	bool full = false;

	b->tensors = (struct kw_intenv){ .next = &b->cases };
	if (!uses_tensors(b->plan))
		return KW_OK;
	vars = kw_arena_calloc(b->arena, count * PROPERTIES, sizeof(*vars));
	if (!vars)
		return nomem(b);
	for (size_t i = 0; i < count; i++) {
		const struct kw_view *v = &b->views[i];
		const char *name = tensor(b->task, i)->name;

		vars[n++] = (struct kw_intenv_var){ kw_arena_printf(b->arena, "%s.contiguous", name),
						    kw_view_is_contiguous(v) };
		vars[n++] = (struct kw_intenv_var){ kw_arena_printf(b->arena, "%s.align", name),
						    alignment(v->base) };
		for (int d = 0; d < v->shape.rank; d++) {
			vars[n++] = (struct kw_intenv_var){
				kw_arena_printf(b->arena, "%s.stride%d", name, d), v->stride[d]
			};
			vars[n++] = (struct kw_intenv_var){
				kw_arena_printf(b->arena, "%s.dim%d", name, d), v->shape.dim[d]
			};
		}
	}
	for (size_t i = 0; i < n; i++)
		full = full || !vars[i].name;
	b->tensors.vars = vars;
	b->tensors.count = n;
	return full ? nomem(b) : KW_OK;
}

struct uses {
	const struct kw_plan *plan;
	bool found;
};

static void on_define(void *arg, const char *name)
{
	struct uses *u = arg;

	for (size_t i = 0; i < u->plan->define_count; i++)
		u->found = u->found || strcmp(u->plan->defines[i].name, name) == 0;
}

static bool uses_defines(const struct kw_plan *p, const struct kw_intexpr *e)
{
	struct uses u = { .plan = p };

	kw_intexpr_names(e, on_define, &u);
	return u.found;
}

/* The require and where lines that use no define come first: a define may divide by what they
 * exclude. */
static enum kw_status check_conditions(struct binder *b, bool with_defines)
{
	const struct kw_plan *p = b->plan;
	size_t total = p->require_count + p->where_count;

	for (size_t i = 0; i < total && b->out->applicable; i++) {
		bool is_require = i < p->require_count;
		const struct kw_intexpr *e =
			is_require ? p->requires[i] : p->wheres[i - p->require_count];
		int64_t holds = 0;
		enum kw_status s;

		if (uses_defines(p, e) != with_defines)
			continue;
		s = kw_intexpr_eval(e, &b->defines, &holds, b->err);
		if (s != KW_OK)
			return s;
		if (holds)
			continue;
		b->out->applicable = false;
		b->out->why_not = kw_arena_printf(b->arena, "%s %s",
						  is_require ? "require" : "where",
						  kw_intexpr_text(e));
		if (!b->out->why_not)
			return nomem(b);
	}
	return KW_OK;
}

static enum kw_status bind_defines(struct binder *b, const struct kw_tune_point *point)
{
	const struct kw_plan *p = b->plan;
	struct kw_intenv_var *vars =
		kw_arena_calloc(b->arena, p->tune_count + p->define_count, sizeof(*vars));
	enum kw_status s;

	if (!vars)
		return nomem(b);
	for (size_t i = 0; i < p->tune_count; i++)
		vars[i] = (struct kw_intenv_var){
			p->tunes[i].name,
			point && point->values ? point->values[i] : p->tunes[i].default_value
		};
	b->defines = (struct kw_intenv){ vars, p->tune_count, &b->tensors };
	b->out->defines = vars;
	s = check_conditions(b, false);
	for (size_t i = 0; i < p->define_count && s == KW_OK && b->out->applicable; i++) {
		struct kw_intenv_var *v = &vars[p->tune_count + i];

		v->name = p->defines[i].name;
		s = kw_intexpr_eval(p->defines[i].expr, &b->defines, &v->value, b->err);
		if (s == KW_OK)
			b->defines.count++;
	}
	b->out->define_count = b->defines.count;
	return s == KW_OK && b->out->applicable ? check_conditions(b, true) : s;
}

struct strides {
	const char *name;
	bool passed[KW_MAX_RANK];
};

static void on_stride(void *arg, const char *name)
{
	struct strides *s = arg;
	size_t n = strlen(s->name);

	if (strncmp(name, s->name, n) == 0 && strncmp(name + n, ".stride", 7) == 0 &&
	    name[n + 7] >= '0' && name[n + 7] < '0' + KW_MAX_RANK)
		s->passed[name[n + 7] - '0'] = true;
}

static bool is_argument(const struct kw_plan *p, const char *name)
{
	for (size_t i = 0; i < p->kernel_count; i++)
		for (size_t j = 0; j < p->kernels[i].arg_count; j++) {
			const struct kw_plan_arg *a = &p->kernels[i].args[j];

			if (a->kind == KW_ARG_TENSOR && strcmp(a->name, name) == 0)
				return true;
		}
	return false;
}

/* A kernel knows only the strides that it is given: each other one must be what it is in a
 * contiguous tensor. (A tensor map carries its strides itself.) But where the task itself says what the strides are, or
 * that any may come, whoever ignores them is wrong and not just inapplicable. */
static enum kw_status check_strides(struct binder *b)
{
	const struct kw_plan *p = b->plan;

	for (size_t i = 0; i < tensor_count(b->task) && b->out->applicable; i++) {
		const struct kw_view *v = &b->views[i];
		struct strides s = { .name = tensor(b->task, i)->name };
		int64_t plain[KW_MAX_RANK];

		if (kw_view_is_contiguous(v) || !is_argument(p, s.name) || kw_tensor_any_strides(tensor(b->task, i)))
			continue;
		for (size_t k = 0; k < p->define_count; k++)
			kw_intexpr_names(p->defines[k].expr, on_stride, &s);
		for (size_t k = 0; k < p->kernel_count; k++)
			for (size_t j = 0; j < p->kernels[k].arg_count; j++)
				if (p->kernels[k].args[j].expr)
					kw_intexpr_names(p->kernels[k].args[j].expr, on_stride, &s);
		kw_shape_contiguous(&v->shape, plain);
		for (int d = 0; d < v->shape.rank; d++) {
			if (s.passed[d] || v->shape.dim[d] <= 1 || v->stride[d] == plain[d])
				continue;
			b->out->applicable = false;
			b->out->why_not = kw_arena_printf(b->arena,
							  "%s is not contiguous and its stride%d is "
							  "not passed", s.name, d);
			if (!b->out->why_not)
				return nomem(b);
			break;
		}
	}
	return KW_OK;
}

static enum kw_status bind_workspaces(struct binder *b)
{
	const struct kw_plan *p = b->plan;
	char text[128];
	enum kw_status s;

	b->out->workspaces = kw_arena_calloc(b->arena, p->workspace_count, sizeof(*b->out->workspaces));
	if (!b->out->workspaces)
		return nomem(b);
	for (size_t i = 0; i < p->workspace_count; i++) {
		const struct kw_plan_workspace *w = &p->workspaces[i];
		struct kw_shape *shape = &b->out->workspaces[i];

		shape->rank = w->rank;
		for (int d = 0; d < w->rank; d++) {
			s = kw_intexpr_eval(w->shape[d], &b->defines, &shape->dim[d], b->err);
			if (s != KW_OK)
				return s;
		}
		if (kw_shape_count(shape) < 0)
			return fail_line(b, w->line, "the workspace '%s' of shape %s is impossible",
				       w->name, kw_shape_text(shape, text, sizeof(text)));
	}
	return KW_OK;
}

bool kw_bound_arg_is_16(const struct kw_bound_arg *a)
{
	if (a->kind == KW_ARG_TENSOR || a->kind == KW_ARG_WORKSPACE)
		return a->align_bytes % 16 == 0;
	return a->kind != KW_ARG_TENSORMAP && !kw_dtype_is_float(a->dtype) && a->dtype != KW_BOOL && a->i % 16 == 0;
}

/* Whether an integer can be passed as this type. */
static bool fits(enum kw_dtype d, int64_t v)
{
	switch (d) {
	case KW_I32: return v >= INT32_MIN && v <= INT32_MAX;
	case KW_I16: return v >= INT16_MIN && v <= INT16_MAX;
	case KW_I8: return v >= INT8_MIN && v <= INT8_MAX;
	case KW_U8: return v >= 0 && v <= UINT8_MAX;
	case KW_BOOL: return v == 0 || v == 1;
	default: return true;
	}
}

static int workspace_index(const struct kw_plan *p, const char *name)
{
	for (size_t i = 0; i < p->workspace_count; i++)
		if (strcmp(p->workspaces[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int tensormap_index(const struct kw_plan *p, const char *name)
{
	for (size_t i = 0; i < p->tensormap_count; i++)
		if (strcmp(p->tensormaps[i].name, name) == 0)
			return (int)i;
	return -1;
}

static enum kw_status bind_arg(struct binder *b, const struct kw_plan_kernel *k,
			       const struct kw_plan_arg *arg, struct kw_bound_arg *out)
{
	enum kw_status s;

	*out = (struct kw_bound_arg){ .kind = arg->kind, .index = -1, .dtype = arg->dtype };
	switch (arg->kind) {
	case KW_ARG_TENSOR:
		out->index = kw_plan_tensor_index(b->task, arg->name);
		if (out->index < 0)
			return fail_line(b, k->line, "the task '%s' has no tensor '%s'",
				       b->task->name, arg->name);
		out->dtype = tensor(b->task, (size_t)out->index)->dtype;
		out->writable = (size_t)out->index >= b->task->input_count;
		out->align_bytes = alignment(b->views[out->index].base);
		return KW_OK;
	case KW_ARG_WORKSPACE:
		out->index = workspace_index(b->plan, arg->name);
		out->dtype = b->plan->workspaces[out->index].dtype;
		out->writable = true;
		out->align_bytes = KW_WORKSPACE_ALIGN;
		return KW_OK;
	case KW_ARG_TENSORMAP:
		out->index = tensormap_index(b->plan, arg->name);
		return KW_OK;
	case KW_ARG_PARAM:
		for (size_t i = 0; i < b->task->param_count; i++)
			if (strcmp(b->task->params[i].name, arg->name) == 0)
				out->index = (int)i;
		if (out->index < 0)
			return fail_line(b, k->line, "the task '%s' has no param '%s'",
				       b->task->name, arg->name);
		out->f = b->task->params[out->index].value;
		out->i = (int64_t)out->f;
		return KW_OK;
	case KW_ARG_SCALAR:
		break;
	}
	s = kw_intexpr_eval(arg->expr, &b->defines, &out->i, b->err);
	out->f = (double)out->i;
	if (s == KW_OK && !fits(out->dtype, out->i))
		return fail_line(b, k->line, "'%s' is %lld, which does not fit %s",
			       kw_intexpr_text(arg->expr), (long long)out->i,
			       kw_dtype_name(out->dtype));
	return s;
}

/* Sizes that are left out are 1. least: what each must be at least. */
static enum kw_status bind_sizes(struct binder *b, const struct kw_plan_kernel *k, const char *what,
				 const struct kw_intexpr *const *exprs, int rank, int64_t least,
				 int64_t out[3])
{
	for (int i = 0; i < 3; i++) {
		enum kw_status s = KW_OK;

		out[i] = 1;
		if (i < rank)
			s = kw_intexpr_eval(exprs[i], &b->defines, &out[i], b->err);
		if (s != KW_OK)
			return s;
		if (out[i] < least)
			return fail_line(b, k->line, "%s '%s' is %lld; it must be %lld or more",
				       what, kw_intexpr_text(exprs[i]), (long long)out[i],
				       (long long)least);
	}
	return KW_OK;
}

static enum kw_status bind_kernel(struct binder *b, const struct kw_plan_kernel *k,
				  struct kw_bound_kernel *out)
{
	enum kw_status s = bind_sizes(b, k, "grid", k->grid, k->grid_rank, 0, out->grid);

	out->name = k->name;
	out->cooperative = k->cooperative;
	out->pdl = k->pdl;
	if (s == KW_OK)
		s = bind_sizes(b, k, "block", k->block, k->block_rank, 1, out->block);
	if (s == KW_OK)
		s = bind_sizes(b, k, "cluster", k->cluster, k->cluster_rank, 1, out->cluster);
	if (s == KW_OK && k->smem)
		s = kw_intexpr_eval(k->smem, &b->defines, &out->smem_bytes, b->err);
	if (s == KW_OK && out->smem_bytes < 0)
		return fail_line(b, k->line, "smem is negative");
	out->arg_count = k->arg_count;
	out->args = kw_arena_calloc(b->arena, k->arg_count, sizeof(*out->args));
	if (s == KW_OK && !out->args)
		return nomem(b);
	for (size_t i = 0; i < k->arg_count && s == KW_OK; i++)
		s = bind_arg(b, k, &k->args[i], &out->args[i]);
	return s;
}

enum kw_status kw_plan_bind(const struct kw_plan *p, const struct kw_task *t, const struct kw_case *c,
			    const struct kw_view *views, const struct kw_tune_point *point,
			    const struct kw_intenv *facts, struct kw_arena *a,
			    struct kw_bound_plan *out, struct kw_error *err)
{
	struct binder b = { .plan = p, .task = t, .views = views, .arena = a, .out = out, .err = err };
	enum kw_status s = kw_case_env(t, c, a, &b.cases, err);

	*out = (struct kw_bound_plan){ .applicable = true };
	b.cases.next = facts;
	if (s == KW_OK)
		s = make_tensor_env(&b);
	if (s == KW_OK)
		s = bind_defines(&b, point);
	if (s == KW_OK && out->applicable)
		s = check_strides(&b);
	if (s != KW_OK || !out->applicable)
		return s;
	s = bind_workspaces(&b);
	if (s == KW_OK)
		s = kw_plan_bind_tensormaps(p, t, views, &b.defines, a, out, err);
	if (s != KW_OK || !out->applicable)
		return s;
	out->kernels = kw_arena_calloc(a, p->kernel_count, sizeof(*out->kernels));
	if (s == KW_OK && !out->kernels)
		return nomem(&b);
	for (size_t i = 0; i < p->kernel_count && s == KW_OK; i++, out->kernel_count++)
		s = bind_kernel(&b, &p->kernels[i], &out->kernels[i]);
	return s;
}
