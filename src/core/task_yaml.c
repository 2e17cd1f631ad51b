/* A task from YAML: the top level, dims, params, goal. Tensors are in task_tensor.c, cases in
 * task_case.c, the reference in task_reference.c. docs/tasks.md lists the keys. */
#include "core/task_internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ARENA_BYTES = 64 << 20 };

enum kw_status kw_task_fail_key(const struct kw_yaml *n, struct kw_error *err, const char *fmt, ...)
{
	struct kw_yaml at = { .file = n->file,
			      .line = n->key ? n->key_line : n->line,
			      .column = n->key ? n->key_column : n->column };
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return kw_yaml_fail(&at, err, "%s", text);
}

enum kw_status kw_task_nomem(const struct kw_task_reader *r)
{
	return kw_fail(r->err, KW_ERR_NOMEM, r->task->file, "out of memory");
}

enum kw_status kw_task_check_map(const struct kw_yaml *n, size_t max, bool may_be_empty,
				 struct kw_error *err)
{
	if (n->kind != KW_YAML_MAP && !(may_be_empty && kw_yaml_is_plain_null(n)))
		return kw_yaml_fail(n, err, "'%s' must be a map of names", n->key ? n->key : "it");
	if (n->child_count > max)
		return kw_yaml_fail(n, err, "'%s' has %zu entries; at most %zu are allowed", n->key,
				    n->child_count, max);
	if (n->child_count == 0 && !may_be_empty)
		return kw_yaml_fail(n, err, "'%s' is empty", n->key);
	return KW_OK;
}

bool kw_core_is_reserved(const char *name)
{
	static const char *const words[] = {
		"auto", "break", "case", "char", "const", "continue", "default", "do", "double",
		"else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long",
		"register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
		"switch", "typedef", "union", "unsigned", "void", "volatile", "while", "asm", "bool",
		"true", "false", "and", "or", "not", "sm", "cores", "simd_bytes", "smem_bytes", "layout", "large",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(name, words[i]) == 0)
			return true;
	return false;
}

bool kw_core_is_identifier(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return n > 0 && !name[n] && !(name[0] >= '0' && name[0] <= '9');
}

enum kw_status kw_task_check_name(const struct kw_task_reader *r, const struct kw_yaml *n)
{
	const struct kw_task *t = r->task;
	const char *other = NULL;

	if (!kw_core_is_identifier(n->key) || strlen(n->key) > KW_CORE_MAX_NAME)
		return kw_task_fail_key(n, r->err,
					"'%.100s' is no name (letters, digits and _, at most %d)",
					n->key, KW_CORE_MAX_NAME);
	if (kw_core_is_reserved(n->key))
		return kw_task_fail_key(n, r->err, "'%s' is reserved and cannot be a name", n->key);
	for (size_t i = 0; i < t->dim_count; i++)
		if (strcmp(t->dims[i].name, n->key) == 0)
			other = "a dim";
	for (size_t i = 0; i < t->input_count; i++)
		if (strcmp(t->inputs[i].name, n->key) == 0)
			other = "an input";
	for (size_t i = 0; i < t->param_count; i++)
		if (strcmp(t->params[i].name, n->key) == 0)
			other = "a param";
	if (other)
		return kw_task_fail_key(n, r->err, "'%s' is the name of %s already", n->key, other);
	return KW_OK;
}

enum kw_status kw_task_read_word(const struct kw_yaml *n, const char *what, const char *const *words,
				 size_t count, int *out, struct kw_error *err)
{
	const char *near;

	if (n->kind != KW_YAML_SCALAR)
		return kw_yaml_fail(n, err, "expected %s", what);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(words[i], n->text) == 0) {
			*out = (int)i;
			return KW_OK;
		}
	}
	near = kw_str_nearest(n->text, words, count);
	if (near)
		return kw_yaml_fail(n, err, "'%.100s' is not %s; did you mean '%s'?", n->text, what,
				    near);
	return kw_yaml_fail(n, err, "'%.100s' is not %s", n->text, what);
}

static enum kw_status read_dim(struct kw_task_reader *r, const struct kw_yaml *n)
{
	static const char *const keys[] = { "min", "max", "multiple", NULL };
	struct kw_dim *d = &r->task->dims[r->task->dim_count];
	enum kw_status s = kw_task_check_name(r, n);

	*d = (struct kw_dim){ .name = n->key, .min = 1, .multiple = 1 };
	if (s != KW_OK)
		return s;
	if (n->kind == KW_YAML_SCALAR) { /* rows: 128 */
		s = kw_yaml_i64(n, &d->min, r->err);
		d->max = d->min;
	} else {
		s = kw_yaml_check_keys(n, keys, r->err);
		if (s == KW_OK)
			s = kw_yaml_get_i64(n, "min", false, &d->min, r->err);
		if (s == KW_OK)
			s = kw_yaml_get_i64(n, "max", true, &d->max, r->err);
		if (s == KW_OK)
			s = kw_yaml_get_i64(n, "multiple", false, &d->multiple, r->err);
	}
	if (s != KW_OK)
		return s;
	if (d->min < 0 || d->max < d->min)
		return kw_yaml_fail(n, r->err,
				    "'%s' goes from %lld to %lld; 0 <= min <= max is needed", d->name,
				    (long long)d->min, (long long)d->max);
	if (d->multiple < 1 || d->max / d->multiple * d->multiple < d->min)
		return kw_yaml_fail(n, r->err, "no size from %lld to %lld is a multiple of %lld",
				    (long long)d->min, (long long)d->max, (long long)d->multiple);
	r->task->dim_count++;
	return KW_OK;
}

static enum kw_status read_dims(struct kw_task_reader *r, const struct kw_yaml *map)
{
	enum kw_status s = map ? kw_task_check_map(map, KW_TASK_MAX_DIMS, true, r->err) : KW_OK;

	if (s != KW_OK || !map)
		return s;
	r->task->dims = kw_arena_calloc(r->arena, map->child_count, sizeof(*r->task->dims));
	if (!r->task->dims)
		return kw_task_nomem(r);
	for (const struct kw_yaml *n = map->first; n && s == KW_OK; n = n->next)
		s = read_dim(r, n);
	return s;
}

static enum kw_status read_param(struct kw_task_reader *r, const struct kw_yaml *n)
{
	static const char *const keys[] = { "dtype", "value", NULL };
	struct kw_param *p = &r->task->params[r->task->param_count];
	enum kw_status s = kw_task_check_name(r, n);

	*p = (struct kw_param){ .name = n->key, .dtype = KW_F32 };
	if (s != KW_OK)
		return s;
	if (n->kind == KW_YAML_SCALAR) { /* eps: 1e-5 */
		s = kw_yaml_f64(n, &p->value, r->err);
	} else {
		s = kw_yaml_check_keys(n, keys, r->err);
		if (s == KW_OK)
			s = kw_task_read_dtype(n, "dtype", &p->dtype, r->err);
		if (s == KW_OK)
			s = kw_yaml_get_f64(n, "value", true, &p->value, r->err);
	}
	if (s == KW_OK && !kw_dtype_is_float(p->dtype) && p->value != floor(p->value))
		return kw_yaml_fail(n, r->err, "'%s' is %s, but its value %g is no whole number",
				    p->name, kw_dtype_name(p->dtype), p->value);
	if (s == KW_OK)
		r->task->param_count++;
	return s;
}

static enum kw_status read_params(struct kw_task_reader *r, const struct kw_yaml *map)
{
	enum kw_status s = map ? kw_task_check_map(map, KW_TASK_MAX_PARAMS, true, r->err) : KW_OK;

	if (s != KW_OK || !map)
		return s;
	r->task->params = kw_arena_calloc(r->arena, map->child_count, sizeof(*r->task->params));
	if (!r->task->params)
		return kw_task_nomem(r);
	for (const struct kw_yaml *n = map->first; n && s == KW_OK; n = n->next)
		s = read_param(r, n);
	return s;
}

static enum kw_status read_tolerance(struct kw_task_reader *r, const struct kw_yaml *map)
{
	static const char *const keys[] = { "rtol", "atol", NULL };
	struct kw_task *t = r->task;
	enum kw_status s;

	t->tol_rel = t->tol_abs = -1;
	if (!map)
		return KW_OK;
	s = kw_yaml_check_keys(map, keys, r->err);
	if (s == KW_OK)
		s = kw_yaml_get_f64(map, "rtol", false, &t->tol_rel, r->err);
	if (s == KW_OK)
		s = kw_yaml_get_f64(map, "atol", false, &t->tol_abs, r->err);
	if (s != KW_OK)
		return s;
	for (const struct kw_yaml *n = map->first; n; n = n->next) {
		double v = n->key[0] == 'r' ? t->tol_rel : t->tol_abs;

		if (!(v >= 0) || isinf(v))
			return kw_yaml_fail(n, r->err, "'%s' must be 0 or more", n->key);
	}
	return KW_OK;
}

/* precision: { allow: [tf32, bf16] } */
static enum kw_status read_precision(struct kw_task_reader *r, const struct kw_yaml *map)
{
	static const char *const keys[] = { "allow", NULL };
	const struct kw_yaml *list = kw_yaml_find(map, "allow");
	enum kw_status s = map ? kw_yaml_check_keys(map, keys, r->err) : KW_OK;

	if (s != KW_OK || !list)
		return s;
	if (list->kind != KW_YAML_SEQ)
		return kw_yaml_fail(list, r->err, "'allow' must be a list, like [tf32, bf16]");
	for (const struct kw_yaml *n = list->first; n; n = n->next) {
		enum kw_dtype d = n->kind == KW_YAML_SCALAR ? kw_dtype_parse(kw_str_from(n->text))
							    : KW_DTYPE_NONE;

		if (n->kind == KW_YAML_SCALAR && strcmp(n->text, "tf32") == 0)
			r->task->allow_tf32 = true;
		else if (kw_dtype_is_float(d))
			r->task->allow_precision |= 1u << d;
		else
			return kw_yaml_fail(n, r->err, "'%.100s' is no floating point type or tf32",
					    n->kind == KW_YAML_SCALAR ? n->text : "a list");
	}
	return KW_OK;
}

static enum kw_status read_goal(struct kw_task_reader *r, const struct kw_yaml *map)
{
	static const char *const keys[] = { "speedup", "sol", NULL };
	struct kw_goal *g = &r->task->goal;
	enum kw_status s = map ? kw_yaml_check_keys(map, keys, r->err) : KW_OK;

	if (s != KW_OK || !map)
		return s;
	s = kw_yaml_get_f64(map, "speedup", false, &g->speedup, r->err);
	if (s == KW_OK)
		s = kw_yaml_get_f64(map, "sol", false, &g->sol, r->err);
	if (s == KW_OK && !(g->speedup >= 0 && g->sol >= 0))
		return kw_yaml_fail(map, r->err, "a goal must be a positive number");
	return s;
}

static enum kw_status read_policies(struct kw_task_reader *r)
{
	static const char *const policies[] = { "refuse", "allow" };
	const struct kw_yaml *n = kw_yaml_find(r->root, "libraries");
	int64_t devices = 1;
	int choice = 0;
	enum kw_status s = KW_OK;

	if (n)
		s = kw_task_read_word(n, "'allow' or 'refuse'", policies, 2, &choice, r->err);
	r->task->libraries_said = n != NULL;
	r->task->libraries = choice ? KW_LIBRARIES_ALLOW : KW_LIBRARIES_REFUSE;
	if (s == KW_OK)
		s = kw_yaml_get_bool(r->root, "unconfirmed", false, &r->task->unconfirmed, r->err);
	if (s == KW_OK)
		s = kw_yaml_get_i64(r->root, "devices", false, &devices, r->err);
	if (s == KW_OK && devices != 1)
		return kw_yaml_fail(kw_yaml_find(r->root, "devices"), r->err,
				    "only tasks on one device are supported yet");
	return s;
}

/* grad: [x, weight] */
static enum kw_status read_grad(struct kw_task_reader *r)
{
	const struct kw_yaml *list = kw_yaml_find(r->root, "grad");
	struct kw_task *t = r->task;

	if (!list)
		return KW_OK;
	if (list->kind != KW_YAML_SEQ || list->child_count == 0)
		return kw_yaml_fail(list, r->err, "'grad' must be a list of inputs, like [x]");
	if (!t->expr || t->torch_form)
		return kw_task_fail_key(list, r->err, "only an 'expr' can be differentiated, and the reference is %s", t->reference_c ? "C" : "PyTorch");
	if (kw_task_has_inout(t))
		return kw_task_fail_key(list, r->err, "'grad' does not go with inputs that are updated in place");
	t->grad = kw_arena_calloc(r->arena, list->child_count, sizeof(*t->grad));
	if (!t->grad)
		return kw_task_nomem(r);
	for (const struct kw_yaml *n = list->first; n; n = n->next) {
		if (n->kind != KW_YAML_SCALAR)
			return kw_yaml_fail(n, r->err, "expected the name of an input");
		t->grad[t->grad_count++] = n->text;
	}
	return KW_OK;
}

/* name and title; the file's own name when there is none. */
static enum kw_status read_names(struct kw_task_reader *r)
{
	enum kw_status s;
	const struct kw_yaml *n = kw_yaml_find(r->root, "name");

	r->task->name = NULL;
	r->task->title = "";
	s = kw_yaml_get_str(r->root, "name", true, &r->task->name, r->err);
	if (s == KW_OK && (strlen(r->task->name) > 64 ||
			   strspn(r->task->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
						 "0123456789_-.") != strlen(r->task->name)))
		return kw_yaml_fail(n, r->err,
				    "a task's name has letters, digits, _ - and . only, at most 64");
	if (s == KW_OK)
		s = kw_yaml_get_str(r->root, "title", false, &r->task->title, r->err);
	return s;
}

/* A PyTorch file says itself what goes in and comes out, where the task does not. */
static bool describes_itself(const struct kw_task_reader *r)
{
	const struct kw_yaml *reference = kw_yaml_find(r->root, "reference");

	return !kw_yaml_find(r->root, "inputs") && reference && reference->kind == KW_YAML_MAP && kw_yaml_find(reference, "file");
}

static enum kw_status read_task(struct kw_task_reader *r)
{
	static const char *const keys[] = { "name",      "title",   "dims",      "inputs",
					    "params",    "outputs", "reference", "perf",
					    "check",     "goal",    "tolerance", "precision",
					    "libraries", "grad",    "devices",   "layout",
					    "unconfirmed", NULL };
	enum kw_status s = kw_yaml_check_keys(r->root, keys, r->err);

	if (s == KW_OK)
		s = read_names(r);
	if (s == KW_OK && describes_itself(r)) {
		r->task->undescribed = true;
		return kw_task_read_reference(r, kw_yaml_find(r->root, "reference"));
	}
	if (s == KW_OK)
		s = read_dims(r, kw_yaml_find(r->root, "dims"));
	if (s == KW_OK)
		s = read_params(r, kw_yaml_find(r->root, "params"));
	if (s == KW_OK && !kw_yaml_find(r->root, "inputs"))
		s = kw_yaml_fail(r->root, r->err, "key 'inputs' is missing");
	if (s == KW_OK)
		s = kw_task_read_inputs(r, kw_yaml_find(r->root, "inputs"));
	if (s == KW_OK)
		s = kw_task_read_outputs(r, kw_yaml_find(r->root, "outputs"));
	if (s == KW_OK)
		s = kw_task_read_reference(r, kw_yaml_find(r->root, "reference"));
	if (s == KW_OK)
		s = read_tolerance(r, kw_yaml_find(r->root, "tolerance"));
	if (s == KW_OK)
		s = read_precision(r, kw_yaml_find(r->root, "precision"));
	if (s == KW_OK)
		s = read_goal(r, kw_yaml_find(r->root, "goal"));
	if (s == KW_OK)
		s = read_policies(r);
	if (s == KW_OK)
		s = read_grad(r);
	if (s == KW_OK)
		s = kw_task_read_cases(r);
	return s == KW_OK && r->task->output_count ? kw_task_link_inout(r->task, r->err) : s;
}

enum kw_status kw_task_parse_yaml(struct kw_task *t, const char *file, const char *text, size_t len,
				  struct kw_error *err)
{
	struct kw_task_reader r = { .task = t, .arena = &t->arena, .err = err };
	struct kw_yaml *root = NULL;
	enum kw_status s;

	memset(t, 0, sizeof(*t));
	kw_arena_init(&t->arena, ARENA_BYTES);
	t->file = kw_arena_strdup(&t->arena, file);
	t->text = kw_arena_strndup(&t->arena, text, len);
	if (!t->file || !t->text) {
		t->file = t->file ? t->file : file;
		s = kw_task_nomem(&r);
	} else {
		kw_sha256_hex(text, len, t->sha256);
		s = kw_yaml_parse(t->file, text, len, &t->arena, &root, err);
	}
	if (s == KW_OK) {
		r.root = root;
		r.text = t->text;
		s = read_task(&r);
	}
	if (s != KW_OK)
		kw_task_release(t);
	return s;
}
