/* bench_internal.h - what the two ends of a benchmark share: who plans and scores it (bench_run.c), and the resident processes that do
 * its items (bench_serve.c).
 *
 * Both speak JSON lines. First, once: {"suite", "mode", "parent", "search": options of a search, "backend", "strategy", "close": [wide, narrow],
 * "store", "builders": threads, "triton": how many candidates name it}. Then batches: {"items": [{"key", "name", "problem": path, "file", "problem_sha", "candidate_sha", "run"}]}.
 * The process says {"at": "load" | "build" | "judge", "key"} before each step, {"done": key, "state", "text", ...} once the store has an
 * item, and {"batch": "done"} when it waits for more. */
#ifndef KW_OPS_BENCH_INTERNAL_H
#define KW_OPS_BENCH_INTERNAL_H

#include "ops/bench.h"
#include "ops/internal.h"

/* So many items a process is given at once: candidates, which are built together; searches on a GPU, whose problems are read ahead. */
enum { KW_BENCH_BATCH_CANDIDATES = 8, KW_BENCH_BATCH = 64, KW_BENCH_LINE_BYTES = 32 << 20 };
enum kw_bench_mode { KW_BENCH_MODE_EVAL, KW_BENCH_MODE_OPTIMIZE, KW_BENCH_MODE_AUDIT };

/* Whether a candidate's text names Triton, so that it may want what takes long to import. */
bool kw_bench_names_triton(const char *text, size_t len);

/* How an item ended. */
struct kw_bench_end {
	enum kw_bench_state state;
	const char *text;
	int64_t verdict_id, wall_ns;
	const char *problem_sha, *candidate_sha; /* "" where there is none */
	bool again;                       /* what was done before a kill is not in wall_ns */
	int64_t close_compared, not_close; /* by the suite's rule, where the verdict does not tell; 0, 0: not known */
};
/* The run of an item: *id 0 where there is none. */
enum kw_status kw_bench_item_find(struct kw_store *s, int64_t parent, const char *key, struct kw_arena *a, int64_t *id,
				  struct kw_error *err);
/* Writes how it ended into its run, which is made where there is none, and ends that: MACHINE leaves it open. */
enum kw_status kw_bench_item_end(struct kw_store *s, int64_t parent, const char *key, const char *name, const struct kw_bench_end *e,
				 struct kw_error *err);
/* How an item ends by an error about its problem (a reference that raises when it is evaluated); any other: `other`. */
enum kw_bench_state kw_bench_item_fault(const struct kw_task *t, const struct kw_error *why, enum kw_bench_state other);

/* So many faults of the machine in a row are no matter of the items. */
#define KW_BENCH_FAULTS_IN_A_ROW 3

/* --- bench_worker.c: resident processes, from outside --- */
struct kw_bench_worker {
	pid_t pid;                        /* 0: not started */
	int to, from;
	struct kw_buf line;               /* what was read of the next line */
	const char *gpu;                  /* CUDA_VISIBLE_DEVICES; NULL: as it is here */
};
enum kw_status kw_bench_worker_start(struct kw_bench_worker *w, const char *const *args, const json_t *config, struct kw_error *err);
void kw_bench_worker_end(struct kw_bench_worker *w);   /* kills it with what it started; fine when it is not there */
/* false: it is gone. */
bool kw_bench_worker_tell(struct kw_bench_worker *w, const json_t *j);
/* What is there to read, without waiting. KW_NO: it is gone. */
enum kw_status kw_bench_worker_read(struct kw_bench_worker *w, struct kw_error *err);
/* The next whole line of it; *out NULL: none yet. The caller drops it. */
enum kw_status kw_bench_worker_next(struct kw_bench_worker *w, json_t **out, struct kw_error *err);
/* How the process of a worker that is gone ended: "ended with signal 9". */
const char *kw_bench_worker_fate(struct kw_bench_worker *w, char *out, size_t out_bytes);

/* --- bench_pool.c: jobs over several of them, with deadlines --- */
struct kw_bench_job {
	const char *key, *name;
	json_t *item;                     /* what the process is told */
	bool done;
	int tries;
	/* Of the pool's owner. */
	void *of;
};
struct kw_bench_pool {
	struct kw_bench_job *jobs;
	size_t count;
	size_t batch;                     /* so many at once, at most */
	const char *const *args;          /* of the command line: --store, --data, --python */
	const json_t *config;
	const char *const *gpus;          /* one process each; NULL: one as it is */
	size_t gpu_count;
	int64_t limit_ns;                 /* of one step of one job */
	void *arg;
	void (*step)(void *arg, struct kw_bench_job *job, const char *at);  /* job NULL: of a whole batch */
	/* Each is told once, in any order. message: of "done"; NULL: it was ended at its limit (fate NULL) or its process is gone. */
	enum kw_status (*done)(void *arg, struct kw_bench_job *job, const json_t *message, const char *fate, struct kw_error *err);
};
/* The devices of a kind, as values of CUDA_VISIBLE_DEVICES, at most `most` (0: all); none: the kind has one, as it is. */
enum kw_status kw_bench_gpus(const char *device, int most, struct kw_arena *a, const char *const **out, size_t *count,
			     struct kw_error *err);
enum kw_status kw_bench_pool_run(struct kw_bench_pool *p, struct kw_error *err);
/* The kind of device that the candidates of a backend run on here: PyTorch's modules on a GPU where there is one, as suites have it. */
const char *kw_bench_device_of(const char *backend);

/* --- bench_read.c: threads that read problems ahead, in order, at most `ahead` beyond the one that is waited for --- */
struct kw_bench_readers;
/* NULL: no thread could be had. read: on any of the threads. */
struct kw_bench_readers *kw_bench_readers_new(int threads, size_t count, size_t ahead, void (*read)(void *arg, size_t i), void *arg);
void kw_bench_readers_wait(struct kw_bench_readers *r, size_t i);
/* Waits for what was begun; the rest is not read. NULL is fine. */
void kw_bench_readers_free(struct kw_bench_readers *r);

#endif
