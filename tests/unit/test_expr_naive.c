/* The naive C of every task of the library, compiled, run and compared with the evaluator. */
#include <dlfcn.h>

#include "base/proc.h"
#include "naive_tasks.h"
#include "temp.h"

/* ---- emit ---- */

static void write_wrapper(const struct kw_plan *p, int number, struct kw_buf *out)
{
	const struct kw_plan_kernel *k = &p->kernels[0];

	kw_buf_printf(out, "void run_%d(void **t, const int64_t *n, const double *f)\n{\n\t(void)n, (void)f;\n\tnaive(", number);
	for (size_t i = 0; i < k->arg_count; i++) {
		const struct kw_plan_arg *arg = &k->args[i];
		const char *list = arg->kind == KW_ARG_SCALAR ? "n" : arg->kind == KW_ARG_PARAM ? "f" : "t";
		kw_buf_printf(out, "%s%s%s[%zu]", i ? ", " : "", arg->kind == KW_ARG_PARAM ? "(float)" : "", list, i);
	}
	kw_buf_addz(out, ");\n}\n");
}

/* Everything goes into one file, so that the header is read once; each function and its helpers get a number. */
static struct kw_buf source;

static bool emit(struct entry *en, bool openmp)
{
	static const char *const own[] = { "naive", "min", "max", "cdiv", "floor_div", "power_of", "to_odd" };
	struct kw_buf text;
	struct kw_error err = { 0 };
	int number = (int)(en - entries) * 2 + openmp;
	bool good;

	kw_buf_init(&text, 1 << 20);
	good = ok(kw_expr_emit_naive_c(en->e, openmp, &text, &err) == KW_OK, "%s%s: is emitted", en->name,
		  openmp ? " (openmp)" : "") &&
	       ok(kw_plan_parse("naive.c", text.ptr, text.len, &en->task, &en->a, &en->plan[openmp], &err) == KW_OK,
		  "%s: its plan is one", en->name);
	if (!good)
		diag("%s: %s", err.where, err.text);
	for (size_t i = 0; good && i < sizeof(own) / sizeof(*own); i++)
		kw_buf_printf(&source, "#define %s %s_%d\n", own[i], own[i], number);
	if (good) {
		kw_buf_add(&source, text.ptr, text.len);
		write_wrapper(&en->plan[openmp], number, &source);
	}
	for (size_t i = 0; good && i < sizeof(own) / sizeof(*own); i++)
		kw_buf_printf(&source, "#undef %s\n", own[i]);
	kw_buf_release(&text);
	return good;
}

static void prepare(struct entry *en)
{
	en->emitted = emit(en, false);
	en->emitted = emit(en, true) && en->emitted;
}

static void *compile(void)
{
	const char *top = getenv("KW_TOP");
	char header[4200];
	const char *argv[] = { "gcc", "-O1", "-fopenmp", "-shared", "-fPIC", "-Wall", "-Werror", "-Wno-unused-variable",
			       "-include", header, "all.c", "-lm", "-o", "all.so", NULL };
	struct kw_proc_opts o = { .timeout_ms = 300000, .max_out_bytes = 1 << 16, .cwd = temp_dir() };
	struct kw_proc_result r;
	struct kw_error err = { 0 };
	void *lib = NULL;

	snprintf(header, sizeof(header), "%s/src/backend/builtin/kw.h", top ? top : ".");
	if (kw_file_write(temp_file("all.c"), source.ptr, source.len, &err) == KW_OK &&
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
	void *p[64];
	size_t bytes[64], count;
};

static void add(struct tensors *t, enum kw_dtype d, const struct kw_shape *s, int fill_byte)
{
	size_t i = t->count++;

	t->bytes[i] = (size_t)kw_shape_count(s) * kw_dtype_bytes(d);
	t->p[i] = guarded(t->bytes[i], fill_byte);
	t->views[i] = (struct kw_view){ .dtype = d, .shape = *s, .base = t->p[i] };
	kw_shape_contiguous(s, t->views[i].stride);
}

/* An input with strides of its own: a line of as many elements as it spans, seen as the tensor. */
static void add_strided(struct tensors *t, const struct kw_tensor_decl *d, const struct kw_intenv *env, const struct kw_shape *s)
{
	struct kw_view v = { .dtype = d->dtype, .shape = *s };
	struct kw_shape line = { .rank = 1 };

	kw_tensor_strides(d, env, s, v.stride, NULL);
	line.dim[0] = kw_view_extent(&v);
	add(t, d->dtype, &line, 0xFF);
	fill(d, env, &line, t->p[t->count - 1]);
	v.base = t->p[t->count - 1];
	t->views[t->count - 1] = v;
}

/* A number of the plan; strides are those of the views. */
static int64_t number(const struct entry *en, const struct kw_intexpr *e, const struct kw_intenv *env, const struct tensors *t)
{
	struct kw_intenv_var vars[64 * KW_MAX_RANK];
	struct kw_intenv all = { .vars = vars, .next = env };
	char names[64 * KW_MAX_RANK][64];
	int64_t v = 0;

	for (size_t i = 0; i < en->task.input_count; i++)
		for (int d = 0; d < t->views[i].shape.rank; d++) {
			snprintf(names[all.count], sizeof(names[0]), "%s.stride%d", en->task.inputs[i].name, d);
			vars[all.count] = (struct kw_intenv_var){ names[all.count], t->views[i].stride[d] };
			all.count++;
		}
	kw_intexpr_eval(e, &all, &v, NULL);
	return v;
}

static void call(struct entry *en, void *lib, int which, const struct kw_intenv *env, struct tensors *t, size_t arrays)
{
	const struct kw_plan *p = &en->plan[which];
	const struct kw_plan_kernel *k = &p->kernels[0];
	void *ptr[128] = { 0 }, *sym;
	int64_t n[128] = { 0 };
	double f[128] = { 0 };
	char name[32];
	void (*run)(void **, const int64_t *, const double *);

	snprintf(name, sizeof(name), "run_%d", (int)(en - entries) * 2 + which);
	sym = dlsym(lib, name);
	memcpy(&run, &sym, sizeof(run));
	t->count = arrays;
	for (size_t i = 0; i < p->workspace_count; i++) {
		struct kw_shape s = { .rank = p->workspaces[i].rank };
		for (int r = 0; r < s.rank; r++)
			kw_intexpr_eval(p->workspaces[i].shape[r], env, &s.dim[r], NULL);
		add(t, p->workspaces[i].dtype, &s, 0xFF);
	}
	for (size_t i = 0; i < k->arg_count; i++) {
		const struct kw_plan_arg *arg = &k->args[i];
		for (size_t w = 0; arg->kind == KW_ARG_WORKSPACE && w < p->workspace_count; w++)
			if (strcmp(p->workspaces[w].name, arg->name) == 0)
				ptr[i] = t->p[arrays + w];
		for (size_t w = 0; arg->kind == KW_ARG_TENSOR && w < en->task.input_count; w++)
			if (strcmp(en->task.inputs[w].name, arg->name) == 0)
				ptr[i] = t->p[w];
		for (size_t w = 0; arg->kind == KW_ARG_TENSOR && w < en->task.output_count; w++)
			if (strcmp(en->task.outputs[w].name, arg->name) == 0)
				ptr[i] = t->p[en->task.input_count + w];
		for (size_t w = 0; arg->kind == KW_ARG_PARAM && w < en->task.param_count; w++)
			if (strcmp(en->task.params[w].name, arg->name) == 0)
				f[i] = en->task.params[w].value;
		if (arg->kind == KW_ARG_SCALAR)
			n[i] = number(en, arg->expr, env, t);
	}
	run(ptr, n, f);
}

static bool matches(struct entry *en, size_t o, const struct kw_bound *b, struct kw_eval *ev, const struct kw_view *got)
{
	int64_t start[KW_MAX_RANK] = { 0 }, n = kw_shape_count(&got->shape);
	double *want = kw_calloc((size_t)n + 1, sizeof(double)), *have = kw_calloc((size_t)n + 1, sizeof(double)), scale = 0;
	struct kw_error err = { 0 };
	bool good = kw_eval_box(ev, (int)o, start, got->shape.dim, want, &err) == KW_OK;

	if (!good)
		diag("%s: %s", en->name, err.text);
	kw_dtype_to_f64((enum kw_dtype)got->dtype, got->base, have, (size_t)n);
	for (int64_t i = 0; i < n; i++)
		scale = isfinite(want[i]) && fabs(want[i]) > scale ? fabs(want[i]) : scale;
	scale = tolerance(en, o, kw_bound_reduction(b, (int)o), scale);
	for (int64_t i = 0; i < n && good; i++) {
		good = isnan(want[i]) ? isnan(have[i]) : want[i] == have[i] || fabs(want[i] - have[i]) <= scale;
		if (!good)
			diag("%s output %zu element %lld: got %.9g, want %.9g", en->name, o, (long long)i, have[i], want[i]);
	}
	kw_free(want);
	kw_free(have);
	return good;
}

static bool try_case(struct entry *en, void *lib, const struct kw_case *c, const struct kw_bound *b, struct kw_arena *a)
{
	struct kw_intenv env;
	struct kw_error err = { 0 };
	struct tensors t = { 0 };
	struct kw_eval *ev = NULL;
	const struct kw_task *k = &en->task;
	size_t arrays = k->input_count + k->output_count;
	bool good = kw_case_env(k, c, a, &env, &err) == KW_OK;

	for (size_t i = 0; i < arrays; i++) {
		const struct kw_tensor_decl *d = i < k->input_count ? &k->inputs[i] : &k->outputs[i - k->input_count];
		struct kw_shape s;
		kw_tensor_shape(d, &env, &s, &err);
		if (d->has_strides) {
			add_strided(&t, d, &env, &s);
			continue;
		}
		add(&t, d->dtype, &s, 0xFF);
		if (i < k->input_count)
			fill(d, &env, &s, t.p[i]);
	}
	good = good && kw_eval_new(b, t.views, NULL, KW_EVAL_F64, 1, 256u << 20, &ev, &err) == KW_OK;
	for (int which = 0; which < 2 && good; which++) {
		for (size_t o = 0; o < k->output_count; o++)
			memset(t.p[k->input_count + o], 0xFF, t.bytes[k->input_count + o]);
		call(en, lib, which, &env, &t, arrays);
		for (size_t o = 0; o < k->output_count && good; o++)
			good = matches(en, o, b, ev, &t.views[k->input_count + o]);
		for (size_t i = 0; i < t.count; i++) {
			if (!guards_hold(t.p[i], t.bytes[i])) {
				diag("%s: wrote beside array %zu", en->name, i);
				good = false;
			}
		}
		while (t.count > arrays)
			release(t.p[--t.count]);
	}
	if (!good)
		diag("%s, case %s: %s", en->name, c->label, err.text);
	kw_eval_free(ev);
	while (t.count)
		release(t.p[--t.count]);
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
	ok(good && done_count > 0, "%s: right in %d cases, serial and parallel", en->name, done_count);
}

/* ---- what the text is like ---- */

static const struct entry *find(const char *name)
{
	for (size_t i = 0; i < entry_count; i++)
		if (strcmp(entries[i].name, name) == 0 && entries[i].emitted)
			return &entries[i];
	return NULL;
}

/* Nobody who writes these first takes scratch memory for them; attention takes a row of scores. */
static void test_scratch(void)
{
	static const struct { const char *name; size_t workspaces; } wanted[] = {
		{ "softmax", 0 }, { "layernorm", 0 }, { "groupnorm", 0 }, { "batchnorm_train", 0 }, { "cross_entropy", 0 },
		{ "matmul_bias_relu", 0 }, { "conv2d", 0 }, { "rope", 0 }, { "topk", 0 }, { "attention_gqa", 1 },
		{ "product", 2 }, { "conv_deep", 2 },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const struct entry *en = find(wanted[i].name);
		if (ok(en != NULL, "%s is there", wanted[i].name))
			is_int(en->plan[0].workspace_count, wanted[i].workspaces, "%s: arrays for what is in between",
			       en->name);
	}
}

static int emit_once(void *arg)
{
	const struct entry *en = arg;
	struct kw_buf text;
	struct kw_error err = { 0 };
	enum kw_status s;

	kw_buf_init(&text, 1 << 20);
	s = kw_expr_emit_naive_c(en->e, true, &text, &err);
	kw_buf_release(&text);
	return s == KW_OK ? 0 : s == KW_ERR_NOMEM || s == KW_ERR_LIMIT ? 1 : 2;
}

static void test_memory(void)
{
	static const char *const names[] = { "softmax", "attention_gqa", "moves", "product" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct entry *en = &entries[0];
		for (size_t k = 0; k < entry_count; k++)
			if (strcmp(entries[k].name, names[i]) == 0)
				en = &entries[k];
		fails_cleanly("KW_FAIL_ALLOC", 300, emit_once, en, names[i]);
	}
}

/* A buffer that is too small is told, not cut. */
static void test_limit(void)
{
	struct kw_buf text;
	struct kw_error err = { 0 };

	kw_buf_init(&text, 100);
	ok(kw_expr_emit_naive_c(entries[0].e, false, &text, &err) == KW_ERR_NOMEM, "a full buffer");
	kw_buf_release(&text);
}

/* A network of many layers needs more arrays between them than a plan may have: then there is no naive form, and no fault. */
static void test_many_workspaces(void)
{
	enum { LAYERS = KW_NAIVE_MAX_WORKSPACES + 2 };
	const char *inputs[] = { "x:f32[8,8]", "w:f32[8,8]" };
	struct kw_error err = { 0 };
	struct kw_task task;
	struct kw_expr *e = NULL;
	struct kw_arena a;
	struct kw_buf expr, text;

	kw_arena_init(&a, 64 << 20);
	kw_buf_init(&expr, 1 << 16);
	kw_buf_init(&text, 1 << 20);
	kw_buf_addz(&expr, "h0 = relu(x @ w)\n");
	for (int i = 1; i < LAYERS; i++)
		kw_buf_printf(&expr, "h%d = relu(h%d @ w)\n", i, i - 1);
	kw_buf_printf(&expr, "y = h%d", LAYERS - 1);
	if (!ok(kw_task_parse_line(&task, expr.ptr, inputs, 2, &err) == KW_OK && kw_expr_complete_task(&task, &err) == KW_OK &&
		kw_expr_parse(&task, &a, &e, &err) == KW_OK, "many layers are read"))
		diag("%s", err.text);
	if (e) {
		is_int(kw_expr_emit_naive_c(e, false, &text, &err), KW_NO, "and have no naive form in C");
		has_str(err.text, "more kernels or workspaces than a plan may have", "which is told");
		kw_buf_reset(&text);
		is_int(kw_expr_emit_naive_gpu(e, "cuda", KW_NAIVE_F64, &text, NULL, &err), KW_NO, "nor as a reference on a GPU");
	}
	kw_task_release(&task);
	kw_buf_release(&expr);
	kw_buf_release(&text);
	kw_arena_release(&a);
}

int main(void)
{
	void *lib;

	seed = 20240229;
	kw_buf_init(&source, 16u << 20);
	load_entries(prepare, true);
	if (!getenv("KW_ONLY")) {
		test_scratch();
		test_memory();
		test_limit();
		test_many_workspaces();
	}
	lib = compile();
	for (size_t i = 0; i < entry_count; i++) {
		if (lib && entries[i].emitted)
			run(&entries[i], lib);
	}
	release_entries();
	kw_buf_release(&source);
	return done();
}
