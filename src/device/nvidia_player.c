/* The player's process on an NVIDIA device: a context of its own, the judge's buffers, one module at a time. */
#include "device/cuda_driver.h"
#include "device/cupti.h"
#include "device/nvidia_ptx.h"
#include "device/nvidia_wire.h"
#include "device/sandbox.h"
#include "device/seccomp.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMEM_WITHOUT_OPT_IN = 48 << 10, CLUSTER_WITHOUT_OPT_IN = 8 };
enum { SPOILT = 0x7fff7fff }; /* NaN as f64, f32, f16 and bf16, and no small integer */

struct mapping {
	cuda_ptr base;                 /* of the buffer */
	size_t bytes;
	int zero;
	cuda_ptr map, reserved;        /* of the allocation, and of it with its guards */
	size_t map_bytes, reserved_bytes;
};
struct kernel {
	struct gpu_kernel plan;
	cuda_function function;
};
static struct {
	const struct kw_cuda *cu;
	struct gpu_start start;
	cuda_device device;
	cuda_context context;
	cuda_stream stream;
	cuda_event event[2];
	cuda_function spoil;
	int units, smem_bytes;         /* that a block may have */
	struct mapping *maps;          /* [slot * buffers + buffer] */
	void *tensor_map_memory;
	struct cuda_tensor_map *tensor_maps; /* in it, aligned: [slot * map_count + map] */
	struct kernel kernels[GPU_KERNELS_MAX];
	uint32_t kernel_count, map_count;
	bool alone;                    /* no judge listens: what is said goes to standard error */
	cuda_module modules[GPU_KERNELS_MAX]; /* of each kernel, where it has one of its own */
	cuda_ptr scratch;              /* of all slots, one after the other */
	uint64_t scratch_bytes;        /* of each */
	cuda_graph_exec graph;
	union {
		struct gpu_load load;
		struct gpu_run run;
		struct gpu_map map;
		struct gpu_start start;
		struct gpu_reset reset;
		uint32_t op;
	} in;
} me;

/* ---- messages ---- */

static void reply(const struct gpu_reply *r)
{
	if (me.alone && r->text[0])
		dprintf(2, "%s\n", r->text);
	if (me.alone)
		return;
	while (send(WIRE_CONTROL, r, sizeof(*r), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void answer(enum gpu_kind kind, uint64_t nonce)
{
	struct gpu_reply r = { .kind = kind, .nonce = nonce };

	reply(&r);
}

/* "what: CUDA_ERROR_..." */
static void refuse(enum gpu_kind kind, uint64_t nonce, const char *what, cuda_result number)
{
	struct gpu_reply r = { .kind = kind, .number = number, .nonce = nonce };
	char name[80];

	snprintf(r.text, sizeof(r.text), "%s%s%s", what, *what ? ": " : "", kw_cuda_error(me.cu, number, name, sizeof(name)));
	reply(&r);
}

static _Noreturn void machine_fault(const char *what, const char *why, int number)
{
	struct gpu_reply r = { .kind = GPU_MACHINE, .number = number };

	snprintf(r.text, sizeof(r.text), "%s: %s", what, why);
	reply(&r);
	_exit(120);
}

static void need(cuda_result r, const char *call)
{
	char name[80];

	if (r != CUDA_SUCCESS)
		machine_fault(call, kw_cuda_error(me.cu, r, name, sizeof(name)), r);
}

static bool receive(int *fds, int max, int *got)
{
	return kw_wire_receive(&me.in, sizeof(me.in), fds, max, got);
}

/* ---- trusted start-up ---- */

static void start_driver(void)
{
	struct kw_error err = { 0 };

	if (kw_cuda_load(&me.cu, &err) != KW_OK)
		machine_fault("no driver in the player", err.text, 0);
	need(me.cu->Init(0), "cuInit");
	need(me.cu->DeviceGet(&me.device, (int)me.start.ordinal), "cuDeviceGet");
	need(me.cu->PrimaryRetain(&me.context, me.device), "cuDevicePrimaryCtxRetain");
	need(me.cu->CtxSetCurrent(me.context), "cuCtxSetCurrent");
	need(me.cu->StreamCreate(&me.stream, 1 /* does not wait for the default stream */), "cuStreamCreate");
	for (int i = 0; i < 2; i++)
		need(me.cu->EventCreate(&me.event[i], 0), "cuEventCreate");
}

/* Shared memory holds what the kernel before left there, and zeros in a fresh context: who sums up in it without clearing it
 * first is right until another kernel comes by. A block with all of it fits once on each unit. */
static void load_spoil(void)
{
	cuda_module ours;

	need(me.cu->DeviceGetAttribute(&me.units, CUDA_UNITS, me.device), "cuDeviceGetAttribute");
	need(me.cu->DeviceGetAttribute(&me.smem_bytes, CUDA_SMEM_OPTIN, me.device), "cuDeviceGetAttribute");
	need(me.cu->ModuleLoadData(&ours, kw_nvidia_spoil_ptx), "cuModuleLoadData");
	need(me.cu->ModuleGetFunction(&me.spoil, ours, "kw_spoil"), "cuModuleGetFunction");
	need(me.cu->FuncSetAttribute(me.spoil, CUDA_FUNC_DYNAMIC_SMEM, me.smem_bytes), "cuFuncSetAttribute");
}

static cuda_result spoil(void)
{
	unsigned bytes = (unsigned)me.smem_bytes, bits = SPOILT;
	void *args[] = { &bytes, &bits };

	return me.cu->LaunchKernel(me.spoil, (unsigned)me.units, 1, 1, KW_PTX_THREADS, 1, 1, bytes, me.stream, args, NULL);
}

/* Between two granules of addresses where nothing is: one element too far faults. */
static void map_one(const struct gpu_map_one *o, int fd, struct mapping *to)
{
	struct cuda_allocation_prop prop = { .type = 1, .handle_types = 1, .location = { 1, me.device } };
	struct cuda_access access = { .location = { 1, me.device }, .flags = o->read_only ? 1 : 3 };
	cuda_allocation handle;
	cuda_ptr at;
	size_t granule;

	need(me.cu->MemGranularity(&granule, &prop, 0), "cuMemGetAllocationGranularity");
	need(me.cu->MemImport(&handle, (void *)(uintptr_t)fd, 1), "cuMemImportFromShareableHandle");
	close(fd);
	need(me.cu->MemReserve(&at, o->allocation_bytes + 2 * granule, 0, 0, 0), "cuMemAddressReserve");
	need(me.cu->MemMap(at + granule, o->allocation_bytes, 0, handle, 0), "cuMemMap");
	need(me.cu->MemSetAccess(at + granule, o->allocation_bytes, &access, 1), "cuMemSetAccess");
	need(me.cu->MemRelease(handle), "cuMemRelease"); /* the map keeps it */
	*to = (struct mapping){ .base = at + granule + o->offset, .bytes = o->bytes, .zero = o->zero != 0,
				.map = at + granule, .map_bytes = o->allocation_bytes,
				.reserved = at, .reserved_bytes = o->allocation_bytes + 2 * granule };
}

static void map_slots(void)
{
	size_t total = (size_t)me.start.slots * me.start.buffers, done = 0;

	me.maps = kw_calloc(total + 1, sizeof(*me.maps));
	if (!me.maps)
		machine_fault("no memory for the maps", strerror(ENOMEM), ENOMEM);
	while (done < total) {
		int fds[WIRE_MAPS_MAX], got;

		if (!receive(fds, WIRE_MAPS_MAX, &got) || me.in.op != GPU_MAP || (int)me.in.map.count != got)
			machine_fault("the buffers did not arrive", strerror(EPROTO), EPROTO);
		for (int i = 0; i < got; i++)
			map_one(&me.in.map.one[i], fds[i], &me.maps[done++]);
	}
}

static void unmap_slots(void)
{
	size_t total = me.maps ? (size_t)me.start.slots * me.start.buffers : 0;

	for (size_t i = 0; i < total; i++) {
		need(me.cu->MemUnmap(me.maps[i].map, me.maps[i].map_bytes), "cuMemUnmap");
		need(me.cu->MemAddressFree(me.maps[i].reserved, me.maps[i].reserved_bytes), "cuMemAddressFree");
	}
	kw_free(me.maps);
	me.maps = NULL;
}

/* A context exists: from here on the driver needs its open files only. */
static void lock_down(struct gpu_reply *r)
{
	struct kw_seccomp_filter filter;
	bool filtered = kw_seccomp_gpu(&filter);

	if (kw_sandbox_no_new_privs())
		r->layers |= LAYER_NNP;
	if (kw_sandbox_landlock_nothing()) {
		r->layers |= LAYER_LANDLOCK;
		r->landlock_abi = kw_landlock_abi();
	}
	if (filtered && kw_seccomp_load(&filter))
		r->layers |= LAYER_SECCOMP;
}

/* ---- load ---- */

static void unload(void)
{
	if (me.graph)
		me.cu->GraphExecDestroy(me.graph);
	for (uint32_t i = 0; i < GPU_KERNELS_MAX; i++) {
		if (me.modules[i])
			me.cu->ModuleUnload(me.modules[i]);
		me.modules[i] = NULL;
	}
	if (me.scratch)
		me.cu->MemFree(me.scratch);
	me.graph = NULL;
	me.scratch = 0;
	me.scratch_bytes = 0;
	me.kernel_count = 0;
}

static bool make_maps(const struct gpu_load *l)
{
	enum { ALIGN = 64 };

	kw_free(me.tensor_map_memory);
	me.tensor_map_memory = kw_alloc(((size_t)me.start.slots * l->map_count + 1) * sizeof(*me.tensor_maps) + ALIGN);
	me.map_count = l->map_count;
	if (!me.tensor_map_memory)
		machine_fault("no memory for tensor maps", strerror(ENOMEM), ENOMEM);
	me.tensor_maps = (struct cuda_tensor_map *)(((uintptr_t)me.tensor_map_memory + ALIGN - 1) / ALIGN * ALIGN);
	for (uint32_t slot = 0; slot < me.start.slots; slot++)
		for (uint32_t i = 0; i < l->map_count; i++) {
			const struct gpu_tensor_map *m = &l->maps[i];
			static const uint32_t ones[GPU_RANK_MAX] = { 1, 1, 1, 1, 1 };
			cuda_ptr base = me.maps[slot * me.start.buffers + m->buffer].base;
			cuda_result r;

			if (m->empty)
				continue;
			r = me.cu->TensorMapEncode(&me.tensor_maps[slot * l->map_count + i], (int)m->type, m->rank,
						   (void *)(uintptr_t)base, m->dim, m->stride_bytes + 1, m->box, ones, 0,
						   (int)m->swizzle, (int)m->l2, 0);
			if (r != CUDA_SUCCESS) {
				refuse(GPU_REFUSED, l->nonce, "the hardware refuses tensor map", r);
				return false;
			}
		}
	return true;
}

static uint32_t cluster_blocks(const struct gpu_kernel *g)
{
	return g->cluster[0] * g->cluster[1] * g->cluster[2];
}

static bool find_kernel(const struct gpu_load *l, uint32_t i, cuda_module module)
{
	struct kernel *k = &me.kernels[i];
	const struct gpu_kernel *g = &l->kernels[i];
	cuda_result r = me.cu->ModuleGetFunction(&k->function, module, g->name);
	char what[WIRE_NAME_MAX + 80];

	k->plan = *g;
	if (r != CUDA_SUCCESS) {
		struct gpu_reply e = { .kind = GPU_NO_ENTRY, .number = r, .nonce = l->nonce };

		snprintf(e.text, sizeof(e.text), "%s", g->name);
		reply(&e);
		return false;
	}
	if (g->smem_bytes > SMEM_WITHOUT_OPT_IN)
		r = me.cu->FuncSetAttribute(k->function, CUDA_FUNC_DYNAMIC_SMEM, (int)g->smem_bytes);
	if (r != CUDA_SUCCESS) {
		snprintf(what, sizeof(what), "kernel %s asks for %u bytes of dynamic shared memory", g->name, g->smem_bytes);
		refuse(GPU_REFUSED, l->nonce, what, CUDA_LAUNCH_RESOURCES);
		return false;
	}
	if (cluster_blocks(g) > CLUSTER_WITHOUT_OPT_IN)
		me.cu->FuncSetAttribute(k->function, CUDA_FUNC_WIDE_CLUSTER, 1); /* the launch says if it is refused */
	return true;
}

/* The kernel whose module holds this one too: the first with the same place in the code. */
static uint32_t owner_of(const struct gpu_load *l, uint32_t kernel)
{
	uint32_t i = 0;

	while (l->kernels[i].code_offset != l->kernels[kernel].code_offset)
		i++;
	return i;
}

static bool make_scratch(const struct gpu_load *l)
{
	cuda_result r = l->scratch_bytes ? me.cu->MemAlloc(&me.scratch, l->scratch_bytes * me.start.slots) : CUDA_SUCCESS;

	me.scratch_bytes = l->scratch_bytes;
	if (r == CUDA_SUCCESS)
		return true;
	me.scratch = 0;
	refuse(GPU_REFUSED, l->nonce, "no memory for the scratch of its blocks", CUDA_OUT_OF_MEMORY);
	return false;
}

static bool load_code(const struct gpu_load *l, const char *code, size_t bytes)
{
	for (uint32_t i = 0; i < l->kernel_count; i++) {
		uint32_t owner = owner_of(l, i);
		uint64_t at = l->kernels[i].code_offset;
		cuda_result r = owner != i   ? CUDA_SUCCESS
				: at < bytes ? me.cu->ModuleLoadData(&me.modules[i], code + at)
					     : CUDA_INVALID_IMAGE;

		if (r != CUDA_SUCCESS) {
			me.modules[i] = NULL;
			refuse(GPU_REFUSED, l->nonce, "the driver does not load it", r);
			return false;
		}
		if (!find_kernel(l, i, me.modules[owner]))
			return false;
	}
	me.kernel_count = l->kernel_count;
	return make_scratch(l) && make_maps(l);
}

static void do_load(int fd)
{
	const struct gpu_load *l = &me.in.load;
	struct stat info = { 0 };
	void *code = MAP_FAILED;
	bool good;

	unload();
	if (fstat(fd, &info) == 0 && info.st_size > 0)
		code = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (code == MAP_FAILED)
		machine_fault("cannot map the artefact", strerror(errno), errno);
	good = load_code(l, code, (size_t)info.st_size);
	munmap(code, (size_t)info.st_size);
	if (good)
		answer(GPU_LOADED, l->nonce);
}

/* ---- run ---- */

static bool empty_grid(const struct gpu_kernel *g)
{
	return g->grid[0] == 0 || g->grid[1] == 0 || g->grid[2] == 0;
}

static cuda_result launch(struct kernel *k, uint32_t slot, bool may_overlap)
{
	struct gpu_kernel *g = &k->plan;
	struct cuda_attribute attributes[3] = { 0 };
	struct cuda_launch c = { .smem_bytes = g->smem_bytes, .stream = me.stream, .attributes = attributes };
	void *args[GPU_ARGS_MAX];
	cuda_ptr scratch[GPU_ARGS_MAX], address;

	memcpy(c.grid, g->grid, sizeof(c.grid));
	memcpy(c.block, g->block, sizeof(c.block));
	if (g->cooperative)
		attributes[c.attribute_count++] = (struct cuda_attribute){ .id = CUDA_LAUNCH_COOPERATIVE, .value.on = 1 };
	/* Clusters of one block are no clusters: asking for them starts blocks at a quarter of the rate. */
	if (cluster_blocks(g) > 1)
		attributes[c.attribute_count++] = (struct cuda_attribute){
			.id = CUDA_LAUNCH_CLUSTER, .value.cluster = { g->cluster[0], g->cluster[1], g->cluster[2] } };
	if (g->pdl && may_overlap)
		attributes[c.attribute_count++] = (struct cuda_attribute){ .id = CUDA_LAUNCH_PDL, .value.on = 1 };
	for (uint32_t i = 0; i < g->arg_count; i++) {
		struct gpu_arg *a = &g->args[i];

		if (a->kind == GPU_ARG_MAP) {
			args[i] = &me.tensor_maps[slot * me.map_count + a->index];
			continue;
		}
		if (a->kind == GPU_ARG_BUFFER)
			a->bits = me.maps[slot * me.start.buffers + a->index].base;
		address = me.scratch + slot * me.scratch_bytes + a->bits;
		args[i] = a->kind == GPU_ARG_SCRATCH ? memcpy(&scratch[i], &address, sizeof(address)) : (void *)&a->bits;
	}
	return me.cu->LaunchKernelEx(&c, k->function, args, NULL);
}

static cuda_result capture_slot(uint32_t slot, const char **which)
{
	const struct mapping *m = &me.maps[slot * me.start.buffers];
	cuda_result r = CUDA_SUCCESS;
	bool first = true;

	for (uint32_t i = 0; i < me.start.buffers && r == CUDA_SUCCESS; i++)
		if (m[i].zero && m[i].bytes)
			r = me.cu->MemsetD8Async(m[i].base, 0, m[i].bytes, me.stream);
	for (uint32_t i = 0; i < me.kernel_count && r == CUDA_SUCCESS; i++) {
		if (empty_grid(&me.kernels[i].plan))
			continue;
		*which = me.kernels[i].plan.name;
		r = launch(&me.kernels[i], slot, !first); /* the first one of a call waits for the call before */
		first = false;
	}
	return r;
}

static void do_prepare(void)
{
	const struct gpu_run *run = &me.in.run;
	cuda_graph graph = NULL;
	const char *which = "";
	cuda_result r, ended;
	char what[WIRE_NAME_MAX + 200];

	if (me.graph)
		me.cu->GraphExecDestroy(me.graph);
	me.graph = NULL;
	/* Nothing of an earlier call is left there. */
	if (me.scratch)
		need(me.cu->MemsetD32(me.scratch, SPOILT, me.scratch_bytes / 4 * me.start.slots), "cuMemsetD32");
	need(me.cu->StreamBeginCapture(me.stream, 2 /* relaxed: nobody else uses this process */), "cuStreamBeginCapture");
	r = CUDA_SUCCESS;
	for (uint32_t i = 0; i < run->count && r == CUDA_SUCCESS; i++)
		r = capture_slot((uint32_t)run->order[i], &which);
	ended = me.cu->StreamEndCapture(me.stream, &graph);
	if (r == CUDA_SUCCESS)
		r = ended;
	if (r == CUDA_SUCCESS)
		r = me.cu->GraphInstantiate(&me.graph, graph, 0);
	if (r == CUDA_SUCCESS)
		r = me.cu->GraphUpload(me.graph, me.stream);
	/* Before a batch it would cost the first call a new split of L1 and shared memory, inside the clock. */
	if (r == CUDA_SUCCESS && run->count == 1)
		r = spoil();
	if (r == CUDA_SUCCESS)
		r = me.cu->StreamSynchronize(me.stream);
	if (graph)
		me.cu->GraphDestroy(graph);
	if (r == CUDA_SUCCESS) {
		answer(GPU_PREPARED, run->nonce);
		return;
	}
	snprintf(what, sizeof(what), "the launch of %s is refused", *which ? which : "the graph");
	refuse(GPU_REFUSED, run->nonce, what, r);
}

static void do_go(void)
{
	struct gpu_reply done = { .kind = GPU_DONE, .nonce = me.in.run.nonce };
	float ms = 0;
	cuda_result r;

	me.cu->EventRecord(me.event[0], me.stream);
	r = me.cu->GraphLaunch(me.graph, me.stream);
	me.cu->EventRecord(me.event[1], me.stream);
	if (r == CUDA_SUCCESS)
		r = me.cu->StreamSynchronize(me.stream);
	if (r != CUDA_SUCCESS) {
		refuse(GPU_FAULT, me.in.run.nonce, "", r);
		return;
	}
	me.cu->EventElapsed(&ms, me.event[0], me.event[1]);
	done.event_ns = (int64_t)(ms * 1e6f);
	reply(&done);
}

static void do_reset(uint64_t nonce)
{
	need(me.cu->CtxSynchronize(), "cuCtxSynchronize");
	unload();
	unmap_slots();
	answer(GPU_CLEAN, nonce);
}

static void start_again(void)
{
	me.start = me.in.start;
	map_slots();
	answer(GPU_READY, 0);
}

/* Looks for the next message until it is there, or awake_ns are over. */
static void stay_awake(int64_t awake_ns)
{
	int64_t until = kw_now_ns() + awake_ns;
	char first;

	while (recv(WIRE_CONTROL, &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN && kw_now_ns() < until)
		;
}

static _Noreturn void loop(void)
{
	for (;;) {
		int fds[WIRE_MAPS_MAX], got;

		if (!receive(fds, WIRE_MAPS_MAX, &got))
			_exit(0); /* the judge has gone */
		if (me.in.op == GPU_LOAD && got == 1)
			do_load(fds[0]);
		else if (me.in.op == GPU_PREPARE) {
			do_prepare();
			stay_awake(me.in.run.awake_ns);
		} else if (me.in.op == GPU_GO && me.graph)
			do_go();
		else if (me.in.op == GPU_RESET)
			do_reset(me.in.reset.nonce);
		else if (me.in.op == GPU_START && !me.maps)
			start_again();
		else
			_exit(121);
	}
}

void kw_nvidia_player(void)
{
	struct gpu_reply ready = { .kind = GPU_READY };
	int none;

	if (!receive(NULL, 0, &none) || me.in.op != GPU_START)
		_exit(2);
	me.start = me.in.start;
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	start_driver();
	load_spoil();
	map_slots();
	lock_down(&ready); /* a baseline's too: the next session may be a candidate's */
	reply(&ready);
	loop();
}

/* ---- without a judge ---- */

void kw_gpu_alone_start(void)
{
	me.alone = true;
	start_driver();
}

/* An allocation of the buffer's own size: a checker that knows allocations then knows buffers. */
static void alloc_one(const struct gpu_job_buffer *b, const void *contents, uint32_t index, struct mapping *to)
{
	*to = (struct mapping){ .bytes = b->bytes, .zero = b->zero != 0, .map_bytes = b->bytes + b->offset };
	need(me.cu->MemAlloc(&to->map, to->map_bytes ? to->map_bytes : 1), "cuMemAlloc");
	to->base = to->map + b->offset;
	if (contents && b->bytes)
		need(me.cu->MemcpyHtoD(to->base, contents, b->bytes), "cuMemcpyHtoD");
	dprintf(1, "buffer %u 0x%llx %llu\n", index, (unsigned long long)to->map, (unsigned long long)to->map_bytes);
}

static int attribute(int which)
{
	int v = 0;

	return me.cu->DeviceGetAttribute(&v, which, me.device) == CUDA_SUCCESS ? v : 0;
}

/* Beside each launch's counters what the driver knows of it, from which waves and occupancy follow. A grid of nothing is no launch. */
static void write_counters(int fd)
{
	struct cupti_launch list[GPU_KERNELS_MAX] = { 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < me.kernel_count; i++) {
		const struct gpu_kernel *g = &me.kernels[i].plan;
		struct cupti_launch *k = &list[n];

		if (empty_grid(g))
			continue;
		n++;
		*k = (struct cupti_launch){ .name = g->name, .smem_bytes = g->smem_bytes, .units = attribute(CUDA_UNITS),
					    .warps_per_unit = attribute(CUDA_THREADS_PER_UNIT) / 32, .major = attribute(CUDA_MAJOR),
					    .minor = attribute(CUDA_MINOR) };
		memcpy(k->grid, g->grid, sizeof(k->grid));
		memcpy(k->block, g->block, sizeof(k->block));
		me.cu->FuncGetAttribute(&k->registers, CUDA_FUNC_REGISTERS, me.kernels[i].function);
		me.cu->FuncGetAttribute(&k->static_smem_bytes, CUDA_FUNC_SMEM, me.kernels[i].function);
		me.cu->BlocksPerUnit(&k->blocks_per_unit, me.kernels[i].function, (int)(g->block[0] * g->block[1] * g->block[2]), g->smem_bytes);
	}
	kw_cupti_end(list, n, fd);
}

bool kw_gpu_alone_run(const struct gpu_load *l, const void *code, size_t code_bytes, const struct gpu_job_buffer *buffers,
		      const void *const *contents, uint32_t count, const struct gpu_counted *counted)
{
	const char *which = "";
	cuda_result r;

	me.start = (struct gpu_start){ .buffers = count, .slots = 1 };
	me.maps = kw_calloc(count + 1, sizeof(*me.maps));
	if (!me.maps)
		machine_fault("no memory for the maps", strerror(ENOMEM), ENOMEM);
	for (uint32_t i = 0; i < count; i++)
		alloc_one(&buffers[i], contents[i], i, &me.maps[i]);
	if (!load_code(l, code, code_bytes))
		return false;
	if (counted)
		kw_cupti_begin(counted->library, me.context, (int)me.start.ordinal);
	r = capture_slot(0, &which); /* nothing captures: they run */
	if (r == CUDA_SUCCESS)
		r = me.cu->StreamSynchronize(me.stream);
	if (counted)
		write_counters(counted->fd);
	if (r != CUDA_SUCCESS)
		refuse(GPU_FAULT, 0, *which ? which : "the launch", r);
	me.cu->PrimaryRelease(me.device); /* a tool has its say now, where this process ends without a word */
	return r == CUDA_SUCCESS;
}
