/* Any bytes: a plan that can be bound (or whose binding fails with a text), or an error with a place. */
#include "core/candidate.h"

#include "fuzz.h"

static const char task_text[] = "name: t\n"
				"dims: { rows: { min: 0, max: 4096 }, cols: { min: 1, max: 4096 } }\n"
				"inputs: { x: { dtype: f32, shape: [rows, cols] } }\n"
				"params: { eps: 0.5 }\n"
				"outputs: { y: { dtype: f32, shape: [rows] } }\n"
				"reference: { expr: y = x }\n"
				"perf: [ { rows: 10, cols: 7 } ]\n";
static struct kw_task task;

static void bind_plan(const struct kw_plan *p, struct kw_arena *a)
{
	static const struct kw_intenv_var facts_vars[] = { { "sm", 0 }, { "cores", 2 }, { "simd_bytes", 32 },
							   { "smem_bytes", 232448 } };
	static const struct kw_intenv facts = { facts_vars, 4, NULL };
	struct kw_view views[2] = { { KW_F32, { 2, { 10, 7 } }, { 9, 1 }, NULL },
				    { KW_F32, { 1, { 10 } }, { 1 }, NULL } };
	struct kw_bound_plan b;
	struct kw_error err = { 0 };

	if (kw_plan_bind(p, &task, &task.cases[0], views, NULL, &facts, a, &b, &err) != KW_OK) {
		must(err.text[0]);
	} else if (b.applicable) {
		must(b.kernel_count == p->kernel_count && !b.why_not);
		must(b.define_count == p->tune_count + p->define_count);
		for (size_t i = 0; i < b.kernel_count; i++)
			must(b.kernels[i].grid[0] >= 0 && b.kernels[i].block[0] >= 1);
		must(b.tensormap_count == p->tensormap_count && !b.kernels[0].pdl);
		for (size_t i = 0; i < b.tensormap_count; i++)
			must(b.tensormaps[i].rank >= 1 && b.tensormaps[i].box[0] >= 1 && b.tensormaps[i].box[0] <= 256);
	} else {
		must(b.why_not && b.why_not[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kw_error err = { 0 };
	struct kw_candidate c;
	struct kw_plan p;
	struct kw_arena a;

	if (!task.name)
		must(kw_task_parse_yaml(&task, "t", task_text, strlen(task_text), &err) == KW_OK);
	kw_arena_init(&a, 64 << 20);
	if (kw_candidate_from_text(&c, "f.c", NULL, (const char *)data, size, &task, &a, &err) == KW_OK) {
		must(c.plan.kernel_count >= 1);
		bind_plan(&c.plan, &a);
	} else {
		must(err.text[0] && strncmp(err.where, "f.c", 3) == 0);
	}
	/* Without a task names are not looked at; the text need not be a candidate either. */
	if (kw_plan_parse("f.c", (const char *)data, size, NULL, &a, &p, &err) != KW_OK)
		must(err.text[0]);
	kw_arena_release(&a);
	return 0;
}
