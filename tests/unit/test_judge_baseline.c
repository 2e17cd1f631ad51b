/* Baselines: each device has those of its language, and a case is judged without one that does not fit. What the naive
 * OpenCL computes is judged too; the other languages have tests of their own. */
#include "judge/judge.h"

#include "tap.h"
#include "temp.h"

/* The naive form multiplies all of it out. */
static const char outer[] =
	"name: outer\n"
	"dims: { n: { min: 1, max: 1000000 } }\n"
	"inputs: { x: { dtype: f32, shape: [n] }, z: { dtype: f32, shape: [n] } }\n"
	"outputs: { y: { dtype: f32, shape: [1, n] } }\n"
	"reference: { expr: 'y = matmul(reshape(x, n, 1), reshape(z, 1, n))[0:1]' }\n"
	"perf: [ { n: 200 }, { n: 400000 } ]\n";
static const char in_c[] = "//@ kernel f args=(x, z, y, n:i64)\n"
			   "void f(const float *x, const float *z, float *y, int64_t n)\n"
			   "{\n\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[0] * z[i];\n}\n";
static const char in_opencl[] = "//@ kernel f grid=(cdiv(n, 64)) block=(64) args=(x, z, y, n:i64)\n"
				"__kernel void f(__global const float *x, __global const float *z, __global float *y, long n)\n"
				"{\n\tlong i = get_global_id(0);\n\n\tif (i < n)\n\t\ty[i] = x[0] * z[i];\n}\n";

static void names_are(const struct kw_case_result *c, const char *const *names, size_t count)
{
	is_int((int64_t)c->baseline_count, (int64_t)count, "%s: baselines", c->label);
	for (size_t i = 0; i < count && i < c->baseline_count; i++) {
		is_str(c->baselines[i].name, names[i], "%s: its name", c->label);
		ok(c->baselines[i].times.median_ns > 0, "%s: %s takes its time", c->label, names[i]);
	}
}

static void test_names(struct kw_judge *j, const char *backend, const char *text, const char *const *names, size_t count)
{
	struct kw_judge_opts o;
	struct kw_task t;
	struct kw_expr *e;
	struct kw_candidate c;
	struct kw_verdict v;
	struct kw_arena a;
	struct kw_error err = { 0 };

	kw_arena_init(&a, 64u << 20);
	kw_verdict_init(&v);
	kw_judge_opts_default(&o, KW_EFFORT_FULL);
	o.trials = 1;
	o.time_limit_ns = 200000000;
	if (!ok(kw_task_parse_yaml(&t, "outer.yaml", outer, strlen(outer), &err) == KW_OK &&
		kw_expr_parse(&t, &a, &e, &err) == KW_OK &&
		kw_candidate_from_text(&c, "mine", backend, text, strlen(text), &t, &a, &err) == KW_OK &&
		kw_judge_eval(j, &t, e, &c, &o, &v, &err) == KW_OK, "%s: is judged", backend)) {
		diag("%s", err.text);
		return;
	}
	if (!ok(v.cls == KW_V_OK, "%s: right", backend))
		diag("%s", v.summary);
	for (size_t i = 0; i < v.case_count; i++)
		names_are(&v.cases[i], names, v.cases[i].dims[0] == 200 ? count : 0);
	kw_verdict_release(&v);
	kw_task_release(&t);
	kw_arena_release(&a);
}

/* ---- naive OpenCL of the library ---- */

static bool contiguous(const struct kw_task *t, const struct kw_case *c)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (c->layouts[i] != KW_LAYOUT_CONTIGUOUS)
			return false;
	return true;
}

/* Keeps the last check case that is small. */
static bool choose_case(struct kw_task *t, const struct kw_expr *e)
{
	for (size_t i = t->case_count; i-- > t->perf_count;) {
		struct kw_arena a;
		struct kw_bound *b;
		struct kw_cost cost = { 0 };

		if (t->cases[i].large || !contiguous(t, &t->cases[i]))
			continue;
		kw_arena_init(&a, 16 << 20);
		if (kw_expr_bind(e, &t->cases[i], &a, &b, NULL) == KW_OK)
			kw_expr_cost(b, &cost);
		kw_arena_release(&a);
		if (cost.flops > 1e6 || cost.bytes_read == 0)
			continue;
		t->cases += i;
		t->case_count = 1;
		t->perf_count = 0;
		return true;
	}
	return false;
}

static void judge_naive(struct kw_judge *j, const char *name)
{
	struct kw_judge_opts o;
	struct kw_task t;
	struct kw_expr *e;
	struct kw_candidate c;
	struct kw_verdict v;
	struct kw_arena a;
	struct kw_buf text;
	struct kw_error err = { 0 };

	kw_arena_init(&a, 64u << 20);
	kw_buf_init(&text, 4u << 20);
	kw_verdict_init(&v);
	kw_judge_opts_default(&o, KW_EFFORT_FULL);
	o.trials = 1;
	o.with_baselines = false;
	if (ok(kw_task_load(&t, name, &err) == KW_OK && kw_expr_parse(&t, &a, &e, &err) == KW_OK && choose_case(&t, e) &&
	       kw_expr_emit_naive_gpu(e, "opencl", KW_NAIVE_BASELINE, &text, NULL, &err) == KW_OK &&
	       kw_candidate_from_text(&c, "naive", "opencl", text.ptr, text.len, &t, &a, &err) == KW_OK &&
	       kw_judge_eval(j, &t, e, &c, &o, &v, &err) == KW_OK, "%s: naive OpenCL is judged", name)) {
		if (!ok(v.cls == KW_V_OK, "%s: and right", name))
			diag("%s: %s", kw_subclass_name(v.subclass), v.summary);
		kw_task_release(&t);
	} else {
		diag("%s", err.text);
	}
	kw_verdict_release(&v);
	kw_buf_release(&text);
	kw_arena_release(&a);
}

/* One of each kind and dtype: PoCL takes a second for each. */
static const char *const some[] = {
	"softmax_f16", "topk", "gather", "embedding", "attention_masked", "conv_transpose2d", "depthwise_conv2d", "kl_div",
	"batchnorm_train", "gelu_bf16", "dequant_f8", "dequant_matmul_int8", "sum_last_f64", "masked_cumsum", "argmax_last",
	"rope", "avg_pool2d", "max_pool2d", "cross_entropy", "residual_rmsnorm",
};

int main(void)
{
	static const char *const of_cpu[] = { "naive -O3", "naive -O3 openmp" }, *const of_opencl[] = { "naive OpenCL" };
	struct kw_judge *j = NULL;
	struct kw_error err = { 0 };

	setenv("XDG_CACHE_HOME", temp_dir(), 1);
	if (!ok(kw_judge_new("cpu", &j, &err) == KW_OK, "a judge")) {
		diag("%s", err.text);
		return done();
	}
	test_names(j, "c", in_c, of_cpu, 2);
	kw_judge_free(j);
	if (kw_judge_new("opencl", &j, &err) != KW_OK) {
		skip(1, "no OpenCL here");
		diag("%s", err.text);
		return done();
	}
	test_names(j, "opencl", in_opencl, of_opencl, 1);
	for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++)
		judge_naive(j, some[i]);
	kw_judge_free(j);
	return done();
}
