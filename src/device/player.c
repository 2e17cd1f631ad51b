#include "device/device.h"
#include "device/nvidia_wire.h"
#include "device/refusal.h"
#include "device/runner.h"
#include "device/sandbox.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* The player's side. One process, one artefact at a time. Static state: it is a program of its own, and after load
 * everything here lies open to the candidate anyway. */
static struct {
	struct player player;
	const struct runner *runner;
	uint64_t nonce;                /* of the command in hand */
	atomic_flag reported;
	union {
		struct wire_load load;
		struct wire_run run;
		struct wire_map map;
		struct wire_start start;
		uint32_t op;
	} in;
} me = { .reported = ATOMIC_FLAG_INIT };

static void reply(const struct wire_reply *r)
{
	while (send(WIRE_CONTROL, r, sizeof(*r), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

_Noreturn void kw_player_fault(const char *what, int number)
{
	struct wire_reply r = { .kind = WIRE_MACHINE, .number = number, .nonce = me.nonce };

	snprintf(r.text, sizeof(r.text), "%s%s%s", what, number ? ": " : "", number ? strerror(number) : "");
	reply(&r);
	_exit(120);
}

/* Receives a command and up to max descriptors; false when the judge has gone. */
static bool receive(int *fds, int max, int *got)
{
	return kw_wire_receive(&me.in, sizeof(me.in), fds, max, got);
}

/* ---- trusted start-up ---- */

static void map_one(const struct wire_map_one *o, int fd, struct mapping *to)
{
	int prot = o->read_only ? PROT_READ : PROT_READ | PROT_WRITE;
	/* The number is an address that the judge drew. */
	void *at = mmap((void *)(uintptr_t)o->address, o->file_bytes, prot, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);

	if (at == MAP_FAILED)
		kw_player_fault("cannot map a buffer", errno);
	close(fd);
	*to = (struct mapping){ .file = at, .file_bytes = o->file_bytes, .base = (uint8_t *)at + o->offset, .bytes = o->bytes,
				.read_only = o->read_only != 0, .zero = o->zero != 0 };
}

static void map_slots(struct player *p)
{
	size_t total = (size_t)p->start.slots * p->start.buffers, done = 0;
	void *arena = mmap((void *)(uintptr_t)p->start.arena_base, p->start.arena_bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (arena == MAP_FAILED)
		kw_player_fault("cannot reserve addresses", errno);
	p->maps = kw_calloc(total + 1, sizeof(*p->maps));
	if (!p->maps)
		kw_player_fault("no memory for the maps", ENOMEM);
	while (done < total) {
		int fds[WIRE_MAPS_MAX], got;

		if (!receive(fds, WIRE_MAPS_MAX, &got) || me.in.op != WIRE_MAP || (int)me.in.map.count != got)
			kw_player_fault("the buffers did not arrive", EPROTO);
		for (int i = 0; i < got; i++)
			map_one(&me.in.map.one[i], fds[i], &p->maps[done++]);
	}
}

/* ---- faults ---- */

static void die_of(struct wire_reply *r, int code)
{
	/* The first one tells; threads that fault meanwhile wait for the end. */
	if (atomic_flag_test_and_set(&me.reported))
		for (;;)
			syscall(SYS_sched_yield);
	reply(r);
	syscall(SYS_exit_group, code);
}

#if defined(__x86_64__)
/* Bits of a page fault's error code: same volume as in refusal.c, 4.7. */
enum { PAGE_WRITE = 2, PAGE_FETCH = 16 };

/* A fault that carries no address. */
static void describe_refusal(const ucontext_t *u, struct wire_reply *r)
{
	static const int order[REFUSAL_REGISTERS] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
						      REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
	uint64_t registers[REFUSAL_REGISTERS], rip = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
	size_t bytes = 4096 - rip % 4096; /* the next page may not be there */
	enum refusal what;

	for (int i = 0; i < REFUSAL_REGISTERS; i++)
		registers[i] = (uint64_t)u->uc_mcontext.gregs[order[i]];
	what = kw_refusal((const uint8_t *)(uintptr_t)rip, bytes < REFUSAL_CODE_BYTES ? bytes : REFUSAL_CODE_BYTES, rip, registers,
			  &r->address);
	if (what != REFUSAL_ADDRESS)
		r->address = 0;
	r->access = what == REFUSAL_ALIGNMENT ? WIRE_MISALIGNED : WIRE_TOUCHED;
	if (what == REFUSAL_INSTRUCTION)
		r->number = SIGILL;
}

static void describe_access(const siginfo_t *info, const ucontext_t *u, struct wire_reply *r)
{
	long error = (long)u->uc_mcontext.gregs[REG_ERR];

	if (info->si_code == SI_KERNEL)
		describe_refusal(u, r);
	else
		r->access = error & PAGE_FETCH ? WIRE_JUMPED : error & PAGE_WRITE ? WIRE_WROTE : WIRE_TOUCHED;
}
#else
/* What is mapped and may not be touched in some way are inputs, which may be read. */
static void describe_access(const siginfo_t *info, const ucontext_t *u, struct wire_reply *r)
{
	(void)u;
	r->access = info->si_code == SEGV_ACCERR ? WIRE_WROTE : WIRE_TOUCHED;
}
#endif

static void on_fault(int number, siginfo_t *info, void *context)
{
	struct wire_reply r = { .kind = WIRE_FAULT, .number = number };

	if (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE)
		r.address = (uint64_t)(uintptr_t)info->si_addr;
	if (number == SIGSEGV || number == SIGBUS)
		describe_access(info, context, &r);
	die_of(&r, 128 + number);
}

static const char *path_of(const ucontext_t *u, int call)
{
#if defined(__x86_64__)
	if (call == SYS_openat)
		return (const char *)u->uc_mcontext.gregs[REG_RSI];
	if (call == SYS_open || call == SYS_access || call == SYS_readlink || call == SYS_stat || call == SYS_unlink)
		return (const char *)u->uc_mcontext.gregs[REG_RDI];
	if (call == SYS_newfstatat || call == SYS_faccessat || call == SYS_faccessat2 || call == SYS_readlinkat)
		return (const char *)u->uc_mcontext.gregs[REG_RSI];
#elif defined(__aarch64__)
	if (call == SYS_openat || call == SYS_newfstatat || call == SYS_faccessat || call == SYS_readlinkat)
		return (const char *)u->uc_mcontext.regs[1];
#endif
	return NULL;
}

static void set_result(ucontext_t *u, long value)
{
#if defined(__x86_64__)
	u->uc_mcontext.gregs[REG_RAX] = value;
#elif defined(__aarch64__)
	u->uc_mcontext.regs[0] = (unsigned long long)value;
#endif
}

/* What runtimes look at to count cores and nodes. They live without; no answer is given. */
static bool harmless(const char *path)
{
	static const char *const known[] = { "/sys/devices/system/", "/sys/fs/cgroup/", "/proc/cpuinfo", "/proc/meminfo",
					     "/proc/self/cgroup", "/proc/stat", "/sys/kernel/mm/",
					     "/dev/shm/__KMP_REGISTERED_LIB_" /* LLVM's OpenMP at exit */ };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strncmp(path, known[i], strlen(known[i])) == 0)
			return true;
	return false;
}

/* The loader looks for a library that the artefact names and we did not preload: it ends in dlopen's own message. */
static bool loader_search(const char *path)
{
	return strstr(path, ".so") && (strncmp(path, "/lib", 4) == 0 || strncmp(path, "/usr/lib", 8) == 0 ||
				       strncmp(path, "/etc/ld.so", 10) == 0 || strncmp(path, "/usr/local/lib", 14) == 0);
}

static uint64_t argument(const ucontext_t *u, int i)
{
#if defined(__x86_64__)
	static const int at[] = { REG_RDI, REG_RSI, REG_RDX };

	return (uint64_t)u->uc_mcontext.gregs[at[i]];
#elif defined(__aarch64__)
	return u->uc_mcontext.regs[i];
#else
	(void)u;
	(void)i;
	return UINT64_MAX;
#endif
}

/* What others end a process with. It is not caught, so that the kernel says who died of it (kw_child_ended_by; in a namespace
 * of its own the player does not even notice). So the filter must not let the code in here send it to itself. */
static const int others[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2 };

/* raise(SIGTERM): the signal; 0: something else was refused. */
static int sent_to_itself(int call, const ucontext_t *u)
{
	uint64_t number = argument(u, call == SYS_kill ? 1 : 2);

	if ((call != SYS_kill && call != SYS_tgkill) || argument(u, 0) != (uint64_t)getpid())
		return 0;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (number == (uint64_t)others[i])
			return others[i];
	return 0;
}

/* The filter refused a call. What the runner knows (the artefact itself) it answers; a library's look at /sys gets "not
 * there"; anything else ends the candidate. */
static void on_refused(int number, siginfo_t *info, void *context)
{
	struct wire_reply r = { .kind = WIRE_SYSCALL, .number = info->si_syscall };
	ucontext_t *u = context;
	const char *path = path_of(u, info->si_syscall);
	long answer;

	(void)number;
	if (path && me.runner->file && (answer = me.runner->file(&me.player, info->si_syscall, path)) != RUNNER_NO_ANSWER) {
		set_result(u, answer);
		return;
	}
	if (path && (harmless(path) || (me.player.loading && loader_search(path)))) {
		set_result(u, -ENOENT);
		return;
	}
	if (path)
		snprintf(r.text, sizeof(r.text), "%.*s", (int)sizeof(r.text) - 1, path);
	if (sent_to_itself(info->si_syscall, u))
		r = (struct wire_reply){ .kind = WIRE_FAULT, .number = sent_to_itself(info->si_syscall, u) };
	die_of(&r, 128 + SIGSYS);
}

_Noreturn void kw_player_die(uint32_t kind, int number, const char *text)
{
	struct wire_reply r = { .kind = kind, .number = number };

	snprintf(r.text, sizeof(r.text), "%s", text);
	die_of(&r, 122);
	_exit(122);
}

_Noreturn void kw_player_wrote(const void *address)
{
	struct wire_reply r = { .kind = WIRE_FAULT, .number = SIGSEGV, .address = (uint64_t)(uintptr_t)address, .access = WIRE_WROTE };

	die_of(&r, 128 + SIGSEGV);
	_exit(122);
}

static void catch_faults(void)
{
	static const int caught[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGXCPU, SIGXFSZ };
	enum { STACK_BYTES = 64 << 10 };
	static char stack[STACK_BYTES];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaltstack(&alternate, NULL);
	sigfillset(&a.sa_mask);
	sigdelset(&a.sa_mask, SIGSYS);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i], &a, NULL);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		signal(others[i], SIG_DFL);
	a.sa_sigaction = on_refused;
	a.sa_flags |= SA_NODEFER;
	sigaction(SIGSYS, &a, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- load and run ---- */

/* The artefact's number is kept free: a driver that opens its device at that moment would lose it to the next artefact. */
static void reserve_code(void)
{
	dup2(0, WIRE_CODE);
}

static void do_load(int fd)
{
	struct wire_reply r = { .kind = WIRE_LOADED, .nonce = me.in.load.nonce };

	if (fd != WIRE_CODE) {
		dup2(fd, WIRE_CODE);
		close(fd);
	}
	me.nonce = r.nonce;
	me.runner->load(&me.player, &me.in.load, &r);
	if (me.player.start.driver)
		reserve_code();
	else
		close(WIRE_CODE);
	reply(&r);
}

static void do_batch(void (*work)(struct player *, const int32_t *, uint32_t))
{
	struct wire_reply r = { .kind = WIRE_DONE };
	int32_t order[WIRE_ORDER_MAX];
	uint32_t count = me.in.run.count;

	if (!work)
		_exit(121);
	memcpy(order, me.in.run.order, count * sizeof(order[0]));
	r.nonce = me.nonce = me.in.run.nonce;
	work(&me.player, order, count);
	r.address = (uint64_t)me.player.device_ns;
	reply(&r);
}

static void loop(void)
{
	for (;;) {
		int fds[WIRE_MAPS_MAX], got;

		if (!receive(fds, WIRE_MAPS_MAX, &got))
			_exit(WIRE_LOST_EXIT);
		if (me.in.op == WIRE_LOAD && got == 1)
			do_load(fds[0]);
		else if (me.in.op == WIRE_RUN)
			do_batch(me.runner->run);
		else if (me.in.op == WIRE_STAGE)
			do_batch(me.runner->stage);
		else if (me.in.op == WIRE_FETCH)
			do_batch(me.runner->fetch);
		else
			_exit(121);
	}
}

static const struct runner *const runners[WIRE_RUNNERS] = {
	[WIRE_RUNNER_ELF] = &kw_runner_elf,
	[WIRE_RUNNER_OPENCL] = &kw_runner_opencl,
};

void kw_player_main(int argc, char **argv)
{
	struct wire_reply ready = { .kind = WIRE_READY };
	struct player *p = &me.player;
	int none;

	(void)argv;
	if (argc == 2 && recv(WIRE_CONTROL, &me.in.op, sizeof(me.in.op), MSG_PEEK) == sizeof(me.in.op) && me.in.op == GPU_START)
		kw_nvidia_player();
	if (argc == 2 && me.in.op == WIRE_PYTHON)
		kw_python_player();
	if (argc != 2 || fcntl(WIRE_CONTROL, F_GETFD) < 0 || !receive(NULL, 0, &none) || me.in.op != WIRE_START ||
	    me.in.start.runner >= WIRE_RUNNERS) {
		fprintf(stderr, "kwright: __player is started by the judge only\n");
		_exit(2);
	}
	p->start = me.in.start;
	me.runner = runners[p->start.runner];
	fcntl(WIRE_CONTROL, F_SETFD, FD_CLOEXEC);
	unsetenv("LD_LIBRARY_PATH");
	map_slots(p);
	catch_faults();
	reserve_code();
	me.runner->prepare(p);
	if (!p->start.driver) /* opens nothing any more */
		close(WIRE_CODE);
	catch_faults(); /* once more: runtimes set handlers of their own */
	if (!p->start.trusted) {
		me.runner->lock_down(p, &ready);
		p->locked = true;
	}
	reply(&ready);
	loop();
	_exit(0);
}
