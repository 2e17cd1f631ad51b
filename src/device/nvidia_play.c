/* The judge's side of a player on an NVIDIA device. */
#include "device/nvidia.h"
#include "device/nvidia_wire.h"
#include "device/play.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "core/launch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WARM = 2 /* the candidate's and a baseline's */ };
enum { START_TIMEOUT_MS = 60000, PREPARE_TIMEOUT_MS = 30000, RESET_TIMEOUT_MS = 5000 };

struct gpu_player {
	struct kw_player base;         /* first: the same address */
	struct gpu_session *session;
	struct gpu_process process;
	bool writable_inputs;
	bool broken;                   /* it did not answer as it should: not to be used again */
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

static void *warm(void *arg)
{
	struct nvidia *n = arg;
	struct gpu_session none = { .device = n };
	struct gpu_player p[WARM] = { 0 };
	bool started[WARM];

	for (int i = 0; i < WARM; i++) {
		p[i].session = &none;
		kw_child_init(&p[i].process.child);
		started[i] = start_cold(&p[i], n);
	}
	for (int i = 0; i < WARM; i++) {
		if (!started[i] || await_ready(&p[i], NULL) != KW_OK || !give_process(&p[i]))
			kw_child_close(&p[i].process.child);
		pthread_mutex_lock(&n->lock);
		n->warming--;
		pthread_cond_broadcast(&n->changed);
		pthread_mutex_unlock(&n->lock);
	}
	return NULL;
}

void kw_nvidia_warm(struct nvidia *n)
{
	n->warming = WARM;
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

/* Each takes a while to give its memory back: all at once. */
void kw_nvidia_doom(struct nvidia *n)
{
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

enum kw_status kw_nvidia_player_start(struct kw_session *session, const struct kw_player_opts *o, struct kw_player **out,
				      struct kw_error *err)
{
	struct gpu_session *s = kw_gpu_session_of(session);
	struct gpu_player *p = kw_calloc(1, sizeof(*p));
	struct gpu_start start = { .op = GPU_START, .trusted = o->trusted, .ordinal = (uint32_t)s->device->ordinal,
				   .buffers = (uint32_t)s->buffer_count, .slots = (uint32_t)s->slots };
	enum kw_status st;

	*out = NULL;
	if (!p)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a player");
	p->base.session = session;
	p->session = s;
	p->writable_inputs = o->writable_inputs;
	kw_child_init(&p->process.child);
	st = kw_nvidia_enter(s->device, err);
	if (st == KW_OK)
		st = take_process(p, err);
	if (st == KW_OK)
		st = kw_child_send(&p->process.child, &start, sizeof(start), NULL, 0, err);
	if (st == KW_OK)
		st = send_maps(p, err);
	if (st == KW_OK)
		st = await_ready(p, err);
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
	if (!give_process(p))
		kw_child_close(&p->process.child);
	kw_free(p);
}

/* ---- what an end means ---- */

static void describe_fault(int number, struct kw_play_result *r, const char *words)
{
	static const struct {
		int number;
		enum kw_subclass sub;
		const char *text;
	} known[] = {
		{ CUDA_ILLEGAL_ADDRESS, KW_S_ILLEGAL_ACCESS, "it touched device memory that is in none of its buffers, or wrote to an "
							     "input, which is read-only" },
		{ CUDA_MISALIGNED, KW_S_MISALIGNED, "a vector access to an address that is not aligned to its size" },
		{ CUDA_ILLEGAL_INSTRUCTION, KW_S_CRASH, "an illegal instruction or a trap" },
		{ CUDA_INVALID_PC, KW_S_CRASH, "a jump to an address that holds no code" },
		{ CUDA_INVALID_ADDRESS_SPACE, KW_S_ILLEGAL_ACCESS, "an access to an address of another memory space" },
		{ CUDA_STACK_ERROR, KW_S_CRASH, "its stack overflowed or was corrupted" },
		{ CUDA_ASSERT, KW_S_CRASH, "an assertion in the kernel failed" },
		{ CUDA_LAUNCH_TIMEOUT, KW_S_TIMEOUT, "the system's watchdog ended it" },
		{ CUDA_LAUNCH_RESOURCES, KW_S_LAUNCH_RESOURCES, "a launch needs more registers or shared memory than there are" },
		{ CUDA_OUT_OF_MEMORY, KW_S_OUT_OF_MEMORY, "the device has no memory left for it" },
	};

	r->end = KW_PLAY_FAULT;
	r->fault = KW_S_CRASH;
	snprintf(r->detail, sizeof(r->detail), "the device stopped it: %.120s", words);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].number == number) {
			r->fault = known[i].sub;
			snprintf(r->detail, sizeof(r->detail), "%s (%.60s)", known[i].text, words);
		}
}

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
		describe_fault(w->number, r, w->text);
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
	enum kw_got g;

	if (st != KW_OK)
		return st;
	g = await(p, timeout_ms, w, &when);
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
	st = exchange(p, &run, sizeof(run), -1, run.nonce, GPU_PREPARED, PREPARE_TIMEOUT_MS, r, &w, err);
	if (st != KW_OK || r->end != KW_PLAY_DONE)
		return st;
	run.op = GPU_GO;
	run.nonce = kw_random_u64();
	st = exchange(p, &run, sizeof(run), -1, run.nonce, GPU_DONE, timeout_ms, r, &w, err);
	r->device_ns = st == KW_OK && r->end == KW_PLAY_DONE ? w.event_ns : 0;
	kw_gpu_session_forget(p->session, p->writable_inputs);
	if (r->end != KW_PLAY_DONE && n > 0)
		r->slot = order[0];
	return st;
}

/* No host code of a candidate runs here, and a run ends when the device is idle: nothing can go on. */
int64_t kw_nvidia_linger(struct kw_player *p, int64_t ns)
{
	kw_sleep_ns(ns);
	kw_gpu_session_forget(mine(p)->session, mine(p)->writable_inputs);
	return 0;
}

const char *kw_nvidia_layers(const struct kw_player *p)
{
	return mine(p)->process.layers;
}
