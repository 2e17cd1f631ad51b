/* Inputs and outputs of a task. */
#include "core/task_internal.h"

#include <stdio.h>
#include <string.h>

int kw_task_find_input(const struct kw_task *t, const char *name)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (strcmp(t->inputs[i].name, name) == 0)
			return (int)i;
	return -1;
}

/* Also used for params; required for tensors by the caller. */
enum kw_status kw_task_read_dtype(const struct kw_yaml *map, const char *key, enum kw_dtype *out,
				  struct kw_error *err)
{
	const struct kw_yaml *n = kw_yaml_find(map, key);
	const char *text = NULL, *near;
	enum kw_status s = kw_yaml_get_str(map, key, false, &text, err);

	if (s != KW_OK || !n)
		return s;
	*out = kw_dtype_parse(kw_str_from(text));
	if (*out != KW_DTYPE_NONE)
		return KW_OK;
	near = kw_dtype_nearest(text);
	if (near)
		return kw_yaml_fail(n, err, "unknown dtype '%.100s'; did you mean '%s'?", text, near);
	return kw_yaml_fail(n, err,
			    "unknown dtype '%.100s'; there are f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 "
			    "i32 i16 i8 u8 bool",
			    text);
}

struct name_check {
	const struct kw_task_reader *r;
	const struct kw_yaml *node;
	enum kw_status status;
};

static void check_dim_name(void *arg, const char *name)
{
	struct name_check *c = arg;
	const struct kw_task *t = c->r->task;
	const char *names[KW_TASK_MAX_DIMS], *near;

	for (size_t i = 0; i < t->dim_count; i++) {
		names[i] = t->dims[i].name;
		if (strcmp(name, names[i]) == 0)
			return;
	}
	if (c->status != KW_OK)
		return;
	near = kw_str_nearest(name, names, t->dim_count);
	if (near)
		c->status = kw_yaml_fail(c->node, c->r->err, "unknown dim '%s'; did you mean '%s'?",
					 name, near);
	else
		c->status = kw_yaml_fail(c->node, c->r->err,
					 "unknown dim '%s'; declare it under 'dims'", name);
}

enum kw_status kw_task_read_intexpr(const struct kw_task_reader *r, const struct kw_yaml *n,
				    struct kw_intexpr **out)
{
	struct name_check check = { .r = r, .node = n };
	enum kw_status s;

	if (n->kind != KW_YAML_SCALAR || kw_yaml_is_plain_null(n))
		return kw_yaml_fail(n, r->err, "expected a size: a number or an expression of dims");
	/* [cdiv(n, 2), m] reaches us as "cdiv(n" and "2)". */
	if (!n->quoted && strchr(n->text, '(') && !strchr(n->text, ')'))
		return kw_yaml_fail(n, r->err,
				    "'%.100s' was cut at a comma; put the expression in quotes",
				    n->text);
	s = kw_intexpr_parse((struct kw_str){ n->text, n->text_len }, n->file, n->line,
			     n->column, r->arena, out, r->err);
	if (s == KW_OK)
		kw_intexpr_names(*out, check_dim_name, &check);
	return s == KW_OK ? check.status : s;
}

static enum kw_status read_shape(struct kw_task_reader *r, const struct kw_yaml *map,
				 struct kw_tensor_decl *d)
{
	const struct kw_yaml *list = kw_yaml_find(map, "shape");
	enum kw_status s = KW_OK;

	if (!list)
		return kw_yaml_fail(map, r->err, "key 'shape' is missing ([] is a scalar)");
	if (list->kind != KW_YAML_SEQ)
		return kw_yaml_fail(list, r->err, "'shape' must be a list, like [rows, cols]");
	if (list->child_count > KW_MAX_RANK)
		return kw_yaml_fail(list, r->err, "%zu dimensions; at most %d are supported",
				    list->child_count, KW_MAX_RANK);
	for (const struct kw_yaml *n = list->first; n && s == KW_OK; n = n->next)
		s = kw_task_read_intexpr(r, n, &d->shape[d->rank++]);
	return s;
}

/* What fills an input whose task does not say. */
static void default_range(struct kw_tensor_decl *d)
{
	static const struct {
		enum kw_dtype dtype;
		double low, high;
	} ranges[] = { { KW_I8, -127, 127 }, { KW_U8, 0, 255 },   { KW_I16, -100, 100 },
		       { KW_I32, -100, 100 }, { KW_I64, -100, 100 }, { KW_BOOL, 0, 1 } };

	if (d->has_range || d->dist != KW_DIST_INTEGERS)
		return;
	d->range_lo = -100;
	d->range_hi = 100;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (ranges[i].dtype == d->dtype) {
			d->range_lo = ranges[i].low;
			d->range_hi = ranges[i].high;
		}
	}
	d->has_range = true;
}

static enum kw_status read_bound(struct kw_task_reader *r, const struct kw_yaml *n, double *plain,
				 struct kw_intexpr **expr)
{
	if (n->kind == KW_YAML_SCALAR && !n->quoted &&
	    kw_str_to_f64((struct kw_str){ n->text, n->text_len }, plain))
		return KW_OK;
	return kw_task_read_intexpr(r, n, expr);
}

static enum kw_status read_range(struct kw_task_reader *r, const struct kw_yaml *map,
				 struct kw_tensor_decl *d)
{
	const struct kw_yaml *list = kw_yaml_find(map, "range");
	enum kw_status s;

	if (!list)
		return KW_OK;
	if (list->kind != KW_YAML_SEQ || list->child_count != 2)
		return kw_yaml_fail(list, r->err, "'range' must be two numbers, like [0, 1]");
	s = read_bound(r, list->first, &d->range_lo, &d->range_lo_int);
	if (s == KW_OK)
		s = read_bound(r, list->first->next, &d->range_hi, &d->range_hi_int);
	if (s != KW_OK)
		return s;
	d->has_range = true;
	if (d->dist == KW_DIST_NORMAL) {
		if (!d->range_hi_int && !(d->range_hi >= 0))
			return kw_yaml_fail(list, r->err,
					    "the range of 'normal' is [mean, sigma]; sigma must be 0 "
					    "or more");
	} else if (!d->range_lo_int && !d->range_hi_int && !(d->range_lo <= d->range_hi)) {
		return kw_yaml_fail(list, r->err, "the range goes from %g down to %g", d->range_lo,
				    d->range_hi);
	}
	return KW_OK;
}

static enum kw_status read_dist(struct kw_task_reader *r, const struct kw_yaml *map,
				struct kw_tensor_decl *d)
{
	const struct kw_yaml *n = kw_yaml_find(map, "dist");
	const char *names[KW_DIST_COUNT];
	int choice = kw_dtype_is_float(d->dtype) ? KW_DIST_NORMAL
		     : d->dtype == KW_BOOL	 ? KW_DIST_BERNOULLI
						 : KW_DIST_INTEGERS;
	enum kw_status s;

	for (int i = 0; i < KW_DIST_COUNT; i++)
		names[i] = kw_dist_name((enum kw_dist)i);
	if (n) {
		s = kw_task_read_word(n, "a distribution", names, KW_DIST_COUNT, &choice, r->err);
		if (s != KW_OK)
			return s;
	}
	d->dist = (enum kw_dist)choice;
	if (!kw_dtype_is_float(d->dtype) &&
	    (d->dist == KW_DIST_NORMAL || d->dist == KW_DIST_UNIFORM ||
	     d->dist == KW_DIST_PROBABILITIES || d->dist == KW_DIST_POSITIVE))
		return kw_yaml_fail(n, r->err, "'%s' is for floating point types, not %s", n->text,
				    kw_dtype_name(d->dtype));
	s = read_range(r, map, d);
	if (s == KW_OK)
		default_range(d);
	return s;
}

static enum kw_status read_tensor(struct kw_task_reader *r, const struct kw_yaml *map,
				  const char *const *keys, struct kw_tensor_decl *d)
{
	enum kw_status s = kw_task_check_name(r, map);

	if (s == KW_OK)
		s = kw_yaml_check_keys(map, keys, r->err);
	if (s != KW_OK)
		return s;
	*d = (struct kw_tensor_decl){ .name = map->key, .line = map->key_line };
	if (!kw_yaml_find(map, "dtype"))
		return kw_yaml_fail(map, r->err, "key 'dtype' is missing");
	s = kw_task_read_dtype(map, "dtype", &d->dtype, r->err);
	return s == KW_OK ? read_shape(r, map, d) : s;
}

/* strides: [ld, 1], in elements */
static enum kw_status read_strides(struct kw_task_reader *r, const struct kw_yaml *map, struct kw_tensor_decl *d)
{
	const struct kw_yaml *list = kw_yaml_find(map, "strides");
	int count = 0;
	enum kw_status s = KW_OK;

	if (!list)
		return KW_OK;
	if (list->kind != KW_YAML_SEQ)
		return kw_yaml_fail(list, r->err, "'strides' must be a list, like [cols + 4, 1]");
	if (list->child_count != (size_t)d->rank)
		return kw_yaml_fail(list, r->err, "%zu strides for %d dimension%s; one is needed for each", list->child_count, d->rank,
				    d->rank == 1 ? "" : "s");
	for (const struct kw_yaml *n = list->first; n && s == KW_OK; n = n->next)
		s = kw_task_read_intexpr(r, n, &d->stride[count++]);
	d->has_strides = true;
	return s;
}

/* align: 4, in bytes */
static enum kw_status read_align(struct kw_task_reader *r, const struct kw_yaml *map, struct kw_tensor_decl *d)
{
	const struct kw_yaml *n = kw_yaml_find(map, "align");
	int64_t least = (int64_t)kw_dtype_bytes(d->dtype);
	enum kw_status s = n ? kw_yaml_i64(n, &d->align_bytes, r->err) : KW_OK;

	if (s != KW_OK || !n)
		return s;
	if (d->align_bytes < least || d->align_bytes > KW_TASK_MAX_ALIGN || (d->align_bytes & (d->align_bytes - 1)) != 0)
		return kw_yaml_fail(n, r->err, "'align' is in bytes: a power of two from %lld (an element of %s) to %d",
				    (long long)least, kw_dtype_name(d->dtype), KW_TASK_MAX_ALIGN);
	return KW_OK;
}

/* contiguous: true promises it, false promises nothing */
static enum kw_status read_contiguous(struct kw_task_reader *r, const struct kw_yaml *map, struct kw_tensor_decl *d)
{
	const struct kw_yaml *n = kw_yaml_find(map, "contiguous");
	bool yes = false;
	enum kw_status s = kw_yaml_get_bool(map, "contiguous", false, &yes, r->err);

	if (s != KW_OK || !n)
		return s;
	if (d->has_strides)
		return kw_task_fail_key(n, r->err, "'%s' has 'strides', which say whether it is contiguous", d->name);
	d->contiguous = yes ? KW_CONTIGUOUS_ALWAYS : KW_CONTIGUOUS_NEVER_SURE;
	if (!yes && d->rank == 0)
		return kw_yaml_fail(n, r->err, "'%s' is a scalar, which has no strides", d->name);
	return KW_OK;
}

/* inout: true, or the name of the output that is written into it */
static enum kw_status read_inout(struct kw_task_reader *r, const struct kw_yaml *map, struct kw_tensor_decl *d)
{
	const struct kw_yaml *n = kw_yaml_find(map, "inout");

	if (!n)
		return KW_OK;
	if (n->kind == KW_YAML_SCALAR && !n->quoted && (strcmp(n->text, "true") == 0 || strcmp(n->text, "false") == 0))
		d->inout = n->text[0] == 't';
	else if (n->kind == KW_YAML_SCALAR && kw_core_is_identifier(n->text))
		d->inout = (d->updated_by = n->text) != NULL;
	else
		return kw_yaml_fail(n, r->err, "'inout' must be true, or the name of the output that is written into '%s'", d->name);
	if (d->inout && kw_tensor_any_strides(d))
		return kw_yaml_fail(n, r->err, "'%s' is updated in place, so it is contiguous: 'inout' does not go with 'strides' or "
				    "'contiguous: false'", d->name);
	return KW_OK;
}

enum kw_status kw_task_read_inputs(struct kw_task_reader *r, const struct kw_yaml *map)
{
	static const char *const keys[] = { "dtype", "shape", "dist", "range", "strides", "align", "contiguous", "inout", NULL };
	struct kw_task *t = r->task;
	enum kw_status s = kw_task_check_map(map, KW_TASK_MAX_TENSORS, false, r->err);

	if (s != KW_OK)
		return s;
	t->inputs = kw_arena_calloc(r->arena, map->child_count, sizeof(*t->inputs));
	if (!t->inputs)
		return kw_task_nomem(r);
	for (const struct kw_yaml *n = map->first; n && s == KW_OK; n = n->next) {
		struct kw_tensor_decl *d = &t->inputs[t->input_count];

		s = read_tensor(r, n, keys, d);
		if (s == KW_OK)
			s = read_dist(r, n, d);
		if (s == KW_OK)
			s = read_strides(r, n, d);
		if (s == KW_OK)
			s = read_align(r, n, d);
		if (s == KW_OK)
			s = read_contiguous(r, n, d);
		if (s == KW_OK)
			s = read_inout(r, n, d);
		t->input_count += s == KW_OK;
	}
	return s;
}

/* compare: indices, indexes: x, axis: -1 */
static enum kw_status read_compare(struct kw_task_reader *r, const struct kw_yaml *map,
				   struct kw_tensor_decl *d)
{
	static const char *const modes[] = { "values", "indices", "distribution" };
	const struct kw_yaml *n = kw_yaml_find(map, "compare");
	int mode = KW_COMPARE_VALUES, input;
	enum kw_status s = KW_OK;

	if (n)
		s = kw_task_read_word(n, "a way to compare", modes, 3, &mode, r->err);
	d->compare = (enum kw_compare_mode)mode;
	d->indexes_axis = -1;
	if (s == KW_OK)
		s = kw_yaml_get_str(map, "indexes", d->compare == KW_COMPARE_INDICES, &d->indexes,
				    r->err);
	if (s == KW_OK)
		s = kw_yaml_get_i64(map, "axis", false, &d->indexes_axis, r->err);
	if (s != KW_OK || d->compare != KW_COMPARE_INDICES)
		return s;
	input = kw_task_find_input(r->task, d->indexes);
	if (input < 0)
		return kw_yaml_fail(kw_yaml_find(map, "indexes"), r->err, "there is no input '%.60s'",
				    d->indexes);
	if (d->indexes_axis < -r->task->inputs[input].rank ||
	    d->indexes_axis >= r->task->inputs[input].rank)
		return kw_yaml_fail(kw_yaml_find(map, "axis") ? kw_yaml_find(map, "axis") : map,
				    r->err, "'%s' has no axis %lld", d->indexes,
				    (long long)d->indexes_axis);
	if (kw_dtype_info(d->dtype)->cls != KW_CLASS_INT)
		return kw_yaml_fail(kw_yaml_find(map, "dtype"), r->err,
				    "indices need an integer dtype, not %s", kw_dtype_name(d->dtype));
	return KW_OK;
}

enum kw_status kw_task_read_outputs(struct kw_task_reader *r, const struct kw_yaml *map)
{
	static const char *const keys[] = { "dtype", "shape", "compare", "indexes", "axis", NULL };
	struct kw_task *t = r->task;
	struct kw_tensor_decl *outputs;
	size_t count = 0;
	enum kw_status s;

	if (!map) /* src/expr fills them in */
		return KW_OK;
	s = kw_task_check_map(map, KW_TASK_MAX_TENSORS, false, r->err);
	if (s != KW_OK)
		return s;
	outputs = kw_arena_calloc(r->arena, map->child_count, sizeof(*outputs));
	if (!outputs)
		return kw_task_nomem(r);
	for (const struct kw_yaml *n = map->first; n && s == KW_OK; n = n->next) {
		s = read_tensor(r, n, keys, &outputs[count]);
		if (s == KW_OK)
			s = read_compare(r, n, &outputs[count]);
		count += s == KW_OK;
	}
	t->outputs = outputs;
	t->output_count = count;
	return s;
}
