/* `task check`: what the expression shows, and of a task whose reference is only PyTorch what evaluating that shows (python/audit.py). */
#include <string.h>

#include "ops/internal.h"
#include "python/python.h"

#define MOST_ELEMENTS 1e8          /* of a case that is evaluated a dozen times, in f64 */
#define MEANT_ELEMENTS 2e5         /* enough to see what there is to see */
enum { AUDIT_TIMEOUT_MS = 300000, LABELS_MAX = 256 };

/* Of all tensors; 0 where nothing comes out. */
static double elements(const struct kw_op_task *t, const struct kw_op_case *c)
{
	double sum = 0, out = 0;

	for (size_t i = 0; i < t->task.input_count; i++)
		sum += (double)kw_shape_count(&c->inputs[i]);
	for (size_t i = 0; i < t->task.output_count; i++)
		out += (double)kw_shape_count(&c->outputs[i]);
	return out > 0 ? sum + out : 0;
}

/* The largest of moderate size, else the smallest. */
static const struct kw_op_case *choose(const struct kw_op_task *t, const struct kw_op_case *rows)
{
	const struct kw_op_case *best = NULL;
	double best_n = 0;

	for (size_t i = 0; i < t->task.case_count; i++) {
		double n = elements(t, &rows[i]);
		bool better = n <= MEANT_ELEMENTS ? best_n > MEANT_ELEMENTS || n > best_n : n < best_n;

		if (n > 0 && (!best || better)) {
			best = &rows[i];
			best_n = n;
		}
	}
	return best_n <= MOST_ELEMENTS ? best : NULL;
}

static json_t *sizes_json(const struct kw_shape *shape)
{
	json_t *sizes = json_array();

	for (int i = 0; sizes && i < shape->rank; i++)
		json_array_append_new(sizes, json_integer(shape->dim[i]));
	return sizes;
}

static json_t *tensor_json(const struct kw_tensor_decl *d, const struct kw_shape *shape, const struct kw_intenv *env)
{
	static const char *const dists[] = {
#define X(e, name) name,
		KW_DIST_LIST(X)
#undef X
	};
	json_t *range = json_null();
	double lo = d->range_lo, hi = d->range_hi;
	int64_t v;

	if (d->range_lo_int && kw_intexpr_eval(d->range_lo_int, env, &v, NULL) == KW_OK)
		lo = (double)v;
	if (d->range_hi_int && kw_intexpr_eval(d->range_hi_int, env, &v, NULL) == KW_OK)
		hi = (double)v;
	if (d->has_range)
		range = json_pack("[f, f]", lo, hi);
	return json_pack("{s:s, s:s, s:o, s:s, s:o}", "name", d->name, "dtype", kw_dtype_name(d->dtype), "shape", sizes_json(shape), "dist",
			 dists[d->dist], "range", range);
}

static json_t *request_for(const struct kw_op_task *t, const struct kw_op_case *c, struct kw_arena *a, struct kw_error *err)
{
	const struct kw_task *k = &t->task;
	json_t *inputs = json_array(), *outputs = json_array(), *params = json_array(), *dims = json_object();
	struct kw_intenv env;
	enum kw_status s = kw_case_env(k, c->c, a, &env, err);

	for (size_t i = 0; s == KW_OK && i < k->input_count; i++)
		json_array_append_new(inputs, tensor_json(&k->inputs[i], &c->inputs[i], &env));
	for (size_t i = 0; i < k->output_count; i++)
		json_array_append_new(outputs, json_pack("{s:s, s:s, s:o}", "name", k->outputs[i].name, "dtype", kw_dtype_name(k->outputs[i].dtype),
							 "shape", sizes_json(&c->outputs[i])));
	for (size_t i = 0; i < k->param_count; i++)
		json_array_append_new(params, json_pack("{s:s, s:s, s:f}", "name", k->params[i].name, "dtype", kw_dtype_name(k->params[i].dtype),
							"value", k->params[i].value));
	for (size_t i = 0; i < k->dim_count; i++)
		json_object_set_new(dims, k->dims[i].name, json_integer(c->c->dims[i]));
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:f, s:s}", "do", "audit", "inputs", inputs, "outputs", outputs, "params", params, "dims",
			 dims, "atol", k->tol_abs, "case", c->c->label);
}

static enum kw_status add(const char *text, struct kw_arena *a, const char **labels, size_t *n, struct kw_error *err)
{
	if (*n == LABELS_MAX)
		return KW_OK;
	labels[*n] = kw_arena_strdup(a, text);
	return labels[*n] && ++*n ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "no memory for the audit");
}

static enum kw_status by_evaluation(const struct kw_op_task *t, struct kw_arena *a, const char **labels, size_t *n, struct kw_error *err)
{
	struct kw_python_answer answer = { 0 };
	struct kw_python *python = NULL;
	struct kw_op_case *rows;
	const struct kw_op_case *c = NULL;
	json_t *request = NULL;
	enum kw_status s = kw_op_task_cases(t, a, &rows, err);

	if (s == KW_OK && !(c = choose(t, rows)))
		return add("not_evaluated: no case is small enough for the audit", a, labels, n, err);
	if (s == KW_OK && !(request = request_for(t, c, a, err)))
		s = kw_fail(err, KW_ERR_NOMEM, "", "no memory for the audit");
	if (s == KW_OK)
		s = kw_op_torch_loaded(&t->task, &python, err);
	if (s == KW_OK)
		s = kw_op_torch_ask(python, &t->task, json_incref(request), AUDIT_TIMEOUT_MS, &answer, err);
	for (size_t i = 0; s == KW_OK && i < json_array_size(json_object_get(answer.json, "labels")); i++)
		s = add(json_string_value(json_array_get(json_object_get(answer.json, "labels"), i)), a, labels, n, err);
	json_decref(request);
	kw_python_answer_release(&answer);
	if (s == KW_OK)
		kw_python_give_back(python);
	else
		kw_python_stop(python);
	return s;
}

enum kw_status kw_op_task_audit(const struct kw_op_task *t, struct kw_arena *a, const char ***labels, size_t *n, struct kw_error *err)
{
	const char **seen = NULL, **all;
	size_t count = 0;
	enum kw_status s = kw_expr_audit(t->expr, a, &seen, &count, err);

	*labels = seen;
	*n = count;
	if (s != KW_OK || t->task.expr || !t->task.torch_form)
		return s;
	all = kw_arena_calloc(a, LABELS_MAX + 1, sizeof(*all));
	if (!all)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the audit");
	memcpy(all, seen, count * sizeof(*all)); /* two */
	*labels = all;
	return by_evaluation(t, a, all, n, err);
}
