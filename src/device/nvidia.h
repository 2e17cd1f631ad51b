/* nvidia.h - what the files of the `nvidia` device share. Private to device/.
 *
 * nvidia.c: the device and its ceilings. nvidia_session.c: slots. nvidia_play.c: the judge's side of a player.
 * nvidia_player.c: the player's process. cuda_driver.c: the driver's functions. nvidia_ptx.c: device code of the judge. */
#ifndef KW_DEVICE_NVIDIA_H
#define KW_DEVICE_NVIDIA_H

#include "device/child.h"
#include "device/cuda_driver.h"
#include "device/device.h"

#include <pthread.h>

enum { NVIDIA_MOST_SLOTS = 192 };
/* A player's process that waits for its next session. */
enum { GPU_IDLE_MAX = 4, GPU_WARM = 2 /* from the start: the candidate's and a baseline's */ };
struct gpu_process {
	struct kw_child child;
	char layers[200];
};

struct nvidia {
	struct kw_device base;         /* first: the same address */
	const struct kw_cuda *cu;
	int ordinal;
	cuda_device device;
	cuda_context context;
	pthread_t starter;             /* makes the context and what is in it */
	pthread_mutex_t starting_lock;
	bool starting;                 /* that thread was not joined yet */
	enum kw_status started;        /* what came of it, and why */
	struct kw_error start_error;
	cuda_module code;
	cuda_function read, write, copy, fma32, fma64, marks;
	cuda_ptr scratch;              /* twice the L2: reading it leaves nothing else there */
	cuda_ptr found;                /* what kw_marks found: two numbers, as they are when it finds nothing */
	size_t scratch_bytes, granule_bytes;
	pthread_mutex_t lock;          /* of the idle processes */
	pthread_cond_t changed;
	struct gpu_process idle[GPU_IDLE_MAX];
	int idle_count;
	pthread_t warmer;
	int warming;                   /* processes that will be idle soon */
	pid_t waking[GPU_WARM];        /* these; 0: it is idle, or has ended */
	bool closing;                  /* nobody will want them */
	int killed;                    /* signal that ended one of those from outside, which no player was told of yet; 0: none */
	bool warmed;                   /* the thread has been started */
};
struct nvidia *kw_nvidia_of(const struct kw_device *d);
/* Every op begins so: a driver's context belongs to a thread, and the judge has several. Waits until there is one. */
enum kw_status kw_nvidia_enter(struct nvidia *n, struct kw_error *err);
/* Launches a kernel of ours over n vectors of 16 bytes; and waits for everything. */
enum kw_status kw_nvidia_sweep(const struct nvidia *n, cuda_function f, void **args, uint64_t vectors, cuda_stream stream,
			       struct kw_error *err);
enum kw_status kw_nvidia_wait(const struct nvidia *n, struct kw_error *err);
/* An object that the driver would not load, where it is the driver's age and not the object: true, with the sentence. */
bool kw_nvidia_driver_is_older(const struct nvidia *n, const struct kw_artefact *code, cuda_result r, struct kw_error *err);

/* Sets what kw_marks writes to as it is when nothing was found. */
extern const uint64_t kw_nvidia_nothing_found[2];
enum kw_status kw_nvidia_forget_found(const struct nvidia *n, struct kw_error *err);

struct gpu_buffer {
	cuda_allocation handle;
	cuda_ptr map;                  /* of the whole allocation; the buffer begins offset bytes into it */
	size_t allocation_bytes, offset;
};
/* What of a buffer the host holds: of one slot at a time. */
struct gpu_mirror {
	void *host;
	size_t host_bytes;
	int slot;                      /* -1: of none */
	bool tried, pinned;            /* to pin it */
};
struct gpu_session {
	struct kw_session base;        /* first: the same address */
	struct nvidia *device;
	struct kw_buffer_spec *specs;  /* own copies, names too */
	size_t buffer_count, tensor_count;
	int slots;
	struct gpu_buffer *buffers;    /* [slot * buffer_count + buffer] */
	struct gpu_mirror *mirrors;    /* [buffer] */
	uint32_t canary;
	enum kw_status failed;         /* of a push or a pull; the next run returns it */
	struct kw_error failure;
};
struct gpu_session *kw_gpu_session_of(const struct kw_session *s);
struct gpu_buffer *kw_gpu_buffer(const struct gpu_session *s, int slot, int buffer);
/* After a run: what the host holds of the outputs (and of the inputs, where they could be written) is old. */
void kw_gpu_session_forget(struct gpu_session *s, bool inputs_too);

enum kw_status kw_nvidia_session_new(struct kw_device *d, const struct kw_session_opts *o, struct kw_session **out,
				     struct kw_error *err);
void kw_nvidia_session_free(struct kw_session *s);
void *kw_nvidia_ptr(struct kw_session *s, int slot, int buffer);
void *kw_nvidia_room(struct kw_session *s, int slot, int buffer);
enum kw_status kw_nvidia_push(struct kw_session *s, int slot, int buffer, struct kw_error *err);
enum kw_status kw_nvidia_pull(struct kw_session *s, int slot, int buffer, struct kw_error *err);
bool kw_nvidia_canary_ok(struct kw_session *s, int slot, int buffer, int64_t *offset_bytes);
void kw_nvidia_flush(struct kw_session *s, int slot, int part, int parts);
uint64_t kw_nvidia_player_address(struct kw_session *s, int slot, int buffer);

extern const struct kw_compute_ops kw_nvidia_compute;

/* Starts processes for the first players, in a thread: a context takes 0.2 s, as the judge's own does meanwhile. One that fails
 * is not there, and a player that is started says why. Doom ends the thread and kills all that are idle;
 * cool waits until they have gone. */
void kw_nvidia_warm(struct nvidia *n);
void kw_nvidia_doom(struct nvidia *n);
void kw_nvidia_cool(struct nvidia *n);
/* How many there are, when all that were to be have started. */
int kw_nvidia_idle(struct nvidia *n);

/* nvidia_ceilings.c */
enum kw_status kw_nvidia_ceiling(struct kw_device *d, enum kw_ceiling_kind kind, int64_t bytes, enum kw_measure measure,
				 struct kw_ceiling *out, struct kw_error *err);
enum kw_status kw_nvidia_overheads(struct kw_device *d, struct kw_overheads *out, struct kw_error *err);
void kw_nvidia_modules_ahead(struct kw_device *d, const struct kw_module_host *h, int count, int triton);

enum kw_status kw_nvidia_player_start(struct kw_session *s, const struct kw_player_opts *o, struct kw_player **out,
				      struct kw_error *err);
enum kw_status kw_nvidia_load(struct kw_player *p, const struct kw_artefact *code, const struct kw_bound_plan *plan,
			      int timeout_ms, struct kw_play_result *r, struct kw_error *err);
enum kw_status kw_nvidia_run(struct kw_player *p, const int *order, int n, int timeout_ms, struct kw_play_result *r,
			     struct kw_error *err);
void kw_nvidia_player_stop(struct kw_player *p);
int64_t kw_nvidia_linger(struct kw_player *p, int64_t ns);
const char *kw_nvidia_layers(const struct kw_player *p);
/* An error of the driver, and its words: what the kernel did. */
void kw_nvidia_describe_fault(int number, struct kw_play_result *r, const char *words);

#endif
