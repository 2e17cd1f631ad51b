#include "core/candidate.h"
#include "core/hardware.h"

#include "tap.h"
#include "temp.h"

static const char task_text[] =
	"name: norm\n"
	"dims: { rows: { min: 0, max: 4194304 }, cols: { min: 1, max: 131072 } }\n"
	"inputs:\n"
	"  x: { dtype: f32, shape: [rows, cols] }\n"
	"  weight: { dtype: f16, shape: [cols] }\n"
	"params: { eps: 0.5, count: { dtype: i32, value: 7 } }\n"
	"outputs: { y: { dtype: bf16, shape: [rows, cols] } }\n"
	"reference: { expr: y = x * weight }\n"
	"perf: [ { rows: 10, cols: 7 } ]\n";
static struct kw_task task;
static struct kw_arena arena;
static struct kw_error err;
static char line[2400];
static struct kw_plan plan;
static struct kw_view views[3];
static struct kw_bound_plan bound;

static enum kw_status parse(const char *text)
{
	enum kw_status s;

	kw_error_reset(&err);
	s = kw_plan_parse("k.c", text, strlen(text), &task, &arena, &plan, &err);
	kw_error_line(&err, line, sizeof(line));
	return s;
}

/* Contiguous views of the one case, aligned to 4096. */
static void make_views(int64_t rows, int64_t cols)
{
	views[0] = (struct kw_view){ KW_F32, { 2, { rows, cols } }, { 0 }, (void *)(uintptr_t)8192 };
	views[1] = (struct kw_view){ KW_F16, { 1, { cols } }, { 0 }, (void *)(uintptr_t)8192 };
	views[2] = (struct kw_view){ KW_BF16, { 2, { rows, cols } }, { 0 }, (void *)(uintptr_t)8192 };
	for (int i = 0; i < 3; i++)
		kw_shape_contiguous(&views[i].shape, views[i].stride);
}

static enum kw_status bind_at(const int64_t *tune, int64_t rows, int64_t cols)
{
	static const struct kw_hardware h = { .arch = "sm_90", .units = 4, .simd_bytes = 32 };
	struct kw_intenv_var vars[8];
	struct kw_intenv facts;
	struct kw_tune_point point = { tune, plan.tune_count };
	int64_t dims[2] = { rows, cols };
	struct kw_case c = { .dims = dims };
	enum kw_status s;

	kw_hardware_env(&h, vars, &facts);
	for (int i = 0; i < 3; i++) {
		views[i].shape.dim[0] = i == 1 ? cols : rows;
		views[i].shape.dim[1] = cols;
	}
	kw_error_reset(&err);
	s = kw_plan_bind(&plan, &task, &c, views, tune ? &point : NULL, &facts, &arena, &bound, &err);
	kw_error_line(&err, line, sizeof(line));
	return s;
}

static void test_lines(void)
{
	const struct kw_plan_kernel *k;

	is_int(parse("int before;\n"
		     "  //@ kernel first grid=(cdiv(rows, BY), cols) block=(THREADS) smem=(THREADS * 4) cluster=(2)"
		     " cooperative args=(x, y, partial, map, cols:i32, eps, eps:f64, rows * 2 + x.stride0:i64,"
		     " (cols % 8 == 0 ? 8 : 1):i32)\n"
		     "//@ kernel second pdl args = ( partial , y )\n"
		     "//@ workspace partial f32[rows, 2] zero\n"
		     "//@ tensormap map x box=(64, 32) swizzle=128\n"
		     "//@\n"
		     "//@ define VEC = cols % 8 == 0 ? 8 : 1\r\n"
		     "//@ define WIDE = VEC * 2\n"
		     "//@ tune THREADS in {128, 256, 512} default 256\n"
		     "#@ tune BY in { 4 }\n"
		     "//@ where THREADS / BY >= 32\n"
		     "//@ require sm >= 80 && x.align >= 16\n"
		     "//@ flags -ffast-math -funroll-loops\n"
		     "//@ pattern p family=f backend=c\n"
		     "//@ why because\n"
		     "call(); //@ kernel hidden args=(x)\n"), KW_OK, "every kind of line: %s", line);
	is_int((int64_t)plan.kernel_count, 2, "two kernels; one behind code is no line");
	k = &plan.kernels[0];
	is_str(k->name, "first", "in order");
	ok(k->grid_rank == 2 && k->block_rank == 1 && k->cluster_rank == 1, "ranks");
	is_str(kw_intexpr_text(k->grid[0]), "cdiv(rows, BY)", "a comma in brackets divides no list");
	is_str(kw_intexpr_text(k->smem), "(THREADS * 4)", "shared memory");
	ok(k->cooperative && !k->pdl && k->line == 2 && plan.kernels[1].pdl, "flags of a launch, and its line");
	is_int((int64_t)k->arg_count, 9, "arguments");
	ok(k->args[0].kind == KW_ARG_TENSOR && k->args[1].kind == KW_ARG_TENSOR &&
		   k->args[2].kind == KW_ARG_WORKSPACE && k->args[3].kind == KW_ARG_TENSORMAP &&
		   k->args[4].kind == KW_ARG_SCALAR && k->args[5].kind == KW_ARG_PARAM &&
		   k->args[6].kind == KW_ARG_PARAM && k->args[7].kind == KW_ARG_SCALAR, "of every kind");
	ok(k->args[5].dtype == KW_F32 && k->args[6].dtype == KW_F64 && k->args[7].dtype == KW_I64, "and type");
	is_str(kw_intexpr_text(k->args[7].expr), "rows * 2 + x.stride0", "an expression");
	is_str(kw_intexpr_text(k->args[8].expr), "(cols % 8 == 0 ? 8 : 1)", "whose ':' is not the type's");
	is_int((int64_t)plan.kernels[1].arg_count, 2, "blanks do not matter");
	ok(plan.workspace_count == 1 && plan.workspaces[0].zero && plan.workspaces[0].rank == 2 &&
		   plan.workspaces[0].dtype == KW_F32, "a workspace");
	ok(plan.tensormap_count == 1 && plan.tensormaps[0].rank == 2 &&
		   strcmp(plan.tensormaps[0].swizzle, "128") == 0, "a tensor map");
	ok(plan.define_count == 2 && plan.where_count == 1 && plan.require_count == 1, "conditions");
	ok(plan.tune_count == 2 && plan.tunes[0].value_count == 3 && plan.tunes[0].default_value == 256 &&
		   plan.tunes[1].default_value == 4, "a tune space; the first value is the default");
	ok(plan.flag_count == 2 && strcmp(plan.flags[1], "-funroll-loops") == 0, "flags");
}

/* What cuTensorMapEncodeTiled will be told, and what it would refuse. */
static void test_tensormaps(void)
{
	const struct kw_bound_map *m;

	make_views(10, 40);
	is_int(parse("//@ kernel f grid=(rows) block=(128) cooperative args=(a, b, c)\n"
		     "//@ kernel g pdl args=(a)\n"
		     "//@ workspace w bf16[rows, 4, 64]\n"
		     "//@ tune N in {32, 64}\n"
		     "//@ tensormap a x box=(8, N) swizzle=128 l2=256\n"
		     "//@ tensormap b w box=(8, 1, N) swizzle=64\n"
		     "//@ tensormap c weight box=(N * 4)\n"), KW_OK, "three maps: %s", line);
	is_int(bind_at(NULL, 10, 40), KW_OK, "bound: %s", line);
	ok(bound.applicable && bound.tensormap_count == 3, "all of them: %s", bound.why_not ? bound.why_not : "");
	m = bound.tensormaps;
	ok(m->kind == KW_ARG_TENSOR && m->index == 0 && m->dtype == KW_F32 && m->rank == 2, "of a tensor");
	ok(m->dim[0] == 10 && m->dim[1] == 40 && m->stride_bytes[0] == 160 && m->stride_bytes[1] == 4, "its layout");
	ok(m->box[0] == 8 && m->box[1] == 32 && m->swizzle_bytes == 128 && m->l2_bytes == 256 && !m->empty, "its box");
	ok(m[1].kind == KW_ARG_WORKSPACE && m[1].index == 0 && m[1].dtype == KW_BF16 && m[1].rank == 3 &&
		   m[1].stride_bytes[0] == 512 && m[1].l2_bytes == 128, "of a workspace");
	ok(m[2].index == 1 && m[2].rank == 1 && m[2].swizzle_bytes == 0, "of a vector");
	ok(bound.kernels[0].cooperative && !bound.kernels[0].pdl && bound.kernels[1].pdl, "how kernels are launched");
	ok(bound.kernels[0].args[1].kind == KW_ARG_TENSORMAP && bound.kernels[0].args[1].index == 1, "an argument");

	is_int(bind_at(NULL, 0, 40), KW_OK, "no rows: %s", line);
	ok(bound.applicable && bound.tensormaps[0].empty, "nothing to describe");
	make_views(10, 41);
	is_int(bind_at(NULL, 10, 41), KW_OK, "an odd width: %s", line);
	ok(!bound.applicable, "is not applicable");
	is_str(bound.why_not, "the tensor map a: stride0 of x is 164 bytes; it must be a multiple of 16, from 16 to 2^40",
	       "and says why");
	make_views(1, 41);
	is_int(bind_at(NULL, 1, 41), KW_OK, "one row: %s", line);
	ok(bound.applicable && bound.tensormaps[0].stride_bytes[0] == 176, "its stride does not matter");
	make_views(10, 40);
	views[0].base = (void *)(uintptr_t)8200;
	is_int(bind_at(NULL, 10, 40), KW_OK, "an odd address: %s", line);
	is_str(bound.why_not, "the tensor map a: the address of x is not aligned to 16 bytes", "likewise");
	make_views(10, 40);
	views[0].stride[1] = 2;
	is_int(bind_at(NULL, 10, 40), KW_OK, "gaps: %s", line);
	is_str(bound.why_not, "the tensor map a: stride1 of x is 2 elements; the innermost must be 1", "likewise");
	make_views(10, 40);
	views[0].stride[0] = 0;
	is_int(bind_at(NULL, 10, 40), KW_OK, "an expanded row: %s", line);
	ok(!bound.applicable && strstr(bound.why_not, "stride0 of x is 0 bytes"), "likewise: %s", bound.why_not);
	make_views(10, 40);
}

static void test_bad_boxes(void)
{
	static const struct {
		const char *map, *message;
	} cases[] = {
		{ "box=(8, 0)", "tensor map 'm': the box size '0' is 0; it must be 1 to 256" },
		{ "box=(257, 8)", "the box size '257' is 257; it must be 1 to 256" },
		{ "box=(8, 3)", "the innermost box size is 12 bytes (3 x 4); it must be a multiple of 16" },
		{ "box=(8, 64) swizzle=128", "the innermost box size is 256 bytes; with swizzle=128 it must be 128 at most" },
		{ "box=(8, 1 / (rows - 10))", "divi" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[200];

		snprintf(text, sizeof(text), "//@ kernel f args=(m)\n//@ tensormap m x %s\n", cases[i].map);
		is_int(parse(text), KW_OK, "%s is read: %s", cases[i].map, line);
		is_int(bind_at(NULL, 10, 40), KW_ERR_INPUT, "%s is refused", cases[i].map);
		ok(strstr(line, "k.c:2") && strstr(line, cases[i].message), "%.*s", (int)strcspn(line, "\n"), line);
	}
}

static void test_errors(void)
{
	static const struct {
		const char *text, *where, *message;
	} cases[] = {
		{ "int f(void);\n", "k.c: ", "has no kernel line; write one like" },
		{ "\n  //@ kernal f args=(x)\n", "k.c:2:7: ", "unknown plan line 'kernal'; did you mean 'kernel'?" },
		{ "#@ worksapce w f32[1]\n", "k.c:1:4: ", "did you mean 'workspace'?" },
		{ "//@ launch f\n", "k.c:1:5: ", "unknown plan line 'launch'; there are tune, define" },
		{ "//@ = f\n", "k.c:1:5: ", "a plan line begins with a word like 'kernel'" },
		{ "//@ kernel\n", "k.c:1:11: ", "the name of the kernel's function should follow" },
		{ "//@ kernel f\n", "k.c:1:13: ", "args=(...) is missing" },
		{ "//@ kernel f gird=(1) args=(x)\n", "k.c:1:14: ", "unknown word 'gird'; did you mean 'grid'?" },
		{ "//@ kernel f wrap args=(x)\n", "k.c:1:14: ", "grid=, block=, smem=" },
		{ "//@ kernel f args=(x) args=(y)\n", "k.c:1:23: ", "'args' is there already" },
		{ "//@ kernel f grid args=(x)\n", "k.c:1:19: ", "'=' should follow 'grid'" },
		{ "//@ kernel f grid=rows args=(x)\n", "k.c:1:19: ", "'(' should follow" },
		{ "//@ kernel f grid=() args=(x)\n", "k.c:1:19: ", "1 to 3 sizes" },
		{ "//@ kernel f grid=(1, 2, 3, 4) args=(x)\n", "k.c:1:28: ", "more than 3 entries" },
		{ "//@ kernel f args=(x\n", "k.c:1:19: ", "the ')' that closes this is missing" },
		{ "//@ kernel f args=(x, )\n", "k.c:1:22: ", "an argument is missing" },
		{ "//@ kernel f args=(x, wieght)\n", "k.c:1:23: ", "unknown argument 'wieght'; did you mean 'weight'?" },
		{ "//@ kernel f args=(x, somewhere)\n", "k.c:1:23: ", "no tensor, workspace or param of the task 'norm'" },
		{ "//@ kernel f args=(x, rows)\n", "k.c:1:23: ", "a number needs a type: write 'rows:i64'" },
		{ "//@ kernel f args=(x, rows * 2)\n", "k.c:1:23: ", "a number needs a type" },
		{ "//@ kernel f args=(x, rows:i23)\n", "k.c:1:28: ", "unknown type 'i23'; did you mean" },
		{ "//@ kernel f args=(x, rows:whatsit)\n", "k.c:1:28: ", "unknown type 'whatsit'; a number is passed as" },
		{ "//@ kernel f args=(x:f32)\n", "k.c:1:20: ", "'x' is a tensor and has its type" },
		{ "//@ kernel f args=(x, row:i64)\n", "k.c:1:23: ", "unknown name 'row'; did you mean 'rows'?" },
		{ "//@ kernel f args=(x, x.stride2:i64)\n", "k.c:1:23: ", "unknown name 'x.stride2'; did you mean 'x.stride" },
		{ "//@ kernel f args=(x, x.strides0:i64)\n", "k.c:1:23: ", "did you mean 'x.stride0'?" },
		{ "//@ kernel f args=(x, z.stride0:i64)\n", "k.c:1:23: ", "unknown name 'z.stride0'; an expression knows" },
		{ "//@ kernel f args=(x, rows +:i64)\n", "k.c:1:29: ", "ends where a value should follow" },
		{ "//@ kernel f smem=rows* args=(x)\n", "k.c:1:24: ", "ends where a value should follow" },
		{ "//@ define = 3\n", "k.c:1:12: ", "a name should follow" },
		{ "//@ define V 3\n", "k.c:1:14: ", "'= EXPRESSION' should follow" },
		{ "//@ define rows = 3\n", "k.c:1:12: ", "'rows' is a name of the task already" },
		{ "//@ define int = 3\n", "k.c:1:12: ", "'int' is reserved" },
		{ "//@ define __x = 3\n", "k.c:1:12: ", "'__x' is reserved" },
		{ "//@ define V = 3\n//@ define V = 4\n", "k.c:2:12: ", "'V' is declared already" },
		{ "//@ define V = W\n//@ define W = 4\n", "k.c:1:16: ", "unknown name 'W'" },
		{ "//@ define V = 7 / / 2\n", "k.c:1:20: ", "unexpected '/'" },
		{ "//@ tune V {1, 2}\n", "k.c:1:12: ", "'in {1, 2, 4}' should follow" },
		{ "//@ tune V in 1, 2\n", "k.c:1:15: ", "'{' should follow" },
		{ "//@ tune V in {}\n", "k.c:1:15: ", "at least one value" },
		{ "//@ tune V in {1, x}\n", "k.c:1:18: ", "a tune value must be a whole number" },
		{ "//@ tune V in {1, 2, 1}\n", "k.c:1:21: ", "the value 1 is there already" },
		{ "//@ tune V in {1, 2} defualt 2\n", "k.c:1:22: ", "'default VALUE' should follow" },
		{ "//@ tune V in {1, 2} default 3\n", "k.c:1:30: ", "the default 3 is not one of the values" },
		{ "//@ tune V in {1, 2} default two\n", "k.c:1:30: ", "must be a whole number" },
		{ "//@ workspace w f31[2]\n", "k.c:1:17: ", "unknown dtype 'f31'; did you mean 'f32'?" },
		{ "//@ workspace w f32(2)\n", "k.c:1:20: ", "'[' should follow" },
		{ "//@ workspace w f32[2] zeroed\n", "k.c:1:24: ", "only 'zero' can follow" },
		{ "//@ workspace w f32[2] zero 1\n", "k.c:1:29: ", "nothing should follow" },
		{ "//@ tensormap m z box=(1)\n", "k.c:1:17: ", "unknown tensor 'z'; did you mean 'x'?" },
		{ "//@ tensormap m whatever box=(1)\n", "k.c:1:17: ", "the task 'norm' has no 'whatever'" },
		{ "//@ tensormap m\n", "k.c:1:16: ", "the name of a tensor should follow" },
		{ "//@ tensormap m x\n", "k.c:1:18: ", "box=(...) is missing" },
		{ "//@ tensormap m x box=(1) swizzle=7\n", "k.c:1:35: ", "swizzle is none, 32, 64 or 128" },
		{ "//@ tensormap m x bax=(1)\n", "k.c:1:19: ", "box=(...), swizzle=... or l2=... should follow" },
		{ "//@ tensormap m x box=(1) box=(1)\n", "k.c:1:27: ", "'box' is there already" },
		{ "//@ tensormap m x box=()\n", "k.c:1:23: ", "1 to 5 sizes should be in the brackets" },
		{ "//@ tensormap m x box=(64)\n", "k.c:1:23: ", "'x' has 2 dims and the box has 1; give a size of 1" },
		{ "//@ tensormap m weight box=(1, 64)\n", "k.c:1:28: ", "'weight' has 1 dim and the box has 2" },
		{ "//@ tensormap m x box=(8, 8) l2=100\n", "k.c:1:33: ", "l2 is none, 64, 128 or 256" },
		{ "//@ workspace w f32[1, 2, 3, 4, 5, 6]\n//@ tensormap m w box=(8)\n", "k.c:2:17: ",
		  "'w' has 6 dims; a tensor map has at most 5" },
		{ "//@ kernel f pdl args=(x)\n", "k.c:1:14: ", "the first kernel cannot have 'pdl'" },
		{ "//@ where\n", "k.c:1:10: ", "ends where a value should follow" },
		{ "//@ require rows >= colls\n", "k.c:1:21: ", "unknown name 'colls'; did you mean 'cols'?" },
		{ "//@ flags\n", "k.c:1:10: ", "a compiler flag should follow" },
		{ "//@ flags -O2 fast\n", "k.c:1:15: ", "a compiler flag begins with '-'" },
	};
	char many[8192] = "//@ kernel f args=(x)\n";

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is_int(parse(cases[i].text), KW_ERR_INPUT, "refused, row %zu", i);
		ok(strncmp(line, cases[i].where, strlen(cases[i].where)) == 0, "at %s %.20s", cases[i].where, line);
		has_str(line, cases[i].message, "with the reason");
	}
	parse("//@ kernel f args=(x, wieght)\n");
	has_str(line, "\n    wieght\n    ^", "a caret points at it");
	for (int i = 0; i < 65; i++)
		snprintf(many + strlen(many), 64, "//@ define D%d = %d\n", i, i);
	is_int(parse(many), KW_ERR_INPUT, "65 defines are refused");
	has_str(line, "k.c:66:4: more than 64 'define' lines", "with the line");
}

static void test_bind(void)
{
	const int64_t tune[] = { 512, 8 };
	const struct kw_bound_kernel *k;

	parse("//@ kernel f grid=(cdiv(rows, BY)) block=(THREADS) smem=THREADS*4"
	      " args=(y, x, w, weight, cols:i32, eps, count, count:f64, rows:f32, VEC:u8)\n"
	      "//@ tune THREADS in {128, 256, 512} default 256\n"
	      "//@ tune BY in {4, 8}\n"
	      "//@ define VEC = cols % 7 == 0 ? BY : 1\n"
	      "//@ define FACTS = cores * 1000000 + simd_bytes * 1000 + sm\n"
	      "//@ workspace w f64[rows, BY + 1]\n");
	make_views(10, 7);
	is_int(bind_at(NULL, 10, 7), KW_OK, "with the defaults: %s", line);
	ok(bound.applicable && !bound.why_not && bound.kernel_count == 1, "it applies");
	k = &bound.kernels[0];
	ok(k->grid[0] == 3 && k->grid[1] == 1 && k->block[0] == 256 && k->smem_bytes == 1024, "sizes");
	ok(k->args[0].index == 2 && k->args[0].dtype == KW_BF16, "outputs come behind inputs");
	ok(k->args[1].index == 0 && k->args[3].index == 1, "inputs");
	ok(k->args[2].kind == KW_ARG_WORKSPACE && k->args[2].index == 0 && k->args[2].dtype == KW_F64, "workspace");
	ok(k->args[0].writable && k->args[2].writable && !k->args[1].writable && !k->args[3].writable, "what may be written");
	ok(k->args[4].i == 7 && k->args[4].dtype == KW_I32, "a number");
	ok(k->args[5].f == 0.5 && k->args[5].dtype == KW_F32 && k->args[6].i == 7 && k->args[7].f == 7.0, "params");
	ok(k->args[8].f == 10.0, "a number as a float");
	ok(bound.workspaces[0].dim[0] == 10 && bound.workspaces[0].dim[1] == 5, "the shape of a workspace");
	is_int((int64_t)bound.define_count, 4, "tune values and defines");
	ok(strcmp(bound.defines[2].name, "VEC") == 0 && bound.defines[2].value == 4, "are one list");
	is_int(bound.defines[3].value, 4032090, "with the device's facts");
	is_int(bind_at(tune, 10, 7), KW_OK, "at another point");
	ok(bound.kernels[0].grid[0] == 2 && bound.kernels[0].block[0] == 512 && bound.defines[2].value == 8,
	   "other numbers");
	is_int(bind_at(NULL, 0, 7), KW_OK, "no rows");
	is_int(bound.kernels[0].grid[0], 0, "an empty grid is allowed");
}

static void test_conditions(void)
{
	parse("//@ kernel f args=(x, y, V:i32)\n//@ define V = 100 / (cols - 7)\n//@ require V > 0\n"
	      "//@ require cols != 7\n//@ where cols < 1000\n");
	make_views(10, 7);
	is_int(bind_at(NULL, 10, 7), KW_OK, "a require keeps its define from dividing by zero: %s", line);
	ok(!bound.applicable, "it does not apply");
	is_str(bound.why_not, "require cols != 7", "and says which line");
	make_views(10, 1007);
	is_int(bind_at(NULL, 10, 1007), KW_OK, "a where too");
	is_str(bound.why_not, "where cols < 1000", "is named");
	make_views(10, 500);
	is_int(bind_at(NULL, 10, 500), KW_OK, "a require on a define");
	is_str(bound.why_not, "require V > 0", "is named");
	make_views(10, 17);
	is_int(bind_at(NULL, 10, 17), KW_OK, "all hold");
	ok(bound.applicable && bound.kernels[0].args[2].i == 10, "it applies");
	parse("//@ kernel f args=(x, y)\n//@ require x.align >= 64 && x.contiguous && weight.dim0 == 17\n");
	is_int(bind_at(NULL, 10, 17), KW_OK, "facts of a tensor");
	ok(bound.applicable, "hold");
	views[0].base = (void *)(uintptr_t)8196;
	is_int(bind_at(NULL, 10, 17), KW_OK, "a base that is not aligned");
	ok(!bound.applicable, "fails the require");
}

static void test_strides(void)
{
	parse("//@ kernel f args=(x, y)\n");
	make_views(10, 7);
	views[0].stride[0] = 9;
	is_int(bind_at(NULL, 10, 7), KW_OK, "strides that are not passed");
	ok(!bound.applicable, "must be contiguous");
	is_str(bound.why_not, "x is not contiguous and its stride0 is not passed", "and it says so");
	parse("//@ kernel f args=(x, y, x.stride0:i64)\n");
	bind_at(NULL, 10, 7);
	ok(bound.applicable && bound.kernels[0].args[2].i == 9, "a stride that is passed may be any");
	views[0].stride[1] = 2;
	bind_at(NULL, 10, 7);
	is_str(bound.why_not, "x is not contiguous and its stride1 is not passed", "but not the other one");
	parse("//@ kernel f args=(x, y, x.stride0:i64, S:i64)\n//@ define S = x.stride1\n");
	bind_at(NULL, 10, 7);
	ok(bound.applicable && bound.kernels[0].args[3].i == 2, "a define counts as passing");
	parse("//@ kernel f args=(weight, y)\n");
	bind_at(NULL, 10, 7);
	ok(bound.applicable, "a tensor that is no argument may be anything");
	parse("//@ kernel f args=(x, y)\n");
	make_views(1, 7);
	views[0].stride[0] = 9;
	bind_at(NULL, 1, 7);
	ok(bound.applicable, "the stride of a single row does not matter");
}

static void test_bind_errors(void)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "//@ kernel f grid=(rows / (cols - 7)) args=(x)\n", "k.c:1:25: division by zero in 'rows / (cols - 7)'" },
		{ "//@ kernel f grid=(rows - 11) args=(x)\n", "k.c:1: grid 'rows - 11' is -1; it must be 0 or more" },
		{ "//@ kernel f block=(rows - 10) args=(x)\n", "k.c:1: block 'rows - 10' is 0; it must be 1 or more" },
		{ "//@ kernel f smem=rows-11 args=(x)\n", "k.c:1: smem is negative" },
		{ "\n//@ kernel f args=(x, rows * 1000000000:i32)\n",
		  "k.c:2: 'rows * 1000000000' is 10000000000, which does not fit i32" },
		{ "//@ kernel f args=(x, 0 - 1:u8)\n", "is -1, which does not fit u8" },
		{ "//@ kernel f args=(x)\n//@ workspace w f32[rows - 11]\n",
		  "k.c:2: the workspace 'w' of shape [-1] is impossible" },
		{ "//@ kernel f args=(x)\n//@ define V = 1 / (rows - 10)\n", "k.c:2:18: division by zero" },
		{ "//@ kernel f args=(x)\n//@ require 1 % (rows - 10) == 0\n", "k.c:2:15: division by zero" },
	};

	make_views(10, 7);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is_int(parse(cases[i].text), KW_OK, "the lines are fine: %s", line);
		is_int(bind_at(NULL, 10, 7), KW_ERR_INPUT, "but not for this case");
		has_str(line, cases[i].message, "and why");
	}
}

static void test_space(void)
{
	parse("//@ kernel f args=(x)\n");
	is_int(kw_plan_space_size(&plan), 1, "no tune line: one point");
	parse("//@ kernel f args=(x)\n//@ tune A in {1, 2, 4, 8}\n//@ tune B in {1, 2, 3}\n");
	is_int(kw_plan_space_size(&plan), 12, "a product");
	parse("//@ kernel f args=(x)\n//@ tune A in {1, 2, 4, 8}\n//@ tune B in {1, 2, 3}\n"
	      "//@ where A * B <= 8\n//@ where 12 % B == 0 && rows > 0\n//@ where 8 / (B - 1) > 0\n");
	/* B = 1 divides by zero; A * B <= 8 leaves 1, 2, 4 for B = 2, and 1, 2 for B = 3. */
	is_int(kw_plan_space_size(&plan), 5, "what the where lines leave");
	parse("//@ kernel f args=(x)\n//@ tune A in {1,2,3,4,5,6,7,8,9,10}\n//@ tune B in {1,2,3,4,5,6,7,8,9,10}\n"
	      "//@ tune C in {1,2,3,4,5,6,7,8,9,10}\n//@ tune D in {1,2,3,4,5,6,7,8,9,10}\n"
	      "//@ tune E in {1,2,3,4,5,6,7,8,9,10}\n//@ tune F in {1,2,3,4,5,6,7,8,9,10}\n"
	      "//@ tune G in {1,2,3,4,5,6,7,8,9,10}\n//@ tune H in {1,2}\n");
	is_int(kw_plan_space_size(&plan), -1, "20 million points are too many");
}

static void test_without_task(void)
{
	size_t n;

	is_int(kw_plan_parse("k.c", "//@ kernel f args=(a, b, n * 2:i64)\n", 36, NULL, &arena, &plan, &err), KW_OK,
	       "without a task any names do");
	ok(plan.kernels[0].args[1].kind == KW_ARG_TENSOR, "and are tensors");
	is_int(kw_plan_parse("k.c", "//@ kernel f args=(n * 2)\n", 26, NULL, &arena, &plan, &err), KW_ERR_INPUT,
	       "but the form must be right");
	ok(kw_plan_keywords(&n) && n == 8, "eight keywords");
}

static void write_file(const char *path, const void *bytes, size_t n)
{
	kw_file_write(path, bytes, n, NULL);
}

static void test_candidate(void)
{
	static const char source[] = "//@ kernel f args=(x, y)\nvoid f(const float *x, void *y);\n";
	struct kw_candidate c, d;
	const char *path = temp_file("softmax_v1.c"), *big = temp_file("big.c");
	char huge_text[] = "x";
	FILE *f;

	write_file(path, source, sizeof(source) - 1);
	is_int(kw_candidate_load(&c, path, NULL, &task, &arena, &err), KW_OK, "a candidate");
	is_str(c.name, "softmax_v1.c", "its name");
	is_str(c.backend, "c", "its backend, from the ending");
	is_str(c.source, source, "its source");
	ok(strncmp(c.origin, "file:/", 6) == 0 && !c.tune_values && c.plan.kernel_count == 1, "its plan");
	is_int(kw_candidate_from_text(&d, "other.c", NULL, source, sizeof(source) - 1, &task, &arena, &err), KW_OK,
	       "the same text");
	is_str(d.sha256, c.sha256, "has the same hash under any name");
	is_int(kw_candidate_from_text(&d, "other.cl", NULL, source, sizeof(source) - 1, &task, &arena, &err), KW_OK,
	       "for another backend");
	ok(strcmp(d.sha256, c.sha256) != 0 && strcmp(d.backend, "opencl") == 0, "it is another candidate");
	is_int(kw_candidate_load(&c, "/nowhere/k.c", NULL, &task, &arena, &err), KW_ERR_NOT_FOUND, "no such file");
	has_str(err.where, "/nowhere/k.c", "is named");
	is_int(kw_candidate_load(&c, temp_dir(), "c", &task, &arena, &err), KW_ERR_INPUT, "a directory");
	is_int(kw_candidate_from_text(&c, "k.rs", NULL, source, 10, &task, &arena, &err), KW_ERR_INPUT,
	       "an ending that says nothing");
	has_str(err.text, "give --backend", "asks for the backend");
	is_int(kw_candidate_from_text(&c, "k.c", NULL, " \n\t", 3, &task, &arena, &err), KW_ERR_INPUT, "nothing");
	has_str(err.text, "is empty", "is told");
	is_int(kw_candidate_from_text(&c, "k.c", NULL, "a\nb\0c", 5, &task, &arena, &err), KW_ERR_INPUT, "a NUL");
	is_str(err.where, "k.c:2", "is told with its line");
	is_int(kw_candidate_from_text(&c, "k.c", NULL, "a\n\xc3\xa9\n\n\xff b", 8, &task, &arena, &err),
	       KW_ERR_INPUT, "bytes that are not UTF-8");
	is_str(err.where, "k.c:4", "are told with their line");
	is_int(kw_candidate_from_text(&c, "k.c", NULL, "\177ELF\2\1\1\0", 8, &task, &arena, &err), KW_ERR_INPUT,
	       "a program");
	has_str(err.text, "is a compiled program", "is called one");
	/* 100 MB that are not there: reading them would take memory and time. */
	f = fopen(big, "w");
	if (!f || ftruncate(fileno(f), 100 << 20) != 0)
		skip(2, "no room for a sparse file");
	else {
		is_int(kw_candidate_load(&c, big, NULL, &task, &arena, &err), KW_ERR_LIMIT, "100 MB are refused");
		has_str(err.text, "at most", "with the limit");
	}
	if (f)
		fclose(f);
	is_int(kw_candidate_from_text(&c, "k.c", NULL, huge_text, (5u << 20), NULL, &arena, &err), KW_ERR_LIMIT,
	       "so is a text of 5 MB, before it is looked at");
}

static int parse_scenario(void *arg)
{
	struct kw_arena a;
	struct kw_plan p;
	struct kw_error e = { 0 };
	enum kw_status s;

	kw_arena_init(&a, 16 << 20);
	s = kw_plan_parse("k.c", arg, strlen(arg), &task, &a, &p, &e);
	kw_arena_release(&a);
	return s == KW_OK ? 0 : s == KW_ERR_NOMEM && e.text[0] ? 1 : 2;
}

int main(void)
{
	static char scenario[] = "//@ kernel f args=(x, y, rows:i64)\n//@ tune V in {1, 2}\n//@ where V < 3\n";

	kw_arena_init(&arena, 256 << 20);
	if (!is_int(kw_task_parse_yaml(&task, "t.yaml", task_text, strlen(task_text), &err), KW_OK, "the task"))
		return done();
	test_lines();
	test_tensormaps();
	test_bad_boxes();
	test_errors();
	test_bind();
	test_conditions();
	test_strides();
	test_bind_errors();
	test_space();
	test_without_task();
	test_candidate();
	fails_cleanly("KW_FAIL_ALLOC", 500, parse_scenario, scenario, "parsing a plan");
	kw_task_release(&task);
	kw_arena_release(&arena);
	return done();
}
