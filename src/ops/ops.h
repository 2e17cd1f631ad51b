/* ops.h - one operation a file; what the command line and later fronts share.
 *
 * An operation takes what the user named, does the work with the lower folders and returns a result struct. It prints
 * nothing and never exits. A wrong kernel is in the result; enum kw_status is for bad input and for our machine.
 *
 *     struct kw_op_eval_opts o = { .task = "softmax", .file = "my.c", .effort = KW_EFFORT_FULL };
 *     struct kw_op_eval r;
 *     kw_op_eval(&env, &o, &r, err);
 *     kw_op_eval_release(&r);
 *
 * Thread rule: one thread a call; calls may run at once on different stores or processes. */
#ifndef KW_OPS_OPS_H
#define KW_OPS_OPS_H

#include "backend/backend.h"
#include "core/launch.h"
#include "core/task.h"
#include "explain/explanation.h"
#include "expr/expr.h"
#include "judge/judge.h"
#include "report/report.h"
#include "search/search.h"
#include "store/store.h"

struct kw_op_env {
	const char *store_dir;            /* ".kernelwright", or --store (then kw_store_set_dir was called too) */
};

/* --- tasks (task.c) --- */
struct kw_op_task {
	struct kw_task task;
	struct kw_arena arena;            /* the expression */
	struct kw_expr *expr;
};
/* word: a file, a name of the library, or, with inputs ("x:f32[128,4096]"), an expression. */
enum kw_status kw_op_task_load(const char *word, const char *const *inputs, size_t input_count,
			       struct kw_op_task *out, struct kw_error *err);
enum kw_status kw_op_task_parse(const char *file, const char *text, struct kw_op_task *out, struct kw_error *err);
void kw_op_task_release(struct kw_op_task *t);

struct kw_op_task_row {
	const char *name, *title, *family;
	size_t perf_count, check_count;
};
/* The library, sorted by name. */
enum kw_status kw_op_task_list(struct kw_arena *a, struct kw_op_task_row **out, size_t *count, struct kw_error *err);
struct kw_op_case {
	const struct kw_case *c;
	struct kw_shape *inputs, *outputs; /* task order */
	struct kw_cost cost;
	double intensity;                 /* flops a byte; 0 when no bytes */
};
/* Every case with its shapes and cost. */
enum kw_status kw_op_task_cases(const struct kw_op_task *t, struct kw_arena *a, struct kw_op_case **out,
				struct kw_error *err);

/* What makes the task easy to cheat on, a line each; in the arena (task_audit.c). */
enum kw_status kw_op_task_audit(const struct kw_op_task *t, struct kw_arena *a, const char ***labels, size_t *n, struct kw_error *err);

/* --- tasks from words (task_new.c) --- */
struct kw_op_draft {
	struct kw_arena arena;
	const char *text, *name, *path, *model;
	const char **assumptions;
	size_t assumption_count;
};
/* Asks the specifier, once more where its answer is no task, and writes the draft to path (NULL: NAME.yaml here); a file that is there
 * is not overwritten. The draft is marked as unconfirmed. */
enum kw_status kw_op_task_new(const char *words, const char *path, const struct kw_agent_opts *m, struct kw_op_draft *out,
			      struct kw_error *err);
void kw_op_draft_release(struct kw_op_draft *d);
/* Takes the mark from a draft. */
enum kw_status kw_op_task_accept(const char *path, struct kw_error *err);

/* --- an existing kernel as a candidate (import.c) --- */
struct kw_op_import_opts {
	const char *task, *file, *out;
	const char *const *inputs;
	size_t input_count;
	const char *const *args;          /* "NAME=EXPR": what a parameter or a name of the host is */
	size_t arg_count;
	const char *entry, *grid, *block, *backend; /* NULL: as the text says */
};
struct kw_op_import {
	struct kw_arena arena;
	const char *plan, *text;          /* the lines that were made; the whole candidate */
};
enum kw_status kw_op_import(const struct kw_op_import_opts *o, struct kw_op_import *out, struct kw_error *err);
void kw_op_import_release(struct kw_op_import *r);

/* --- a problem in KernelBench's form as a task (import_problem.c) --- */
/* *described: python/describe.h's object, the caller's. timeout_ms: 0: long. out: the file that the task is written to, which must not be there; NULL: none. */
enum kw_status kw_op_import_problem(const char *path, bool eval, int timeout_ms, const char *out, json_t **described,
				    struct kw_error *err);

/* --- eval (eval.c) --- */
struct kw_op_eval_opts {
	const char *task, *file;
	const char *const *inputs;        /* of the one-line form */
	size_t input_count;
	const char *backend, *case_name;  /* NULL: by the file's ending; every case */
	const char *device;               /* for what runs on several ("cpu", "nvidia"); NULL: its own choice */
	bool large, sanitize, original;   /* original: of kw_judge_opts */
	unsigned baselines;               /* of kw_judge_opts */
	int trials, timings, threads, call_timeout_ms; /* 0: by effort */
	enum kw_judge_effort effort;      /* set it: 0 is SCREEN */
	uint64_t seed;
	/* Of a front that judges many: what it has already, so that it is not loaded again. NULL: by the names above. */
	const struct kw_op_task *ready_task;
	const struct kw_candidate *ready_candidate;
	struct kw_judge *judge;           /* of the candidate's device */
	int64_t run_id;                   /* a run of this process that the verdict belongs to; 0: none */
	struct kw_close_rule close;
	void (*profiled)(void *arg, const char *label, const char *text, size_t len, const char *why); /* of kw_judge_opts */
	void *profiled_arg;
	void (*progress)(void *arg, const char *label); /* of the case that is judged now */
	void *progress_arg;
};
struct kw_op_eval {
	struct kw_arena arena;
	struct kw_verdict verdict;
	const char *name;                 /* of the candidate */
	int64_t verdict_id;
	const char *record_sha;
	struct kw_judge *judge;           /* that was made for it: its device takes a while to close, which nobody who waits for the verdict should wait for */
};
enum kw_status kw_op_eval(const struct kw_op_env *env, const struct kw_op_eval_opts *o, struct kw_op_eval *out,
			  struct kw_error *err);
void kw_op_eval_release(struct kw_op_eval *r);

/* --- build (build.c): for a device that is not here --- */
struct kw_op_build_opts {
	const char *task, *file, *backend, *case_name;
	const char *const *inputs;        /* of the one-line form */
	size_t input_count;
	const char *device;               /* a hardware sheet: "h200" */
	bool large;
};
struct kw_op_launch {
	const struct kw_bound_kernel *kernel; /* &actual */
	struct kw_bound_kernel actual;    /* what its compiler chose is in it */
	struct kw_kernel_facts facts;
	int64_t cluster[3];               /* as it really runs */
	struct kw_occupancy occupancy;
};
struct kw_op_build_case {
	const char *label;
	bool perf;
	enum kw_verdict_class cls;        /* OK, NOT_APPLICABLE or LAUNCH_ERROR */
	enum kw_subclass subclass;
	const char *why;                  /* NULL when OK */
	int build;                        /* index; -1 where it does not apply */
	struct kw_op_launch *launches;    /* in the plan's order */
	size_t launch_count;
};
struct kw_op_build_one {
	const char *defines;              /* "THREADS=256 VEC=8" */
	const char *variant;              /* kw_build_variant */
	struct kw_build_result result;
	json_t *sass;                     /* backend/sass.h; NULL: no disassembler here */
};
struct kw_op_build {
	struct kw_arena arena;
	struct kw_hardware device;
	struct kw_candidate candidate;
	const char *task_name;
	enum kw_verdict_class cls;        /* of the first case or build that is not fine; OK: built, not run */
	enum kw_subclass subclass;
	const char *summary, *evidence;   /* evidence: "" or a compiler's lines */
	struct kw_op_build_one *builds;
	size_t build_count;
	struct kw_op_build_case *cases;
	size_t case_count;
};
/* Builds a candidate for every case and checks each launch against the sheet. Nothing runs and nothing is stored. */
enum kw_status kw_op_build(const struct kw_op_build_opts *o, struct kw_op_build *out, struct kw_error *err);
void kw_op_build_release(struct kw_op_build *b);
json_t *kw_op_build_json(const struct kw_op_build *b); /* NULL: out of memory */

/* --- explain (explain.c, explain_build.c, explain_candidate.c, explain_record.c) --- */
struct kw_op_explain_opts {
	const char *const *inputs;        /* files, "-", or a task and its candidate */
	size_t count;
	bool compare;                     /* two exports: before, after */
	const char *device;               /* a hardware sheet; NULL: what the inputs tell */
	const char *applied;              /* with compare: the rule whose directive was applied; its record is kept */
	const char *backend;              /* of a candidate; NULL: by its ending */
	bool no_counters;                 /* of a candidate: no profiler is run */
	int threads;
	void (*progress)(void *arg, const char *label);
	void *progress_arg;
};
struct kw_op_explain {
	struct kw_arena arena;
	struct kw_rule *rules;
	size_t rule_count;
	struct kw_rule_record *records;
	struct kw_rule_set set;
	struct kw_explanation all;
	const char *recorded;             /* sentence about the record that was kept; NULL */
};
enum kw_status kw_op_explain(const struct kw_op_env *env, const struct kw_op_explain_opts *o, struct kw_op_explain *out,
			     struct kw_error *err);
void kw_op_explain_release(struct kw_op_explain *r);
/* What is known of each rule that was ever applied, by name. */
enum kw_status kw_op_rule_records(struct kw_store *memory, struct kw_arena *a, struct kw_rule_record **out, size_t *count,
				  struct kw_error *err);
/* Keeps what came of a directive: the first input's prediction against both times. */
enum kw_status kw_op_rule_applied(struct kw_op_explain *r, const char *rule, struct kw_error *err);

/* --- tune, optimize, resume (tune.c, optimize.c) --- */
struct kw_op_search_opts {
	const char *task, *file;          /* file: tune only */
	const char *const *inputs;
	size_t input_count;
	const char *backend, *strategy;   /* NULL: "c"; "refine" with a model, else "tune" */
	const char *from;                 /* optimize: the file of a kernel to start from, or NULL */
	struct kw_agent_opts agent;       /* of a model; agent.model NULL: none */
	int width;
	int evaluators;                   /* judgements at once; 0: one a device */
	struct kw_budget budget;
	uint64_t seed;
	int threads, timings;             /* timings: of kw_judge_opts */
	bool large, sanitize, original;   /* original: of kw_judge_opts */
	unsigned baselines;               /* of kw_judge_opts */
	/* Of a benchmark: its task that is loaded already, a judge to do it with (NULL: its own), itself, the item that the new run is of
	 * it, or the run that goes on. */
	struct kw_op_task *ready_task;
	struct kw_judge *judge;
	int64_t parent_run, resume_run;
	const char *item;
	struct kw_close_rule close;
	void (*progress)(void *arg, const struct kw_progress *p);
	void *progress_arg;
};
/* The strategy's name of runs that only tune one file; their option "candidate" is its hash. */
#define KW_OP_TUNE_FILE "tune FILE"

struct kw_op_search {
	struct kw_report report;          /* of the run, from the store */
	enum kw_run_state state;
	int64_t run_id;                   /* set as soon as there is a run, also when the call fails */
};
/* Tunes one candidate and judges its best point in full. */
enum kw_status kw_op_tune(const struct kw_op_env *env, const struct kw_op_search_opts *o, struct kw_op_search *out,
			  struct kw_error *err);
/* Rounds of a strategy; writes results/RUN/ in the store's folder. */
enum kw_status kw_op_optimize(const struct kw_op_env *env, const struct kw_op_search_opts *o,
			      struct kw_op_search *out, struct kw_error *err);
/* Goes on with a run that was interrupted or killed, by its own options; only budget, threads and progress of `o` are
 * used. A run that is over is only reported. */
enum kw_status kw_op_resume(const struct kw_op_env *env, int64_t run_id, const struct kw_op_search_opts *o,
			    struct kw_op_search *out, struct kw_error *err);
void kw_op_search_release(struct kw_op_search *r);

/* --- prompts (prompt.c) --- */
struct kw_op_prompt_opts {
	const char *role, *task;
	const char *const *inputs;
	size_t input_count;
	const char *backend;              /* NULL: "c" */
	const char *device;               /* a hardware sheet; NULL: this machine */
	const char *from;                 /* a parent kernel's file, or NULL; the debugger's refused one */
	size_t max_bytes;                 /* 0: the default */
};
struct kw_op_prompt {
	struct kw_arena arena;
	struct kw_prompt prompt;
};
/* What a role would be told about a task now. */
enum kw_status kw_op_prompt(const struct kw_op_prompt_opts *o, struct kw_op_prompt *out, struct kw_error *err);
void kw_op_prompt_release(struct kw_op_prompt *p);

struct kw_op_ask {
	struct kw_arena arena;
	struct kw_answer answer;
	struct kw_reply reply;            /* of roles that write code: what the answer is to the loop */
	bool has_reply;
	double cost_usd;
	bool priced;
};
/* Sends that prompt to a model and gives what it says; nothing is judged or stored. */
enum kw_status kw_op_ask(const struct kw_op_prompt_opts *o, const struct kw_agent_opts *m, struct kw_op_ask *out,
			 struct kw_error *err);
void kw_op_ask_release(struct kw_op_ask *r);

/* --- result files (result.c) --- */
/* Writes NAME.c (the candidate with its tune lines fixed to the point), NAME.h (how to call it), kw.h and report.txt into
 * DIR/results/RUN and the paths into the run's fact "files". */
enum kw_status kw_op_result_write(struct kw_store *s, int64_t run_id, const struct kw_task *t,
				  const struct kw_candidate *c, struct kw_error *err);

/* --- runs (runs.c) --- */
enum kw_status kw_op_run_remove(const struct kw_op_env *env, int64_t id, struct kw_error *err); /* with its files */
struct kw_op_verify_opts {
	const char *what;                 /* a record's file, or the number of a verdict */
	const char *task, *file;          /* NULL: from the store */
	int threads;
	void (*progress)(void *arg, const char *label);
	void *progress_arg;
};
struct kw_op_verify_line {
	const char *what, *recorded, *now;
	bool agrees;
};
struct kw_op_verify {
	struct kw_arena arena;
	bool hash_good, agrees;
	struct kw_op_verify_line *lines;
	size_t line_count;
};
enum kw_status kw_op_verify(const struct kw_op_env *env, const struct kw_op_verify_opts *o, struct kw_op_verify *out,
			    struct kw_error *err);
void kw_op_verify_release(struct kw_op_verify *v);

/* --- doctor (doctor.c) --- */
enum kw_op_health { KW_HEALTH_INFO, KW_HEALTH_GOOD, KW_HEALTH_MISSING, KW_HEALTH_BAD };
struct kw_op_fact {
	const char *part, *name, *text;   /* "machine" "cores" "8" */
	enum kw_op_health health;         /* BAD: the main job cannot be done here */
};
struct kw_op_doctor {
	struct kw_arena arena;
	struct kw_op_fact *facts;
	size_t count;
	bool healthy;
};
/* measure: ceilings too, which takes seconds; progress (may be NULL) is told what is measured. */
enum kw_status kw_op_doctor(const struct kw_op_env *env, bool measure, void (*progress)(const char *what),
			    struct kw_op_doctor *out, struct kw_error *err);
void kw_op_doctor_release(struct kw_op_doctor *d);

#endif
