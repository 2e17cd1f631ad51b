/* The CUDA backend: source to a cubin for the device's real architecture, by NVRTC in a locked-down
 * child. */
#include "backend/cuda.h"

#include "backend/cuda_object.h"
#include "backend/job.h"
#include "backend/source.h"
#include "base/alloc.h"
#include "base/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_PATH "src/backend/builtin/kw_cuda.h"
enum {
	DEFAULT_TIMEOUT_MS = 60000,
	MOST_STATIC = 48 << 10,
	MAX_OPTIONS = 128,
	MAX_USAGE = 128
};

/* Names end there; what ends in '=' takes a value. One dash only. */
static const char *const allowed[] = {
	"-use_fast_math",
	"-ftz=",
	"-prec-div=",
	"-prec-sqrt=",
	"-fmad=",
	"-extra-device-vectorization",
	"-maxrregcount=",
	"-restrict",
	"-std=c++17",
	"-std=c++20",
	"-O0",
	"-O1",
	"-O2",
	"-O3",
	"-dlcm=",
	"-dscm=",
};
enum { ALLOWED_COUNT = sizeof(allowed) / sizeof(allowed[0]) };

const char *const *kw_cuda_flags_allowed(size_t *count)
{
	*count = ALLOWED_COUNT;
	return allowed;
}

/* One build's own things; strings live in the arena. */
struct build {
	struct kw_build_job job;
	struct kw_cuda_toolkit kit;
	const char *options[MAX_OPTIONS]; /* NULL-terminated */
	size_t option_count;
	struct kw_cuda_usage usage[MAX_USAGE];
	size_t usage_count;
};

/* ---- before the compiler ---- */

/* A CUDA launch has a grid and a block; one thread is never what was meant. */
static void check_launches(struct build *b)
{
	char message[300];

	for (size_t i = 0; i < b->job.c->plan.kernel_count; i++) {
		const struct kw_plan_kernel *k = &b->job.c->plan.kernels[i];

		if (k->grid_rank && k->block_rank)
			continue;
		snprintf(message, sizeof(message),
			 "kernel '%.100s' has no %s=(...); CUDA launches need both grid and block",
			 k->name, k->grid_rank ? "block" : "grid");
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, k->line, 1, message);
		return;
	}
}

static void check(void *build)
{
	struct build *b = build;
	struct kw_source_fault f;

	if (kw_source_flags(b->job.c, allowed, ALLOWED_COUNT, &f) && kw_source_includes(b->job.c, &f) &&
	    kw_source_host_code(b->job.c, &f))
		check_launches(b);
	else
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, f.cls, f.line, f.column, f.message);
}

static void add_option(struct build *b, const char *option)
{
	if (option && b->option_count < MAX_OPTIONS - 1)
		b->options[b->option_count++] = option;
}

/* A flag of the plan as the compilers have it: two of them are the assembler's. */
static const char *flag_option(struct build *b, const char *flag)
{
	if (strncmp(flag, "-O", 2) == 0 || strncmp(flag, "-dlcm=", 6) == 0 ||
	    strncmp(flag, "-dscm=", 6) == 0)
		return kw_arena_printf(&b->job.arena, "--ptxas-options=%s", flag);
	return flag;
}

static bool sets_standard(const struct kw_plan *p)
{
	for (size_t i = 0; i < p->flag_count; i++)
		if (strncmp(p->flags[i], "-std=", 5) == 0)
			return true;
	return false;
}

static void choose_options(struct build *b)
{
	add_option(b, kw_arena_printf(&b->job.arena, "--gpu-architecture=%s", b->job.opts->arch));
	if (!sets_standard(&b->job.c->plan))
		add_option(b, "-std=c++17");
	add_option(b, "-default-device");
	add_option(b, "-device-int128");
	add_option(b, "-lineinfo");
	add_option(b, "--ptxas-options=-v");
	for (size_t i = 0; i < 2; i++)
		if (b->kit.include[i][0])
			add_option(b, kw_arena_printf(&b->job.arena, "-I%s", b->kit.include[i]));
	add_option(b, "-include=kw.h");
	/* Each of the two headers costs 20 ms, a small kernel 20 too. */
	if (strstr(b->job.c->source, "bf16") || strstr(b->job.c->source, "bfloat"))
		add_option(b, "-DKW_USES_BF16");
	if (strstr(b->job.c->source, "f8") || strstr(b->job.c->source, "fp8"))
		add_option(b, "-DKW_USES_F8");
	for (size_t i = 0; i < b->job.c->plan.flag_count; i++)
		add_option(b, flag_option(b, b->job.c->plan.flags[i]));
	for (size_t i = 0; i < 8 && b->job.opts->extra_flags[i]; i++)
		add_option(b, b->job.opts->extra_flags[i]);
	for (size_t i = 0; i < b->job.bound->define_count; i++)
		add_option(b, kw_build_define(&b->job, i));
}

static enum kw_status add_to_key(void *build, struct kw_hasher *h, struct kw_error *err)
{
	struct build *b = build;

	(void)err;
	choose_options(b);
	kw_hasher_addz(h, "toolchain", b->kit.identity);
	for (size_t i = 0; i < kw_cuda_header_count(); i++) {
		const char *name, *text;

		kw_cuda_header(i, &name, &text);
		kw_hasher_addz(h, name, text);
	}
	for (size_t i = 0; i < b->option_count; i++)
		kw_hasher_addz(h, "option", b->options[i]);
	for (size_t i = 0; i < b->job.bound->kernel_count; i++)
		kw_hasher_addz(h, "kernel", b->job.bound->kernels[i].name);
	return KW_OK;
}

/* "sm_90a" is 90. What this compiler cannot build for is no fault of the candidate. */
static enum kw_status check_arch(const struct build *b, struct kw_error *err)
{
	int sm = 0, least = 0, most = 0;
	bool known = b->kit.arch_count == 0;

	if (!b->job.opts->arch || sscanf(b->job.opts->arch, "sm_%d", &sm) != 1)
		return kw_fail(err, KW_ERR_USAGE, "",
			       "the CUDA backend builds for NVIDIA devices (sm_...), not for '%s'",
			       b->job.opts->arch ? b->job.opts->arch : "");
	for (size_t i = 0; i < b->kit.arch_count; i++) {
		known = known || b->kit.archs[i] == sm;
		least = least && least < b->kit.archs[i] ? least : b->kit.archs[i];
		most = most > b->kit.archs[i] ? most : b->kit.archs[i];
	}
	if (known)
		return KW_OK;
	return kw_fail(err, KW_ERR_ENV, "",
		       "%s does not build for %s (it does for sm_%d to sm_%d): install %s CUDA toolkit, or "
		       "name its folder in KWRIGHT_CUDA",
		       b->kit.version, b->job.opts->arch, least, most, sm < least ? "an older" : "a newer");
}

/* ---- a build that failed ---- */

static const struct kw_plan_kernel *plan_kernel(const struct build *b, const char *name)
{
	for (size_t i = 0; i < b->job.c->plan.kernel_count; i++)
		if (strcmp(b->job.c->plan.kernels[i].name, name) == 0)
			return &b->job.c->plan.kernels[i];
	return NULL;
}

/* NVRTC keeps some of its assembler's last words: when a kernel declares too much shared or
 * constant memory. */
static void explain_silence(struct build *b, const struct kw_cuda_output *o)
{
	const struct kw_cuda_usage *most = NULL;
	const struct kw_plan_kernel *k;
	char message[400];

	for (size_t i = 0; i < b->usage_count; i++)
		if (!most || b->usage[i].smem_bytes > most->smem_bytes)
			most = &b->usage[i];
	most = most && most->smem_bytes > MOST_STATIC ? most : NULL;
	k = most ? plan_kernel(b, most->symbol) : NULL;
	if (most)
		snprintf(message, sizeof(message),
			 "kernel '%.100s' declares %lld bytes of shared memory, more than a block "
			 "can "
			 "have. Make it smaller, or take it from `extern __shared__` and give its "
			 "size as smem= in the plan",
			 most->symbol, (long long)most->smem_bytes);
	else if (b->usage_count)
		snprintf(message, sizeof(message),
			 "the assembler made no object and gave no reason; it does so when more "
			 "than "
			 "64 KiB of __constant__ memory are declared");
	else
		snprintf(message, sizeof(message),
			 "the compiler made no object and gave no reason: %.200s", o->what);
	kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, k ? k->line : 0, k ? 1 : 0, message);
}

static bool is_toolkit_header(const struct build *b, const char *file)
{
	size_t n = strlen(b->kit.include[0]);

	return n && strncmp(file, b->kit.include[0], n) == 0 && file[n] == '/';
}

/* The toolkit's own headers are not there, or one of them lacks another: that is the machine's fault. Only the first error
 * is the cause; dozens follow. */
static enum kw_status check_headers(const struct build *b, struct kw_error *err)
{
	const struct kw_diagnostic *first = NULL;

	for (size_t i = 0; i < b->job.diags.count && !first; i++)
		first = b->job.diags.list[i].severity == KW_ERROR ? &b->job.diags.list[i] : NULL;
	if (first && is_toolkit_header(b, first->file) &&
	    (first->cls == KW_S_INCLUDE || strstr(first->message, "NV_IF_") || strstr(first->message, "NV_IS_") ||
	     strstr(first->message, "NV_PROVIDES_")))
		return kw_fail(err, KW_ERR_ENV, first->file,
			       "a header of CUDA lacks another one (%.150s): install CCCL (libcu++) of the same toolkit, or "
			       "name a whole toolkit's folder in KWRIGHT_CUDA",
			       first->message);
	for (size_t i = 0; i < b->job.diags.count && !b->kit.include[0][0]; i++)
		if (b->job.diags.list[i].cls == KW_S_INCLUDE &&
		    strstr(b->job.diags.list[i].message, "cuda"))
			return kw_fail(err, KW_ERR_ENV, b->kit.nvrtc,
				       "CUDA's headers are missing (%.150s): install them (CUDA "
				       "runtime development files and CCCL), or name the toolkit's "
				       "folder in KWRIGHT_CUDA",
				       b->job.diags.list[i].message);
	return KW_OK;
}

static void explain_end(struct build *b, const struct kw_cuda_output *o, int timeout_ms)
{
	char message[200];

	if (o->timed_out) {
		snprintf(message, sizeof(message),
			 "the compiler did not end within %.1f s and was stopped",
			 (double)timeout_ms * 1e-3);
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_TIMEOUT, 0, 0, message);
	} else if (o->signal) {
		snprintf(message, sizeof(message), "the compiler was ended by signal %d (%s)",
			 o->signal,
			 o->signal == SIGKILL || o->signal == SIGXCPU ? "it took more than it may"
								      : "it crashed");
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 0, 0, message);
	} else if (kw_diagnostics_has_error(&b->job.diags)) {
		b->job.out->cls = KW_V_BUILD_ERROR;
		b->job.out->subclass = kw_diagnostics_class(&b->job.diags);
	} else {
		explain_silence(b, o);
	}
}

/* ---- the object ---- */

/* Each kernel of the plan, by its plain name. */
static json_t *kernel_facts(struct kw_cuda_check *check, const struct kw_cubin *cubin)
{
	json_t *kernels = json_object();

	for (size_t i = 0; kernels && i < check->job->bound->kernel_count && check->job->out->cls == KW_V_OK; i++) {
		struct kw_cubin_kernel k;

		if (kw_cuda_check_kernel(check, cubin, i, 0, &k) &&
		    json_object_set_new(kernels, check->job->bound->kernels[i].name, kw_kernel_facts_to_json(&k.facts)) != 0) {
			json_decref(kernels);
			kernels = NULL;
		}
	}
	return kernels;
}

static enum kw_status read_object(struct build *b, const struct kw_cuda_output *o,
				  struct kw_error *err)
{
	struct kw_cuda_check check = { .job = &b->job, .usage = b->usage, .usage_count = b->usage_count };
	struct kw_artefact *a = &b->job.out->artefact;
	struct kw_cubin cubin;
	json_t *kernels, *list;

	if (!kw_cubin_open(&cubin, o->cubin, o->cubin_bytes))
		return kw_fail(err, KW_ERR_ENV, b->kit.version,
			       "what the compiler made is no CUDA object");
	kw_cuda_check_undefined(&check, &cubin);
	if (b->job.out->cls != KW_V_OK)
		return KW_OK;
	kernels = kernel_facts(&check, &cubin);
	if (b->job.out->cls != KW_V_OK) {
		json_decref(kernels);
		return KW_OK;
	}
	list = kw_cuda_globals(&cubin);
	a->facts = kernels && list
			   ? json_pack("{s:s,s:O,s:I,s:I,s:I,s:O}", "arch", b->job.opts->arch,
				       "kernels", kernels, "code_bytes",
				       (json_int_t)cubin.code_bytes, "constant_bytes",
				       (json_int_t)cubin.constant_bytes, "writable_bytes",
				       (json_int_t)cubin.writable_bytes, "writable_globals", list)
			   : NULL;
	json_decref(kernels);
	json_decref(list);
	a->code = kw_alloc(o->cubin_bytes);
	if (!a->facts || !a->code)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the compiled object");
	memcpy(a->code, o->cubin, o->cubin_bytes);
	a->code_bytes = o->cubin_bytes;
	return KW_OK;
}

/* ---- a build ---- */

static enum kw_status find(void *build, struct kw_error *err)
{
	struct build *b = build;
	enum kw_status s = kw_cuda_find(b->job.opts->compiler, &b->kit, err);

	snprintf(b->job.out->artefact.toolchain, sizeof(b->job.out->artefact.toolchain), "%s", b->kit.version);
	return s == KW_OK ? check_arch(b, err) : s;
}

static enum kw_status compile(void *build, struct kw_error *err)
{
	struct build *b = build;
	struct kw_cuda_input in = { .kit = &b->kit,
				    .source = b->job.c->source,
				    .source_len = b->job.c->source_len,
				    .header = b->job.header,
				    .options = b->options };
	struct kw_cuda_output o = { .good = false };
	enum kw_status s;

	in.timeout_ms = b->job.opts->timeout_ms ? b->job.opts->timeout_ms : DEFAULT_TIMEOUT_MS;
	s = b->kit.nvrtc[0] ? kw_nvrtc_compile(&in, &o, err) : kw_nvcc_compile(&in, &o, err);
	if (s == KW_OK) {
		b->usage_count =
			kw_cuda_log_parse(&b->job.diags, o.log, b->job.c->source, &b->kit, b->usage,
						   MAX_USAGE);
		s = check_headers(b, err);
	}
	if (s == KW_OK && !o.good)
		explain_end(b, &o, in.timeout_ms);
	else if (s == KW_OK)
		s = read_object(b, &o, err);
	kw_cuda_output_release(&o);
	return s;
}

static enum kw_status build_cuda(const struct kw_candidate *c, const struct kw_bound_plan *bound, const struct kw_build_opts *opts,
				 struct kw_build_result *out, struct kw_error *err)
{
	static const struct kw_build_steps steps = {
		.version = "cuda 1",
		.bytes = sizeof(struct build),
		.arena_bytes = 16 << 20,
		.kind = "cubin",
		.file = KW_CUDA_FILE,
		.header = HEADER_PATH,
		.find = find,
		.check = check,
		.key = add_to_key,
		.compile = compile,
	};

	return kw_build_run(&steps, c, bound, opts, out, err);
}

static enum kw_status probe_cuda(char *text, size_t text_bytes, struct kw_error *err)
{
	struct kw_cuda_toolkit kit;
	enum kw_status s = kw_cuda_find(NULL, &kit, err);

	if (s != KW_OK)
		return s;
	snprintf(text, text_bytes, "%s, %s%s", kit.version,
		 kit.include[0][0] ? "headers in "
				   : "no headers (install CUDA's "
				     "runtime development files)",
		 kit.include[0]);
	return KW_OK;
}

extern const struct kw_backend kw_backend_cuda;
const struct kw_backend kw_backend_cuda = {
	.name = "cuda",
	.language = "CUDA C++17",
	.extensions = ".cu .cuh",
	.device = "nvidia",
	.header = HEADER_PATH,
	.probe = probe_cuda,
	.build = build_cuda,
};
