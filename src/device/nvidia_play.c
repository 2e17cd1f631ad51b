/* The judge's side of a player on an NVIDIA device. */
#include "device/module.h"
#include "device/nvidia.h"
#include "device/nvidia_wire.h"
#include "device/play.h"
#include "device/sandbox.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "core/launch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	START_TIMEOUT_MS = 60000,
	PREPARE_TIMEOUT_MS = 30000,
	RESET_TIMEOUT_MS = 5000,
	FAULT_TIMEOUT_MS = 2000, /* where several programs use the device, a fault may take a second to be told */
	AWAKE_NS = 20000000,
	AWAKE_CORES = 2,         /* that must be idle for it: the player's, and one more */
};

struct gpu_player {
	struct kw_player base;         /* first: the same address */
	struct gpu_session *session;
	struct gpu_process process;
	struct kw_module *module;      /* it plays Python modules; NULL: kernels */
	bool holds, loaded;            /* holds: arguments of an earlier batch */
	bool writable_inputs;
	bool broken;                   /* it did not answer as it should: not to be used again */
	bool trusted;
	unsigned granted;              /* layers of a module's */
	int64_t ready_bytes;           /* of this machine's memory, that a module's held when it was ready; 0: not known */
};

static struct gpu_player *mine(const struct kw_player *p)
{
	return (struct gpu_player *)(uintptr_t)p;
}

static enum kw_got await(struct gpu_player *p, int timeout_ms, struct gpu_reply *r, int64_t *when)
{
	enum kw_got g = kw_child_await(&p->process.child, kw_now_ns() + (int64_t)timeout_ms * 1000000, r, sizeof(*r), when);

	r->text[sizeof(r->text) - 1] = '\0';
	return g;
}

/* ---- start ---- */

static enum kw_status send_maps(struct gpu_player *p, struct kw_error *err)
{
	struct gpu_session *s = p->session;
	const struct kw_cuda *cu = s->device->cu;
	size_t total = (size_t)s->slots * s->buffer_count;
	enum kw_status st = KW_OK;

	for (size_t first = 0; st == KW_OK && first < total; first += WIRE_MAPS_MAX) {
		struct gpu_map m = { .op = GPU_MAP };
		int fds[WIRE_MAPS_MAX];

		for (size_t i = first; i < total && m.count < WIRE_MAPS_MAX && st == KW_OK; i++) {
			const struct gpu_buffer *b = &s->buffers[i];
			const struct kw_buffer_spec *spec = &s->specs[i % s->buffer_count];

			st = kw_cuda_status(cu, cu->MemExport(&fds[m.count], b->handle, 1, 0), "cuMemExportToShareableHandle", err);
			if (st == KW_OK)
				m.one[m.count++] = (struct gpu_map_one){ b->allocation_bytes, b->offset, spec->bytes,
									 spec->read_only && !p->writable_inputs, spec->zero };
		}
		if (st == KW_OK)
			st = kw_child_send(&p->process.child, &m, sizeof(m), fds, (int)m.count, err);
		for (uint32_t i = 0; i < m.count; i++)
			close(fds[i]);
	}
	return st;
}

static enum kw_status await_ready(struct gpu_player *p, struct kw_error *err)
{
	struct gpu_reply r = { 0 };
	int64_t when;
	enum kw_got g = await(p, START_TIMEOUT_MS, &r, &when);

	if (g == KW_GOT_INTERRUPTED)
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	if (g == KW_GOT_REPLY && r.kind == GPU_READY) {
		if (!p->process.layers[0])
			kw_play_name_layers(r.layers, r.landlock_abi, p->process.layers, sizeof(p->process.layers));
		return KW_OK;
	}
	if (g == KW_GOT_REPLY)
		return kw_fail(err, r.number == CUDA_OUT_OF_MEMORY ? KW_ERR_NOMEM : KW_ERR_ENV, "", "the player did not start: %s",
			       r.text[0] ? r.text : "unexpected answer");
	return kw_fail(err, KW_ERR_ENV, "", "the player did not start (%s)", g == KW_GOT_TIMEOUT ? "no answer" : "it ended");
}

/* An idle process, one that soon will be, else a new one. */
static enum kw_status take_process(struct gpu_player *p, struct kw_error *err)
{
	struct nvidia *n = p->session->device;
	bool found = false;

	pthread_mutex_lock(&n->lock);
	while (n->idle_count == 0 && n->warming > 0)
		pthread_cond_wait(&n->changed, &n->lock);
	if (n->idle_count > 0) {
		p->process = n->idle[--n->idle_count];
		found = true;
	}
	pthread_mutex_unlock(&n->lock);
	if (found)
		return KW_OK;
	/* The driver needs /proc and the device's files until it has a context: no namespaces. */
	return kw_child_start(&p->process.child, false, 1, err);
}

/* Puts it back when it is clean. */
static bool give_process(struct gpu_player *p)
{
	struct nvidia *n = p->session->device;
	struct gpu_reset reset = { .op = GPU_RESET, .nonce = kw_random_u64() };
	struct gpu_reply w = { 0 };
	int64_t when;
	bool kept = false;

	if (p->broken || p->process.child.dead || !p->process.layers[0] ||
	    kw_child_send(&p->process.child, &reset, sizeof(reset), NULL, 0, NULL) != KW_OK ||
	    await(p, RESET_TIMEOUT_MS, &w, &when) != KW_GOT_REPLY || w.kind != GPU_CLEAN || w.nonce != reset.nonce)
		return false;
	pthread_mutex_lock(&n->lock);
	if (n->idle_count < GPU_IDLE_MAX) {
		n->idle[n->idle_count++] = p->process;
		kept = true;
	}
	pthread_mutex_unlock(&n->lock);
	return kept;
}

static bool start_cold(struct gpu_player *p, const struct nvidia *n)
{
	struct gpu_start start = { .op = GPU_START, .ordinal = (uint32_t)n->ordinal };

	return kw_child_start(&p->process.child, false, 1, NULL) == KW_OK &&
	       kw_child_send(&p->process.child, &start, sizeof(start), NULL, 0, NULL) == KW_OK;
}

static void wakes(struct nvidia *n, int i, const struct kw_child *c)
{
	pthread_mutex_lock(&n->lock);
	n->waking[i] = c->process.pid > 0 ? c->process.pid : 0;
	if (n->closing && n->waking[i])
		kill(n->waking[i], SIGKILL);
	pthread_mutex_unlock(&n->lock);
}

static void *warm(void *arg)
{
	struct nvidia *n = arg;
	struct gpu_session none = { .device = n };
	struct gpu_player p[GPU_WARM] = { 0 };
	bool started[GPU_WARM];

	for (int i = 0; i < GPU_WARM; i++) {
		p[i].session = &none;
		kw_child_init(&p[i].process.child);
		started[i] = start_cold(&p[i], n);
		wakes(n, i, &p[i].process.child);
	}
	for (int i = 0; i < GPU_WARM; i++) {
		bool kept = started[i] && await_ready(&p[i], NULL) == KW_OK && give_process(&p[i]);
		int killed = kept ? 0 : kw_child_killed_early(&p[i].process.child);

		pthread_mutex_lock(&n->lock);
		n->waking[i] = 0; /* before its number is another's */
		pthread_mutex_unlock(&n->lock);
		if (!kept)
			kw_child_close(&p[i].process.child);
		pthread_mutex_lock(&n->lock);
		n->killed = killed ? killed : n->killed;
		n->warming--;
		pthread_cond_broadcast(&n->changed);
		pthread_mutex_unlock(&n->lock);
	}
	return NULL;
}

void kw_nvidia_warm(struct nvidia *n)
{
	n->warming = GPU_WARM;
	n->warmed = pthread_create(&n->warmer, NULL, warm, n) == 0;
	if (!n->warmed)
		n->warming = 0;
}

int kw_nvidia_idle(struct nvidia *n)
{
	int count;

	pthread_mutex_lock(&n->lock);
	while (n->warming > 0)
		pthread_cond_wait(&n->changed, &n->lock);
	count = n->idle_count;
	pthread_mutex_unlock(&n->lock);
	return count;
}

/* Each takes a while to give its memory back: all at once. A context that is still being made is not waited for: where a driver makes many, one
 * after the other, that took longer than all that a candidate which does not build is asked for. */
void kw_nvidia_doom(struct nvidia *n)
{
	pthread_mutex_lock(&n->lock);
	n->closing = true;
	for (int i = 0; i < GPU_WARM; i++)
		if (n->waking[i])
			kill(n->waking[i], SIGKILL);
	pthread_mutex_unlock(&n->lock);
	if (n->warmed)
		pthread_join(n->warmer, NULL);
	n->warmed = false;
	for (int i = 0; i < n->idle_count; i++)
		kw_child_doom(&n->idle[i].child);
}

void kw_nvidia_cool(struct nvidia *n)
{
	for (int i = 0; i < n->idle_count; i++)
		kw_child_close(&n->idle[i].child);
	n->idle_count = 0;
}

/* ---- modules: a Python process, which runs while it is asked only ---- */

enum { MODULE_TIMEOUT_MS = 120000, PROBES = 4, PROBE_NS = 300000 };
#define HOST_MEMORY ((int64_t)8 << 30)       /* of the host, that a module may take beside what a context has */
#define LATE_LIBRARIES ((int64_t)1 << 30) /* of a GPU, which are loaded when something of them is called */
#define AHEAD_ROOM_BYTES ((int64_t)16 << 30) /* of the device, for each player that waits */

static enum kw_got await_module(struct gpu_player *p, int64_t deadline_ns, struct wire_reply *r, int64_t *when)
{
	enum kw_got g = kw_child_await(&p->process.child, deadline_ns, r, sizeof(*r), when);

	r->text[sizeof(r->text) - 1] = '\0';
	return g;
}

static int64_t memory_held(pid_t pid)
{
	char path[40];
	FILE *f;
	long long pages = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (!(f = fopen(path, "re")))
		return 0;
	if (fscanf(f, "%*d %lld", &pages) != 1)
		pages = 0;
	fclose(f);
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static enum kw_status start_module_once(struct gpu_player *p, const struct kw_player_opts *o, struct kw_error *err)
{
	struct gpu_session *s = p->session;
	struct wire_start start = { .op = WIRE_START, .threads = (uint32_t)(o->threads > 0 ? o->threads : kw_host_cores()), .copies = 1,
				    .device = (uint32_t)s->device->ordinal, .buffers = (uint32_t)s->buffer_count,
				    .slots = (uint32_t)s->slots, .runner = WIRE_RUNNER_MODULE };
	struct wire_reply r = { 0 };
	int64_t when;
	enum kw_got g;
	enum kw_status st = kw_module_spawn(p->module, s->device->ordinal, &p->process.child, err);

	if (st == KW_OK)
		st = kw_child_send(&p->process.child, &start, sizeof(start), NULL, 0, err);
	if (st == KW_OK)
		st = kw_module_tell(p->module, &p->process.child, err);
	if (st == KW_OK)
		st = send_maps(p, err);
	if (st != KW_OK)
		return st;
	g = await_module(p, kw_now_ns() + (int64_t)MODULE_TIMEOUT_MS * 1000000, &r, &when);
	if (g == KW_GOT_INTERRUPTED)
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	if (g != KW_GOT_REPLY || r.kind != WIRE_READY)
		return kw_fail(err, KW_ERR_ENV, "", "the player did not start: %s",
			       g == KW_GOT_REPLY && r.text[0] ? r.text : g == KW_GOT_TIMEOUT ? "no answer" : "it ended");
	if (!o->module->host->trusted && !kw_sandbox_limit_data(p->process.child.process.pid, HOST_MEMORY))
		return kw_fail(err, KW_ERR_ENV, "", "the player did not start: its memory cannot be limited");
	p->granted = p->process.child.process.layers | r.layers;
	kw_play_name_layers(p->granted, r.landlock_abi, p->process.layers, sizeof(p->process.layers));
	kw_child_stop(&p->process.child);
	p->ready_bytes = memory_held(p->process.child.process.pid);
	return KW_OK;
}

static enum kw_status start_module(struct gpu_player *p, const struct kw_player_opts *o, struct kw_error *err)
{
	enum kw_status st = kw_module_new_apart(o->module, p->session->specs, p->session->slots, &p->module, err);

	if (st == KW_OK)
		st = start_module_once(p, o, err);
	for (int i = 1, number; st == KW_ERR_ENV && (number = kw_child_killed_early(&p->process.child)) != 0; i++) {
		p->base.killed = number;
		if (i == KW_START_TRIES)
			return kw_child_killed_each_time(number, err);
		kw_child_close(&p->process.child);
		if (err)
			kw_error_reset(err);
		st = start_module_once(p, o, err);
	}
	return st;
}

/* A context takes about half a gigabyte, and nobody shall miss it. */
void kw_nvidia_modules_ahead(struct kw_device *d, const struct kw_module_host *h, int count, int triton)
{
	int64_t most = kw_device_memory_available(d) / AHEAD_ROOM_BYTES;
	struct kw_module_host with = *h;

	with.triton = true;
	count = count < most ? count : (int)most;
	kw_module_ahead(h, kw_nvidia_of(d)->ordinal, count);
	kw_module_ahead(&with, kw_nvidia_of(d)->ordinal, triton < most - count ? triton : (int)most - count);
}

/* Beside what it began with; 0: not known, or no more than its libraries take. */
static int64_t own_bytes(const struct gpu_player *p)
{
	int64_t more = p->process.child.peak_bytes - p->ready_bytes - LATE_LIBRARIES;

	return p->ready_bytes > 0 && more > 0 ? more : 0;
}

static void describe_module(struct gpu_player *p, enum kw_got g, const struct wire_reply *w, int timeout_ms, struct kw_play_result *r)
{
	struct kw_child *c = &p->process.child;

	if (g == KW_GOT_TIMEOUT && kw_child_was_ending(c))
		g = KW_GOT_END;
	if (g == KW_GOT_TIMEOUT) {
		r->end = KW_PLAY_TIMEOUT;
		snprintf(r->detail, sizeof(r->detail), "no answer within %d ms", timeout_ms);
	} else if (g == KW_GOT_REPLY && w->kind == WIRE_RAISED) {
		kw_module_raised(p->module, w->number, r);
	} else if (g == KW_GOT_END && kw_child_ends(c) && c->end.si_code == CLD_EXITED) {
		r->end = KW_PLAY_EXIT;
		r->exit_code = c->end.si_status;
	} else if (g == KW_GOT_END && kw_child_ended_by(c) && (p->trusted || (p->granted & (LAYER_SECCOMP | LAYER_PID)))) {
		/* Under the filter nothing in it can send itself such a signal; what is trusted does not. */
		r->end = KW_PLAY_KILLED;
		r->signal = kw_child_ended_by(c);
		r->own_bytes = own_bytes(p);
		snprintf(r->detail, sizeof(r->detail), "ended from outside by signal %d (%s)", r->signal, strsignal(r->signal));
	} else if (g == KW_GOT_END && c->dead) {
		r->end = KW_PLAY_SIGNAL;
		r->signal = c->end.si_status;
		r->blocked_syscall = r->signal == SIGSYS;
		if (r->blocked_syscall)
			snprintf(r->detail, sizeof(r->detail), "a system call was refused");
		else
			kw_module_fault(p->module, r);
	} else {
		r->end = KW_PLAY_FORGED;
		snprintf(r->detail, sizeof(r->detail), "an answer that the player never gives");
	}
	kw_child_kill(c);
}

static enum kw_status ask_module(struct gpu_player *p, const void *command, size_t bytes, int fd, uint64_t nonce, uint32_t expect,
				 int timeout_ms, struct kw_play_result *r, struct kw_error *err)
{
	struct wire_reply w = { 0 }, more;
	int64_t begin, when = 0, deadline;
	enum kw_status st = kw_child_send(&p->process.child, command, bytes, &fd, fd >= 0 ? 1 : 0, err);
	enum kw_got g;

	if (st != KW_OK)
		return st;
	begin = kw_now_ns();
	deadline = begin + (int64_t)timeout_ms * 1000000;
	kw_child_go(&p->process.child);
	g = await_module(p, deadline, &w, &when);
	while (g == KW_GOT_REPLY && kw_module_answered(p->module, &p->process.child, &w, nonce, &deadline, r, &st, err)) {
		if (st != KW_OK || p->process.child.dead) {
			kw_child_kill(&p->process.child);
			return st;
		}
		g = await_module(p, deadline, &w, &when);
	}
	r->wall_ns = when - begin;
	if (g == KW_GOT_INTERRUPTED) {
		kw_child_kill(&p->process.child);
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	}
	if (g != KW_GOT_REPLY || w.kind != expect || w.nonce != nonce) {
		describe_module(p, g, &w, timeout_ms, r);
		return KW_OK;
	}
	r->end = KW_PLAY_DONE;
	r->claimed_ns = (int64_t)w.address;
	if (kw_module_copies_later(p->module)) /* what is trusted is asked for the device's clock */
		r->device_ns = strtoll(w.text, NULL, 10);
	kw_child_stop(&p->process.child);
	g = kw_child_take(&p->process.child, &more, sizeof(more));
	if (g != KW_GOT_TIMEOUT)
		describe_module(p, g, &more, timeout_ms, r);
	return KW_OK;
}

static enum kw_status load_module(struct gpu_player *p, const struct kw_artefact *code, int timeout_ms, struct kw_play_result *r,
				  struct kw_error *err)
{
	struct wire_load *l = kw_calloc(1, sizeof(*l));
	int fd = -1;
	enum kw_status st = l ? kw_play_seal(code->code, code->code_bytes, &fd, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	if (st == KW_OK) {
		*l = (struct wire_load){ .op = WIRE_LOAD, .kernel_count = 1 /* it copies */, .nonce = kw_random_u64() };
		st = ask_module(p, l, sizeof(*l), fd, l->nonce, WIRE_LOADED, timeout_ms, r, err);
	}
	if (fd >= 0)
		close(fd);
	kw_free(l);
	return st;
}

/* Words of outputs, now and a moment later, while its threads stand still: what is still written is written by the device. */
static void look_for_late(struct gpu_player *p, const int *order, int n, struct kw_play_result *r)
{
	struct gpu_session *s = p->session;
	uint64_t first[PROBES], now;

	for (int pass = 0; pass < 2 && n > 0; pass++) {
		for (int i = 0; i < PROBES; i++) {
			int slot = order[n - 1 - i % n], buffer = (int)(s->tensor_count - 1);
			const struct gpu_buffer *b = kw_gpu_buffer(s, slot, buffer);
			size_t words = s->specs[buffer].bytes / 8, at = words > 1 ? (words - 1) * (size_t)(PROBES - i) / PROBES : 0;

			if (words == 0 || s->specs[buffer].read_only ||
			    s->device->cu->MemcpyDtoH(&now, b->map + b->offset + at * 8, sizeof(now)) != CUDA_SUCCESS)
				continue;
			if (pass == 0)
				first[i] = now;
			else if (now != first[i]) {
				r->late = true;
				r->slot = slot;
				r->buffer = buffer;
				r->offset_bytes = (int64_t)at * 8;
			}
		}
		if (pass == 0)
			kw_sleep_ns(PROBE_NS);
	}
}

/* What is trusted copies its outputs after the clock has stopped, whose time stays. */
static enum kw_status fetch_later(struct gpu_player *p, struct wire_run *run, int timeout_ms, struct kw_play_result *r,
				  struct kw_error *err)
{
	struct kw_play_result moved = { .buffer = -1, .slot = -1 };
	enum kw_status st;

	run->op = WIRE_FETCH;
	run->nonce = kw_random_u64();
	st = ask_module(p, run, sizeof(*run), -1, run->nonce, WIRE_DONE, timeout_ms + PREPARE_TIMEOUT_MS, &moved, err);
	if (moved.end != KW_PLAY_DONE)
		*r = moved;
	return st;
}

static enum kw_status run_module(struct gpu_player *p, const int *order, int n, int timeout_ms, struct kw_play_result *r,
				 struct kw_error *err)
{
	struct wire_run run = { .op = WIRE_STAGE, .count = (uint32_t)n, .nonce = kw_random_u64() };
	enum kw_status st = KW_OK;

	for (int i = 0; i < n; i++)
		run.order[i] = order[i];
	r->end = KW_PLAY_DONE;
	if (n > 0 || p->holds)
		st = ask_module(p, &run, sizeof(run), -1, run.nonce, WIRE_DONE, timeout_ms + PREPARE_TIMEOUT_MS, r, err);
	p->holds = n > 0;
	if (st != KW_OK || r->end != KW_PLAY_DONE)
		return st;
	run.op = p->base.watched ? WIRE_WATCHED : WIRE_RUN;
	run.nonce = kw_random_u64();
	st = ask_module(p, &run, sizeof(run), -1, run.nonce, WIRE_DONE, timeout_ms, r, err);
	if (st == KW_OK && r->end == KW_PLAY_DONE && n > 0 && kw_module_copies_later(p->module))
		st = fetch_later(p, &run, timeout_ms, r, err);
	kw_gpu_session_forget(p->session, p->writable_inputs);
	if (st == KW_OK && r->end == KW_PLAY_DONE && p->loaded) {
		kw_module_collect(p->module, &p->process.child, run.order, n, p->base.watched, r);
		if (!kw_module_copies_later(p->module))
			look_for_late(p, order, n, r);
	}
	if (r->end != KW_PLAY_DONE && n > 0)
		r->slot = order[0];
	return st;
}

static enum kw_status start_once(struct gpu_player *p, bool trusted, struct kw_error *err)
{
	struct gpu_session *s = p->session;
	struct gpu_start start = { .op = GPU_START, .trusted = trusted, .ordinal = (uint32_t)s->device->ordinal,
				   .buffers = (uint32_t)s->buffer_count, .slots = (uint32_t)s->slots };
	enum kw_status st = take_process(p, err);

	if (st == KW_OK)
		st = kw_child_send(&p->process.child, &start, sizeof(start), NULL, 0, err);
	if (st == KW_OK)
		st = send_maps(p, err);
	return st == KW_OK ? await_ready(p, err) : st;
}

/* One that was waiting may have been ended too. */
static enum kw_status start_kernels(struct gpu_player *p, bool trusted, struct kw_error *err)
{
	struct nvidia *n = p->session->device;
	enum kw_status st = start_once(p, trusted, err);

	for (int i = 1, number; st == KW_ERR_ENV && (number = kw_child_killed_early(&p->process.child)) != 0; i++) {
		p->base.killed = number;
		if (i == KW_START_TRIES)
			return kw_child_killed_each_time(number, err);
		kw_child_close(&p->process.child);
		p->process.layers[0] = '\0';
		if (err)
			kw_error_reset(err);
		st = start_once(p, trusted, err);
	}
	pthread_mutex_lock(&n->lock);
	p->base.killed = p->base.killed ? p->base.killed : n->killed;
	n->killed = 0;
	pthread_mutex_unlock(&n->lock);
	return st;
}

enum kw_status kw_nvidia_player_start(struct kw_session *session, const struct kw_player_opts *o, struct kw_player **out,
				      struct kw_error *err)
{
	struct gpu_session *s = kw_gpu_session_of(session);
	struct gpu_player *p = kw_calloc(1, sizeof(*p));
	enum kw_status st;

	*out = NULL;
	if (!p)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a player");
	p->base.session = session;
	p->session = s;
	p->writable_inputs = o->writable_inputs;
	p->trusted = o->trusted;
	kw_child_init(&p->process.child);
	st = kw_nvidia_enter(s->device, err);
	if (st == KW_OK && o->module) {
		st = start_module(p, o, err);
		if (st != KW_OK)
			kw_nvidia_player_stop(&p->base);
		else
			*out = &p->base;
		return st;
	}
	if (st == KW_OK)
		st = start_kernels(p, o->trusted, err);
	if (st != KW_OK) {
		p->broken = true;
		kw_nvidia_player_stop(&p->base);
		return st;
	}
	*out = &p->base;
	return KW_OK;
}

void kw_nvidia_player_stop(struct kw_player *player)
{
	struct gpu_player *p = mine(player);

	if (!p)
		return;
	if (p->module && p->loaded && !p->trusted && !p->broken && !p->process.child.dead)
		kw_child_leave(&p->process.child);
	else if (p->module)
		kw_module_retire(p->module, &p->process.child, p->loaded);
	else if (!give_process(p))
		kw_child_close(&p->process.child);
	kw_module_free(p->module);
	kw_free(p);
}

/* ---- what an end means ---- */

/* Whatever did not end well: the process is of no use afterwards. */
static void describe(struct gpu_player *p, enum kw_got g, const struct gpu_reply *w, int timeout_ms, struct kw_play_result *r)
{
	if (g == KW_GOT_TIMEOUT) {
		r->end = KW_PLAY_TIMEOUT;
		snprintf(r->detail, sizeof(r->detail), "no answer within %d ms", timeout_ms);
	} else if (g == KW_GOT_END && kw_child_ends(&p->process.child) && kw_child_ended_by(&p->process.child)) {
		/* No host code of a candidate runs in it. */
		r->end = KW_PLAY_KILLED;
		r->signal = kw_child_ended_by(&p->process.child);
		snprintf(r->detail, sizeof(r->detail), "ended from outside by signal %d", r->signal);
	} else if (g == KW_GOT_END) {
		r->end = KW_PLAY_FAULT;
		r->fault = KW_S_CRASH;
		snprintf(r->detail, sizeof(r->detail), "its process ended");
	} else if (g == KW_GOT_REPLY && w->kind == GPU_FAULT) {
		kw_nvidia_describe_fault(w->number, r, w->text);
	} else if (g == KW_GOT_REPLY && w->kind == GPU_NO_ENTRY) {
		r->end = KW_PLAY_NO_ENTRY;
		snprintf(r->detail, sizeof(r->detail), "%.*s", (int)sizeof(r->detail) - 1, w->text);
		return; /* the process is well */
	} else if (g == KW_GOT_REPLY && w->kind == GPU_REFUSED) {
		r->end = KW_PLAY_FAULT;
		r->fault = w->number == CUDA_NO_BINARY	     ? KW_S_LAUNCH_ARCHITECTURE
			   : w->number == CUDA_OUT_OF_MEMORY ? KW_S_OUT_OF_MEMORY
			   : w->number == CUDA_LAUNCH_RESOURCES ? KW_S_LAUNCH_RESOURCES
								: KW_S_CONFIGURATION;
		snprintf(r->detail, sizeof(r->detail), "%.*s", (int)sizeof(r->detail) - 1, w->text);
	} else if (g == KW_GOT_REPLY && w->kind == GPU_MACHINE) {
		r->end = KW_PLAY_NO_MEMORY;
		snprintf(r->detail, sizeof(r->detail), "%.*s", (int)sizeof(r->detail) - 1, w->text);
	} else {
		r->end = KW_PLAY_FORGED;
		snprintf(r->detail, sizeof(r->detail), "an answer that the player never gives");
	}
	p->broken = true;
	kw_child_kill(&p->process.child);
}

static enum kw_status exchange(struct gpu_player *p, const void *command, size_t bytes, int fd, uint64_t nonce, uint32_t expect,
			       int timeout_ms, struct kw_play_result *r, struct gpu_reply *w, struct kw_error *err)
{
	int64_t begin = kw_now_ns(), when = begin;
	enum kw_status st = kw_child_send(&p->process.child, command, bytes, &fd, fd >= 0 ? 1 : 0, err);
	struct gpu_reply late = { 0 };
	enum kw_got g;

	if (st != KW_OK)
		return st;
	g = await(p, timeout_ms, w, &when);
	/* A fault is the better answer; a result that comes now is late all the same. */
	if (g == KW_GOT_TIMEOUT && await(p, FAULT_TIMEOUT_MS, &late, &when) == KW_GOT_REPLY && late.kind == GPU_FAULT) {
		*w = late;
		g = KW_GOT_REPLY;
	}
	r->wall_ns = when - begin;
	if (g == KW_GOT_INTERRUPTED) {
		p->broken = true;
		kw_child_kill(&p->process.child);
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	}
	r->end = KW_PLAY_DONE;
	if (g != KW_GOT_REPLY || w->kind != expect || w->nonce != nonce)
		describe(p, g, w, timeout_ms, r);
	return KW_OK;
}

/* ---- load ---- */

/* Refused with the limit and the value, where the driver would only say that a value is wrong. False: it is. */
static bool launches_fit(const struct gpu_session *s, const struct kw_artefact *code, const struct kw_bound_plan *plan,
			 struct kw_play_result *r)
{
	for (size_t i = 0; i < plan->kernel_count; i++) {
		struct kw_bound_kernel actual;
		struct kw_kernel_facts f;

		if (!kw_kernel_facts_get(code->facts, plan->kernels[i].name, &f))
			continue;
		actual = kw_launch_actual(&plan->kernels[i], &f);
		if (!kw_launch_check(&actual, &f, &s->device->base.hardware, &r->fault, r->detail, sizeof(r->detail))) {
			r->end = KW_PLAY_FAULT;
			return false;
		}
	}
	return true;
}

static void result_init(struct kw_play_result *r)
{
	*r = (struct kw_play_result){ .buffer = -1, .slot = -1, .slot_ns = r->slot_ns };
}

enum kw_status kw_nvidia_load(struct kw_player *player, const struct kw_artefact *code, const struct kw_bound_plan *plan,
			      int timeout_ms, struct kw_play_result *r, struct kw_error *err)
{
	struct gpu_player *p = mine(player);
	struct gpu_load *l = kw_calloc(1, sizeof(*l));
	struct gpu_reply w = { 0 };
	int fd = -1;
	enum kw_status st;

	result_init(r);
	if (p->module) {
		kw_free(l);
		p->loaded = true;
		return load_module(p, code, timeout_ms, r, err);
	}
	if (l && !launches_fit(p->session, code, plan, r)) {
		kw_free(l);
		return KW_OK;
	}
	st = l ? kw_gpu_load_make(&(struct gpu_layout){ p->session->buffer_count, p->session->tensor_count }, code, plan, l, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a plan");
	if (st == KW_OK)
		st = kw_play_seal(code->code, code->code_bytes, &fd, err);
	if (st == KW_OK) {
		l->nonce = kw_random_u64();
		st = exchange(p, l, sizeof(*l), fd, l->nonce, GPU_LOADED, timeout_ms, r, &w, err);
	}
	if (fd >= 0)
		close(fd);
	kw_free(l);
	/* The process is gone; the fault is the machine's. */
	if (st == KW_OK && r->end == KW_PLAY_FAULT && kw_nvidia_driver_is_older(p->session->device, code, w.number, err))
		return KW_ERR_ENV;
	return st;
}

/* ---- run ---- */

enum kw_status kw_nvidia_run(struct kw_player *player, const int *order, int n, int timeout_ms, struct kw_play_result *r,
			     struct kw_error *err)
{
	struct gpu_player *p = mine(player);
	struct gpu_run run = { .op = GPU_PREPARE, .count = (uint32_t)n, .nonce = kw_random_u64() };
	struct gpu_reply w = { 0 };
	enum kw_status st;

	result_init(r);
	kw_children_gone();
	if (p->session->failed != KW_OK) {
		if (err)
			*err = p->session->failure;
		return p->session->failed;
	}
	if (n < 0 || n > WIRE_ORDER_MAX)
		return kw_fail(err, KW_ERR_BUG, "", "a batch of %d calls (at most %d)", n, WIRE_ORDER_MAX);
	for (int i = 0; i < n; i++) {
		if (order[i] < 0 || order[i] >= p->session->slots)
			return kw_fail(err, KW_ERR_BUG, "", "slot %d of %d", order[i], p->session->slots);
		run.order[i] = order[i];
	}
	st = kw_nvidia_enter(p->session->device, err); /* what the judge began must have ended */
	if (st == KW_OK)
		st = kw_nvidia_wait(p->session->device, err);
	if (st != KW_OK)
		return st;
	if (p->module)
		return run_module(p, order, n, timeout_ms, r, err);
	/* Who sleeps is woken late, the later the longer it slept: under a hypervisor by some tens of microseconds more after a whole batch
	 * than after half a one, which then were in the slope. Where others want the cores, who sleeps comes before who does not. */
	run.awake_ns = kw_host_idle_cores() >= AWAKE_CORES ? AWAKE_NS : 0;
	st = exchange(p, &run, sizeof(run), -1, run.nonce, GPU_PREPARED, PREPARE_TIMEOUT_MS, r, &w, err);
	if (st != KW_OK || r->end != KW_PLAY_DONE)
		return st;
	run.op = GPU_GO;
	run.nonce = kw_random_u64();
	p->process.child.awake_ns = run.awake_ns;
	st = exchange(p, &run, sizeof(run), -1, run.nonce, GPU_DONE, timeout_ms, r, &w, err);
	p->process.child.awake_ns = 0;
	r->device_ns = st == KW_OK && r->end == KW_PLAY_DONE ? w.event_ns : 0;
	kw_gpu_session_forget(p->session, p->writable_inputs);
	if (r->end != KW_PLAY_DONE && n > 0)
		r->slot = order[0];
	return st;
}

/* Of kernels nothing can go on: no host code of a candidate runs, and a run ends when the device is idle. */
int64_t kw_nvidia_linger(struct kw_player *player, int64_t ns)
{
	struct gpu_player *p = mine(player);
	int64_t before = p->module ? kw_child_cpu_ns(&p->process.child) : -1;

	if (p->module && !p->process.child.dead)
		kw_child_go(&p->process.child);
	kw_sleep_ns(ns);
	if (p->module && !p->process.child.dead)
		kw_child_stop(&p->process.child);
	kw_gpu_session_forget(p->session, p->writable_inputs);
	return kw_child_cpu_since(&p->process.child, before);
}

const char *kw_nvidia_layers(const struct kw_player *p)
{
	return mine(p)->process.layers;
}
