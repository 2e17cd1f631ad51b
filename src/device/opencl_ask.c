/* The judge's side of `kwright __opencl`: asks a child, and remembers which devices there are. */
#include "device/opencl.h"

#include "base/file.h"

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INSTALL "install a runtime: your GPU's driver brings one; for the CPU, PoCL (apt-get install pocl-opencl-icd)"
enum { MAX_QUESTION = 32 << 20, MAX_ANSWER = 128 << 20, PROBE_TIMEOUT_MS = 60000, ENV_MAX = 16 };

/* ---- one question ---- */

/* What loaders and runtimes look at; a sanitizer's leak check needs more than a child may do. */
static size_t make_env(const char *dir, struct kw_arena *a, const char **env)
{
	static const char *const kept[] = { "LD_LIBRARY_PATH", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH",
					    "CUDA_VISIBLE_DEVICES" };
	size_t n = 0;

	env[n++] = "PATH=/usr/local/bin:/usr/bin:/bin";
	env[n++] = "LC_ALL=C";
	env[n++] = "POCL_SIGFPE_HANDLER=0";
	env[n++] = kw_arena_printf(a, "HOME=%s", dir);
	env[n++] = kw_arena_printf(a, "TMPDIR=%s", dir);
	env[n++] = kw_arena_printf(a, "POCL_CACHE_DIR=%s/cache", dir);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (getenv(kept[i]))
			env[n++] = kw_arena_printf(a, "%s=%s", kept[i], getenv(kept[i]));
	if (getenv("ASAN_OPTIONS"))
		env[n++] = "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1";
	return n;
}

static void take_answer(struct kw_cl_answer *out)
{
	const struct kw_buf *b = &out->run.out;
	const char *end = b->len ? memchr(b->ptr, '\n', b->len) : NULL;

	out->timed_out = out->run.timed_out;
	out->signal = out->run.signal;
	if (!end || out->timed_out || out->signal)
		return;
	if (kw_json_parse("opencl", b->ptr, (size_t)(end - b->ptr), &out->head, NULL) != KW_OK ||
	    !json_is_object(out->head)) {
		json_decref(out->head);
		out->head = NULL;
		return;
	}
	out->bytes = end + 1;
	out->len = b->len - (size_t)(end + 1 - b->ptr);
}

enum kw_status kw_cl_ask(const json_t *question, const char *dir, int timeout_ms, int (*before)(void *), void *before_arg,
			 struct kw_cl_answer *out, struct kw_error *err)
{
	const char *const argv[] = { "/proc/self/exe", kw_cl_word, NULL };
	const char *env[ENV_MAX] = { NULL };
	struct kw_arena a;
	struct kw_buf text;
	struct kw_proc_opts o = { .env = env, .cwd = dir, .timeout_ms = timeout_ms, .max_out_bytes = MAX_ANSWER, .tries = 3,
				  .before_exec = before, .before_exec_arg = before_arg };
	enum kw_status s;

	*out = (struct kw_cl_answer){ .head = NULL };
	kw_arena_init(&a, 1 << 20);
	kw_buf_init(&text, MAX_QUESTION);
	make_env(dir, &a, env);
	if (question && kw_json_canonical(question, &text, err) == KW_OK && !text.full) {
		o.in = text.ptr;
		o.in_bytes = text.len;
		s = kw_proc_run(argv, &o, &out->run, err);
		if (s == KW_OK)
			take_answer(out);
	} else {
		s = kw_fail(err, KW_ERR_NOMEM, "", "no memory for the source");
	}
	kw_buf_release(&text);
	kw_arena_release(&a);
	return s;
}

void kw_cl_answer_release(struct kw_cl_answer *a)
{
	json_decref(a->head);
	kw_proc_result_release(&a->run);
	*a = (struct kw_cl_answer){ .head = NULL };
}

/* ---- the devices ---- */

static struct {
	pthread_mutex_t lock;
	bool asked;
	enum kw_status status;
	struct kw_error err;
	struct kw_cl_info list[KW_CL_DEVICES_MAX];
	size_t count;
} machine = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void copy(char *out, size_t out_bytes, const json_t *j, const char *key)
{
	const char *text = kw_json_get_str(j, key, "");

	while (isspace((unsigned char)*text))
		text++;
	snprintf(out, out_bytes, "%s", text);
	for (size_t n = strlen(out); n > 0 && isspace((unsigned char)out[n - 1]); n--)
		out[n - 1] = '\0';
}

static void read_device(struct kw_cl_info *d, const json_t *j)
{
	const json_t *items = json_object_get(j, "group");
	const char *extensions = kw_json_get_str(j, "extensions", "");

	*d = (struct kw_cl_info){ .platform = (uint32_t)kw_json_get_i64(j, "platform", 0),
				  .device = (uint32_t)kw_json_get_i64(j, "device", 0),
				  .cpu = kw_json_get_bool(j, "cpu", false), .gpu = kw_json_get_bool(j, "gpu", false),
				  .compiler = kw_json_get_bool(j, "compiler", false),
				  .units = kw_json_get_i64(j, "units", 0), .clock_mhz = kw_json_get_i64(j, "clock_mhz", 0),
				  .memory_bytes = kw_json_get_i64(j, "memory", 0), .cache_bytes = kw_json_get_i64(j, "cache", 0),
				  .local_bytes = kw_json_get_i64(j, "local", 0),
				  .group_size = kw_json_get_i64(j, "group_size", 0),
				  .base_align_bytes = kw_json_get_i64(j, "align_bits", 1024) / 8 };
	for (size_t i = 0; i < 3; i++)
		d->group[i] = json_integer_value(json_array_get(items, i));
	copy(d->platform_name, sizeof(d->platform_name), j, "platform_name");
	copy(d->platform_version, sizeof(d->platform_version), j, "platform_version");
	copy(d->name, sizeof(d->name), j, "name");
	copy(d->vendor, sizeof(d->vendor), j, "vendor");
	copy(d->version, sizeof(d->version), j, "version");
	copy(d->driver, sizeof(d->driver), j, "driver");
	copy(d->c_version, sizeof(d->c_version), j, "c_version");
	d->pocl = strcmp(d->platform_name, "Portable Computing Language") == 0;
	d->fp64 = strstr(extensions, "cl_khr_fp64") != NULL;
	d->fp16 = strstr(extensions, "cl_khr_fp16") != NULL;
	snprintf(d->identity, sizeof(d->identity), "%s | %s | %s | %s | %s", kw_json_get_str(j, "platform_name", ""),
		 kw_json_get_str(j, "platform_version", ""), kw_json_get_str(j, "name", ""), kw_json_get_str(j, "version", ""),
		 kw_json_get_str(j, "driver", ""));
}

static enum kw_status probe(struct kw_error *err)
{
	char dir[PATH_MAX];
	json_t *question = json_pack("{s:s}", "what", "devices");
	struct kw_cl_answer a;
	const json_t *list, *one;
	enum kw_status s;
	size_t i;

	if ((s = kw_temp_folder("kw-opencl", dir, err)) != KW_OK) {
		json_decref(question);
		return s;
	}
	s = kw_cl_ask(question, dir, PROBE_TIMEOUT_MS, NULL, NULL, &a, err);
	kw_rmtree(dir, NULL);
	json_decref(question);
	if (s != KW_OK)
		return s;
	list = json_object_get(a.head, "devices");
	json_array_foreach(list, i, one)
		if (machine.count < KW_CL_DEVICES_MAX)
			read_device(&machine.list[machine.count++], one);
	if (!a.head)
		s = kw_fail(err, KW_ERR_ENV, "", "the OpenCL runtime %s when it was asked for its devices",
			    a.timed_out ? "did not answer" : "crashed");
	else if (json_object_get(a.head, "error"))
		s = kw_fail(err, KW_ERR_ENV, "", "%s: " INSTALL, kw_json_get_str(a.head, "error", ""));
	else if (machine.count == 0)
		s = kw_fail(err, KW_ERR_ENV, "", "there is an OpenCL loader and no device: " INSTALL);
	kw_cl_answer_release(&a);
	return s;
}

enum kw_status kw_cl_list(const struct kw_cl_info **out, size_t *count, struct kw_error *err)
{
	enum kw_status s;

	pthread_mutex_lock(&machine.lock);
	if (!machine.asked) {
		machine.status = probe(&machine.err);
		machine.asked = machine.status != KW_ERR_INTERRUPTED;
	}
	s = machine.status;
	if (s != KW_OK && err)
		*err = machine.err;
	*out = machine.list;
	*count = s == KW_OK ? machine.count : 0;
	pthread_mutex_unlock(&machine.lock);
	return s;
}

static bool named(const struct kw_cl_info *d, const char *want)
{
	char full[256], numbers[32];

	snprintf(full, sizeof(full), "%s: %s", d->platform_name, d->name);
	snprintf(numbers, sizeof(numbers), "%u:%u", d->platform, d->device);
	return strcmp(numbers, want) == 0 || strcasestr(full, want) != NULL;
}

static enum kw_status find_named(const struct kw_cl_info *list, size_t n, const char *want, struct kw_cl_info *out,
				 struct kw_error *err)
{
	struct kw_buf names;
	enum kw_status s;

	for (size_t i = 0; i < n; i++)
		if (named(&list[i], want)) {
			*out = list[i];
			return KW_OK;
		}
	kw_buf_init(&names, 4096);
	for (size_t i = 0; i < n; i++)
		kw_buf_printf(&names, "%s%u:%u %s: %s", i ? "; " : "", list[i].platform, list[i].device,
			      list[i].platform_name, list[i].name);
	s = kw_fail(err, KW_ERR_USAGE, "KWRIGHT_OPENCL", "no OpenCL device '%.80s' here; there is %.600s", want,
		    names.ptr ? names.ptr : "none");
	kw_buf_release(&names);
	return s;
}

enum kw_status kw_cl_find(struct kw_cl_info *out, struct kw_error *err)
{
	const char *want = getenv("KWRIGHT_OPENCL");
	const struct kw_cl_info *list;
	size_t n, best = 0;
	enum kw_status s = kw_cl_list(&list, &n, err);

	if (s != KW_OK)
		return s;
	if (want && want[0])
		return find_named(list, n, want, out, err);
	while (best < n && !list[best].gpu)
		best++;
	*out = list[best < n ? best : 0];
	return KW_OK;
}
