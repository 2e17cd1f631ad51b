#include "device/nvidia.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "device/nvidia_ptx.h"
#include "device/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_SECONDS 1e-3           /* of memory traffic: long beside what a batch costs, and its noise */
#define DEFAULT_BANDWIDTH 3e11         /* where no sheet knows the device */
#define REPEAT_SHARE 0.005           /* 20 judgements of one kernel on an H200: medians within +-0.5% (bench/gpu) */

struct nvidia *kw_nvidia_of(const struct kw_device *d)
{
	return (struct nvidia *)(uintptr_t)d;
}

static enum kw_status await_start(struct nvidia *n, struct kw_error *err)
{
	pthread_mutex_lock(&n->starting_lock);
	if (n->starting)
		pthread_join(n->starter, NULL);
	n->starting = false;
	pthread_mutex_unlock(&n->starting_lock);
	if (n->started != KW_OK && err)
		*err = n->start_error;
	return n->started;
}

enum kw_status kw_nvidia_enter(struct nvidia *n, struct kw_error *err)
{
	enum kw_status st = await_start(n, err);

	return st != KW_OK ? st : kw_cuda_status(n->cu, n->cu->CtxSetCurrent(n->context), "cuCtxSetCurrent", err);
}

enum kw_status kw_nvidia_wait(const struct nvidia *n, struct kw_error *err)
{
	return kw_cuda_status(n->cu, n->cu->CtxSynchronize(), "cuCtxSynchronize", err);
}

enum kw_status kw_nvidia_sweep(const struct nvidia *n, cuda_function f, void **args, uint64_t vectors, cuda_stream stream,
			       struct kw_error *err)
{
	uint64_t each = f == n->copy ? KW_PTX_COPY_VECTORS : KW_PTX_BLOCK_VECTORS, blocks = (vectors + each - 1) / each;

	if (blocks == 0)
		return KW_OK;
	return kw_cuda_status(n->cu, n->cu->LaunchKernel(f, (unsigned)blocks, 1, 1, KW_PTX_THREADS, 1, 1, 0, stream, args, NULL),
			      "cuLaunchKernel", err);
}

const uint64_t kw_nvidia_nothing_found[2] = { UINT64_MAX, 0 };
enum kw_status kw_nvidia_forget_found(const struct nvidia *n, struct kw_error *err)
{
	return kw_cuda_status(n->cu, n->cu->MemcpyHtoD(n->found, kw_nvidia_nothing_found, sizeof(kw_nvidia_nothing_found)),
			      "cuMemcpyHtoD", err);
}

/* ---- what the device is ---- */

static int attribute(const struct nvidia *n, int which)
{
	int v = 0;

	return n->cu->DeviceGetAttribute(&v, which, n->device) == CUDA_SUCCESS ? v : 0;
}

static void probe_limits(const struct nvidia *n, struct kw_launch_limits *l)
{
	l->warp_size = attribute(n, CUDA_WARP);
	l->threads_per_block = attribute(n, CUDA_THREADS_PER_BLOCK);
	l->threads_per_unit = attribute(n, CUDA_THREADS_PER_UNIT);
	l->blocks_per_unit = attribute(n, CUDA_BLOCKS_PER_UNIT);
	l->registers_per_block = attribute(n, CUDA_REGISTERS_PER_BLOCK);
	l->registers_per_unit = attribute(n, CUDA_REGISTERS_PER_UNIT);
	l->smem_per_block_bytes = attribute(n, CUDA_SMEM_OPTIN);
	l->smem_per_unit_bytes = attribute(n, CUDA_SMEM_PER_UNIT);
	l->smem_reserved_bytes = attribute(n, CUDA_SMEM_RESERVED);
	for (int i = 0; i < 3; i++) {
		l->grid[i] = attribute(n, CUDA_GRID_X + i);
		l->block[i] = attribute(n, CUDA_BLOCK_X + i);
	}
	if (l->registers_per_thread == 0)
		l->registers_per_thread = 255;
	if (attribute(n, CUDA_HAS_CLUSTERS) && l->cluster_blocks == 0)
		l->cluster_blocks = l->cluster_blocks_portable = 8;
}

/* The data sheet where there is one, and over it what the device says of itself. */
static void probe(const struct nvidia *n, struct kw_hardware *h)
{
	int version = 0;
	size_t bytes = 0;
	char name[96] = "";
	struct kw_arena a;

	n->cu->DeviceGetName(name, sizeof(name) - 1, n->device);
	kw_arena_init(&a, 4u << 20);
	if (kw_hardware_match(name, &a, h, NULL) != KW_OK)
		*h = (struct kw_hardware){ 0 };
	kw_arena_release(&a);
	snprintf(h->name, sizeof(h->name), "%s", name);
	snprintf(h->vendor, sizeof(h->vendor), "NVIDIA");
	n->cu->DriverGetVersion(&version);
	snprintf(h->driver, sizeof(h->driver), "driver for CUDA %d.%d", version / 1000, version % 1000 / 10);
	kw_hardware_nvidia_arch(attribute(n, CUDA_MAJOR), attribute(n, CUDA_MINOR), h->arch);
	h->units = attribute(n, CUDA_UNITS);
	if (n->cu->DeviceTotalMem(&bytes, n->device) == CUDA_SUCCESS)
		h->memory_bytes = (int64_t)bytes;
	h->l2_bytes = h->last_level_cache_bytes = attribute(n, CUDA_L2_BYTES);
	h->clock_hz = 1e3 * attribute(n, CUDA_CLOCK_KHZ);
	if (h->memory_bytes_per_s <= 0) /* two transfers a clock */
		h->memory_bytes_per_s = 2e3 * attribute(n, CUDA_MEMORY_CLOCK_KHZ) * attribute(n, CUDA_BUS_BITS) / 8;
	probe_limits(n, &h->limits);
}

/* "NVRTC 13.0", "nvcc 12.4" */
static int version_of(const char *toolchain)
{
	int major = 0, minor = 0;

	return sscanf(toolchain, "%*s %d.%d", &major, &minor) == 2 ? 1000 * major + 10 * minor : 0;
}

/* Objects of a newer toolkit of the same major version load too; it is told only when one does not. */
bool kw_nvidia_driver_is_older(const struct nvidia *n, const struct kw_artefact *code, cuda_result r, struct kw_error *err)
{
	int made = version_of(code->toolchain), driver = 0;
	char name[80];

	if (r != CUDA_INVALID_IMAGE && r != CUDA_NO_BINARY && r != CUDA_INVALID_PTX && r != CUDA_UNSUPPORTED_PTX)
		return false;
	if (n->cu->DriverGetVersion(&driver) != CUDA_SUCCESS || made <= driver)
		return false;
	kw_fail(err, KW_ERR_ENV, "", "the driver is for CUDA %d.%d and does not load what %.40s made (%s): install a newer driver, or "
		"name an older toolkit's folder in KWRIGHT_CUDA", driver / 1000, driver % 1000 / 10, code->toolchain,
		kw_cuda_error(n->cu, r, name, sizeof(name)));
	return true;
}

/* One server's context for all clients: it lets several processes into a GPU in exclusive mode. */
static bool has_mps(void)
{
	const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char path[512];

	snprintf(path, sizeof(path), "%.500s/control", folder && *folder ? folder : "/tmp/nvidia-mps");
	return access(path, F_OK) == 0;
}

static enum kw_status check_mode(struct nvidia *n, struct kw_error *err)
{
	int mode = attribute(n, CUDA_COMPUTE_MODE);

	if (has_mps())
		snprintf(n->base.note, sizeof(n->base.note), "an MPS server is here: a kernel that faults ends the context of every "
							     "client of it, the judge's too");
	if (mode == CUDA_MODE_PROHIBITED)
		return kw_fail(err, KW_ERR_ENV, "", "the GPU is in prohibited compute mode, which lets no program in; `nvidia-smi -c DEFAULT` "
						    "as root ends that");
	if (mode == CUDA_MODE_EXCLUSIVE && !has_mps())
		return kw_fail(err, KW_ERR_ENV, "", "the GPU is in exclusive-process mode, which lets one program in; the judge and the kernel "
						    "that it judges are two. `nvidia-smi -c DEFAULT` as root ends that");
	return KW_OK;
}

/* What the usual failures mean. */
static enum kw_status start_status(const struct nvidia *n, cuda_result r, const char *call, struct kw_error *err)
{
	static const struct {
		cuda_result number;
		const char *text;
	} known[] = {
		{ CUDA_NO_DEVICE, "there is no NVIDIA GPU here; build for one that is elsewhere: kwright eval --device SHEET" },
		{ CUDA_STUB, "libcuda.so.1 is a toolkit's stub and no driver; take its folder out of LD_LIBRARY_PATH" },
		{ CUDA_VERSIONS_DIFFER, "the driver's library and its kernel module are of different versions; load the module anew, or "
					"restart the machine" },
		{ CUDA_OUT_OF_MEMORY, "the GPU is full: there is no memory left for a context; `nvidia-smi` lists the programs that "
				      "have it" },
		{ CUDA_UNAVAILABLE, "the GPU is busy or unavailable: another program has it for itself; `nvidia-smi` lists them" },
	};
	char name[80];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].number == r)
			return kw_fail(err, KW_ERR_ENV, "", "%s (%s)", known[i].text, kw_cuda_error(n->cu, r, name, sizeof(name)));
	return kw_cuda_status(n->cu, r, call, err);
}

static enum kw_status find_device(struct nvidia *n, struct kw_error *err)
{
	const struct kw_cuda *cu = n->cu;
	cuda_result r = cu->Init(0);
	int count = 0;
	enum kw_status st;

	if (r == CUDA_SUCCESS && (cu->DeviceGetCount(&count) != CUDA_SUCCESS || count == 0))
		r = CUDA_NO_DEVICE;
	if ((st = start_status(n, r, "cuInit", err)) != KW_OK ||
	    (st = kw_cuda_status(cu, cu->DeviceGet(&n->device, n->ordinal), "cuDeviceGet", err)) != KW_OK)
		return st;
	if (!attribute(n, CUDA_HAS_VMM) || !attribute(n, CUDA_HAS_FD))
		return kw_fail(err, KW_ERR_ENV, "", "this GPU or its driver cannot share memory by file descriptor, which keeps a "
						    "candidate from the judge's memory");
	return check_mode(n, err);
}

static enum kw_status load_code(struct nvidia *n, struct kw_error *err)
{
	const struct {
		cuda_function *to;
		const char *name;
	} all[] = { { &n->read, "kw_read" }, { &n->write, "kw_write" }, { &n->copy, "kw_copy" },
		    { &n->fma32, "kw_fma32" }, { &n->fma64, "kw_fma64" }, { &n->marks, "kw_marks" } };
	enum kw_status st = kw_cuda_status(n->cu, n->cu->ModuleLoadData(&n->code, kw_nvidia_ptx), "cuModuleLoadData", err);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && st == KW_OK; i++)
		st = kw_cuda_status(n->cu, n->cu->ModuleGetFunction(all[i].to, n->code, all[i].name), "cuModuleGetFunction", err);
	return st;
}

static enum kw_status make_scratch(struct nvidia *n, struct kw_error *err)
{
	struct cuda_allocation_prop p = { .type = 1, .handle_types = 1, .location = { 1, n->device } };
	enum kw_status st = kw_cuda_status(n->cu, n->cu->MemGranularity(&n->granule_bytes, &p, 0),
					   "cuMemGetAllocationGranularity", err);

	n->scratch_bytes = 2 * (size_t)n->base.hardware.l2_bytes + (16u << 20);
	if (st == KW_OK)
		st = kw_cuda_status(n->cu, n->cu->MemAlloc(&n->scratch, n->scratch_bytes), "cuMemAlloc", err);
	if (st == KW_OK)
		st = kw_cuda_status(n->cu, n->cu->MemsetD8(n->scratch, 0, n->scratch_bytes), "cuMemsetD8", err);
	if (st == KW_OK)
		st = kw_cuda_status(n->cu, n->cu->MemAlloc(&n->found, sizeof(kw_nvidia_nothing_found)), "cuMemAlloc", err);
	if (st == KW_OK)
		st = kw_nvidia_forget_found(n, err);
	return st;
}

static void *start(void *arg)
{
	struct nvidia *n = arg;
	struct kw_error *err = &n->start_error;
	enum kw_status st = start_status(n, n->cu->PrimaryRetain(&n->context, n->device), "cuDevicePrimaryCtxRetain", err);

	if (st == KW_OK)
		st = kw_cuda_status(n->cu, n->cu->CtxSetCurrent(n->context), "cuCtxSetCurrent", err);
	if (st == KW_OK)
		st = load_code(n, err);
	if (st == KW_OK)
		st = make_scratch(n, err);
	n->started = st;
	return NULL;
}

static enum kw_status nvidia_ready(struct kw_device *d, struct kw_error *err)
{
	return await_start(kw_nvidia_of(d), err);
}

static void release(struct nvidia *n)
{
	if (!n->context || n->cu->CtxSetCurrent(n->context) != CUDA_SUCCESS)
		return;
	if (n->scratch)
		n->cu->MemFree(n->scratch);
	if (n->found)
		n->cu->MemFree(n->found);
	if (n->code)
		n->cu->ModuleUnload(n->code);
	n->cu->PrimaryRelease(n->device);
}

static void nvidia_close(struct kw_device *d)
{
	struct nvidia *n = kw_nvidia_of(d);

	kw_nvidia_doom(n);
	await_start(n, NULL);
	release(n); /* while the players' contexts are taken down too */
	kw_nvidia_cool(n);
	pthread_cond_destroy(&n->changed);
	pthread_mutex_destroy(&n->lock);
	pthread_mutex_destroy(&n->starting_lock);
}

static int64_t nvidia_memory_free(struct kw_device *d)
{
	struct nvidia *n = kw_nvidia_of(d);
	size_t free_bytes = 0, total = 0;
	bool told = kw_nvidia_enter(n, NULL) == KW_OK && n->cu->MemGetInfo(&free_bytes, &total) == CUDA_SUCCESS;

	if (told && free_bytes < total / 2) { /* some of it may be a player's that is ending */
		kw_children_gone();
		told = n->cu->MemGetInfo(&free_bytes, &total) == CUDA_SUCCESS;
	}
	return told ? (int64_t)free_bytes : -1;
}

extern const struct kw_device_ops kw_device_nvidia;
static enum kw_status nvidia_open_at(int i, struct kw_device **out, struct kw_error *err)
{
	struct nvidia *n = kw_calloc(1, sizeof(*n));
	enum kw_status st;

	*out = NULL;
	if (!n)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a device");
	n->base.ops = &kw_device_nvidia;
	n->ordinal = i;
	n->base.players_are_dear = true;
	n->base.batches_by_slope = true;
	n->base.repeat_share = REPEAT_SHARE;
	n->base.most_slots = NVIDIA_MOST_SLOTS;
	pthread_mutex_init(&n->lock, NULL);
	pthread_mutex_init(&n->starting_lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	st = kw_cuda_load(&n->cu, err);
	if (st == KW_OK)
		kw_nvidia_warm(n);
	if (st == KW_OK)
		st = find_device(n, err);
	if (st != KW_OK) {
		kw_device_close(&n->base);
		return st;
	}
	probe(n, &n->base.hardware);
	n->base.batch_bytes = BATCH_SECONDS * (n->base.hardware.memory_bytes_per_s > 0 ? n->base.hardware.memory_bytes_per_s :
												 DEFAULT_BANDWIDTH);
	n->starting = pthread_create(&n->starter, NULL, start, n) == 0;
	if (!n->starting)
		start(n);
	*out = &n->base;
	return KW_OK;
}

static enum kw_status nvidia_open(struct kw_device **out, struct kw_error *err)
{
	return nvidia_open_at(0, out, err);
}

static int nvidia_count(void)
{
	const struct kw_cuda *cu;
	int count = 0;

	if (kw_cuda_load(&cu, NULL) != KW_OK || cu->Init(0) != CUDA_SUCCESS || cu->DeviceGetCount(&count) != CUDA_SUCCESS)
		return 0;
	return count;
}

/* ---- what it is doing ---- */

static bool nvidia_state(struct kw_device *d, struct kw_device_state *out)
{
	struct nvidia *n = kw_nvidia_of(d);
	char bus[32] = "";
	int ours;

	if (n->cu->DeviceGetPCIBusId(bus, sizeof(bus), n->device) != CUDA_SUCCESS)
		return false;
	ours = kw_nvidia_idle(n);
	if (!kw_nvml_look(bus, out))
		return false;
	if (out->programs > ours) /* a container hides whose they are */
		out->programs -= ours;
	return true;
}

const struct kw_device_ops kw_device_nvidia = {
	.name = "nvidia",
	.open = nvidia_open,
	.count = nvidia_count,
	.open_at = nvidia_open_at,
	.ready = nvidia_ready,
	.close = nvidia_close,
	.ceiling = kw_nvidia_ceiling,
	.overheads = kw_nvidia_overheads,
	.modules_ahead = kw_nvidia_modules_ahead,
	.state = nvidia_state,
	.session_new = kw_nvidia_session_new,
	.session_free = kw_nvidia_session_free,
	.player_start = kw_nvidia_player_start,
	.load = kw_nvidia_load,
	.run = kw_nvidia_run,
	.player_stop = kw_nvidia_player_stop,
	.ptr = kw_nvidia_ptr,
	.room = kw_nvidia_room,
	.push = kw_nvidia_push,
	.pull = kw_nvidia_pull,
	.canary_ok = kw_nvidia_canary_ok,
	.flush = kw_nvidia_flush,
	.player_address = kw_nvidia_player_address,
	.linger = kw_nvidia_linger,
	.layers = kw_nvidia_layers,
	.memory_free = nvidia_memory_free,
	.compute = &kw_nvidia_compute,
};
