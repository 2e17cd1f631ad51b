/* The module backend: a Python file with a class ModelNew. Python reads it, in a box, to say whether it is one (python/module_scan.py);
 * where it names load_inline, that is done by the process that compiles what it gives to it (python/module_build.py), which spares
 * a start of Python. It is played as it stands (python/module_player.py).
 *
 * The artefact: a line "kwmodule", a line of JSON ({"source": bytes, "libraries": [{"key", "name", "bytes"}]}), the source, and the
 * libraries in that order. */
#include "backend/backend.h"

#include "backend/diagnostics.h"
#include "backend/job.h"
#include "backend/source.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/proc.h"
#include "device/sandbox.h"
#include "python/python.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BUILDER "python/module_build.py"
#define SCANNER "python/module_scan.py"
#define MAGIC "kwmodule\n"
enum { HEADER_COUNT = 2, DEFAULT_TIMEOUT_MS = 30000, INLINE_TIMEOUT_MS = 300000, MAX_ANSWER = 4 << 20, MAX_LIBRARY = 128 << 20 };

static const char *const header_paths[HEADER_COUNT] = { "src/backend/builtin/kw_torch.h", "src/backend/builtin/kw_torch_python.h" };

struct build {
	struct kw_build_job job;
	struct kw_python_found python;
	char *header[HEADER_COUNT], *builder, *scanner;
	const char *unbuilt;           /* why the builder has no answer; NULL: it has */
	enum kw_subclass unbuilt_as;
};

/* It may: in a comment that is nothing. */
static bool names_inline(const struct build *b)
{
	return memmem(b->job.c->source, b->job.c->source_len, "load_inline", strlen("load_inline")) != NULL;
}

static void judge_scan(struct build *b, const json_t *scan)
{
	const json_t *error = json_object_get(scan, "error"), *classes = json_object_get(scan, "classes");
	char text[300];

	if (error) {
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_SYNTAX, (int)kw_json_get_i64(error, "line", 0), (int)kw_json_get_i64(error, "column", 0),
			   kw_json_get_str(error, "message", "not valid Python"));
		return;
	}
	if (json_array_size(classes) == 0) {
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_UNDEFINED, 0, 0, "there is no class ModelNew (a module), and no `#@ kernel` line (a Triton kernel)");
	} else if (json_array_size(classes) > 1) {
		int second = (int)json_integer_value(json_array_get(classes, 1));

		snprintf(text, sizeof(text), "ModelNew is defined more than once (first in line %d): which one is meant?",
			 (int)json_integer_value(json_array_get(classes, 0)));
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, second, 1, text);
	}
}

/* What the interpreter itself says of the text; a text may keep its parser busy or make it crash. */
static enum kw_status scan(struct build *b, struct kw_error *err)
{
	struct kw_proc_opts o = { .in = b->job.c->source, .in_bytes = b->job.c->source_len, .cwd = "/",
				  .timeout_ms = b->job.opts->timeout_ms ? b->job.opts->timeout_ms : DEFAULT_TIMEOUT_MS,
				  .max_out_bytes = MAX_ANSWER, .before_exec = kw_sandbox_enter };
	const char *const *read = NULL;
	struct kw_proc_result r = { 0 };
	struct kw_sandbox *box = NULL;
	json_t *answer = NULL;
	enum kw_status s = kw_python_folders(b->python.path, &read, err);

	if (s == KW_OK)
		s = kw_sandbox_compiler_new(NULL, read, &box, err);
	o.before_exec_arg = box;
	if (s == KW_OK) {
		const char *argv[] = { b->python.path, "-I", "-S", "-c", b->scanner, b->job.c->name, NULL };

		s = kw_proc_run(argv, &o, &r, err);
	}
	if (s == KW_OK && r.timed_out)
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_TIMEOUT, 0, 0, "Python did not read it in time");
	else if (s == KW_OK && (r.exit_code != 0 || kw_json_parse(b->job.c->name, r.out.ptr, r.out.len, &answer, NULL) != KW_OK))
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_SYNTAX, 0, 0, "Python itself could not read it");
	else if (s == KW_OK)
		judge_scan(b, answer);
	json_decref(answer);
	kw_proc_result_release(&r);
	kw_sandbox_free(box);
	return s;
}

/* ---- load_inline ---- */

/* The first that has a compiler; NULL: none. */
static const char *cuda_home(void)
{
	const char *const homes[] = { getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda" };

	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/bin/nvcc", homes[i] ? homes[i] : "");
		if (homes[i] && kw_path_exists(path))
			return homes[i];
	}
	return NULL;
}

static json_t *make_question(const struct build *b)
{
	const char *gpu = b->job.opts->arch && strncmp(b->job.opts->arch, "sm_", 3) == 0 ? b->job.opts->arch : NULL;
	json_t *headers = json_object();

	for (size_t i = 0; i < HEADER_COUNT; i++)
		json_object_set_new(headers, kw_path_base(header_paths[i]), json_string(b->header[i]));
	return json_pack("{s:s,s:s%,s:s,s:o,s:s?}", "file", b->job.c->name, "source", b->job.c->source, b->job.c->source_len, "scan", b->scanner,
			 "headers", headers, "arch", gpu);
}

static void take_failure(struct build *b, const json_t *answer)
{
	const char *kind = kw_json_get_str(answer, "failed", ""), *log = kw_json_get_str(answer, "log", "");

	b->job.out->cls = KW_V_BUILD_ERROR;
	if (strcmp(kind, "compiler") != 0) {
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, strcmp(kind, "architecture") == 0 ? KW_S_BUILD_ARCHITECTURE : KW_S_INCLUDE, 0, 0, log);
		return;
	}
	kw_diagnostics_parse(&b->job.diags, log, strlen(log), b->job.c->source);
	b->job.out->subclass = kw_diagnostics_class(&b->job.diags);
}

/* The candidate may have run where the answer was made: what it names is a file of that folder, and no way out of it. */
static bool is_own_file(const char *dir, const char *name)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%.*s", dir, NAME_MAX, name);
	return name[0] && !strchr(name, '/') && strlen(name) <= NAME_MAX && lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1;
}

/* The compiler's child has ended, and what it wrote is there. */
static enum kw_status add_libraries(struct build *b, json_t *list, json_t *head, struct kw_buf *blobs, struct kw_error *err)
{
	json_t *out = json_array(), *one;
	enum kw_status s = KW_OK;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *path = kw_arena_printf(&b->job.arena, "%s/%s", b->job.dir, kw_json_get_str(one, "path", ""));
		size_t before = blobs->len;

		if (!is_own_file(b->job.dir, kw_json_get_str(one, "path", ""))) {
			kw_build_reject(&b->job, KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 0, 0, "what it gives to load_inline was not compiled to a library");
			break;
		}
		if (s == KW_OK)
			s = kw_file_read(path, MAX_LIBRARY, blobs, err);
		json_array_append_new(out, json_pack("{s:s,s:s,s:I}", "key", kw_json_get_str(one, "key", ""), "name",
						     kw_json_get_str(one, "name", ""), "bytes", (json_int_t)(blobs->len - before)));
	}
	json_object_set_new(head, "libraries", out);
	return s;
}

static enum kw_status ask_builder(struct build *b, json_t **answer, struct kw_error *err)
{
	struct kw_proc_opts o = { .cwd = b->job.dir, .timeout_ms = b->job.opts->timeout_ms ? b->job.opts->timeout_ms : INLINE_TIMEOUT_MS,
				  .max_out_bytes = MAX_ANSWER, .before_exec = kw_sandbox_enter };
	const char *home = cuda_home();
	const char *env[] = { kw_arena_printf(&b->job.arena, "TMPDIR=%s", b->job.dir), kw_arena_printf(&b->job.arena, "PATH=%s", getenv("PATH")),
			      kw_arena_printf(&b->job.arena, "HOME=%s", b->job.dir), "LC_ALL=C", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1",
			      home ? kw_arena_printf(&b->job.arena, "CUDA_HOME=%s", home) : NULL, NULL };
	const char *const *read;
	struct kw_proc_result r = { 0 };
	struct kw_sandbox *box = NULL;
	json_t *question = make_question(b);
	char *in = question ? json_dumps(question, JSON_COMPACT) : NULL;
	enum kw_status s = KW_OK;

	json_decref(question);
	if (!in) /* no memory, or the text is not UTF-8, which the plain scan says */
		return KW_OK;
	s = kw_python_folders(b->python.path, &read, err);
	if (s == KW_OK)
		s = kw_sandbox_compiler_new(b->job.dir, read, &box, err);
	if (s == KW_OK) {
		const char *argv[] = { b->python.path, "-c", b->builder, NULL };

		kw_sandbox_for_driver(box); /* PyTorch's libraries alone take more addresses than a compiler's box has */
		o.env = env;
		o.in = in;
		o.in_bytes = strlen(in);
		o.before_exec_arg = box;
		s = kw_proc_run(argv, &o, &r, err);
	}
	b->unbuilt_as = r.timed_out ? KW_S_BUILD_TIMEOUT : KW_S_BUILD_RESOURCES;
	if (s == KW_OK && r.timed_out)
		b->unbuilt = "what it gives to load_inline was not compiled in time";
	else if (s == KW_OK && (r.exit_code != 0 || kw_json_parse(b->job.c->name, r.out.ptr, r.out.len, answer, NULL) != KW_OK))
		b->unbuilt = kw_arena_printf(&b->job.arena, "what it gives to load_inline could not be compiled (exit code %d, signal %d): %.200s",
					     r.exit_code, r.signal, r.err.len ? r.err.ptr : "");
	kw_proc_result_release(&r);
	kw_sandbox_free(box);
	free(in);
	return s;
}

/* ---- the artefact ---- */

static enum kw_status take_artefact(struct build *b, json_t *head, const struct kw_buf *blobs, struct kw_error *err)
{
	struct kw_artefact *a = &b->job.out->artefact;
	char *line;
	size_t head_len;

	json_object_set_new(head, "source", json_integer((json_int_t)b->job.c->source_len));
	line = json_dumps(head, JSON_COMPACT | JSON_SORT_KEYS);
	head_len = line ? strlen(line) : 0;
	a->code_bytes = sizeof(MAGIC) - 1 + head_len + 1 + b->job.c->source_len + blobs->len;
	a->code = line ? kw_alloc(a->code_bytes) : NULL;
	if (a->code) {
		char *at = a->code;

		at = (char *)memcpy(at, MAGIC, sizeof(MAGIC) - 1) + sizeof(MAGIC) - 1;
		at = (char *)memcpy(at, line, head_len) + head_len;
		*at++ = '\n';
		at = (char *)memcpy(at, b->job.c->source, b->job.c->source_len) + b->job.c->source_len;
		if (blobs->len)
			memcpy(at, blobs->ptr, blobs->len);
	}
	free(line);
	return a->code ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

static enum kw_status compile(void *build, struct kw_error *err)
{
	struct build *b = build;
	json_t *answer = NULL, *head = json_object();
	struct kw_buf blobs;
	enum kw_status s = KW_OK;

	kw_buf_init(&blobs, (size_t)MAX_LIBRARY * 4);
	if (names_inline(b))
		s = kw_temp_folder("kw-build", b->job.dir, err);
	if (s == KW_OK && names_inline(b))
		s = ask_builder(b, &answer, err);
	if (s == KW_OK && json_object_get(answer, "scan"))
		judge_scan(b, json_object_get(answer, "scan"));
	else if (s == KW_OK)
		s = scan(b, err);
	if (s == KW_OK && b->unbuilt && b->job.out->cls == KW_V_OK)
		kw_build_reject(&b->job, KW_V_BUILD_ERROR, b->unbuilt_as, 0, 0, b->unbuilt);
	else if (s == KW_OK && names_inline(b) && !answer && b->job.out->cls == KW_V_OK)
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (s == KW_OK && b->job.out->cls == KW_V_OK && json_object_get(answer, "failed"))
		take_failure(b, answer);
	else if (s == KW_OK && b->job.out->cls == KW_V_OK)
		s = add_libraries(b, json_object_get(answer, "libraries"), head, &blobs, err);
	if (s == KW_OK && b->job.out->cls == KW_V_OK)
		s = take_artefact(b, head, &blobs, err);
	kw_buf_release(&blobs);
	json_decref(answer);
	json_decref(head);
	return s;
}

static enum kw_status find(void *build, struct kw_error *err)
{
	struct build *b = build;
	enum kw_status s = kw_python_find(KW_PYTHON_TORCH, &b->python, err);

	snprintf(b->job.out->artefact.toolchain, sizeof(b->job.out->artefact.toolchain), "Python %.30s, torch %.60s", b->python.version,
		 b->python.torch);
	for (size_t i = 0; i < HEADER_COUNT && s == KW_OK; i++)
		s = kw_data_read(header_paths[i], &b->job.arena, &b->header[i], NULL, err);
	if (s == KW_OK)
		s = kw_data_read(BUILDER, &b->job.arena, &b->builder, NULL, err);
	if (s == KW_OK)
		s = kw_data_read(SCANNER, &b->job.arena, &b->scanner, NULL, err);
	return s;
}

/* A program as its file tells it: another version is another file. */
static void add_program(struct kw_hasher *h, const char *what, const char *path)
{
	struct stat st;
	char text[PATH_MAX + 64] = "";

	if (stat(path, &st) == 0)
		snprintf(text, sizeof(text), "%s %lld %lld", path, (long long)st.st_size, (long long)st.st_mtime);
	kw_hasher_addz(h, what, text);
}

/* What python/module_build.py calls. */
static void add_compilers(struct kw_hasher *h)
{
	const char *home = cuda_home();
	char path[PATH_MAX];

	add_program(h, "g++", kw_proc_which("g++", path, sizeof(path)) ? path : "");
	add_program(h, "ld.gold", kw_proc_which("ld.gold", path, sizeof(path)) ? path : "");
	snprintf(path, sizeof(path), "%s/bin/nvcc", home ? home : "");
	add_program(h, "nvcc", home ? path : "");
}

static enum kw_status add_to_key(void *build, struct kw_hasher *h, struct kw_error *err)
{
	const struct build *b = build;

	(void)err;
	for (size_t i = 0; i < HEADER_COUNT; i++)
		kw_hasher_addz(h, header_paths[i], b->header[i]);
	kw_hasher_addz(h, "builder", b->builder);
	kw_hasher_addz(h, "scanner", b->scanner);
	kw_hasher_addz(h, "python", b->python.path);
	kw_hasher_addz(h, "version", b->python.version);
	kw_hasher_addz(h, "torch", b->python.torch);
	kw_hasher_addz(h, "triton", b->python.triton);
	if (names_inline(b))
		add_compilers(h);
	kw_hasher_addz(h, "arch", b->job.opts->arch ? b->job.opts->arch : "");
	return KW_OK;
}

static enum kw_status build_module(const struct kw_candidate *c, const struct kw_bound_plan *bound, const struct kw_build_opts *opts,
				   struct kw_build_result *out, struct kw_error *err)
{
	static const struct kw_build_steps steps = {
		.version = "module 4",
		.bytes = sizeof(struct build),
		.arena_bytes = 8 << 20,
		.kind = "module",
		.find = find,
		.key = add_to_key,
		.compile = compile,
	};

	return kw_build_run(&steps, c, bound, opts, out, err);
}

static enum kw_status probe_module(char *text, size_t text_bytes, struct kw_error *err)
{
	struct kw_python_found f;
	enum kw_status s = kw_python_find(KW_PYTHON_TORCH, &f, err);

	if (s == KW_OK)
		snprintf(text, text_bytes, "Python %s, torch %s", f.version, f.torch);
	return s;
}

extern const struct kw_backend kw_backend_module;
const struct kw_backend kw_backend_module = {
	.name = "module",
	.language = "Python (a module)",
	.extensions = ".py",
	.device = "cpu",
	.checker = "nvidia", /* by --device */
	.probe = probe_module,
	.build = build_module,
};
