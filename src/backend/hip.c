/* The HIP backend: source to an AMD code object, by hiprtc in a locked-down child, or by hipcc where there is no hiprtc. No
 * device of this version runs it: kernels are built and checked against a sheet (kwright eval --device mi300x). */
#include "backend/cuda.h"

#include "backend/hip_object.h"
#include "backend/job.h"
#include "backend/source.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/proc.h"
#include "device/sandbox.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEADER_PATH "src/backend/builtin/kw_hip.h"
#define FILE_NAME "candidate.hip"
/* Line 1 stays line 1. */
#define PRELUDE "#include \"kw.h\"\n#line 1 \"" FILE_NAME "\"\n"
#define HINT "install ROCm's hiprtc (in libamdhip64 or libhiprtc) or hipcc, or name its folder in KWRIGHT_HIP"
enum { DEFAULT_TIMEOUT_MS = 60000, MAX_OPTIONS = 96, MAX_OBJECT = 64 << 20, MAX_TEXT = 2 << 20 };

static const char *const library_dirs[] = { "lib", "lib64", "lib/x86_64-linux-gnu" };
static const char *const libraries[] = { "libhiprtc.so",      "libhiprtc.so.7",   "libhiprtc.so.6", "libhiprtc.so.5",
					 "libamdhip64.so",    "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5" };
static const char *const allowed[] = { "-ffast-math", "-O1", "-O2", "-O3", "-std=c++17", "-std=c++20", "-munsafe-fp-atomics",
				       "-ffp-contract=" };
enum {
	DIRS = sizeof(library_dirs) / sizeof(library_dirs[0]),
	LIBRARIES = sizeof(libraries) / sizeof(libraries[0]),
	ALLOWED_COUNT = sizeof(allowed) / sizeof(allowed[0])
};

struct build {
	struct kw_build_job job;
	struct kw_cuda_toolkit kit;       /* nvrtc: hiprtc's library; nvcc: hipcc */
	const char *options[MAX_OPTIONS]; /* NULL-terminated */
	size_t option_count;
};

/* ---- where it is ---- */

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static void keep_dir(struct kw_cuda_toolkit *kit)
{
	char *slash;

	snprintf(kit->library_dir, sizeof(kit->library_dir), "%s", kit->nvrtc);
	slash = strrchr(kit->library_dir, '/');
	if (slash)
		*slash = '\0';
}

static bool probe_library(const char *path, struct kw_cuda_toolkit *kit)
{
	struct kw_error ignored = { 0 };

	if (kw_nvrtc_probe(&kw_rtc_hiprtc, path, kit, &ignored) != KW_OK)
		return false;
	keep_dir(kit);
	return true;
}

static bool look_in(const char *dir, struct kw_cuda_toolkit *kit)
{
	char path[PATH_MAX], real[PATH_MAX];

	*kit = (struct kw_cuda_toolkit){ .arch_count = 0 };
	for (size_t i = 0; i < LIBRARIES; i++)
		for (size_t k = 0; k < DIRS; k++) {
			snprintf(path, sizeof(path), "%s/%s/%s", dir, library_dirs[k], libraries[i]);
			if (is_file(path) && realpath(path, real) && probe_library(real, kit))
				return true;
		}
	snprintf(path, sizeof(path), "%s/bin/hipcc", dir);
	if (!is_file(path))
		return false;
	snprintf(kit->nvcc, sizeof(kit->nvcc), "%.500s", path);
	snprintf(kit->home, sizeof(kit->home), "%.500s", dir);
	snprintf(kit->version, sizeof(kit->version), "hipcc");
	return true;
}

static enum kw_status find_compiler(struct kw_cuda_toolkit *kit, struct kw_error *err)
{
	const char *only = getenv("KWRIGHT_HIP");
	const char *const dirs[] = { getenv("ROCM_PATH"), getenv("HIP_PATH"), "/opt/rocm", "/usr" };

	if (only && *only)
		return look_in(only, kit) ? KW_OK : kw_fail(err, KW_ERR_ENV, only, "there is no HIP compiler (named by KWRIGHT_HIP): neither "
										   "libhiprtc, libamdhip64 nor bin/hipcc");
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (dirs[i] && *dirs[i] && look_in(dirs[i], kit))
			return KW_OK;
	for (size_t i = 0; i < LIBRARIES; i++)
		if (probe_library(libraries[i], kit))
			return KW_OK;
	return kw_fail(err, KW_ERR_ENV, "", "not available here: " HINT);
}

/* ---- before the compiler ---- */

static void check(void *build)
{
	struct build *b = build;
	struct kw_source_fault f;
	char message[300];

	if (!kw_source_flags(b->job.c, allowed, ALLOWED_COUNT, &f) || !kw_source_includes(b->job.c, &f) || !kw_source_host_code(b->job.c, &f)) {
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, f.cls, f.line, f.column, f.message);
		return;
	}
	for (size_t i = 0; i < b->job.c->plan.kernel_count; i++) {
		const struct kw_plan_kernel *k = &b->job.c->plan.kernels[i];

		if (k->grid_rank && k->block_rank)
			continue;
		snprintf(message, sizeof(message), "kernel '%.100s' has no %s=(...); HIP launches need both grid and block", k->name,
			 k->grid_rank ? "block" : "grid");
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, k->line, 1, message);
		return;
	}
}

static void add_option(struct build *b, const char *option)
{
	if (option && b->option_count < MAX_OPTIONS - 1)
		b->options[b->option_count++] = option;
}

static void choose_options(struct build *b)
{
	const struct kw_plan *p = &b->job.c->plan;
	bool standard = false;

	add_option(b, kw_arena_printf(&b->job.arena, "--offload-arch=%s", b->job.opts->arch));
	add_option(b, "-O3");
	for (size_t i = 0; i < p->flag_count; i++) {
		standard = standard || strncmp(p->flags[i], "-std=", 5) == 0;
		add_option(b, p->flags[i]);
	}
	if (!standard)
		add_option(b, "-std=c++17");
	for (size_t i = 0; i < 8 && b->job.opts->extra_flags[i]; i++)
		add_option(b, b->job.opts->extra_flags[i]);
	for (size_t i = 0; i < b->job.bound->define_count; i++)
		add_option(b, kw_build_define(&b->job, i));
}

static enum kw_status add_to_key(void *build, struct kw_hasher *h, struct kw_error *err)
{
	struct build *b = build;
	const char *compiler = b->kit.nvrtc[0] ? b->kit.nvrtc : b->kit.nvcc;
	struct stat st = { 0 };

	(void)err;
	choose_options(b);
	stat(compiler, &st);
	kw_hasher_addz(h, "toolchain", b->kit.version);
	kw_hasher_addz(h, "compiler", compiler);
	kw_hasher_add(h, "its size", &st.st_size, sizeof(st.st_size));
	kw_hasher_add(h, "its time", &st.st_mtime, sizeof(st.st_mtime));
	for (size_t i = 0; i < b->option_count; i++)
		kw_hasher_addz(h, "option", b->options[i]);
	for (size_t i = 0; i < b->job.bound->kernel_count; i++)
		kw_hasher_addz(h, "kernel", b->job.bound->kernels[i].name);
	return KW_OK;
}

/* ---- hipcc ---- */

static enum kw_status write_files(struct build *b, const char *text, struct kw_error *err)
{
	char path[PATH_MAX + 16];
	enum kw_status s;

	snprintf(path, sizeof(path), "%s/" FILE_NAME, b->job.dir);
	s = kw_file_write_scratch(path, text, strlen(text), err);
	snprintf(path, sizeof(path), "%s/kw.h", b->job.dir);
	return s == KW_OK ? kw_file_write_scratch(path, b->job.header, b->job.header_len, err) : s;
}

static enum kw_status hipcc(struct build *b, const char *text, int timeout_ms, struct kw_cuda_output *out, struct kw_error *err)
{
	const char *read[] = { b->kit.home, NULL }, *argv[MAX_OPTIONS + 16];
	const char *env[] = { "PATH=/opt/rocm/bin:/usr/local/bin:/usr/bin:/bin", "LC_ALL=C",
			      kw_arena_printf(&b->job.arena, "TMPDIR=%s", b->job.dir), kw_arena_printf(&b->job.arena, "HOME=%s", b->job.dir), NULL };
	struct kw_proc_opts o = { .env = env, .cwd = b->job.dir, .timeout_ms = timeout_ms, .max_out_bytes = MAX_TEXT, .tries = 3 };
	struct kw_proc_result r = { 0 };
	struct kw_sandbox *box = NULL;
	char path[PATH_MAX + 16];
	struct kw_buf object;
	size_t n = 0;
	enum kw_status s = write_files(b, text, err);

	argv[n++] = b->kit.nvcc;
	for (size_t i = 0; i < b->option_count; i++)
		argv[n++] = b->options[i];
	argv[n++] = "-c";
	argv[n++] = "--cuda-device-only";
	argv[n++] = "--no-gpu-bundle-output"; /* the object itself */
	argv[n++] = "-I.";
	argv[n++] = "-o";
	argv[n++] = "candidate.co";
	argv[n++] = FILE_NAME;
	argv[n] = NULL;
	*out = (struct kw_cuda_output){ .good = false };
	if (s == KW_OK)
		s = kw_sandbox_compiler_new(b->job.dir, read, &box, err);
	if (s == KW_OK) {
		o.before_exec = kw_sandbox_enter;
		o.before_exec_arg = box;
		s = kw_proc_run(argv, &o, &r, err);
	}
	kw_buf_init(&object, MAX_OBJECT);
	if (s == KW_OK) {
		out->timed_out = r.timed_out;
		out->signal = r.signal;
		out->log = kw_strdup(r.err.len ? r.err.ptr : "");
		snprintf(path, sizeof(path), "%s/candidate.co", b->job.dir);
		if (r.exit_code == 0 && (s = kw_file_read(path, MAX_OBJECT, &object, err)) == KW_OK) {
			out->cubin_bytes = object.len;
			out->cubin = kw_buf_take(&object);
			out->good = out->cubin_bytes > 0;
		}
	}
	kw_buf_release(&object);
	kw_proc_result_release(&r);
	kw_sandbox_free(box);
	return s;
}

/* ---- the object ---- */

static void missing_kernel(struct build *b, size_t index, const struct kw_cuda_output *o, bool several)
{
	const char *name = b->job.bound->kernels[index].name;
	char message[480];
	struct kw_buf list;

	kw_buf_init(&list, 4096);
	kw_hip_list_kernels(o->cubin, o->cubin_bytes, &list);
	if (several)
		snprintf(message, sizeof(message), "there are several kernels '%.100s': make the one that is meant extern \"C\"", name);
	else
		snprintf(message, sizeof(message), "no kernel '%.100s' is in the object; there is%s%.200s. Declare it extern \"C\" __global__",
			 name, list.len ? ": " : " none", list.len ? list.ptr : "");
	kw_buf_release(&list);
	kw_build_reject(&b->job, KW_V_LAUNCH_ERROR, KW_S_ENTRY, b->job.c->plan.kernels[index].line, 1, message);
}

static enum kw_status read_object(struct build *b, const struct kw_cuda_output *o, struct kw_error *err)
{
	struct kw_artefact *a = &b->job.out->artefact;
	json_t *kernels = json_object();

	for (size_t i = 0; kernels && i < b->job.bound->kernel_count && b->job.out->cls == KW_V_OK; i++) {
		struct kw_kernel_facts f;
		bool several;

		if (!kw_hip_kernel(o->cubin, o->cubin_bytes, b->job.bound->kernels[i].name, b->job.opts->arch, &f, &several))
			missing_kernel(b, i, o, several);
		else
			json_object_set_new(kernels, b->job.bound->kernels[i].name, kw_kernel_facts_to_json(&f));
	}
	if (b->job.out->cls == KW_V_OK) {
		a->facts = kernels ? json_pack("{s:s,s:O}", "arch", b->job.opts->arch, "kernels", kernels) : NULL;
		a->code = kw_alloc(o->cubin_bytes);
		a->code_bytes = o->cubin_bytes;
	}
	json_decref(kernels);
	if (b->job.out->cls != KW_V_OK)
		return KW_OK;
	if (!a->facts || !a->code)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the compiled object");
	memcpy(a->code, o->cubin, o->cubin_bytes);
	return KW_OK;
}

/* hiprtc names the source by a path of its own; the words behind it are clang's. */
static void read_log(struct build *b, const char *log)
{
	static const char own[] = "/input/CompileSource:";
	struct kw_buf text;

	kw_buf_init(&text, MAX_TEXT);
	for (const char *at; log && *log; log = at) {
		size_t n = strcspn(log, "\n");
		const char *place = memmem(log, n, own, strlen(own));

		at = log + n + (log[n] == '\n');
		if (place)
			kw_buf_printf(&text, FILE_NAME ":%.*s\n", (int)(n - (size_t)(place + strlen(own) - log)), place + strlen(own));
		else
			kw_buf_printf(&text, "%.*s\n", (int)n, log);
	}
	if (text.len)
		kw_diagnostics_parse(&b->job.diags, text.ptr, text.len, b->job.c->source);
	kw_buf_release(&text);
}

static void explain_end(struct build *b, const struct kw_cuda_output *o, int timeout_ms)
{
	char message[200];

	if (!o->timed_out && kw_diagnostics_has_error(&b->job.diags)) {
		b->job.out->cls = KW_V_BUILD_ERROR;
		b->job.out->subclass = kw_diagnostics_class(&b->job.diags);
		return;
	}
	if (o->timed_out)
		snprintf(message, sizeof(message), "the compiler did not end within %.1f s and was stopped", (double)timeout_ms * 1e-3);
	else if (o->signal)
		snprintf(message, sizeof(message), "the compiler was ended by signal %d", o->signal);
	else
		snprintf(message, sizeof(message), "the compiler made no object: %.120s", o->log && *o->log ? o->log : o->what);
	message[strcspn(message, "\n")] = '\0';
	kw_build_reject(&b->job, KW_V_BUILD_ERROR, o->timed_out ? KW_S_BUILD_TIMEOUT : KW_S_BUILD_RESOURCES, 0, 0, message);
}

/* ---- a build ---- */

/* An architecture that this ROCm does not know is no fault of the candidate. Old ones abort on it, new ones say so each in its
 * own words: so a kernel that does nothing is tried. */
static enum kw_status check_arch(struct build *b, struct kw_error *err)
{
	static const char nothing[] = "extern \"C\" __global__ void nothing() {}\n";
	const char *options[] = { b->options[0], NULL };
	struct kw_cuda_input in = { .rtc = &kw_rtc_hiprtc, .dir = b->job.dir, .kit = &b->kit, .source = nothing,
				    .source_len = strlen(nothing), .header = "\n", .options = options, .timeout_ms = DEFAULT_TIMEOUT_MS };
	struct kw_cuda_output o = { .good = false };
	size_t kept = b->option_count;
	enum kw_status s;

	b->option_count = 1;
	s = b->kit.nvrtc[0] ? kw_nvrtc_compile(&in, &o, err) : hipcc(b, PRELUDE "__global__ void nothing() {}\n", in.timeout_ms, &o, err);
	b->option_count = kept;
	if (s == KW_OK && !o.good)
		s = kw_fail(err, KW_ERR_ENV, "", "%s does not build for %s: install a ROCm that does, or name its folder in KWRIGHT_HIP",
			    b->kit.version, b->job.opts->arch);
	kw_cuda_output_release(&o);
	return s;
}

static enum kw_status compile(void *build, struct kw_error *err)
{
	struct build *b = build;
	int timeout_ms = b->job.opts->timeout_ms ? b->job.opts->timeout_ms : DEFAULT_TIMEOUT_MS;
	const char *text = kw_arena_printf(&b->job.arena, PRELUDE "%s", b->job.c->source);
	struct kw_cuda_input in = { .rtc = &kw_rtc_hiprtc, .dir = b->job.dir, .kit = &b->kit, .source = text,
				    .source_len = text ? strlen(text) : 0, .header = b->job.header, .options = b->options,
				    .timeout_ms = timeout_ms };
	struct kw_cuda_output o = { .good = false };
	enum kw_status s = text ? kw_temp_folder("kw-build", b->job.dir, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	if (s == KW_OK)
		s = b->kit.nvrtc[0] ? kw_nvrtc_compile(&in, &o, err) : hipcc(b, text, timeout_ms, &o, err);
	if (s == KW_OK) {
		read_log(b, o.log);
		if (!o.good && !o.timed_out)
			s = check_arch(b, err);
	}
	if (s == KW_OK && !o.good)
		explain_end(b, &o, timeout_ms);
	else if (s == KW_OK)
		s = read_object(b, &o, err);
	kw_cuda_output_release(&o);
	return s;
}

static enum kw_status find(void *build, struct kw_error *err)
{
	struct build *b = build;
	const char *arch = b->job.opts->arch ? b->job.opts->arch : "";
	enum kw_status s;

	if (strncmp(arch, "gfx", 3) != 0)
		return kw_fail(err, KW_ERR_USAGE, "", "the HIP backend builds for AMD devices (gfx...), not for '%s'", arch);
	s = find_compiler(&b->kit, err);
	snprintf(b->job.out->artefact.toolchain, sizeof(b->job.out->artefact.toolchain), "%s", b->kit.version);
	return s;
}

static enum kw_status build_hip(const struct kw_candidate *c, const struct kw_bound_plan *bound, const struct kw_build_opts *opts,
				struct kw_build_result *out, struct kw_error *err)
{
	static const struct kw_build_steps steps = {
		.version = "hip 1",
		.bytes = sizeof(struct build),
		.arena_bytes = 64 << 20,
		.kind = "hsaco",
		.file = FILE_NAME,
		.header = HEADER_PATH,
		.find = find,
		.check = check,
		.key = add_to_key,
		.compile = compile,
	};

	return kw_build_run(&steps, c, bound, opts, out, err);
}

static enum kw_status probe_hip(char *text, size_t text_bytes, struct kw_error *err)
{
	struct kw_cuda_toolkit kit;
	enum kw_status s = find_compiler(&kit, err);

	if (s == KW_OK)
		snprintf(text, text_bytes, "%s (%s); kernels are built, not run", kit.version, kit.nvrtc[0] ? kit.nvrtc : kit.nvcc);
	return s;
}

extern const struct kw_backend kw_backend_hip;
const struct kw_backend kw_backend_hip = {
	.name = "hip",
	.language = "HIP C++17",
	.extensions = ".hip",
	.device = "amd",
	.header = HEADER_PATH,
	.probe = probe_hip,
	.build = build_hip,
};
