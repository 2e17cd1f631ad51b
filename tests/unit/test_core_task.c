#include "core/task.h"

#include "tap.h"
#include "temp.h"

static struct kw_error err;
static char line[2400];

/* A whole task in which each test replaces one line. */
static const char *const base[] = {
	"name: softmax",                                                                     /* 1 */
	"dims: { rows: { min: 0, max: 1048576 }, cols: { min: 1, max: 4096, multiple: 1 } }",/* 2 */
	"inputs:",                                                                           /* 3 */
	"  x: { dtype: f16, shape: [rows, cols], dist: normal }",                            /* 4 */
	"params: { eps: { dtype: f32, value: 1e-5 } }",                                      /* 5 */
	"outputs:",                                                                          /* 6 */
	"  y: { dtype: f16, shape: [rows, cols], compare: values }",                         /* 7 */
	"reference:",                                                                        /* 8 */
	"  expr: |",                                                                         /* 9 */
	"    y = softmax(x, axis=-1)",                                                       /* 10 */
	"perf:  [ { rows: 4096, cols: 4096 } ]",                                             /* 11 */
	"check: [ { rows: 3, cols: 1000 }, { rows: 0, cols: 7, layout: { x: sliced }, large: true } ]",
	"tolerance: { rtol: 1e-3, atol: 0.5 }",                                              /* 13 */
	"precision: { allow: [tf32, bf16] }",                                                /* 14 */
	"libraries: allow",                                                                  /* 15 */
	"goal: { speedup: 1.5, sol: 0.9 }",                                                  /* 16 */
};
enum { LINES = sizeof(base) / sizeof(base[0]) };

static enum kw_status parse(struct kw_task *t, const char *text)
{
	enum kw_status s;

	kw_error_reset(&err);
	s = kw_task_parse_yaml(t, "t.yaml", text, strlen(text), &err);
	kw_error_line(&err, line, sizeof(line));
	return s;
}

/* The base with line `which` (from 1) replaced; NULL leaves it out. */
static enum kw_status parse_with(struct kw_task *t, int which, const char *replacement)
{
	char text[4096] = "";
	size_t n = 0;

	for (int i = 0; i < LINES; i++) {
		const char *l = i + 1 == which ? replacement : base[i];

		if (l)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n", l);
	}
	return parse(t, text);
}

static void test_whole(void)
{
	struct kw_task t;
	struct kw_arena a;
	struct kw_intenv env;
	struct kw_shape shape;
	struct kw_case c;
	int64_t v = 0;

	if (!is_int(parse_with(&t, 0, NULL), KW_OK, "the task of the design is read: %s", line))
		return;
	is_str(t.name, "softmax", "name");
	is_int((int64_t)t.dim_count, 2, "dims");
	ok(t.dims[0].min == 0 && t.dims[0].max == 1048576 && t.dims[1].min == 1, "ranges");
	ok(t.input_count == 1 && t.inputs[0].dtype == KW_F16 && t.inputs[0].rank == 2 &&
		   t.inputs[0].dist == KW_DIST_NORMAL && t.inputs[0].line == 4, "input");
	ok(t.param_count == 1 && t.params[0].value == 1e-5 && t.params[0].dtype == KW_F32, "param");
	ok(t.output_count == 1 && t.outputs[0].compare == KW_COMPARE_VALUES, "output");
	is_str(t.expr, "y = softmax(x, axis=-1)\n", "expression");
	ok(t.expr_line == 10 && t.expr_column == 5, "the place of the expression");
	ok(t.tol_rel == 1e-3 && t.tol_abs == 0.5, "tolerance");
	ok(t.allow_tf32 && t.allow_precision == 1u << KW_BF16, "precision");
	ok(t.libraries == KW_LIBRARIES_ALLOW && t.goal.speedup == 1.5 && t.goal.sol == 0.9, "policies");
	ok(t.case_count == 3 && t.perf_count == 1 && t.cases[0].perf && !t.cases[1].perf, "cases");
	is_str(t.cases[2].label, "rows=0 cols=7 x=sliced", "a label says sizes and layouts");
	ok(t.cases[2].large && t.cases[2].layouts[0] == KW_LAYOUT_SLICED && t.cases[2].line == 12,
	   "a large, sliced case");
	is_int((int64_t)strlen(t.sha256), 64, "a hash");
	kw_arena_init(&a, 1 << 20);
	is_int(kw_case_env(&t, &t.cases[1], &a, &env, &err), KW_OK, "a case is an environment");
	ok(kw_intenv_get(&env, "cols", &v) && v == 1000, "that knows the dims");
	is_int(kw_tensor_shape(&t.inputs[0], &env, &shape, &err), KW_OK, "and gives a shape");
	ok(shape.rank == 2 && shape.dim[0] == 3 && shape.dim[1] == 1000, "which is right");
	is_int(kw_case_make(&t, (int64_t[]){ 5, 9 }, NULL, false, &a, &c, &err), KW_OK, "an unseen case");
	is_str(c.label, "rows=5 cols=9", "has a label");
	is_int(kw_case_make(&t, (int64_t[]){ 5, 0 }, NULL, false, &a, &c, &err), KW_ERR_INPUT,
	       "one beyond the range is refused");
	has_str(err.text, "cols = 0, but the task allows 1 to 4096", "and says why");
	kw_arena_release(&a);
	kw_task_release(&t);
}

/* Other ways to say things. */
static void test_forms(void)
{
	static const char beside[] = "name: a\ninputs: { x: { dtype: f32, shape: [4] } }\n"
				     "outputs: { y: { dtype: f32, shape: [4] } }\nreference: { c: r.c }\n"
				     "perf: [ {} ]\n";
	struct kw_task t;

	is_int(parse_with(&t, 5, "params: { eps: 0.25 }"), KW_OK, "a short param");
	ok(t.params[0].value == 0.25 && t.params[0].dtype == KW_F32, "is f32");
	kw_task_release(&t);
	is_int(parse_with(&t, 6, "layout: { x: step }\noutputs:"), KW_OK, "a layout for all cases: %s", line);
	ok(t.cases[0].layouts[0] == KW_LAYOUT_STEP && t.cases[2].layouts[0] == KW_LAYOUT_SLICED,
	   "which a case can replace");
	is_str(t.cases[0].label, "rows=4096 cols=4096 x=step", "and labels tell");
	kw_task_release(&t);
	is_int(parse(&t, "name: a\ndims: { n: 16 }\ninputs: { x: { dtype: i8, shape: [n, \"cdiv(n, 3)\"] } }\n"
		     "reference: { expr: y = x }\nperf: [ {} ]\n"), KW_OK, "fixed dims, no outputs: %s", line);
	ok(t.dims[0].min == 16 && t.dims[0].max == 16 && t.cases[0].dims[0] == 16, "a fixed dim needs no size");
	ok(t.output_count == 0, "outputs can be left to the expression");
	ok(t.inputs[0].dist == KW_DIST_INTEGERS && t.inputs[0].has_range && t.inputs[0].range_lo == -127,
	   "integers have a range");
	ok(t.expr_line == 4 && t.expr_column == 20, "the place of a flow expression: %d:%d", t.expr_line,
	   t.expr_column);
	kw_task_release(&t);
	is_int(parse(&t, "name: a\ninputs: { i: { dtype: i64, shape: [], range: [0, 5 * 2] }, b: { dtype: bool, shape: "
		     "[3] } }\noutputs: { y: { dtype: i64, shape: [] } }\nreference:\n  expr: \"y = i\"\n"
		     "perf: [ {} ]\n"), KW_OK, "no dims at all: %s", line);
	is_str(t.cases[0].label, "fixed", "its case has a label");
	ok(t.inputs[0].range_hi_int && !t.inputs[0].range_lo_int && t.inputs[0].range_lo == 0,
	   "a range with an expression");
	ok(t.inputs[1].dist == KW_DIST_BERNOULLI, "bools are 0 or 1");
	ok(t.expr_line == 5 && t.expr_column == 10, "the place of a quoted expression: %d:%d", t.expr_line,
	   t.expr_column);
	kw_task_release(&t);
	is_int(parse(&t, "name: a\ninputs: { x: { dtype: f32, shape: [4] } }\nreference:\n  expr: |\n\n\n      y = x\n"
		     "perf: [ {} ]\n"), KW_OK, "an expression below empty lines: %s", line);
	ok(t.expr_line == 5 && t.expr_column == 7, "its place is the first empty line: %d:%d", t.expr_line,
	   t.expr_column);
	kw_task_release(&t);
	is_int(kw_task_parse_yaml(&t, "a/b.yaml", beside, strlen(beside), &err), KW_OK,
	       "a task with a C reference alone");
	is_str(t.reference_c, "a/r.c", "which is beside the task's file");
	kw_task_release(&t);
}

static void test_errors(void)
{
	static const struct {
		int line;
		const char *text, *where, *message;
	} cases[] = {
		{ 1, NULL, "t.yaml:1:1", "key 'name' is missing" },
		{ 1, "name: soft max", "t.yaml:1:7", "a task's name has letters" },
		{ 1, "nme: softmax", "t.yaml:1:1", "unknown key 'nme'; did you mean 'name'?" },
		{ 1, "name: [softmax", "t.yaml:3:1", "" },
		{ 1, "name: softmax\nname: softmax", "t.yaml:2:1", "duplicate key 'name'" },
		{ 1, "name: softmax\ngrad: x", "t.yaml:2:7", "must be a list of inputs, like [x]" },
		{ 1, "name: softmax\ngrad: []", "t.yaml:2:7", "must be a list of inputs" },
		{ 1, "name: softmax\ngrad: [[x]]", "t.yaml:2:8", "expected the name of an input" },
		{ 1, "name: softmax\ndevices: 2", "t.yaml:2:10", "one device" },
		{ 2, "dims: [rows, cols]", "t.yaml:2:7", "'dims' must be a map" },
		{ 2, "dims: { rows: { min: 0 }, cols: 4 }", "t.yaml:2:15", "key 'max' is missing" },
		{ 2, "dims: { rows: { min: 5, max: 4 }, cols: 4 }", "t.yaml:2:15", "'rows' goes from 5 to 4" },
		{ 2, "dims: { rows: { min: -1, max: 4 }, cols: 4 }", "t.yaml:2:15", "0 <= min <= max" },
		{ 2, "dims: { rows: { min: 5, max: 7, multiple: 8 } }", "t.yaml:2:15", "is a multiple of 8" },
		{ 2, "dims: { rows: many }", "t.yaml:2:15", "expected a whole number" },
		{ 2, "dims: { rows: { max: 4, mni: 1 } }", "t.yaml:2:25", "unknown key 'mni'; did you mean 'min'?" },
		{ 2, "dims: { 2rows: 4 }", "t.yaml:2:9", "'2rows' is no name" },
		{ 2, "dims: { double: 4 }", "t.yaml:2:9", "'double' is reserved" },
		{ 2, "dims: { r: 4 }", "t.yaml:4:28", "unknown dim 'rows'; declare it under 'dims'" },
		{ 2, "dims: { rows: 4, cols: 4, x: 4 }", "t.yaml:4:3", "'x' is the name of a dim already" },
		{ 3, "inputs: {}\nunused:", "t.yaml:", "" },
		{ 4, "  x: { dtype: f33, shape: [rows, cols] }", "t.yaml:4:15", "unknown dtype 'f33'; did you mean 'f32'?" },
		{ 4, "  x: { dtype: half, shape: [rows, cols] }", "t.yaml:4:15", "did you mean 'f16'?" },
		{ 4, "  x: { dtype: complex64, shape: [rows, cols] }", "t.yaml:4:15", "there are f64 f32 f16" },
		{ 4, "  x: { shape: [rows, cols] }", "t.yaml:4:6", "key 'dtype' is missing" },
		{ 4, "  x: { dtype: f32 }", "t.yaml:4:6", "key 'shape' is missing" },
		{ 4, "  x: { dtype: f32, shape: rows }", "t.yaml:4:27", "'shape' must be a list" },
		{ 4, "  x: { dtype: f32, shape: [rosw, cols] }", "t.yaml:4:28", "unknown dim 'rosw'; did you mean 'rows'?" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols * ] }", "t.yaml:4:40", "ends where a value should follow" },
		{ 4, "  x: { dtype: f32, shape: [cdiv(rows, 2), cols] }", "t.yaml:4:28", "cut at a comma; put the expression in quotes" },
		{ 4, "  x: { dtype: f32, shape: [1, 1, 1, 1, 1, 1, 1, 1, 1] }", "t.yaml:4:27", "at most 8" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols - 8] }", "t.yaml:12:35", "the size 'cols - 8' of 'x' is -1" },
		{ 4, "  x: { dtype: f32, shape: [rows / (cols - 7), cols] }", "t.yaml:4:33",
		  "division by zero in 'rows / (cols - 7)' (while computing the shape of 'x') (while reading the case rows=0 cols=7 x=sliced)\n" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols * 9000000000000000] }", "t.yaml:", "a result beyond 64 bits" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols * 900000000000000] }", "t.yaml:11:10", "too many elements" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], dist: nromal }", "t.yaml:4:47", "is not a distribution; did you mean 'normal'?" },
		{ 4, "  x: { dtype: i32, shape: [rows, cols], dist: normal }", "t.yaml:4:47", "for floating point types, not i32" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], dist: uniform, range: [1, 0] }", "t.yaml:4:63", "from 1 down to 0" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], range: [0, -1] }", "t.yaml:4:48", "sigma must be 0 or more" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], range: 3 }", "t.yaml:4:48", "'range' must be two numbers" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], inout: [1] }", "t.yaml:4:48", "'inout' must be true, or the name of the output" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], inout: true, strides: [cols, 1] }", "t.yaml:4:48", "does not go with 'strides'" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], inout: true }", "t.yaml:12:68", "updated in place, so it is contiguous: no case can have it sliced" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], align: 2 }", "t.yaml:4:48", "a power of two from 4 (an element of f32) to 4096" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], align: 12 }", "t.yaml:4:48", "a power of two" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], align: 8192 }", "t.yaml:4:48", "a power of two" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], strides: cols }", "t.yaml:4:50", "'strides' must be a list" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], strides: [1] }", "t.yaml:4:50", "1 strides for 2 dimensions" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], strides: [clos, 1] }", "t.yaml:4:51", "unknown dim 'clos'; did you mean 'cols'?" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], strides: [cols - 1, 1] }", "t.yaml:11:10", "they would lie over each other" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], strides: [cols, 1 - 2] }", "t.yaml:11:10", "is -1, which is negative" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], strides: [cols, 1], contiguous: true }", "t.yaml:4:61", "has 'strides', which say" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], strides: [cols, 1] }", "t.yaml:12:68", "no case can have it sliced" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], contiguous: true }", "t.yaml:12:68", "says 'contiguous: true', so no case" },
		{ 4, "  x: { dtype: f32, shape: [rows, cols], contiguous: perhaps }", "t.yaml:4:53", "must be true or false" },
		{ 12, "check: [ { rows: 1, cols: 1, layout: { x: expanded } } ]\nlayout: { x: step, z: step }", "t.yaml:13:20", "'z' is not an input" },
		{ 5, "params: { eps: { dtype: i32, value: 0.5 } }", "t.yaml:5:16", "no whole number" },
		{ 5, "params: { rows: 1 }", "t.yaml:5:11", "'rows' is the name of a dim already" },
		{ 7, "  y: { dtype: f16, shape: [rows, cols], compare: indices }", "t.yaml:7:6", "key 'indexes' is missing" },
		{ 7, "  y: { dtype: i64, shape: [rows], compare: indices, indexes: z }", "t.yaml:7:62", "there is no input 'z'" },
		{ 7, "  y: { dtype: i64, shape: [rows], compare: indices, indexes: x, axis: 2 }", "t.yaml:7:71", "'x' has no axis 2" },
		{ 7, "  y: { dtype: f32, shape: [rows], compare: indices, indexes: x }", "t.yaml:7:15", "need an integer dtype, not f32" },
		{ 7, "  y: { dtype: f32, shape: [rows], compare: valus }", "t.yaml:7:44", "did you mean 'values'?" },
		{ 7, "  x: { dtype: f16, shape: [rows, cols] }", "t.yaml:7:3", "'x' is the name of an input already" },
		{ 8, "reference: { c: f.c }\nunused:", "t.yaml:9:1", "unknown key 'unused'" },
		{ 9, "  epxr: |", "t.yaml:9:3", "unknown key 'epxr'; did you mean 'expr'?" },
		{ 10, "", "t.yaml:", "'expr' is empty" },
		{ 9, "  c: r.c\n  expr: |", "t.yaml:9:6", "an 'expr' or a 'c', not both" },
		{ 11, NULL, "t.yaml:1:1", "at least one case under 'perf'" },
		{ 11, "perf: { rows: 4096, cols: 4096 }", "t.yaml:11:7", "'perf' must be a list of cases" },
		{ 11, "perf: [ { rows: 4096 } ]", "t.yaml:11:9", "the case does not say 'cols'" },
		{ 11, "perf: [ { rows: 4096, cols: 0 } ]", "t.yaml:11:29", "cols = 0, but the task allows 1 to 4096" },
		{ 11, "perf: [ { rows: 4096, cols: 4.5 } ]", "t.yaml:11:29", "expected a whole number" },
		{ 11, "perf: [ { rows: 4096, cols: 4, clos: 4 } ]", "t.yaml:11:32", "unknown key 'clos'; did you mean 'cols'?" },
		{ 12, "check: [ { rows: 1, cols: 1, layout: { x: slcied } } ]", "t.yaml:12:43", "is not a layout; did you mean 'sliced'?" },
		{ 12, "check: [ { rows: 1, cols: 1, layout: { z: sliced } } ]", "t.yaml:12:40", "'z' is not an input" },
		{ 12, "check: [ { rows: 1, cols: 1, layout: sliced } ]", "t.yaml:12:38", "'layout' must be a map" },
		{ 12, "check: [ { rows: 1, cols: 1, large: maybe } ]", "t.yaml:12:37", "'large' must be true or false" },
		{ 13, "tolerance: { rtol: -1 }", "t.yaml:13:20", "'rtol' must be 0 or more" },
		{ 13, "tolerance: { rtol: .inf }", "t.yaml:13:20", "'rtol' must be 0 or more" },
		{ 14, "precision: { allow: [i32] }", "t.yaml:14:22", "'i32' is no floating point type or tf32" },
		{ 14, "precision: { allow: bf16 }", "t.yaml:14:21", "'allow' must be a list" },
		{ 15, "libraries: alow", "t.yaml:15:12", "did you mean 'allow'?" },
		{ 16, "goal: { speed: 2 }", "t.yaml:16:9", "unknown key 'speed'" },
		{ 16, "goal: { speedup: -2 }", "t.yaml:16:7", "must be a positive number" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kw_task t;

		if (!is_int(parse_with(&t, cases[i].line, cases[i].text), KW_ERR_INPUT, "refused: line %d, row %zu",
			    cases[i].line, i)) {
			diag("%s", line);
			kw_task_release(&t);
			continue;
		}
		ok(strncmp(line, cases[i].where, strlen(cases[i].where)) == 0, "at %s: %.40s", cases[i].where,
		   line);
		has_str(line, cases[i].message, "with the reason");
		ok(t.arena.head == NULL && t.name == NULL, "nothing is left behind");
	}
}

/* Inputs that are updated: which output goes there. */
static void test_in_place(void)
{
	static const char form[] = "name: a\ndims: { n: { max: 9 } }\ninputs:\n  x: { dtype: f32, shape: [n], inout: %s }\n  z: { dtype: f32, "
				   "shape: [n], %s }\noutputs:\n  y: { dtype: %s, shape: [%s] }\n%sreference: { expr: y = x + z }\n"
				   "perf: [ { n: 5 } ]\n";
	static const struct {
		const char *inout, *other, *dtype, *size, *more, *message;
	} bad[] = {
		{ "true", "dist: normal", "f16", "n", "", "t.yaml:4: 'x' is updated in place (inout), but 'y' is f16 and it is f32" },
		{ "true", "dist: normal", "f32", "n + 1", "", "but 'y' has shape [6] and it has [5] in the case n=5" },
		{ "q", "dist: normal", "f32", "n", "", "but there is no output 'q'" },
		{ "true", "inout: y", "f32", "n", "", "t.yaml:5: 'z' is updated in place (inout), but 'y' is written into 'x' already" },
		{ "true", "dist: normal", "f32", "n", "  w: { dtype: f32, shape: [n] }\n", "but the task has several outputs: say 'inout: NAME'" },
	};
	struct kw_task t, apart;
	struct kw_arena a;
	char text[1000];

	snprintf(text, sizeof(text), form, "w", "dist: normal", "f32", "n", "  w: { dtype: f32, shape: [n] }\n");
	if (is_int(parse(&t, text), KW_OK, "one output of two goes into x: %s", line)) {
		ok(t.inputs[0].inout && t.inputs[0].partner == 1 && !t.outputs[0].inout && t.outputs[1].inout &&
			   t.outputs[1].partner == 0, "they know of each other");
		kw_arena_init(&a, 1 << 20);
		is_int(kw_task_out_of_place(&t, &a, &apart, &err), KW_OK, "the same operation apart");
		ok(!kw_task_has_inout(&apart) && kw_task_has_inout(&t) && !apart.outputs[1].inout, "has nothing in place");
		kw_arena_release(&a);
		kw_task_release(&t);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), form, bad[i].inout, bad[i].other, bad[i].dtype, bad[i].size, bad[i].more);
		is_int(parse(&t, text), KW_ERR_INPUT, "refused in place, row %zu", i);
		has_str(line, bad[i].message, "with the reason");
	}
	is_int(kw_task_parse_line(&t, "x + z", (const char *const[]){ "x:f32[4] inout", "z:f32[4] inout=y align=16" }, 2, &err), KW_OK,
	       "words of the one-line form: %s", err.text);
	ok(t.inputs[0].inout && !t.inputs[0].updated_by && t.inputs[1].inout && strcmp(t.inputs[1].updated_by, "y") == 0 &&
		   t.inputs[1].align_bytes == 16, "say the same");
	kw_task_release(&t);
}

/* Inputs that say how they lie. */
static void test_layouts(void)
{
	static const char *const turns[] = { "rows=5 cols=6 x=sliced", "rows=5 cols=6 x=step", "rows=5 cols=6 x=transposed",
					     "rows=5 cols=6", "rows=5 cols=6 x=unaligned" };
	static const char given[] = "check: [ { rows: 5, cols: 6 }, { rows: 5, cols: 6 }, { rows: 5, cols: 6 }, { rows: 5, cols: 6 }, "
				    "{ rows: 5, cols: 6, layout: { x: unaligned } } ]";
	static const char *const one[] = { "x:f32[rows=8, cols=100] strides=[cols + max(4, 2 * 3), 1]  align=16",
					   "z:i8[4] contiguous=false", "s:f32 align=8" };
	struct kw_task t;
	struct kw_arena a;
	struct kw_intenv env;
	struct kw_shape shape;
	int64_t stride[KW_MAX_RANK];
	char text[2000];

	is_int(parse_with(&t, 12, NULL), KW_OK, "without check cases: %s", line);
	kw_task_release(&t);
	is_int(parse_with(&t, 4, "  x: { dtype: f16, shape: [rows, cols], align: 256 }"), KW_OK, "an alignment: %s", line);
	is_int(t.inputs[0].align_bytes, 256, "is kept");
	ok(kw_layout_fits(&t.inputs[0], KW_LAYOUT_STEP) && !kw_layout_fits(&t.inputs[0], KW_LAYOUT_UNALIGNED),
	   "and nothing aligned is unaligned");
	kw_task_release(&t);
	snprintf(text, sizeof(text), "name: a\ndims: { rows: { max: 9 }, cols: { max: 9 } }\ninputs:\n  x: { dtype: f32, shape: [rows, "
		 "cols], contiguous: false }\nreference: { expr: y = x }\nperf: [ { rows: 5, cols: 6 } ]\n%s\n", given);
	if (is_int(parse(&t, text), KW_OK, "an input of any layout: %s", line)) {
		is_str(t.cases[0].label, "rows=5 cols=6", "is contiguous where it is timed");
		for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++)
			is_str(t.cases[i + 1].label, turns[i], "and varies in check case %zu", i);
		ok(kw_tensor_any_strides(&t.inputs[0]), "a kernel has to know");
		kw_task_release(&t);
	}
	if (!is_int(kw_task_parse_line(&t, "x * s", one, 3, &err), KW_OK, "words of the one-line form: %s", err.text))
		return;
	ok(t.inputs[0].has_strides && t.inputs[0].align_bytes == 16 && t.inputs[2].align_bytes == 8, "strides and alignments");
	is_int((int64_t)t.inputs[1].contiguous, KW_CONTIGUOUS_NEVER_SURE, "any layout");
	kw_arena_init(&a, 1 << 20);
	is_int(kw_case_env(&t, &t.cases[0], &a, &env, &err), KW_OK, "dims");
	is_int(kw_tensor_shape(&t.inputs[0], &env, &shape, &err), KW_OK, "shape");
	is_int(kw_tensor_strides(&t.inputs[0], &env, &shape, stride, &err), KW_OK, "strides");
	ok(stride[0] == 106 && stride[1] == 1, "are those of the text: %lld %lld", (long long)stride[0], (long long)stride[1]);
	kw_arena_release(&a);
	kw_task_release(&t);
}

/* The trap of YAML: a comma in a flow map. */
static void test_half_expression(void)
{
	static const char start[] = "name: a\ninputs: { x: { dtype: f32, shape: [4] } }\nperf: [ {} ]\n";
	static const struct {
		const char *reference, *messages[2];
	} cases[] = {
		{ "reference: { expr: y = max(x, 0) }\n",
		  { "t.yaml:4:31: the expression was cut at a comma: 'y = max(x' and '0)'",
		    "\n      expr: |\n        y = max(x, 0)" } },
		{ "reference: { expr: y = softmax(x, axis=-1) }\n",
		  { "cut at a comma: 'y = softmax(x' and 'axis=-1)'", "y = softmax(x, axis=-1)" } },
		{ "reference: { expr: y = f(x, 1, 2) }\n", { "'y = f(x' and '1'", "y = f(x, 1 ..." } },
		{ "reference: { exrp: y = x }\n", { "unknown key 'exrp'", "did you mean 'expr'?" } },
	};
	struct kw_task t;
	char text[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s%s", start, cases[i].reference);
		is_int(parse(&t, text), KW_ERR_INPUT, "half an expression, row %zu", i);
		has_str(line, cases[i].messages[0], "is told");
		has_str(line, cases[i].messages[1], "with what to do");
	}
}

static void test_one_line(void)
{
	static const char *const one[] = { "x:f16[128,4096]" };
	static const char *const product[] = { "a : f32[ 64, 32 ]", "b:f32[32,1]", "s:f64" };
	static const char *const named[] = { "x:f32[rows=128,cols=4096]", "w:bf16[cols]" };
	static const struct {
		const char *input, *message;
	} bad[] = {
		{ "x", "--input 'x': expected NAME:DTYPE[SIZES]" },
		{ "x:", "--input 'x:': unknown dtype ''" },
		{ "x:f31[3]", "--input 'x:f31[3]': unknown dtype 'f31'; did you mean 'f32'?" },
		{ "x:f32[3", "the ] is missing behind '3'" },
		{ "x:f32[a]", "expected a number or NAME=NUMBER, got 'a'" },
		{ "x:f32[a=b]", "expected a whole number behind 'a'" },
		{ "x:f32[-3]", "a size cannot be negative: '-3'" },
		{ "x:f32[3,,4]", "expected a number or NAME=NUMBER, got ''" },
		{ "x:f32[a=3,a=4]", "another size for 'a'" },
		{ ":f32[3]", "expected a name before the ':'" },
		{ "x-y:f32[3]", "an input cannot be named 'x-y'" },
		{ "x:f32[9999999999999999999]", "expected a number" },
		{ "x:f32[4] stridse=[1]", "unknown word 'stridse'; did you mean 'strides'?" },
		{ "x:f32[4] fast", "expected strides=, align=, contiguous=, inout or grad behind the sizes, not 'fast'" },
		{ "x:f32[4] align", "the = is missing behind 'align'" },
		{ "x:f32[4] align=", "a value is missing or not closed behind 'align'" },
		{ "x:f32[4] strides=[1", "a value is missing or not closed behind 'strides'" },
		{ "x:f32[4] strides=1", "expected strides=[…], got '1'" },
	};
	struct kw_task t, again;

	is_int(kw_task_parse_line(&t, "softmax(x, axis=-1)", one, 1, &err), KW_OK, "the form of the design");
	is_str(t.name, "softmax", "is named after its function");
	is_str(t.expr, "softmax(x, axis=-1)", "keeps the expression");
	ok(t.expr_line == 1 && t.expr_column == 1 && strcmp(t.file, "(command line)") == 0, "at its place");
	ok(t.dim_count == 2 && t.dims[0].min == 128 && t.dims[0].max == 128, "numbers are fixed dims");
	is_str(t.cases[0].label, "n0=128 n1=4096", "that are numbered");
	is_int(kw_task_parse_yaml(&again, "(store)", t.text, strlen(t.text), &err), KW_OK, "its text reads back");
	ok(strcmp(again.sha256, t.sha256) == 0 && strcmp(again.expr, t.expr) == 0, "as the same task");
	kw_task_release(&again);
	kw_task_release(&t);
	is_int(kw_task_parse_line(&t, "  a @ b * s", product, 3, &err), KW_OK, "a product");
	is_str(t.name, "expression", "has no function's name");
	is_int((int64_t)t.dim_count, 2, "equal numbers are one dim, and 1 is none");
	is_str(kw_intexpr_text(t.inputs[1].shape[1]), "1", "1 stays 1");
	is_int(t.inputs[2].rank, 0, "an input without brackets is a scalar");
	kw_task_release(&t);
	is_int(kw_task_parse_line(&t, "x * w", named, 2, &err), KW_OK, "named sizes");
	ok(t.dims[1].min == 1 && t.dims[1].max == 4 * 4096, "are dims with a range");
	is_str(t.cases[0].label, "rows=128 cols=4096", "and their names");
	kw_task_release(&t);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		is_int(kw_task_parse_line(&t, "f(x)", &bad[i].input, 1, &err), KW_ERR_USAGE, "refused: %s",
		       bad[i].input);
		has_str(err.text, bad[i].message, "with the reason");
	}
	is_int(kw_task_parse_line(&t, " ", one, 1, &err), KW_ERR_USAGE, "an empty expression");
	is_int(kw_task_parse_line(&t, "f(x)", one, 0, &err), KW_ERR_USAGE, "no inputs");
	has_str(err.text, "--input 'x:f32[128,4096]'", "shows how");
	is_int(kw_task_parse_line(&t, "f(for)", (const char *const[]){ "for:f32[2]" }, 1, &err), KW_ERR_INPUT,
	       "a word of C as a name");
}

static void test_files(void)
{
	struct kw_task t;
	const char *path = temp_file("mine.yaml"), *garbage = temp_file("garbage.yaml");
	char text[2048];
	size_t n = 0;

	for (int i = 0; i < LINES; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\n", base[i]);
	kw_file_write(path, text, n, NULL);
	is_int(kw_task_load(&t, path, &err), KW_OK, "a path");
	is_str(t.file, path, "is where it came from");
	kw_task_release(&t);
	is_int(kw_task_load(&t, "softmax", &err), KW_OK, "a name of the library");
	is_str(t.file, "tasks/softmax.yaml", "is in tasks/");
	kw_task_release(&t);
	is_int(kw_task_load(&t, "sofmax", &err), KW_ERR_NOT_FOUND, "a typo");
	has_str(err.text, "no task 'sofmax' in the library, and no such file; did you mean 'softmax'?",
		"suggests the nearest");
	is_int(kw_task_load(&t, "zzzzzzzzzzzz", &err), KW_ERR_NOT_FOUND, "nothing near");
	has_str(err.text, "kwright task list", "says where to look");
	is_int(kw_task_load(&t, "", &err), KW_ERR_USAGE, "no name");
	is_int(kw_task_load(&t, "/nowhere/t.yaml", &err), KW_ERR_NOT_FOUND, "a file that is not there");
	has_str(err.where, "/nowhere/t.yaml", "is named");
	is_int(kw_task_load(&t, "./model.py", &err), KW_ERR_INPUT, "a Python file");
	is_int(kw_task_load(&t, "/", &err), KW_ERR_INPUT, "a directory");
	kw_file_write(garbage, "\x7f""ELF\0\1\2\3\xff\xfe", 10, NULL);
	is_int(kw_task_load(&t, garbage, &err), KW_ERR_INPUT, "binary garbage");
	has_str(err.text, "a NUL byte: this is no YAML text", "is no text");
	has_str(err.where, ":1", "from line 1 on");
	kw_file_write(garbage, "", 0, NULL);
	is_int(kw_task_load(&t, garbage, &err), KW_ERR_INPUT, "an empty file");
	has_str(err.text, "is empty", "is told");
}

static int load_scenario(void *arg)
{
	struct kw_task t;
	struct kw_error e = { 0 };
	enum kw_status s = parse_with(&t, 0, arg);

	e = err;
	if (s == KW_OK)
		kw_task_release(&t);
	return s == KW_OK ? 0 : s == KW_ERR_NOMEM && e.text[0] ? 1 : 2;
}

int main(void)
{
	test_whole();
	test_forms();
	test_errors();
	test_layouts();
	test_in_place();
	test_half_expression();
	test_one_line();
	test_files();
	fails_cleanly("KW_FAIL_ALLOC", 2000, load_scenario, NULL, "loading a task");
	return done();
}
