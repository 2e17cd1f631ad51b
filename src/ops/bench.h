/* bench.h - benchmark suites as their folders lie on disk, run, scored and audited.
 *
 *     struct kw_problem_list all;
 *     const struct kw_suite *s;
 *     kw_suite_find("kernelbench", &s, err);
 *     kw_suite_read(s, "KernelBench", &arena, &all, err);               // its problems, in order
 *     kw_suite_select(s, &all, words, word_count, &arena, &some, err);
 *
 * A suite is one row in suites.def and one file bench_NAME.c, which knows where such a suite has its problems and how
 * files of candidates are called. It reads names only; what is in a file is read by who loads the task.
 *
 * A benchmark is a run (store.h) whose items are runs: one for each problem and sample, called "level1/23#0". Items
 * are done by resident processes of this program (`kwright __bench`), one a device, so that a hung problem can be ended
 * and PyTorch is imported once. What is in the store is not done again: the same command goes on after kill -9. */
#ifndef KW_OPS_BENCH_H
#define KW_OPS_BENCH_H

#include "ops/ops.h"
#include "report/bench.h"

struct kw_problem {
	const char *key;                  /* "level1/23", "T/exp_sqrt": names it within its suite */
	const char *group;                /* its level, channel or category */
	int number;                       /* 0: none */
	const char *name;                 /* of its file, without number and ending: "Softmax" */
	const char *stem;                 /* without ending: "23_Softmax" */
	const char *path;
};
struct kw_problem_list {
	struct kw_problem *items;
	size_t count;
};

/* Which problem and sample a file of candidates is for, by its name alone. */
struct kw_candidate_name {
	const char *group, *word;         /* group NULL: not told; word: a stem or name of a problem; NULL: by number */
	int number, sample;               /* number 0: by word */
};
struct kw_suite {
	const char *name, *title;
	const char *form;                 /* what its folder holds, for who names another one */
	const char *rule;                 /* how it tells right and fast itself: a sentence */
	struct kw_close_rule close;       /* its tolerance (atol = rtol); 0: it compares no values */
	const char *adapter;              /* python/NAME.py, which makes files in KernelBench's form of its own; NULL: they are in it */
	/* The problems under path, in order; none: no folder of this suite. */
	enum kw_status (*list)(const char *path, struct kw_arena *a, struct kw_problem_list *out, struct kw_error *err);
	/* Optional. A scheme of its own for names of candidates; false: not of it. path: under the folder of candidates. */
	bool (*candidate)(const char *path, struct kw_arena *a, struct kw_candidate_name *out);
};
const struct kw_suite *const *kw_suite_all(size_t *count);
enum kw_status kw_suite_find(const char *name, const struct kw_suite **out, struct kw_error *err);
/* All of its problems; KW_ERR_INPUT with a sentence where the folder is not one of this suite. */
enum kw_status kw_suite_read(const struct kw_suite *s, const char *path, struct kw_arena *a, struct kw_problem_list *out,
			     struct kw_error *err);
/* The problems that some word means: a group ("level1"), a number or range ("23", "1-20"), both ("level1/1-20"), a name, or a
 * pattern of names ("*relu*"). Words may hold several with commas; one that means nothing is an error. No words: all. */
enum kw_status kw_suite_select(const struct kw_suite *s, const struct kw_problem_list *all, const char *const *words, size_t count,
			       struct kw_arena *a, struct kw_problem_list *out, struct kw_error *err);

/* --- for the suites' own files (bench_suites.c) --- */
/* Adds the problems among the files of a folder (KW_OK where there is no such folder): NAME.py or NAME.yaml, with a number before
 * the first '_' where numbered, which names them then; others are passed over. */
enum kw_status kw_suite_folder(const char *dir, const char *group, bool numbered, struct kw_arena *a, struct kw_problem_list *list,
			       struct kw_error *err);
bool kw_is_folder(const char *path);

/* --- candidates (bench_candidates.c) --- */
struct kw_suite_file {
	const struct kw_problem *problem;
	int sample;
	const char *path;
};
struct kw_suite_files {
	struct kw_suite_file *items;      /* by problem, then sample */
	size_t count, elsewhere;          /* elsewhere: of problems that are not selected */
	const char **unknown;             /* files that belong to no problem, with the reason */
	size_t unknown_count;
};
enum kw_status kw_suite_candidates(const struct kw_suite *s, const struct kw_problem_list *all, const struct kw_problem_list *some,
				   const char *dir, struct kw_arena *a, struct kw_suite_files *out, struct kw_error *err);

/* --- the run (bench_run.c) --- */
struct kw_op_bench_opts {
	const char *suite, *path;
	const char *const *select;
	size_t select_count;
	const char *candidates;           /* folder; NULL: search.agent.model, else the built-in author, proposes */
	int samples;                      /* of a proposer; 0: 1 */
	struct kw_op_search_opts search;  /* backend, strategy, model, budget a problem, threads, seed, large, sanitize */
	int64_t limit_ns;                 /* of one problem; 0: 10 min for a candidate, 60 min for a search */
	int devices;                      /* at most so many of a kind at once; 0: all */
	bool fresh;                       /* anew, whatever the store has */
	bool retry;                       /* once more what could not be loaded or used, or was not done in time */
	const char *const *worker_args;   /* of the command line, for the resident processes: --store, --data, --python; NULL: none */
	void (*progress)(void *arg, const char *line);
	void *progress_arg;
};
struct kw_op_bench {
	struct kw_bench_report report;
	int64_t run_id;
	size_t reused;                    /* items that the store had */
	const char **unknown;             /* candidates that belong to no problem; in the report's arena */
	size_t unknown_count;
	struct kw_error fault;            /* status KW_OK: none. Else the machine failed on some items, which are tried again next time */
};
enum kw_status kw_op_bench(const struct kw_op_env *env, const struct kw_op_bench_opts *o, struct kw_op_bench *out,
			   struct kw_error *err);
void kw_op_bench_release(struct kw_op_bench *b);

/* --- the audit (bench_audit.c) --- */
struct kw_op_audit_row {
	const struct kw_problem *problem;
	const char *text;                 /* why it could not be looked at; NULL: it was */
	const char **labels;
	size_t label_count;
};
struct kw_op_audit {
	struct kw_arena arena;
	struct kw_problem_list problems;
	struct kw_op_audit_row *rows;
	size_t count, flagged, failed;
};
enum kw_status kw_op_bench_audit(const struct kw_op_env *env, const struct kw_op_bench_opts *o, struct kw_op_audit *out,
				 struct kw_error *err);
void kw_op_audit_release(struct kw_op_audit *r);

/* --- the resident process (bench_serve.c): `kwright __bench`, JSON lines both ways (bench_internal.h) until its input ends --- */
enum kw_status kw_op_bench_serve(const struct kw_op_env *env, int in, int out, struct kw_error *err);

#endif
