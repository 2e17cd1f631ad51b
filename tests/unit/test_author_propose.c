#include "tap.h"

#include "author/author.h"
#include "core/hardware.h"

/* What the patterns of today must cover. */
static const char *const covered[] = { "softmax",
				       "softmax_f16",
				       "log_softmax",
				       "layernorm",
				       "layernorm_bf16",
				       "rmsnorm",
				       "rmsnorm_bf16",
				       "residual_rmsnorm",
				       "gelu",
				       "gelu_bf16",
				       "gelu_tanh",
				       "silu",
				       "swiglu",
				       "bias_gelu",
				       "mse",
				       "huber",
				       "kl_div",
				       "cross_entropy",
				       "sum_last",
				       "sum_last_f16",
				       "sum_last_f64",
				       "sum_first",
				       "sum_middle",
				       "mean_last",
				       "mean_first",
				       "mean_middle",
				       "max_last",
				       "max_first",
				       "max_middle",
				       "min_last",
				       "min_first",
				       "min_middle",
				       "prod_last",
				       "prod_first",
				       "prod_middle",
				       "argmax_last",
				       "argmax_first",
				       "argmax_middle",
				       "variance",
				       "groupnorm",
				       "batchnorm_infer",
				       "batchnorm_train",
				       "matmul_nn",
				       "matmul_nt",
				       "matmul_tn",
				       "matmul_bf16",
				       "bmm",
				       "matvec",
				       "matmul_bias_relu",
				       "dequant_matmul_int8",
				       "dequant_f8",
				       "transpose" };
/* What is written as one writes it first, for want of a pattern that is made for it. */
static const char *const only_plain[] = { "conv2d",	"cumsum",     "topk",
					   "attention", "max_pool2d", "embedding" };

struct setting {
	struct kw_arena arena;
	struct kw_task task;
	struct kw_expr *expr;
	struct kw_proposal *p;
	size_t count, reason_count;
	const char **reasons;
	struct kw_error err;
};

static bool propose(struct setting *s, const char *name)
{
	*s = (struct setting){ 0 };
	kw_arena_init(&s->arena, 256u << 20);
	if (kw_task_load(&s->task, name, &s->err) != KW_OK || kw_expr_complete_task(&s->task, &s->err) != KW_OK ||
	    kw_expr_parse(&s->task, &s->arena, &s->expr, &s->err) != KW_OK)
		return ok(false, "%s: %s", name, s->err.text);
	return ok(kw_author_propose(&s->task, s->expr, "c", &s->arena, &s->p, &s->count,
				    &s->reasons, &s->reason_count, &s->err) == KW_OK,
		  "propose for %s%s%s", name, *s->err.text ? ": " : "", s->err.text);
}

static void end(struct setting *s)
{
	kw_task_release(&s->task);
	kw_arena_release(&s->arena);
}

/* Contiguous tensors at a fake address. */
static bool views(struct setting *s, const struct kw_case *c, struct kw_view *v)
{
	size_t n = s->task.input_count;
	struct kw_intenv env;

	if (kw_case_env(&s->task, c, &s->arena, &env, &s->err) != KW_OK)
		return false;
	for (size_t i = 0; i < n + s->task.output_count; i++) {
		const struct kw_tensor_decl *d =
			i < n ? &s->task.inputs[i] : &s->task.outputs[i - n];

		if (kw_tensor_shape(d, &env, &v[i].shape, &s->err) != KW_OK)
			return false;
		v[i].dtype = (int)d->dtype;
		v[i].base = (void *)(uintptr_t)0x100000;
		kw_shape_contiguous(&v[i].shape, v[i].stride);
	}
	return true;
}

/* How many proposals apply to a case; -1: one does not bind. */
static int applicable(struct setting *s, const struct kw_case *c)
{
	struct kw_intenv_var vars[8];
	struct kw_intenv facts;
	struct kw_hardware hw = { .units = 4, .simd_bytes = 32 };
	struct kw_view v[32];
	int n = 0;

	kw_hardware_env(&hw, vars, &facts);
	if (!views(s, c, v))
		return -1;
	for (size_t i = 0; i < s->count; i++) {
		struct kw_bound_plan b;

		if (kw_plan_bind(&s->p[i].candidate.plan, &s->task, c, v,
				 &(struct kw_tune_point){ 0 }, &facts, &s->arena, &b,
				 &s->err) != KW_OK)
			return -1;
		n += b.applicable;
	}
	return n;
}

static void covers(const char *name)
{
	struct setting s;
	int bound = 0;

	if (propose(&s, name) && ok(s.count > 0 && !s.p[0].last, "a pattern fits %s", name)) {
		for (size_t i = 0; i < s.count && !s.p[i].last; i++) {
			const struct kw_candidate *c = &s.p[i].candidate;

			ok(c->plan.kernel_count == 1 && c->plan.tune_count >= 2,
			   "%s by %s has a plan with a tune space", name, s.p[i].pattern);
			ok(!strstr(c->source, "//<") && !strstr(c->source, "//>") &&
				   strstr(c->source, "//@ kernel"),
			   "no slot is left open");
			ok(*s.p[i].why != '\0', "it says why");
		}
		for (size_t i = 0; i < s.task.case_count; i++) {
			int n = applicable(&s, &s.task.cases[i]);

			bound += n > 0;
			if (n <= 0)
				diag("%s: %s: %s", name, s.task.cases[i].label,
				     n < 0 ? s.err.text : "nothing applies");
		}
		is_int(bound, (int64_t)s.task.case_count, "something applies to every case of %s",
		       name);
	}
	for (size_t i = 0; !s.count && i < s.reason_count; i++)
		diag("%s", s.reasons[i]);
	end(&s);
}

static void only_plainly(const char *name)
{
	struct kw_pattern *p;
	struct setting s;
	size_t n = 0;

	if (propose(&s, name)) {
		ok(kw_memory_patterns("c", &s.arena, &p, &n, &s.err) == KW_OK,
		   "count the patterns");
		ok(s.count == 1 && s.p[0].last, "only plain fits %s", name);
		is_int(s.reason_count + 1, (int64_t)n, "every other pattern has a reason");
		for (size_t i = 0, k = 0; i < n && k < s.reason_count; i++)
			if (strcmp(p[i].name, "plain") != 0)
				has_str(s.reasons[k++], p[i].name, "that names it");
	}
	end(&s);
}

/* Names that mean something in C or in the pattern, and a space of every kind of broadcast. */
static void odd(void)
{
	const char *inputs[] = { "int:f32[a=3,b=5,c=7]", "rows:f32[a=3,b=5,c=7]", "for_:f32[b=5,1]",
				 "exp:f16[c=7]" };
	struct setting s = { 0 };

	kw_arena_init(&s.arena, 64u << 20);
	if (ok(kw_task_parse_line(&s.task, "softmax(rows * for_ + exp, axis=-1)", inputs + 1, 3,
				  &s.err) == KW_OK &&
		       kw_expr_complete_task(&s.task, &s.err) == KW_OK &&
		       kw_expr_parse(&s.task, &s.arena, &s.expr, &s.err) == KW_OK,
	       "a task with odd names")) {
		ok(kw_author_propose(&s.task, s.expr, "c", &s.arena, &s.p, &s.count, &s.reasons,
				     &s.reason_count, &s.err) == KW_OK &&
			   s.count > 0,
		   "is proposed for");
		if (s.count)
			ok(strstr(s.p[0].candidate.source, "*restrict t_rows") &&
				   strstr(s.p[0].candidate.source, "*restrict t_exp"),
			   "names that are taken get a prefix");
	} else {
		diag("%s", s.err.text);
	}
	end(&s);
}

/* Cheaper forms where they are right, and only there. */
static void forms(void)
{
	static const struct {
		const char *expr, *has, *has_not;
	} checks[] = {
		{ "softmax(x, axis=-1)", "kw_exp_negf(", "kw_expf(" },
		{ "softmax(x, axis=-1)", "kw_overf(", " / row_sum" },
		{ "exp(-abs(x)) + sum(x, axis=-1, keepdims=True)", "kw_exp_negf(", "kw_expf(" },
		{ "exp(-x * x) + s", "kw_expf(", "kw_exp_negf(" }, /* (-x) * x, to us */
		{ "exp(-(x * x)) + s", "kw_exp_negf(", "kw_expf(" },
		{ "exp(-(x * z)) + s", "kw_expf(", "kw_exp_negf(" },
		{ "exp(x - s)", "kw_expf(", "kw_exp_negf(" },
		{ "exp(x - max(x * z, axis=-1, keepdims=True))", "kw_expf(", "kw_exp_negf(" },
		{ "exp(x - min(x, axis=-1, keepdims=True))", "kw_expf(", "kw_exp_negf(" },
		{ "exp(max(x, axis=-1, keepdims=True) - x)", "kw_expf(", "kw_exp_negf(" },
		{ "x / s * z", "kw_overf(", " / " },
		{ "x / z", " / ", "kw_overf(" },
		{ "s / x", " / ", "kw_overf(" },
		{ "x / s - z", " / ", "kw_overf(" },
		{ "round(x / s)", " / ", "kw_overf(" },
		{ "round(x / s * 127.0) * z", " / ", "kw_overf(" },
		{ "where(x / s < 1.0, x, z)", " / ", "kw_overf(" },
		{ "f64(x) / f64(s)", " / ", "kw_overf(" },
		{ "x / max(abs(x), axis=-1, keepdims=True)", "kw_overf(", " / row_max" },
		/* The row before needs its quotient, and not the maximum. */
		{ "softmax(x, axis=-1)", "by_row_sum_before = by_row_sum;", "row_max_before" },
		{ "softmax(x, axis=-1)", "exp_row[col + i]", "exp_row_both" },
		{ "layernorm(tanh(x), axis=-1)", "= tanh_row_both + row % 2 *", "tanh_row_before" },
		{ "layernorm(tanh(x), axis=-1)", "row_mean_before = row_mean;", "row_sum_before" },
		{ "sum(x, axis=-1)", "row_sum_lanes[i] +=", "_before" },
	};
	const char *inputs[] = { "x:f32[a=3,b=70]", "z:f32[a=3,b=70]", "s:f32[a=3,1]" };

	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		struct setting s = { 0 };
		const char *text;

		kw_arena_init(&s.arena, 64u << 20);
		if (!ok(kw_task_parse_line(&s.task, checks[i].expr, inputs, 3, &s.err) == KW_OK &&
				kw_expr_complete_task(&s.task, &s.err) == KW_OK &&
				kw_expr_parse(&s.task, &s.arena, &s.expr, &s.err) == KW_OK &&
				kw_author_propose(&s.task, s.expr, "c", &s.arena, &s.p, &s.count,
						  &s.reasons, &s.reason_count, &s.err) == KW_OK &&
				s.count > 0,
			"a kernel for %s", checks[i].expr)) {
			diag("%s", s.err.text);
		} else {
			text = strchr(strstr(s.p[0].candidate.source, "//@ kernel"), '{');
			has_str(text, checks[i].has, "it says so");
			ok(!strstr(strstr(text, "for (int i"), checks[i].has_not), "and not %s",
			   checks[i].has_not);
		}
		end(&s);
	}
}

/* What is written for CUDA: quick functions only where every output is narrow, vectors, plan lines
 * in the task's sizes. */
static void cuda(void)
{
	static const struct {
		const char *expr, *input, *other, *pattern, *has, *has_not;
	} checks[] = {
		{ "gelu(x)", "x:bf16[a=3,b=70]", NULL, "pointwise", "kw_erf1_roughf(", "erff(" },
		{ "gelu(x)", "x:f32[a=3,b=70]", NULL, "pointwise", "erff(", "rough" },
		{ "x * (2 + erf(x))", "x:bf16[a=3,b=70]", NULL, "pointwise", "erff(",
		  "kw_erf1_roughf(" },
		{ "softmax(x, axis=-1)", "x:f16[a=3,b=70]", NULL, "row_registers", "kw_exp_roughf(",
		  " expf(" },
		{ "softmax(x, axis=-1)", "x:f32[a=3,b=70]", NULL, "row_registers", "kw_exp_negf(",
		  "rough" },
		{ "f32(sum(f32(x), axis=-1))", "x:f16[a=3,b=70]", NULL, "row_registers",
		  "//@ kernel", "-prec-div" },
		{ "x + 1", "x:f16[a=3,b=70]", NULL, "pointwise",
		  "//@ define VEC8 = ", "//@ define VEC16" },
		{ "x + 1", "x:f64[a=3,b=70]", NULL, "pointwise", "//@ define VEC = VEC2 ? 2 : 1\n",
		  "VEC4" },
		{ "x + w", "x:f16[a=3,b=70]", "w:f32[b=70]", "pointwise", "w.align >= 16",
		  "//@ workspace" },
		{ "softmax(x, axis=-1)", "x:f32[a=90,b=7000]", NULL, "row_shared",
		  "LOAD_VEC(x_vec, x_keep[k * LANES]);", "exp_row" },
		{ "softmax(x * w, axis=-1)", "x:f32[a=90,b=7000]", "w:f16[a=90,b=7000]",
		  "row_shared", "//@ define KEPT_BYTES = 6\n", "x_keep[k]" },
		{ "sum(x, axis=0)", "x:f32[a=900,b=70]", NULL, "column_split",
		  "_pass1 grid=((1) * STRIPS * CHUNKS)", "_write" },
		{ "softmax(x, axis=0)", "x:f32[a=900,b=70]", NULL, "column_split",
		  "_write grid=", "_total" },
		{ "matmul(x, w)", "x:bf16[a=3,b=70]", "w:bf16[b=70,c=9]", "matmul_tensor",
		  "from = &x[", "real" },
		{ "matmul(x, w)", "x:f32[a=3,b=70]", "w:f32[b=70,c=9]", "matmul",
		  "a_next[e] = (real)(x[", "copy<" },
		{ "matmul(x, transpose(w, (1, 0)))", "x:f32[a=3,b=70]", "w:f32[c=9,b=70]", "matmul",
		  "//@ define B_ALONG_K = 1", "B_VEC" },
		{ "einsum('bijl,lk->bijk', x, w)", "x:f32[b=3,i=5,j=4,l=70]", "w:f32[l=70,k=9]", "matmul",
		  "a_next[e] = (real)(x[", "copy<" },
		{ "einsum('bij,bjk->bik', x, w)", "x:f32[b=3,i=5,j=70]", "w:f32[b=3,j=70,k=9]", "matmul",
		  "a_next[e] = (real)(x[", "copy<" },
		{ "matmul(x, w)", "x:f32[a=3,b=70]", "w:f32[b=70,1]", "row_registers", "w_", "kw_maxf" },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		const char *inputs[] = { checks[i].input, checks[i].other };
		const char *text = NULL;
		struct setting s = { 0 };

		kw_arena_init(&s.arena, 64u << 20);
		if (!ok(kw_task_parse_line(&s.task, checks[i].expr, inputs, checks[i].other ? 2 : 1,
					   &s.err) == KW_OK &&
				kw_expr_complete_task(&s.task, &s.err) == KW_OK &&
				kw_expr_parse(&s.task, &s.arena, &s.expr, &s.err) == KW_OK &&
				kw_author_propose(&s.task, s.expr, "cuda", &s.arena, &s.p, &s.count,
						  &s.reasons, &s.reason_count, &s.err) == KW_OK,
			"CUDA for %s of %s", checks[i].expr, checks[i].input))
			diag("%s", s.err.text);
		for (size_t k = 0; k < s.count; k++)
			if (strcmp(s.p[k].pattern, checks[i].pattern) == 0)
				text = strstr(s.p[k].candidate.source, "//@ kernel");
		if (ok(text, "by %s", checks[i].pattern)) {
			has_str(text, checks[i].has, "it says so");
			ok(!strstr(text, checks[i].has_not), "and not %s", checks[i].has_not);
		}
		end(&s);
	}
}

/* What no pattern is made for is written as one writes it first; where one is, that stands behind it. In place it would read what it
 * has overwritten. */
static void any(const char *expr, const char *input, const char *backend, size_t before, bool there)
{
	struct setting s = { 0 };
	bool good;

	kw_arena_init(&s.arena, 64u << 20);
	good = kw_task_parse_line(&s.task, expr, &input, 1, &s.err) == KW_OK && kw_expr_complete_task(&s.task, &s.err) == KW_OK &&
	       kw_expr_parse(&s.task, &s.arena, &s.expr, &s.err) == KW_OK &&
	       kw_author_propose(&s.task, s.expr, backend, &s.arena, &s.p, &s.count, &s.reasons, &s.reason_count, &s.err) == KW_OK;
	if (!ok(good, "%s for %s", backend, expr))
		diag("%s", s.err.text);
	ok(s.count == before + there, "%zu patterns fit", s.count);
	for (size_t i = 0; good && i < s.count; i++)
		ok(s.p[i].last == (i == before), "%s is %s", s.p[i].pattern, i == before ? "for want of others" : "made for it");
	if (good && there && s.count) {
		ok(!strcmp(s.p[s.count - 1].pattern, "plain") && strstr(s.p[s.count - 1].candidate.source, "//@ kernel naive"),
		   "plain is the last");
		ok(!strstr(s.p[s.count - 1].candidate.source, "//<") && !strstr(s.p[s.count - 1].candidate.source, "x[t] > 0"),
		   "without its example");
	}
	end(&s);
}

static void no_backend(void)
{
	struct setting s;

	if (propose(&s, "softmax"))
		ok(kw_author_propose(&s.task, s.expr, "fortran", &s.arena, &s.p, &s.count,
				     &s.reasons, &s.reason_count, &s.err) == KW_OK &&
			   !s.count && s.reason_count == 1,
		   "no patterns for a backend: a reason");
	end(&s);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(covered) / sizeof(*covered); i++)
		covers(covered[i]);
	for (size_t i = 0; i < sizeof(only_plain) / sizeof(*only_plain); i++)
		only_plainly(only_plain[i]);
	odd();
	forms();
	cuda();
	any("cumsum(x, axis=0)", "x:f32[64,100]", "cuda", 0, true);
	any("cumsum(x, axis=0)", "x:f32[64,100]", "opencl", 0, true);
	any("cumsum(x, axis=0)", "x:f32[64,100]", "c", 0, true);
	any("flip(x, 0)", "x:f32[n=300] inout", "c", 0, false);
	any("einsum('ij,jk->ki', x, x)", "x:f32[i=8,i]", "cuda", 0, true);
	any("einsum('ij,kj->ik', x, x)", "x:f32[i=8,j=70]", "cuda", 0, true);
	any("relu(x)", "x:f32[64,100]", "cuda", 1, true);
	no_backend();
	return done();
}
