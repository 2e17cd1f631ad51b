/* A CUDA driver that is none: what test_device_nvidia.c builds as libcuda.so.1, to be told by a file `mode` beside it how to
 * fail. Memory is memory of this machine, shared by descriptor as the driver shares its own; a launch runs one of the two
 * kernels below on it. What it cannot show is anything about a GPU. */
#include "device/cuda_driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GRANULE = 65536, ALLOCATIONS = 4096, ARGS = 4, LAUNCHES = 1024 };
#define FREE_BYTES ((size_t)8 << 30)

struct cuda_function_s {
	char name[64];
	int limit;
};
struct cuda_module_s {
	int unused;
};
struct cuda_graph_exec_s {
	struct {
		cuda_function f;
		uint64_t args[ARGS];
	} launch[LAUNCHES];
	int count;
};
static char mode[64], folder[512];
static struct {
	int fd;
	size_t bytes;
} memory[ALLOCATIONS];
static struct cuda_graph_exec_s *recording;
static cuda_result pending;
static int some_place;

__attribute__((constructor)) static void read_mode(void)
{
	char path[512];
	Dl_info info;
	char *slash;
	ssize_t n = 0;
	int fd;

	if (!dladdr(&some_place, &info))
		return;
	snprintf(path, sizeof(path), "%.400s", info.dli_fname);
	slash = strrchr(path, '/');
	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path), path);
	snprintf(slash ? slash : path, 8, "/mode");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, mode, sizeof(mode) - 1);
		close(fd);
	}
	mode[n > 0 ? strcspn(mode, "\n") : 0] = '\0';
}

static bool is(const char *what)
{
	return strcmp(mode, what) == 0;
}

/* Once, or each time: as by somebody else. */
static void be_killed(void)
{
	char path[600];

	snprintf(path, sizeof(path), "%.500s/killed", folder);
	if (is("killed each time") || (is("killed at first") && open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0))
		kill(getpid(), SIGKILL);
}

static bool is_player(void)
{
	char line[64] = "";
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : 0;

	if (fd >= 0)
		close(fd);
	return n > 0 && strcmp(line + strlen(line) + 1, "__player") == 0;
}

/* ---- the device ---- */

cuda_result cuInit(unsigned flags)
{
	(void)flags;
	return is("no device") ? CUDA_NO_DEVICE : is("stub") ? CUDA_STUB : is("versions") ? CUDA_VERSIONS_DIFFER : CUDA_SUCCESS;
}

cuda_result cuDriverGetVersion(int *v)
{
	*v = is("old driver") ? 12020 : 13000;
	return CUDA_SUCCESS;
}

cuda_result cuGetErrorName(cuda_result r, const char **out)
{
	*out = r == CUDA_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : r == CUDA_MISALIGNED ? "CUDA_ERROR_MISALIGNED_ADDRESS" : "CUDA_ERROR_OF_SOME_KIND";
	return CUDA_SUCCESS;
}

cuda_result cuGetErrorString(cuda_result r, const char **out)
{
	(void)r;
	*out = "words";
	return CUDA_SUCCESS;
}

cuda_result cuDeviceGetCount(int *n)
{
	*n = is("no devices") ? 0 : 1;
	return CUDA_SUCCESS;
}

cuda_result cuDeviceGet(cuda_device *d, int ordinal)
{
	*d = ordinal;
	return CUDA_SUCCESS;
}

cuda_result cuDeviceGetName(char *out, int n, cuda_device d)
{
	(void)d;
	snprintf(out, (size_t)n, "NVIDIA H200");
	return CUDA_SUCCESS;
}

cuda_result cuDeviceGetAttribute(int *out, int which, cuda_device d)
{
	static const struct {
		int which, value;
	} all[] = {
		{ CUDA_THREADS_PER_BLOCK, 1024 }, { CUDA_BLOCK_X, 1024 }, { CUDA_BLOCK_X + 1, 1024 }, { CUDA_BLOCK_X + 2, 64 },
		{ CUDA_GRID_X, 2147483647 }, { CUDA_GRID_X + 1, 65535 }, { CUDA_GRID_X + 2, 65535 }, { CUDA_WARP, 32 },
		{ CUDA_REGISTERS_PER_BLOCK, 65536 }, { CUDA_REGISTERS_PER_UNIT, 65536 }, { CUDA_UNITS, 132 },
		{ CUDA_L2_BYTES, 1 << 20 }, { CUDA_THREADS_PER_UNIT, 2048 }, { CUDA_BLOCKS_PER_UNIT, 32 },
		{ CUDA_SMEM_OPTIN, 232448 }, { CUDA_SMEM_PER_UNIT, 233472 }, { CUDA_SMEM_RESERVED, 1024 },
		{ CUDA_MAJOR, 9 }, { CUDA_HAS_VMM, 1 }, { CUDA_HAS_FD, 1 }, { CUDA_HAS_CLUSTERS, 1 },
	};

	(void)d;
	*out = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].which == which)
			*out = all[i].value;
	if (which == CUDA_COMPUTE_MODE)
		*out = is("exclusive") ? CUDA_MODE_EXCLUSIVE : is("prohibited") ? CUDA_MODE_PROHIBITED : 0;
	if (which == CUDA_HAS_FD && is("no descriptors"))
		*out = 0;
	return CUDA_SUCCESS;
}

cuda_result cuDeviceGetPCIBusId(char *out, int n, cuda_device d)
{
	(void)d;
	snprintf(out, (size_t)n, "0000:3b:00.0");
	return CUDA_SUCCESS;
}

cuda_result cuDeviceTotalMem_v2(size_t *out, cuda_device d)
{
	(void)d;
	*out = FREE_BYTES;
	return CUDA_SUCCESS;
}

cuda_result cuDevicePrimaryCtxRetain(cuda_context *out, cuda_device d)
{
	(void)d;
	*out = (cuda_context)(void *)&some_place;
	if (is_player())
		be_killed();
	while (is("never ready") && is_player())
		pause();
	if (is("full") || (is("full for the player") && is_player()))
		return CUDA_OUT_OF_MEMORY;
	return is("taken") || (is("taken for the player") && is_player()) ? CUDA_UNAVAILABLE : CUDA_SUCCESS;
}

cuda_result cuDevicePrimaryCtxRelease_v2(cuda_device d)
{
	(void)d;
	return CUDA_SUCCESS;
}

cuda_result cuCtxSetCurrent(cuda_context c)
{
	(void)c;
	return CUDA_SUCCESS;
}

cuda_result cuCtxSynchronize(void)
{
	return CUDA_SUCCESS;
}

/* ---- memory ---- */

cuda_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	*free_bytes = is("little memory") ? 3 << 20 : FREE_BYTES;
	*total = FREE_BYTES;
	return CUDA_SUCCESS;
}

cuda_result cuMemGetAllocationGranularity(size_t *out, const struct cuda_allocation_prop *p, int which)
{
	(void)p;
	(void)which;
	*out = GRANULE;
	return CUDA_SUCCESS;
}

static cuda_result keep(cuda_allocation *out, int fd, size_t bytes)
{
	for (int i = 0; i < ALLOCATIONS; i++)
		if (memory[i].fd == 0) {
			memory[i].fd = fd;
			memory[i].bytes = bytes;
			*out = (cuda_allocation)i + 1;
			return CUDA_SUCCESS;
		}
	return CUDA_OUT_OF_MEMORY;
}

cuda_result cuMemCreate(cuda_allocation *out, size_t bytes, const struct cuda_allocation_prop *p, unsigned long long flags)
{
	int fd = is("no room") ? -1 : memfd_create("device", MFD_CLOEXEC);

	(void)p;
	(void)flags;
	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		return CUDA_OUT_OF_MEMORY;
	return keep(out, fd, bytes);
}

cuda_result cuMemRelease(cuda_allocation h)
{
	close(memory[h - 1].fd);
	memory[h - 1].fd = 0;
	return CUDA_SUCCESS;
}

cuda_result cuMemExportToShareableHandle(void *out, cuda_allocation h, int type, unsigned long long flags)
{
	(void)type;
	(void)flags;
	*(int *)out = fcntl(memory[h - 1].fd, F_DUPFD_CLOEXEC, 3);
	return CUDA_SUCCESS;
}

cuda_result cuMemImportFromShareableHandle(cuda_allocation *out, void *handle, int type)
{
	(void)type;
	return keep(out, fcntl((int)(uintptr_t)handle, F_DUPFD_CLOEXEC, 3), 0);
}

cuda_result cuMemAddressReserve(cuda_ptr *out, size_t bytes, size_t align, cuda_ptr at, unsigned long long flags)
{
	void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)align;
	(void)at;
	(void)flags;
	*out = (cuda_ptr)(uintptr_t)p;
	return p == MAP_FAILED ? CUDA_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static void *place(cuda_ptr p)
{
	return (void *)(uintptr_t)p;
}

cuda_result cuMemAddressFree(cuda_ptr p, size_t bytes)
{
	munmap(place(p), bytes);
	return CUDA_SUCCESS;
}

cuda_result cuMemMap(cuda_ptr p, size_t bytes, size_t offset, cuda_allocation h, unsigned long long flags)
{
	(void)flags;
	return mmap(place(p), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory[h - 1].fd, (off_t)offset) == MAP_FAILED ?
		       CUDA_INVALID_VALUE : CUDA_SUCCESS;
}

cuda_result cuMemUnmap(cuda_ptr p, size_t bytes)
{
	mmap(place(p), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	return CUDA_SUCCESS;
}

cuda_result cuMemSetAccess(cuda_ptr p, size_t bytes, const struct cuda_access *a, size_t count)
{
	(void)count;
	return mprotect(place(p), bytes, a->flags == 3 ? PROT_READ | PROT_WRITE : PROT_READ) ? CUDA_INVALID_VALUE : CUDA_SUCCESS;
}

cuda_result cuMemAlloc_v2(cuda_ptr *out, size_t bytes)
{
	*out = (cuda_ptr)(uintptr_t)calloc(1, bytes);
	return *out ? CUDA_SUCCESS : CUDA_OUT_OF_MEMORY;
}

cuda_result cuMemFree_v2(cuda_ptr p)
{
	free(place(p));
	return CUDA_SUCCESS;
}

cuda_result cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
	(void)p;
	(void)bytes;
	(void)flags;
	return CUDA_INVALID_VALUE; /* what does without must go on */
}

cuda_result cuMemHostUnregister(void *p)
{
	(void)p;
	return CUDA_SUCCESS;
}

cuda_result cuMemcpyHtoD_v2(cuda_ptr to, const void *from, size_t bytes)
{
	memcpy(place(to), from, bytes);
	return CUDA_SUCCESS;
}

cuda_result cuMemcpyDtoH_v2(void *to, cuda_ptr from, size_t bytes)
{
	memcpy(to, place(from), bytes);
	return CUDA_SUCCESS;
}

cuda_result cuMemsetD8_v2(cuda_ptr p, unsigned char v, size_t n)
{
	memset(place(p), v, n);
	return CUDA_SUCCESS;
}

cuda_result cuMemsetD32_v2(cuda_ptr p, unsigned v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((unsigned *)place(p))[i] = v;
	return CUDA_SUCCESS;
}

cuda_result cuMemsetD8Async(cuda_ptr p, unsigned char v, size_t n, cuda_stream s)
{
	(void)s;
	return cuMemsetD8_v2(p, v, n);
}

/* ---- streams, events, graphs ---- */

cuda_result cuStreamCreate(cuda_stream *out, unsigned flags)
{
	(void)flags;
	*out = (cuda_stream)(void *)&some_place;
	return CUDA_SUCCESS;
}

cuda_result cuStreamSynchronize(cuda_stream s)
{
	cuda_result r = pending;

	(void)s;
	pending = CUDA_SUCCESS;
	return r;
}

cuda_result cuStreamBeginCapture_v2(cuda_stream s, int how)
{
	(void)s;
	(void)how;
	recording = calloc(1, sizeof(*recording));
	return recording ? CUDA_SUCCESS : CUDA_OUT_OF_MEMORY;
}

cuda_result cuStreamEndCapture(cuda_stream s, cuda_graph *out)
{
	(void)s;
	*out = (cuda_graph)(void *)recording;
	recording = NULL;
	return CUDA_SUCCESS;
}

cuda_result cuEventCreate(cuda_event *out, unsigned flags)
{
	(void)flags;
	*out = (cuda_event)(void *)&some_place;
	return CUDA_SUCCESS;
}

cuda_result cuEventRecord(cuda_event e, cuda_stream s)
{
	(void)e;
	(void)s;
	return CUDA_SUCCESS;
}

/* A batch takes as long as it has launches. */
static int launches_played;

cuda_result cuEventElapsedTime(float *ms, cuda_event a, cuda_event b)
{
	(void)a;
	(void)b;
	*ms = 1 + 0.01f * (float)launches_played;
	return CUDA_SUCCESS;
}

/* copy(const char *x, char *y, int n) is the one kernel that does something. */
static void run(cuda_function f, const uint64_t *args)
{
	if (strcmp(f->name, "copy") == 0)
		memcpy(place(args[1]), place(args[0]), (size_t)(int)args[2]);
	else if (strcmp(f->name, "strays") == 0)
		pending = CUDA_MISALIGNED;
}

cuda_result cuGraphInstantiateWithFlags(cuda_graph_exec *out, cuda_graph g, unsigned long long flags)
{
	(void)flags;
	*out = (cuda_graph_exec)(void *)g;
	return CUDA_SUCCESS;
}

cuda_result cuGraphUpload(cuda_graph_exec g, cuda_stream s)
{
	(void)g;
	(void)s;
	return CUDA_SUCCESS;
}

cuda_result cuGraphLaunch(cuda_graph_exec g, cuda_stream s)
{
	(void)s;
	launches_played = g->count;
	for (int i = 0; i < g->count; i++)
		run(g->launch[i].f, g->launch[i].args);
	return CUDA_SUCCESS;
}

cuda_result cuGraphDestroy(cuda_graph g)
{
	(void)g;
	return CUDA_SUCCESS;
}

cuda_result cuGraphExecDestroy(cuda_graph_exec g)
{
	free(g);
	return CUDA_SUCCESS;
}

/* ---- code ---- */

/* The judge's own kernels do nothing here: without them it works on its own copies. */
static bool is_the_judges(const void *code)
{
	const Elf64_Ehdr *e = code;

	return memcmp(code, ELFMAG, SELFMAG) == 0 && memmem(code, e->e_shoff, "kwj_fill", 8);
}

cuda_result cuModuleLoadData(cuda_module *out, const void *code)
{
	static struct cuda_module_s module;

	*out = &module;
	if (is_the_judges(code))
		return CUDA_NOT_FOUND;
	return is("old driver") && strncmp(code, ".version", 8) != 0 ? CUDA_UNSUPPORTED_PTX : CUDA_SUCCESS;
}

cuda_result cuModuleUnload(cuda_module m)
{
	(void)m;
	return CUDA_SUCCESS;
}

cuda_result cuModuleGetFunction(cuda_function *out, cuda_module m, const char *name)
{
	static struct cuda_function_s known[32];

	(void)m;
	if (strcmp(name, "missing") == 0)
		return CUDA_NOT_FOUND;
	for (int i = 0; i < 32; i++)
		if (!known[i].name[0] || strcmp(known[i].name, name) == 0) {
			snprintf(known[i].name, sizeof(known[i].name), "%.60s", name);
			*out = &known[i];
			return CUDA_SUCCESS;
		}
	return CUDA_NOT_FOUND;
}

cuda_result cuModuleGetGlobal_v2(cuda_ptr *p, size_t *n, cuda_module m, const char *name)
{
	(void)p;
	(void)n;
	(void)m;
	(void)name;
	return CUDA_NOT_FOUND;
}

cuda_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, cuda_function f, int threads, size_t smem_bytes);
cuda_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out, cuda_function f, int threads, size_t smem_bytes)
{
	(void)f;
	(void)smem_bytes;
	*out = threads > 0 ? 2048 / threads : 0;
	return CUDA_SUCCESS;
}

cuda_result cuFuncGetAttribute(int *out, int which, cuda_function f)
{
	(void)which;
	(void)f;
	*out = 0;
	return CUDA_SUCCESS;
}

cuda_result cuFuncSetAttribute(cuda_function f, int which, int v)
{
	(void)which;
	f->limit = v;
	return is("no shared memory") && strcmp(f->name, "kw_spoil") != 0 ? CUDA_INVALID_VALUE : CUDA_SUCCESS;
}

static cuda_result launch(cuda_function f, void **args)
{
	uint64_t bits[ARGS] = { 0 };

	/* Only what is known to have so many of 8 bytes. */
	for (int i = 0; i < 3 && (strcmp(f->name, "copy") == 0 || strcmp(f->name, "strays") == 0); i++)
		memcpy(&bits[i], args[i], sizeof(bits[i]));
	if (!recording) {
		run(f, bits);
	} else if (recording->count < LAUNCHES) {
		recording->launch[recording->count].f = f;
		memcpy(recording->launch[recording->count++].args, bits, sizeof(bits));
	}
	return is("refuses") && strncmp(f->name, "kw_", 3) != 0 ? CUDA_INVALID_VALUE : CUDA_SUCCESS;
}

cuda_result cuLaunchKernel(cuda_function f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			   unsigned smem, cuda_stream s, void **args, void **extra)
{
	(void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)smem, (void)s, (void)extra;
	return launch(f, args);
}

cuda_result cuLaunchKernelEx(const struct cuda_launch *c, cuda_function f, void **args, void **extra)
{
	(void)c;
	(void)extra;
	return launch(f, args);
}

#ifndef TOO_OLD
cuda_result cuTensorMapEncodeTiled(struct cuda_tensor_map *out, int type, uint32_t rank, void *at, const uint64_t *dim,
				   const uint64_t *stride, const uint32_t *box, const uint32_t *step, int a, int b, int c, int d)
{
	(void)out, (void)type, (void)rank, (void)at, (void)dim, (void)stride, (void)box, (void)step, (void)a, (void)b, (void)c, (void)d;
	return is("no tensor map") ? CUDA_INVALID_VALUE : CUDA_SUCCESS;
}
#endif
