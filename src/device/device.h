/* device.h - runs artefacts: allocates, shares, launches, times, flushes (design 2, 6, 7).
 *
 * A device knows nothing of right or wrong. It offers *sessions*: K slots of working buffers that the judge can fill
 * and read, and a player process in which one artefact at a time runs on them. On `cpu` a slot's buffers are memfds
 * mapped into both; on `nvidia` they are exported allocations, filled and read on the device; on `opencl` they are memfds too, copied
 * to the device before the clock and back after it.
 *
 * Life: session_new -> [fill slots through slot_ptr] -> player_start -> load -> run ... -> player_stop -> free.
 * A session may have several players at once on the same slots (candidate and trusted baselines), at most one
 * of them running; the others are stopped (SIGSTOP on the cpu).
 *
 * Faults of a candidate come back in kw_play_result, never as kw_status; a kw_status means our machine failed. */
#ifndef KW_DEVICE_DEVICE_H
#define KW_DEVICE_DEVICE_H

#include "core/artefact.h"
#include "core/hardware.h"
#include "core/plan.h"
#include "core/verdict.h"

/* Which side of the buffer touches its guard; ALTERNATE: the start in even slots, the end in odd ones. */
enum kw_placement { KW_PLACE_START, KW_PLACE_END, KW_PLACE_ALTERNATE };

/* One working buffer of every slot: inputs, then outputs, then workspaces. */
struct kw_buffer_spec {
	const char *name;
	size_t bytes;                     /* extent of the view in bytes; 0 is allowed */
	size_t align_bytes;               /* base alignment promised (64 unless unaligned) */
	size_t misalign_bytes;            /* base is this far past alignment (layout unaligned) */
	bool read_only;                   /* inputs: mapped read-only in the player */
	bool zero;                        /* workspaces: zeroed before each call, inside the timed region */
};
struct kw_session_opts {
	const struct kw_buffer_spec *buffers;
	size_t buffer_count;
	size_t tensor_count;              /* how many of them are inputs and outputs; workspaces follow */
	int slots;                        /* K */
	enum kw_placement placement;
};
/* What a module asks for while it runs is answered by whoever knows compilers; the clock runs on. The question is the candidate's word, in
 * memory that nobody else writes to; the answer is sent to its player. end->what: the candidate is ended by this verdict. */
struct kw_ask_end {
	enum kw_subclass what;            /* KW_S_NONE: it goes on */
	char why[200];
};
typedef enum kw_status kw_ask(void *arg, const char *question, size_t len, struct kw_buf *answer, struct kw_ask_end *end,
			      struct kw_error *err);
/* Where candidates that are Python modules run: the user's interpreter, by a script of ours. All borrowed. */
struct kw_module_host {
	const char *python;
	const char *script;               /* python/module_player.py */
	size_t script_len;
	const char *const *read;          /* what may be read besides the system's folders; NULL at the end */
	bool trusted;                     /* the user's own code (a baseline): no box, and its players outlive a session */
	bool triton;                      /* players will want it: it is imported before they are copied */
	bool interpreted;                 /* its kernels are run by its interpreter */
	kw_ask *ask;                      /* optional */
	void *ask_arg;
};
/* What a player for modules is told of the task (module.h), and what must come back. All borrowed. */
struct kw_module_play {
	const struct kw_module_host *host;
	const char *spec;
	const char *key;                  /* of a host that is trusted: players with the same serve one another's sessions; else NULL */
	const struct kw_view *outputs;    /* dtype and shape; buffers behind the inputs */
	size_t input_count, output_count;
};
struct kw_player_opts {
	bool trusted;                     /* a baseline: no lock-down, own process all the same */
	bool writable_inputs;             /* to find out whether it is an input that a kernel writes to */
	int64_t memory_bytes;             /* rlimit on top of the slots; 0: 1 GiB and a slot twice */
	int threads;                      /* OMP_NUM_THREADS; 0: all usable cores */
	const struct kw_module_play *module; /* the artefact will be a Python module; NULL: machine code */
};
/* How a call ended. */
enum kw_play_end { KW_PLAY_DONE, KW_PLAY_SIGNAL, KW_PLAY_EXIT, KW_PLAY_TIMEOUT, KW_PLAY_NO_ENTRY, KW_PLAY_LOAD_FAILED,
		   KW_PLAY_FORGED, KW_PLAY_NO_MEMORY, KW_PLAY_FAULT,
		   /* A signal that the code in it cannot have sent: somebody else, or the system for want of memory. It says
		    * nothing about the code. signal: which; SIGSTOP: it was stopped and did not go on. */
		   KW_PLAY_KILLED };
struct kw_play_result {
	enum kw_play_end end;
	int64_t wall_ns;                  /* judge's clock: from before the player may run to its answer */
	int64_t device_ns;                /* the same by the device's own clock, where no code of a candidate can reach it; else 0 */
	int64_t background_ns;            /* CPU time the player used while it should have been idle */
	int64_t *slot_ns;                 /* advisory, from the player; NULL or one per entry of order */
	int signal, exit_code;
	int64_t own_bytes;                /* KILLED: most memory it held beside its buffers, from the kernel; 0: not known */
	/* Modules: */
	int64_t claimed_ns;               /* the batch by the player's own clock, for comparison only */
	int alias;                        /* 1 + the input whose memory an output lies in; 0: none */
	bool shared_outputs;              /* the answers of different calls lie in the same memory: the last one is left */
	int asked;                        /* questions that were answered meanwhile, whose time is in wall_ns */
	bool too_much;                    /* FAULT: more than an interpreter is given; it says nothing about the code */
	enum kw_subclass fault;           /* FAULT: what the device says it is; detail in words */
	/* For faults: which buffer is nearest and where. */
	int buffer;                       /* index into buffers, -1: none near */
	int slot;
	int64_t offset_bytes;             /* of the address from the buffer's start (may be negative) */
	uint64_t address;
	bool write;                       /* the access was a write, as far as known */
	bool misaligned;                  /* a vector access that is not aligned; it carries no address */
	bool jumped;                      /* to the address, where no code may be */
	bool late;                        /* buffer, slot, offset_bytes changed between the answer and the stop */
	bool blocked_syscall;             /* ended or refused by the sandbox */
	char detail[320];                 /* "system call openat refused", dlerror text */
};

/* What a device is doing at this moment, as far as it tells. */
struct kw_device_state {
	char driver[80];                  /* its version */
	int clock_mhz, memory_clock_mhz;  /* 0: not known */
	int programs;                     /* that compute on it, this one among them; -1: not known */
	bool slowed;                      /* power or heat keeps it from its clock */
};
/* What one more of something costs, whatever it does. */
struct kw_overheads {
	double event_ns;                  /* between two events around nothing but an empty kernel */
	double launch_ns;                 /* of an empty kernel, one of many in a row */
};

struct kw_device;
/* What every device's own session and player begin with. */
struct kw_session {
	struct kw_device *device;
};
struct kw_player {
	struct kw_session *session;
	bool watched;                     /* modules: what a call computes with is looked at, which takes time */
	int killed;                       /* signal that ended one from outside while it started, before this one; 0: none */
};

/* Work of our own on the device: in the judge's process, on the judge's memory, one launch after another. For devices whose
 * memory the judge cannot touch. */
struct kw_program;
struct kw_compute_ops {
	enum kw_status (*load)(struct kw_device *d, const struct kw_artefact *code, struct kw_program **out, struct kw_error *err);
	void (*unload)(struct kw_program *p);
	/* args: where each argument's value lies. Does not wait. */
	enum kw_status (*launch)(struct kw_program *p, const char *kernel, const int64_t grid[3], const int64_t block[3], void **args,
				 struct kw_error *err);
	enum kw_status (*alloc)(struct kw_device *d, size_t bytes, uint64_t *out, struct kw_error *err);
	void (*release)(struct kw_device *d, uint64_t p);
	/* Waits for all launches before. */
	enum kw_status (*read)(struct kw_device *d, void *to, uint64_t from, size_t bytes, struct kw_error *err);
	/* Where a buffer of a slot lies; and that a launch has written it. */
	uint64_t (*address)(struct kw_session *s, int slot, int buffer);
	void (*changed)(struct kw_session *s, int slot, int buffer);
};

struct kw_device_ops {
	const char *name;
	/* All required. open may return while the device still starts; what is used of it then waits. */
	enum kw_status (*open)(struct kw_device **out, struct kw_error *err);
	enum kw_status (*ceiling)(struct kw_device *d, enum kw_ceiling_kind kind, int64_t bytes, enum kw_measure measure,
				  struct kw_ceiling *out, struct kw_error *err);
	enum kw_status (*session_new)(struct kw_device *d, const struct kw_session_opts *o, struct kw_session **out,
				      struct kw_error *err);
	void (*session_free)(struct kw_session *s);
	enum kw_status (*player_start)(struct kw_session *s, const struct kw_player_opts *o, struct kw_player **out,
				       struct kw_error *err);
	/* Loads an artefact for a bound plan (its kernels run in order for one call). */
	enum kw_status (*load)(struct kw_player *p, const struct kw_artefact *code, const struct kw_bound_plan *plan,
			       int timeout_ms, struct kw_play_result *r, struct kw_error *err);
	/* Runs the plan once on each slot of order[0..n). Before it returns, the player is stopped: nothing of it
	 * runs until the next run. order may be empty: measures the fixed cost of a batch. */
	enum kw_status (*run)(struct kw_player *p, const int *order, int n, int timeout_ms, struct kw_play_result *r,
			      struct kw_error *err);
	void (*player_stop)(struct kw_player *p);  /* kills the whole process group */
	/* See kw_session_ptr and so on below. Required. */
	void *(*ptr)(struct kw_session *s, int slot, int buffer);
	bool (*canary_ok)(struct kw_session *s, int slot, int buffer, int64_t *offset_bytes);
	void (*flush)(struct kw_session *s, int slot, int part, int parts);
	uint64_t (*player_address)(struct kw_session *s, int slot, int buffer);
	const char *(*layers)(const struct kw_player *p);
	int64_t (*linger)(struct kw_player *p, int64_t ns);
	/* Optional. Where there may be several of the kind on a machine: how many, and the i-th of them (open: the first). */
	int (*count)(void);
	enum kw_status (*open_at)(int i, struct kw_device **out, struct kw_error *err);
	pid_t (*process)(const struct kw_player *p); /* that computes on this machine's cores; for counters (perf.h) */
	enum kw_status (*ready)(struct kw_device *d, struct kw_error *err); /* waits until it can be used, or says why it cannot */
	void *(*room)(struct kw_session *s, int slot, int buffer);
	enum kw_status (*push)(struct kw_session *s, int slot, int buffer, struct kw_error *err);
	enum kw_status (*pull)(struct kw_session *s, int slot, int buffer, struct kw_error *err);
	const struct kw_compute_ops *compute;
	bool (*huge_pages)(const struct kw_session *s);
	int64_t (*memory_free)(struct kw_device *d); /* of memory of its own, at this moment; -1: not known */
	bool (*state)(struct kw_device *d, struct kw_device_state *out);
	enum kw_status (*overheads)(struct kw_device *d, struct kw_overheads *out, struct kw_error *err);
	/* Starts players for so many candidates that are modules, and so many that import Triton, as far as its memory goes;
	 * kw_module_ahead_ready (device/module.h) waits. */
	void (*modules_ahead)(struct kw_device *d, const struct kw_module_host *h, int count, int triton);
	void (*close)(struct kw_device *d);
};
struct kw_device {
	const struct kw_device_ops *ops;
	struct kw_hardware hardware;
	bool ceilings_of_host;            /* it is the CPU by another name, whose ceilings hold for it */
	bool players_are_dear;            /* one at a time: it is used again, and another would take long to start */
	size_t red_zone_bytes;            /* canaries beside a buffer in memory files where nothing faults; 0: guard pages do */
	bool untimed;                     /* right or wrong is all that it tells: nothing is timed on it */
	int64_t most_programs;            /* of a launch's grid, where more take too long; 0: any number */
	bool batches_by_slope;            /* a batch with anything in it costs more to start than an empty one */
	double repeat_share;              /* of a time: by which another process, with memory elsewhere, measures it otherwise */
	int most_slots;                   /* that a batch of short calls may have */
	double batch_bytes;               /* that the calls of one timed batch should go through, to last long enough */
	char note[240];                   /* what is lost here, for `kwright doctor`; "": nothing */
};

const struct kw_device_ops *kw_device_find(const char *name);    /* devices.def; NULL when unknown */
const struct kw_device_ops *kw_device_at(size_t i);              /* NULL behind the last one */
/* "nvidia:1": the second of its kind. */
enum kw_status kw_device_open(const char *name, struct kw_device **out, struct kw_error *err);
/* How many of a kind can be opened, at least 1. */
int kw_device_count(const char *name);
/* The same without waiting until it can be used: `hardware` is known, and there is something else to do meanwhile (a GPU's
 * context takes a third of a second). What keeps it from being used comes with the first use. */
enum kw_status kw_device_open_begin(const char *name, struct kw_device **out, struct kw_error *err);
void kw_device_close(struct kw_device *d);
/* Its hardware as people and models should be told of it: rates that no sheet and no driver says are those that were measured, as ceilings are. Of what
 * judges, only the sheet's count (d->hardware). */
void kw_device_told(struct kw_device *d, enum kw_measure measure, struct kw_hardware *out);
/* Ends the players of baselines that wait for another session. */
void kw_module_dismiss(void);
/* False: it tells nothing. */
bool kw_device_state(struct kw_device *d, struct kw_device_state *out);
/* The same as an object for what is kept; NULL: nothing. */
json_t *kw_device_state_json(struct kw_device *d);
/* Cores of this machine that we may use. */
int kw_host_cores(void);
/* And those of them that nothing runs on at this moment; 0: not known. */
int kw_host_idle_cores(void);
/* Bytes that may still be taken on this machine, cgroup limits included. */
int64_t kw_memory_available(void);
/* The same for the buffers of a device: no more than its own memory has left, where it has some. */
int64_t kw_device_memory_available(struct kw_device *d);
/* Where the judge reads a buffer's contents. On devices with memory of their own this is a copy, of one slot at a time: it is
 * valid until another slot of the same buffer is asked for. Pull brings it there (kw_session_ptr does so too, but cannot
 * fail); to write a whole buffer take the room for it and push it; to change a part, ptr and push. The next run returns a
 * failure of either once more. */
void *kw_session_ptr(struct kw_session *s, int slot, int buffer);
void *kw_session_room(struct kw_session *s, int slot, int buffer);
enum kw_status kw_session_push(struct kw_session *s, int slot, int buffer, struct kw_error *err);
enum kw_status kw_session_pull(struct kw_session *s, int slot, int buffer, struct kw_error *err);
/* Checks the canaries beside a buffer (slack up to alignment); false and *offset_bytes where broken. */
bool kw_session_canary_ok(struct kw_session *s, int slot, int buffer, int64_t *offset_bytes);
/* Writes a slot's buffers back and drops them from every cache: the next call on it is cold, whatever the caches hold.
 * Does the part-th of `parts` shares, so that several threads can do it together. */
void kw_session_flush(struct kw_session *s, int slot, int part, int parts);
/* Whether every buffer of 4 MiB or more lies in huge pages: times with and without do not compare. */
bool kw_session_huge_pages(const struct kw_session *s);
/* Where the buffer lies in the player: for messages only. */
uint64_t kw_session_player_address(struct kw_session *s, int slot, int buffer);
/* Lets the player run for ns without a call (late-write check), then stops it again; returns CPU time it used. Longer, up
 * to 100 times, while a thread of it waits for a core: so that a busy machine hides nobody. */
int64_t kw_player_linger(struct kw_player *p, int64_t ns);
/* "landlock seccomp pid net ipc user rlimits": layers active in this player. */
const char *kw_player_layers(const struct kw_player *p);
/* Hidden entry of main(): `kwright __player FD`. Never returns. A program that links the player becomes one by itself
 * when its first argument is `__player`, before main: test programs need no line for it. */
void kw_player_main(int argc, char **argv) __attribute__((noreturn));

#endif
