#include "device/call.h"
#include "device/device.h"
#include "device/seccomp.h"
#include "device/wire.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* The player's side. One process, one artefact at a time. Static state: it is a program of its own, and after load
 * everything here lies open to the candidate anyway. */
struct mapping {
	uint8_t *base;                 /* of the buffer */
	size_t bytes;
	bool zero;
};
struct kernel {
	void (*function)(void);
	int arg_count;
	struct wire_arg args[WIRE_ARGS_MAX];
};
static struct {
	struct wire_start start;
	struct mapping *maps;          /* [slot * buffers + buffer] */
	struct kernel kernels[WIRE_KERNELS_MAX];
	struct call_frame *frames;     /* [slot * kernel_count + kernel] */
	int kernel_count;
	bool locked;
	volatile sig_atomic_t loading;
	atomic_flag reported;
	void *library;
	int loads;
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

static _Noreturn void machine_fault(const char *what, int number)
{
	struct wire_reply r = { .kind = WIRE_MACHINE, .number = number };

	snprintf(r.text, sizeof(r.text), "%s: %s", what, strerror(number));
	reply(&r);
	_exit(120);
}

/* Receives a command and up to max descriptors; false when the judge has gone. */
static bool receive(int *fds, int max, int *got)
{
	char control[CMSG_SPACE(sizeof(int) * WIRE_MAPS_MAX)];
	struct iovec v = { &me.in, sizeof(me.in) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (max > 0) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
	}
	do
		n = recvmsg(WIRE_CONTROL, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*got = 0;
	if (n < (ssize_t)sizeof(uint32_t))
		return false;
	for (c = max > 0 ? CMSG_FIRSTHDR(&m) : NULL; c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			*got = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
			memcpy(fds, CMSG_DATA(c), (size_t)*got * sizeof(int));
		}
	return true;
}

/* ---- trusted start-up ---- */

static void map_one(const struct wire_map_one *o, int fd, struct mapping *to)
{
	int prot = o->read_only ? PROT_READ : PROT_READ | PROT_WRITE;
	/* The number is an address that the judge drew. */
	void *at = mmap((void *)(uintptr_t)o->address, o->file_bytes, prot, MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);

	if (at == MAP_FAILED)
		machine_fault("cannot map a buffer", errno);
	close(fd);
	*to = (struct mapping){ (uint8_t *)at + o->offset, o->bytes, o->zero != 0 };
}

static void map_slots(void)
{
	size_t total = (size_t)me.start.slots * me.start.buffers, done = 0;
	void *arena = mmap((void *)(uintptr_t)me.start.arena_base, me.start.arena_bytes, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (arena == MAP_FAILED)
		machine_fault("cannot reserve addresses", errno);
	me.maps = kw_calloc(total + 1, sizeof(*me.maps));
	if (!me.maps)
		machine_fault("no memory for the maps", ENOMEM);
	while (done < total) {
		int fds[WIRE_MAPS_MAX], got;

		if (!receive(fds, WIRE_MAPS_MAX, &got) || me.in.op != WIRE_MAP || (int)me.in.map.count != got)
			machine_fault("the buffers did not arrive", EPROTO);
		for (int i = 0; i < got; i++)
			map_one(&me.in.map.one[i], fds[i], &me.maps[done++]);
	}
}

/* LLVM's OpenMP reads files, looks for a library and leaves a name in /dev/shm when it first starts: now, then. */
static void warm_llvm_openmp(void)
{
	static const char *const first_use[] = { "omp_get_max_threads", "omp_get_num_procs" };
	void *library = dlopen("libomp.so.5", RTLD_NOW | RTLD_LOCAL);
	char name[64];
	int probe;

	if (!library)
		return;
	if (me.start.mount_ns)
		kw_sandbox_private_shm();
	/* It would abort where it cannot make a file there. */
	snprintf(name, sizeof(name), "/kwright-%d-%u", (int)getpid(), (unsigned)getuid());
	probe = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (probe < 0)
		return;
	close(probe);
	shm_unlink(name);
	for (size_t i = 0; i < 2; i++) {
		int (*function)(void);

		*(void **)&function = dlsym(library, first_use[i]);
		if (function)
			function();
	}
	snprintf(name, sizeof(name), "/__KMP_REGISTERED_LIB_%d_%u", (int)getpid(), (unsigned)getuid());
	shm_unlink(name);
}

/* Libraries that a C kernel may have been linked with: after lock-down no file can be opened. */
static void preload(void)
{
	static const char *const names[] = { "libm.so.6", "libmvec.so.1", "libgcc_s.so.1", "libgomp.so.1", "libatomic.so.1" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	warm_llvm_openmp();
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

static void on_fault(int number, siginfo_t *info, void *context)
{
	struct wire_reply r = { .kind = WIRE_FAULT, .number = number };

	if (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE)
		r.address = (uint64_t)(uintptr_t)info->si_addr;
#if defined(__x86_64__)
	if (number == SIGSEGV || number == SIGBUS)
		r.write = (((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
	/* A general protection fault (misaligned SSE access, non-canonical address) carries no address. */
	if (number == SIGSEGV && info->si_code == SI_KERNEL)
		r.write = 2;
#else
	(void)context;
#endif
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

/* The filter refused a call. dlopen's open of the artefact is answered with its descriptor, so that opening files is
 * never allowed at all; a library's look at /sys with "not there"; anything else ends the candidate. */
static void on_refused(int number, siginfo_t *info, void *context)
{
	struct wire_reply r = { .kind = WIRE_SYSCALL, .number = info->si_syscall };
	ucontext_t *u = context;
	const char *path = path_of(u, info->si_syscall);

	(void)number;
	if (path && me.loading && strncmp(path, "/kw/", 4) == 0) {
		long fd = syscall(SYS_dup, WIRE_CODE);

		set_result(u, fd < 0 ? -EBADF : fd);
		return;
	}
	if (path && (harmless(path) || (me.loading && loader_search(path)))) {
		set_result(u, -ENOENT);
		return;
	}
	if (path)
		snprintf(r.text, sizeof(r.text), "%.*s", (int)sizeof(r.text) - 1, path);
	die_of(&r, 128 + SIGSYS);
}

static void catch_faults(void)
{
	static const int caught[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGTERM, SIGINT, SIGHUP, SIGQUIT,
				      SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ };
	enum { STACK_BYTES = 64 << 10 };
	static char stack[STACK_BYTES];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaltstack(&alternate, NULL);
	sigfillset(&a.sa_mask);
	sigdelset(&a.sa_mask, SIGSYS);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i], &a, NULL);
	a.sa_sigaction = on_refused;
	a.sa_flags |= SA_NODEFER;
	sigaction(SIGSYS, &a, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* ---- lock-down ---- */

static void lock_down(struct wire_reply *r)
{
	struct kw_seccomp_filter filter;
	bool changed = false, filtered = kw_seccomp_compute(&filter);

	/* The limits read /proc: before the files go. */
	if (kw_sandbox_rlimits(me.start.memory_bytes, (int)me.start.threads, geteuid() == 0))
		r->layers |= LAYER_RLIMITS;
	if (me.start.mount_ns && kw_sandbox_empty_root())
		r->layers |= LAYER_MOUNT;
	if (kw_sandbox_no_new_privs())
		r->layers |= LAYER_NNP;
	kw_sandbox_own_user(&changed);
	if (changed)
		r->layers |= LAYER_USER;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user cleared it */
	if (kw_sandbox_landlock_nothing()) {
		r->layers |= LAYER_LANDLOCK;
		r->landlock_abi = kw_landlock_abi();
	}
	if (filtered && kw_seccomp_load(&filter))
		r->layers |= LAYER_SECCOMP;
	me.locked = true;
}

/* ---- load and run ---- */

static struct call_arg bind_arg(const struct wire_arg *a, int slot)
{
	struct call_arg c = { .bits = (uint64_t)a->i };
	float f = (float)a->f;

	if (a->kind == WIRE_ARG_BUFFER) {
		c.bits = (uint64_t)(uintptr_t)me.maps[(size_t)slot * me.start.buffers + a->buffer].base;
	} else if (a->kind == WIRE_ARG_F64) {
		c.is_float = true;
		memcpy(&c.bits, &a->f, sizeof(c.bits));
	} else if (a->kind == WIRE_ARG_F32) {
		c.is_float = true;
		c.bits = 0;
		memcpy(&c.bits, &f, sizeof(f));
	}
	return c;
}

static bool bind_frames(void)
{
	size_t total = (size_t)me.start.slots * (size_t)me.kernel_count;

	kw_free(me.frames);
	me.frames = kw_calloc(total + 1, sizeof(*me.frames));
	if (!me.frames)
		return false;
	for (int slot = 0; slot < (int)me.start.slots; slot++)
		for (int k = 0; k < me.kernel_count; k++) {
			struct call_arg args[WIRE_ARGS_MAX];

			for (int i = 0; i < me.kernels[k].arg_count; i++)
				args[i] = bind_arg(&me.kernels[k].args[i], slot);
			kw_call_prepare(&me.frames[slot * me.kernel_count + k], args, me.kernels[k].arg_count);
		}
	return true;
}

static void open_library(struct wire_reply *r)
{
	char path[64];

	snprintf(path, sizeof(path), me.locked ? "/kw/artefact-%d" : "/proc/self/fd/%d", me.locked ? me.loads : WIRE_CODE);
	me.loads++;
	me.loading = 1;
	me.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	me.loading = 0;
	if (!me.library) {
		const char *why = dlerror();

		r->kind = WIRE_LOAD_FAILED;
		snprintf(r->text, sizeof(r->text), "%s", why ? why : "dlopen failed");
	}
}

static void do_load(int fd)
{
	struct wire_reply r = { .kind = WIRE_LOADED, .nonce = me.in.load.nonce };

	if (fd != WIRE_CODE) {
		dup2(fd, WIRE_CODE);
		close(fd);
	}
	me.kernel_count = (int)me.in.load.kernel_count;
	open_library(&r);
	close(WIRE_CODE);
	for (int k = 0; r.kind == WIRE_LOADED && k < me.kernel_count; k++) {
		const struct wire_kernel *w = &me.in.load.kernels[k];

		/* dlsym gives an object pointer; POSIX says it may be used as a function's. */
		*(void **)&me.kernels[k].function = dlsym(me.library, w->name);
		me.kernels[k].arg_count = (int)w->arg_count;
		memcpy(me.kernels[k].args, w->args, sizeof(w->args));
		if (!me.kernels[k].function) {
			r.kind = WIRE_NO_ENTRY;
			snprintf(r.text, sizeof(r.text), "%s", w->name);
		}
	}
	if (r.kind == WIRE_LOADED && !bind_frames())
		machine_fault("no memory for the arguments", ENOMEM);
	reply(&r);
}

static void run_slot(int slot)
{
	const struct mapping *m = &me.maps[(size_t)slot * me.start.buffers];

	for (uint32_t i = 0; i < me.start.buffers; i++)
		if (m[i].zero)
			memset(m[i].base, 0, m[i].bytes);
	for (int k = 0; k < me.kernel_count; k++)
		kw_call(me.kernels[k].function, &me.frames[slot * me.kernel_count + k]);
}

static void do_run(void)
{
	struct wire_reply r = { .kind = WIRE_DONE };
	int32_t order[WIRE_ORDER_MAX];
	uint32_t count = me.in.run.count;

	memcpy(order, me.in.run.order, count * sizeof(order[0]));
	for (uint32_t i = 0; i < count; i++)
		run_slot(order[i]);
	r.nonce = me.in.run.nonce;
	reply(&r);
}

static void loop(void)
{
	for (;;) {
		int fds[WIRE_MAPS_MAX], got;

		if (!receive(fds, WIRE_MAPS_MAX, &got))
			_exit(0); /* the judge has gone */
		if (me.in.op == WIRE_LOAD && got == 1)
			do_load(fds[0]);
		else if (me.in.op == WIRE_RUN)
			do_run();
		else
			_exit(121);
	}
}

void kw_player_main(int argc, char **argv)
{
	struct wire_reply ready = { .kind = WIRE_READY };
	int none;

	(void)argv;
	if (argc != 2 || fcntl(WIRE_CONTROL, F_GETFD) < 0 || !receive(NULL, 0, &none) || me.in.op != WIRE_START) {
		fprintf(stderr, "kwright: __player is started by the judge only\n");
		_exit(2);
	}
	me.start = me.in.start;
	fcntl(WIRE_CONTROL, F_SETFD, FD_CLOEXEC);
	unsetenv("LD_LIBRARY_PATH");
	map_slots();
	catch_faults();
	if (!me.start.trusted)
		preload();
	if (!me.start.trusted)
		lock_down(&ready);
	reply(&ready);
	loop();
	_exit(0);
}
