/* The C backend: gcc or clang, one shared object a build, made in a fresh folder inside the compiler's box. */
#include "backend/c.h"

#include "backend/elf.h"
#include "backend/job.h"
#include "backend/signature.h"
#include "backend/source.h"
#include "base/file.h"
#include "base/log.h"
#include "base/proc.h"
#include "device/sandbox.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { DEFAULT_TIMEOUT_MS = 30000, COMPILER_TRIES = 3, MAX_ARGS = 96, MAX_OBJECT = 64 << 20, MAX_OUTPUT = 2 << 20 };
#define HEADER_PATH "src/backend/builtin/kw.h"
/* Of gcc. As JSON it says nothing at all when it gives up: after -fmax-errors, or when headers include each other for ever. */
#define JSON_FLAG "-fdiagnostics-format=json"
#define PLAIN_FLAG "-fno-diagnostics-show-caret"

/* One build's own things; strings live in the arena. */
struct build {
	struct kw_build_job job;
	struct kw_toolchain tool;
	const char *flags[MAX_ARGS];      /* for compiling; NULL-terminated */
	size_t flag_count;
	bool fast_math;
	bool plain;                       /* messages as text; gcc's come as JSON else */
	const char *suffix;               /* compiled behind the source (signature.h); "" none */
	const char *source_path, *object_path, *part_path;
};

static void add_flag(struct build *b, const char *flag)
{
	if (flag && b->flag_count < MAX_ARGS - 1)
		b->flags[b->flag_count++] = flag;
	b->fast_math = b->fast_math || (flag && kw_flag_is_fast_math(flag));
}

/* ---- flags ---- */

static void check(void *build)
{
	struct build *b = build;
	struct kw_source_fault f;
	size_t n;
	const char *const *allowed = kw_flags_allowed(&n);

	if (!kw_source_flags(b->job.c, allowed, n, &f) || (!b->job.opts->trusted && !kw_source_includes(b->job.c, &f)))
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, f.cls, f.line, f.column, f.message);
}

/* "#define _GNU_SOURCE" counts before the first header only, and ours comes first. For all of them it would take names, like
 * sincosf, that a candidate may give to functions of its own. */
static bool defines_gnu_source(const struct kw_candidate *c)
{
	struct kw_str rest = { c->source, c->source_len }, line;

	while (rest.len && kw_str_split(&rest, '\n', &line)) {
		line = kw_str_trim(line);
		if (!line.len || line.ptr[0] != '#')
			continue;
		line = kw_str_trim((struct kw_str){ line.ptr + 1, line.len - 1 });
		if (kw_str_starts(line, "define") && memmem(line.ptr, line.len, "_GNU_SOURCE", 11))
			return true;
	}
	return false;
}

/* -fno-math-errno and -fno-trapping-math change no value, and without them gcc 12 vectorises neither square roots nor
 * selects (see builtin/kw.h). */
static void choose_flags(struct build *b)
{
	static const char *const usual[] = { "-march=native", "-fopenmp", "-fno-math-errno", "-fno-trapping-math",
					     "-fno-semantic-interposition" };

	add_flag(b, "-std=gnu17");
	add_flag(b, "-O3");
	for (size_t i = 0; !b->job.opts->naive_flags && i < sizeof(usual) / sizeof(usual[0]); i++)
		add_flag(b, usual[i]);
	add_flag(b, "-fPIC");
	add_flag(b, "-Wall");
	if (defines_gnu_source(b->job.c))
		add_flag(b, "-D_GNU_SOURCE"); /* the header ends its definition, so that the candidate's own is the first that it sees */
	add_flag(b, "-Wno-unknown-pragmas");
	add_flag(b, "-Wno-unused");
	add_flag(b, "-Werror=implicit-function-declaration");
	if (b->tool.clang) {
		add_flag(b, "-fno-caret-diagnostics");
		add_flag(b, "-fno-color-diagnostics");
		add_flag(b, "-ferror-limit=20");
		add_flag(b, "-Wno-pass-failed");
	} else {
		add_flag(b, JSON_FLAG);
		add_flag(b, "-fmax-errors=20");
		add_flag(b, "-pipe");
	}
	for (size_t i = 0; i < b->job.c->plan.flag_count; i++)
		add_flag(b, b->job.c->plan.flags[i]);
	for (size_t i = 0; i < 8 && b->job.opts->extra_flags[i]; i++)
		add_flag(b, b->job.opts->extra_flags[i]);
	for (size_t i = 0; i < b->job.bound->define_count; i++)
		add_flag(b, kw_build_define(&b->job, i));
}

/* ---- running the compiler ---- */

static enum kw_status make_folder(struct build *b, struct kw_error *err)
{
	char *header_path;
	enum kw_status s = kw_temp_folder("kw-build", b->job.dir, err);

	if (s != KW_OK)
		return s;
	b->source_path = kw_path_join(&b->job.arena, b->job.dir, "candidate.c");
	b->object_path = kw_path_join(&b->job.arena, b->job.dir, "candidate.so");
	b->part_path = kw_path_join(&b->job.arena, b->job.dir, "candidate.o");
	header_path = kw_path_join(&b->job.arena, b->job.dir, "kw.h");
	if (!b->source_path || !b->object_path || !b->part_path || !header_path)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	b->job.diags.path = b->source_path;
	return kw_file_write_scratch(header_path, b->job.header, b->job.header_len, err);
}

static enum kw_status write_source(struct build *b, const char *suffix, struct kw_error *err)
{
	struct kw_buf text;
	enum kw_status s;

	kw_buf_init(&text, KW_CANDIDATE_MAX_BYTES + (1 << 20));
	kw_buf_add(&text, b->job.c->source, b->job.c->source_len);
	kw_buf_addz(&text, suffix);
	s = text.full ? kw_fail(err, KW_ERR_NOMEM, "", "no memory for the source")
		      : kw_file_write_scratch(b->source_path, text.ptr ? text.ptr : "", text.len, err);
	kw_buf_release(&text);
	return s;
}

/* A compiler outside /usr needs the folder that it was installed to. */
static const char *compiler_home(struct build *b)
{
	char real[PATH_MAX], *slash;

	if (!realpath(b->tool.path, real) || strncmp(real, "/usr/", 5) == 0 || strncmp(real, "/bin/", 5) == 0)
		return NULL;
	for (int up = 0; up < 2; up++) {
		slash = strrchr(real, '/');
		if (slash && slash != real)
			*slash = '\0';
	}
	return kw_arena_strdup(&b->job.arena, real);
}

static enum kw_status run_compiler(struct build *b, const char *const *argv, struct kw_proc_result *r,
				   struct kw_error *err)
{
	const char *read[2] = { compiler_home(b), NULL };
	const char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", NULL, NULL, NULL };
	struct kw_proc_opts o = { .env = env, .cwd = b->job.dir, .max_out_bytes = MAX_OUTPUT, .tries = COMPILER_TRIES };
	struct kw_sandbox *box = NULL;
	enum kw_status s = KW_OK;

	env[2] = kw_arena_printf(&b->job.arena, "TMPDIR=%s", b->job.dir);
	env[3] = kw_arena_printf(&b->job.arena, "HOME=%s", b->job.dir);
	o.timeout_ms = b->job.opts->timeout_ms ? b->job.opts->timeout_ms : DEFAULT_TIMEOUT_MS;
	if (!b->job.opts->trusted) {
		s = kw_sandbox_compiler_new(b->job.dir, read, &box, err);
		o.before_exec = kw_sandbox_enter;
		o.before_exec_arg = box;
	}
	if (s == KW_OK)
		s = kw_proc_run(argv, &o, r, err);
	kw_sandbox_free(box);
	return s;
}

/* What a compiler that failed says of itself when it does not say it in a message. */
static void explain_end(struct build *b, const struct kw_proc_result *r, int timeout_ms)
{
	char message[200];

	if (r->timed_out) {
		snprintf(message, sizeof(message), "the compiler did not end within %.1f s and was stopped",
			 (double)timeout_ms * 1e-3);
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_TIMEOUT, 0, 0, message);
	} else if (kw_proc_was_killed(r)) { /* a program that gcc ran: a source can make one take too much */
		snprintf(message, sizeof(message), "a part of the compiler was killed, %d times: it took more than there is", COMPILER_TRIES);
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 0, 0, message);
	} else if (r->signal) {
		snprintf(message, sizeof(message), "the compiler was ended by signal %d (%s)", r->signal,
			 r->signal == SIGKILL || r->signal == SIGXCPU ? "it took more than it may" : "it crashed");
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 0, 0, message);
	} else {
		b->job.out->cls = KW_V_BUILD_ERROR;
		b->job.out->subclass = kw_diagnostics_class(&b->job.diags);
		for (size_t i = 0; i < b->job.diags.count; i++)
			if (b->job.diags.list[i].severity == KW_ERROR)
				return;
		snprintf(message, sizeof(message), "the compiler ended with code %d and no message: %.100s", r->exit_code,
			 r->err.ptr ? r->err.ptr : "");
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_SYNTAX, 0, 0, message);
	}
}

/* A full disk is the machine's fault and no verdict about the candidate. A compiler's words alone are not believed, since a
 * candidate can make it say anything (#error): the disk must be nearly full too. */
static bool disk_is_full(const struct build *b, const struct kw_proc_result *r)
{
	enum { NEARLY_FULL_BYTES = 64 << 20 };
	bool said = (r->err.ptr && (strstr(r->err.ptr, strerror(ENOSPC)) || strstr(r->err.ptr, "Bus error"))) ||
		    (r->out.ptr && strstr(r->out.ptr, strerror(ENOSPC))) || r->signal == SIGBUS;
	struct statvfs fs;

	return said && statvfs(b->job.dir, &fs) == 0 && (double)fs.f_bavail * (double)fs.f_frsize < NEARLY_FULL_BYTES;
}

/* So is a limit that the user's shell has set and the compiler, not the source, is too large for. Believed as above. */
static bool memory_is_limited(const struct kw_proc_result *r)
{
	enum { ENOUGH_BYTES = 512 << 20 };
	static const char *const words[] = { "out of memory", "internal compiler error", "Cannot allocate memory", "memory exhausted",
					     "error while loading shared libraries" };
	struct rlimit limit;
	bool said = r->signal != 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		said = said || (r->err.ptr && strstr(r->err.ptr, words[i]));
	return said && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < ENOUGH_BYTES;
}

/* One run; link: objects to the shared object (or source straight to it). */
static enum kw_status compile(struct build *b, bool compiles, bool links, struct kw_error *err)
{
	const char *argv[MAX_ARGS + 24];
	struct kw_proc_result r;
	size_t n = 0;
	enum kw_status s;

	argv[n++] = b->tool.path;
	for (size_t i = 0; i < b->flag_count; i++)
		if (compiles || strncmp(b->flags[i], "-f", 2) != 0 || strcmp(b->flags[i], "-fopenmp") == 0)
			if (compiles || !kw_flag_is_fast_math(b->flags[i]))
				argv[n++] = b->plain && strcmp(b->flags[i], JSON_FLAG) == 0 ? PLAIN_FLAG : b->flags[i];
	if (compiles) {
		argv[n++] = "-include";
		argv[n++] = "kw.h";
	}
	if (links) {
		argv[n++] = "-shared";
		argv[n++] = "-Wl,-z,defs";
		argv[n++] = "-Wl,-z,now";
		argv[n++] = "-Wl,-z,noexecstack";
	} else {
		argv[n++] = "-c";
	}
	argv[n++] = compiles ? b->source_path : b->part_path;
	if (links)
		argv[n++] = "-lm";
	argv[n++] = "-o";
	argv[n++] = links ? b->object_path : b->part_path;
	argv[n] = NULL;
	s = run_compiler(b, argv, &r, err);
	if (s != KW_OK)
		return s;
	if (r.exit_code != 0 && disk_is_full(b, &r)) {
		kw_proc_result_release(&r);
		return kw_fail(err, KW_ERR_IO, b->job.dir, "the disk is full; the compiler cannot write there (TMPDIR names another place)");
	}
	if (r.exit_code != 0 && memory_is_limited(&r)) {
		kw_proc_result_release(&r);
		return kw_fail(err, KW_ERR_NOMEM, b->tool.path, "the compiler does not fit the memory that this shell may use (`ulimit -v`)");
	}
	/* gcc itself only runs programs and holds no memory: somebody does this. */
	if (r.signal && !b->tool.clang && kw_proc_was_killed(&r)) {
		s = kw_fail(err, KW_ERR_ENV, b->tool.path, "the compiler was ended from outside by signal %d (%s), %d times", r.signal,
			    strsignal(r.signal), COMPILER_TRIES);
		kw_proc_result_release(&r);
		return s;
	}
	kw_diagnostics_parse(&b->job.diags, r.out.ptr, r.out.len, b->job.c->source);
	kw_diagnostics_parse(&b->job.diags, r.err.ptr, r.err.len, b->job.c->source);
	if (r.exit_code > 0 && !kw_proc_was_killed(&r) && !b->plain && !b->tool.clang && !kw_diagnostics_has_error(&b->job.diags) &&
	    b->job.diags.aside_errors == 0) {
		kw_proc_result_release(&r);
		b->plain = true;
		return compile(b, compiles, links, err);
	}
	if (r.exit_code != 0)
		explain_end(b, &r, b->job.opts->timeout_ms ? b->job.opts->timeout_ms : DEFAULT_TIMEOUT_MS);
	kw_proc_result_release(&r);
	return KW_OK;
}

/* ---- the object ---- */

static enum kw_status read_object(struct build *b, struct kw_error *err)
{
	struct kw_artefact *a = &b->job.out->artefact;
	struct kw_elf_facts facts;
	struct kw_buf bytes;
	enum kw_status s;

	kw_buf_init(&bytes, MAX_OBJECT);
	s = kw_file_read(b->object_path, MAX_OBJECT, &bytes, err);
	if (s == KW_ERR_LIMIT || s == KW_ERR_INPUT || (s == KW_OK && !kw_elf_facts(bytes.ptr, bytes.len, &facts))) {
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 0, 0,
			   "the compiled object is over 64 MiB, or no object at all");
		kw_buf_release(&bytes);
		return KW_OK;
	}
	if (s != KW_OK) {
		kw_buf_release(&bytes);
		return s;
	}
	a->facts = json_pack("{s:I,s:I,s:I}", "text_bytes", (json_int_t)facts.text_bytes, "writable_bytes",
			     (json_int_t)facts.writable_bytes, "functions", (json_int_t)facts.function_count);
	a->code_bytes = bytes.len;
	a->code = kw_buf_take(&bytes);
	kw_buf_release(&bytes);
	return a->code && a->facts ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "no memory for the compiled object");
}

static void check_entries(struct build *b)
{
	const struct kw_artefact *a = &b->job.out->artefact;
	char message[480];
	struct kw_buf list;

	for (size_t i = 0; i < b->job.bound->kernel_count && b->job.out->cls == KW_V_OK; i++) {
		const char *name = b->job.bound->kernels[i].name;
		int line = i < b->job.c->plan.kernel_count ? b->job.c->plan.kernels[i].line : 0;

		if (kw_elf_has_function(a->code, a->code_bytes, name))
			continue;
		kw_buf_init(&list, 4096);
		kw_elf_list_functions(a->code, a->code_bytes, &list);
		snprintf(message, sizeof(message), "no function '%.100s' is in the object; there %s%.300s", name,
			 list.len ? "is: " : "is none", list.len ? list.ptr : "");
		kw_buf_release(&list);
		kw_build_reject(&b->job, KW_V_LAUNCH_ERROR, KW_S_ENTRY, line, 1, message);
	}
}

/* ---- the parameters ---- */

/* What may stand behind the source. */
static enum kw_status make_suffix(struct build *b, struct kw_error *err)
{
	struct kw_buf text;

	b->suffix = "";
	if (b->job.opts->trusted)
		return KW_OK;
	kw_buf_init(&text, 1 << 20);
	kw_signature_suffix(b->job.c, b->job.bound, &text);
	b->suffix = kw_arena_strndup(&b->job.arena, text.ptr ? text.ptr : "", text.len);
	kw_buf_release(&text);
	return b->suffix ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

/* Without the suffix: what is wrong with a source that does not compile is told best by itself. */
static enum kw_status compile_source(struct build *b, struct kw_error *err)
{
	enum kw_status s = write_source(b, b->suffix, err);

	b->job.diags.aside = KW_SIGNATURE_FILE;
	if (s == KW_OK)
		s = compile(b, true, !b->fast_math, err);
	if (s != KW_OK || b->job.out->cls == KW_V_OK || b->job.diags.aside_errors == 0)
		return s;
	kw_diagnostics_release(&b->job.diags);
	kw_diagnostics_init(&b->job.diags, b->source_path, b->job.c->name);
	b->job.out->cls = KW_V_OK;
	b->job.out->subclass = KW_S_NONE;
	s = write_source(b, "", err);
	return s == KW_OK ? compile(b, true, !b->fast_math, err) : s;
}

/* The compiler had something to say about the declaration behind the source: asks it for the parameters. */
static enum kw_status check_parameters(struct build *b, struct kw_error *err)
{
	static const char *const gcc[] = { PLAIN_FLAG, "-fmax-errors=0" };
	const char *argv[MAX_ARGS + 24];
	struct kw_signature_fault fault;
	struct kw_proc_result r;
	struct kw_buf text;
	size_t n = 0;
	enum kw_status s;

	kw_buf_init(&text, 1 << 20);
	kw_signature_probe(b->job.c, b->job.bound, &text);
	s = text.full ? KW_OK : write_source(b, text.ptr ? text.ptr : "", err);
	if (text.full || s != KW_OK)
		goto out;
	argv[n++] = b->tool.path;
	for (size_t i = 0; i < b->flag_count; i++)
		if (strcmp(b->flags[i], JSON_FLAG) != 0)
			argv[n++] = b->flags[i];
	for (size_t i = 0; !b->tool.clang && i < sizeof(gcc) / sizeof(gcc[0]); i++)
		argv[n++] = gcc[i];
	if (b->tool.clang)
		argv[n++] = "-ferror-limit=0";
	argv[n++] = "-w";
	argv[n++] = "-include";
	argv[n++] = "kw.h";
	argv[n++] = "-fsyntax-only";
	argv[n++] = b->source_path;
	argv[n] = NULL;
	if ((s = run_compiler(b, argv, &r, err)) != KW_OK)
		goto out;
	if (!kw_signature_fits(b->job.c, b->job.bound, b->source_path, (struct kw_str){ r.err.ptr, r.err.len }, &fault))
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_TYPE, fault.line, fault.column, fault.message);
	kw_proc_result_release(&r);
out:
	kw_buf_release(&text);
	return s;
}

static enum kw_status make_object(void *build, struct kw_error *err)
{
	struct build *b = build;
	enum kw_status s = make_folder(b, err);

	if (s == KW_OK)
		s = compile_source(b, err);
	if (s == KW_OK && b->job.out->cls == KW_V_OK && b->job.diags.aside_warnings > 0)
		s = check_parameters(b, err);
	if (s == KW_OK && b->fast_math && b->job.out->cls == KW_V_OK)
		s = compile(b, false, true, err);
	if (s == KW_OK && b->job.out->cls == KW_V_OK)
		s = read_object(b, err);
	if (s == KW_OK && b->job.out->cls == KW_V_OK)
		check_entries(b);
	return s;
}

static enum kw_status add_to_key(void *build, struct kw_hasher *h, struct kw_error *err)
{
	struct build *b = build;
	enum kw_status s;

	choose_flags(b);
	s = make_suffix(b, err);
	if (s != KW_OK)
		return s;
	kw_hasher_addz(h, "compiler", b->tool.path);
	kw_hasher_addz(h, "toolchain", b->tool.identity);
	kw_hasher_addz(h, "cpu", kw_toolchain_cpu());
	for (size_t i = 0; i < b->flag_count; i++)
		kw_hasher_addz(h, "flag", b->flags[i]);
	for (size_t i = 0; i < b->job.bound->kernel_count; i++)
		kw_hasher_addz(h, "kernel", b->job.bound->kernels[i].name);
	kw_hasher_addz(h, "signature", b->suffix);
	return KW_OK;
}

static enum kw_status find(void *build, struct kw_error *err)
{
	struct build *b = build;
	enum kw_status s = kw_toolchain_find(b->job.opts->compiler, &b->tool, err);

	snprintf(b->job.out->artefact.toolchain, sizeof(b->job.out->artefact.toolchain), "%s", b->tool.version);
	return s;
}

static enum kw_status build_c(const struct kw_candidate *c, const struct kw_bound_plan *bound, const struct kw_build_opts *opts,
			      struct kw_build_result *out, struct kw_error *err)
{
	static const struct kw_build_steps steps = {
		.version = "c 1",
		.bytes = sizeof(struct build),
		.arena_bytes = 16 << 20,
		.kind = "elf-so",
		.header = HEADER_PATH,
		.find = find,
		.check = check,
		.key = add_to_key,
		.compile = make_object,
	};

	return kw_build_run(&steps, c, bound, opts, out, err);
}

static enum kw_status probe_c(char *text, size_t text_bytes, struct kw_error *err)
{
	struct kw_toolchain first, second;
	enum kw_status s = kw_toolchain_find(NULL, &first, err);

	if (s != KW_OK)
		return s;
	if (!first.clang && kw_toolchain_find("clang", &second, NULL) == KW_OK)
		snprintf(text, text_bytes, "%s, %s", first.version, second.version);
	else
		snprintf(text, text_bytes, "%s", first.version);
	return KW_OK;
}

extern const struct kw_backend kw_backend_c;
const struct kw_backend kw_backend_c = {
	.name = "c",
	.language = "C17",
	.extensions = ".c",
	.device = "cpu",
	.header = HEADER_PATH,
	.probe = probe_c,
	.build = build_c,
};
