#include "tap.h"
#include "temp.h"

#include "author/author.h"
#include "judge/judge.h"

/* What each pattern can be filled with, at check sizes, through the whole judge: special values,
 * guard pages. Nothing here is timed. */
static const struct {
	const char *task;
	int cases; /* so many of its check cases, the last ones; negative: the first, tiny ones */
} judged[] = { { "softmax", 2 },
	       { "log_softmax", 1 },
	       { "layernorm_bf16", 1 },
	       { "residual_rmsnorm", 1 },
	       { "cross_entropy", 1 },
	       { "argmax_last", 1 },
	       { "argmax_middle", 1 },
	       { "max_first", 1 },
	       { "sum_last_f16", 1 },
	       { "variance", 1 },
	       { "kl_div", 1 },
	       { "groupnorm", 1 },
	       { "batchnorm_train", 1 },
	       { "bias_gelu", 1 },
	       { "gelu", -4 },
	       { "gelu_bf16", -4 },
	       { "gelu_tanh", -4 },
	       { "silu", 1 },
	       { "swiglu", -3 },
	       { "sum_last_f64", -5 },
	       { "transpose", 1 },
	       { "matmul_tn", 1 },
	       { "bmm", 1 },
	       { "dequant_matmul_int8", 1 },
	       { "matvec", 1 },
	       { "matmul_bias_relu", 1 },
	       { "conv2d", 1 }, /* from here on there is only the plain kernel */
	       { "topk", 1 },
	       { "attention", 1 } };

static bool contiguous(const struct kw_task *t, const struct kw_case *c)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (c->layouts[i] != KW_LAYOUT_CONTIGUOUS)
			return false;
	return true;
}

static void choose_first(struct kw_task *t, size_t want)
{
	t->cases += t->perf_count;
	t->case_count -= t->perf_count;
	t->perf_count = 0;
	t->case_count = t->case_count < want ? t->case_count : want;
}

/* Contiguous ones: no proposal takes strides of its own accord. */
static void choose_cases(struct kw_task *t, int want)
{
	size_t n = 0;

	if (want < 0) {
		choose_first(t, (size_t)-want);
		return;
	}
	for (size_t i = t->case_count; i-- > t->perf_count && n < (size_t)want;) {
		struct kw_case *c = &t->cases[i], hold = *c;

		if (c->large || !contiguous(t, c))
			continue;
		for (size_t k = i; k + 1 < t->case_count - n; k++)
			t->cases[k] = t->cases[k + 1];
		t->cases[t->case_count - ++n] = hold;
	}
	t->cases += t->case_count - n;
	t->case_count = n;
	t->perf_count = 0;
}

static void judge_one(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e,
		      const struct kw_proposal *p)
{
	struct kw_judge_opts o;
	struct kw_error err = { 0 };
	struct kw_verdict v;

	kw_judge_opts_default(&o, KW_EFFORT_FULL);
	o.with_baselines = false;
	o.trials = 1;
	kw_verdict_init(&v);
	if (!ok(kw_judge_eval(j, t, e, &p->candidate, &o, &v, &err) == KW_OK, "judge %s by %s",
		t->name, p->pattern))
		diag("%s", err.text);
	else if (!ok(v.cls == KW_V_OK || v.cls == KW_V_NOT_APPLICABLE, "%s by %s: %s", t->name,
		     p->pattern, kw_verdict_name(v.cls)))
		diag("%s %s", kw_subclass_name(v.subclass), v.summary);
	kw_verdict_release(&v);
}

static void judge_task(struct kw_judge *j, const char *backend, const char *name, int cases)
{
	struct kw_task t;
	struct kw_expr *e;
	struct kw_arena a;
	struct kw_proposal *p;
	struct kw_error err = { 0 };
	const char **why;
	size_t n, reasons;

	kw_arena_init(&a, 256u << 20);
	if (kw_task_load(&t, name, &err) != KW_OK || kw_expr_complete_task(&t, &err) != KW_OK || kw_expr_parse(&t, &a, &e, &err) != KW_OK ||
	    kw_author_propose(&t, e, backend, &a, &p, &n, &why, &reasons, &err) != KW_OK) {
		ok(false, "%s: %s", name, err.text);
		return;
	}
	choose_cases(&t, cases);
	ok(t.case_count > 0 && n > 0, "%s has proposals and cases", name);
	for (size_t i = 0; i < n; i++)
		if (!p[i].last || n == 1) /* as a search does where one is right */
			judge_one(j, &t, e, &p[i]);
	kw_task_release(&t);
	kw_arena_release(&a);
}

/* What row_reduce carries from one row to the next: fewer rows than threads, none of a strip whole,
 * values kept by a pass that is not the last, several numbers a row, nothing to write, strides. */
static const struct {
	const char *expr, *inputs[2];
} lines[] = {
	{ "softmax(x, axis=-1)", { "x:f32[a=1,b=1]" } },
	{ "softmax(x, axis=-1)", { "x:f32[a=1,b=63]" } },
	{ "softmax(x, axis=-1)", { "x:f32[a=3,b=64]" } },
	{ "softmax(x, axis=-1)", { "x:f32[a=2,b=3,c=1029]" } },
	{ "layernorm(tanh(x), axis=-1)", { "x:f32[a=7,b=200]" } },
	{ "exp(x) / sum(exp(x) * max(exp(x), axis=-1, keepdims=True), axis=-1, keepdims=True)",
	  { "x:f32[a=6,b=130]" } },
	{ "(x - min(x, axis=-1, keepdims=True)) / (max(x, axis=-1, keepdims=True) - s)",
	  { "x:f32[a=9,b=70]", "s:f32[a=9,1]" } },
	{ "sum(x * x, axis=-1)", { "x:f32[a=5,b=129]" } },
};

static void judge_line(struct kw_judge *j, const char *expr, const char *const *inputs)
{
	struct kw_task t;
	struct kw_expr *e;
	struct kw_arena a;
	struct kw_proposal *p;
	struct kw_error err = { 0 };
	const char **why;
	size_t n = 0, reasons;

	kw_arena_init(&a, 64u << 20);
	if (kw_task_parse_line(&t, expr, inputs, inputs[1] ? 2 : 1, &err) != KW_OK ||
	    kw_expr_complete_task(&t, &err) != KW_OK || kw_expr_parse(&t, &a, &e, &err) != KW_OK ||
	    kw_author_propose(&t, e, "c", &a, &p, &n, &why, &reasons, &err) != KW_OK) {
		ok(false, "%s: %s", expr, err.text);
		return;
	}
	t.perf_count = 0; /* nothing is timed */
	for (size_t i = 0; i < n; i++)
		if (strcmp(p[i].pattern, "row_reduce") == 0)
			judge_one(j, &t, e, &p[i]);
	ok(n > 0, "%s %s has proposals", expr, inputs[0]);
	kw_task_release(&t);
	kw_arena_release(&a);
}

/* OpenCL: one of each kind, where there is a runtime. */
static const char *const opencl[] = { "softmax", "layernorm_bf16", "residual_rmsnorm", "cross_entropy", "argmax_last",
				      "sum_last_f64", "max_first", "mean_middle", "bias_gelu",
				      "gelu_bf16", "swiglu", "transpose", "batchnorm_train", "groupnorm", "matmul_tn",
				      "bmm", "matmul_bias_relu", "dequant_matmul_int8" };

int main(void)
{
	struct kw_judge *j = NULL;
	struct kw_error err = { 0 };

	setenv("XDG_CACHE_HOME", temp_dir(), 1);
	if (!ok(kw_judge_new("cpu", &j, &err) == KW_OK, "a judge")) {
		diag("%s", err.text);
		return done();
	}
	for (size_t i = 0; i < sizeof(judged) / sizeof(*judged); i++)
		judge_task(j, "c", judged[i].task, judged[i].cases);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		judge_line(j, lines[i].expr, lines[i].inputs);
	kw_judge_free(j);
	if (kw_judge_new("opencl", &j, &err) != KW_OK) {
		skip(1, "no OpenCL here");
		diag("%s", err.text);
		return done();
	}
	for (size_t i = 0; i < sizeof(opencl) / sizeof(*opencl); i++)
		judge_task(j, "opencl", opencl[i], 2);
	kw_judge_free(j);
	return done();
}
