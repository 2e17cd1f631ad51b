/* The Triton backend: kernels compiled ahead of time by the user's Triton, in the compiler's box (python/triton_compile.py), and
 * launched like any other CUDA object. What the plan does not say of a launch (threads, shared memory, scratch pointers behind the
 * arguments) is what the compiler chose, as its metadata has it and the object confirms.
 *
 * For the device `interpreter` the same kernels are compiled too, so that what a compiler refuses is refused there as well; what
 * runs is the source. */
#include "backend/triton.h"

#include "backend/cuda_object.h"
#include "backend/job.h"
#include "base/file.h"
#include "device/sandbox.h"
#include "python/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TIMEOUT_MS = 120000, MAX_OBJECT = 64 << 20, OBJECT_ALIGN = 64, MAX_USAGE = 128, SCRATCH_ALIGN = 256, LEAST_SM = 75 };

/* How Triton calls a type, as what a pointer is to and as a number. */
static const struct {
	enum kw_dtype dtype;
	const char *pointer, *number;
} types[] = {
	{ KW_F64, "*fp64", "fp64" },	 { KW_F32, "*fp32", "fp32" },	  { KW_F16, "*fp16", NULL },
	{ KW_BF16, "*bf16", NULL },	 { KW_F8E4M3, "*fp8e4nv", NULL }, { KW_F8E5M2, "*fp8e5", NULL },
	{ KW_I64, "*i64", "i64" },	 { KW_I32, "*i32", "i32" },	  { KW_I16, "*i16", "i16" },
	{ KW_I8, "*i8", "i8" },		 { KW_U8, "*u8", "u8" },	  { KW_BOOL, "*i1", "u1" },
};

struct build {
	struct kw_build_job job;
	struct kw_python_found python;
	int sm;
	bool interpreted;
	json_t *question;
	struct kw_buf code;               /* the objects, one after the other */
};

static bool fail_build(struct build *b, enum kw_subclass subclass, int line, const char *message)
{
	kw_build_reject(&b->job, kw_subclass_class(subclass), subclass, line, line > 0, message);
	return false;
}

/* ---- the plan ---- */

/* What other backends are told and this one finds out. */
static bool check_kernel(struct build *b, const struct kw_plan_kernel *k)
{
	const char *said = k->block_rank ? "block" : k->smem ? "smem" : k->cluster_rank ? "cluster" : NULL;
	char message[300];

	if (said) {
		snprintf(message, sizeof(message), "kernel '%.100s' has %s=: Triton chooses threads and shared memory; write `#@ tune "
			 "num_warps in {4, 8} default 4` instead (num_stages, num_ctas, maxnreg likewise)", k->name, said);
		return fail_build(b, KW_S_BUILD_PLAN, k->line, message);
	}
	if (!k->grid_rank) {
		snprintf(message, sizeof(message), "kernel '%.100s' has no grid=(...): it says how many programs run", k->name);
		return fail_build(b, KW_S_BUILD_PLAN, k->line, message);
	}
	for (size_t i = 0; i < k->arg_count; i++)
		if (k->args[i].kind == KW_ARG_TENSORMAP) {
			snprintf(message, sizeof(message), "kernel '%.100s' gets the tensor map '%.60s': a Triton kernel makes its own, by "
				 "tl.make_tensor_descriptor", k->name, k->args[i].name);
			return fail_build(b, KW_S_BUILD_PLAN, k->line, message);
		}
	return true;
}

static void check(void *build)
{
	struct build *b = build;
	char message[300];
	bool good = b->job.c->plan.flag_count == 0;

	if (!good) {
		snprintf(message, sizeof(message), "the flag '%.100s': Triton takes no compiler flags; num_warps, num_stages and maxnreg "
			 "are define or tune lines", b->job.c->plan.flags[0]);
		fail_build(b, KW_S_BUILD_PLAN, 0, message);
	}
	for (size_t i = 0; i < b->job.c->plan.kernel_count && good; i++)
		good = check_kernel(b, &b->job.c->plan.kernels[i]);
}

static const char *type_name(const struct kw_bound_arg *a)
{
	bool pointer = a->kind == KW_ARG_TENSOR || a->kind == KW_ARG_WORKSPACE;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].dtype == a->dtype)
			return pointer ? types[i].pointer : types[i].number;
	return NULL;
}

/* ---- the question ---- */

static json_t *describe_arg(struct build *b, const struct kw_plan_kernel *k, const struct kw_plan_arg *p, const struct kw_bound_arg *a)
{
	const char *text = !p->expr ? a->kind == KW_ARG_PARAM ? kw_arena_printf(&b->job.arena, "%s:%s", p->name, kw_dtype_name(a->dtype))
							      : p->name
				    : kw_arena_printf(&b->job.arena, "%s:%s", kw_intexpr_text(p->expr), kw_dtype_name(a->dtype));
	const char *type = type_name(a);
	char message[300];

	if (text && type)
		return json_pack("{s:s,s:s,s:b}", "text", text, "type", type, "divisible", kw_bound_arg_is_16(a));
	snprintf(message, sizeof(message), "'%.100s' of kernel '%.100s': Triton kernels cannot be given %s", text ? text : "", k->name,
		 kw_dtype_name(a->dtype));
	fail_build(b, KW_S_TYPE, k->line, message);
	return NULL;
}

static json_t *describe_kernel(struct build *b, size_t i)
{
	const struct kw_plan_kernel *p = &b->job.c->plan.kernels[i];
	const struct kw_bound_kernel *k = &b->job.bound->kernels[i];
	json_t *args = json_array();

	for (size_t j = 0; args && j < k->arg_count; j++)
		if (json_array_append_new(args, describe_arg(b, p, &p->args[j], &k->args[j])) != 0) {
			json_decref(args);
			return NULL;
		}
	return json_pack("{s:s,s:i,s:o}", "name", p->name, "line", p->line, "args", args);
}

/* Everything that the objects depend on, but the compiler. */
static enum kw_status make_question(struct build *b, struct kw_error *err)
{
	json_t *kernels = json_array(), *defines = json_object();
	bool bad = !kernels || !defines;

	for (size_t i = 0; i < b->job.bound->define_count && !bad; i++)
		bad = json_object_set_new(defines, b->job.bound->defines[i].name, json_integer(b->job.bound->defines[i].value)) != 0;
	for (size_t i = 0; i < b->job.bound->kernel_count && !bad; i++)
		bad = json_array_append_new(kernels, describe_kernel(b, i)) != 0;
	b->question = bad ? NULL : json_pack("{s:s%,s:i,s:O,s:O}", "source", b->job.c->source, b->job.c->source_len, "sm", b->sm, "kernels",
					     kernels, "defines", defines);
	json_decref(kernels);
	json_decref(defines);
	return b->question || b->job.out->cls != KW_V_OK ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "no memory for the source");
}

enum kw_status kw_triton_hash(struct kw_hasher *h, const struct kw_python_found *python, const char *file, struct kw_error *err)
{
	const char *const files[] = { "python/triton_source.py", "python/triton_compile.py", file };
	static const char *const outside[] = { "TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH" };
	struct kw_arena arena;
	enum kw_status s = KW_OK;

	kw_arena_init(&arena, 8 << 20);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && files[i] && s == KW_OK; i++) {
		char *text;
		size_t len;

		s = kw_data_read(files[i], &arena, &text, &len, err);
		if (s == KW_OK)
			kw_hasher_add(h, files[i], text, len);
	}
	kw_arena_release(&arena);
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		kw_hasher_addz(h, outside[i], getenv(outside[i]) ? getenv(outside[i]) : "");
	kw_hasher_addz(h, "triton", python->triton);
	kw_hasher_addz(h, "python", python->version);
	return s;
}

static enum kw_status add_to_key(void *build, struct kw_hasher *h, struct kw_error *err)
{
	struct build *b = build;
	struct kw_buf text;
	enum kw_status s = make_question(b, err);

	if (s != KW_OK || !b->question)
		return s;
	s = kw_triton_hash(h, &b->python, NULL, err);
	kw_hasher_addz(h, "kind", b->job.out->artefact.kind);
	kw_buf_init(&text, 64 << 20);
	if (s == KW_OK)
		s = kw_json_canonical(b->question, &text, err);
	kw_hasher_add(h, "question", text.ptr ? text.ptr : "", text.len);
	kw_buf_release(&text);
	return s;
}

/* ---- the compiler's process ---- */

enum kw_status kw_triton_start(const char *file, const char *dir, unsigned wants, struct kw_python **out, struct kw_error *err)
{
	char tmp[PATH_MAX + 8], home[PATH_MAX + 8];
	/* Its own folder is all that it may write to; no user's settings. */
	const char *env[] = { tmp, home, "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", NULL };
	struct kw_python_opts o = { .file = file, .wants = wants, .env = env, .cwd = dir };
	struct kw_python_found python;
	const char *const *read = NULL;
	struct kw_sandbox *box = NULL;
	enum kw_status s = kw_python_find(wants, &python, err);

	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", dir);
	snprintf(home, sizeof(home), "HOME=%s", dir);
	if (s == KW_OK)
		s = kw_python_folders(python.path, &read, err);
	if (s == KW_OK)
		s = kw_sandbox_compiler_new(dir, read, &box, err);
	o.before_exec = kw_sandbox_enter;
	o.before_exec_arg = box;
	if (s == KW_OK)
		s = kw_python_start(&o, out, err);
	kw_sandbox_free(box);
	return s;
}

static enum kw_status ask(struct build *b, struct kw_python_answer *a, struct kw_error *err)
{
	int timeout_ms = b->job.opts->timeout_ms ? b->job.opts->timeout_ms : DEFAULT_TIMEOUT_MS;
	struct kw_python *p = NULL;
	enum kw_status s = kw_triton_start("triton_compile", b->job.dir, KW_PYTHON_TRITON, &p, err);

	if (s == KW_OK)
		s = kw_python_ask(p, json_incref(b->question), NULL, 0, timeout_ms, a, err);
	kw_python_stop(p);
	return s;
}

/* ---- its answer ---- */

static void add_error(struct build *b, const json_t *e)
{
	const char *cls = kw_json_get_str(e, "class", "");
	enum kw_subclass sub = KW_S_SYNTAX;

	if (!kw_subclass_parse(KW_V_BUILD_ERROR, cls, &sub) && !kw_subclass_parse(KW_V_LAUNCH_ERROR, cls, &sub))
		sub = KW_S_SYNTAX;
	kw_build_reject(&b->job, kw_subclass_class(sub), sub, (int)kw_json_get_i64(e, "line", 0), (int)kw_json_get_i64(e, "column", 0),
			kw_json_get_str(e, "message", "the kernel does not compile"));
}

static void explain_end(struct build *b, const struct kw_python_answer *a)
{
	char message[440];

	if (a->end == KW_PYTHON_TIMEOUT)
		snprintf(message, sizeof(message), "Triton's compiler did not end in time and was stopped");
	else
		snprintf(message, sizeof(message), "Triton's compiler failed: %.380s", a->text);
	fail_build(b, a->end == KW_PYTHON_TIMEOUT ? KW_S_BUILD_TIMEOUT : a->end == KW_PYTHON_RAISED ? KW_S_TYPE : KW_S_BUILD_RESOURCES,
		   0, message);
}

/* What the compiler says of its launch, as far as it can be: blocks of whole warps, scratch that can be had. */
static bool take_launch(struct build *b, const json_t *one, struct kw_kernel_facts *f, int line)
{
	const json_t *hidden = json_object_get(one, "hidden");
	int64_t warps = kw_json_get_i64(one, "num_warps", 0), ctas = kw_json_get_i64(one, "num_ctas", 1);
	int64_t scratch[KW_HIDDEN_ARGS_MAX] = { 0 };
	bool fits = warps > 0 && warps <= 64 && ctas > 0 && ctas <= 16 && json_array_size(hidden) <= KW_HIDDEN_ARGS_MAX;

	for (size_t i = 0; fits && i < json_array_size(hidden); i++) {
		scratch[i] = kw_json_get_i64(json_array_get(hidden, i), "bytes", 0);
		fits = scratch[i] >= 0 && kw_json_get_i64(json_array_get(hidden, i), "align", 1) <= SCRATCH_ALIGN;
	}
	f->own_launch = true;
	f->dynamic_smem_bytes = kw_json_get_i64(one, "shared", 0);
	f->blocks_per_program = (int)ctas;
	f->hidden_args = (int)json_array_size(hidden);
	f->scratch_bytes = scratch[0];
	f->profile_bytes = scratch[1];
	if (!f->block[0]) {
		f->block[0] = 32 * warps;
		f->block[1] = f->block[2] = 1;
	}
	if (fits && f->block[0] == 32 * warps && f->block[1] == 1 && f->block[2] == 1 && f->dynamic_smem_bytes >= 0)
		return true;
	return fail_build(b, KW_S_TYPE, line, "what Triton says of the launch (warps, blocks, scratch) is not what its object says");
}

/* One kernel's object goes behind those that are there. */
static enum kw_status take_kernel(struct build *b, size_t i, const json_t *one, json_t *kernels, json_t *globals, struct kw_error *err)
{
	struct kw_cuda_usage usage[MAX_USAGE];
	struct kw_diagnostics log;
	struct kw_cuda_check check = { .job = &b->job, .usage = usage };
	const struct kw_plan_kernel *plan = &b->job.c->plan.kernels[i];
	struct kw_cubin_kernel k;
	struct kw_cubin cubin;
	json_t *own, *facts;
	char path[PATH_MAX + 32];
	enum kw_status s;
	size_t at;

	while (b->code.len % OBJECT_ALIGN && !b->code.full)
		kw_buf_addc(&b->code, '\0');
	at = b->code.len;
	snprintf(path, sizeof(path), "%s/kernel%zu.cubin", b->job.dir, i);
	s = kw_file_read(path, MAX_OBJECT, &b->code, err);
	if (s != KW_OK)
		return s;
	kw_diagnostics_init(&log, KW_CUDA_FILE, b->job.c->name);
	check.usage_count = kw_cuda_log_parse(&log, kw_json_get_str(one, "log", ""), NULL, NULL, usage, MAX_USAGE);
	kw_diagnostics_release(&log);
	if (b->code.full || !kw_cubin_open(&cubin, b->code.ptr + at, b->code.len - at))
		return kw_fail(err, KW_ERR_ENV, b->job.out->artefact.toolchain, "what the compiler made is no CUDA object");
	kw_cuda_check_undefined(&check, &cubin);
	if (b->job.out->cls != KW_V_OK || !kw_cuda_check_kernel(&check, &cubin, i, json_array_size(json_object_get(one, "hidden")), &k) ||
	    !take_launch(b, one, &k.facts, plan->line))
		return KW_OK;
	k.facts.code_offset = (int64_t)at;
	own = kw_cuda_globals(&cubin);
	facts = kw_kernel_facts_to_json(&k.facts);
	if (!own || !facts || json_array_extend(globals, own) != 0 || json_object_set(kernels, plan->name, facts) != 0)
		s = kw_fail(err, KW_ERR_NOMEM, "", "no memory for the compiled object");
	json_decref(own);
	json_decref(facts);
	return s;
}

static enum kw_status keep_code(struct build *b, json_t *kernels, json_t *globals, struct kw_error *err)
{
	struct kw_artefact *a = &b->job.out->artefact;
	struct kw_buf text;

	a->facts = json_pack("{s:s,s:O,s:I,s:O}", "arch", b->job.opts->arch, "kernels", kernels, "code_bytes", (json_int_t)b->code.len,
			     "writable_globals", globals);
	kw_buf_init(&text, 64 << 20);
	if (b->interpreted && kw_json_canonical(b->question, &text, err) != KW_OK)
		return KW_ERR_NOMEM;
	a->code_bytes = b->interpreted ? text.len : b->code.len;
	a->code = b->interpreted ? (void *)kw_buf_take(&text) : (void *)kw_buf_take(&b->code);
	return a->facts && a->code ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "no memory for the compiled object");
}

static enum kw_status take_kernels(struct build *b, const json_t *list, struct kw_error *err)
{
	json_t *kernels = json_object(), *globals = json_array();
	enum kw_status s = kernels && globals ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	if (s == KW_OK && json_array_size(list) != b->job.bound->kernel_count)
		s = kw_fail(err, KW_ERR_ENV, b->job.out->artefact.toolchain, "Triton's process gave no answer that can be used");
	for (size_t i = 0; i < b->job.bound->kernel_count && s == KW_OK && b->job.out->cls == KW_V_OK; i++)
		s = take_kernel(b, i, json_array_get(list, i), kernels, globals, err);
	if (s == KW_OK && b->job.out->cls == KW_V_OK)
		s = keep_code(b, kernels, globals, err);
	json_decref(kernels);
	json_decref(globals);
	return s;
}

static enum kw_status take_answer(struct build *b, const struct kw_python_answer *a, struct kw_error *err)
{
	const json_t *errors, *one;
	const char *unusable;
	size_t i;

	if (a->end != KW_PYTHON_ANSWERED) {
		explain_end(b, a);
		return KW_OK;
	}
	unusable = kw_json_get_str(a->json, "unusable", NULL);
	if (unusable)
		return kw_fail(err, KW_ERR_ENV, b->python.path, "%.400s", unusable);
	errors = json_object_get(a->json, "errors");
	json_array_foreach(errors, i, one) add_error(b, one);
	return b->job.out->cls == KW_V_OK ? take_kernels(b, json_object_get(a->json, "kernels"), err) : KW_OK;
}

/* ---- a build ---- */

static enum kw_status compile(void *build, struct kw_error *err)
{
	struct build *b = build;
	struct kw_python_answer a = { 0 };
	enum kw_status s = kw_temp_folder("kw-build", b->job.dir, err);

	if (s == KW_OK)
		s = ask(b, &a, err);
	if (s == KW_OK)
		s = take_answer(b, &a, err);
	kw_python_answer_release(&a);
	return s;
}

static enum kw_status check_arch(struct build *b, struct kw_error *err)
{
	if (!b->job.opts->arch || sscanf(b->job.opts->arch, "sm_%d", &b->sm) != 1)
		return kw_fail(err, KW_ERR_USAGE, "", "the Triton backend builds for NVIDIA devices (sm_...), not for '%s'",
			       b->job.opts->arch ? b->job.opts->arch : "");
	if (b->sm < LEAST_SM)
		return kw_fail(err, KW_ERR_ENV, "", "Triton does not build for %s (it does from sm_%d on)", b->job.opts->arch, LEAST_SM);
	b->interpreted = strstr(b->job.opts->arch, KW_TRITON_INTERPRETER) != NULL;
	return KW_OK;
}

static enum kw_status find(void *build, struct kw_error *err)
{
	struct build *b = build;
	struct kw_artefact *a = &b->job.out->artefact;
	enum kw_status s = check_arch(b, err);

	kw_buf_init(&b->code, MAX_OBJECT);
	if (s == KW_OK)
		s = kw_python_find(KW_PYTHON_TRITON, &b->python, err);
	if (b->interpreted)
		a->kind = "triton-source";
	snprintf(a->toolchain, sizeof(a->toolchain), "Triton %.60s", b->python.triton);
	return s;
}

static void release(void *build)
{
	struct build *b = build;

	json_decref(b->question);
	kw_buf_release(&b->code);
}

static enum kw_status build_triton(const struct kw_candidate *c, const struct kw_bound_plan *bound, const struct kw_build_opts *opts,
				   struct kw_build_result *out, struct kw_error *err)
{
	static const struct kw_build_steps steps = {
		.version = "triton 1",
		.bytes = sizeof(struct build),
		.arena_bytes = 64 << 20,
		.kind = "cubin",
		.file = KW_CUDA_FILE,
		.find = find,
		.check = check,
		.key = add_to_key,
		.compile = compile,
		.release = release,
	};

	return kw_build_run(&steps, c, bound, opts, out, err);
}

static enum kw_status probe_triton(char *text, size_t text_bytes, struct kw_error *err)
{
	struct kw_python_found found;
	enum kw_status s = kw_python_find(KW_PYTHON_TRITON, &found, err);

	if (s == KW_OK)
		snprintf(text, text_bytes, "Triton %s of Python %s (%s)", found.triton, found.version, found.path);
	return s;
}

extern const struct kw_backend kw_backend_triton;
const struct kw_backend kw_backend_triton = {
	.name = "triton",
	.language = "Triton (Python)",
	.extensions = ".py",
	.device = "nvidia",
	.checker = "interpreter",
	.per_number = true,
	.probe = probe_triton,
	.build = build_triton,
};
