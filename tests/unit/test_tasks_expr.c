/* The library tasks/ against src/expr: every expression is read, has the declared shapes in every case and
 * a cost, and its values at a small case are finite and not all the same. */
#include <math.h>

#include "base/alloc.h"
#include "base/file.h"
#include "expr/expr.h"
#include "judge/inputs.h"
#include "tap.h"

enum { MAX_ELEMENTS = 200000 };

static struct kw_error err;
static char line[2400];

static const char *why(void)
{
	return kw_error_line(&err, line, sizeof(line));
}

/* Shapes of a case as inferred and as declared; its cost. */
static bool check_case(const struct kw_task *t, const struct kw_expr *e, const struct kw_case *c)
{
	struct kw_arena a;
	struct kw_bound *b;
	struct kw_intenv env;
	struct kw_shape shape;
	struct kw_cost cost = { 0 };
	bool good;

	kw_arena_init(&a, 64 << 20);
	good = kw_case_env(t, c, &a, &env, &err) == KW_OK && kw_expr_bind(e, c, &a, &b, &err) == KW_OK;
	for (size_t i = 0; i < t->output_count && good; i++) {
		char got[128], want[128];

		good = kw_tensor_shape(&t->outputs[i], &env, &shape, &err) == KW_OK;
		if (good && !kw_shape_eq(&shape, kw_bound_output_shape(b, (int)i))) {
			diag("%s: %s is %s, declared %s", c->label, t->outputs[i].name,
			     kw_shape_text(kw_bound_output_shape(b, (int)i), got, sizeof(got)),
			     kw_shape_text(&shape, want, sizeof(want)));
			good = false;
		}
	}
	if (good)
		kw_expr_cost(b, &cost);
	if (good && c->perf && !(cost.bytes_read > 0 && cost.bytes_written > 0 && cost.flops >= 0)) {
		diag("%s: %g flops, %g bytes", c->label, cost.flops, cost.bytes_read + cost.bytes_written);
		good = false;
	}
	kw_arena_release(&a);
	return good;
}

static int64_t elements(const struct kw_tensor_decl *d, const struct kw_intenv *env)
{
	struct kw_shape s;

	return kw_tensor_shape(d, env, &s, &err) == KW_OK ? kw_shape_count(&s) : -1;
}

/* The check case with the most elements that is still small. */
static const struct kw_case *small_case(const struct kw_task *t)
{
	const struct kw_case *best = NULL;
	int64_t most = 1;

	for (size_t i = t->perf_count; i < t->case_count; i++) {
		struct kw_arena a;
		struct kw_intenv env;
		int64_t n = 0, part = 1;

		kw_arena_init(&a, 1 << 20);
		kw_case_env(t, &t->cases[i], &a, &env, &err);
		for (size_t k = 0; k < t->input_count && part > 0; k++, n += part)
			part = elements(&t->inputs[k], &env);
		for (size_t k = 0; k < t->output_count && part > 0; k++, n += part)
			part = elements(&t->outputs[k], &env);
		kw_arena_release(&a);
		if (part > 0 && n > most && n <= MAX_ELEMENTS) {
			most = n;
			best = &t->cases[i];
		}
	}
	return best;
}

static bool make_inputs(const struct kw_task *t, const struct kw_intenv *env, struct kw_arena *a,
			struct kw_view *views)
{
	for (size_t i = 0; i < t->input_count; i++) {
		struct kw_view *v = &views[i];

		*v = (struct kw_view){ .dtype = (int)t->inputs[i].dtype };
		if (kw_tensor_shape(&t->inputs[i], env, &v->shape, &err) != KW_OK)
			return false;
		kw_shape_contiguous(&v->shape, v->stride);
		v->base = kw_arena_calloc(a, (size_t)kw_shape_count(&v->shape), kw_dtype_bytes(t->inputs[i].dtype));
		if (!v->base || kw_fill_input(&t->inputs[i], v, KW_FILL_DECLARED, 42, (uint32_t)i, env, 1, &err) != KW_OK)
			return false;
	}
	return true;
}

/* All values of an output are finite, and they are not all the same. */
static bool check_output(const struct kw_task *t, struct kw_eval *ev, int output, const struct kw_shape *shape)
{
	const int64_t start[KW_MAX_RANK] = { 0 };
	int64_t n = kw_shape_count(shape);
	double *values = kw_calloc((size_t)n, sizeof(*values));
	bool good = values && kw_eval_box(ev, output, start, shape->dim, values, &err) == KW_OK, same = true;

	for (int64_t i = 0; i < n && good; i++) {
		good = isfinite(values[i]);
		same = same && values[i] == values[0];
		if (!good)
			diag("%s[%lld] is %g", t->outputs[output].name, (long long)i, values[i]);
	}
	if (good && same && n > 1) {
		diag("all %lld values of %s are %g", (long long)n, t->outputs[output].name, values[0]);
		good = false;
	}
	kw_free(values);
	return good;
}

static bool evaluate(const struct kw_task *t, const struct kw_expr *e, const struct kw_case *c)
{
	struct kw_view views[32];
	struct kw_arena a;
	struct kw_intenv env;
	struct kw_bound *b;
	struct kw_eval *ev = NULL;
	bool good;

	kw_arena_init(&a, 256 << 20);
	kw_error_reset(&err);
	good = kw_case_env(t, c, &a, &env, &err) == KW_OK && kw_expr_bind(e, c, &a, &b, &err) == KW_OK &&
	       make_inputs(t, &env, &a, views) &&
	       kw_eval_new(b, views, NULL, KW_EVAL_F64, 1, 256 << 20, &ev, &err) == KW_OK;
	for (size_t i = 0; i < t->output_count && good; i++)
		good = check_output(t, ev, (int)i, kw_bound_output_shape(b, (int)i));
	kw_eval_free(ev);
	kw_arena_release(&a);
	return good;
}

static void test_task(const char *path)
{
	struct kw_task t;
	struct kw_arena a;
	struct kw_expr *e = NULL;
	const struct kw_case *small;
	bool shapes = true;

	kw_error_reset(&err);
	if (!ok(kw_task_load(&t, path, &err) == KW_OK, "%s loads: %s", path, why()))
		return;
	kw_arena_init(&a, 64 << 20);
	if (ok(kw_expr_complete_task(&t, &err) == KW_OK && kw_expr_parse(&t, &a, &e, &err) == KW_OK, "its expression is read")) {
		for (size_t i = 0; i < t.case_count && shapes; i++)
			shapes = check_case(&t, e, &t.cases[i]);
		if (!ok(shapes, "every case has the declared shapes and a cost"))
			diag("%s", why());
		small = small_case(&t);
		if (ok(small != NULL, "it has a small case") &&
		    !ok(evaluate(&t, e, small), "which has finite values that differ"))
			diag("%s: %s", small->label, why());
	} else {
		diag("%s", why());
	}
	kw_arena_release(&a);
	kw_task_release(&t);
}

int main(void)
{
	struct kw_arena a;
	char **paths;
	size_t n = 0;

	kw_arena_init(&a, 1 << 20);
	is_int(kw_data_list("tasks/", ".yaml", &a, &paths, &n, &err), KW_OK, "the library is listed");
	for (size_t i = 0; i < n; i++)
		test_task(paths[i]);
	ok(n >= 30, "%zu tasks", n);
	kw_arena_release(&a);
	return done();
}
