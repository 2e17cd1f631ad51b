/* wire.h - what judge and player say to each other over one SOCK_SEQPACKET pair. Private to device/.
 *
 * Until READY the player runs only our code and is believed. After LOAD everything that comes from it is a claim of
 * the candidate: replies have one fixed size, carry the nonce of the command, and can only make a verdict worse. */
#ifndef KW_DEVICE_WIRE_H
#define KW_DEVICE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_CONTROL = 3,      /* descriptor of the socket in the player */
	WIRE_CODE = 4,         /* and of the artefact */
	WIRE_MAPS_MAX = 64,    /* descriptors a message */
	WIRE_ORDER_MAX = 512,
	WIRE_KERNELS_MAX = 32,
	WIRE_ARGS_MAX = 40,
	WIRE_NAME_MAX = 256,
	WIRE_LOST_EXIT = 119,  /* exit code when there is nobody to listen to any more */
};

/* WIRE_STAGE and WIRE_FETCH: players of devices with memory of their own bring the slots of a batch there and back. */
enum wire_op { WIRE_START = 0x6b77, WIRE_MAP, WIRE_LOCK, WIRE_LOAD, WIRE_RUN, WIRE_STAGE, WIRE_FETCH,
	       /* Python: a player, of the zygote, and what it is told of the task. */
	       WIRE_FORK, WIRE_SPEC, WIRE_ANSWER,
	       WIRE_WATCHED,           /* WIRE_RUN, and the operations of PyTorch that it uses are told */
	       WIRE_IMPORT };          /* of the zygote: what copies will want; no answer */
/* Before everything else: the player becomes the user's Python, which speaks the rest. A descriptor goes along: what it
 * reads first (JSON: the texts of its files, facts). */
enum { WIRE_PYTHON = 0x6b50, WIRE_PATH_MAX = 4096 };
struct wire_python {
	uint32_t op, pad;
	char path[WIRE_PATH_MAX], home[WIRE_PATH_MAX], folders[WIRE_PATH_MAX]; /* the interpreter; $HOME; $PYTHONPATH */
};
/* Those below WIRE_RUNNERS are in this program. */
enum wire_runner { WIRE_RUNNER_ELF, WIRE_RUNNER_OPENCL, WIRE_RUNNERS, WIRE_RUNNER_MODULE };
enum wire_kind { WIRE_READY = 0x7279, WIRE_LOADED, WIRE_LOAD_FAILED, WIRE_NO_ENTRY, WIRE_DONE, WIRE_FAULT,
		 WIRE_SYSCALL, WIRE_MACHINE, WIRE_DEVICE, /* a runtime's own error; number: enum kw_subclass */
		 WIRE_FORKED, WIRE_RAISED,
		 WIRE_ASK };             /* number: bytes of a question at the end of its report; WIRE_ANSWER comes back */

enum wire_access { WIRE_TOUCHED, WIRE_WROTE, WIRE_MISALIGNED, WIRE_JUMPED };

/* Layers that the player entered. */
enum { LAYER_USER = 1, LAYER_LANDLOCK = 2, LAYER_SECCOMP = 4, LAYER_RLIMITS = 8, LAYER_MOUNT = 16, LAYER_NNP = 32,
       LAYER_PID = 64, LAYER_NET = 128, LAYER_IPC = 256, LAYER_UTS = 512, LAYER_USERNS = 1024 };

struct wire_start {
	uint32_t op, trusted, threads, mount_ns;
	int64_t memory_bytes;
	uint64_t arena_base, arena_bytes;
	uint32_t buffers, slots;       /* buffers x slots maps follow, in WIRE_MAP messages */
	uint32_t runner;               /* enum wire_runner */
	uint32_t platform, device;     /* which of the runtime's, for runners that have some */
	uint32_t copies;               /* buffers are copied to and from the device */
	uint32_t driver;               /* a driver that needs device files at every launch */
	int32_t pid;                   /* of the player, as the judge sees it */
};
struct wire_map_one {
	uint64_t address, file_bytes, offset, bytes;
	uint32_t read_only, zero;
};
struct wire_map {
	uint32_t op, count;
	struct wire_map_one one[WIRE_MAPS_MAX];
};
enum wire_arg_kind { WIRE_ARG_BUFFER, WIRE_ARG_INT, WIRE_ARG_F32, WIRE_ARG_F64 };
struct wire_arg {
	uint32_t kind, buffer;
	uint32_t bytes, pad;           /* of a number */
	int64_t i;
	double f;
};
struct wire_kernel {
	char name[WIRE_NAME_MAX];
	uint32_t arg_count, pad;
	int64_t grid[3], block[3], smem_bytes; /* C kernels: not looked at */
	struct wire_arg args[WIRE_ARGS_MAX];
};
struct wire_load {
	uint32_t op, kernel_count;
	uint64_t nonce;
	struct wire_kernel kernels[WIRE_KERNELS_MAX];
};
/* WIRE_RUN, WIRE_WATCHED, WIRE_STAGE, WIRE_FETCH */
struct wire_run {
	uint32_t op, count;
	uint64_t nonce;
	int32_t order[WIRE_ORDER_MAX];
};
/* WIRE_ANSWER: the answer is in a memory file that goes along. */
struct wire_answer {
	uint32_t op, pad;
};
struct wire_reply {
	uint32_t kind;
	int32_t number;                /* signal, system call or errno */
	uint64_t nonce, address;
	uint32_t access, layers;       /* WIRE_FAULT: enum wire_access */
	int32_t landlock_abi, pad;
	char text[160];
};

/* A player's side, of every device: receives a command and up to max descriptors (max is 0 or WIRE_MAPS_MAX); false when the
 * judge has gone. */
bool kw_wire_receive(void *in, size_t bytes, int *fds, int max, int *got);

#endif
