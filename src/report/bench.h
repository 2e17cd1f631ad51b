/* bench.h - what a benchmark over a suite came to, from the store: a table for people, one JSON for programs.
 *
 *     struct kw_bench_report r;
 *     kw_bench_report_load(&r, store, run_id, err);
 *     kw_bench_report_text(&r, true, &buf);     // or kw_bench_report_json(&r)
 *     kw_bench_report_release(&r);
 *
 * A benchmark is a run with strategy KW_BENCH_STRATEGY, whose items are runs. Its fact "bench" says what was asked for (suite, its
 * rule, problems, samples); the fact "item" of each says how it ended. The scores are made here, of verdicts as they were
 * stored: nothing is measured again.
 *
 * How things are counted. A problem that cannot be used, has no candidate, or was not done in time is in the count, and not
 * right. What is not done yet, or failed by a fault of the machine, is in no score. With several samples of a problem a share is
 * that of its samples, so that every problem weighs the same. */
#ifndef KW_REPORT_BENCH_H
#define KW_REPORT_BENCH_H

#include "base/str.h"
#include "core/verdict.h"
#include "store/store.h"

#define KW_BENCH_STRATEGY "bench"
#define KW_BENCH_EVAL "bench eval"            /* of an item that is one candidate */

#define KW_BENCH_STATE_LIST(X)                                             \
	X(WAITING, "waiting", "not done yet")                              \
	X(JUDGED, "judged", "a candidate has its verdict")                 \
	X(NO_KERNEL, "no_kernel", "the search found none that is right")   \
	X(NO_PROBLEM, "no_problem", "the problem cannot be used")     \
	X(NO_CANDIDATE, "no_candidate", "no file is there for it")         \
	X(UNUSABLE, "unusable", "the candidate's file cannot be used")     \
	X(TIME_LIMIT, "time_limit", "it was not done in its time")         \
	X(MACHINE, "machine", "a fault of this machine; it will be tried again")
enum kw_bench_state {
#define X(e, name, text) KW_BENCH_##e,
	KW_BENCH_STATE_LIST(X)
#undef X
	KW_BENCH_STATE_COUNT
};
const char *kw_bench_state_name(enum kw_bench_state s);
bool kw_bench_state_parse(const char *name, enum kw_bench_state *out);

/* --- formulas (bench_score.c) --- */
#define KW_FAST_COUNT 6
extern const double kw_fast_p_values[KW_FAST_COUNT];  /* 0, 0.5, 0.8, 1, 1.5, 2 */
#define KW_PASS_COUNT 8
extern const int kw_pass_k_values[KW_PASS_COUNT];     /* 1, 2, 3, 5, 10, 20, 50, 100 */
/* The probability that one of k samples is right, of n of which c are: 1 - C(n-c, k) / C(n, k), the unbiased estimator of Chen et al.,
 * "Evaluating Large Language Models Trained on Code" (arXiv 2107.03374), equation 1. NaN where it says nothing: k > n, n < 1. */
double kw_pass_at_k(int n, int c, int k);
/* Whether a right sample counts for fast_p (Ouyang et al., "KernelBench", arXiv 2502.10517): faster than p times the baseline. p = 0: every
 * right one, also where it was not timed. speedup 0: not timed. */
bool kw_is_fast(bool right, double speedup, double p);
/* Geometric mean of the values above 0; 0: there is none. */
double kw_geometric_mean(const double *v, size_t n);

/* --- a benchmark --- */
enum { KW_BENCH_BASELINES = 12 };
struct kw_bench_item {
	const char *key, *problem, *group, *name, *file; /* key: "level1/23#0"; file: NULL of a proposer */
	int number, sample;
	enum kw_bench_state state;
	const char *text;                 /* how it ended, or the verdict's sentence */
	int64_t run_id, verdict_id;       /* 0: none */
	bool has_verdict, right;
	enum kw_verdict_class cls;
	enum kw_subclass subclass;
	double median_ns, sol;            /* geometric means over the timed cases; 0: none */
	double speedup[KW_BENCH_BASELINES]; /* against each of the report's baselines; 0: none */
	double best_speedup;              /* against the fastest baseline of each case */
	/* As the suite would score it. */
	bool suite_known, suite_right;
	double suite_speedup;             /* by means, against suite_baseline; 0: not timed */
	const char *disagreement;         /* NULL: both say the same, or the suite's answer is not known */
	int64_t wall_ns, tokens_in, tokens_out;
	int evaluations, calls;
	double cost_usd;
	bool unpriced;
};
struct kw_bench_group {               /* the scores of some of the items */
	const char *name;                 /* "all", or a group */
	size_t problems, counted, samples, right; /* counted: problems with a sample that counts; right: samples */
	size_t states[KW_BENCH_STATE_COUNT], verdicts[KW_V_COUNT]; /* verdicts: of those that have one */
	size_t took;                      /* samples that took time: those without a candidate do not */
	double correct;                   /* share of problems, as all below */
	double fast[KW_BENCH_BASELINES][KW_FAST_COUNT], geomean[KW_BENCH_BASELINES];
	size_t timed[KW_BENCH_BASELINES]; /* right samples that have this baseline */
	double pass[KW_PASS_COUNT];       /* NaN: no problem has so many samples */
	size_t pass_problems[KW_PASS_COUNT];
	double sol;                       /* geometric mean of right ones; 0: none */
	double suite_correct, suite_fast[KW_FAST_COUNT], suite_geomean;
	size_t suite_known, suite_right, suite_untimed; /* samples; untimed: right for the suite, and not timed here */
	size_t disagreements;
	int64_t wall_ns, tokens_in, tokens_out;
	double cost_usd;
	bool unpriced;
};
struct kw_bench_report {
	struct kw_arena arena;
	struct kw_run_row run;
	const char *suite, *title, *path, *rule, *proposer; /* proposer: "files", "the built-in author", a model */
	double close_wide, close_narrow;
	struct kw_bench_item *items;
	size_t count;
	const char *baselines[KW_BENCH_BASELINES];
	size_t baseline_count;
	const char *suite_baseline;       /* "" none */
	struct kw_bench_group *groups;    /* the first is all */
	size_t group_count;
	struct kw_verdict_count *cheats;  /* by name, over every verdict */
	size_t cheat_count;
	bool complete;                    /* nothing waits or is to be tried again */
};
enum kw_status kw_bench_report_load(struct kw_bench_report *r, struct kw_store *s, int64_t run_id, struct kw_error *err);
void kw_bench_report_release(struct kw_bench_report *r);
/* rows: a line for each item too. */
void kw_bench_report_text(const struct kw_bench_report *r, bool rows, struct kw_buf *out);
json_t *kw_bench_report_json(const struct kw_bench_report *r);

/* For tests: the scores of items as they are. groups and the rest are made in the report's arena. */
enum kw_status kw_bench_report_score(struct kw_bench_report *r, struct kw_error *err);
/* What the suite would say of a verdict. wide 0: whatever runs is right. compared, far: elements that were held against its rule beside
 * the verdict; 0: none. */
struct kw_suite_view {
	bool known, right;
	double speedup;
	const char *baseline;
	int64_t compared, far;            /* elements, and those beyond its tolerance */
};
void kw_suite_look(const struct kw_verdict *v, double wide, int64_t compared, int64_t far, struct kw_suite_view *out);

#endif
