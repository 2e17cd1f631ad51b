/* Expressions as statements, their division in parts, and the tasks of these. */
#include <string.h>

#include "expr/statements.h"
#include "tap.h"

static struct kw_error err;
static struct kw_arena arena;

static const char *const head =
	"name: t\ndims: { n: { min: 1, max: 64 }, m: { min: 1, max: 64 } }\n"
	"inputs:\n  x: { dtype: f32, shape: [n, m] }\n  w: { dtype: f32, shape: [m, m] }\n  v: { dtype: f32, shape: [m, m] }\n"
	"  b: { dtype: f32, shape: [m] }\n";

static bool load(struct kw_task *t, const char *outputs, const char *expr)
{
	const char *text = kw_arena_printf(&arena, "%s%sreference:\n  expr: |\n    %s\nperf: [ { n: 8, m: 16 } ]\n"
					   "check: [ { n: 3, m: 5, layout: { x: sliced } }, { n: 3, m: 5 } ]\n", head, outputs, expr);

	kw_error_reset(&err);
	if (kw_task_parse_yaml(t, "t.yaml", text, strlen(text), &err) == KW_OK && kw_expr_complete_task(t, &err) == KW_OK)
		return true;
	diag("%s: %s", err.where, err.text);
	return false;
}

/* "mid1 = x @ w | y = ...", and "0 1 1". */
static const char *lines(const struct kw_statements *s)
{
	const char *out = "";

	for (size_t i = 0; i < s->count; i++)
		out = kw_arena_printf(&arena, "%s%s%s", out, i ? " | " : "", s->at[i].text);
	return out;
}

static const char *parts(const struct kw_statements *s, const int *part)
{
	const char *out = "";

	for (size_t i = 0; i < s->count; i++)
		out = kw_arena_printf(&arena, "%s%s%d", out, i ? " " : "", part[i]);
	return out;
}

static void test_division(void)
{
	static const struct {
		const char *expr, *lines, *parts;
	} cases[] = {
		{ "y = relu(x @ w + b)", "mid1 = x @ w + b | y = relu(mid1)", "0 0" },
		{ "y = gelu(x @ w + b) @ v", "mid1 = x @ w + b | mid2 = gelu(mid1) | y = mid2 @ v", "0 0 1" },
		{ "y = softmax(x @ w, axis=-1) @ v", "mid1 = x @ w | mid2 = softmax(mid1, axis=-1) | y = mid2 @ v", "0 1 2" },
		{ "y = linear(gelu(linear(x, w, b)), v)",
		  "mid1 = linear(x, w, b) | mid2 = gelu(mid1) | y = linear(mid2, v)", "0 0 1" },
		{ "y = silu(linear(x, w)) * linear(x, v)",
		  "mid1 = linear(x, w) | mid2 = silu(mid1) | y = mid2 * linear(x, v)", "0 0 1" },
		{ "s = m\n    h = x @ w\n    h = h + b\n    y = h @ v / s",
		  "s = m | mid1 = x @ w | h = mid1 + b | y = h @ v / s", "-1 0 0 1" },
		{ "e = exp(x - max(x, axis=1, keepdims=True))\n    y = e / sum(e, axis=1, keepdims=True)",
		  "e = exp(x - max(x, axis=1, keepdims=True)) | y = e / sum(e, axis=1, keepdims=True)", "0 0" },
		{ "t = w.T\n    a = x @ t\n    y = a @ t", "t = w.T | a = x @ t | y = a @ t", "-1 0 1" },
		{ "y = (x @ w + b) * 2", "mid1 = x @ w + b | y = (mid1) * 2", "0 0" },
		{ "y = layernorm(x + b) @ w", "mid1 = layernorm(x + b) | y = mid1 @ w", "0 1" },
		{ "y = softmax(layernorm(x))", "mid1 = layernorm(x) | y = softmax(mid1)", "0 0" },
		{ "y = exp(x)", "y = exp(x)", "0" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kw_task t;
		struct kw_statements s;
		int part[KW_STATEMENTS_MAX];
		size_t count;

		if (!load(&t, "outputs:\n  y: { dtype: f32, shape: [n, m] }\n", cases[i].expr))
			continue;
		is_int(kw_expr_statements(&t, &arena, &s, &err), KW_OK, "%s", cases[i].lines);
		is_str(lines(&s), cases[i].lines, "its statements");
		kw_statements_divide(&s, part, &count);
		is_str(parts(&s, part), cases[i].parts, "its parts");
		kw_task_release(&t);
	}
}

static void test_tasks(void)
{
	struct kw_task t, p;
	struct kw_statements s;
	struct kw_expr *e;
	int part[KW_STATEMENTS_MAX];
	size_t count;
	const char *yaml;

	load(&t, "outputs:\n  y: { dtype: f32, shape: [n, m] }\n", "d = m\n    s = softmax(x @ w / sqrt(d), axis=-1)\n    y = s @ v + b");
	is_int(kw_expr_statements(&t, &arena, &s, &err), KW_OK, "three operations");
	kw_statements_divide(&s, part, &count);
	is_int(count, 3, "three parts");
	for (size_t i = 0; i < count; i++) {
		is_int(kw_statements_task(&s, part, (int)i, &arena, &yaml, &err), KW_OK, "the task of a part");
		is_int(kw_task_parse_yaml(&p, "part.yaml", yaml, strlen(yaml), &err), KW_OK, "can be read");
		is_int(kw_expr_parse(&p, &arena, &e, &err), KW_OK, "and understood");
		is_int(p.case_count, i == 0 ? 3 : 2, "cases that only differ in what it does not have are one");
		kw_task_release(&p);
	}
	ok(strstr(yaml, "s: { dtype: f32, shape: [\"n\", \"m\"], dist: probabilities }") != NULL, "what a softmax gives is probabilities");
	ok(s.at[1].flops > 0 && s.at[2].reduces && !s.at[2].heavy && s.at[3].heavy, "the work of each is known");
	kw_task_release(&t);
}

static void test_refused(void)
{
	struct kw_task t;
	struct kw_statements s;
	int part[KW_STATEMENTS_MAX];
	size_t count = 2;

	load(&t, "grad: [x]\n", "y = x @ w");
	is_int(kw_expr_statements(&t, &arena, &s, &err), KW_NO, "a backward pass is not divided");
	ok(strstr(err.text, "backward") != NULL, "and says so");
	kw_task_release(&t);
	load(&t, "", "argmax(x, axis=1)");
	is_int(kw_expr_statements(&t, &arena, &s, &err), KW_NO, "nor one of indices");
	kw_task_release(&t);
	load(&t, "outputs:\n  y: { dtype: f32, shape: [n, m] }\n", "a = x @ w\n    c = a @ v\n    y = c @ w");
	kw_expr_statements(&t, &arena, &s, &err);
	memcpy(part, (int[]){ 1, 0, 1 }, 3 * sizeof(int));
	is_int(kw_statements_check(&s, part, &count, &err), KW_ERR_INPUT, "a part that needs itself");
	ok(strstr(err.text, "from its own") != NULL, "is named");
	memcpy(part, (int[]){ 1, 0, 7 }, 3 * sizeof(int));
	is_int(kw_statements_check(&s, part, &count, &err), KW_ERR_INPUT, "a statement without a part");
	memcpy(part, (int[]){ 1, 1, 0 }, 3 * sizeof(int));
	is_int(kw_statements_check(&s, part, &count, &err), KW_OK, "another order of numbers");
	is_str(parts(&s, part), "0 0 1", "is put right");
	kw_task_release(&t);
}

int main(void)
{
	kw_arena_init(&arena, 256 << 20);
	test_division();
	test_tasks();
	test_refused();
	kw_arena_release(&arena);
	return done();
}
