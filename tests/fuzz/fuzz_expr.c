/* Any text as a reference over a few inputs: a graph that binds, costs, lowers and evaluates, or an error with a place. */
#include <stdio.h>

#include "expr/expr.h"

#include "fuzz.h"

static const char task_text[] =
	"name: f\n"
	"dims: { r: { min: 0, max: 9 }, c: { min: 0, max: 9 } }\n"
	"inputs:\n"
	"  x: { dtype: f32, shape: [r, c] }\n"
	"  y: { dtype: f16, shape: [c, r] }\n"
	"  v: { dtype: f64, shape: [c] }\n"
	"  i: { dtype: i32, shape: [r] }\n"
	"  q: { dtype: f32, shape: [2, r, c, 2] }\n"
	"params: { eps: { dtype: f32, value: 0.5 } }\n"
	"outputs:\n"
	"  o: { dtype: f32, shape: [r] }\n"
	"reference: { expr: 'o = sum(x, axis=1)' }\n"
	"perf: [ { r: 3, c: 4 } ]\n"
	"check: [ { r: 1, c: 1 }, { r: 0, c: 5 } ]\n";

static void evaluate(const struct kw_expr *e, const struct kw_case *c, struct kw_arena *a)
{
	const struct kw_task *t = e->task;
	struct kw_error err = { 0 };
	struct kw_view views[8];
	struct kw_bound *b;
	struct kw_cost cost;
	struct kw_eval *ev;

	if (kw_expr_bind(e, c, a, &b, &err) != KW_OK) {
		must(err.text[0]);
		return;
	}
	kw_expr_cost(b, &cost);
	must(cost.flops >= 0 && cost.bytes_read >= 0);
	for (size_t i = 0; i < e->output_count; i++) {
		must(kw_bound_reduction(b, (int)i) >= 0);
		if (kw_shape_count(kw_bound_output_shape(b, (int)i)) > 4096)
			return;
	}
	for (size_t i = 0; i < e->node_count; i++) {
		if (kw_shape_count(kw_bound_node_shape(b, (int)i)) > 20000)
			return;
	}
	for (size_t i = 0; i < t->input_count; i++) {
		views[i].dtype = (int)t->inputs[i].dtype;
		views[i].shape = *kw_bound_input_shape(b, (int)i);
		kw_shape_contiguous(&views[i].shape, views[i].stride);
		views[i].base = kw_arena_calloc(a, (size_t)kw_shape_count(&views[i].shape) + 1, 8);
		must(views[i].base);
	}
	for (int mode = 0; mode < 2; mode++) {
		if (kw_eval_new(b, views, NULL, mode ? KW_EVAL_F32 : KW_EVAL_F64, 1, 64 << 20, &ev, &err) != KW_OK)
			continue;
		for (size_t i = 0; i < e->output_count; i++) {
			const struct kw_shape *s = kw_bound_output_shape(b, (int)i);
			int64_t zero[KW_MAX_RANK] = { 0 };
			double *out = kw_arena_alloc(a, sizeof(double) * (size_t)(kw_shape_count(s) + 1));
			must(out);
			kw_eval_box(ev, (int)i, zero, s->dim, out, &err);
		}
		kw_eval_free(ev);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kw_error err = { 0 };
	struct kw_task t = { 0 };
	struct kw_arena a;
	struct kw_expr *e = NULL;
	char *text;

	must(kw_task_parse_yaml(&t, "f", task_text, sizeof(task_text) - 1, &err) == KW_OK);
	kw_arena_init(&a, 64 << 20);
	text = kw_arena_strndup(&a, (const char *)data, size);
	must(text);
	t.expr = text;
	if (kw_expr_complete_task(&t, &err) != KW_OK) {
		must(err.text[0] && err.where[0]);
	} else if (kw_expr_parse(&t, &a, &e, &err) != KW_OK) {
		must(!e && err.text[0]);
	} else {
		kw_expr_family(e);
		for (size_t k = 0; k < t.case_count; k++)
			evaluate(e, &t.cases[k], &a);
	}
	kw_arena_release(&a);
	kw_task_release(&t);
	return 0;
}
