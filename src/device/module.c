#include "device/module.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "device/importer.h"
#include "device/module_inside.h"
#include "device/play.h"
#include "device/sandbox.h"
#include "device/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- the zygote ---- */

/* One for candidates, in a box, and one for what is trusted. */
static struct zygote {
	pthread_mutex_t lock;
	bool there;
	pid_t owner;                   /* a fork of ours has none */
	bool driver;                   /* for players with one */
	char python[4096];
	struct kw_child child;
} zygotes[2] = { { .lock = PTHREAD_MUTEX_INITIALIZER }, { .lock = PTHREAD_MUTEX_INITIALIZER } };
enum { FLAG_DRIVER = 1, FLAG_TRUSTED = 2, FLAG_TRITON = 4, FLAG_INTERPRETER = 8 };

static unsigned flags_of(bool driver, bool trusted)
{
	return (driver ? FLAG_DRIVER : 0u) | (trusted ? FLAG_TRUSTED : 0u);
}

static enum kw_status memory_file(const char *name, const void *bytes, size_t len, int *fd, struct kw_error *err)
{
	*fd = memfd_create(name, MFD_CLOEXEC);
	if (*fd < 0)
		return kw_fail(err, KW_ERR_ENV, "", "cannot make a memory file: %s", strerror(errno));
	if (len && (write(*fd, bytes, len) != (ssize_t)len || lseek(*fd, 0, SEEK_SET) != 0)) {
		close(*fd);
		*fd = -1;
		return kw_fail(err, KW_ERR_NOMEM, "", "cannot write to memory: %s", strerror(errno));
	}
	return KW_OK;
}

/* The filter of the players: it is made here, where there is a library for it. */
static enum kw_status send_filter(struct kw_child *c, unsigned flags, struct kw_error *err)
{
	struct kw_seccomp_filter f;
	uint32_t first[2] = { WIRE_SPEC, flags };
	int fd = -1;
	enum kw_status st;

	kw_seccomp_module(&f);
	st = memory_file("filter", f.code, (size_t)f.count * 8 /* sizeof(struct sock_filter) */, &fd, err);
	if (st == KW_OK)
		st = kw_child_send(c, first, sizeof(first), &fd, 1, err);
	if (fd >= 0)
		close(fd);
	kw_seccomp_filter_release(&f);
	return st;
}

static enum kw_status await(struct kw_child *c, int timeout_ms, struct wire_reply *r, const char *what, struct kw_error *err)
{
	int64_t when;
	enum kw_got g = kw_child_await(c, kw_now_ns() + (int64_t)timeout_ms * 1000000, r, sizeof(*r), &when);

	r->text[sizeof(r->text) - 1] = '\0';
	if (g == KW_GOT_INTERRUPTED)
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	if (g != KW_GOT_REPLY)
		return kw_fail(err, KW_ERR_ENV, "", "%s (%s)", what, g == KW_GOT_TIMEOUT ? "no answer" : "it ended");
	if (r->kind == WIRE_MACHINE)
		return kw_fail(err, KW_ERR_ENV, "", "%s: %s", what, r->text);
	return KW_OK;
}

/* control becomes the zygote's end of the channel. */
static enum kw_status spawn_zygote(struct kw_child *c, const struct kw_module_host *h, struct kw_sandbox *box, int control,
				   struct kw_error *err)
{
	struct kw_importer_copy copy = { .python = h->python, .channel = control, .script = h->script, .script_len = h->script_len,
					 .box = box, .env = h->trusted ? (const char *const *)environ : NULL, .cwd = "/" };
	struct kw_spawn_python o = { .path = h->python, .script = -1, .box = box, .trusted = h->trusted };
	pid_t pid = kw_importer_copy(&copy);
	enum kw_status st;

	if (pid > 0)
		return kw_child_adopt(c, pid, c->control, 0, err);
	st = memory_file("script", h->script, h->script_len, &o.script, err);
	if (st == KW_OK) {
		st = kw_spawn_python(control, &o, &c->process, err);
		close(o.script);
	}
	return st;
}

/* killed: by which signal somebody else ended it meanwhile, which says why it did not start. */
static enum kw_status start_zygote(struct zygote *z, const struct kw_module_host *h, bool driver, int *killed, struct kw_error *err)
{
	struct kw_sandbox *box = NULL;
	struct wire_reply r;
	enum kw_status st;
	int pair[2];

	kw_child_init(&z->child);
	/* A driver wants its files and /proc until it has a context: its players give them up themselves. */
	st = driver || h->trusted ? KW_OK : kw_sandbox_reader_new(h->read, &box, err);
	if (st == KW_OK && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		st = kw_fail(err, KW_ERR_ENV, "", "cannot make a socket: %s", strerror(errno));
	if (st == KW_OK) {
		z->child.control = pair[0];
		st = spawn_zygote(&z->child, h, box, pair[1], err);
		close(pair[1]);
	}
	if (st == KW_OK)
		st = send_filter(&z->child, flags_of(driver, h->trusted), err);
	if (st == KW_OK)
		st = await(&z->child, ZYGOTE_TIMEOUT_MS, &r,
			   h->trusted ? "the Python that runs baselines did not start" : "the Python that runs modules did not start", err);
	kw_sandbox_free(box);
	if (st != KW_OK) {
		*killed = kw_child_killed_early(&z->child);
		kw_child_close(&z->child);
		return st;
	}
	z->there = true;
	z->owner = getpid();
	z->driver = driver;
	snprintf(z->python, sizeof(z->python), "%s", h->python);
	return KW_OK;
}

/* A zygote that was ended from outside is started again. */
static enum kw_status need_zygote(struct zygote *z, const struct kw_module_host *h, bool driver, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	if (z->there && z->owner != getpid())
		z->there = false;
	if (z->there && (strcmp(z->python, h->python) != 0 || z->driver != driver || kw_child_has_ended(&z->child))) {
		kw_child_close(&z->child);
		z->there = false;
	}
	for (int i = 0, killed; !z->there && i < KW_START_TRIES; i++) {
		killed = 0;
		if (i > 0 && err)
			kw_error_reset(err);
		st = start_zygote(z, h, driver, &killed, err);
		if (st != KW_OK && !killed)
			return st;
		if (st != KW_OK && i == KW_START_TRIES - 1)
			return kw_child_killed_each_time(killed, err);
	}
	return st;
}

static unsigned triton_flags(const struct kw_module_host *h)
{
	return (h->triton ? FLAG_TRITON : 0u) | (h->interpreted ? FLAG_INTERPRETER : 0u);
}

/* gpu: of which a context is wanted before there is a session, and an answer when it is there; -1: none. */
static enum kw_status fork_player(struct zygote *z, const struct kw_module_host *h, int gpu, int control, pid_t *pid, unsigned *layers,
				  struct kw_error *err)
{
	uint32_t fork_it[3] = { WIRE_FORK, flags_of(z->driver, h->trusted) | triton_flags(h), (uint32_t)(gpu + 1) };
	struct wire_reply r;
	enum kw_status st = kw_child_send(&z->child, fork_it, sizeof(fork_it), &control, 1, err);

	if (st == KW_OK) /* it may have to import something first, or be at it */
		st = await(&z->child, ZYGOTE_TIMEOUT_MS, &r, "a player did not start", err);
	if (st != KW_OK || r.kind != WIRE_FORKED || r.number <= 0)
		return st == KW_OK ? kw_fail(err, KW_ERR_ENV, "", "a player did not start: unexpected answer") : st;
	*pid = r.number;
	*layers = r.layers;
	return KW_OK;
}

/* ---- what is trusted stays ---- */

/* Players of baselines between sessions: what PyTorch has compiled need not be compiled again. */
enum { RESIDENT = 8 };
static struct resident {
	struct kw_child child;
	char *key;                     /* NULL: free */
	bool copies;
	unsigned long turn;
} residents[RESIDENT];
static pthread_mutex_t residents_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long residents_turn;
static pid_t residents_owner;

static void dismiss(struct resident *r)
{
	kw_child_close(&r->child);
	kw_free(r->key);
	r->key = NULL;
}

static void own_residents(void)
{
	for (int i = 0; i < RESIDENT && residents_owner != getpid(); i++)
		residents[i].key = NULL; /* of the process that this is a fork of */
	residents_owner = getpid();
}

static bool take_resident(struct kw_module *m, struct kw_child *c)
{
	bool found = false;

	pthread_mutex_lock(&residents_lock);
	own_residents();
	for (int i = 0; i < RESIDENT && !found; i++) {
		struct resident *r = &residents[i];

		if (!r->key || strcmp(r->key, m->key) != 0)
			continue;
		if (kw_child_has_ended(&r->child)) {
			dismiss(r);
			continue;
		}
		found = true;
		*c = r->child;
		kw_free(r->key);
		r->key = NULL;
		kw_child_go(c);
	}
	pthread_mutex_unlock(&residents_lock);
	return found;
}

/* It gives up the memory of the session, which is the device's. */
static bool let_go(struct kw_child *c)
{
	uint32_t op[4] = { WIRE_LOCK };
	struct wire_reply r;
	struct kw_error why;
	bool done;

	kw_error_reset(&why);
	kw_child_go(c);
	done = kw_child_send(c, op, sizeof(op), NULL, 0, &why) == KW_OK &&
	       await(c, FORK_TIMEOUT_MS, &r, "a baseline does not let go", &why) == KW_OK && r.kind == WIRE_READY;
	kw_child_stop(c);
	return done;
}

void kw_module_retire(struct kw_module *m, struct kw_child *c, bool healthy)
{
	struct resident *r = &residents[0];

	if (!m || !m->host.trusted || !m->key[0] || !healthy || c->dead || c->control < 0) {
		kw_child_close(c);
		return;
	}
	if (!let_go(c)) {
		kw_child_close(c);
		return;
	}
	pthread_mutex_lock(&residents_lock);
	own_residents();
	for (int i = 0; i < RESIDENT; i++) /* another task's will not be needed again */
		if (residents[i].key && strncmp(residents[i].key, m->key, strcspn(m->key, " ")) != 0)
			dismiss(&residents[i]);
	for (int i = 0; i < RESIDENT && r->key; i++)
		if (!residents[i].key || residents[i].turn < r->turn)
			r = &residents[i];
	if (r->key)
		dismiss(r);
	r->key = kw_strdup(m->key);
	r->turn = ++residents_turn;
	r->child = *c;
	if (!r->key)
		kw_child_close(&r->child);
	kw_child_init(c);
	pthread_mutex_unlock(&residents_lock);
}

/* ---- what is started ahead ---- */

/* Players of candidates that have a context and know nothing yet. Each is used once: the code of a candidate ran in it. */
enum { AHEAD = 8, AHEAD_TIMEOUT_MS = 30000 };
static struct ahead {
	struct kw_child child;
	int gpu;
	bool there, ready, triton;     /* triton: it has imported that */
	char python[4096];
} aheads[AHEAD];
static pthread_mutex_t aheads_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t aheads_owner;

static void own_aheads(void)
{
	for (int i = 0; i < AHEAD && aheads_owner != getpid(); i++)
		aheads[i].there = false; /* of the process that this is a fork of */
	aheads_owner = getpid();
}

/* False: it ended, or never got a context, and is gone. */
static bool make_ready(struct ahead *a)
{
	struct wire_reply r;
	struct kw_error why;

	kw_error_reset(&why);
	if (a->there && !a->ready)
		a->ready = await(&a->child, AHEAD_TIMEOUT_MS, &r, "a player did not start", &why) == KW_OK && r.kind == WIRE_READY;
	if (a->there && (!a->ready || kw_child_has_ended(&a->child))) {
		kw_child_close(&a->child);
		a->there = false;
	}
	return a->there;
}

static bool take_ahead(const struct kw_module *m, int gpu, struct kw_child *c)
{
	bool found = false;

	pthread_mutex_lock(&aheads_lock);
	own_aheads();
	for (int i = 0; i < AHEAD && !found; i++) {
		struct ahead *a = &aheads[i];

		if (!a->there || a->gpu != gpu || a->triton != m->host.triton || strcmp(a->python, m->host.python) != 0 || !make_ready(a))
			continue;
		*c = a->child;
		a->there = false;
		found = true;
	}
	pthread_mutex_unlock(&aheads_lock);
	return found;
}

static bool start_ahead(struct ahead *a, const struct kw_module_host *h, int gpu)
{
	struct zygote *z = &zygotes[false];
	unsigned layers = 0;
	pid_t pid = -1;
	int pair[2];
	bool done;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	pthread_mutex_lock(&z->lock);
	done = need_zygote(z, h, true, NULL) == KW_OK && fork_player(z, h, gpu, pair[1], &pid, &layers, NULL) == KW_OK;
	pthread_mutex_unlock(&z->lock);
	close(pair[1]);
	*a = (struct ahead){ .gpu = gpu, .triton = h->triton };
	kw_child_init(&a->child);
	snprintf(a->python, sizeof(a->python), "%s", h->python);
	if (done)
		a->there = kw_child_adopt(&a->child, pid, pair[0], layers, NULL) == KW_OK;
	else
		close(pair[0]);
	if (done && !a->there)
		kw_child_close(&a->child);
	return a->there;
}

void kw_module_ahead(const struct kw_module_host *h, int gpu, int count)
{
	int have = 0;
	bool works = true;

	pthread_mutex_lock(&aheads_lock);
	own_aheads();
	for (int i = 0; i < AHEAD; i++) {
		struct ahead *a = &aheads[i];

		if (a->there && (a->gpu != gpu || strcmp(a->python, h->python) != 0 || kw_child_has_ended(&a->child))) {
			kw_child_close(&a->child);
			a->there = false;
		}
		have += a->there && a->triton == h->triton;
	}
	for (int i = 0; i < AHEAD && have < count && works; i++)
		if (!aheads[i].there) {
			works = start_ahead(&aheads[i], h, gpu);
			have++;
		}
	pthread_mutex_unlock(&aheads_lock);
}

void kw_module_ahead_ready(void)
{
	pthread_mutex_lock(&aheads_lock);
	own_aheads();
	for (int i = 0; i < AHEAD; i++)
		make_ready(&aheads[i]);
	pthread_mutex_unlock(&aheads_lock);
}

static void dismiss_ahead(void)
{
	pthread_mutex_lock(&aheads_lock);
	own_aheads();
	for (int i = 0; i < AHEAD; i++)
		if (aheads[i].there) {
			kw_child_close(&aheads[i].child);
			aheads[i].there = false;
		}
	pthread_mutex_unlock(&aheads_lock);
}

void kw_module_dismiss(void)
{
	kw_children_gone();
	dismiss_ahead();
	pthread_mutex_lock(&residents_lock);
	own_residents();
	for (int i = 0; i < RESIDENT; i++)
		if (residents[i].key)
			dismiss(&residents[i]);
	pthread_mutex_unlock(&residents_lock);
}

void kw_module_expect(const struct kw_module_host *h, bool driver)
{
	struct zygote *z = &zygotes[h->trusted];

	pthread_mutex_lock(&z->lock);
	if (need_zygote(z, h, driver, NULL) == KW_OK && h->triton)
		kw_child_send(&z->child, (uint32_t[3]){ WIRE_IMPORT, triton_flags(h) }, 3 * sizeof(uint32_t), NULL, 0, NULL);
	pthread_mutex_unlock(&z->lock);
}

enum kw_status kw_module_spawn(struct kw_module *m, int gpu, struct kw_child *c, struct kw_error *err)
{
	struct zygote *z = &zygotes[m->host.trusted];
	unsigned layers = 0;
	enum kw_status st;
	pid_t pid = -1;
	int pair[2];

	if (m->host.trusted ? take_resident(m, c) : gpu >= 0 && take_ahead(m, gpu, c))
		return KW_OK;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return kw_fail(err, KW_ERR_ENV, "", "cannot make a socket: %s", strerror(errno));
	pthread_mutex_lock(&z->lock);
	st = need_zygote(z, &m->host, !m->slots, err);
	if (st == KW_OK)
		st = fork_player(z, &m->host, -1, pair[1], &pid, &layers, err);
	if (st == KW_ERR_ENV && z->there && kw_child_killed_early(&z->child)) { /* between the two, or while it made one */
		if (err)
			kw_error_reset(err);
		st = need_zygote(z, &m->host, !m->slots, err);
		if (st == KW_OK)
			st = fork_player(z, &m->host, -1, pair[1], &pid, &layers, err);
	}
	pthread_mutex_unlock(&z->lock);
	close(pair[1]);
	if (st == KW_OK)
		return kw_child_adopt(c, pid, pair[0],
				      layers | (m->slots && !m->host.trusted && kw_landlock_abi() ? LAYER_LANDLOCK : 0), err);
	close(pair[0]);
	return st;
}

/* ---- life ---- */

enum kw_status kw_module_new(const struct kw_module_play *o, struct slots *slots, struct kw_module **out, struct kw_error *err)
{
	enum kw_status st = kw_module_new_apart(o, slots->specs, slots->slots, out, err);

	if (st == KW_OK) {
		(*out)->slots = slots;
		(*out)->copies = false;
	}
	return st;
}

enum kw_status kw_module_new_apart(const struct kw_module_play *o, const struct kw_buffer_spec *specs, int slots,
				   struct kw_module **out, struct kw_error *err)
{
	struct kw_module *m = kw_calloc(1, sizeof(*m));

	*out = m;
	if (!m)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a player");
	m->report_fd = -1;
	m->host = *o->host;
	m->specs = specs;
	m->slot_count = slots;
	m->copies = true;
	m->inputs = o->input_count;
	m->outputs = o->output_count;
	m->want = kw_calloc(m->outputs + 1, sizeof(*m->want));
	m->spec = kw_strdup(o->spec);
	m->key = kw_strdup(o->key ? o->key : "");
	if (!m->want || !m->spec || !m->key)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a player");
	if (m->outputs > 0)
		memcpy(m->want, o->outputs, m->outputs * sizeof(*m->want));
	m->report_bytes = TEXT_BYTES + sizeof(struct reported) * m->outputs * WIRE_ORDER_MAX + (m->host.ask ? ASK_BYTES : 0);
	m->report_fd = memfd_create("report", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->report_fd < 0 || ftruncate(m->report_fd, (off_t)m->report_bytes) < 0 ||
	    fcntl(m->report_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return kw_fail(err, KW_ERR_ENV, "", "cannot make a memory file: %s", strerror(errno));
	m->report = mmap(NULL, m->report_bytes, PROT_READ, MAP_SHARED, m->report_fd, 0);
	if (m->report == MAP_FAILED) {
		m->report = NULL;
		return kw_fail(err, KW_ERR_NOMEM, "", "cannot map a memory file: %s", strerror(errno));
	}
	return KW_OK;
}

void kw_module_free(struct kw_module *m)
{
	if (!m)
		return;
	if (m->report)
		munmap(m->report, m->report_bytes);
	if (m->report_fd >= 0)
		close(m->report_fd);
	kw_free(m->want);
	kw_free(m->spec);
	kw_free(m->key);
	kw_free(m);
}

enum kw_status kw_module_tell(struct kw_module *m, struct kw_child *c, struct kw_error *err)
{
	uint32_t op = WIRE_SPEC;
	int fds[2] = { m->report_fd, -1 };
	enum kw_status st = memory_file("spec", m->spec, strlen(m->spec), &fds[1], err);

	if (st == KW_OK)
		st = kw_child_send(c, &op, sizeof(op), fds, 2, err);
	if (fds[1] >= 0)
		close(fds[1]);
	return st;
}

/* ---- what it asks for ---- */

static void refuse_question(struct kw_child *c, enum kw_subclass what, const char *why, struct kw_play_result *r)
{
	r->end = what == KW_S_FORGED ? KW_PLAY_FORGED : KW_PLAY_FAULT;
	r->fault = what;
	snprintf(r->detail, sizeof(r->detail), "%s", why);
	kw_child_kill(c);
}

/* It is copied before it is looked at: the player may write to its report at any time. */
static enum kw_status answer(struct kw_module *m, struct kw_child *c, size_t len, struct kw_play_result *r, struct kw_error *err)
{
	char *question = kw_alloc(len + 1);
	struct wire_answer head = { .op = WIRE_ANSWER };
	struct kw_ask_end end = { .what = KW_S_NONE };
	struct kw_buf text;
	enum kw_status st;
	int fd = -1;

	if (!question)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for what a module asks");
	memcpy(question, m->report + m->report_bytes - ASK_BYTES, len);
	question[len] = '\0';
	kw_buf_init(&text, ANSWER_MAX);
	st = m->host.ask(m->host.ask_arg, question, len, &text, &end, err);
	if (st == KW_OK && end.what != KW_S_NONE)
		refuse_question(c, end.what, end.why, r);
	else if (st == KW_OK)
		st = kw_play_seal(text.ptr, text.len, &fd, err);
	if (fd >= 0 && st == KW_OK)
		st = kw_child_send(c, &head, sizeof(head), &fd, 1, err);
	if (fd >= 0)
		close(fd);
	kw_buf_release(&text);
	kw_free(question);
	return st;
}

bool kw_module_answered(struct kw_module *m, struct kw_child *c, const struct wire_reply *w, uint64_t nonce, int64_t *deadline_ns,
			struct kw_play_result *r, enum kw_status *st, struct kw_error *err)
{
	int64_t begin = kw_now_ns();

	if (!m || !m->host.ask || w->kind != WIRE_ASK || w->nonce != nonce)
		return false;
	r->asked++;
	if (w->number <= 0 || (size_t)w->number > ASK_BYTES)
		refuse_question(c, KW_S_FORGED, "a question that its player never asks", r);
	else
		*st = answer(m, c, (size_t)w->number, r, err);
	*deadline_ns += kw_now_ns() - begin;
	return true;
}

bool kw_module_read(const struct kw_child *c, uint64_t from, void *to, size_t bytes)
{
	while (bytes > 0) {
		struct iovec mine = { to, bytes }, its = { (void *)(uintptr_t)from, bytes };
		ssize_t n = process_vm_readv(c->process.pid, &mine, 1, &its, 1, 0);

		if (n <= 0)
			return false;
		to = (char *)to + n;
		from += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return true;
}

enum kw_status kw_module_settle(struct kw_module *m, struct kw_child *c, int64_t memory_bytes, int threads, struct kw_error *err)
{
	const struct slot_buffer *b = m->slots->buffer_count ? &m->slots->buffers[0] : NULL;
	char byte;

	if (!m->host.trusted && !kw_sandbox_limit_memory(c->process.pid, memory_bytes, threads))
		return kw_fail(err, KW_ERR_ENV, "", "the memory of a player cannot be limited: %s", strerror(errno));
	m->copies = !b || !kw_module_read(c, b->address, &byte, 1);
	return KW_OK;
}

bool kw_module_copies(const struct kw_module *m)
{
	return m->copies;
}

bool kw_module_copies_later(const struct kw_module *m)
{
	return m->copies && m->host.trusted;
}

int64_t kw_module_output_bytes(const struct kw_module *m)
{
	int64_t bytes = 0;

	for (size_t o = 0; o < m->outputs; o++)
		bytes += (int64_t)m->specs[m->inputs + o].bytes;
	return bytes * m->slot_count;
}

/* ---- what it says ---- */

void kw_module_text(const struct kw_module *m, char *out, size_t n)
{
	size_t i;

	for (i = 0; i < n - 1 && i < TEXT_BYTES && m->report[i]; i++) {
		char ch = ((const volatile char *)m->report)[i];

		out[i] = ch == '\n' || ch == '\t' ? ' ' : (unsigned char)ch < 32 || ch == 127 ? '?' : ch;
	}
	out[i] = '\0';
	while (i > 0 && !kw_utf8_valid(out, i))
		out[--i] = '\0';
}

void kw_module_raised(struct kw_module *m, int kind, struct kw_play_result *r)
{
	static const enum kw_subclass what[] = { KW_S_CRASH,	 KW_S_OUT_OF_MEMORY, KW_S_CONFIGURATION, KW_S_CRASH,
						 KW_S_EXITED,	 KW_S_SYNTAX,	     KW_S_UNDEFINED,	 KW_S_INCLUDE,
						 KW_S_SANDBOX,	 KW_S_BUILD_PLAN,    KW_S_TYPE,		 KW_S_ILLEGAL_ACCESS,
						 KW_S_BUILD_RESOURCES, KW_S_BUILD_ARCHITECTURE, KW_S_BUILD_TIMEOUT, KW_S_LAUNCH_RESOURCES };

	r->end = KW_PLAY_FAULT;
	r->too_much = kind == TOO_MUCH;
	r->fault = kind > 0 && (size_t)kind < sizeof(what) / sizeof(what[0]) ? what[kind] : KW_S_CRASH;
	kw_module_text(m, r->detail, sizeof(r->detail));
	if (!r->detail[0])
		snprintf(r->detail, sizeof(r->detail), "it raised an exception");
}

/* Python's own handler wrote where it was: '  File "softmax.py", line 12 in forward'. */
void kw_module_fault(struct kw_module *m, struct kw_play_result *r)
{
	char text[TEXT_BYTES], *at, *end;

	kw_module_text(m, text, sizeof(text));
	r->end = KW_PLAY_FAULT;
	r->fault = r->signal == SIGSEGV || r->signal == SIGBUS ? KW_S_ILLEGAL_ACCESS : KW_S_CRASH;
	at = strstr(text, "File \"");
	end = at ? strstr(at, " in ") : NULL;
	if (end)
		*end = '\0';
	snprintf(r->detail, sizeof(r->detail), "signal %d (%s)%s%.200s", r->signal, strsignal(r->signal), end ? " at " : "",
		 end ? at : "");
}
