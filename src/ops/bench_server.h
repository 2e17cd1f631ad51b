/* bench_server.h - the resident process of a benchmark from inside: what bench_serve.c (its batches) and bench_load.c (its files) share. */
#ifndef KW_OPS_BENCH_SERVER_H
#define KW_OPS_BENCH_SERVER_H

#include "ops/bench_internal.h"
#include "python/python.h"

struct kw_bench_entry {
	const char *key, *name, *problem, *file, *problem_sha, *candidate_sha; /* file: "" of a proposer */
	int64_t run_id;                   /* 0: it has none yet */
	struct kw_arena arena;
	struct kw_op_task task;
	bool loaded, has_candidate, over, again; /* again: an earlier process began it */
	struct kw_error why;              /* read and not loaded */
	struct kw_candidate candidate;
	int64_t load_ns, build_ns;
};
struct kw_bench_server {
	const struct kw_op_env *env;
	int out;
	struct kw_arena arena;            /* of the options */
	const struct kw_suite *suite;
	struct kw_python *python;         /* runs the suite's adapter; NULL before it is needed */
	enum kw_bench_mode mode;
	struct kw_op_search_opts search;
	int64_t parent;
	int builders;
	struct kw_store *store;
	struct kw_judge *judge;
	bool expects;                     /* kw_judge_expect was called */
	int triton;                       /* candidates of the run that name it */
	const char *judge_wanted, *judge_device; /* the kind that it was made for, and what it is */
	struct kw_bench_entry entry[KW_BENCH_BATCH];
	size_t count;
	struct kw_bench_readers *readers; /* NULL: problems are read when their turn comes */
	struct kw_error *err;
};

/* --- bench_load.c --- */
bool kw_bench_is_python(const char *path);
bool kw_bench_says(const char *path, const char *word);
/* Into e->task, e->loaded, e->why, e->load_ns. Any thread, an entry each; where a suite has an adapter only one. */
void kw_bench_read_problem(struct kw_bench_server *s, struct kw_bench_entry *e);
/* Into e->candidate; what is wrong with the file is its own. */
enum kw_status kw_bench_load_candidate(struct kw_bench_server *s, struct kw_bench_entry *e, struct kw_error *err);

#endif
