/* Kernels of parts as one candidate. */
#include <string.h>

#include "search/compose.h"
#include "tap.h"

static struct kw_error err;
static struct kw_arena arena;
static struct kw_task whole, first, second;

static const char *const dims = "dims: { n: { min: 1, max: 64 }, m: { min: 1, max: 64 } }\n";

static void load(struct kw_task *t, const char *name, const char *rest)
{
	const char *text = kw_arena_printf(&arena, "name: %s\n%s%sperf: [ { n: 8, m: 16 } ]\n", name, dims, rest);

	if (kw_task_parse_yaml(t, "t.yaml", text, strlen(text), &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
}

static struct kw_candidate candidate(const char *backend, const struct kw_task *t, const char *text)
{
	struct kw_candidate c = { 0 };

	kw_error_reset(&err);
	if (kw_candidate_from_text(&c, "k", backend, text, strlen(text), t, &arena, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	return c;
}

static const char *compose(const struct kw_candidate *a, const struct kw_candidate *b)
{
	struct kw_compose_part parts[] = { { &first, a }, { &second, b } };
	const char *text = NULL;

	kw_error_reset(&err);
	ok(kw_compose(&whole, parts, 2, &arena, &text, &err) == KW_OK, "put together: %s", err.text);
	return text ? text : "";
}

static void has(const char *text, const char *part)
{
	if (!ok(strstr(text, part) != NULL, "it has \"%s\"", part))
		diag("%s", text);
}

static void test_c(void)
{
	struct kw_candidate a, b;
	struct kw_candidate c;
	const char *text;
	int64_t values[] = { 32 };

	a = candidate("c", &first,
		      "//@ define WIDE = TILE * 2\n//@ tune TILE in {16, 32} default 16\n//@ where TILE <= 64\n//@ workspace tmp f32[n]\n"
		      "//@ kernel run args=(x, mid, tmp, n:i64, x.stride0:i64)\n"
		      "/* run and tmp in a comment stay */\n#define SCALE 2\nstatic float helper(float v) { return v * SCALE; }\n"
		      "enum { ROOM = 8 };\nstruct pair { float run; };\n"
		      "void run(const float *x, float *mid, float *tmp, int64_t n, int64_t s)\n"
		      "{ struct pair p = { .run = helper(TILE) }; mid[0] = p.run + ROOM + WIDE; (void)\"run\"; }\n");
	a.tune_values = values;
	b = candidate("c", &second,
		      "//@ workspace tmp f32[n]\n//@ kernel run args=(x, mid, y, tmp, mid.stride0:i64, mid.dim1:i64, mid.contiguous:i64, mid.align:i64)\n"
		      "//@ require mid.contiguous\nstatic float helper(float v) { return v; }\n"
		      "void run(const float *x, const float *mid, float *y, float *tmp, int64_t s, int64_t d, int64_t c, int64_t a) { y[0] = helper(1); }\n");
	text = compose(&a, &b);
	has(text, "//@ workspace mid f32[n, m]\n");
	has(text, "//@ define TILE_p1 = 32\n//@ define WIDE_p1 = TILE_p1 * 2\n");
	has(text, "//@ require TILE_p1 <= 64\n");
	has(text, "//@ kernel run_p1 args=(x, mid, tmp_p1, n:i64, x.stride0:i64)\n");
	has(text, "/* run and tmp in a comment stay */\n#define SCALE_p1 2\n");
	has(text, "struct pair_p1 p = { .run = helper_p1(TILE_p1) }; mid[0] = p.run + ROOM_p1 + WIDE_p1; (void)\"run\";");
	has(text, "//@ require x.contiguous\n"); /* the second does not pass its strides */
	has(text, "//@ kernel run_p2 args=(x, mid, y, tmp_p2, (1 * max(1, m)):i64, (m):i64, 1:i64, 64:i64)\n");
	has(text, "//@ require 1\n");
	c = candidate("c", &whole, text);
	is_int(c.plan.kernel_count, 2, "a plan of two launches");
	is_int(c.plan.workspace_count, 3, "and three workspaces");
}

static void test_gpu(void)
{
	struct kw_candidate a = candidate("cuda", &first,
					  "//@ kernel f grid=(n) block=(32) args=(x, mid, n:i32)\n"
					  "template <typename T> __device__ T twice(T v) { return v + v; }\n"
					  "extern \"C\" {\n__global__ void __launch_bounds__(32) f(const float *x, float *mid, int n) { mid[0] = twice(x[0]); }\n}\n");
	struct kw_candidate b = candidate("cuda", &second,
					  "//@ kernel f grid=(n) block=(32) args=(x, mid, y)\n__constant__ float table[2] = { 1, 2 };\n"
					  "extern \"C\" __global__ void f(const float *x, const float *mid, float *y) { y[0] = table[1]; }\n");
	const char *text = compose(&a, &b);

	has(text, "__global__ void __launch_bounds__(32) f_p1(const float *x, float *mid, int n) { mid[0] = twice_p1(x[0]); }");
	has(text, "__constant__ float table_p2[2] = { 1, 2 };");
	has(text, "//@ kernel f_p2 grid=(n) block=(32) args=(x, mid, y)");
}

static void test_python(void)
{
	struct kw_candidate a = candidate("triton", &first,
					  "#@ kernel f grid=(n) args=(x, mid, n:i32)\n#@ tune num_warps in {4, 8} default 8\n#@ tune BLOCK in {64} default 64\n"
					  "import triton\nimport triton.language as tl\n# f is here\n@triton.jit\ndef f(x, mid, n, BLOCK: tl.constexpr):\n    pass\n");
	struct kw_candidate b = candidate("triton", &second,
					  "#@ kernel f grid=(n) args=(x, mid, y)\n#@ tune num_warps in {4, 8} default 4\nimport triton\nimport triton.language as tl\n"
					  "@triton.jit\ndef f(x, mid, y):\n    tl.store(y, 'f')\n");
	const char *text = compose(&a, &b);

	has(text, "#@ define num_warps = 8\n");
	has(text, "#@ define BLOCK_p1 = 64\n");
	has(text, "# f is here\n@triton.jit\ndef f_p1(x, mid, n, BLOCK_p1: tl.constexpr):\n");
	has(text, "def f_p2(x, mid, y):\n    tl.store(y, 'f')\n");
}

int main(void)
{
	kw_arena_init(&arena, 256 << 20);
	load(&whole, "whole", "inputs:\n  x: { dtype: f32, shape: [n, m] }\noutputs:\n  y: { dtype: f32, shape: [n, m] }\nreference:\n  expr: |\n    y = x\n");
	load(&first, "first", "inputs:\n  x: { dtype: f32, shape: [n, m] }\noutputs:\n  mid: { dtype: f32, shape: [n, m] }\nreference:\n  expr: |\n    mid = x\n");
	load(&second, "second", "inputs:\n  x: { dtype: f32, shape: [n, m] }\n  mid: { dtype: f32, shape: [n, m] }\n"
				"outputs:\n  y: { dtype: f32, shape: [n, m] }\nreference:\n  expr: |\n    y = x + mid\n");
	test_c();
	test_gpu();
	test_python();
	kw_task_release(&whole);
	kw_task_release(&first);
	kw_task_release(&second);
	kw_arena_release(&arena);
	return done();
}
