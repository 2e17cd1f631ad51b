#include "backend/triton_asked.h"

#include "backend/cache.h"
#include "backend/cubin.h"
#include "backend/triton.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	WANTS = KW_PYTHON_TORCH | KW_PYTHON_TRITON,
	LEAST_SM = 75,
	AT_ONCE = 32 /* as in python/triton_module.py */,
	MOST_KERNELS = 512,
	MOST_ASKED = 50000,
	MOST_AHEAD = 8,
	MAX_OBJECT = 32 << 20,
	MAX_QUESTION = 8 << 20
};
#define BUDGET_NS ((int64_t)300 * 1000000000) /* of all that a candidate has compiled */

/* What was asked for before. */
struct known {
	struct known *next;
	char key[KW_SHA256_HEX];
	json_t *head; /* {"metadata"} or {"errors"} */
	void *code;   /* NULL: it was refused */
	size_t bytes;
};

struct kw_triton_asked {
	struct kw_triton_asked *next; /* that waits too */
	struct kw_python_found python;
	int sm;
	char dir[PATH_MAX];
	struct kw_python *process;
	pthread_t starter;
	bool starting;
	enum kw_status started;
	struct kw_error why; /* it did not start */
	struct known *known;
	bool ran_code; /* a text of the candidate's was run by the compiler, not only read */
	struct kw_triton_asked_count count;
};

/* ---- its process ---- */

static void *start(void *arg)
{
	struct kw_triton_asked *t = arg;

	t->started = kw_triton_start("triton_asked", t->dir, WANTS, &t->process, &t->why);
	return NULL;
}

static void begin(struct kw_triton_asked *t)
{
	kw_error_reset(&t->why);
	t->starting = pthread_create(&t->starter, NULL, start, t) == 0;
	if (!t->starting)
		start(t);
}

static void await_start(struct kw_triton_asked *t)
{
	if (t->starting)
		pthread_join(t->starter, NULL);
	t->starting = false;
}

static enum kw_status make(int sm, struct kw_triton_asked **out, struct kw_error *err)
{
	struct kw_triton_asked *t = kw_calloc(1, sizeof(*t));
	enum kw_status s;

	*out = t;
	if (!t)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	t->sm = sm;
	s = kw_python_find(WANTS, &t->python, err);
	if (s == KW_OK)
		s = kw_temp_folder("kw-build", t->dir, err);
	if (s == KW_OK)
		begin(t);
	return s;
}

/* ---- those that wait for a candidate ---- */

static struct {
	pthread_mutex_t lock;
	struct kw_triton_asked *first;
	pid_t owner; /* a fork of ours has none */
} ahead = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void own_ahead(void)
{
	if (ahead.owner != getpid())
		ahead.first = NULL;
	ahead.owner = getpid();
}

static int sm_of(const char *arch)
{
	int sm;

	return arch && sscanf(arch, "sm_%d", &sm) == 1 && sm >= LEAST_SM ? sm : 0;
}

/* Not one of another interpreter, nor one that did not start or was ended meanwhile. */
static bool is_of_use(const struct kw_triton_asked *t)
{
	struct kw_python_found now;
	siginfo_t info = { 0 };

	if (kw_python_find(WANTS, &now, NULL) != KW_OK || strcmp(now.path, t->python.path) != 0)
		return false;
	return t->starting || (t->started == KW_OK && waitid(P_PID, (id_t)kw_python_pid(t->process), &info,
							      WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0);
}

/* sm: 0, all. */
static void drop_ahead(int sm)
{
	struct kw_triton_asked **at = &ahead.first, *t;

	while ((t = *at) != NULL)
		if (sm == t->sm) {
			at = &t->next;
		} else {
			*at = t->next;
			kw_triton_asked_free(t);
		}
}

void kw_triton_asked_ahead(const char *arch, int count)
{
	int sm = sm_of(arch), have = 0;
	struct kw_triton_asked *t;

	if (!sm || count <= 0)
		return;
	pthread_mutex_lock(&ahead.lock);
	own_ahead();
	drop_ahead(sm);
	for (t = ahead.first; t; t = t->next)
		have++;
	for (; have < count && have < MOST_AHEAD; have++) {
		if (make(sm, &t, NULL) != KW_OK) {
			kw_triton_asked_free(t);
			break;
		}
		t->next = ahead.first;
		ahead.first = t;
	}
	pthread_mutex_unlock(&ahead.lock);
}

void kw_triton_asked_ready(void)
{
	pthread_mutex_lock(&ahead.lock);
	own_ahead();
	for (struct kw_triton_asked *t = ahead.first; t; t = t->next)
		await_start(t);
	pthread_mutex_unlock(&ahead.lock);
}

void kw_triton_asked_dismiss(void)
{
	pthread_mutex_lock(&ahead.lock);
	own_ahead();
	drop_ahead(0);
	pthread_mutex_unlock(&ahead.lock);
}

static struct kw_triton_asked *take_ahead(int sm)
{
	struct kw_triton_asked *t;

	pthread_mutex_lock(&ahead.lock);
	own_ahead();
	drop_ahead(sm);
	while ((t = ahead.first) != NULL) {
		ahead.first = t->next;
		if (is_of_use(t))
			break;
		kw_triton_asked_free(t);
	}
	pthread_mutex_unlock(&ahead.lock);
	return t;
}

enum kw_status kw_triton_asked_new(const char *arch, struct kw_triton_asked **out,
				   struct kw_error *err)
{
	int sm = sm_of(arch);

	*out = NULL;
	if (!sm)
		return kw_fail(err, KW_ERR_ENV, "",
			       "Triton does not build for %s (it does from sm_%d on)",
			       arch ? arch : "this device", LEAST_SM);
	*out = take_ahead(sm);
	return *out ? KW_OK : make(sm, out, err);
}

void kw_triton_asked_free(struct kw_triton_asked *t)
{
	if (!t)
		return;
	await_start(t);
	kw_python_stop(t->process);
	while (t->known) {
		struct known *k = t->known;

		t->known = k->next;
		json_decref(k->head);
		kw_free(k->code);
		kw_free(k);
	}
	if (t->dir[0])
		kw_rmtree(t->dir, NULL);
	kw_free(t);
}

int kw_triton_asked_sm(const struct kw_triton_asked *t)
{
	return t->sm;
}

struct kw_triton_asked_count kw_triton_asked_count(const struct kw_triton_asked *t)
{
	return t->count;
}

/* ---- what is there already ---- */

static enum kw_status key_of(const struct kw_triton_asked *t, const json_t *kernel,
			     char key[KW_SHA256_HEX], struct kw_error *err)
{
	struct kw_hasher h;
	struct kw_buf text;
	enum kw_status s;

	if (kw_hasher_init(&h) != 0)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_hasher_addz(&h, "backend", "triton asked 1");
	kw_hasher_addi(&h, "sm", t->sm);
	s = kw_triton_hash(&h, &t->python, "python/triton_asked.py", err);
	kw_buf_init(&text, MAX_QUESTION);
	if (s == KW_OK)
		s = kw_json_canonical(kernel, &text, err);
	kw_hasher_add(&h, "kernel", text.ptr ? text.ptr : "", text.len);
	kw_buf_release(&text);
	kw_hasher_final(&h, key);
	return s;
}

/* Takes head and code. */
static struct known *remember(struct kw_triton_asked *t, const char *key, json_t *head, void *code,
			      size_t bytes)
{
	struct known *k = head ? kw_calloc(1, sizeof(*k)) : NULL;

	if (!k) {
		json_decref(head);
		kw_free(code);
		return NULL;
	}
	*k = (struct known){ .next = t->known, .head = head, .code = code, .bytes = bytes };
	snprintf(k->key, sizeof(k->key), "%s", key);
	t->known = k;
	return k;
}

static struct known *find(struct kw_triton_asked *t, const char *key)
{
	struct kw_artefact a = { 0 };
	struct known *k = t->known;
	const char *metadata;

	while (k && strcmp(k->key, key) != 0)
		k = k->next;
	if (k || !kw_cache_get(key, &a))
		return k;
	metadata = kw_json_get_str(a.facts, "metadata", NULL);
	if (metadata) {
		k = remember(t, key, json_pack("{s:s}", "metadata", metadata), a.code,
			     a.code_bytes);
		a.code = NULL;
	}
	kw_artefact_release(&a);
	return k;
}

/* Others get what is kept. A compiler that ran a candidate's own code (a constexpr function) may
 * have been changed by it, so what comes from then on stays with this candidate. */
static void keep(const struct kw_triton_asked *t, const struct known *k)
{
	struct kw_artefact a = {
		.kind = "cubin", .code = k->code, .code_bytes = k->bytes, .log = (char[]){ "" }
	};

	if (!k->code || t->ran_code)
		return;
	snprintf(a.toolchain, sizeof(a.toolchain), "Triton %.60s", t->python.triton);
	a.facts = json_incref(k->head);
	kw_cache_put(k->key, &a);
	json_decref(a.facts);
}

/* ---- what is not ---- */

struct wanted {
	json_t *kernel; /* borrowed */
	char key[KW_SHA256_HEX];
	struct known *known;
	int fd; /* where its object will be; -1: it is there */
};

static json_t *failure(const char *cls, const char *message)
{
	return json_pack("{s:[{s:s,s:i,s:i,s:s}]}", "errors", "class", cls, "line", 0, "column", 0,
			 "message", message);
}

/* What the compiler left in a memory file, which its process no longer writes to or does at its own
 * risk: this is a copy. */
static void *read_object(int fd, size_t *bytes)
{
	struct stat st;
	char *code = NULL;
	size_t done = 0;

	if (fstat(fd, &st) != 0 || st.st_size <= 0 || st.st_size > MAX_OBJECT)
		return NULL;
	*bytes = (size_t)st.st_size;
	code = kw_alloc(*bytes);
	while (code && done < *bytes) {
		ssize_t n = pread(fd, code + done, *bytes - done, (off_t)done);

		if (n <= 0) {
			kw_free(code);
			return NULL;
		}
		done += (size_t)n;
	}
	return code;
}

static bool is_object(const void *code, size_t bytes, const char *metadata)
{
	struct kw_cubin_kernel k;
	struct kw_cubin cubin;
	json_t *facts = NULL;
	bool several,
		good = kw_json_parse("metadata", metadata, strlen(metadata), &facts, NULL) ==
			       KW_OK &&
		       kw_cubin_open(&cubin, code, bytes) &&
		       kw_cubin_kernel(&cubin, kw_json_get_str(facts, "name", ""), &k, &several);

	json_decref(facts);
	return good;
}

static void take(struct kw_triton_asked *t, struct wanted *w, const json_t *one)
{
	const char *metadata = kw_json_get_str(one, "metadata", NULL);
	size_t bytes = 0;
	void *code = metadata ? read_object(w->fd, &bytes) : NULL;

	if (code && is_object(code, bytes, metadata)) {
		w->known =
			remember(t, w->key, json_pack("{s:s}", "metadata", metadata), code, bytes);
		t->count.compiled++;
		if (w->known)
			keep(t, w->known);
		return;
	}
	kw_free(code);
	w->known =
		remember(t, w->key,
			 json_array_size(json_object_get(one, "errors"))
				 ? json_deep_copy(one)
				 : failure("type", "what Triton's compiler made is no CUDA object"),
			 NULL, 0);
}

/* The compiler was ended: a new one for the next question, if there is one. */
static enum kw_status start_again(struct kw_triton_asked *t)
{
	kw_python_stop(t->process);
	t->process = NULL;
	begin(t);
	return KW_OK;
}

static enum kw_status compile(struct kw_triton_asked *t, struct wanted *w, size_t n,
			      struct kw_error *err)
{
	int fds[AT_ONCE];
	size_t of[AT_ONCE], count = 0;
	struct kw_python_answer a = { 0 };
	json_t *list = json_array(), *answers;
	enum kw_status s;

	for (size_t i = 0; i < n; i++)
		if (!w[i].known && w[i].fd >= 0) {
			fds[count] = w[i].fd;
			of[count++] = i;
			json_array_append(list, w[i].kernel);
		}
	await_start(t);
	if (t->started != KW_OK) {
		json_decref(list);
		if (err)
			*err = t->why;
		return t->started;
	}
	s = kw_python_ask(t->process, json_pack("{s:i,s:o}", "sm", t->sm, "kernels", list), fds,
			  count, (int)((BUDGET_NS - t->count.wall_ns) / 1000000), &a, err);
	if (s == KW_OK && a.end == KW_PYTHON_ANSWERED && kw_json_get_str(a.json, "unusable", NULL))
		s = kw_fail(err, KW_ERR_ENV, t->python.path, "%.400s",
			    kw_json_get_str(a.json, "unusable", ""));
	answers = a.end == KW_PYTHON_ANSWERED ? json_object_get(a.json, "kernels") : NULL;
	for (size_t i = 0; i < count && s == KW_OK; i++) {
		if (answers)
			take(t, &w[of[i]], json_array_get(answers, i));
		else
			w[of[i]].known = remember(
				t, w[of[i]].key,
				failure(a.end == KW_PYTHON_TIMEOUT ? "timeout" : "resources",
					a.text),
				NULL, 0);
	}
	if (s == KW_OK && a.end != KW_PYTHON_ANSWERED && a.end != KW_PYTHON_RAISED)
		s = start_again(t);
	kw_python_answer_release(&a);
	return s;
}

/* ---- a question ---- */

static bool runs_code(const json_t *kernel)
{
	const json_t *functions = json_object_get(kernel, "functions"), *one;
	size_t i;

	json_array_foreach(functions, i, one)
		if (strcmp(kw_json_get_str(one, "kind", ""), "jit") != 0)
			return true;
	return false;
}

static void end_it(struct kw_ask_end *end, enum kw_subclass what, const char *why)
{
	end->what = what;
	snprintf(end->why, sizeof(end->why), "%s", why);
}

static enum kw_status write_answer(const struct wanted *w, size_t n, struct kw_buf *answer,
				   struct kw_error *err)
{
	json_t *list = json_array();
	char *line;

	for (size_t i = 0; i < n; i++) {
		json_t *head = json_deep_copy(w[i].known->head);

		json_object_set_new(head, "bytes", json_integer((json_int_t)w[i].known->bytes));
		json_array_append_new(list, head);
	}
	list = json_pack("{s:o}", "kernels", list);
	line = list ? json_dumps(list, JSON_COMPACT) : NULL;
	json_decref(list);
	if (line)
		kw_buf_addz(answer, line);
	kw_buf_addc(answer, '\n');
	free(line);
	for (size_t i = 0; i < n; i++)
		kw_buf_add(answer, w[i].known->code, w[i].known->bytes);
	return line && !answer->full
		       ? KW_OK
		       : kw_fail(err, KW_ERR_NOMEM, "", "no memory for compiled Triton kernels");
}

static enum kw_status answer_all(struct kw_triton_asked *t, struct wanted *w, size_t n,
				 struct kw_buf *answer, struct kw_error *err)
{
	enum kw_status s = KW_OK;
	bool missing = false;

	for (size_t i = 0; i < n && s == KW_OK; i++) {
		s = key_of(t, w[i].kernel, w[i].key, err);
		w[i].known = s == KW_OK ? find(t, w[i].key) : NULL;
		if (s == KW_OK && !w[i].known &&
		    (w[i].fd = memfd_create("kernel", MFD_CLOEXEC)) < 0)
			s = kw_fail(err, KW_ERR_ENV, "", "cannot make a memory file: %s",
				    strerror(errno));
		t->count.different += !w[i].known;
		missing = missing || !w[i].known;
	}
	if (s == KW_OK && missing)
		s = compile(t, w, n, err);
	for (size_t i = 0; i < n; i++) {
		if (s == KW_OK && !w[i].known)
			s = kw_fail(err, KW_ERR_NOMEM, "", "no memory for compiled Triton kernels");
		if (w[i].fd >= 0)
			close(w[i].fd);
	}
	return s == KW_OK ? write_answer(w, n, answer, err) : s;
}

enum kw_status kw_triton_asked(void *arg, const char *question, size_t len, struct kw_buf *answer,
			       struct kw_ask_end *end, struct kw_error *err)
{
	struct kw_triton_asked *t = arg;
	struct wanted w[AT_ONCE] = { 0 };
	int64_t begin_ns = kw_now_ns();
	json_t *asked = NULL, *list;
	enum kw_status s = KW_OK;
	size_t n;

	end->what = KW_S_NONE;
	list = kw_json_parse("question", question, len, &asked, NULL) == KW_OK
		       ? json_object_get(asked, "kernels")
		       : NULL;
	n = json_array_size(list);
	if (n == 0 || n > AT_ONCE) {
		end_it(end, KW_S_FORGED,
		       "it asked for kernels in a way that its player never does");
	} else if ((t->count.asked += (int)n) > MOST_ASKED || t->count.different > MOST_KERNELS) {
		end_it(end, KW_S_CONFIGURATION,
		       "its Triton kernels are compiled again and again: it has asked for more "
		       "than 512 different ones. What differs "
		       "from call to call is no tl.constexpr");
	} else if (t->count.wall_ns >= BUDGET_NS) {
		end_it(end, KW_S_BUILD_TIMEOUT,
		       "its Triton kernels took more than 300 s to compile");
	} else {
		for (size_t i = 0; i < n; i++) {
			w[i] = (struct wanted){ .kernel = json_array_get(list, i), .fd = -1 };
			t->ran_code = t->ran_code || runs_code(w[i].kernel);
		}
		s = answer_all(t, w, n, answer, err);
	}
	t->count.wall_ns += kw_now_ns() - begin_ns;
	json_decref(asked);
	return s;
}
