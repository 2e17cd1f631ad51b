/* OpenCL programs, by the vendor's own runtime in the player.
 *
 * Devices that are the CPU (PoCL) run kernels in this very process, so a kernel is as dangerous as a C function. The runtime
 * starts first, with its threads; then everything is given up that it does not need. It still unpacks a program into files
 * while loading, which nobody else can see (an own /tmp that has become the root); after that the filter of the C player
 * goes onto every thread. The code itself is mapped at the first launch only: those files are kept as sealed memory files,
 * and the runtime's attempt to open one, which the filter refuses, is answered with its descriptor. So nothing of a
 * candidate runs before the filter is there, and nothing can be opened after it.
 *
 * On other devices kernels never run here. Their drivers need device files and ioctl at every launch, so only privileges are
 * given up; buffers are copied, with canaries on both sides. */
#include "device/opencl_api.h"
#include "device/runner.h"
#include "device/seccomp.h"

#include "base/alloc.h"
#include "core/verdict.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SCRATCH_BYTES = 64 << 20, ROOM_BYTES = 4 << 20, FILES_MAX = 160, FILES_FIRST = 16, PATH_BYTES = 320, DEPTH_MAX = 8,
       LANDLOCK_THREADS_ABI = 8 /* the first that can bind threads which are there already */ };

struct kept {
	char path[PATH_BYTES];
	int fd;
};
static struct {
	struct kw_cl cl;
	void *device, *context, *queue, *program;
	void *first, *last;            /* events of a batch's first and last launch; NULL: none */
	void **whole, **buffers;       /* [slot * buffers + buffer]; whole: with what is beside it; the same where shared */
	void **kernels;                /* [slot * kernel_count + kernel], with their arguments */
	struct wire_kernel plan[WIRE_KERNELS_MAX];
	int kernel_count;
	char cache[64];
	struct kw_seccomp_filter filter;
	bool filtered, reads;          /* reads: Landlock from the beginning, before any thread */
	struct kept kept[FILES_MAX];
	int kept_count;
} ocl;

static size_t place_of(const struct player *p, int slot, uint32_t buffer)
{
	return (size_t)slot * p->start.buffers + buffer;
}

/* ---- trusted start-up ---- */

static void environment(struct player *p)
{
	char threads[16];

	snprintf(threads, sizeof(threads), "%u", p->start.threads);
	setenv("POCL_CACHE_DIR", ocl.cache, 1);
	setenv("POCL_MAX_PTHREAD_COUNT", threads, 1);
	setenv("POCL_SIGFPE_HANDLER", "0", 1); /* faults are reported by us */
	unsetenv("HOME");
}

/* Without namespaces the runtime's files are in the common /tmp, for a moment; the judge removes them. */
static void choose_folder(struct player *p)
{
	static const char *const read[] = { "/etc/OpenCL", "/sys", "/proc/self", NULL };

	if (p->start.mount_ns && kw_sandbox_scratch(SCRATCH_BYTES))
		snprintf(ocl.cache, sizeof(ocl.cache), "/tmp/kw");
	else
		snprintf(ocl.cache, sizeof(ocl.cache), "/tmp/kw-opencl-%d", p->start.pid);
	if (strcmp(ocl.cache, "/tmp/kw") == 0)
		return;
	if (mkdir(ocl.cache, 0700) < 0) /* somebody else's would hold somebody else's code */
		kw_player_fault("a folder for the OpenCL runtime cannot be made in /tmp", errno);
	/* Landlock binds the calling thread and those that it makes later; mounts are not allowed after it. */
	if (!p->start.driver)
		ocl.reads = kw_sandbox_no_new_privs() && kw_sandbox_landlock_reads(ocl.cache, read);
}

static void make_buffer(struct player *p, size_t i)
{
	const struct mapping *m = &p->maps[i];
	uint64_t flags = KW_CL_MEM_USE_HOST_PTR | (m->read_only ? KW_CL_MEM_READ_ONLY : KW_CL_MEM_READ_WRITE);
	struct kw_cl_region region = { (size_t)(m->base - m->file), m->bytes ? m->bytes : 1 };
	int32_t status = 0;

	if (!p->start.copies) {
		/* An empty buffer is one byte of the guard: whoever touches it is found out. */
		ocl.whole[i] = ocl.buffers[i] = ocl.cl.CreateBuffer(ocl.context, flags, region.bytes, m->base, &status);
	} else {
		ocl.whole[i] = ocl.cl.CreateBuffer(ocl.context, KW_CL_MEM_READ_WRITE, m->file_bytes, NULL, &status);
		if (ocl.whole[i])
			ocl.buffers[i] = ocl.cl.CreateSubBuffer(ocl.whole[i], KW_CL_MEM_READ_WRITE,
								KW_CL_BUFFER_CREATE_TYPE_REGION, &region, &status);
	}
	if (!ocl.buffers[i]) {
		char text[80], what[160];

		snprintf(what, sizeof(what), "cannot make an OpenCL buffer of %zu bytes: %s", m->file_bytes,
			 kw_cl_error(status, text, sizeof(text)));
		kw_player_fault(what, status == -4 || status == -6 ? ENOMEM : 0);
	}
}

static void prepare(struct player *p)
{
	size_t total = (size_t)p->start.slots * p->start.buffers;
	int32_t status = 0;
	char why[160];

	choose_folder(p);
	environment(p);
	if (!kw_cl_load(&ocl.cl, why, sizeof(why)))
		kw_player_fault(why, 0);
	ocl.device = kw_cl_device(&ocl.cl, p->start.platform, p->start.device);
	if (!ocl.device)
		kw_player_fault("the OpenCL device is not there in the player", 0);
	ocl.context = ocl.cl.CreateContext(NULL, 1, &ocl.device, NULL, NULL, &status);
	if (ocl.context)
		ocl.queue = ocl.cl.CreateCommandQueue(ocl.context, ocl.device, p->start.copies ? KW_CL_QUEUE_PROFILING : 0, &status);
	if (!ocl.queue)
		kw_player_fault(kw_cl_error(status, why, sizeof(why)), 0);
	ocl.whole = kw_calloc(total + 1, sizeof(*ocl.whole));
	ocl.buffers = kw_calloc(total + 1, sizeof(*ocl.buffers));
	if (!ocl.whole || !ocl.buffers)
		kw_player_fault("no memory for the buffers", ENOMEM);
	for (size_t i = 0; i < total; i++)
		make_buffer(p, i);
}

/* ---- lock-down ---- */

static void lock_down_driver(struct wire_reply *r)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (kw_sandbox_no_new_privs())
		r->layers |= LAYER_NNP;
}

static void lock_down(struct player *p, struct wire_reply *r)
{
	bool changed = false;

	if (p->start.driver) {
		lock_down_driver(r);
		return;
	}
	ocl.filtered = kw_seccomp_compute(&ocl.filter);
	if (kw_sandbox_rlimits(p->start.memory_bytes, (int)p->start.threads * 2, geteuid() == 0, FILES_FIRST + FILES_MAX,
			       SCRATCH_BYTES))
		r->layers |= LAYER_RLIMITS;
	if (strcmp(ocl.cache, "/tmp/kw") == 0 && kw_sandbox_scratch_root())
		r->layers |= LAYER_MOUNT;
	if (kw_sandbox_no_new_privs())
		r->layers |= LAYER_NNP;
	kw_sandbox_own_user(&changed);
	if (changed)
		r->layers |= LAYER_USER;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a change of user cleared it */
	/* In the runtime's threads, where kernels run, it is only there when it came first or reaches them all. While loading,
	 * the own root must still be written to: Landlock follows then (seal). */
	r->landlock_abi = kw_landlock_abi();
	if (ocl.reads || r->landlock_abi >= LANDLOCK_THREADS_ABI)
		r->layers |= LAYER_LANDLOCK;
	if (ocl.filtered) /* it is loaded with the program; where that fails nothing is run */
		r->layers |= LAYER_SECCOMP;
}

/* ---- files of the runtime ---- */

static int into_memory(int from)
{
	int fd = memfd_create("kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char part[1 << 14];
	ssize_t n;

	while (fd >= 0 && (n = read(from, part, sizeof(part))) != 0)
		if (n < 0 || write(fd, part, (size_t)n) != n) {
			close(fd);
			return -1;
		}
	if (fd >= 0)
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
	return fd;
}

static void keep(const char *path, int fd)
{
	if (ocl.kept_count == FILES_MAX || strlen(path) >= PATH_BYTES)
		kw_player_fault("the program has more kernels than can be kept", 0);
	snprintf(ocl.kept[ocl.kept_count].path, PATH_BYTES, "%s", path);
	ocl.kept[ocl.kept_count++].fd = fd;
}

/* PoCL looks for an object of its own for grids that are small; the one for all grids does. */
static void keep_alias(const char *path, int fd)
{
	static const char word[] = "-goffs0/";
	const char *at = strstr(path, word);
	char other[PATH_MAX];

	if (!at)
		return;
	snprintf(other, sizeof(other), "%.*s-goffs0-smallgrid/%s", (int)(at - path), path, at + strlen(word));
	keep(other, fd);
}

static void keep_file(const char *path)
{
	int from, fd;

	from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	fd = from < 0 ? -1 : into_memory(from);
	if (from >= 0)
		close(from);
	if (fd < 0)
		kw_player_fault("a compiled kernel cannot be kept in memory", errno);
	keep(path, fd);
	keep_alias(path, fd);
}

/* Objects are kept, and everything goes. */
static void empty_folder(const char *dir, int depth)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[PATH_MAX];
		struct stat st;
		size_t len;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		len = strlen(path);
		if (lstat(path, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX) {
			empty_folder(path, depth + 1);
			rmdir(path);
			continue;
		}
		if (len > 3 && strcmp(path + len - 3, ".so") == 0)
			keep_file(path);
		unlink(path);
	}
	if (d)
		closedir(d);
}

/* From here on nothing is opened, written or made executable but what was kept. */
static void seal(const struct player *p)
{
	if (p->start.driver || !p->locked)
		return;
	empty_folder(ocl.cache, 0);
	rmdir(ocl.cache);
	if (!kw_sandbox_no_writes())
		kw_player_fault("writing cannot be given up", errno);
	if (!kw_sandbox_landlock_everywhere() && kw_landlock_abi() >= LANDLOCK_THREADS_ABI)
		kw_player_fault("files cannot be given up", errno);
	if (ocl.filtered && !kw_seccomp_load_everywhere(&ocl.filter))
		kw_player_fault("the filter cannot be put on every thread", errno);
}

/* The runtime asks whether a kernel's object is there and opens it, at the first launch. */
static long file(struct player *p, int call, const char *path)
{
	(void)p;
	for (int i = 0; i < ocl.kept_count; i++) {
		long fd;

		if (strcmp(ocl.kept[i].path, path) != 0)
			continue;
#ifdef SYS_access
		if (call == SYS_access)
			return 0;
#endif
		if (call == SYS_faccessat || call == SYS_faccessat2)
			return 0;
		fd = syscall(SYS_dup, ocl.kept[i].fd);
		syscall(SYS_lseek, ocl.kept[i].fd, 0, SEEK_SET); /* shared with the duplicate; it was written to its end */
		return fd < 0 ? -EBADF : fd;
	}
	return RUNNER_NO_ANSWER;
}

/* ---- load ---- */

static void fail_load(struct wire_reply *r, const char *what, int32_t status)
{
	char text[80];

	r->kind = WIRE_LOAD_FAILED;
	snprintf(r->text, sizeof(r->text), "%.60s: %.80s", what, kw_cl_error(status, text, sizeof(text)));
}

static void open_program(struct wire_reply *r)
{
	struct stat st;
	size_t bytes = fstat(WIRE_CODE, &st) == 0 ? (size_t)st.st_size : 0;
	const unsigned char *code = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, WIRE_CODE, 0) : MAP_FAILED;
	int32_t status = 0, each = 0;

	if (code == MAP_FAILED)
		kw_player_fault("the program cannot be read", errno);
	ocl.program = ocl.cl.CreateProgramWithBinary(ocl.context, 1, &ocl.device, &bytes, &code, &each, &status);
	if (!ocl.program)
		fail_load(r, "the runtime does not take the program", each ? each : status);
	else if ((status = ocl.cl.BuildProgram(ocl.program, 1, &ocl.device, "", NULL, NULL)) != KW_CL_SUCCESS)
		fail_load(r, "the program cannot be built", status);
	munmap((void *)(uintptr_t)code, bytes);
}

static int32_t set_number(void *kernel, uint32_t at, const struct wire_arg *a)
{
	float f = (float)a->f;

	if (a->kind == WIRE_ARG_F64)
		return ocl.cl.SetKernelArg(kernel, at, sizeof(a->f), &a->f);
	if (a->kind == WIRE_ARG_F32)
		return ocl.cl.SetKernelArg(kernel, at, sizeof(f), &f);
	return ocl.cl.SetKernelArg(kernel, at, a->bytes <= sizeof(a->i) ? a->bytes : sizeof(a->i), &a->i); /* little-endian */
}

static int32_t set_args(const struct player *p, void *kernel, const struct wire_kernel *w, int slot)
{
	int32_t status = KW_CL_SUCCESS;
	uint32_t i;

	for (i = 0; i < w->arg_count && status == KW_CL_SUCCESS; i++) {
		const struct wire_arg *a = &w->args[i];

		if (a->kind == WIRE_ARG_BUFFER)
			status = ocl.cl.SetKernelArg(kernel, i, sizeof(void *), &ocl.buffers[place_of(p, slot, a->buffer)]);
		else
			status = set_number(kernel, i, a);
	}
	if (status == KW_CL_SUCCESS && w->smem_bytes > 0)
		status = ocl.cl.SetKernelArg(kernel, i, (size_t)w->smem_bytes, NULL);
	return status;
}

/* One kernel object for each slot: arguments stay with it. */
static void make_kernels(const struct player *p, struct wire_reply *r)
{
	size_t total = (size_t)p->start.slots * (size_t)ocl.kernel_count;

	ocl.kernels = kw_calloc(total + 1, sizeof(*ocl.kernels));
	if (!ocl.kernels)
		kw_player_fault("no memory for the kernels", ENOMEM);
	for (size_t i = 0; i < total && r->kind == WIRE_LOADED; i++) {
		const struct wire_kernel *w = &ocl.plan[i % (size_t)ocl.kernel_count];
		int32_t status = 0;

		ocl.kernels[i] = ocl.cl.CreateKernel(ocl.program, w->name, &status);
		if (!ocl.kernels[i] && status == KW_CL_INVALID_KERNEL_NAME) {
			r->kind = WIRE_NO_ENTRY;
			snprintf(r->text, sizeof(r->text), "%s", w->name);
		} else if (!ocl.kernels[i]) {
			fail_load(r, w->name, status);
		} else if ((status = set_args(p, ocl.kernels[i], w, (int)(i / (size_t)ocl.kernel_count))) != KW_CL_SUCCESS) {
			fail_load(r, w->name, status);
		}
	}
}

static void load(struct player *p, const struct wire_load *l, struct wire_reply *r)
{
	ocl.kernel_count = (int)l->kernel_count;
	memcpy(ocl.plan, l->kernels, sizeof(ocl.plan[0]) * l->kernel_count);
	open_program(r);
	if (r->kind == WIRE_LOADED)
		make_kernels(p, r);
	if (r->kind == WIRE_LOADED)
		seal(p);
}

/* ---- run ---- */

/* What the runtime refuses or reports, in the words of a verdict. */
static _Noreturn void refused(const char *name, int32_t status, enum kw_subclass otherwise)
{
	char text[80], what[200];
	enum kw_subclass sub = status == -4 || status == -6 ? KW_S_OUT_OF_MEMORY :
			       status <= -51 && status >= -63 ? KW_S_CONFIGURATION :
								otherwise;

	snprintf(what, sizeof(what), "%.100s: the runtime says %s", name, kw_cl_error(status, text, sizeof(text)));
	kw_player_die(WIRE_DEVICE, (int)sub, what);
}

static void zero(const struct player *p, size_t at)
{
	static const unsigned char none = 0;
	const struct mapping *m = &p->maps[at];
	int32_t status;

	if (!p->start.copies) {
		memset(m->base, 0, m->bytes);
		return;
	}
	status = m->bytes ? ocl.cl.EnqueueFillBuffer(ocl.queue, ocl.buffers[at], &none, 1, 0, m->bytes, 0, NULL, NULL) : 0;
	if (status != KW_CL_SUCCESS)
		refused("a workspace cannot be zeroed", status, KW_S_CONFIGURATION);
}

/* event: NULL, or what is told of the launch. */
static void launch(void *kernel, const struct wire_kernel *w, void **event)
{
	size_t global[3], local[3];
	int32_t status;

	for (int i = 0; i < 3; i++) {
		local[i] = (size_t)w->block[i];
		global[i] = (size_t)w->grid[i] * local[i];
		if (global[i] == 0)
			return;
	}
	status = ocl.cl.EnqueueNDRangeKernel(ocl.queue, kernel, 3, NULL, global, local, 0, NULL, event);
	if (status != KW_CL_SUCCESS)
		refused(w->name, status, KW_S_LAUNCH_RESOURCES);
}

/* The first and the last launch of a batch, where the device's own clock is out of a kernel's reach. */
static void launch_told(struct player *p, void *kernel, const struct wire_kernel *w)
{
	void *event = NULL;

	launch(kernel, w, p->start.copies ? &event : NULL);
	if (!event)
		return;
	if (ocl.first && ocl.last)
		ocl.cl.ReleaseEvent(ocl.last);
	if (!ocl.first)
		ocl.first = event;
	else
		ocl.last = event;
}

/* Asked when the judge's clock stands. */
static int64_t told_ns(void)
{
	uint64_t from = 0, to = 0;
	void *last = ocl.last ? ocl.last : ocl.first;
	bool known = ocl.first &&
		     ocl.cl.GetEventProfilingInfo(ocl.first, KW_CL_PROFILING_START, sizeof(from), &from, NULL) == KW_CL_SUCCESS &&
		     ocl.cl.GetEventProfilingInfo(last, KW_CL_PROFILING_END, sizeof(to), &to, NULL) == KW_CL_SUCCESS;

	if (ocl.last)
		ocl.cl.ReleaseEvent(ocl.last);
	if (ocl.first)
		ocl.cl.ReleaseEvent(ocl.first);
	ocl.first = ocl.last = NULL;
	return known && to > from ? (int64_t)(to - from) : 0;
}

static void run(struct player *p, const int32_t *order, uint32_t count)
{
	int32_t status;

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t b = 0; b < p->start.buffers; b++)
			if (p->maps[place_of(p, order[i], b)].zero)
				zero(p, place_of(p, order[i], b));
		for (int k = 0; k < ocl.kernel_count; k++)
			launch_told(p, ocl.kernels[order[i] * ocl.kernel_count + k], &ocl.plan[k]);
	}
	status = count ? ocl.cl.Finish(ocl.queue) : KW_CL_SUCCESS;
	if (status != KW_CL_SUCCESS)
		refused("the kernel stopped", status, KW_S_ILLEGAL_ACCESS);
}

/* ---- devices with memory of their own ---- */

/* Drivers pin what they copy from and to, which some refuse for the judge's pages: shared ones, and those of inputs are not
 * writable. So everything goes through a room of our own. */
static int32_t write_through(const struct mapping *m, void *buffer, uint8_t *room)
{
	int32_t status = KW_CL_SUCCESS;

	for (size_t at = 0; at < m->file_bytes && status == KW_CL_SUCCESS; at += ROOM_BYTES) {
		size_t n = m->file_bytes - at < ROOM_BYTES ? m->file_bytes - at : ROOM_BYTES;

		memcpy(room, m->file + at, n);
		status = ocl.cl.EnqueueWriteBuffer(ocl.queue, buffer, 1, at, n, room, 0, NULL, NULL);
	}
	return status;
}

/* An input is not for writing, nor are the judge's pages of it: the first byte that differs is reported as if the write had
 * faulted. */
static void take_piece(const struct mapping *m, size_t at, const uint8_t *room, size_t n)
{
	if (!m->read_only) {
		memcpy(m->file + at, room, n);
		return;
	}
	if (memcmp(room, m->file + at, n) == 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (room[i] != m->file[at + i])
			kw_player_wrote(m->file + at + i);
}

static int32_t read_through(const struct mapping *m, void *buffer, uint8_t *room)
{
	int32_t status = KW_CL_SUCCESS;

	for (size_t at = 0; at < m->file_bytes && status == KW_CL_SUCCESS; at += ROOM_BYTES) {
		size_t n = m->file_bytes - at < ROOM_BYTES ? m->file_bytes - at : ROOM_BYTES;

		status = ocl.cl.EnqueueReadBuffer(ocl.queue, buffer, 1, at, n, room, 0, NULL, NULL);
		if (status == KW_CL_SUCCESS)
			take_piece(m, at, room, n);
	}
	return status;
}

/* *failed: the buffer that could not be moved. */
static int32_t move_slots(const struct player *p, const int32_t *order, uint32_t count, bool there, size_t *failed)
{
	uint8_t *room = kw_alloc(ROOM_BYTES);
	int32_t status = KW_CL_SUCCESS;

	if (!room)
		kw_player_fault("no memory to copy buffers", ENOMEM);
	for (uint32_t i = 0; i < count && status == KW_CL_SUCCESS; i++)
		for (uint32_t b = 0; b < p->start.buffers && status == KW_CL_SUCCESS; b++) {
			size_t at = place_of(p, order[i], b);

			*failed = at;
			status = there ? write_through(&p->maps[at], ocl.whole[at], room) :
					 read_through(&p->maps[at], ocl.whole[at], room);
		}
	kw_free(room);
	return status;
}

static void stage(struct player *p, const int32_t *order, uint32_t count)
{
	size_t at = 0;
	int32_t status = move_slots(p, order, count, true, &at);
	char what[100];

	if (status == KW_CL_SUCCESS)
		return;
	snprintf(what, sizeof(what), "buffer %zu of slot %zu (%zu bytes) cannot be copied to the device", at % p->start.buffers,
		 at / p->start.buffers, p->maps[at].file_bytes);
	refused(what, status, KW_S_OUT_OF_MEMORY);
}

static void fetch(struct player *p, const int32_t *order, uint32_t count)
{
	size_t at = 0;
	int32_t status = move_slots(p, order, count, false, &at);

	p->device_ns = told_ns();
	if (status != KW_CL_SUCCESS)
		refused("the kernel stopped", status, KW_S_ILLEGAL_ACCESS);
}

const struct runner kw_runner_opencl = {
	.prepare = prepare,
	.lock_down = lock_down,
	.load = load,
	.run = run,
	.file = file,
	.stage = stage,
	.fetch = fetch,
};
