/* expr_run.h - a one-line task, bound and evaluated, for the tests of expr/.
 *
 *     struct run r;
 *     if (run_init(&r, "softmax(x)", "x:f64[2,3]", NULL)) {
 *             double *y = run_whole(&r, 0, KW_EVAL_F64);
 *             ...
 *     }
 *     run_free(&r);
 *
 * Inputs hold small numbers made from their index (whole ones for integer dtypes, in [0, 3)) until run_set. */
#ifndef KW_TESTS_EXPR_RUN_H
#define KW_TESTS_EXPR_RUN_H

#include <math.h>
#include <string.h>

#include "expr/expr.h"
#include "tap.h"

#define RUN_INPUTS 8
struct run {
	struct kw_task task;
	struct kw_arena arena;
	struct kw_expr *e;
	struct kw_bound *b;
	struct kw_view view[RUN_INPUTS];
	struct kw_error err;
	bool loaded;
};

static double run_value(int64_t i, int input)
{
	return (double)((i * 7919 + input * 104729 + 12345) % 4001) / 1000.0 - 2.0;
}

__attribute__((unused)) static void run_set(struct run *r, int input, const double *values)
{
	int64_t n = kw_shape_count(&r->view[input].shape);

	kw_dtype_from_f64((enum kw_dtype)r->view[input].dtype, values, r->view[input].base, (size_t)n);
}

static void run_fill(struct run *r, int input)
{
	struct kw_view *v = &r->view[input];
	enum kw_dtype d = (enum kw_dtype)v->dtype;

	for (int64_t i = 0; i < kw_shape_count(&v->shape); i++) {
		double x = run_value(i, input);
		if (kw_dtype_info(d)->cls == KW_CLASS_INT)
			x = (double)((i * 5 + input) % 3);
		else if (kw_dtype_info(d)->cls == KW_CLASS_BOOL)
			x = i % 3 != 1;
		kw_dtype_store(d, (char *)v->base + (size_t)i * kw_dtype_bytes(d), x);
	}
}

/* Input specs follow the expression, NULL last. */
__attribute__((unused, sentinel)) static bool run_init(struct run *r, const char *expr, ...)
{
	const char *inputs[RUN_INPUTS];
	size_t n = 0;
	va_list ap;

	memset(r, 0, sizeof(*r));
	kw_arena_init(&r->arena, 256 << 20);
	va_start(ap, expr);
	while (n < RUN_INPUTS && (inputs[n] = va_arg(ap, const char *)) != NULL)
		n++;
	va_end(ap);
	if (kw_task_parse_line(&r->task, expr, inputs, n, &r->err) != KW_OK)
		return false;
	r->loaded = true;
	if (kw_expr_complete_task(&r->task, &r->err) != KW_OK ||
	    kw_expr_parse(&r->task, &r->arena, &r->e, &r->err) != KW_OK ||
	    kw_expr_bind(r->e, &r->task.cases[0], &r->arena, &r->b, &r->err) != KW_OK)
		return false;
	for (size_t i = 0; i < r->task.input_count; i++) {
		struct kw_view *v = &r->view[i];
		v->dtype = (int)r->task.inputs[i].dtype;
		v->shape = *kw_bound_input_shape(r->b, (int)i);
		kw_shape_contiguous(&v->shape, v->stride);
		v->base = kw_arena_calloc(&r->arena, (size_t)kw_shape_count(&v->shape) + 1,
					  kw_dtype_bytes((enum kw_dtype)v->dtype));
		run_fill(r, (int)i);
	}
	return true;
}

__attribute__((unused)) static struct kw_eval *run_eval(struct run *r, enum kw_eval_mode mode, int threads)
{
	struct kw_eval *ev = NULL;

	kw_eval_new(r->b, r->view, NULL, mode, threads, (size_t)1 << 30, &ev, &r->err);
	return ev;
}

/* In the arena; NULL when it fails. */
__attribute__((unused)) static double *run_whole(struct run *r, int output, enum kw_eval_mode mode)
{
	const struct kw_shape *s = kw_bound_output_shape(r->b, output);
	int64_t zero[KW_MAX_RANK] = { 0 };
	double *y = kw_arena_calloc(&r->arena, (size_t)kw_shape_count(s) + 1, sizeof(*y));
	struct kw_eval *ev = run_eval(r, mode, 1);
	bool good = ev && kw_eval_box(ev, output, zero, s->dim, y, &r->err) == KW_OK;

	kw_eval_free(ev);
	return good ? y : NULL;
}

__attribute__((unused)) static void run_free(struct run *r)
{
	if (r->loaded)
		kw_task_release(&r->task);
	kw_arena_release(&r->arena);
}

__attribute__((unused)) static bool run_near(double got, double want, double rel)
{
	if (got != got || want != want)
		return got != got && want != want;
	return got == want || fabs(got - want) <= rel * (fabs(want) + 1e-300) + (want == 0 ? rel : 0);
}

#endif
