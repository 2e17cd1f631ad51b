/* verdict.h - classes, sub-classes and evidence (design 8, docs/verdicts.md).
 *
 * One table is the source of names for code, JSON, docs and tests. A verdict is a result about a
 * candidate; faults of the machine are errors (kw_status) and never become one. */
#ifndef KW_CORE_VERDICT_H
#define KW_CORE_VERDICT_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/json.h"
#include "core/shape.h"

#define KW_VERDICT_LIST(X)                                                                 \
	X(OK, "ok", "right in every trial; times are valid")                               \
	X(NOT_APPLICABLE, "not_applicable", "its own require lines exclude every case")    \
	X(BUILD_ERROR, "build_error", "the compiler refused it")                           \
	X(LAUNCH_ERROR, "launch_error", "it could not be started")                         \
	X(RUNTIME_ERROR, "runtime_error", "it stopped while running")                      \
	X(WRONG, "wrong", "it ran and its output is not right")                            \
	X(CHEAT, "cheat", "it tried to look right or fast without doing the work")
enum kw_verdict_class {
#define X(e, name, text) KW_V_##e,
	KW_VERDICT_LIST(X)
#undef X
	KW_V_COUNT
};

/* Columns: enum, class it belongs to, name, meaning. */
#define KW_SUBCLASS_LIST(X)                                                                \
	X(NONE, OK, "", "")                                                                \
	X(SYNTAX, BUILD_ERROR, "syntax", "not valid source")                               \
	X(TYPE, BUILD_ERROR, "type", "types or arguments do not fit")                      \
	X(UNDEFINED, BUILD_ERROR, "undefined", "a name that does not exist")               \
	X(INCLUDE, BUILD_ERROR, "include", "a header that is not there")                   \
	X(BUILD_RESOURCES, BUILD_ERROR, "resources", "more of something than there is")    \
	X(BUILD_ARCHITECTURE, BUILD_ERROR, "architecture", "an instruction this target lacks") \
	X(BUILD_TIMEOUT, BUILD_ERROR, "timeout", "the compiler did not end in time")       \
	X(BUILD_PLAN, BUILD_ERROR, "plan", "the plan lines cannot be used")                \
	X(CONFIGURATION, LAUNCH_ERROR, "configuration", "a launch the device refuses")     \
	X(LAUNCH_RESOURCES, LAUNCH_ERROR, "resources", "not enough registers or shared memory") \
	X(OUT_OF_MEMORY, LAUNCH_ERROR, "out_of_memory", "its own memory does not fit")     \
	X(LAUNCH_ARCHITECTURE, LAUNCH_ERROR, "architecture", "built for another device")   \
	X(ENTRY, LAUNCH_ERROR, "entry", "the kernel name is not in the artefact")          \
	X(ILLEGAL_ACCESS, RUNTIME_ERROR, "illegal_access", "an address that is not its own") \
	X(MISALIGNED, RUNTIME_ERROR, "misaligned", "an address that is not aligned")       \
	X(TIMEOUT, RUNTIME_ERROR, "timeout", "it did not end in time")                     \
	X(CRASH, RUNTIME_ERROR, "crash", "a signal or trap")                               \
	X(EXITED, RUNTIME_ERROR, "exited", "it ended its process")                         \
	X(MISMATCH, WRONG, "mismatch", "values beyond the tolerance")                      \
	X(NAN, WRONG, "nan", "NaN or Inf where the reference has none, or the reverse")    \
	X(UNWRITTEN, WRONG, "unwritten", "elements that were never written")               \
	X(RACE, WRONG, "race", "the same input gives different errors in different runs")  \
	X(BARRIER, WRONG, "barrier", "threads wait at a barrier that others never reach")  \
	X(UNINITIALISED, WRONG, "uninitialised", "it read memory that nothing had written") \
	X(INPUT_MODIFIED, WRONG, "input_modified", "it wrote to an input")                 \
	X(OUT_OF_BOUNDS, WRONG, "out_of_bounds", "it touched memory beside a buffer")      \
	X(PRECISION, WRONG, "precision", "computed in a lower precision than the task allows") \
	X(SHAPE, WRONG, "shape", "an output of another shape")                             \
	X(DTYPE, WRONG, "dtype", "an output of another type")                              \
	X(ALIAS, WRONG, "alias", "an output that shares memory with an input")             \
	X(STALE_OUTPUT, CHEAT, "stale_output", "returns the answer of an earlier call")    \
	X(STATE, CHEAT, "state", "right only in a fresh process, or only after earlier calls") \
	X(LATE_WRITE, CHEAT, "late_write", "output still changes after the call returned") \
	X(BACKGROUND, CHEAT, "background_work", "computes between calls, when no clock runs") \
	X(FORGED, CHEAT, "forged_answer", "speaks to the judge in the player's name")      \
	X(SANDBOX, CHEAT, "sandbox", "asked the system for something a kernel never needs") \
	X(IMPOSSIBLE, CHEAT, "impossible_time", "faster than memory or arithmetic allow")  \
	X(HARD_CODED, CHEAT, "hard_coded", "right for the listed shapes only, without a require") \
	X(CONSTANT, CHEAT, "constant_output", "the same output whatever the input")        \
	X(COPIED_INPUT, CHEAT, "copied_input", "returns an input as the output")           \
	X(LIBRARY, CHEAT, "library", "calls a library where a kernel was asked for")
enum kw_subclass {
#define X(e, cls, name, text) KW_S_##e,
	KW_SUBCLASS_LIST(X)
#undef X
	KW_S_COUNT
};

const char *kw_verdict_name(enum kw_verdict_class v);
const char *kw_verdict_meaning(enum kw_verdict_class v);
const char *kw_subclass_name(enum kw_subclass s);
const char *kw_subclass_meaning(enum kw_subclass s);
enum kw_verdict_class kw_subclass_class(enum kw_subclass s);
/* Names back; false when unknown. Some names ("timeout") belong to several classes; "" is NONE. */
bool kw_verdict_parse(const char *name, enum kw_verdict_class *out);
bool kw_subclass_parse(enum kw_verdict_class cls, const char *name, enum kw_subclass *out);

/* Comparison of one output in one trial: f64 statistics (design 6.8). */
struct kw_compare_stats {
	int64_t compared, mismatched, unwritten, nan_mismatched;
	double max_abs, max_rel;              /* like norm_ratio and rms_rel over elements that are finite on both sides; NaN: none is */
	double norm_ratio;                    /* |got| / |want|, 2-norms */
	double rms_rel;                       /* |got - want| / |want|, 2-norms */
	double tolerance_at_worst;
	int64_t worst_index[KW_MAX_RANK];
	int worst_rank;
	double worst_got, worst_want;
	double worst_ratio;                   /* error over tolerance; > 1 is a mismatch */
	int64_t not_close;                    /* beyond another rule's tolerance, where one was asked for (kw_close_rule) */
	/* Sums while comparing; kw_compare_finish makes the figures above of them. */
	double sum_got2, sum_want2, sum_diff2, sum_diff_want;
	double out_tiny;                      /* smallest normal number of the output's type */
};

/* Times of one case. All ns per call; samples kept for the record. */
struct kw_times {
	double median_ns, ci_low_ns, ci_high_ns, min_ns;
	double *samples_ns;
	size_t sample_count;
	const char *method;                   /* "batch-minus-empty", "single": static strings */
	bool cold;
	bool ci_reached;                      /* the interval got under the target */
};

/* One named baseline of one case, timed in turns with the candidate. */
struct kw_baseline_time {
	const char *name;                     /* "naive -O3", "naive -O3 openmp" */
	struct kw_times times;
	double speedup, speedup_low, speedup_high; /* baseline / candidate, ratio and its interval; 0: it has no time */
	const char *why;                      /* without a time: the reason; with one: what to know of it. "" nothing, or NULL */
	bool wrong;                           /* its result is beyond the tolerance of candidates */
};

struct kw_case_result {
	const char *label;
	int64_t *dims;                        /* of the task; task order */
	size_t dim_count;
	bool perf, unseen;                    /* unseen: drawn after the build */
	enum kw_verdict_class verdict;        /* OK, NOT_APPLICABLE or what went wrong here; OK without trials: not judged */
	enum kw_subclass subclass;
	char why[400];                        /* skipped or not applicable: the reason */
	int trials;
	struct kw_compare_stats worst;        /* of all trials and outputs */
	const char *worst_output;
	double error_ratio;                   /* worst error / tolerance */
	int64_t close_compared, not_close;    /* by a suite's own rule, over the trials with the task's own data; 0, 0: not asked */
	bool has_times;
	struct kw_times times;
	struct kw_baseline_time *baselines;
	size_t baseline_count;
	double bytes, flops;                  /* compulsory work of the case */
	double ceiling_bytes_per_s, ceiling_flops_per_s; /* what SOL was taken against; 0: none */
	double sol;                           /* 0: unknown */
	const char *sol_bound;                /* "memory", "cache", "compute" */
};

struct kw_verdict {
	struct kw_arena arena;                /* owns every string and array below */
	enum kw_verdict_class cls;
	enum kw_subclass subclass;
	char summary[600];                    /* one sentence for people and models */
	char evidence[2400];                  /* lines: index, got, expected, address, message */
	const char *case_label;               /* where it failed; NULL if ok */
	const char *task_name, *backend, *device, *toolchain;
	char task_sha[KW_SHA256_HEX], candidate_sha[KW_SHA256_HEX], plan_sha[KW_SHA256_HEX],
		artefact_sha[KW_SHA256_HEX];
	const char *tune;                     /* "THREADS=256" or "" */
	uint64_t seed;
	struct kw_case_result *cases;
	size_t case_count;
	const char **flags;                   /* "faster than the measured ceiling", "needs a person's eye: …" */
	size_t flag_count;
	const char *sandbox_layers;           /* "landlock seccomp pid net user" that were active */
	double geomean_speedup;               /* over perf cases, against the best baseline; 0: none */
	double geomean_sol;
	int64_t build_ns, judge_ns, generate_ns, compare_ns, run_ns, total_ns;
	bool build_cached;
	int64_t when_ms;
};
void kw_verdict_init(struct kw_verdict *v);
void kw_verdict_release(struct kw_verdict *v);

/* The baseline that a speedup is given against: the fastest one, or NULL. One with TF32 counts only where its result is right: it computes
 * something else. */
const struct kw_baseline_time *kw_case_best_baseline(const struct kw_case_result *c);
/* Baselines that have no time in some timed case, at most n of them: a speedup is against the others. Returns how many. */
size_t kw_verdict_failed_baselines(const struct kw_verdict *v, const char **names, size_t n);
/* Right, but slower than the best baseline over all timed cases, by more than the intervals leave open. baseline: its name, NULL where it is
 * not the same one in every case; may be NULL. */
bool kw_verdict_is_slower(const struct kw_verdict *v, const char **baseline);

/* The JSON of design 14 (`eval --json`) and of records, docs/verdicts.md; NULL when out of memory.
 * kw_verdict_from_json reads its own output into an initialised verdict. */
json_t *kw_verdict_to_json(const struct kw_verdict *v);
enum kw_status kw_verdict_from_json(struct kw_verdict *v, const json_t *j, struct kw_error *err);
/* A verdict as a portable record: adds "prev_sha", and "sha256" over the canonical text of all the rest.
 * NULL when out of memory. */
json_t *kw_verdict_record(const struct kw_verdict *v, const char *prev_sha);

#endif
