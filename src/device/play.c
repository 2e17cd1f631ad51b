#include "device/play.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "device/child.h"
#include "device/cpu.h"
#include "device/module.h"
#include "device/sandbox.h"
#include "device/threads.h"
#include "device/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { START_TIMEOUT_MS = 20000, MOVE_TIMEOUT_MS = 20000, LINGER_ROUNDS = 100, PLACED_MS = 20 };
#define DEFAULT_MEMORY ((int64_t)1 << 30) /* and room for every buffer of a slot twice */
#define MODULE_MEMORY ((int64_t)1 << 30)  /* of a framework besides */

struct cpu_player {
	struct kw_player base;         /* first: the same address */
	struct slots *session;
	struct kw_play_kind kind;
	struct kw_child child;
	bool trusted, writable_inputs;
	struct kw_module *module;      /* it plays Python modules; NULL: machine code */
	bool loaded, holds;            /* holds: arguments and answers of an earlier batch */
	struct kw_places places;       /* of its threads, at the beginning of a call */
	unsigned granted;              /* LAYER_... */
	char layers[200];
};

static struct cpu_player *mine(const struct kw_player *p)
{
	return (struct cpu_player *)(uintptr_t)p;
}

static enum kw_got take(struct cpu_player *p, struct wire_reply *r)
{
	enum kw_got g = kw_child_take(&p->child, r, sizeof(*r));

	r->text[sizeof(r->text) - 1] = '\0';
	return g;
}

static enum kw_got await(struct cpu_player *p, int64_t deadline_ns, struct wire_reply *r, int64_t *when)
{
	enum kw_got g = kw_child_await(&p->child, deadline_ns, r, sizeof(*r), when);

	r->text[sizeof(r->text) - 1] = '\0';
	return g;
}

/* ---- start ---- */

static void add_layer(char *out, size_t n, const char *name, bool active, bool wanted)
{
	size_t len = strlen(out);

	if (active || wanted)
		snprintf(out + len, n - len, "%s%s%s", len ? " " : "", active ? "" : "no-", name);
}

void kw_play_name_layers(unsigned layers, int landlock_abi, char *out, size_t n)
{
	static const struct {
		unsigned bit;
		const char *name;
		bool wanted;
	} names[] = {
		{ LAYER_SECCOMP, "seccomp", true }, { LAYER_PID, "pid", true }, { LAYER_NET, "net", true },
		{ LAYER_IPC, "ipc", true }, { LAYER_UTS, "uts", true }, { LAYER_MOUNT, "mount", true },
		{ LAYER_USER, "user", false }, { LAYER_USERNS, "userns", false }, { LAYER_RLIMITS, "rlimits", true },
		{ LAYER_NNP, "no-new-privs", true },
	};
	char landlock[32];

	snprintf(landlock, sizeof(landlock), landlock_abi ? "landlock%d" : "landlock", landlock_abi);
	*out = '\0';
	add_layer(out, n, landlock, (layers & LAYER_LANDLOCK) != 0, true);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add_layer(out, n, names[i].name, (layers & names[i].bit) != 0, names[i].wanted);
}

/* Inputs go as descriptors opened anew for reading: a map of one can never be made writable. */
static int hand_over(const struct slot_buffer *b, bool read_only)
{
	char path[40];

	if (!read_only)
		return b->fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", b->fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static enum kw_status send_maps(struct cpu_player *p, struct kw_error *err)
{
	struct slots *s = p->session;
	size_t total = (size_t)s->slots * s->buffer_count;
	enum kw_status st = KW_OK;

	for (size_t first = 0; st == KW_OK && first < total; first += WIRE_MAPS_MAX) {
		struct wire_map m = { .op = WIRE_MAP };
		int fds[WIRE_MAPS_MAX];

		for (size_t i = first; i < total && m.count < WIRE_MAPS_MAX; i++) {
			const struct slot_buffer *b = &s->buffers[i];
			const struct kw_buffer_spec *spec = &s->specs[i % s->buffer_count];

			fds[m.count] = hand_over(b, spec->read_only && !p->writable_inputs);
			if (fds[m.count] < 0) {
				st = kw_fail(err, KW_ERR_ENV, "/proc/self/fd", "cannot open a buffer again: %s",
					     strerror(errno));
				break;
			}
			m.one[m.count++] = (struct wire_map_one){ b->address, b->file_bytes, b->offset, spec->bytes,
								  spec->read_only && !p->writable_inputs, spec->zero };
		}
		if (st == KW_OK)
			st = kw_child_send(&p->child, &m, sizeof(m), fds, (int)m.count, err);
		for (uint32_t i = 0; i < m.count; i++)
			if (s->specs[(first + i) % s->buffer_count].read_only && !p->writable_inputs)
				close(fds[i]);
	}
	return st;
}

static enum kw_status await_ready(struct cpu_player *p, struct kw_error *err)
{
	struct wire_reply r = { 0 };
	int64_t when;
	enum kw_got g = await(p, kw_now_ns() + (int64_t)START_TIMEOUT_MS * 1000000, &r, &when);

	if (g == KW_GOT_INTERRUPTED)
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	if (g == KW_GOT_REPLY && r.kind == WIRE_READY) {
		p->granted = p->child.process.layers | r.layers;
		kw_play_name_layers(p->granted, r.landlock_abi, p->layers, sizeof(p->layers));
		return KW_OK;
	}
	if (g == KW_GOT_REPLY)
		return kw_fail(err, r.number == ENOMEM ? KW_ERR_NOMEM : KW_ERR_ENV, "", "the player did not start: %s",
			       r.text[0] ? r.text : "unexpected answer");
	return kw_fail(err, KW_ERR_ENV, "", "the player did not start (%s)", g == KW_GOT_TIMEOUT ? "no answer" : "it ended");
}

/* The boot of a Python is code, its files are data: both are memory files, since it will have no folder of ours. */
static enum kw_status send_python(struct cpu_player *p, struct kw_error *err)
{
	struct wire_python *m = kw_calloc(1, sizeof(*m));
	int fd = -1;
	enum kw_status st;

	if (!m)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a player");
	m->op = WIRE_PYTHON;
	snprintf(m->path, sizeof(m->path), "%s", p->kind.python->path);
	snprintf(m->home, sizeof(m->home), "%s", getenv("HOME") ? getenv("HOME") : "/");
	snprintf(m->folders, sizeof(m->folders), "%s", getenv("PYTHONPATH") ? getenv("PYTHONPATH") : "");
	st = kw_play_seal(p->kind.python->files, strlen(p->kind.python->files), &fd, err);
	if (st == KW_OK)
		st = kw_child_send(&p->child, m, sizeof(*m), &fd, 1, err);
	if (fd >= 0)
		close(fd);
	kw_free(m);
	return st;
}

static enum kw_status start_once(struct cpu_player *p, const struct kw_player_opts *o, struct kw_error *err)
{
	struct slots *s = p->session;
	int threads = o->threads > 0 ? o->threads : kw_host_cores();
	struct wire_start start = {
		.op = WIRE_START, .trusted = o->trusted, .threads = (uint32_t)threads,
		.memory_bytes = o->memory_bytes ? o->memory_bytes :
						  DEFAULT_MEMORY + 2 * (int64_t)(s->total_bytes / (size_t)s->slots),
		.arena_base = s->arena_base, .arena_bytes = s->arena_bytes,
		.buffers = (uint32_t)s->buffer_count, .slots = (uint32_t)s->slots,
		.runner = p->kind.runner, .platform = p->kind.platform, .device = p->kind.device, .copies = p->kind.copies, .driver = p->kind.bare,
	};
	enum kw_status st;

	if (p->module)
		start.memory_bytes += MODULE_MEMORY + kw_module_output_bytes(p->module);
	st = p->module ? kw_module_spawn(p->module, -1, &p->child, err) :
			 kw_child_start(&p->child, !o->trusted && !p->kind.bare, threads, err);
	if (st != KW_OK)
		return st;
	start.mount_ns = p->child.process.layers != 0;
	start.pid = (int32_t)p->child.process.pid;
	st = p->kind.python ? send_python(p, err) : KW_OK;
	if (st == KW_OK)
		st = kw_child_send(&p->child, &start, sizeof(start), NULL, 0, err);
	if (st == KW_OK)
		st = send_maps(p, err);
	if (st == KW_OK && p->module)
		st = kw_module_tell(p->module, &p->child, err);
	if (st == KW_OK)
		st = await_ready(p, err);
	if (st == KW_OK && p->module)
		st = kw_module_settle(p->module, &p->child, start.memory_bytes, threads, err);
	if (st == KW_OK)
		kw_child_stop(&p->child);
	return st;
}

enum kw_status kw_play_start(struct kw_session *s, const struct kw_player_opts *o, struct kw_player **out,
			     struct kw_error *err)
{
	return kw_play_start_kind(s, o, &(struct kw_play_kind){ .runner = WIRE_RUNNER_ELF }, out, err);
}

enum kw_status kw_play_start_kind(struct kw_session *s, const struct kw_player_opts *o, const struct kw_play_kind *kind,
				  struct kw_player **out, struct kw_error *err)
{
	struct cpu_player *p = kw_calloc(1, sizeof(*p));
	enum kw_status st;

	*out = NULL;
	if (!p)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a player");
	p->base.session = s;
	p->session = kw_slots_of(s);
	p->kind = *kind;
	p->trusted = o->trusted;
	p->writable_inputs = o->writable_inputs && o->module;
	kw_child_init(&p->child);
	st = o->module ? kw_module_new(o->module, p->session, &p->module, err) : KW_OK;
	if (p->module)
		p->kind.runner = WIRE_RUNNER_MODULE;
	if (st == KW_OK)
		st = start_once(p, o, err);
	for (int i = 1, number; st == KW_ERR_ENV && (number = kw_child_killed_early(&p->child)) != 0; i++) {
		p->base.killed = number;
		if (i == KW_START_TRIES) {
			st = kw_child_killed_each_time(number, err);
			break;
		}
		kw_child_close(&p->child);
		if (err)
			kw_error_reset(err);
		st = start_once(p, o, err);
	}
	if (st != KW_OK) {
		kw_play_stop(&p->base);
		return st;
	}
	*out = &p->base;
	return KW_OK;
}

void kw_play_stop(struct kw_player *player)
{
	struct cpu_player *p = mine(player);

	if (!p)
		return;
	kw_module_retire(p->module, &p->child, p->loaded);
	kw_module_free(p->module);
	kw_free(p);
}

/* ---- what an end means ---- */

static void describe_fault(struct cpu_player *p, const struct wire_reply *w, struct kw_play_result *r)
{
	r->end = KW_PLAY_SIGNAL;
	r->signal = w->number;
	r->address = w->address;
	r->write = w->access == WIRE_WROTE;
	r->misaligned = w->access == WIRE_MISALIGNED;
	r->jumped = w->access == WIRE_JUMPED;
	snprintf(r->detail, sizeof(r->detail), "%s", w->text); /* where it was, as far as an interpreter knows */
	if (r->misaligned)
		snprintf(r->detail, sizeof(r->detail), "a misaligned vector access");
	if (w->address && !kw_slots_find(p->session, w->address, &r->slot, &r->buffer, &r->offset_bytes))
		r->buffer = -1;
}

static void describe_syscall(int number, const char *path, struct kw_play_result *r)
{
	char name[64];

	r->end = KW_PLAY_SIGNAL;
	r->signal = SIGSYS;
	r->blocked_syscall = true;
	kw_syscall_name(number, name, sizeof(name));
	if (path[0])
		snprintf(r->detail, sizeof(r->detail), "system call %s(\"%.100s\") refused", name, path);
	else
		snprintf(r->detail, sizeof(r->detail), "system call %s refused", name);
}

/* Under the filter nothing in the player can send itself such a signal, and to the first process of a namespace nobody in it
 * can. A baseline is code of ours, and beside a vendor's driver no code of the candidate runs in the process. Where neither layer was granted it
 * may have been the candidate. */
static bool somebody_else(const struct cpu_player *p)
{
	return p->trusted || p->kind.bare || (p->granted & (LAYER_SECCOMP | LAYER_PID));
}

/* The peak of a process counts from before it became the player, when it was a copy of this one: a lower one tells nothing. */
static int64_t own_bytes(const struct cpu_player *p)
{
	int64_t shared = (int64_t)p->session->total_bytes;
	struct rusage mine;

	if (p->kind.bare) /* all that it held was the driver's */
		return 0;
	if (getrusage(RUSAGE_SELF, &mine) < 0 || p->child.peak_bytes <= (int64_t)mine.ru_maxrss * 1024)
		return 0;
	return p->child.peak_bytes > shared ? p->child.peak_bytes - shared : 0;
}

static void describe_kill(const struct cpu_player *p, int number, struct kw_play_result *r)
{
	r->end = KW_PLAY_KILLED;
	r->signal = number;
	r->own_bytes = own_bytes(p);
	snprintf(r->detail, sizeof(r->detail), "%s from outside by signal %d (%s)", number == SIGSTOP ? "stopped" : "ended", number,
		 strsignal(number));
}

/* From the kernel, not from the player: how the process ended. */
static void describe_end(struct cpu_player *p, struct kw_play_result *r)
{
	if (!kw_child_ends(&p->child)) {
		kw_child_kill(&p->child);
		r->end = KW_PLAY_FORGED;
		snprintf(r->detail, sizeof(r->detail), "it was closed");
		return;
	}
	if (p->child.end.si_code == CLD_EXITED && p->child.end.si_status == WIRE_LOST_EXIT) {
		r->end = KW_PLAY_FORGED;
		snprintf(r->detail, sizeof(r->detail), "it was closed");
		return;
	}
	if (p->child.end.si_code == CLD_EXITED) {
		r->end = KW_PLAY_EXIT;
		r->exit_code = p->child.end.si_status;
		return;
	}
	if (kw_child_ended_by(&p->child) && somebody_else(p)) {
		describe_kill(p, kw_child_ended_by(&p->child), r);
		return;
	}
	r->end = KW_PLAY_SIGNAL;
	r->signal = p->child.end.si_status;
	r->blocked_syscall = r->signal == SIGSYS;
	if (r->blocked_syscall)
		snprintf(r->detail, sizeof(r->detail), "a system call was refused");
	else if (p->module)
		kw_module_fault(p->module, r);
}

static bool is_device_fault(int number)
{
	enum kw_verdict_class cls;

	if (number <= KW_S_NONE || number >= KW_S_COUNT)
		return false;
	cls = kw_subclass_class((enum kw_subclass)number);
	return cls == KW_V_LAUNCH_ERROR || cls == KW_V_RUNTIME_ERROR;
}

static void describe_claim(struct cpu_player *p, const struct wire_reply *w, struct kw_play_result *r)
{
	if (w->kind == WIRE_FAULT && w->number > 0 && w->number < 65) {
		describe_fault(p, w, r);
	} else if (w->kind == WIRE_SYSCALL) {
		describe_syscall(w->number, w->text, r);
	} else if (w->kind == WIRE_RAISED && p->module) {
		kw_module_raised(p->module, w->number, r);
	} else if (w->kind == WIRE_DEVICE && is_device_fault(w->number)) {
		r->end = KW_PLAY_FAULT;
		r->fault = (enum kw_subclass)w->number;
		snprintf(r->detail, sizeof(r->detail), "%.*s", (int)sizeof(w->text) - 1, w->text);
	} else {
		r->end = KW_PLAY_FORGED;
		snprintf(r->detail, sizeof(r->detail), "an answer that the player never gives");
	}
	kw_child_kill(&p->child);
}

/* After the answer the channel must be empty: a second message is somebody else's. */
static void check_silence(struct cpu_player *p, struct kw_play_result *r)
{
	struct wire_reply w;
	enum kw_got g = take(p, &w);

	if (g == KW_GOT_TIMEOUT)
		return;
	if (g == KW_GOT_REPLY && (w.kind == WIRE_FAULT || w.kind == WIRE_SYSCALL || (w.kind == WIRE_RAISED && p->module))) {
		describe_claim(p, &w, r);
		return;
	}
	if (g == KW_GOT_END) {
		describe_end(p, r);
		return;
	}
	r->end = KW_PLAY_FORGED;
	snprintf(r->detail, sizeof(r->detail), "a second answer to one call");
	kw_child_kill(&p->child);
}

/* ---- spot checks ---- */

/* Words of the outputs, read the moment the answer arrives and again when the player has stopped. Who answers first and
 * computes in the microseconds until the stop is seen by them. */
enum { PROBES = 24 };
struct probes {
	int count;
	struct probe {
		const uint64_t *word;
		uint64_t at_answer;
		int slot, buffer;
		int64_t offset_bytes;
	} one[PROBES];
};

static void add_probe(struct slots *s, struct probes *out, int slot, bool at_end)
{
	int buffer = (int)(kw_random_u64() % s->buffer_count);
	size_t words = s->specs[buffer].bytes / 8, i;
	uint8_t *base = kw_slots_ptr(&s->base, slot, buffer);
	size_t shift = (8 - (uintptr_t)base % 8) % 8;

	if (s->specs[buffer].read_only || words < 2)
		return;
	i = at_end ? words - 2 : kw_random_u64() % (words - 1);
	out->one[out->count++] = (struct probe){ (const uint64_t *)(void *)(base + shift + i * 8), 0, slot, buffer,
						  (int64_t)(shift + i * 8) };
}

static void draw_probes(struct slots *s, const int *order, int n, struct probes *out)
{
	out->count = 0;
	for (int i = 0; n > 0 && s->buffer_count > 0 && i < PROBES; i++)
		add_probe(s, out, i < PROBES / 2 ? order[n - 1] : order[kw_random_u64() % (size_t)n], i < PROBES / 4);
}

static void read_probes(struct probes *p)
{
	for (int i = 0; p && i < p->count; i++)
		p->one[i].at_answer = *(const volatile uint64_t *)p->one[i].word;
}

static void check_probes(const struct probes *p, struct kw_play_result *r)
{
	for (int i = 0; p && i < p->count; i++)
		if (*(const volatile uint64_t *)p->one[i].word != p->one[i].at_answer) {
			r->late = true;
			r->slot = p->one[i].slot;
			r->buffer = p->one[i].buffer;
			r->offset_bytes = p->one[i].offset_bytes;
		}
}

/* A command, and what must come back. */
struct exchange {
	const void *command;
	size_t bytes;
	int fd;                        /* sent along; -1: none */
	uint64_t nonce;
	uint32_t expect;               /* kind of reply; 0: any with the nonce */
	int timeout_ms;
	struct probes *probes;
	bool place;                    /* the threads, each on a core of its own */
	struct wire_reply reply;
};

/* Sends, runs the player until it answers, then stops it. */
static enum kw_status exchange(struct cpu_player *p, struct exchange *x, struct kw_play_result *r, struct kw_error *err)
{
	struct wire_reply *w = &x->reply;
	uint64_t nonce = x->nonce;
	uint32_t expect = x->expect;
	int timeout_ms = x->timeout_ms;
	enum kw_status st = kw_child_send(&p->child, x->command, x->bytes, &x->fd, x->fd >= 0 ? 1 : 0, err);
	int64_t begin, when = 0, used, deadline, more;
	struct kw_patience patience;
	enum kw_got g;

	if (st != KW_OK)
		return st;
	if (x->place)
		kw_threads_place(p->child.process.pid, &p->places);
	kw_patience_begin(&patience, &p->child, (int64_t)timeout_ms * 1000000);
	begin = kw_now_ns();
	deadline = begin + patience.limit_ns;
	kw_child_go(&p->child);
	kw_threads_free_first(&p->places);
	while ((g = await(p, deadline, w, &when)) == KW_GOT_REPLY || g == KW_GOT_TIMEOUT) {
		if (g == KW_GOT_TIMEOUT) {
			if ((more = kw_patience_ask(&patience, &p->child)) == 0)
				break;
			deadline += more;
			continue;
		}
		if (!kw_module_answered(p->module, &p->child, w, nonce, &deadline, r, &st, err))
			break;
		if (st != KW_OK || p->child.dead) {
			kw_child_kill(&p->child);
			return st;
		}
	}
	read_probes(x->probes);
	used = kw_child_cpu_ns(&p->child);
	r->wall_ns = when - begin;
	if (g == KW_GOT_REPLY && w->nonce == nonce && (w->kind == expect || expect == 0)) {
		r->end = KW_PLAY_DONE;
		r->claimed_ns = (int64_t)w->address;
		kw_child_stop(&p->child);
		kw_threads_free(&p->places);
		r->background_ns = kw_child_cpu_since(&p->child, used);
		check_probes(x->probes, r);
		check_silence(p, r);
		return KW_OK;
	}
	if (g == KW_GOT_INTERRUPTED) {
		kw_child_kill(&p->child);
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
	}
	if (g == KW_GOT_END) {
		describe_end(p, r);
	} else if (g == KW_GOT_TIMEOUT && kw_child_is_held(&p->child) && somebody_else(p)) {
		describe_kill(p, SIGSTOP, r);
		kw_child_kill(&p->child);
	} else if (g == KW_GOT_TIMEOUT && kw_child_was_ending(&p->child)) {
		describe_end(p, r);
	} else if (g == KW_GOT_TIMEOUT) {
		r->end = KW_PLAY_TIMEOUT;
		snprintf(r->detail, sizeof(r->detail), "no answer within %d ms", timeout_ms);
	} else if (g == KW_GOT_REPLY && w->nonce == nonce && w->kind == WIRE_MACHINE) {
		kw_child_kill(&p->child);
		r->end = KW_PLAY_NO_MEMORY;
		snprintf(r->detail, sizeof(r->detail), "%.*s", (int)sizeof(r->detail) - 1, w->text);
	} else if (g == KW_GOT_REPLY) {
		describe_claim(p, w, r);
	} else {
		kw_child_kill(&p->child);
		r->end = KW_PLAY_FORGED;
		snprintf(r->detail, sizeof(r->detail), "an answer of the wrong size");
	}
	return KW_OK;
}

/* ---- load and run ---- */

enum kw_status kw_play_seal(const void *code, size_t bytes, int *fd, struct kw_error *err)
{
	*fd = memfd_create("artefact", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (*fd < 0)
		return kw_fail(err, KW_ERR_ENV, "", "cannot make a memory file: %s", strerror(errno));
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(*fd, (const char *)code + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return kw_fail(err, KW_ERR_NOMEM, "", "cannot write the artefact to memory: %s", strerror(errno));
		done += (size_t)n;
	}
	lseek(*fd, 0, SEEK_SET);
	if (fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
		return kw_fail(err, KW_ERR_ENV, "", "cannot seal the artefact: %s", strerror(errno));
	return KW_OK;
}

/* Buffers are inputs, outputs, workspaces in this order, so a workspace comes behind every tensor. */
static enum kw_status bind_wire(struct cpu_player *p, const struct kw_bound_plan *plan, const struct kw_bound_arg *a,
				size_t tensors, struct wire_arg *to, struct kw_error *err)
{
	switch (a->kind) {
	case KW_ARG_TENSOR:
	case KW_ARG_WORKSPACE:
		to->kind = WIRE_ARG_BUFFER;
		to->buffer = (uint32_t)(a->index + (a->kind == KW_ARG_WORKSPACE ? (int)tensors : 0));
		if (a->index < 0 || to->buffer >= p->session->buffer_count)
			return kw_fail(err, KW_ERR_BUG, "", "argument %d of a plan is not a buffer", a->index);
		return KW_OK;
	case KW_ARG_SCALAR:
	case KW_ARG_PARAM:
		to->kind = a->dtype == KW_F64 ? WIRE_ARG_F64 : a->dtype == KW_F32 ? WIRE_ARG_F32 : WIRE_ARG_INT;
		to->i = a->i;
		to->f = a->f;
		to->bytes = (uint32_t)kw_dtype_bytes(a->dtype);
		if (a->dtype == KW_I32)
			to->i = (int32_t)a->i;
		return KW_OK;
	case KW_ARG_TENSORMAP:
		break;
	}
	(void)plan;
	return kw_fail(err, KW_ERR_INPUT, "", "a tensor map cannot be passed on the cpu");
}

static enum kw_status make_load(struct cpu_player *p, const struct kw_bound_plan *plan, struct wire_load *l,
				struct kw_error *err)
{
	size_t tensors = p->session->tensor_count;

	if (plan->kernel_count > WIRE_KERNELS_MAX)
		return kw_fail(err, KW_ERR_LIMIT, "", "a plan of %zu kernels (at most %d)", plan->kernel_count,
			       WIRE_KERNELS_MAX);
	l->op = WIRE_LOAD;
	l->kernel_count = (uint32_t)plan->kernel_count;
	for (size_t k = 0; k < plan->kernel_count; k++) {
		const struct kw_bound_kernel *from = &plan->kernels[k];
		struct wire_kernel *to = &l->kernels[k];

		if (from->arg_count > WIRE_ARGS_MAX || strlen(from->name) >= sizeof(to->name))
			return kw_fail(err, KW_ERR_LIMIT, from->name, "more than %d arguments or a name over %d bytes",
				       WIRE_ARGS_MAX, WIRE_NAME_MAX - 1);
		snprintf(to->name, sizeof(to->name), "%s", from->name);
		to->arg_count = (uint32_t)from->arg_count;
		memcpy(to->grid, from->grid, sizeof(to->grid));
		memcpy(to->block, from->block, sizeof(to->block));
		to->smem_bytes = from->smem_bytes;
		for (size_t i = 0; i < from->arg_count; i++) {
			enum kw_status st = bind_wire(p, plan, &from->args[i], tensors, &to->args[i], err);

			if (st != KW_OK)
				return st;
		}
	}
	return KW_OK;
}

static void result_init(struct kw_play_result *r)
{
	int64_t *keep = r->slot_ns;

	*r = (struct kw_play_result){ .buffer = -1, .slot = -1, .slot_ns = keep };
}

enum kw_status kw_play_load(struct kw_player *player, const struct kw_artefact *code, const struct kw_bound_plan *plan,
			    int timeout_ms, struct kw_play_result *r, struct kw_error *err)
{
	struct cpu_player *p = mine(player);
	struct wire_load *l = kw_calloc(1, sizeof(*l));
	struct exchange x = { .fd = -1, .timeout_ms = timeout_ms, .command = l, .bytes = sizeof(*l) };
	const struct wire_reply *w = &x.reply;
	enum kw_status st;

	result_init(r);
	st = l ? make_load(p, plan, l, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a plan");
	if (st == KW_OK)
		st = kw_play_seal(code->code, code->code_bytes, &x.fd, err);
	if (st == KW_OK) {
		x.nonce = l->nonce = kw_random_u64();
		if (p->module)
			l->kernel_count = kw_module_copies(p->module);
		st = exchange(p, &x, r, err);
		p->loaded = true;
	}
	if (st == KW_OK && r->end == KW_PLAY_DONE && w->kind != WIRE_LOADED) {
		r->end = w->kind == WIRE_NO_ENTRY ? KW_PLAY_NO_ENTRY : w->kind == WIRE_LOAD_FAILED ? KW_PLAY_LOAD_FAILED :
			 w->kind == WIRE_MACHINE ? KW_PLAY_NO_MEMORY : KW_PLAY_FORGED;
		snprintf(r->detail, sizeof(r->detail), "%.*s", (int)sizeof(w->text) - 1, w->text);
		/* A crash while loading (a constructor) is a claim like any other. */
		if (w->kind == WIRE_FAULT || w->kind == WIRE_SYSCALL || (w->kind == WIRE_RAISED && p->module))
			describe_claim(p, w, r);
	}
	if (x.fd >= 0)
		close(x.fd);
	kw_free(l);
	return st;
}

/* Brings slots to the device or back, which no clock sees. */
static enum kw_status move_slots(struct cpu_player *p, struct wire_run *run, enum wire_op op, int timeout_ms,
				 struct kw_play_result *r, struct kw_error *err)
{
	struct exchange x = { .command = run, .bytes = sizeof(*run), .fd = -1, .expect = WIRE_DONE, .timeout_ms = timeout_ms };

	run->op = op;
	x.nonce = run->nonce = kw_random_u64();
	return exchange(p, &x, r, err);
}

static enum kw_status run_batch(struct cpu_player *p, struct wire_run *run, int timeout_ms, struct kw_play_result *r,
				struct kw_error *err)
{
	struct probes probes = { 0 };
	struct exchange x = { .command = run, .bytes = sizeof(*run), .fd = -1, .expect = WIRE_DONE, .timeout_ms = timeout_ms,
			      .probes = &probes, .place = true };

	run->op = p->base.watched ? WIRE_WATCHED : WIRE_RUN;
	x.nonce = run->nonce = kw_random_u64();
	if (!p->kind.copies && (!p->module || kw_module_copies(p->module)))
		draw_probes(p->session, run->order, (int)run->count, &probes);
	return exchange(p, &x, r, err);
}

/* What is trusted copies its outputs after the clock has stopped, whose time stays. */
static enum kw_status fetch_later(struct cpu_player *p, struct wire_run *run, int timeout_ms, struct kw_play_result *r,
				  struct kw_error *err)
{
	struct kw_play_result moved = { 0 };
	enum kw_status st;

	result_init(&moved);
	st = move_slots(p, run, WIRE_FETCH, timeout_ms + MOVE_TIMEOUT_MS, &moved, err);
	if (moved.end != KW_PLAY_DONE)
		*r = moved;
	return st;
}

enum kw_status kw_play_run(struct kw_player *player, const int *order, int n, int timeout_ms, struct kw_play_result *r,
			   struct kw_error *err)
{
	struct cpu_player *p = mine(player);
	struct wire_run run = { .count = (uint32_t)n };
	struct kw_play_result moved = { 0 };
	bool moves = (p->kind.copies && n > 0) || (p->module && (n > 0 || p->holds));
	enum kw_status st = KW_OK;

	result_init(r);
	if (n < 0 || n > WIRE_ORDER_MAX)
		return kw_fail(err, KW_ERR_BUG, "", "a batch of %d calls (at most %d)", n, WIRE_ORDER_MAX);
	for (int i = 0; i < n; i++) {
		if (order[i] < 0 || order[i] >= p->session->slots)
			return kw_fail(err, KW_ERR_BUG, "", "slot %d of %d", order[i], p->session->slots);
		run.order[i] = order[i];
	}
	if (moves)
		st = move_slots(p, &run, WIRE_STAGE, timeout_ms + MOVE_TIMEOUT_MS, r, err);
	if (st == KW_OK && r->end == KW_PLAY_DONE)
		st = run_batch(p, &run, timeout_ms, r, err);
	if (p->module) {
		if (st == KW_OK && r->end == KW_PLAY_DONE && n > 0 && kw_module_copies_later(p->module))
			st = fetch_later(p, &run, timeout_ms, r, err);
		if (st == KW_OK && r->end == KW_PLAY_DONE && p->loaded)
			kw_module_collect(p->module, &p->child, run.order, n, p->base.watched, r);
		if (r->end == KW_PLAY_FAULT && n > 0)
			r->slot = order[0];
		p->holds = n > 0;
		return st;
	}
	if (!moves || st != KW_OK || r->end != KW_PLAY_DONE)
		return st;
	result_init(&moved);
	st = move_slots(p, &run, WIRE_FETCH, timeout_ms + MOVE_TIMEOUT_MS, &moved, err);
	r->device_ns = moved.claimed_ns; /* no code of a candidate runs in the process of such a device */
	if (moved.end != KW_PLAY_DONE)
		*r = moved;
	return st;
}

/* On a busy machine a thread that computes may wait for a core the whole time: as long as one wants to run and has not
 * had its share it is given more. */
int64_t kw_play_linger(struct kw_player *player, int64_t ns)
{
	struct cpu_player *p = mine(player);
	int64_t before = kw_child_cpu_ns(&p->child);

	if (p->child.dead)
		return 0;
	kw_child_go(&p->child);
	for (int i = 0; i < LINGER_ROUNDS; i++) {
		kw_sleep_ns(ns);
		if (kw_child_cpu_since(&p->child, before) >= ns || !kw_threads_runnable(p->child.process.pid))
			break;
	}
	kw_child_stop(&p->child);
	if (p->module && p->loaded)
		kw_module_collect_again(p->module, &p->child);
	return kw_child_cpu_since(&p->child, before);
}

pid_t kw_play_pid(const struct kw_player *p)
{
	return mine(p)->child.process.pid;
}

const char *kw_play_layers(const struct kw_player *p)
{
	return mine(p)->layers;
}
