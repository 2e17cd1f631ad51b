/* NVRTC in a child, and hiprtc, which has its interface. Above the line: the parent, which asks. Below: the child, which loads the
 * library.
 *
 * The question is one JSON object on standard input, the answer one line of JSON, the log and the
 * cubin on standard output. Nothing in the answer is trusted: its sizes are checked, and the cubin
 * is only read by cubin.c. */
#include "backend/cuda.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/proc.h"
#include "device/sandbox.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORD "__nvrtc"
enum {
	MAX_QUESTION = 32 << 20,
	MAX_ANSWER = 96 << 20,
	PROBE_TIMEOUT_MS = 20000,
	MAX_OPTIONS = 160,
	MAX_HEADERS = 64
};

const struct kw_rtc kw_rtc_nvrtc = { .name = "NVRTC",
				     .prefix = "nvrtc",
				     .code_size = "GetCUBINSize",
				     .code = "GetCUBIN",
				     .file = KW_CUDA_FILE,
				     .brings_headers = true };
const struct kw_rtc kw_rtc_nvrtc_ptx = { .name = "NVRTC",
					 .prefix = "nvrtc",
					 .code_size = "GetPTXSize",
					 .code = "GetPTX",
					 .file = KW_CUDA_FILE,
					 .brings_headers = true };
const struct kw_rtc kw_rtc_hiprtc = { .name = "hiprtc",
				      .prefix = "hiprtc",
				      .code_size = "GetCodeSize",
				      .code = "GetCode",
				      .file = "candidate.hip" };

/* ---- the parent ---- */

/* dir: for what the library writes on its way; NULL: it writes nothing. */
static enum kw_status ask(const json_t *question, const char *dir, int timeout_ms,
			  struct kw_proc_result *r, struct kw_error *err)
{
	static const char *const argv[] = { "/proc/self/exe", WORD, NULL };
	const char *env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", NULL, NULL, NULL, NULL };
	struct kw_arena a;
	struct kw_buf text;
	struct kw_proc_opts o = { .env = env,
				  .timeout_ms = timeout_ms,
				  .max_out_bytes = MAX_ANSWER,
				  .tries = 3 };
	enum kw_status s = KW_ERR_NOMEM;
	size_t n = 2;

	kw_arena_init(&a, 1 << 16);
	kw_buf_init(&text, MAX_QUESTION);
	/* Our own libraries may be found by it; a sanitizer's leak check needs more than the child
	 * may do. */
	if (getenv("LD_LIBRARY_PATH"))
		env[n++] = kw_arena_printf(&a, "LD_LIBRARY_PATH=%s", getenv("LD_LIBRARY_PATH"));
	if (dir)
		env[n++] = kw_arena_printf(&a, "TMPDIR=%s", dir);
	if (getenv("ASAN_OPTIONS"))
		env[n] = "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1";
	if (question && kw_json_canonical(question, &text, err) == KW_OK && !text.full) {
		o.in = text.ptr;
		o.in_bytes = text.len;
		s = kw_proc_run(argv, &o, r, err);
	} else {
		kw_fail(err, KW_ERR_NOMEM, "", "no memory for the source");
	}
	kw_buf_release(&text);
	kw_arena_release(&a);
	return s;
}

/* The line of JSON before everything else; NULL when there is none. */
static json_t *first_line(const struct kw_buf *b, size_t *rest)
{
	const char *end = b->len ? memchr(b->ptr, '\n', b->len) : NULL;
	json_t *j = NULL;

	if (!end || kw_json_parse("nvrtc", b->ptr, (size_t)(end - b->ptr), &j, NULL) != KW_OK ||
	    !json_is_object(j)) {
		json_decref(j);
		return NULL;
	}
	*rest = (size_t)(end - b->ptr) + 1;
	return j;
}

enum kw_status kw_nvrtc_probe(const struct kw_rtc *rtc, const char *library,
			      struct kw_cuda_toolkit *out, struct kw_error *err)
{
	json_t *question = json_pack("{s:s,s:s,s:s,s:s}", "library", library, "prefix", rtc->prefix,
				     "code_size", rtc->code_size, "code", rtc->code),
	       *j = NULL;
	const json_t *list, *one;
	struct kw_proc_result r = { 0 };
	size_t rest = 0, i;
	enum kw_status s = ask(question, NULL, PROBE_TIMEOUT_MS, &r, err);

	json_decref(question);
	if (s != KW_OK)
		return s;
	j = first_line(&r.out, &rest);
	list = json_object_get(j, "archs");
	if (!j || json_object_get(j, "error")) {
		s = kw_fail(err, KW_NO, library, "%.300s",
			    kw_json_get_str(j, "error", "it cannot be loaded"));
	} else {
		snprintf(out->nvrtc, sizeof(out->nvrtc), "%s", kw_json_get_str(j, "path", library));
		snprintf(out->version, sizeof(out->version), "%s %d.%d", rtc->name,
			 (int)kw_json_get_i64(j, "major", 0), (int)kw_json_get_i64(j, "minor", 0));
		json_array_foreach(list, i, one) if (out->arch_count < KW_CUDA_ARCHS)
			out->archs[out->arch_count++] = (int)json_integer_value(one);
	}
	json_decref(j);
	kw_proc_result_release(&r);
	return s;
}

static json_t *make_question(const struct kw_cuda_input *in)
{
	json_t *options = json_array(), *headers = json_object(), *read = json_array();
	const struct kw_cuda_toolkit *kit = in->kit;
	const struct kw_rtc *rtc = in->rtc ? in->rtc : &kw_rtc_nvrtc;
	bool bad = !options || !headers || !read;

	for (size_t i = 0; !bad && in->options[i]; i++)
		bad = json_array_append_new(options, json_string(in->options[i])) != 0;
	for (size_t i = 0; !bad && rtc->brings_headers && i < kw_cuda_header_count(); i++) {
		const char *name, *text;

		kw_cuda_header(i, &name, &text);
		bad = json_object_set_new(headers, name, json_string(text)) != 0;
	}
	bad = bad || json_object_set_new(headers, "kw.h", json_string(in->header)) != 0 ||
	      json_array_append_new(read, json_string(kit->library_dir)) != 0;
	for (size_t i = 0; !bad && i < 2; i++)
		bad = kit->include[i][0] &&
		      json_array_append_new(read, json_string(kit->include[i])) != 0;
	if (!bad)
		return json_pack("{s:s,s:s,s:s,s:s,s:s,s:s*,s:o,s:o,s:o,s:s%}", "library",
				 kit->nvrtc, "prefix", rtc->prefix, "code_size", rtc->code_size,
				 "code", rtc->code, "file", rtc->file, "dir", in->dir, "options",
				 options, "headers", headers, "read", read, "source", in->source,
				 in->source_len);
	json_decref(options);
	json_decref(headers);
	json_decref(read);
	return NULL;
}

/* The child could not compile at all, or NVRTC lacks a part of itself: no fault of the source. */
static const char *own_trouble(const json_t *j)
{
	enum { BUILTIN_OPERATION_FAILURE = 7 };
	const char *text = kw_json_get_str(j, "error", NULL);

	return text || kw_json_get_i64(j, "result", 0) != BUILTIN_OPERATION_FAILURE
		       ? text
		       : "a part of it is missing";
}

/* Takes the answer apart; false when it is none, then out->what may say why. */
static bool read_answer(const struct kw_buf *b, struct kw_cuda_output *out)
{
	size_t rest = 0, log, cubin;
	json_t *j = first_line(b, &rest);
	bool good = false;

	if (!j)
		return false;
	log = (size_t)kw_json_get_i64(j, "log", 0);
	cubin = (size_t)kw_json_get_i64(j, "cubin", 0);
	snprintf(out->what, sizeof(out->what), "%s",
		 own_trouble(j) ? own_trouble(j) : kw_json_get_str(j, "what", ""));
	snprintf(out->layers, sizeof(out->layers), "%s", kw_json_get_str(j, "layers", ""));
	if (!own_trouble(j) && log <= b->len - rest && cubin <= b->len - rest - log) {
		out->log = kw_calloc(1, log + 1);
		out->cubin = kw_alloc(cubin ? cubin : 1);
		out->cubin_bytes = cubin;
		good = out->log && out->cubin;
		if (good) {
			memcpy(out->log, b->ptr + rest, log);
			memcpy(out->cubin, b->ptr + rest + log, cubin);
		}
		out->good = good && cubin > 0 && kw_json_get_i64(j, "result", -1) == 0;
	}
	json_decref(j);
	return good;
}

enum kw_status kw_nvrtc_compile(const struct kw_cuda_input *in, struct kw_cuda_output *out,
				struct kw_error *err)
{
	json_t *question = make_question(in);
	struct kw_proc_result r = { 0 };
	enum kw_status s;

	*out = (struct kw_cuda_output){ .good = false };
	s = ask(question, in->dir, in->timeout_ms, &r, err);
	json_decref(question);
	if (s != KW_OK)
		return s;
	out->timed_out = r.timed_out;
	out->signal = r.signal;
	if (!r.timed_out && !r.signal && !read_answer(&r.out, out)) {
		s = kw_fail(err, KW_ERR_ENV, in->kit->nvrtc, "%s cannot compile: %s%.300s",
			    in->rtc ? in->rtc->name : "NVRTC", out->what, r.err.len ? r.err.ptr : "");
		kw_cuda_output_release(out);
	}
	kw_proc_result_release(&r);
	return s;
}

void kw_cuda_output_release(struct kw_cuda_output *o)
{
	kw_free(o->log);
	kw_free(o->cubin);
	*o = (struct kw_cuda_output){ .good = false };
}

/* ---- the child ---- */

/* nvrtcResult is an int; 0 is success. */
struct nvrtc {
	int (*version)(int *major, int *minor);
	const char *(*error_text)(int result);
	int (*arch_count)(int *count); /* since 11.2; NULL: not there */
	int (*archs)(int *list);
	int (*create)(void **program, const char *source, const char *name, int header_count,
		      const char *const *headers, const char *const *names);
	int (*compile)(void *program, int option_count, const char *const *options);
	int (*log_size)(void *program, size_t *bytes);
	int (*log)(void *program, char *out);
	int (*cubin_size)(void *program, size_t *bytes);
	int (*cubin)(void *program, char *out);
};

static int answer_fd = 1;

static _Noreturn void answer(json_t *head, const void *log, size_t log_bytes, const void *cubin,
			     size_t cubin_bytes)
{
	struct kw_buf line;
	bool bad;

	kw_buf_init(&line, 1 << 20);
	bad = !head || kw_json_canonical(head, &line, NULL) != KW_OK;
	kw_buf_addc(&line, '\n');
	bad = bad || kw_fd_write_all(answer_fd, line.ptr, line.len, "", NULL) != KW_OK ||
	      kw_fd_write_all(answer_fd, log, log_bytes, "", NULL) != KW_OK ||
	      kw_fd_write_all(answer_fd, cubin, cubin_bytes, "", NULL) != KW_OK;
	_exit(bad ? 1 : 0);
}

static _Noreturn void answer_error(const char *text)
{
	answer(json_pack("{s:s}", "error", text), "", 0, "", 0);
}

/* POSIX says that a data pointer can hold a function's; C has no cast for it. */
static bool find(void *library, const char *prefix, const char *name, void *out)
{
	char full[80];
	void *at;

	snprintf(full, sizeof(full), "%.30s%.40s", prefix, name);
	at = dlsym(library, full);

	memcpy(out, &at, sizeof(at));
	return at != NULL;
}

static void *load(const json_t *question, struct nvrtc *n)
{
	const char *prefix = kw_json_get_str(question, "prefix", "nvrtc"),
		   *code_size = kw_json_get_str(question, "code_size", ""),
		   *code = kw_json_get_str(question, "code", "");
	void *library =
		dlopen(kw_json_get_str(question, "library", ""), RTLD_NOW | RTLD_GLOBAL);

	*n = (struct nvrtc){ .version = NULL };
	if (!library)
		answer_error(dlerror());
	if (!find(library, prefix, "Version", &n->version) ||
	    !find(library, prefix, "GetErrorString", &n->error_text) ||
	    !find(library, prefix, "CreateProgram", &n->create) ||
	    !find(library, prefix, "CompileProgram", &n->compile) ||
	    !find(library, prefix, "GetProgramLogSize", &n->log_size) ||
	    !find(library, prefix, "GetProgramLog", &n->log) ||
	    !find(library, prefix, code_size, &n->cubin_size) ||
	    !find(library, prefix, code, &n->cubin))
		answer_error(strcmp(prefix, "nvrtc") == 0 ? "it is no NVRTC of CUDA 11.1 or later"
							  : "it has not all functions of hiprtc");
	find(library, prefix, "GetNumSupportedArchs", &n->arch_count);
	find(library, prefix, "GetSupportedArchs", &n->archs);
	return library;
}

static _Noreturn void answer_probe(void *library, const struct nvrtc *n)
{
	struct link_map *map = NULL;
	json_t *list = json_array();
	int major = 0, minor = 0, count = 0, archs[KW_CUDA_ARCHS] = { 0 };

	n->version(&major, &minor);
	if (n->arch_count && n->archs && n->arch_count(&count) == 0 && count > 0 &&
	    count <= KW_CUDA_ARCHS && n->archs(archs) == 0)
		for (int i = 0; i < count; i++)
			json_array_append_new(list, json_integer(archs[i]));
	dlinfo(library, RTLD_DI_LINKMAP, &map);
	answer(json_pack("{s:i,s:i,s:o,s:s}", "major", major, "minor", minor, "archs", list, "path",
			 map && map->l_name ? map->l_name : ""),
	       "", 0, "", 0);
}

/* NVRTC opens its second library by its bare name when it compiles; then the loader's own files
 * cannot be read any more. Loaded now, it is found by its name. Not there: NVRTC says so. */
static void load_builtins(void *library, const struct nvrtc *n)
{
	struct link_map *map = NULL;
	const char *slash;
	char path[KW_CUDA_PATH + 64];
	int major = 0, minor = 0;

	n->version(&major, &minor);
	if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map ||
	    !(slash = strrchr(map->l_name, '/')))
		return;
	snprintf(path, sizeof(path), "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - map->l_name),
		 map->l_name, major, minor);
	dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

static size_t strings(const json_t *list, const char **out, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(list) && n + 1 < max; i++)
		out[n++] = json_string_value(json_array_get(list, i));
	out[n] = NULL;
	return n;
}

/* Only now is the candidate's text looked at. */
static void lock_down(const json_t *question, char *layers, size_t layers_bytes)
{
	const char *read[8], *dir = kw_json_get_str(question, "dir", NULL);
	struct kw_sandbox *box;

	strings(json_object_get(question, "read"), read, 8);
	if ((dir ? kw_sandbox_compiler_new(dir, read, &box, NULL)
		 : kw_sandbox_library_new(read, &box, NULL)) != KW_OK ||
	    kw_sandbox_enter(box) != 0)
		answer_error("the compiler's box cannot be entered");
	snprintf(layers, layers_bytes, "%s", kw_sandbox_layers(box));
}

static _Noreturn void compile(const json_t *question, const struct nvrtc *n)
{
	const char *options[MAX_OPTIONS], *names[MAX_HEADERS], *texts[MAX_HEADERS], *name, *source;
	size_t option_count = strings(json_object_get(question, "options"), options, MAX_OPTIONS),
	       log_bytes = 0, bytes = 0;
	int header_count = 0, result;
	char layers[160], *log, *cubin;
	void *program = NULL;
	json_t *one;

	lock_down(question, layers, sizeof(layers));
	json_object_foreach(json_object_get(question, "headers"), name, one)
	{
		if (header_count == MAX_HEADERS)
			break;
		names[header_count] = name;
		texts[header_count++] = json_string_value(one);
	}
	source = json_string_value(json_object_get(question, "source"));
	result =
		n->create(&program, source ? source : "",
			  kw_json_get_str(question, "file", KW_CUDA_FILE), header_count, texts, names);
	if (result == 0)
		result = n->compile(program, (int)option_count, options);
	if (!program || n->log_size(program, &log_bytes) != 0)
		log_bytes = 0;
	if (result != 0 || n->cubin_size(program, &bytes) != 0)
		bytes = 0;
	log = kw_calloc(1, log_bytes + 1);
	cubin = kw_calloc(1, bytes + 1);
	if (!log || !cubin)
		answer_error("out of memory");
	if (log_bytes)
		n->log(program, log);
	if (bytes)
		n->cubin(program, cubin);
	log_bytes = strlen(log);
	answer(json_pack("{s:i,s:s,s:I,s:I,s:s}", "result", result, "what", n->error_text(result),
			 "log", (json_int_t)log_bytes, "cubin", (json_int_t)bytes, "layers",
			 layers),
	       log, log_bytes, cubin, bytes);
}

static _Noreturn void nvrtc_main(void)
{
	struct kw_buf text;
	json_t *question = NULL;
	struct nvrtc n;
	char part[1 << 16];
	ssize_t got;
	void *library;

	/* What the library prints must not be taken for the answer. */
	answer_fd = fcntl(1, F_DUPFD_CLOEXEC, 3);
	if (answer_fd < 0 || dup2(2, 1) < 0)
		_exit(1);
	kw_buf_init(&text, MAX_QUESTION);
	while ((got = read(0, part, sizeof(part))) > 0)
		kw_buf_add(&text, part, (size_t)got);
	if (text.full ||
	    kw_json_parse("question", text.ptr ? text.ptr : "", text.len, &question, NULL) != KW_OK)
		answer_error("the question cannot be read");
	library = load(question, &n);
	if (!json_object_get(question, "source"))
		answer_probe(library, &n);
	load_builtins(library, &n);
	compile(question, &n);
}

/* Before main, as in spawn.c: test programs need no line for it. */
__attribute__((constructor)) static void become_nvrtc(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], WORD) == 0)
		nvrtc_main();
}
