/* Backward passes against finite differences of the expression in f64, and what has no derivative. */
#include "base/alloc.h"
#include "expr_run.h"

#define STEP 1e-5
#define INPUTS 4

/* Inputs that end in " grad" are differentiated by. */
static const struct {
	const char *expr, *inputs[INPUTS];
} rows[] = {
	{ "x + y - 2 * x", { "x:f64[3,4] grad", "y:f64[4] grad" } },
	{ "x * y / (z * z + 1)", { "x:f64[3,4] grad", "y:f64[3,1] grad", "z:f64 grad" } },
	{ "(x * x + 1) ** y + 2 ** x + x ** 3", { "x:f64[3,4] grad", "y:f64[4] grad" } },
	{ "x % 0.7 + exp(x) + exp2(x) + expm1(x) + log1p(abs(x))", { "x:f64[5] grad" } },
	{ "log(x * x + 1) + log2(x * x + 1) - log10(x * x + 2)", { "x:f64[5] grad" } },
	{ "sqrt(x * x + 1) + rsqrt(x * x + 1) + reciprocal(x * x + 1)", { "x:f64[5] grad" } },
	{ "sin(x) + cos(x) * tan(x * 0.3) + arctan(x)", { "x:f64[5] grad" } },
	{ "tanh(x) + erf(x) + sigmoid(x) + relu(x) + abs(x) + square(x) - x", { "x:f64[7] grad" } },
	{ "floor(x) * x + sign(x) * x + round(x) + (x // 0.3) * x", { "x:f64[5] grad" } },
	{ "maximum(x, y) * minimum(x, 0.25) + where(x > y, x * y, y)", { "x:f64[3,4] grad", "y:f64[4] grad" } },
	{ "clip(x, -0.5, 0.75) * x", { "x:f64[9] grad" } },
	{ "gelu(x) + gelu(x, approximate='tanh') + silu(x) + mish(x) + softplus(x) + elu(x) + selu(x)", { "x:f64[9] grad" } },
	{ "leaky_relu(x) + hardtanh(x) + hardsigmoid(x) + hardswish(x) + relu6(x) + softsign(x) + logsigmoid(x)", { "x:f64[9] grad" } },
	{ "sum(x, axis=0) * y", { "x:f64[3,4] grad", "y:f64[4] grad" } },
	{ "sum(x * x) + mean(x * x * x, axis=(0, 2), keepdims=True)", { "x:f64[2,3,4] grad" } },
	{ "mean(x, axis=1) * max(x, axis=1) + min(x * x, axis=1)", { "x:f64[3,4] grad" } },
	{ "prod(x, axis=1)", { "x:f64[3,4] grad" } },
	{ "var(x, axis=-1) + std(x, axis=-1, correction=1) + logsumexp(x, axis=-1)", { "x:f64[3,4] grad" } },
	{ "var(x, axis=0, keepdims=True) * x + std(x) + logsumexp(x, axis=0, keepdims=True)", { "x:f64[3,4] grad" } },
	{ "norm(x) * x", { "x:f64[3,4] grad" } },
	{ "softmax(x) * x + log_softmax(x, axis=0)", { "x:f64[3,4] grad" } },
	{ "log_softmax(x) * sum(x)", { "x:f64[3,4] grad" } },
	{ "sum(softmax(x), axis=0) + sum(log_softmax(x))", { "x:f64[3,4] grad" } },
	{ "layernorm(x, w, b) * x", { "x:f64[3,4] grad", "w:f64[4] grad", "b:f64[4] grad" } },
	{ "layernorm(x, axis=(-2, -1))", { "x:f64[2,3,4] grad" } },
	{ "sum(layernorm(x, w), axis=0)", { "x:f64[3,4] grad", "w:f64[4] grad" } },
	{ "rmsnorm(x, w)", { "x:f64[3,4] grad", "w:f64[4] grad" } },
	{ "groupnorm(x, 2, w, b)", { "x:f64[2,4,3] grad", "w:f64[4] grad", "b:f64[4] grad" } },
	{ "batchnorm(x, weight=w, bias=b)", { "x:f64[3,2,2] grad", "w:f64[2] grad", "b:f64[2] grad" } },
	{ "mse_loss(x, y) + l1_loss(x, y, reduction='sum') + huber_loss(x, y)", { "x:f64[3,4] grad", "y:f64[3,4] grad" } },
	{ "smooth_l1_loss(x, y, reduction='none')", { "x:f64[3,4] grad", "y:f64[3,4] grad" } },
	{ "kl_div(log_softmax(x), softmax(y), reduction='batchmean')", { "x:f64[3,4] grad", "y:f64[3,4] grad" } },
	{ "cross_entropy(x, t)", { "x:f64[3,4] grad", "t:i64[3]" } },
	{ "cross_entropy(x, t, reduction='none')", { "x:f64[2,3,4] grad", "t:i64[2,4]" } },
	{ "cross_entropy(x, t, reduction='sum')", { "x:f64[4] grad", "t:i64" } },
	{ "cross_entropy(x, softmax(y, axis=1))", { "x:f64[3,4] grad", "y:f64[3,4] grad" } },
	{ "x @ y", { "x:f64[3,4] grad", "y:f64[4,5] grad" } },
	{ "relu(x @ y + z)", { "x:f64[2,3,4] grad", "y:f64[2,4,5] grad", "z:f64[5] grad" } },
	{ "x @ y", { "x:f64[2,3,4] grad", "y:f64[4] grad" } },
	{ "linear(x, w, z)", { "x:f64[3,4] grad", "w:f64[5,4] grad", "z:f64[5] grad" } },
	{ "einsum('bij,bkj->bik', x, y)", { "x:f64[2,3,4] grad", "y:f64[2,5,4] grad" } },
	{ "attention(q, k, v)", { "q:f64[2,3,4] grad", "k:f64[2,5,4] grad", "v:f64[2,5,3] grad" } },
	{ "attention(q, k, v, causal=True)", { "q:f64[2,4,4] grad", "k:f64[2,4,4] grad", "v:f64[2,4,3] grad" } },
	{ "cumsum(x, axis=0) * cumsum(x, axis=1)", { "x:f64[3,4] grad" } },
	{ "concat([x[1:, :2], y[1:, 1:3]], axis=1) * pad(x, ((0, 0), (1, 2)))[:2, 1:5]", { "x:f64[3,4] grad", "y:f64[3,4] grad" } },
	{ "transpose(x, 2, 0, 1) * swapaxes(x, 0, 2)[:, :2, :2] * 1.0 + flip(x, 0)[:, :2, :2]", { "x:f64[2,2,2] grad" } },
	{ "reshape(x, 4, 3) * reshape(flip(x, (0, 1)), 4, 3) + broadcast_to(y, (4, 3))", { "x:f64[3,4] grad", "y:f64[3] grad" } },
	{ "squeeze(x, 1) * x[:, 0] + expand_dims(y, 0)", { "x:f64[3,1,4] grad", "y:f64[4] grad" } },
	{ "dropout(x, s, p=0.25) * x", { "x:f64[9] grad", "s:i64" } },
	{ "x[:, None] * y[None, :] + sum(x)", { "x:f64[3] grad", "y:f64[4] grad" } },
	{ "f32(x) * y", { "x:f64[3] grad", "y:f64[3] grad" } },
};

static double *whole_output(struct run *r, int output)
{
	struct kw_eval *ev = NULL;
	const struct kw_shape *s = kw_bound_output_shape(r->b, output);
	int64_t start[KW_MAX_RANK] = { 0 };
	double *out = kw_alloc((size_t)(kw_shape_count(s) + 1) * sizeof(*out));
	enum kw_status st = kw_eval_new(r->b, r->view, NULL, KW_EVAL_F64, 1, 1 << 26, &ev, &r->err);

	if (st == KW_OK)
		st = kw_eval_box(ev, output, start, s->dim, out, &r->err);
	if (st != KW_OK) {
		diag("%s", r->err.text);
		memset(out, 0xff, (size_t)kw_shape_count(s) * sizeof(*out));
	}
	kw_eval_free(ev);
	return out;
}

/* sum(g * f) */
static double weighted(struct run *forward, const double *g)
{
	double *y = whole_output(forward, 0), sum = 0;

	for (int64_t i = 0; i < kw_shape_count(kw_bound_output_shape(forward->b, 0)); i++)
		sum += g[i] * y[i];
	kw_free(y);
	return sum;
}

static int64_t count(const struct run *r, int input)
{
	return kw_shape_count(&r->view[input].shape);
}

static bool differences_agree(struct run *forward, struct run *backward, int input, int output)
{
	double *x = forward->view[input].base, *d = whole_output(backward, output);
	const double *g = backward->view[backward->task.input_count - 1].base;
	bool good = true;

	for (int64_t i = 0; i < count(forward, input) && good; i++) {
		double at = x[i], up, down, want;

		x[i] = at + STEP;
		up = weighted(forward, g);
		x[i] = at - STEP;
		down = weighted(forward, g);
		x[i] = at;
		want = (up - down) / (2 * STEP);
		good = fabs(d[i] - want) <= 1e-6 * (1 + fabs(want) + fabs(up) * 1e-3);
		if (!good)
			diag("%s[%lld]: %.12g, by differences %.12g", forward->task.inputs[input].name, (long long)i, d[i], want);
	}
	kw_free(d);
	return good;
}

/* The inputs without " grad". */
static void plain(const char *spec, char *out, size_t n)
{
	const char *end = spec ? strstr(spec, " grad") : NULL;

	snprintf(out, n, "%.*s", (int)(end ? end - spec : spec ? (long)strlen(spec) : 0), spec ? spec : "");
}

static void check(size_t row)
{
	const char *const *in = rows[row].inputs;
	char text[INPUTS][64];
	struct run forward, backward;
	int output = 0;

	for (int i = 0; i < INPUTS; i++)
		plain(in[i], text[i], sizeof(text[i]));
	if (!ok(run_init(&forward, rows[row].expr, text[0], in[1] ? text[1] : NULL, in[2] ? text[2] : NULL, NULL) &&
			run_init(&backward, rows[row].expr, in[0], in[1], in[2], NULL), "%s", rows[row].expr)) {
		diag("%s", backward.err.text);
		return;
	}
	for (int i = 0; i < (int)forward.task.input_count; i++) {
		double *from = forward.view[i].base;

		memcpy(backward.view[i].base, from, (size_t)count(&forward, i) * 8);
		if (strstr(in[i], " grad"))
			ok(differences_agree(&forward, &backward, i, output++), "its derivative by %s", forward.task.inputs[i].name);
	}
	is_int((int64_t)backward.task.output_count, output, "as many outputs");
	run_free(&forward);
	run_free(&backward);
}

static void test_form(void)
{
	static const char text[] = "name: a\ndims: { n: { max: 9 } }\ninputs:\n  x: { dtype: f16, shape: [n], range: [0, 2] }\n  grad_y: { dtype: "
				   "f32, shape: [n] }\n  i: { dtype: i64, shape: [n] }\noutputs:\n  y: { dtype: f16, shape: [n] }\n  k: { dtype: "
				   "i64, shape: [n] }\nreference:\n  expr: |\n    y = x * grad_y\n    k = i + 1\n%s\nperf: [ { n: 8 } ]\n"
				   "check: [ { n: 4, layout: { x: step } } ]\n";
	static const struct {
		const char *grad, *message;
	} bad[] = {
		{ "grad: [z]", "there is no input 'z'" },
		{ "grad: [grad_z]", "did you mean 'grad_y'?" },
		{ "grad: [i]", "'i' is i64, and only floats have gradients" },
		{ "grad: [x, x]", "'x' is named twice" },
	};
	struct kw_error err = { 0 };
	struct kw_task t;
	char yaml[1200];

	snprintf(yaml, sizeof(yaml), text, "grad: [x]");
	is_int(kw_task_parse_yaml(&t, "t.yaml", yaml, strlen(yaml), &err), KW_OK, "a task with grad: %s", err.text);
	is_int(kw_expr_complete_task(&t, &err), KW_OK, "becomes its backward pass: %s", err.text);
	ok(t.input_count == 4 && strcmp(t.inputs[3].name, "grad_y_") == 0 && t.inputs[3].dtype == KW_F16,
	   "what arrives at y is an input, with a name of its own; nothing arrives at whole numbers");
	ok(t.output_count == 1 && strcmp(t.outputs[0].name, "grad_x") == 0 && t.outputs[0].dtype == KW_F16 && t.outputs[0].rank == 1,
	   "the output has the dtype and shape of x");
	ok(t.cases[1].layouts[0] == KW_LAYOUT_STEP && t.cases[1].layouts[3] == KW_LAYOUT_CONTIGUOUS, "layouts stay");
	is_int(kw_expr_complete_task(&t, &err), KW_OK, "twice is once");
	is_int((int64_t)t.input_count, 4, "nothing more");
	kw_task_release(&t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(yaml, sizeof(yaml), text, bad[i].grad);
		is_int(kw_task_parse_yaml(&t, "t.yaml", yaml, strlen(yaml), &err), KW_OK, "%s is read", bad[i].grad);
		is_int(kw_expr_complete_task(&t, &err), KW_ERR_INPUT, "and refused");
		has_str(err.text, bad[i].message, "with the reason");
		kw_task_release(&t);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *expr, *input, *message;
	} bad[] = {
		{ "floor(x)", "x:f32[4] grad", "no output depends on 'x' in a way that has a derivative" },
		{ "argmax(x, axis=0)", "x:f32[4] grad", "no output depends on 'x'" },
		{ "conv1d(x, x)", "x:f32[2,2,2] grad", "'conv1d' has no derivative here yet" },
		{ "rnn(x, x[0], x[0])", "x:f32[2,2,2] grad", "'rnn' has no derivative here yet" },
		{ "topk(x, 2)", "x:f32[4] grad", "has no derivative here yet" },
		{ "cumprod(x, axis=0)", "x:f32[4] grad", "'cumprod' has no derivative here yet" },
		{ "x[::2]", "x:f32[4] grad", "a slice with a step has no derivative here yet" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct run r;

		ok(!run_init(&r, bad[i].expr, bad[i].input, NULL), "%s is refused", bad[i].expr);
		has_str(r.err.text, bad[i].message, "with the reason");
		run_free(&r);
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(i);
	test_form();
	test_refused();
	return done();
}
