/* What is refused, and how it is said: place, caret, suggestion. Also what tasks declare against what they get. */
#include "expr_run.h"

static void refused(const char *expr, const char *where, const char *part)
{
	struct run r;
	bool good = run_init(&r, expr, "x:f32[rows=4,cols=6]", "w:f32[6]", "i:i64[4]", NULL);

	if (ok(!good, "refused: %s", expr)) {
		has_str(r.err.text, part, "says why: %s", expr);
		is_str(r.err.where, where, "says where: %s", expr);
		is_int(r.err.status, KW_ERR_INPUT, "as bad input: %s", expr);
	}
	run_free(&r);
}

static void test_refused(void)
{
	refused("sofmax(x)", "(command line):1:1", "unknown function 'sofmax'; did you mean 'softmax'?\n    sofmax(x)\n    ^");
	refused("x + z", "(command line):1:5", "unknown name 'z'");
	refused("x + rwos", "(command line):1:5", "did you mean 'rows'?\n    x + rwos\n        ^");
	refused("softmax", "(command line):1:1", "is a function: write softmax(...)");
	refused("softmax(x, axs=1)", "(command line):1:16", "did you mean 'axis'?");
	refused("softmax(x, axis=2)", "(command line):1:17", "axis 2 is out of range for 2 axes");
	refused("softmax(x, 1, 2)", "(command line):1:15", "at most 2 arguments");
	refused("softmax(x, x=w)", "(command line):1:14", "given twice");
	refused("softmax()", "(command line):1:1", "needs 'x'");
	refused("softmax(axis=1, x)", "(command line):1:17", "positional argument after a keyword");
	refused("x + w[:4]", "(command line):1:3", "do not broadcast");
	refused("x + w @ x", "(command line):1:7", "inner sizes differ");
	refused("x @ x", "(command line):1:3", "inner sizes differ");
	refused("reshape(x, (5, -1))", "(command line):1:1", "number of elements");
	refused("reshape(x, (-1, -1))", "(command line):1:1", "only one may be -1");
	refused("concat([x, w])", "(command line):1:1", "number of axes");
	refused("x[4]", "(command line):1:3", "behind the end");
	refused("x[0, 0, 0]", "(command line):1:9", "too many indices");
	refused("x[::0]", "(command line):1:5", "step");
	refused("x[1:2:-1]", "(command line):1:8", "flip()");
	refused("x / 0 + 1 / 0", "(command line):1:11", "division by zero");
	refused("rows // (rows - rows)", "(command line):1:6", "division by zero");
	refused("x +", "(command line):1:4", "the line ends here");
	refused("x + (\n\n  ", "(command line):1:6", "the line ends here");
	refused("x + )", "(command line):1:5", "expected a value, not ')'");
	refused("(x", "(command line):1:3", "expected ')'");
	refused("x x", "(command line):1:3", "expected an operator");
	refused("x $ 2", "(command line):1:3", "means nothing");
	refused("2x", "(command line):1:1", "number runs into a letter");
	refused("gelu(x, approximate='fast')", "(command line):1:1", "'none' or 'tanh'");
	refused("cast(x, 'f23')", "(command line):1:1", "unknown dtype 'f23'; did you mean 'f32'?");
	refused("gelu(x, 'tanh)", "(command line):1:9", "closing quote");
	refused("x & w", "(command line):1:3", "of floats");
	refused("0 < x < 1", "(command line):1:7", "cannot be chained");
	refused("take(x, w)", "(command line):1:1", "whole numbers");
	refused("einsum('ij,j', x)", "(command line):1:1", "more operands than the call");
	refused("einsum('ijk->i', x)", "(command line):1:1", "of 2 axes");
	refused("einsum('ij->k', x)", "(command line):1:1", "is in no operand");
	refused("conv2d(x, x)", "(command line):1:1", "need 4 axes each");
	refused("rnn(x, x, x)", "(command line):1:1", "need 3, 2 and 2 axes");
	refused("gru(x[None], x, x)", "(command line):1:1", "the hidden size times the gates");
	refused("rnn(x[None], x, x, activation='gelu')", "(command line):1:1", "'tanh' or 'relu'");
	refused("lstm(x[None], x, x)", "(command line):1:1", "c0");
	refused("topk(x, 7)", "(command line):1:1", "k is larger");
	refused("layernorm(x, i)", "(command line):1:1", "does not fit x");
	refused("mse_loss(x, w, reduction='avg')", "(command line):1:1", "'mean', 'sum' or 'none'");
	refused("x.shapes", "(command line):1:3", "there is no '.shapes'");
	refused("y = ", "(command line):1:5", "the line ends here");
	refused("y = x\nz = sum(y, axis=9)", "(command line):2:17", "\n    z = sum(y, axis=9)\n                    ^");
	refused("transpose(x, (0, 0))", "(command line):1:1", "named twice");
	refused("_channel(x, x)", "(command line):1:1", "unknown function");
	refused("a, b = x", "(command line):1:1", "2 names for 1 value");
}

static void test_deep(void)
{
	char text[4000] = "";
	struct run r;

	memset(text, '(', 1500);
	ok(!run_init(&r, text, "x:f32[2]", NULL), "1500 brackets are refused");
	has_str(r.err.text, "nested", "as too deep");
	run_free(&r);
	memset(text, '-', 1500);
	ok(!run_init(&r, text, "x:f32[2]", NULL), "1500 signs are refused");
	has_str(r.err.text, "nested", "as too deep");
	run_free(&r);
}

/* Dims that only a case decides. */
static void test_bound(void)
{
	struct run r;

	ok(!run_init(&r, "x * (7 // rows)", "x:f32[rows=0,cols=6]", NULL), "a dim of 0 as a divisor is refused");
	has_str(r.err.text, "((7) / (rows)) divides by zero (case rows=0 cols=6)\n    x * (7 // rows)", "with its case");
	run_free(&r);
	ok(!run_init(&r, "reshape(x, (rows // cols, -1))", "x:f32[rows=3,cols=6]", NULL), "so is a size of 0 / 0");
	has_str(r.err.text, "divides by zero", "as a division by zero");
	run_free(&r);
	ok(!run_init(&r, "argmax(x)[:, None]", "x:f32[rows=3,cols=0]", NULL), "argmax of nothing");
	run_free(&r);
	ok(!run_init(&r, "max_pool1d(x, 4)", "x:f32[rows=1,cols=3]", NULL), "a window larger than its input");
	has_str(r.err.text, "larger than the padded input", "is named");
	run_free(&r);
}

static void accepted(const char *expr, enum kw_dtype d, const char *shape)
{
	struct run r;
	char text[200] = "";

	if (!ok(run_init(&r, expr, "x:f16[rows=4,cols=6]", "q:i8[rows=4,cols=6]", "m:bool[cols=6]", "w:f32[cols=6]", "b:bf16[cols=6]",
			 NULL), "%s", expr)) {
		diag("%s", r.err.text);
	} else {
		is_str(kw_dtype_name(r.e->outputs[0]->dtype), kw_dtype_name(d), "%s: dtype", expr);
		for (int i = 0; i < r.e->outputs[0]->rank; i++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? "," : "",
				 kw_intexpr_text(r.e->outputs[0]->shape[i].expr));
		is_str(text, shape, "%s: shape", expr);
	}
	run_free(&r);
}

static void test_inferred(void)
{
	accepted("x + 1.5", KW_F16, "rows,cols");
	accepted("x * rows", KW_F16, "rows,cols");
	accepted("x + w", KW_F32, "rows,cols");
	accepted("x + b", KW_F32, "rows,cols");
	accepted("b + 1", KW_BF16, "cols");
	accepted("q + 1", KW_I8, "rows,cols");
	accepted("q * 0.5", KW_F32, "rows,cols");
	accepted("q / 2", KW_F32, "rows,cols");
	accepted("sum(q, axis=0)", KW_I64, "cols");
	accepted("sum(m)", KW_I64, "");
	accepted("mean(q, axis=1, keepdims=True)", KW_F32, "rows,1");
	accepted("x > 0", KW_BOOL, "rows,cols");
	accepted("m & m", KW_BOOL, "cols");
	accepted("argmax(x, -1)", KW_I64, "rows");
	accepted("f32(q)[:, 1:]", KW_F32, "rows,cols - 1");
	accepted("concat([x, x[:, :2]], axis=1)", KW_F16, "rows,cols + 2");
	accepted("reshape(x, (rows * cols // 2, -1))", KW_F16, "((cols*rows) / (2)),((cols*rows) / (((cols*rows) / (2))))");
	accepted("reshape(x, (-1, cols * rows))", KW_F16, "1,cols*rows");
	accepted("reshape(x, (-1, rows))", KW_F16, "cols,rows");
	accepted("x @ x.T", KW_F16, "rows,rows");
	accepted("x @ w", KW_F32, "rows");
	accepted("pad(x, (1, rows))", KW_F16, "rows,cols + rows + 1");
	accepted("x.shape[0] * w", KW_F32, "cols");
	accepted("repeat(x, 3, 0)", KW_F16, "3*rows,cols");
	accepted("x[2:4]", KW_F16, "2,cols");
	accepted("x[-2:]", KW_F16, "2,cols");
}

static const char yaml[] =
	"name: t\n"
	"dims: { rows: { min: 0, max: 64 }, cols: { min: 1, max: 64 } }\n"
	"inputs:\n"
	"  x: { dtype: f32, shape: [rows, cols], dist: normal }\n"
	"outputs:\n"
	"  y: { dtype: %s, shape: %s }\n"
	"reference:\n"
	"  expr: |\n"
	"    z = x * 2\n"
	"    %s\n"
	"perf: [ { rows: 8, cols: 4 } ]\n"
	"check: [ { rows: 0, cols: 7 }, { rows: 3, cols: 3 } ]\n";

static void declared(const char *dtype, const char *shape, const char *line, const char *where, const char *part)
{
	char text[2000];
	struct kw_task t = { 0 };
	struct kw_error err = { 0 };
	struct kw_arena a;
	struct kw_expr *e = NULL;
	enum kw_status s;

	snprintf(text, sizeof(text), yaml, dtype, shape, line);
	kw_arena_init(&a, 64 << 20);
	s = kw_task_parse_yaml(&t, "t.yaml", text, strlen(text), &err);
	if (ok(s == KW_OK, "%s %s: the task loads", dtype, shape)) {
		s = kw_expr_parse(&t, &a, &e, &err);
		if (!part) {
			if (!ok(s == KW_OK && e, "%s: fits %s %s", line, dtype, shape))
				diag("%s: %s", err.where, err.text);
		} else if (ok(s == KW_ERR_INPUT && !e, "%s: does not fit %s %s", line, dtype, shape)) {
			has_str(err.text, part, "says why");
			is_str(err.where, where, "says where");
		}
		kw_task_release(&t);
	} else {
		diag("%s: %s", err.where, err.text);
	}
	kw_arena_release(&a);
}

static void test_declared(void)
{
	declared("f32", "[rows, cols]", "y = z + 1", NULL, NULL);
	declared("f16", "[rows, cols]", "y = z + 1", NULL, NULL);
	declared("i32", "[rows]", "y = argmax(z, -1)", NULL, NULL);
	declared("f32", "[rows, cols]", "y = sum(z, axis=1)", "t.yaml:10:9", "declared with 2 axes, but the expression gives [rows]");
	declared("f32", "[cols, rows]", "y = z + 1", "t.yaml:10:11", "declared cols, but the expression gives [rows, cols]");
	declared("i32", "[rows, cols]", "y = z + 1", "t.yaml:10:11", "write i32(...)");
	declared("f32", "[rows, cols]", "yy = z + 1", "t.yaml:9:5", "does not assign output 'y'");
	declared("f32", "[rows, cols]", "y = sofmax(z)", "t.yaml:10:9", "did you mean 'softmax'?\n    y = sofmax(z)\n        ^");
	declared("f32", "[rows, cols]", "y = z[:4, :]", "t.yaml:10:11", "declared rows");
	declared("f32", "[rows, cols]", "y = broadcast_to(sum(z) / (rows - 3), (rows, cols))", NULL, NULL);
	declared("f32", "[rows, cols]", "y = reshape(z, (cols, rows))", "t.yaml:10:9", "(case rows=8 cols=4)");
	declared("f32", "[rows, 4]", "y = z", "t.yaml:9:11", "4");
	declared("f32", "[rows, cols]", "y = z[:, :7 // rows]", "t.yaml:10:11", "is not");
}

int main(void)
{
	test_refused();
	test_deep();
	test_bound();
	test_inferred();
	test_declared();
	return done();
}
