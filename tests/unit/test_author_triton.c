/* What the author makes of every task with the Triton patterns: it is Python that Triton compiles, and right where the interpreter
 * can tell. The plans are bound for every case; builds and judgements need the user's Triton, and are skipped without it. */
#include "tap.h"

#include "author/author.h"
#include "backend/backend.h"
#include "base/file.h"
#include "judge/judge.h"
#include "python/python.h"
#include "temp.h"

static struct kw_error err;

struct job {
	struct kw_arena arena;
	struct kw_task task;
	struct kw_expr *expr;
	struct kw_proposal *p;
	size_t count;
};

static bool start(struct job *j, const char *name)
{
	const char **reasons;
	size_t n;

	*j = (struct job){ 0 };
	kw_arena_init(&j->arena, 256u << 20);
	kw_error_reset(&err);
	if (kw_task_load(&j->task, name, &err) == KW_OK && kw_expr_complete_task(&j->task, &err) == KW_OK &&
	    kw_expr_parse(&j->task, &j->arena, &j->expr, &err) == KW_OK &&
	    kw_author_propose(&j->task, j->expr, "triton", &j->arena, &j->p, &j->count, &reasons, &n, &err) == KW_OK)
		return true;
	return ok(false, "%s: %s %s", name, err.where, err.text);
}

static void end(struct job *j)
{
	kw_task_release(&j->task);
	kw_arena_release(&j->arena);
}

static const struct kw_candidate *by(const struct job *j, const char *pattern)
{
	for (size_t i = 0; i < j->count; i++)
		if (strcmp(j->p[i].pattern, pattern) == 0)
			return &j->p[i].candidate;
	return NULL;
}

/* Which patterns the tasks of the library get: families that the other GPU languages have too. */
static void test_proposals(void)
{
	static const struct {
		const char *task, *patterns;
	} wanted[] = {
		{ "add", "pointwise" }, { "gelu_bf16", "pointwise" }, { "image_normalize", "pointwise" }, { "dequant_f8", "pointwise" },
		{ "softmax", "row_block row_stream" }, { "layernorm", "row_block row_stream" }, { "batchnorm_train", "row_block row_stream" },
		{ "rmsnorm_backward", "row_block row_stream" }, { "argmax_last", "row_block" }, { "sum_first", "column_reduce" },
		{ "max_middle", "column_reduce" }, { "matmul_nt", "matmul" }, { "bmm", "matmul" }, { "dequant_matmul_int8", "matmul" },
		{ "topk", "" }, { "cross_entropy", "" },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		struct job j;
		char got[200] = "";

		if (!start(&j, wanted[i].task))
			continue;
		for (size_t k = 0; k < j.count; k++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", *got ? " " : "", j.p[k].pattern);
		is_str(got, wanted[i].patterns, "%s", wanted[i].task);
		end(&j);
	}
}

/* Blocks are powers of two in every case, which Triton asks for. */
static bool power_of_two(int64_t v)
{
	return v > 0 && (v & (v - 1)) == 0;
}

static bool bind_case(struct job *j, const struct kw_candidate *c, const struct kw_case *k, struct kw_bound_plan *out)
{
	size_t n = j->task.input_count + j->task.output_count;
	struct kw_view *v = kw_arena_calloc(&j->arena, n + 1, sizeof(*v));
	struct kw_intenv_var vars[8];
	struct kw_intenv env, facts;
	struct kw_hardware h;

	if (!v || kw_case_env(&j->task, k, &j->arena, &env, &err) != KW_OK || kw_hardware_load("h200", &j->arena, &h, &err) != KW_OK)
		return false;
	kw_hardware_env(&h, vars, &facts);
	for (size_t i = 0; i < n; i++) {
		const struct kw_tensor_decl *d = i < j->task.input_count ? &j->task.inputs[i] : &j->task.outputs[i - j->task.input_count];

		v[i].dtype = d->dtype;
		v[i].base = (void *)(uintptr_t)4096;
		if (kw_tensor_shape(d, &env, &v[i].shape, &err) != KW_OK)
			return false;
		kw_shape_contiguous(&v[i].shape, v[i].stride);
		if (d->has_strides && kw_tensor_strides(d, &env, &v[i].shape, v[i].stride, &err) != KW_OK)
			return false;
	}
	return kw_plan_bind(&c->plan, &j->task, k, v, NULL, &facts, &j->arena, out, &err) == KW_OK;
}

static void test_blocks(void)
{
	static const char *const tasks[] = { "softmax", "add", "sum_first", "layernorm", "batchnorm_train" };

	for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++) {
		struct job j;
		size_t bound = 0, good = 0;

		if (!start(&j, tasks[i]))
			continue;
		for (size_t p = 0; p < j.count; p++)
			for (size_t k = 0; k < j.task.case_count; k++) {
				struct kw_bound_plan plan;

				if (!bind_case(&j, &j.p[p].candidate, &j.task.cases[k], &plan)) {
					ok(false, "%s: %s %s", tasks[i], err.where, err.text);
					continue;
				}
				bound += plan.applicable;
				for (size_t d = 0; d < plan.define_count && plan.applicable; d++) {
					const char *name = plan.defines[d].name;
					bool block = strcmp(name, "ROWS") == 0 || strcmp(name, "COLS") == 0 || strcmp(name, "SEGS") == 0;

					good += block && power_of_two(plan.defines[d].value);
				}
			}
		ok(bound > 0 && good == 2 * bound, "%s: %zu plans, all blocks are powers of two", tasks[i], bound);
		end(&j);
	}
}

/* ---- with Triton ---- */

static void build(const char *task, const char *pattern, size_t at)
{
	const struct kw_build_opts o = { .arch = "sm_90a" };
	struct kw_build_result r;
	struct kw_bound_plan plan;
	const struct kw_candidate *c;
	struct job j;

	if (!start(&j, task))
		return;
	c = by(&j, pattern);
	if (!ok(c && bind_case(&j, c, &j.task.cases[at], &plan) && plan.applicable, "%s by %s: bound", task, pattern))
		return;
	if (ok(kw_build(kw_backend_find("triton"), c, &plan, &o, &r, &err) == KW_OK, "%s by %s: a build %s", task, pattern, err.text)) {
		is_str(kw_verdict_name(r.cls), "ok", "%s by %s: %s", task, pattern,
		       r.artefact.diagnostic_count ? r.artefact.diagnostics[0].message : "compiled");
		kw_build_result_release(&r);
	}
	end(&j);
}

static void test_builds(void)
{
	build("gelu_tanh", "pointwise", 0);
	build("layernorm_bf16", "row_stream", 0);
	build("dequant_matmul_int8", "matmul", 0);
}

static void judge(struct kw_judge *judge, const char *task, const char *pattern, int at)
{
	struct kw_judge_opts o;
	struct kw_verdict v;
	const struct kw_candidate *c;
	struct job j;

	if (!start(&j, task))
		return;
	c = by(&j, pattern);
	kw_judge_opts_default(&o, KW_EFFORT_FULL);
	o.only_case = at;
	o.trials = 2;
	kw_verdict_init(&v);
	if (ok(c && kw_judge_eval(judge, &j.task, j.expr, c, &o, &v, &err) == KW_OK, "%s by %s: judged %s", task, pattern, err.text)) {
		is_str(kw_verdict_name(v.cls), "ok", "%s by %s: %s", task, pattern, v.summary);
		ok(v.case_count == 1 && v.cases[0].times.median_ns == 0 && v.cases[0].baseline_count == 0, "without a time");
	}
	kw_verdict_release(&v);
	end(&j);
}

/* Whole numbers below 0, and a divisor that is 0 now and then; floats as well; bytes that wrap; casts beyond the range. */
static const char *floors(void)
{
	static const char task[] =
		"name: floors\ninputs:\n  x: { dtype: i32, shape: [3, 70] }\n  y: { dtype: i32, shape: [3, 70] }\n"
		"  a: { dtype: f32, shape: [3, 70] }\n  b: { dtype: f32, shape: [3, 70] }\n"
		"  p: { dtype: u8, shape: [3, 70], dist: integers, range: [0, 255] }\n"
		"  q: { dtype: i8, shape: [3, 70], dist: integers, range: [-128, 127] }\n"
		"outputs:\n  z: { dtype: i32, shape: [3, 70] }\n  c: { dtype: f32, shape: [3, 70] }\n  r: { dtype: i32, shape: [3, 70] }\n"
		"reference:\n  expr: |\n    z = x // y + 3 * (x % y) + x % 7 + 5 // x\n    c = a // b + a % b + a % -0.5 + 1.0 // a\n"
		"    r = i32((p * p + 250) // 3) * i32(abs(q * 3) // -1) + i32(u8(a * 300.0)) + i32(i8(x * 100))\nperf: [ {} ]\n";
	const char *path = temp_file("floors.yaml");

	kw_file_write(path, task, sizeof(task) - 1, &err);
	return path;
}

static void test_judged(void)
{
	struct kw_judge *j;

	if (!ok(kw_judge_new("interpreter", &j, &err) == KW_OK, "the interpreter: %s", err.text))
		return;
	judge(j, floors(), "pointwise", 0);
	judge(j, "softmax", "row_block", 4);
	judge(j, "batchnorm_train", "row_stream", 2);
	judge(j, "max_middle", "column_reduce", 2);
	judge(j, "matmul_bf16", "matmul", 2);
	kw_judge_free(j);
}

int main(void)
{
	struct kw_python_found found;

	test_proposals();
	test_blocks();
	if (kw_python_find(KW_PYTHON_TRITON, &found, &err) != KW_OK) {
		skip(2, "no Triton here");
		return done();
	}
	test_builds();
	test_judged();
	return done();
}
