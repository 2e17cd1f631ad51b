/* Cases: one binding of the dims each, and what follows from it. */
#include <stdio.h>
#include <string.h>

#include "core/task_internal.h"

static enum kw_status check_size(const struct kw_dim *d, int64_t v, char *text, size_t text_bytes)
{
	if (v < d->min || v > d->max)
		snprintf(text, text_bytes, "%s = %lld, but the task allows %lld to %lld", d->name,
			 (long long)v, (long long)d->min, (long long)d->max);
	else if (v % d->multiple != 0)
		snprintf(text, text_bytes, "%s = %lld, but it must be a multiple of %lld", d->name,
			 (long long)v, (long long)d->multiple);
	else
		return KW_OK;
	return KW_ERR_INPUT;
}

/* "rows=4096 cols=4096 x=sliced" */
static const char *make_label(const struct kw_task *t, const struct kw_case *c, struct kw_arena *a)
{
	char *label = kw_arena_strdup(a, "");

	for (size_t i = 0; i < t->dim_count && label; i++)
		label = kw_arena_printf(a, "%s%s%s=%lld", label, i ? " " : "", t->dims[i].name,
					(long long)c->dims[i]);
	for (size_t i = 0; i < t->input_count && label; i++)
		if (c->layouts[i] != KW_LAYOUT_CONTIGUOUS)
			label = kw_arena_printf(a, "%s%s%s=%s", label, *label ? " " : "",
						t->inputs[i].name, kw_layout_name(c->layouts[i]));
	return label && !*label ? "fixed" : label;
}

/* Every shape can be computed and counted. */
static enum kw_status check_shapes(const struct kw_task *t, const struct kw_case *c,
				   struct kw_error *err)
{
	struct kw_intenv_var vars[KW_TASK_MAX_DIMS];
	struct kw_intenv env = { .vars = vars, .count = t->dim_count };
	struct kw_shape shape;
	int64_t stride[KW_MAX_RANK];
	enum kw_status s = KW_OK;

	for (size_t i = 0; i < t->dim_count; i++)
		vars[i] = (struct kw_intenv_var){ t->dims[i].name, c->dims[i] };
	for (size_t i = 0; i < t->input_count && s == KW_OK; i++)
		if ((s = kw_tensor_shape(&t->inputs[i], &env, &shape, err)) == KW_OK && t->inputs[i].has_strides)
			s = kw_tensor_strides(&t->inputs[i], &env, &shape, stride, err);
	for (size_t i = 0; i < t->output_count && s == KW_OK; i++)
		s = kw_tensor_shape(&t->outputs[i], &env, &shape, err);
	if (s != KW_OK)
		kw_error_while(err, "reading the case %s", c->label);
	return s;
}

static enum kw_status alloc_case(const struct kw_task *t, struct kw_arena *a, struct kw_case *c,
				 struct kw_error *err)
{
	*c = (struct kw_case){ 0 };
	c->dims = kw_arena_calloc(a, t->dim_count, sizeof(*c->dims));
	c->layouts = kw_arena_calloc(a, t->input_count, sizeof(*c->layouts));
	if (!c->dims || !c->layouts)
		return kw_fail(err, KW_ERR_NOMEM, t->file, "out of memory");
	return KW_OK;
}

enum kw_status kw_case_make(const struct kw_task *t, const int64_t *dims, const enum kw_layout_kind *layouts, bool perf,
			    struct kw_arena *a, struct kw_case *out, struct kw_error *err)
{
	char text[256];
	enum kw_status s = alloc_case(t, a, out, err);

	if (s != KW_OK)
		return s;
	for (size_t i = 0; i < t->dim_count; i++) {
		if (check_size(&t->dims[i], dims[i], text, sizeof(text)) != KW_OK)
			return kw_fail(err, KW_ERR_INPUT, t->file, "%s", text);
		out->dims[i] = dims[i];
	}
	for (size_t i = 0; i < t->input_count && layouts; i++)
		out->layouts[i] = layouts[i];
	out->perf = perf;
	out->label = make_label(t, out, a);
	if (!out->label)
		return kw_fail(err, KW_ERR_NOMEM, t->file, "out of memory");
	return check_shapes(t, out, err);
}

enum kw_status kw_case_env(const struct kw_task *t, const struct kw_case *c, struct kw_arena *a,
			   struct kw_intenv *env, struct kw_error *err)
{
	struct kw_intenv_var *vars = kw_arena_calloc(a, t->dim_count, sizeof(*vars));

	*env = (struct kw_intenv){ 0 };
	if (!vars)
		return kw_fail(err, KW_ERR_NOMEM, t->file, "out of memory");
	for (size_t i = 0; i < t->dim_count; i++)
		vars[i] = (struct kw_intenv_var){ t->dims[i].name, c->dims[i] };
	*env = (struct kw_intenv){ .vars = vars, .count = t->dim_count };
	return KW_OK;
}

enum kw_status kw_tensor_shape(const struct kw_tensor_decl *d, const struct kw_intenv *env,
			       struct kw_shape *out, struct kw_error *err)
{
	char text[256];

	*out = (struct kw_shape){ .rank = d->rank };
	for (int i = 0; i < d->rank; i++) {
		enum kw_status s = kw_intexpr_eval(d->shape[i], env, &out->dim[i], err);

		if (s != KW_OK) {
			kw_error_while(err, "computing the shape of '%s'", d->name);
			return s;
		}
		if (out->dim[i] < 0)
			return kw_fail(err, KW_ERR_INPUT, "",
				       "the size '%s' of '%s' is %lld, which is negative",
				       kw_intexpr_text(d->shape[i]), d->name, (long long)out->dim[i]);
	}
	if (kw_shape_count(out) < 0)
		return kw_fail(err, KW_ERR_INPUT, "", "'%s' of shape %s has too many elements",
			       d->name, kw_shape_text(out, text, sizeof(text)));
	return KW_OK;
}

static enum kw_status read_size(const struct kw_task_reader *r, const struct kw_yaml *map, size_t i,
				struct kw_case *c)
{
	const struct kw_dim *d = &r->task->dims[i];
	const struct kw_yaml *n = kw_yaml_find(map, d->name);
	char text[256];
	enum kw_status s = KW_OK;

	c->dims[i] = d->min;
	if (!n && d->min != d->max)
		return kw_yaml_fail(map, r->err, "the case does not say '%s'", d->name);
	if (n)
		s = kw_yaml_i64(n, &c->dims[i], r->err);
	if (s == KW_OK && check_size(d, c->dims[i], text, sizeof(text)) != KW_OK)
		return kw_yaml_fail(n ? n : map, r->err, "%s", text);
	return s;
}

static enum kw_status check_case_keys(const struct kw_task_reader *r, const struct kw_yaml *map)
{
	const char *keys[KW_TASK_MAX_DIMS + 3];
	size_t n = 0;

	for (size_t i = 0; i < r->task->dim_count; i++)
		keys[n++] = r->task->dims[i].name;
	keys[n++] = "layout";
	keys[n++] = "large";
	keys[n] = NULL;
	return kw_yaml_check_keys(map, keys, r->err);
}

/* number: of the case in its list. */
static enum kw_status read_case(const struct kw_task_reader *r, const struct kw_yaml *map, bool perf, size_t number,
				struct kw_case *c)
{
	const struct kw_yaml *layout = kw_yaml_find(map, "layout");
	char where[512];
	enum kw_status s = check_case_keys(r, map);

	if (s == KW_OK)
		s = alloc_case(r->task, r->arena, c, r->err);
	c->perf = perf;
	c->line = map->line;
	for (size_t i = 0; i < r->task->dim_count && s == KW_OK; i++)
		s = read_size(r, map, i, c);
	if (s == KW_OK && !perf)
		kw_task_vary_layouts(r->task, number, c);
	if (s == KW_OK && r->layout)
		s = kw_task_read_layout(r, r->layout, c);
	if (s == KW_OK && layout)
		s = kw_task_read_layout(r, layout, c);
	if (s == KW_OK)
		s = kw_yaml_get_bool(map, "large", false, &c->large, r->err);
	if (s != KW_OK)
		return s;
	c->label = make_label(r->task, c, r->arena);
	if (!c->label)
		return kw_task_nomem(r);
	s = check_shapes(r->task, c, r->err);
	if (s != KW_OK && r->err && !r->err->where[0])
		snprintf(r->err->where, sizeof(r->err->where), "%.500s",
			 kw_yaml_where(map, where, sizeof(where)));
	return s;
}

static enum kw_status read_list(const struct kw_task_reader *r, const char *key, bool perf)
{
	const struct kw_yaml *list = kw_yaml_find(r->root, key);
	struct kw_task *t = r->task;
	size_t number = 0;
	enum kw_status s = KW_OK;

	if (!list || kw_yaml_is_plain_null(list))
		return KW_OK;
	for (const struct kw_yaml *n = list->first; n && s == KW_OK; n = n->next) {
		s = read_case(r, n, perf, number++, &t->cases[t->case_count]);
		t->case_count += s == KW_OK;
		t->perf_count += s == KW_OK && perf;
	}
	return s;
}

enum kw_status kw_task_read_cases(struct kw_task_reader *r)
{
	static const char *const lists[] = { "perf", "check" };
	struct kw_task *t = r->task;
	size_t total = 0;
	enum kw_status s;

	for (int i = 0; i < 2; i++) {
		const struct kw_yaml *list = kw_yaml_find(r->root, lists[i]);

		if (list && list->kind != KW_YAML_SEQ && !kw_yaml_is_plain_null(list))
			return kw_yaml_fail(list, r->err, "'%s' must be a list of cases", lists[i]);
		total += list ? list->child_count : 0;
	}
	if (total > KW_TASK_MAX_CASES)
		return kw_yaml_fail(r->root, r->err, "%zu cases; at most %d are allowed", total,
				    KW_TASK_MAX_CASES);
	r->layout = kw_yaml_find(r->root, "layout");
	t->cases = kw_arena_calloc(r->arena, total, sizeof(*t->cases));
	if (!t->cases)
		return kw_task_nomem(r);
	s = read_list(r, "perf", true);
	if (s == KW_OK && t->perf_count == 0)
		return kw_yaml_fail(r->root, r->err, "a task needs at least one case under 'perf'");
	return s == KW_OK ? read_list(r, "check", false) : s;
}
