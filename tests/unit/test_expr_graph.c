/* Cost, families, the scalar C form, the audit, the f32 mode, and evaluators as such. */
#include <pthread.h>

#include "expr_run.h"

static void family(const char *expr, enum kw_family want)
{
	struct run r;

	if (ok(run_init(&r, expr, "x:f32[rows=4,cols=6]", "w:f32[cols=6]", "m:f32[cols=6,out=5]", "i:i64[rows=4]",
			"q:f32[2,3,4,6]", NULL), "%s", expr))
		is_str(kw_family_name(kw_expr_family(r.e)), kw_family_name(want), "%s: family", expr);
	else
		diag("%s", r.err.text);
	run_free(&r);
}

static void test_families(void)
{
	family("relu(x) + w", KW_FAMILY_POINTWISE);
	family("x[:, :3] * 2", KW_FAMILY_POINTWISE);
	family("softmax(x)", KW_FAMILY_ROW_REDUCE);
	family("softmax(x, axis=0)", KW_FAMILY_COLUMN_REDUCE);
	family("x + rmsnorm(x, w)", KW_FAMILY_ROW_REDUCE);
	family("sum(x)", KW_FAMILY_ROW_REDUCE);
	family("mean(q, axis=1)", KW_FAMILY_COLUMN_REDUCE);
	family("mean(q, axis=(2, 3))", KW_FAMILY_ROW_REDUCE);
	family("cross_entropy(x, i)", KW_FAMILY_ROW_REDUCE);
	family("kl_div(log_softmax(x), x)", KW_FAMILY_ROW_REDUCE);
	family("batchnorm(x)", KW_FAMILY_COLUMN_REDUCE);
	family("batchnorm(x, w, w)", KW_FAMILY_POINTWISE);
	family("cumsum(x, 1)", KW_FAMILY_SCAN);
	family("relu(x @ m + 1)", KW_FAMILY_MATMUL);
	family("softmax(x @ m)", KW_FAMILY_MIXED);
	family("x @ m @ m.T", KW_FAMILY_MIXED);
	family("attention(q, q, q)", KW_FAMILY_ATTENTION);
	family("relu(conv2d(q, ones(2, 3, 1, 1)))", KW_FAMILY_CONV);
	family("max_pool2d(q, 2)", KW_FAMILY_POOL);
	family("x.T", KW_FAMILY_MOVE);
	family("embedding(i, m)", KW_FAMILY_GATHER);
	family("topk(x, 2)", KW_FAMILY_SORT);
	family("rnn(x[None], x.T @ x, x)", KW_FAMILY_MIXED);
	family("rnn(x[None], broadcast_to(w, (6, 6)), x)", KW_FAMILY_SCAN);
}

static void cost(const char *expr, double flops, double special, double read, double written, int64_t reduction)
{
	struct run r;
	struct kw_cost c;

	if (!ok(run_init(&r, expr, "x:f32[rows=10,cols=20]", "y:f16[cols=20,out=30]", "i:i64[5]", NULL), "%s", expr)) {
		diag("%s", r.err.text);
	} else {
		kw_expr_cost(r.b, &c);
		is_int(c.flops, flops, "%s: flops", expr);
		is_int(c.special, special, "%s: special functions", expr);
		is_int(c.bytes_read, read, "%s: bytes read", expr);
		is_int(c.bytes_written, written, "%s: bytes written", expr);
		is_int(kw_bound_reduction(r.b, 0), reduction, "%s: reduction", expr);
	}
	run_free(&r);
}

static void test_costs(void)
{
	cost("x + 1", 200, 0, 800, 800, 1);
	cost("exp(x) * x", 400, 200, 800, 800, 1);
	cost("softmax(x)", 1000, 400, 800, 800, 20);     /* max, -, exp, +, / */
	cost("x @ f32(y)", 12000, 0, 800 + 1200, 1200, 20);
	cost("x[2:4, ::5] * 2", 8, 0, 32, 32, 1);        /* only what the slice takes */
	cost("take(x, i)", 0, 0, 400 + 40, 400, 1);      /* five rows and five indices */
	cost("rnn(x[None], broadcast_to(x[0], (20, 20)), x)", 200 * 42, 200, 800, 800, 20);
	cost("gru(concat([x, x, x], 1)[None], broadcast_to(x[0], (60, 20)), x)", 200 * 130, 600, 800, 800, 20);
	cost("x.T", 0, 0, 800, 800, 1);
	cost("sum(x)", 200, 0, 800, 4, 200);
	cost("max(x)", 200, 0, 800, 4, 1);               /* a maximum rounds nothing */
	cost("broadcast_to(x[0], (50, cols))", 0, 0, 80, 4000, 1);
}

/* ---- the scalar form ---- */

static bool leaf(void *arg, const struct kw_node *n, struct kw_buf *out)
{
	(void)arg;
	if (n->kind != KW_NODE_INPUT)
		return false;
	kw_buf_printf(out, "v%d", n->index);
	return true;
}

static void scalar(const char *expr, const char *want)
{
	struct run r;
	struct kw_buf out;

	kw_buf_init(&out, 4096);
	if (!ok(run_init(&r, expr, "x:f32[4]", "i:i32[4]", "d:f64[4]", NULL), "%s", expr)) {
		diag("%s", r.err.text);
	} else if (want) {
		is_int(kw_expr_emit_scalar_c(r.e->outputs[0], leaf, NULL, &out, &r.err), KW_OK, "%s: has a C form", expr);
		is_str(out.ptr, want, "%s: its C form", expr);
	} else {
		is_int(kw_expr_emit_scalar_c(r.e->outputs[0], leaf, NULL, &out, &r.err), KW_NO, "%s: none", expr);
		has_str(r.err.text, "no scalar C form", "%s: says so", expr);
	}
	kw_buf_release(&out);
	run_free(&r);
}

static void test_scalars(void)
{
	scalar("exp(x - 1) / 3", "(kw_expf((v0 - 1)) / 3)");
	scalar("x * 0.1 + inf", "((v0 * 0.1f) + KW_INF)");
	scalar("where(x > 0, x, -0.5)", "((v0 > 0) ? v0 : (-0.5f))");
	scalar("d * 0.1", "(v2 * 0.1)");
	scalar("tanh(d) + relu(x)", "(kw_tanh(v2) + kw_maxf(v0, 0.0f))");
	scalar("i / 2", "((float)v1 / 2)");
	scalar("maximum(i, 2)", "(v1 > 2 ? v1 : 2)");
	scalar("i // 2 | i % ~i", "((int32_t)kw_floor_div32(v1, 2) | kw_floor_mod32(v1, (~v1)))");
	scalar("i * 3 - i", "(int32_t)((uint32_t)(int32_t)((uint32_t)v1 * (uint32_t)3) - (uint32_t)v1)");
	scalar("i64(i) * 3", "((int64_t)v1 * 3)");
	scalar("i64(i) // 2", "kw_floor_div64((int64_t)v1, 2)");
	scalar("x // 2", "kw_floor_divf(v0, 2)");
	scalar("d % 2", "kw_floor_mod(v2, 2)");
	scalar("i8(x)", "kw_i8_from_f32(v0)");
	scalar("i64(d)", "kw_i64_from_f64(v2)");
	scalar("gelu(x) + silu(x)", "(kw_geluf(v0) + kw_siluf(v0))");
	scalar("f32(f16(x))", "(float)kw_f16_to_f32(kw_f16_from_f32(v0))");
	scalar("x * 1e30 + 16777216.0", "((v0 * 1e+30f) + 16777216.0f)");
	scalar("softmax(x)", NULL);
	scalar("exp(sum(x))", NULL);
}

/* ---- the audit ---- */

static void audit(const char *expr, const char *label)
{
	struct run r;
	const char **labels;
	size_t n = 0;
	char all[4000] = "";

	if (!ok(run_init(&r, expr, "x:f32[rows=7,cols=6]", "y:f32[rows=7,cols=6]", NULL), "%s", expr)) {
		diag("%s", r.err.text);
	} else if (ok(kw_expr_audit(r.e, &r.arena, &labels, &n, &r.err) == KW_OK, "%s: audited", expr)) {
		for (size_t i = 0; i < n; i++)
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s\n", labels[i]);
		if (label)
			has_str(all, label, "%s: labelled", expr);
		else
			is_str(all, "", "%s: no label", expr);
	}
	run_free(&r);
}

static void test_audit(void)
{
	audit("x * y + 1", NULL);
	audit("layernorm(x) * y", NULL);
	audit("x * y * 0", "zero_output: 'out' is 0 everywhere");
	audit("x * y * 0", "redundant_operation: line 1, column 7: times 0");
	audit("(x * y > -inf) * 3", "constant_output: 'out' is 3 whatever the inputs are");
	audit("softmax(x[:, :1]) + y", "ignores_input: no output depends on 'x'");
	audit("sqrt(x - 100) + y", "nan_output");
	audit("x / 0 + y", "infinite_output");
	audit("softmax(x * y) * 0.001", "small_output");
	audit("relu(exp(x)) * y", "relu of what is never negative");
	audit("x.T.T + y", "two transposes that cancel");
	audit("log(softmax(x)) * y", "log_softmax is exact");
	audit("u8(abs(x) + 20) * 12 // u8(abs(y) + 1)", "wraps: line 1, column 17: multiply goes beyond u8");
	audit("i32(u8(abs(x) + 20)) * 12 // u8(abs(y) + 1)", NULL);
}

/* ---- evaluators ---- */

static void test_f32(void)
{
	struct run r;
	static const double values[4] = { 16777216, 1, 1, 1 };
	double *y;

	ok(run_init(&r, "sum(x)", "x:f32[4]", NULL), "sum");
	run_set(&r, 0, values);
	y = run_whole(&r, 0, KW_EVAL_F64);
	ok(y && y[0] == 16777219, "f64 adds exactly");
	y = run_whole(&r, 0, KW_EVAL_F32);
	ok(y && y[0] == 16777216, "f32 adds in order and loses every 1");
	run_free(&r);
	ok(run_init(&r, "x * 1.1", "x:f16[1]", NULL), "a product of f16");
	y = run_whole(&r, 0, KW_EVAL_F32);
	if (y) {
		uint16_t half;
		kw_dtype_store(KW_F16, &half, y[0]);
		ok(kw_dtype_load(KW_F16, &half) == y[0], "and is stored as f16");
	}
	run_free(&r);
	ok(run_init(&r, "x / 3", "x:f64[1]", NULL), "f64 tasks");
	run_set(&r, 0, (double[]){ 1 });
	y = run_whole(&r, 0, KW_EVAL_F32);
	ok(y && y[0] == 1.0 / 3, "compute in f64 in either mode");
	run_free(&r);
}

/* Both evaluators of one expression on the same numbers, which f32 holds: x in f32 rounded to f32, x in f64 to 24 bits. */
static void coarse_like_f32(const char *expr)
{
	static const char *const types[2] = { "f32", "f64" };
	double *y[2] = { NULL, NULL };
	struct run r[2];
	int64_t n = 0;
	bool same = true;

	for (int k = 0; k < 2; k++) {
		char x[64], w[64];

		snprintf(x, sizeof(x), "x:%s[2,3,5,8]", types[k]);
		snprintf(w, sizeof(w), "w:%s[4,3,3,3]", types[k]);
		if (!ok(run_init(&r[k], expr, x, w, NULL), "%s of %s", expr, types[k]))
			return;
		for (int in = 0; in < 2; in++) {
			double values[240];

			n = kw_shape_count(&r[k].view[in].shape);
			for (int64_t i = 0; i < n; i++)
				values[i] = (double)(float)run_value(i, in);
			run_set(&r[k], in, values);
		}
		n = kw_shape_count(kw_bound_output_shape(r[k].b, 0));
		y[k] = run_whole(&r[k], 0, k ? KW_EVAL_COARSE : KW_EVAL_F32);
	}
	for (int64_t i = 0; i < n && y[0] && y[1]; i++)
		same = same && y[0][i] == y[1][i];
	ok(y[0] && y[1] && same, "%s: 24 bits of f64 are f32", expr);
	run_free(&r[0]);
	run_free(&r[1]);
}

static void test_coarse(void)
{
	static const char *const exprs[] = { "x * 3 + exp(x) + w[0, 0, 0, 0]", "sum(x, axis=-1) + w[0, 0, 0, 0]",
					     "sum(x, axis=1) + w[0, 0, 0, 0]", "mean(x) + w[0, 0, 0, 0]",
					     "prod(x, axis=2) + w[0, 0, 0, 0]", "prod(x, axis=-1) + w[0, 0, 0, 0]",
					     "cumsum(x, axis=2) + w[0, 0, 0, 0]", "matmul(x, swapaxes(x, -1, -2)) + w[0, 0, 0, 0]",
					     "conv2d(x, w, padding=1)", "conv2d(x, w, stride=2)",
					     "conv_transpose2d(x, w[:3])", "avg_pool2d(x, 2) + w[0, 0, 0, 0]" };
	struct run r;
	double *y;

	for (size_t i = 0; i < sizeof(exprs) / sizeof(*exprs); i++)
		coarse_like_f32(exprs[i]);
	ok(run_init(&r, "x * x", "x:f64[2]", NULL), "large numbers");
	run_set(&r, 0, (double[]){ 1e150, 1 + 0x1p-30 });
	y = run_whole(&r, 0, KW_EVAL_COARSE);
	ok(y && fabs(y[0] / 1e300 - 1) < 0x1p-23 && y[0] != 1e150 * 1e150 && y[1] == 1, "24 bits of any size");
	run_free(&r);
	ok(run_init(&r, "sum(x)", "x:i64[3]", NULL), "whole numbers");
	run_set(&r, 0, (double[]){ 0x1p24, 1, 1 });
	y = run_whole(&r, 0, KW_EVAL_F32);
	ok(y && y[0] == 0x1p24 + 2, "are exact in F32");
	y = run_whole(&r, 0, KW_EVAL_COARSE);
	ok(y && y[0] == 0x1p24, "and lose what 24 bits do not hold in COARSE");
	run_free(&r);
}

/* The largest error of `expr` of 64 numbers over 16 seeds, as shares of 2^-24; seed 0: none. */
static double disturbed(const char *expr, bool noise, enum kw_eval_mode mode)
{
	int64_t start[1] = { 0 }, count[1] = { 64 };
	double want[64], got[64], worst = 0;
	struct kw_eval *exact = NULL, *ev = NULL;
	struct run r;

	if (!ok(run_init(&r, expr, "x:f32[64]", NULL), "%s", expr))
		return -1;
	exact = run_eval(&r, KW_EVAL_F64, 1);
	ev = run_eval(&r, mode, 1);
	ok(exact && ev && kw_eval_box(exact, 0, start, count, want, &r.err) == KW_OK, "%s: evaluated", expr);
	for (uint64_t seed = 1; seed <= 16 && ev; seed++) {
		kw_eval_disturb(ev, noise ? seed : 0);
		if (kw_eval_box(ev, 0, start, count, got, &r.err) != KW_OK)
			return -1;
		for (int i = 0; i < 64; i++)
			worst = fmax(worst, fabs(got[i] - want[i]));
	}
	kw_eval_free(exact);
	kw_eval_free(ev);
	run_free(&r);
	return worst * 0x1p24;
}

static void test_disturb(void)
{
	double e;

	ok(disturbed("x - mean(x - x)", false, KW_EVAL_F32) == 0, "nothing to round");
	e = disturbed("x - mean(x - x)", true, KW_EVAL_F32);
	ok(e > 1 && e < 16, "operands are off by an ulp or so: %.2f", e);
	e = disturbed("rsqrt(mean(x * 0.0) + 0.00001) * (x - maximum(x, x))", true, KW_EVAL_F32);
	ok(e > 100, "which a large factor makes much of: %.0f", e);
	ok(disturbed("maximum(x, -x) + where(x == x, 0.0, 1.0) * 0.0", true, KW_EVAL_F64) == 0, "the reference has none");
	ok(disturbed("where(x == maximum(x, x), abs(x), 7.0)", true, KW_EVAL_F32) == 0, "what selects and compares sees exact values");
}

static void test_steps(void)
{
	static const struct {
		const char *expr;
		bool steps;
	} exprs[] = { { "x * 2", false }, { "floor(x)", true }, { "round(x) * 0.5", true }, { "x % 2", true },
		      { "i8(x)", true }, { "f16(x)", false }, { "f32(x > 0)", false }, { "softmax(x)", false } };

	for (size_t i = 0; i < sizeof(exprs) / sizeof(*exprs); i++) {
		struct run r;

		if (ok(run_init(&r, exprs[i].expr, "x:f32[3]", NULL), "%s", exprs[i].expr))
			ok(kw_expr_has_steps(r.e) == exprs[i].steps, "%s: %s", exprs[i].expr, exprs[i].steps ? "steps" : "smooth");
		run_free(&r);
	}
}

/* A matmul too large to be evaluated whole here: one element needs a row and a column. */
static void test_sample(void)
{
	struct run r;
	int64_t one[2] = { 1, 1 };

	if (!ok(run_init(&r, "relu(a @ b) - 1", "a:f32[2048,2048]", "b:f32[2048,2048]", NULL), "a large matmul"))
		return;
	struct kw_eval *ev = run_eval(&r, KW_EVAL_F64, 2);
	for (int k = 0; k < 20; k++) {
		int64_t at[2] = { k * 101 % 2048, k * 977 % 2048 };
		double got = 0, want = 0;
		for (int64_t i = 0; i < 2048; i++)
			want += (double)((float *)r.view[0].base)[at[0] * 2048 + i] *
				(double)((float *)r.view[1].base)[i * 2048 + at[1]];
		want = (want > 0 ? want : 0) - 1;
		ok(kw_eval_box(ev, 0, at, one, &got, &r.err) == KW_OK && run_near(got, want, 1e-12), "element %d", k);
	}
	kw_eval_free(ev);
	run_free(&r);
}

struct shared {
	struct kw_eval *ev;
	const double *want;
	bool same;
};

static void *reader(void *arg)
{
	struct shared *s = arg;
	double row[64];

	s->same = true;
	for (int64_t k = 0; k < 200; k++) {
		int64_t start[2] = { k % 50, 0 }, count[2] = { 1, 64 };
		if (kw_eval_box(s->ev, 0, start, count, row, NULL) != KW_OK || memcmp(row, s->want + k % 50 * 64, sizeof(row)))
			s->same = false;
	}
	return NULL;
}

static void test_threads(void)
{
	struct run r;
	struct shared s[4];
	pthread_t t[4];

	if (!ok(run_init(&r, "softmax(x - mean(x, axis=0)) + cumsum(x, 0)", "x:f32[50,64]", NULL), "threads"))
		return;
	double *y = run_whole(&r, 0, KW_EVAL_F64);
	struct kw_eval *ev = run_eval(&r, KW_EVAL_F64, 3);
	for (int i = 0; i < 4; i++) {
		s[i] = (struct shared){ ev, y, false };
		pthread_create(&t[i], NULL, reader, &s[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		ok(s[i].same, "thread %d gets the same values", i);
	}
	kw_eval_free(ev);
	run_free(&r);
}

static void test_reset(void)
{
	struct run r;
	int64_t zero[1] = { 0 }, two[1] = { 2 };
	double y[2];

	if (!ok(run_init(&r, "x - mean(x)", "x:f64[2]", NULL), "reset"))
		return;
	run_set(&r, 0, (double[]){ 1, 3 });
	struct kw_eval *ev = run_eval(&r, KW_EVAL_F64, 1);
	kw_eval_box(ev, 0, zero, two, y, NULL);
	ok(y[0] == -1 && y[1] == 1, "before");
	run_set(&r, 0, (double[]){ 10, 30 });
	ok(kw_eval_reset(ev, r.view, &r.err) == KW_OK, "new contents");
	kw_eval_box(ev, 0, zero, two, y, NULL);
	ok(y[0] == -10 && y[1] == 10, "after");
	kw_eval_free(ev);
	run_free(&r);
}

static void test_failures(void)
{
	struct run r;
	struct kw_eval *ev;
	int64_t zero[2] = { 0 }, count[2] = { 4, 3 };
	double y[64 * 64];

	ok(run_init(&r, "take(x, i)", "x:f64[2,3]", "i:i64[4]", NULL), "an index");
	run_set(&r, 1, (double[]){ 0, 1, 2, 0 });
	ev = run_eval(&r, KW_EVAL_F64, 1);
	is_int(kw_eval_box(ev, 0, zero, count, y, &r.err), KW_ERR_INPUT, "beyond the end is an error");
	has_str(r.err.text, "index 2 is out of range for an axis of 2", "that says which");
	count[0] = 2;
	is_int(kw_eval_box(ev, 0, zero, count, y, &r.err), KW_OK, "the evaluator still works");
	zero[0] = 3;
	is_int(kw_eval_box(ev, 0, zero, count, y, &r.err), KW_ERR_BUG, "a box beyond the output is our bug");
	kw_eval_free(ev);
	run_free(&r);

	ok(run_init(&r, "cumsum(x, 0) @ cumsum(x, 1)", "x:f64[64,64]", NULL), "intermediate values");
	ok(kw_eval_new(r.b, r.view, NULL, KW_EVAL_F64, 1, 20000, &ev, &r.err) == KW_OK, "with little memory");
	count[0] = count[1] = 64;
	zero[0] = 0;
	is_int(kw_eval_box(ev, 0, zero, count, y, &r.err), KW_ERR_LIMIT, "are a limit");
	kw_eval_free(ev);
	r.view[0].shape.dim[0] = 63;
	is_int(kw_eval_new(r.b, r.view, NULL, KW_EVAL_F64, 1, 1 << 20, &ev, &r.err), KW_ERR_INPUT, "a wrong shape");
	run_free(&r);
}

/* A long chain is evaluated (it recurses), a longer one refused. */
static void test_long(void)
{
	struct run r;
	char text[32768] = "x";
	size_t n = 1;
	double *y;

	for (int i = 0; i < 3000; i++, n += 2)
		memcpy(text + n, "+1", 3);
	ok(run_init(&r, text, "x:f64[1]", NULL), "3000 operations");
	run_set(&r, 0, (double[]){ 1 });
	y = r.b ? run_whole(&r, 0, KW_EVAL_F64) : NULL;
	ok(y && y[0] == 3001, "in a row");
	run_free(&r);
	for (int i = 0; i < 8000; i++, n += 2)
		memcpy(text + n, "+1", 3);
	ok(!run_init(&r, text, "x:f64[1]", NULL), "11000 operations are refused");
	has_str(r.err.text, "more than 8192 operations", "by their number");
	run_free(&r);
}

/* Nobody writes plain loops for a recurrence here: it is judged by the evaluator, and has no naive baseline. */
static void test_recurrent_is_not_naive(void)
{
	struct run r;
	struct kw_buf out;

	ok(run_init(&r, "gru(x, y, z) + 1", "x:f32[5,3,6]", "y:f32[6,2]", "z:f32[3,2]", NULL), "a recurrence");
	kw_buf_init(&out, 1 << 20);
	is_int(kw_expr_emit_naive_c(r.e, false, &out, &r.err), KW_NO, "no naive C");
	has_str(r.err.text, "gru", "by its name");
	kw_buf_reset(&out);
	is_int(kw_expr_emit_naive_gpu(r.e, "cuda", KW_NAIVE_F64, &out, NULL, &r.err), KW_NO, "no reference for a GPU");
	kw_buf_release(&out);
	run_free(&r);
}

static void test_params(void)
{
	static const char yaml[] = "name: p\ndims: { n: { min: 1, max: 4 } }\n"
				   "inputs: { x: { dtype: f64, shape: [n] } }\n"
				   "params: { s: { dtype: f32, value: 0.1 } }\n"
				   "outputs: { y: { dtype: f64, shape: [n] } }\n"
				   "reference: { expr: 'y = x * s' }\nperf: [ { n: 1 } ]\n";
	struct kw_task t = { 0 };
	struct kw_error err = { 0 };
	struct kw_arena a;
	struct kw_expr *e;
	struct kw_bound *b = NULL;
	struct kw_eval *ev = NULL;
	double x = 3, y = 0, other = 0.25;
	struct kw_view v = { .dtype = KW_F64, .shape = { 1, { 1 } }, .stride = { 1 }, .base = &x };
	int64_t zero[1] = { 0 }, one[1] = { 1 };

	kw_arena_init(&a, 64 << 20);
	if (ok(kw_task_parse_yaml(&t, "p.yaml", yaml, sizeof(yaml) - 1, &err) == KW_OK &&
	       kw_expr_parse(&t, &a, &e, &err) == KW_OK && kw_expr_bind(e, &t.cases[0], &a, &b, &err) == KW_OK, "a param")) {
		kw_eval_new(b, &v, NULL, KW_EVAL_F64, 1, 1 << 20, &ev, &err);
		ok(kw_eval_box(ev, 0, zero, one, &y, &err) == KW_OK && y == 3 * (double)0.1f, "has its dtype's value");
		kw_eval_free(ev);
		kw_eval_new(b, &v, &other, KW_EVAL_F64, 1, 1 << 20, &ev, &err);
		ok(kw_eval_box(ev, 0, zero, one, &y, &err) == KW_OK && y == 0.75, "or another one");
		kw_eval_free(ev);
	} else {
		diag("%s: %s", err.where, err.text);
	}
	kw_arena_release(&a);
	kw_task_release(&t);
}

static void test_chunks(void)
{
	struct run r;
	int64_t count[KW_MAX_RANK];

	ok(run_init(&r, "softmax(x)", "x:f32[100,4096]", NULL), "chunks of rows");
	struct kw_eval *ev = run_eval(&r, KW_EVAL_F64, 1);
	kw_eval_chunk(ev, 0, 16384, count);
	ok(count[0] == 4 && count[1] == 4096, "hold whole rows");
	kw_eval_free(ev);
	run_free(&r);
	ok(run_init(&r, "x @ x", "x:f32[64,64]", NULL), "chunks of nothing");
	ev = run_eval(&r, KW_EVAL_F64, 1);
	kw_eval_chunk(ev, 0, 1, count);
	ok(count[0] == 1 && count[1] == 1, "are at least one element");
	kw_eval_free(ev);
	run_free(&r);
}

static int scenario(void *arg)
{
	struct run r;
	double y[4];
	int64_t zero[2] = { 0 }, two[2] = { 2, 2 };
	struct kw_eval *ev = NULL;
	struct kw_error err = { 0 };
	int rc = 1;

	(void)arg;
	if (run_init(&r, "softmax(x @ x, axis=0)", "x:f64[2,2]", NULL) &&
	    kw_eval_new(r.b, r.view, NULL, KW_EVAL_F64, 2, 1 << 20, &ev, &err) == KW_OK &&
	    kw_eval_box(ev, 0, zero, two, y, &err) == KW_OK)
		rc = 0;
	else if (!err.text[0] && !r.err.text[0])
		rc = 2;
	kw_eval_free(ev);
	run_free(&r);
	return rc;
}

int main(void)
{
	test_families();
	test_costs();
	test_scalars();
	test_audit();
	test_f32();
	test_coarse();
	test_disturb();
	test_steps();
	test_sample();
	test_threads();
	test_reset();
	test_failures();
	test_chunks();
	test_long();
	test_recurrent_is_not_naive();
	test_params();
	fails_cleanly("KW_FAIL_ALLOC", 2000, scenario, NULL, "an expression");
	return done();
}
