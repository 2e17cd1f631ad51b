/* Shared objects: the C backend's. */
#include "device/call.h"
#include "device/runner.h"
#include "device/seccomp.h"

#include "base/alloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES = 16 };

struct kernel {
	void (*function)(void);
	int arg_count;
	struct wire_arg args[WIRE_ARGS_MAX];
};
static struct {
	struct kernel kernels[WIRE_KERNELS_MAX];
	struct call_frame *frames;     /* [slot * kernel_count + kernel] */
	int kernel_count, loads;
	void *library;
} elf;

/* ---- trusted start-up ---- */

/* LLVM's OpenMP reads files, looks for a library and leaves a name in /dev/shm when it first starts: now, then. */
static void warm_llvm_openmp(const struct player *p)
{
	static const char *const first_use[] = { "omp_get_max_threads", "omp_get_num_procs" };
	void *library = dlopen("libomp.so.5", RTLD_NOW | RTLD_LOCAL);
	char name[64];
	int probe;

	if (!library)
		return;
	if (p->start.mount_ns)
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
static void prepare(struct player *p)
{
	static const char *const names[] = { "libm.so.6", "libmvec.so.1", "libgcc_s.so.1", "libgomp.so.1", "libatomic.so.1" };

	if (p->start.trusted)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	warm_llvm_openmp(p);
}

/* ---- lock-down ---- */

static void lock_down(struct player *p, struct wire_reply *r)
{
	struct kw_seccomp_filter filter;
	bool changed = false, filtered = kw_seccomp_compute(&filter);

	/* The limits read /proc: before the files go. */
	if (kw_sandbox_rlimits(p->start.memory_bytes, (int)p->start.threads, geteuid() == 0, 16, 0))
		r->layers |= LAYER_RLIMITS;
	if (p->start.mount_ns && kw_sandbox_empty_root())
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
}

/* ---- load and run ---- */

static struct call_arg bind_arg(const struct player *p, const struct wire_arg *a, int slot)
{
	struct call_arg c = { .bits = (uint64_t)a->i };
	float f = (float)a->f;

	if (a->kind == WIRE_ARG_BUFFER) {
		c.bits = (uint64_t)(uintptr_t)p->maps[(size_t)slot * p->start.buffers + a->buffer].base;
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

static bool bind_frames(const struct player *p)
{
	size_t total = (size_t)p->start.slots * (size_t)elf.kernel_count;

	kw_free(elf.frames);
	elf.frames = kw_calloc(total + 1, sizeof(*elf.frames));
	if (!elf.frames)
		return false;
	for (int slot = 0; slot < (int)p->start.slots; slot++)
		for (int k = 0; k < elf.kernel_count; k++) {
			struct call_arg args[WIRE_ARGS_MAX];

			for (int i = 0; i < elf.kernels[k].arg_count; i++)
				args[i] = bind_arg(p, &elf.kernels[k].args[i], slot);
			kw_call_prepare(&elf.frames[slot * elf.kernel_count + k], args, elf.kernels[k].arg_count);
		}
	return true;
}

static void open_library(struct player *p, struct wire_reply *r)
{
	char path[64];

	snprintf(path, sizeof(path), p->locked ? "/kw/artefact-%d" : "/proc/self/fd/%d", p->locked ? elf.loads : WIRE_CODE);
	elf.loads++;
	p->loading = 1;
	elf.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	p->loading = 0;
	if (!elf.library) {
		const char *why = dlerror();

		r->kind = WIRE_LOAD_FAILED;
		snprintf(r->text, sizeof(r->text), "%s", why ? why : "dlopen failed");
	}
}

static void load(struct player *p, const struct wire_load *l, struct wire_reply *r)
{
	elf.kernel_count = (int)l->kernel_count;
	open_library(p, r);
	for (int k = 0; r->kind == WIRE_LOADED && k < elf.kernel_count; k++) {
		const struct wire_kernel *w = &l->kernels[k];

		/* dlsym gives an object pointer; POSIX says it may be used as a function's. */
		*(void **)&elf.kernels[k].function = dlsym(elf.library, w->name);
		elf.kernels[k].arg_count = (int)w->arg_count;
		memcpy(elf.kernels[k].args, w->args, sizeof(w->args));
		if (!elf.kernels[k].function) {
			r->kind = WIRE_NO_ENTRY;
			snprintf(r->text, sizeof(r->text), "%s", w->name);
		}
	}
	if (r->kind == WIRE_LOADED && !bind_frames(p))
		kw_player_fault("no memory for the arguments", ENOMEM);
}

static void run_slot(const struct player *p, int slot)
{
	const struct mapping *m = &p->maps[(size_t)slot * p->start.buffers];

	for (uint32_t i = 0; i < p->start.buffers; i++)
		if (m[i].zero)
			memset(m[i].base, 0, m[i].bytes);
	for (int k = 0; k < elf.kernel_count; k++)
		kw_call(elf.kernels[k].function, &elf.frames[slot * elf.kernel_count + k]);
}

static void run(struct player *p, const int32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		run_slot(p, order[i]);
}

/* dlopen's open of the artefact is answered with its descriptor, so that opening files is never allowed at all. */
static long file(struct player *p, int call, const char *path)
{
	long fd;

	(void)call;
	if (!p->loading || strncmp(path, "/kw/", 4) != 0)
		return RUNNER_NO_ANSWER;
	fd = syscall(SYS_dup, WIRE_CODE);
	return fd < 0 ? -EBADF : fd;
}

const struct runner kw_runner_elf = {
	.prepare = prepare,
	.lock_down = lock_down,
	.load = load,
	.run = run,
	.file = file,
};
