/* nvidia_wire.h - what judge and player say to each other on an NVIDIA device, over the same kind of socket as on the
 * cpu (wire.h). Private to device/.
 *
 * In plan form the player's host code is ours and only the device code is a candidate's, so its answers are claims only
 * as far as a kernel could break the driver. A run has two halves: PREPARE builds the graph of a batch, GO plays it;
 * the judge's clock runs during GO alone. A process whose kernels all ended well is used again: RESET drops the module and
 * the buffers, and another START brings new ones, so that its context (0.2 s) is made once. */
#ifndef KW_DEVICE_NVIDIA_WIRE_H
#define KW_DEVICE_NVIDIA_WIRE_H

#include "core/artefact.h"
#include "core/plan.h"
#include "device/wire.h"

enum { GPU_KERNELS_MAX = 32, GPU_ARGS_MAX = 40, GPU_MAPS_MAX = 16, GPU_RANK_MAX = 5 };

enum gpu_op { GPU_START = 0x6770, GPU_MAP, GPU_LOAD, GPU_PREPARE, GPU_GO, GPU_RESET };

struct gpu_start {
	uint32_t op, trusted, ordinal;
	uint32_t buffers, slots;       /* buffers x slots maps follow, in GPU_MAP messages */
};
struct gpu_map_one {
	uint64_t allocation_bytes, offset, bytes;
	uint32_t read_only, zero;
};
struct gpu_map {
	uint32_t op, count;
	struct gpu_map_one one[WIRE_MAPS_MAX];
};
enum gpu_arg_kind { GPU_ARG_BUFFER, GPU_ARG_BYTES, GPU_ARG_MAP, GPU_ARG_SCRATCH /* bits: its place in a slot's scratch */ };
struct gpu_arg {
	uint32_t kind, index, bytes;   /* index: of a buffer or of a map */
	uint64_t bits;
};
struct gpu_kernel {
	char name[WIRE_NAME_MAX];
	uint32_t grid[3], block[3], cluster[3], smem_bytes;
	uint32_t cooperative, pdl, arg_count;
	uint64_t code_offset;          /* of its module in the artefact */
	struct gpu_arg args[GPU_ARGS_MAX];
};
struct gpu_tensor_map {
	uint32_t buffer, rank, type, swizzle, l2, empty; /* type, swizzle, l2: the driver's numbers */
	uint64_t dim[GPU_RANK_MAX], stride_bytes[GPU_RANK_MAX]; /* innermost first, as the driver wants them */
	uint32_t box[GPU_RANK_MAX];
};
struct gpu_load {
	uint32_t op, kernel_count, map_count, pad;
	uint64_t nonce;
	uint64_t scratch_bytes;        /* that the plan's kernels want in each slot, beside their buffers */
	struct gpu_tensor_map maps[GPU_MAPS_MAX];
	struct gpu_kernel kernels[GPU_KERNELS_MAX];
};
/* Of the buffers that a plan's arguments mean: tensors first, then workspaces. */
struct gpu_layout {
	size_t buffer_count, tensor_count;
};
/* All of `to` but its nonce (nvidia_bind.c). */
enum kw_status kw_gpu_load_make(const struct gpu_layout *s, const struct kw_artefact *code, const struct kw_bound_plan *plan,
				struct gpu_load *to, struct kw_error *err);

struct gpu_reset {
	uint32_t op, pad;
	uint64_t nonce;
};
struct gpu_run {
	uint32_t op, count;
	uint64_t nonce;
	int64_t awake_ns;              /* after GPU_PREPARE, that the wait for GPU_GO does not sleep */
	int32_t order[WIRE_ORDER_MAX];
};

enum gpu_kind { GPU_READY = 0x6870, GPU_LOADED, GPU_NO_ENTRY, GPU_REFUSED, GPU_PREPARED, GPU_DONE, GPU_CLEAN, GPU_FAULT, GPU_MACHINE };
struct gpu_reply {
	uint32_t kind;
	int32_t number;                /* CUresult, or errno */
	uint64_t nonce;
	int64_t event_ns;              /* advisory */
	uint32_t layers;
	int32_t landlock_abi;
	char text[400];
};

/* nvidia_alone.c: a job in a file, for a process with no judge at the other end (device/sanitized.h). */
struct gpu_job {
	uint64_t magic, code_bytes;
	uint32_t buffers, pad;
	struct gpu_load load;          /* then `buffers` of these, then the code, then their contents one after the other */
};
struct gpu_job_buffer {
	uint64_t bytes, offset;        /* offset: that its base is past an alignment */
	uint32_t written, zero;        /* written: contents follow */
};
#define GPU_JOB_MAGIC 0x6b776a6f62303031u
/* Counters of its launches by CUPTI (cupti.h). */
struct gpu_counted {
	const char *library;           /* "": the loader's */
	int fd;                        /* where they are written */
};
/* In that process, nvidia_player.c: the driver and a context; then the job, on memory of its own of exactly the buffers' sizes.
 * contents: NULL where nothing was written. counted: NULL without. Ends the process where the machine fails; false where the launch was refused or
 * the kernel did not end well. What is to be said goes to standard error; the buffers' addresses to standard output. */
void kw_gpu_alone_start(void);
bool kw_gpu_alone_run(const struct gpu_load *l, const void *code, size_t code_bytes, const struct gpu_job_buffer *buffers,
		      const void *const *contents, uint32_t count, const struct gpu_counted *counted);

/* Hidden half of kw_player_main: the first message, not yet read, is GPU_START. */
_Noreturn void kw_nvidia_player(void);

#endif
