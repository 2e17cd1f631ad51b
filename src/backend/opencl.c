/* The OpenCL backend: source to the runtime's own program binary, by a child in the compiler's box. The candidate's text is
 * never read by the judge's process nor by a player: a player loads the binary. */
#include "backend/opencl.h"

#include "backend/job.h"
#include "backend/source.h"
#include "base/alloc.h"
#include "base/file.h"
#include "core/launch.h"
#include "device/sandbox.h"

#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER_PATH "src/backend/builtin/kw_opencl.h"
#define KIND "opencl-binary"
enum { DEFAULT_TIMEOUT_MS = 60000, MAX_READ = 64 };

/* Names end there; what ends in '=' takes a value. */
static const char *const allowed[] = {
	"-cl-fast-relaxed-math", "-cl-unsafe-math-optimizations", "-cl-finite-math-only", "-cl-mad-enable",
	"-cl-no-signed-zeros", "-cl-denorms-are-zero", "-cl-single-precision-constant",
	"-cl-fp32-correctly-rounded-divide-sqrt", "-cl-opt-disable", "-cl-uniform-work-group-size", "-cl-std=",
};
enum { ALLOWED_COUNT = sizeof(allowed) / sizeof(allowed[0]) };

const char *const *kw_cl_flags_allowed(size_t *count)
{
	*count = ALLOWED_COUNT;
	return allowed;
}

/* One build's own things; strings live in the arena. */
struct build {
	struct kw_build_job job;
	struct kw_cl_info device;
	const char *options, *specialise;
};

static bool passed(struct build *b, bool good, const struct kw_cl_fault *f)
{
	if (!good)
		kw_build_reject(&b->job, f->cls, f->subclass, f->line, f->line ? 1 : 0, f->message);
	return good;
}

static void check(void *build)
{
	struct build *b = build;
	struct kw_source_fault f;
	struct kw_cl_fault p;

	if (kw_source_flags(b->job.c, allowed, ALLOWED_COUNT, &f) && kw_source_includes(b->job.c, &f))
		passed(b, kw_cl_check_plan(&b->job.c->plan, &p), &p);
	else
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, f.cls, f.line, f.column, f.message);
}

/* ---- what is asked for ---- */

static enum kw_status choose_options(struct build *b, struct kw_error *err)
{
	struct kw_buf o, w;

	kw_buf_init(&o, 1 << 16);
	kw_buf_init(&w, 1 << 14);
	kw_buf_addz(&o, "-cl-kernel-arg-info");
	for (size_t i = 0; i < b->job.c->plan.flag_count; i++)
		kw_buf_printf(&o, " %s", b->job.c->plan.flags[i]);
	for (size_t i = 0; i < b->job.bound->define_count; i++)
		kw_buf_printf(&o, " -D%s=%lld", b->job.bound->defines[i].name, (long long)b->job.bound->defines[i].value);
	/* PoCL compiles a kernel for each size of work-group: all that is needed goes into the binary now, because the player
	 * has no compiler. Of the forms for small grids and for all PoCL 3.1 writes only one; the player uses this for both. */
	for (size_t i = 0; i < b->job.bound->kernel_count && b->device.pocl; i++) {
		const int64_t *s = b->job.bound->kernels[i].block;

		kw_buf_printf(&w, "%s%lld-%lld-%lld-goffs0", i ? "," : "", (long long)s[0], (long long)s[1], (long long)s[2]);
	}
	b->options = o.full ? NULL : kw_arena_strndup(&b->job.arena, o.ptr ? o.ptr : "", o.len);
	b->specialise = w.full ? NULL : kw_arena_strndup(&b->job.arena, w.ptr ? w.ptr : "", w.len);
	kw_buf_release(&o);
	kw_buf_release(&w);
	return b->options && b->specialise ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

/* With how each kernel is called: what is cached has passed the checks of the call. */
static enum kw_status add_to_key(void *build, struct kw_hasher *h, struct kw_error *err)
{
	struct build *b = build;
	char text[200];
	enum kw_status s = choose_options(b, err);

	if (s != KW_OK)
		return s;
	kw_hasher_addz(h, "device", b->device.identity);
	kw_hasher_addz(h, "options", b->options);
	for (size_t i = 0; i < b->job.bound->kernel_count; i++) {
		const struct kw_bound_kernel *k = &b->job.bound->kernels[i];

		snprintf(text, sizeof(text), "%lld %lld %lld %lld", (long long)k->block[0], (long long)k->block[1],
			 (long long)k->block[2], (long long)k->smem_bytes);
		kw_hasher_addz(h, "kernel", k->name);
		kw_hasher_addz(h, "launch", text);
		for (size_t a = 0; a < k->arg_count; a++) {
			snprintf(text, sizeof(text), "%d %d", (int)k->args[a].kind, (int)k->args[a].dtype);
			kw_hasher_addz(h, "argument", text);
		}
	}
	return KW_OK;
}

/* The source's own lines count from its first one. */
static json_t *make_question(struct build *b)
{
	const char *header = kw_arena_printf(&b->job.arena, "#line 1 \"kw.h\"\n%s\n#line 1 \"" KW_CL_FILE "\"\n", b->job.header);

	return json_pack("{s:i,s:i,s:s,s:s,s:s,s:s%}", "platform", (int)b->device.platform, "device", (int)b->device.device,
			 "options", b->options, "specialise", b->specialise, "header", header, "source", b->job.c->source,
			 b->job.c->source_len);
}

/* ---- the child and its box ---- */

/* What a runtime reads besides /usr; a GPU's driver compiles on its own device files. */
static size_t readable(struct build *b, const char *list[MAX_READ], glob_t *devices)
{
	static const char *const patterns[] = { "/dev/nvidia*", "/dev/dri", "/dev/kfd" };
	char real[PATH_MAX];
	size_t n = 0;

	if (realpath("/proc/self/exe", real))
		list[n++] = kw_arena_strdup(&b->job.arena, real);
	list[n++] = "/etc/OpenCL";
	list[n++] = "/sys";
	if (getenv("OCL_ICD_VENDORS"))
		list[n++] = getenv("OCL_ICD_VENDORS");
	*devices = (glob_t){ 0 };
	for (size_t i = 0; !b->device.cpu && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, devices);
	for (size_t i = 0; i < devices->gl_pathc && n < MAX_READ - 3; i++)
		list[n++] = devices->gl_pathv[i];
	if (!b->device.cpu)
		list[n++] = "/proc";
	list[n] = NULL;
	return n;
}

static enum kw_status ask(struct build *b, struct kw_cl_answer *answer, struct kw_error *err)
{
	const char *read[MAX_READ];
	struct kw_sandbox *box = NULL;
	glob_t devices;
	json_t *question = make_question(b);
	enum kw_status s;

	readable(b, read, &devices);
	s = question ? kw_sandbox_compiler_new(b->job.dir, read, &box, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (s == KW_OK && !b->device.cpu)
		kw_sandbox_for_driver(box);
	if (s == KW_OK)
		s = kw_cl_ask(question, b->job.dir, b->job.opts->timeout_ms ? b->job.opts->timeout_ms : DEFAULT_TIMEOUT_MS,
			      kw_sandbox_enter, box, answer, err);
	kw_sandbox_free(box);
	globfree(&devices);
	json_decref(question);
	return s;
}

/* ---- the answer ---- */

static void explain_end(struct build *b, const struct kw_cl_answer *a)
{
	int timeout_ms = b->job.opts->timeout_ms ? b->job.opts->timeout_ms : DEFAULT_TIMEOUT_MS;
	char message[300];

	if (a->timed_out) {
		snprintf(message, sizeof(message), "the compiler did not end within %.1f s and was stopped",
			 (double)timeout_ms * 1e-3);
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_TIMEOUT, 0, 0, message);
	} else {
		snprintf(message, sizeof(message), "the runtime's compiler ended by signal %d (%s) %.150s", a->signal,
			 a->signal == SIGKILL || a->signal == SIGXCPU ? "it took more than it may" : "it crashed",
			 a->run.err.len ? a->run.err.ptr : "");
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 0, 0, message);
	}
}

static json_t *kernel_facts(const json_t *kernels)
{
	json_t *all = json_object();
	const json_t *one;
	size_t i;

	json_array_foreach(kernels, i, one) {
		const char *name = kw_json_get_str(one, "name", "");
		struct kw_kernel_facts f = { .param_count = kw_json_get_i64(one, "arg_count", 0),
					     .static_smem_bytes = kw_json_get_i64(one, "local", 0),
					     .stack_bytes = kw_json_get_i64(one, "private", 0),
					     .max_threads = (int)kw_json_get_i64(one, "group_size", 0) };

		snprintf(f.symbol, sizeof(f.symbol), "%s", name);
		if (!all || json_object_set_new(all, name, kw_kernel_facts_to_json(&f)) != 0) {
			json_decref(all);
			return NULL;
		}
	}
	return all ? json_pack("{s:o}", "kernels", all) : NULL;
}

static enum kw_status take_code(struct build *b, const json_t *kernels, const char *code, size_t bytes, struct kw_error *err)
{
	struct kw_artefact *a = &b->job.out->artefact;
	struct kw_cl_fault f;

	if (!passed(b, kw_cl_check_kernels(&b->job.c->plan, b->job.bound, kernels, &f), &f) ||
	    !passed(b, kw_cl_check_limits(&b->job.c->plan, b->job.bound, kernels, &b->device, &f), &f))
		return KW_OK;
	if (bytes == 0) {
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 0, 0, "the runtime built it and gave no binary");
		return KW_OK;
	}
	a->facts = kernel_facts(kernels);
	a->code = kw_alloc(bytes);
	if (!a->facts || !a->code)
		return kw_fail(err, KW_ERR_NOMEM, "", "no memory for the compiled program");
	memcpy(a->code, code, bytes);
	a->code_bytes = bytes;
	return KW_OK;
}

static enum kw_status take_answer(struct build *b, const struct kw_cl_answer *a, struct kw_error *err)
{
	size_t log = (size_t)kw_json_get_i64(a->head, "log", 0), code = (size_t)kw_json_get_i64(a->head, "code", 0);
	bool failed = kw_json_get_i64(a->head, "status", -1) != 0;
	const char *error = kw_json_get_str(a->head, "error", NULL);

	if (error)
		return kw_fail(err, KW_ERR_ENV, b->device.name, "the OpenCL runtime cannot build: %.300s", error);
	if (log > a->len || code > a->len - log)
		return kw_fail(err, KW_ERR_ENV, b->device.name, "the OpenCL runtime's answer was cut off");
	kw_cl_log_parse(&b->job.diags, a->bytes, log, b->job.c->source, failed);
	if (!failed)
		return take_code(b, json_object_get(a->head, "kernels"), a->bytes + log, code, err);
	b->job.out->cls = KW_V_BUILD_ERROR;
	b->job.out->subclass = kw_diagnostics_class(&b->job.diags);
	return KW_OK;
}

static enum kw_status compile(void *build, struct kw_error *err)
{
	struct build *b = build;
	struct kw_cl_answer answer = { .head = NULL };
	enum kw_status s = kw_temp_folder("kw-build", b->job.dir, err);

	if (s == KW_OK)
		s = ask(b, &answer, err);
	if (s != KW_OK)
		return s;
	if (answer.head)
		s = take_answer(b, &answer, err);
	else if (answer.timed_out || answer.signal)
		explain_end(b, &answer);
	else
		s = kw_fail(err, KW_ERR_ENV, b->device.name, "the OpenCL compiler gave no answer (exit code %d): %.300s",
			    answer.run.exit_code, answer.run.err.len ? answer.run.err.ptr : "");
	kw_cl_answer_release(&answer);
	return s;
}

static enum kw_status find(void *build, struct kw_error *err)
{
	struct build *b = build;
	enum kw_status s = kw_cl_find(&b->device, err);

	snprintf(b->job.out->artefact.toolchain, sizeof(b->job.out->artefact.toolchain), "%.100s %.50s", b->device.platform_name,
		 b->device.driver);
	if (s == KW_OK && !b->device.compiler)
		s = kw_fail(err, KW_ERR_ENV, b->device.name, "this OpenCL runtime has no compiler");
	return s;
}

static enum kw_status build_opencl(const struct kw_candidate *c, const struct kw_bound_plan *bound, const struct kw_build_opts *opts,
				   struct kw_build_result *out, struct kw_error *err)
{
	static const struct kw_build_steps steps = {
		.version = "opencl 2",
		.bytes = sizeof(struct build),
		.arena_bytes = 32 << 20,
		.kind = KIND,
		.file = KW_CL_FILE,
		.header = HEADER_PATH,
		.find = find,
		.check = check,
		.key = add_to_key,
		.compile = compile,
	};

	return kw_build_run(&steps, c, bound, opts, out, err);
}

static enum kw_status probe_opencl(char *text, size_t text_bytes, struct kw_error *err)
{
	const struct kw_cl_info *list;
	struct kw_cl_info chosen;
	size_t n, at = 0;
	enum kw_status s = kw_cl_list(&list, &n, err);

	if (s == KW_OK)
		s = kw_cl_find(&chosen, err);
	for (size_t i = 0; s == KW_OK && i < n && at < text_bytes; i++)
		at += (size_t)snprintf(text + at, text_bytes - at, "%s%s: %s (driver %s)%s", i ? "; " : "", list[i].platform_name,
				       list[i].name, list[i].driver,
				       n > 1 && list[i].platform == chosen.platform && list[i].device == chosen.device ?
					       ", used" :
					       "");
	return s;
}

extern const struct kw_backend kw_backend_opencl;
const struct kw_backend kw_backend_opencl = {
	.name = "opencl",
	.language = "OpenCL C",
	.extensions = ".cl",
	.device = "opencl",
	.header = HEADER_PATH,
	.per_block = true,
	.probe = probe_opencl,
	.build = build_opencl,
};
