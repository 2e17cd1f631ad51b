/* The naive CUDA of every task of the library and the references for a GPU, run on the CPU in loops and compared with the
 * evaluator. */
#include <dlfcn.h>

#include "base/proc.h"
#include "naive_tasks.h"
#include "temp.h"

enum { FORMS = 3 }; /* enum kw_naive_form */
static const char *const form_names[FORMS] = { "baseline", "f64 reference", "f32 reference" };
static struct kw_naive_info infos[MAX_TASKS][FORMS];
static struct kw_buf source;

/* ---- emit ---- */

static const char *const launch_parameters = "void **t, const int64_t *n, const double *f, int64_t grid, int64_t block";

static void write_launch(const struct kw_plan_kernel *k, int of_element, const char *space, size_t number, struct kw_buf *out)
{
	kw_buf_printf(out, "extern \"C\" void launch_%s_%zu(%s)\n{\n\t(void)t, (void)n, (void)f;\n\t%s(grid, block, %s(",
		      space, number, launch_parameters, of_element > 1 ? "LAUNCH_WARPS" : "LAUNCH", k->name);
	for (size_t i = 0; i < k->arg_count; i++) {
		const struct kw_plan_arg *arg = &k->args[i];
		kw_buf_addz(out, i ? ", " : "");
		if (arg->kind == KW_ARG_SCALAR)
			kw_buf_printf(out, "n[%zu]", i);
		else if (arg->kind == KW_ARG_PARAM)
			kw_buf_printf(out, "(%s)f[%zu]", kw_dtype_info(arg->dtype)->ctype, i);
		else
			kw_buf_printf(out, "pointer{ t[%zu] }", i);
	}
	kw_buf_addz(out, "));\n}\n");
}

/* Each text in a namespace of its own; names of C functions are renamed, for they know no namespaces. */
static bool add_text(struct entry *en, int form, const struct kw_buf *text)
{
	struct kw_plan *p = &en->plan[form];
	struct kw_error err = { 0 };
	char space[32];

	snprintf(space, sizeof(space), "n%d_%d", (int)(en - entries), form);
	if (!ok(kw_plan_parse("naive.cu", text->ptr, text->len, &en->task, &en->a, p, &err) == KW_OK, "%s: its plan is one",
		en->name)) {
		diag("%s: %s", err.where, err.text);
		return false;
	}
	for (size_t i = 0; i < p->kernel_count; i++)
		kw_buf_printf(&source, "#define %s %s_%s\n", p->kernels[i].name, p->kernels[i].name, space);
	kw_buf_printf(&source, "namespace %s {\n", space);
	kw_buf_add(&source, text->ptr, text->len);
	for (size_t i = 0; i < p->kernel_count; i++)
		write_launch(&p->kernels[i], infos[en - entries][form].lanes[i], space, i, &source);
	kw_buf_addz(&source, "}\n");
	for (size_t i = 0; i < p->kernel_count; i++)
		kw_buf_printf(&source, "#undef %s\n", p->kernels[i].name);
	return true;
}

static void prepare(struct entry *en)
{
	struct kw_error err = { 0 };

	en->emitted = true;
	for (int form = 0; form < FORMS; form++) {
		struct kw_naive_info *info = &infos[en - entries][form];
		struct kw_buf text;

		kw_buf_init(&text, 1 << 20);
		if (!ok(kw_expr_emit_naive_gpu(en->e, "cuda", (enum kw_naive_form)form, &text, info, &err) == KW_OK,
			"%s: the %s is emitted", en->name, form_names[form]))
			diag("%s: %s", err.where, err.text);
		en->emitted = en->emitted && add_text(en, form, &text) && info->kernel_count == en->plan[form].kernel_count;
		kw_buf_release(&text);
	}
}

static void *compile(void)
{
	const char *top = getenv("KW_TOP");
	char header[4200], shim[4200];
	const char *argv[] = { "g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", "-Wno-unused-variable",
			       "-Wno-unused-function", "-Wno-unknown-pragmas", "-include", header, "-include", shim, "all.cpp", "-lm", "-o", "all.so",
			       NULL };
	struct kw_proc_opts o = { .timeout_ms = 600000, .max_out_bytes = 1 << 16, .cwd = temp_dir() };
	struct kw_proc_result r;
	struct kw_error err = { 0 };
	void *lib = NULL;

	snprintf(header, sizeof(header), "%s/src/backend/builtin/kw.h", top ? top : ".");
	snprintf(shim, sizeof(shim), "%s/tests/unit/cuda_on_cpu.h", top ? top : ".");
	if (kw_file_write(temp_file("all.cpp"), source.ptr, source.len, &err) == KW_OK &&
	    kw_proc_run(argv, &o, &r, &err) == KW_OK) {
		ok(r.exit_code == 0, "all of it compiles without a warning");
		if (r.exit_code != 0)
			diag("%.*s", (int)r.err.len, r.err.ptr ? r.err.ptr : "");
		else
			lib = dlopen(temp_file("all.so"), RTLD_NOW);
		kw_proc_result_release(&r);
	}
	if (!ok(lib != NULL, "and loads"))
		diag("%s", err.text);
	return lib;
}

/* ---- run ---- */

struct tensors {
	struct kw_view views[64];
	size_t bytes[64], count;
};

static void add(struct tensors *t, enum kw_dtype d, const struct kw_shape *s, int64_t elements)
{
	struct kw_view *v = &t->views[t->count];

	t->bytes[t->count++] = (size_t)elements * kw_dtype_bytes(d);
	*v = (struct kw_view){ .dtype = d, .shape = *s };
	kw_shape_contiguous(s, v->stride);
	v->base = guarded(t->bytes[t->count - 1], 0xFF);
}

/* The same numbers with the axes in the opposite order, every second place used. */
static void add_strided(struct tensors *t, const struct kw_view *plain)
{
	int64_t n = kw_shape_count(&plain->shape), step = 2, at[KW_MAX_RANK] = { 0 }, bytes;
	struct kw_view *v = &t->views[t->count];

	add(t, (enum kw_dtype)plain->dtype, &plain->shape, 2 * n);
	bytes = (int64_t)kw_dtype_bytes((enum kw_dtype)v->dtype);
	for (int i = 0; i < v->shape.rank; i++, step *= v->shape.dim[i - 1])
		v->stride[i] = step;
	for (int64_t k = 0; k < n; k++) {
		int64_t offset = 0;
		for (int i = 0; i < v->shape.rank; i++)
			offset += at[i] * v->stride[i];
		memcpy((char *)v->base + offset * bytes, (const char *)plain->base + k * bytes, (size_t)bytes);
		for (int i = v->shape.rank - 1; i >= 0 && ++at[i] == v->shape.dim[i]; i--)
			at[i] = 0;
	}
}

static void drop(struct tensors *t)
{
	while (t->count)
		release(t->views[--t->count].base);
}

struct trial {
	struct entry *en;
	int form;
	struct kw_bound_plan plan;
	struct tensors *t;               /* inputs, outputs, workspaces */
	void *lib;
};

static void launch(const struct trial *r, size_t kernel)
{
	const struct kw_bound_kernel *k = &r->plan.kernels[kernel];
	size_t arrays = r->en->task.input_count + r->en->task.output_count;
	void *ptr[128] = { 0 }, *sym;
	int64_t n[128] = { 0 };
	double f[128] = { 0 };
	char name[48];
	void (*run)(void **, const int64_t *, const double *, int64_t, int64_t);

	snprintf(name, sizeof(name), "launch_n%d_%d_%zu", (int)(r->en - entries), r->form, kernel);
	sym = dlsym(r->lib, name);
	memcpy(&run, &sym, sizeof(run));
	for (size_t i = 0; i < k->arg_count; i++) {
		const struct kw_bound_arg *a = &k->args[i];
		n[i] = a->i;
		f[i] = a->f;
		if (a->kind == KW_ARG_TENSOR || a->kind == KW_ARG_WORKSPACE)
			ptr[i] = r->t->views[(size_t)a->index + (a->kind == KW_ARG_WORKSPACE ? arrays : 0)].base;
	}
	run(ptr, n, f, k->grid[0], k->block[0]);
}

/* Elements first .. first + count of an output by the kernel that has a range, into an array that is not longer. */
static bool launch_range(struct trial *r, size_t kernel, int64_t first, int64_t count)
{
	struct kw_bound_kernel *k = &r->plan.kernels[kernel];
	struct kw_view *v = &r->t->views[r->en->task.input_count + (size_t)infos[r->en - entries][r->form].output[kernel]];
	double *whole = v->base, *part = guarded((size_t)count * sizeof(double), 0xFF);
	bool good;

	v->base = part;
	k->args[k->arg_count - 2].i = first;
	k->args[k->arg_count - 1].i = count;
	k->grid[0] = (count * infos[r->en - entries][r->form].lanes[kernel] + 255) / 256;
	launch(r, kernel);
	v->base = whole;
	good = guards_hold(part, (size_t)count * sizeof(double));
	memcpy(whole + first, part, (size_t)count * sizeof(double));
	release(part);
	return good;
}

static bool launch_all(struct trial *r)
{
	const struct kw_naive_info *info = &infos[r->en - entries][r->form];
	bool good = true;

	for (size_t k = 0; k < r->plan.kernel_count; k++) {
		const struct kw_bound_kernel *b = &r->plan.kernels[k];
		int64_t n;

		if (info->output[k] < 0) {
			launch(r, k);
			continue;
		}
		n = kw_shape_count(&r->t->views[r->en->task.input_count + (size_t)info->output[k]].shape);
		good = good && b->args[b->arg_count - 2].i == 0 && b->args[b->arg_count - 1].i == n &&
		       (b->grid[0] - 1) * b->block[0] < n * info->lanes[k] && b->grid[0] * b->block[0] >= n * info->lanes[k];
		if (!good)
			diag("%s: the range is not the whole output", r->en->name);
		good = launch_range(r, k, n / 3, n - n / 3) && launch_range(r, k, 0, n / 3) && good;
	}
	for (size_t i = 0; i < r->t->count; i++)
		if (!guards_hold(r->t->views[i].base, r->t->bytes[i])) {
			diag("%s: wrote beside array %zu", r->en->name, i);
			good = false;
		}
	return good;
}

static bool close_enough(const struct trial *r, size_t o, int64_t length, double scale, double want, double got)
{
	double error = fabs(want - got);

	if (isnan(want) || isnan(got))
		return isnan(want) && isnan(got);
	if (want == got)
		return true;
	if (r->form == KW_NAIVE_F64)
		return kw_dtype_is_float(r->en->task.outputs[o].dtype) && error <= 1e-12 * fabs(want) + 1e-15 * scale;
	return error <= tolerance(r->en, o, length, scale);
}

static bool computes_f64(const struct kw_task *t)
{
	for (size_t i = 0; i < t->input_count; i++)
		if (t->inputs[i].dtype == KW_F64)
			return true;
	return false;
}

static bool matches(struct trial *r, size_t o, const struct kw_bound *b, struct kw_eval *ev)
{
	const struct kw_view *v = &r->t->views[r->en->task.input_count + o];
	int64_t start[KW_MAX_RANK] = { 0 }, n = kw_shape_count(&v->shape);
	double *want = kw_calloc((size_t)n + 1, sizeof(double)), *have = kw_calloc((size_t)n + 1, sizeof(double)), scale = 0;
	struct kw_error err = { 0 };
	int64_t differing = 0, length = kw_bound_reduction(b, (int)o);
	bool good = kw_eval_box(ev, (int)o, start, v->shape.dim, want, &err) == KW_OK;

	kw_dtype_to_f64((enum kw_dtype)v->dtype, v->base, have, (size_t)n);
	for (int64_t i = 0; i < n; i++)
		scale = isfinite(want[i]) && fabs(want[i]) > scale ? fabs(want[i]) : scale;
	for (int64_t i = 0; i < n && good; i++) {
		good = close_enough(r, o, length, scale, want[i], have[i]);
		if (!good)
			diag("%s, %s, output %zu element %lld: got %.17g, want %.17g", r->en->name, form_names[r->form], o,
			     (long long)i, have[i], want[i]);
		differing += want[i] != have[i] && want[i] == want[i];
	}
	/* Rounded alike, in the same order; one in a thousand for the functions of another library of mathematics. */
	if (good && r->form == KW_NAIVE_F32 && !computes_f64(&r->en->task) && differing > n / 1000) {
		diag("%s: %lld of %lld elements are not those of the evaluator", r->en->name, (long long)differing,
		     (long long)n);
		good = false;
	}
	kw_free(want);
	kw_free(have);
	return good;
}

/* The arrays of a form: inputs with strides for a reference, outputs of its own dtype, workspaces. */
static bool make_arrays(struct trial *r, const struct kw_case *c, const struct tensors *inputs, const struct kw_intenv *env,
			struct kw_arena *a, struct kw_error *err)
{
	const struct kw_task *k = &r->en->task;
	struct kw_intenv facts = { 0 };

	for (size_t i = 0; i < k->input_count; i++) {
		if (r->form == KW_NAIVE_BASELINE) {
			add(r->t, (enum kw_dtype)inputs->views[i].dtype, &inputs->views[i].shape,
			    kw_shape_count(&inputs->views[i].shape));
			memcpy(r->t->views[i].base, inputs->views[i].base, r->t->bytes[i]);
		} else {
			add_strided(r->t, &inputs->views[i]);
		}
	}
	for (size_t i = 0; i < k->output_count; i++) {
		struct kw_shape s;
		kw_tensor_shape(&k->outputs[i], env, &s, err);
		add(r->t, r->form == KW_NAIVE_BASELINE ? k->outputs[i].dtype : KW_F64, &s, kw_shape_count(&s));
	}
	if (kw_plan_bind(&r->en->plan[r->form], k, c, r->t->views, NULL, &facts, a, &r->plan, err) != KW_OK ||
	    !r->plan.applicable)
		return false;
	for (size_t i = 0; i < r->en->plan[r->form].workspace_count; i++)
		add(r->t, r->en->plan[r->form].workspaces[i].dtype, &r->plan.workspaces[i],
		    kw_shape_count(&r->plan.workspaces[i]));
	return true;
}

/* "far": what a warp adds is what one thread adds, bit for bit. */
static bool adds_in_order(const struct trial *r)
{
	const struct kw_view *x = &r->t->views[0];
	bool good = infos[r->en - entries][r->form].lanes[0] == 32;

	for (int64_t i = 0; i < 3; i++) {
		float sum = 0;

		for (int64_t j = 0; j < 17; j++)
			for (int64_t k = 0; k < 301; k++)
				sum += ((const float *)x->base)[i * x->stride[0] + j * x->stride[1] + k * x->stride[2]];
		good = good && ((const double *)r->t->views[1].base)[i] == (double)(float)((double)sum / (17 * 301));
	}
	return good;
}

static bool try_form(struct trial *r, const struct kw_case *c, const struct tensors *inputs, const struct kw_bound *b,
		     const struct kw_intenv *env, struct kw_arena *a)
{
	struct kw_error err = { 0 };
	struct kw_eval *ev = NULL;
	struct tensors t = { 0 };
	enum kw_eval_mode mode = r->form == KW_NAIVE_F32 ? KW_EVAL_F32 : KW_EVAL_F64;
	bool good;

	r->t = &t;
	good = make_arrays(r, c, inputs, env, a, &err) &&
	       kw_eval_new(b, t.views, NULL, mode, 1, 256u << 20, &ev, &err) == KW_OK && launch_all(r);
	for (size_t o = 0; o < r->en->task.output_count && good; o++)
		good = matches(r, o, b, ev);
	good = good && (r->form != KW_NAIVE_F32 || strcmp(r->en->name, "far") != 0 || adds_in_order(r));
	if (!good)
		diag("%s, %s, case %s: %s", r->en->name, form_names[r->form], c->label,
		     r->plan.why_not ? r->plan.why_not : err.text);
	kw_eval_free(ev);
	drop(&t);
	return good;
}

static bool try_case(struct entry *en, void *lib, const struct kw_case *c, const struct kw_bound *b, struct kw_arena *a)
{
	struct kw_intenv env;
	struct kw_error err = { 0 };
	struct tensors inputs = { 0 };
	bool good = kw_case_env(&en->task, c, a, &env, &err) == KW_OK;

	for (size_t i = 0; i < en->task.input_count; i++) {
		struct kw_shape s;
		kw_tensor_shape(&en->task.inputs[i], &env, &s, &err);
		add(&inputs, en->task.inputs[i].dtype, &s, kw_shape_count(&s));
		fill(&en->task.inputs[i], &env, &s, inputs.views[i].base);
	}
	for (int form = 0; form < FORMS; form++) {
		struct trial r = { .en = en, .form = form, .lib = lib };
		good = good && try_form(&r, c, &inputs, b, &env, a);
	}
	drop(&inputs);
	return good;
}

static void run(struct entry *en, void *lib)
{
	int done_count = 0;
	bool good = true;

	for (size_t i = 0; i < en->task.case_count && good; i++) {
		const struct kw_case *c = &en->task.cases[i];
		struct kw_arena a;
		struct kw_bound *b = NULL;
		struct kw_error err = { 0 };

		kw_arena_init(&a, 16 << 20);
		if (kw_expr_bind(en->e, c, &a, &b, &err) != KW_OK) {
			diag("%s, case %s: %s", en->name, c->label, err.text);
			good = false;
		} else if (!c->large && small(b)) {
			good = try_case(en, lib, c, b, &a);
			done_count++;
		}
		kw_arena_release(&a);
	}
	ok(good && done_count > 0, "%s: right in %d cases, in three forms", en->name, done_count);
}

/* ---- what goes wrong ---- */

static int emit_once(void *arg)
{
	const struct entry *en = arg;
	struct kw_buf text;
	struct kw_error err = { 0 };
	enum kw_status s;

	kw_buf_init(&text, 1 << 20);
	s = kw_expr_emit_naive_gpu(en->e, "cuda", KW_NAIVE_F64, &text, NULL, &err);
	kw_buf_release(&text);
	return s == KW_OK ? 0 : s == KW_ERR_NOMEM || s == KW_ERR_LIMIT ? 1 : 2;
}

static void test_memory(void)
{
	static const char *const names[] = { "mse", "moves", "topk" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (size_t k = 0; k < entry_count; k++)
			if (strcmp(entries[k].name, names[i]) == 0)
				fails_cleanly("KW_FAIL_ALLOC", 300, emit_once, &entries[k], names[i]);
}

static enum kw_status emit_into(const struct entry *en, size_t room, const char *backend, enum kw_naive_form form,
				struct kw_error *err)
{
	struct kw_buf text;
	enum kw_status s;

	kw_buf_init(&text, room);
	s = kw_expr_emit_naive_gpu(en->e, backend, form, &text, NULL, err);
	kw_buf_release(&text);
	return s;
}

static void test_refusals(void)
{
	struct kw_error err = { 0 };

	ok(emit_into(&entries[0], 100, "cuda", KW_NAIVE_BASELINE, &err) == KW_ERR_NOMEM, "a full buffer");
	ok(emit_into(&entries[0], 1 << 20, "triton", KW_NAIVE_BASELINE, &err) == KW_NO, "another language: %s", err.text);
	ok(emit_into(&entries[0], 1 << 20, "opencl", KW_NAIVE_F64, &err) == KW_NO, "no OpenCL reference: %s", err.text);
}

/* Seventy scans that all need a kernel of their own: more lines than a plan may have. */
static void test_too_many(void)
{
	const char *inputs[] = { "x:f32[a=3,b=5]" };
	struct entry en = { 0 };
	struct kw_error err = { 0 };
	struct kw_buf expr;
	char *line;

	kw_buf_init(&expr, 1 << 16);
	for (int i = 0; i < 70; i++)
		kw_buf_printf(&expr, "%scumsum(x * %d.5, axis=0)", i ? " + " : "", i);
	line = kw_buf_take(&expr);
	kw_arena_init(&en.a, 64u << 20);
	ok(kw_task_parse_line(&en.task, line, inputs, 1, &err) == KW_OK &&
	   kw_expr_complete_task(&en.task, &err) == KW_OK && kw_expr_parse(&en.task, &en.a, &en.e, &err) == KW_OK,
	   "a task of seventy scans");
	ok(emit_into(&en, 4 << 20, "cuda", KW_NAIVE_BASELINE, &err) == KW_NO, "too many kernels: %s", err.text);
	kw_free(line);
	kw_arena_release(&en.a);
	kw_task_release(&en.task);
}

/* Thirty inputs are thirty pointers, and in a reference sixty strides. */
static void test_arguments(void)
{
	const char *inputs[30];
	char specs[30][32];
	struct entry en = { 0 };
	struct kw_error err = { 0 };
	struct kw_buf expr;
	char *line;

	kw_buf_init(&expr, 1 << 16);
	for (int i = 0; i < 30; i++) {
		snprintf(specs[i], sizeof(specs[i]), "x%d:f32[a=3,b=5]", i);
		inputs[i] = specs[i];
		kw_buf_printf(&expr, "%sx%d", i ? " + " : "", i);
	}
	line = kw_buf_take(&expr);
	kw_arena_init(&en.a, 64u << 20);
	ok(kw_task_parse_line(&en.task, line, inputs, 30, &err) == KW_OK && kw_expr_complete_task(&en.task, &err) == KW_OK &&
	   kw_expr_parse(&en.task, &en.a, &en.e, &err) == KW_OK, "a task of thirty inputs");
	ok(emit_into(&en, 4 << 20, "cuda", KW_NAIVE_BASELINE, &err) == KW_OK, "has a baseline");
	ok(emit_into(&en, 4 << 20, "cuda", KW_NAIVE_F64, &err) == KW_NO, "too many arguments: %s", err.text);
	kw_free(line);
	kw_arena_release(&en.a);
	kw_task_release(&en.task);
}

/* Numbers in the text are ints to a compiler: sizes of a large task must not overflow one. */
static void test_large(void)
{
	static const char yaml[] = "name: t\ninputs: { x: { dtype: f32, shape: [2, 65536, 65536] } }\n"
				   "outputs: { y: { dtype: f32, shape: [2, 65536, 65536] } }\nreference: { expr: 'y = flip(x, axis=1)' }\nperf: [ {} ]\n";
	struct entry en = { 0 };
	struct kw_error err = { 0 };
	struct kw_buf text;

	kw_arena_init(&en.a, 64u << 20);
	ok(kw_task_parse_yaml(&en.task, "t.yaml", yaml, sizeof(yaml) - 1, &err) == KW_OK &&
	   kw_expr_complete_task(&en.task, &err) == KW_OK && kw_expr_parse(&en.task, &en.a, &en.e, &err) == KW_OK,
	   "a task of 2^33 elements");
	for (int form = 0; form < FORMS; form++) {
		const char *body;

		kw_buf_init(&text, 1 << 20);
		ok(kw_expr_emit_naive_gpu(en.e, "cuda", (enum kw_naive_form)form, &text, NULL, &err) == KW_OK, "its %s", form_names[form]);
		body = text.ptr ? strstr(text.ptr, "extern") : NULL;
		ok(body && !strstr(body, "65536 * 65536"), "has no product that overflows");
		ok(body && strstr(body, "/ 4294967296"), "and divides by a whole plane");
		kw_buf_release(&text);
	}
	kw_arena_release(&en.a);
	kw_task_release(&en.task);
}

/* A reduction that many threads read is a kernel of its own; one that has a number for each thread is not. */
static void test_kernels(void)
{
	static const struct { const char *name; size_t kernels; } wanted[] = {
		{ "relu", 1 }, { "sum_last", 1 }, { "softmax", 3 }, { "rmsnorm", 2 }, { "variance", 1 }, { "mse", 2 },
		{ "matmul_bias_relu", 1 }, { "conv2d", 1 }, { "attention", 5 }, { "topk", 1 }, { "groupnorm", 3 },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		for (size_t k = 0; k < entry_count; k++)
			if (strcmp(entries[k].name, wanted[i].name) == 0)
				is_int(entries[k].plan[KW_NAIVE_BASELINE].kernel_count, wanted[i].kernels, "%s: kernels",
				       wanted[i].name);
}

int main(void)
{
	char gxx[PATH_MAX];
	void *lib;

	seed = 20240229;
	kw_buf_init(&source, 32u << 20);
	load_entries(prepare, true);
	if (!getenv("KW_ONLY")) {
		test_memory();
		test_refusals();
		test_too_many();
		test_arguments();
		test_kernels();
		test_large();
	}
	if (kw_proc_which("g++", gxx, sizeof(gxx))) {
		lib = compile();
		for (size_t i = 0; i < entry_count; i++)
			if (lib && entries[i].emitted)
				run(&entries[i], lib);
	} else {
		skip((int)entry_count, "no g++ here");
	}
	release_entries();
	kw_buf_release(&source);
	return done();
}
