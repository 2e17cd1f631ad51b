/* Tune points as text and back. */
#include "core/plan.h"
#include "tap.h"

static int64_t threads_values[] = { 1, 2, 4 }, step_values[] = { 8, 16 };
static struct kw_plan_tune tunes[] = {
	{ .name = "THREADS", .values = threads_values, .value_count = 3, .default_value = 2 },
	{ .name = "STEP", .values = step_values, .value_count = 2, .default_value = 8 },
};

int main(void)
{
	struct kw_plan plan = { .tunes = tunes, .tune_count = 2 }, none = { 0 };
	struct kw_arena a;
	struct kw_error err = { 0 };
	int64_t v[2] = { 4, 16 };

	kw_arena_init(&a, 1 << 20);
	is_str(kw_plan_tune_text(&plan, NULL, &a), "THREADS=2 STEP=8", "defaults");
	is_str(kw_plan_tune_text(&plan, v, &a), "THREADS=4 STEP=16", "given values");
	is_str(kw_plan_tune_text(&none, NULL, &a), "", "no tune lines");
	is_int(kw_plan_tune_parse(&plan, "THREADS=1 STEP=16", v, &err), KW_OK, "reads");
	is_int(v[0], 1, "first");
	is_int(v[1], 16, "second");
	is_int(kw_plan_tune_parse(&plan, "STEP=16", v, &err), KW_OK, "a part");
	is_int(v[0], 2, "the rest keeps its default");
	is_int(kw_plan_tune_parse(&plan, "", v, &err), KW_OK, "empty");
	is_int(v[1], 8, "all defaults");
	is_int(kw_plan_tune_parse(&plan, "THREADS=3", v, &err), KW_ERR_INPUT, "not listed");
	has_str(err.text, "THREADS cannot be 3", "says which");
	is_int(kw_plan_tune_parse(&plan, "TREADS=1", v, &err), KW_ERR_INPUT, "unknown name");
	has_str(err.text, "TREADS", "says which");
	is_int(kw_plan_tune_parse(&plan, "THREADS", v, &err), KW_ERR_INPUT, "no value");
	is_int(kw_plan_tune_parse(&plan, "THREADS=x", v, &err), KW_ERR_INPUT, "no number");
	kw_arena_release(&a);
	return done();
}
