/* judge.h - the trusted side: owns inputs, expected values, the clock and the verdict (design 6, 7, 8).
 *
 *     kw_judge_new("cpu", &j, err);
 *     kw_judge_eval(j, task, expr, candidate, &opts, &verdict, err);
 *     kw_judge_free(j);
 *
 * What a trial is: seeds drawn after the build; inputs filled into a slot; outputs poisoned; the candidate called in
 * its sandboxed player while the judge's clock runs; the player stopped; outputs compared with the f64 reference, chunk
 * by chunk. Timed calls are checked calls. A wrong kernel is a verdict (KW_OK returned); KW_ERR_* is our machine. */
#ifndef KW_JUDGE_JUDGE_H
#define KW_JUDGE_JUDGE_H

#include "backend/backend.h"
#include "core/candidate.h"
#include "core/task.h"
#include "core/verdict.h"
#include "device/device.h"
#include "expr/expr.h"

#include <limits.h>

enum kw_judge_effort {
	KW_EFFORT_SCREEN,    /* tuner: perf cases (or one), 1 checked trial, few timed calls, no baselines */
	KW_EFFORT_FULL,      /* eval: every case, 5 trials, special values, timing to 1%, baselines */
	KW_EFFORT_FINAL      /* hand-over: full, plus a fresh process per trial, shapes drawn from the dim ranges */
};
/* What a benchmark would take for right: |got - want| <= tolerance + tolerance x |want| for every element, NaN nowhere. It decides
 * nothing here; how many elements are beyond is in kw_case_result. 0: not asked. */
struct kw_close_rule {
	double wide, narrow;              /* of outputs of 32 bits and more; of narrower floats */
};
/* What a candidate is timed against. From PyTorch (baseline_torch.c) where the task has a reference there: as it stands, compiled, compiled with
 * a search among kernels, in the layout of channels last; and eager and compiled with TF32 where that is asked for. */
enum kw_baseline_kind { KW_BASELINE_NAIVE = 1, KW_BASELINE_EAGER = 2, KW_BASELINE_COMPILE = 4, KW_BASELINE_MAX_AUTOTUNE = 8,
			KW_BASELINE_CHANNELS_LAST = 16, KW_BASELINE_TF32 = 32, KW_BASELINE_NONE = 64 };
/* "eager,compile", "none": a set of those. */
enum kw_status kw_baselines_parse(const char *text, unsigned *out, struct kw_error *err);
/* Whether a right candidate is run under a sanitizer too, as the device has one: not; where there is one; or it is an error. */
enum kw_sanitize_mode { KW_SANITIZE_NO, KW_SANITIZE_IF_THERE, KW_SANITIZE_MUST };
struct kw_judge_opts {
	enum kw_judge_effort effort;
	int trials;                       /* 0: by effort (1, 5, 5) */
	int timings;                      /* a case's time is of at most so many calls; 0: as many as it takes */
	double ci_target;                 /* 0: 0.01 */
	int64_t time_limit_ns;            /* for timing one case; 0: kw_judge_time_limit_ns */
	int call_timeout_ms;              /* 0: 10 s, or 50 x the baseline's time when known */
	uint64_t seed;                    /* 0: drawn after the build */
	bool with_baselines, large;
	bool original;                    /* in the first slot the inputs are those that a problem in PyTorch itself is called with */
	unsigned baselines;               /* a set of enum kw_baseline_kind; 0: naive, eager and compiled */
	enum kw_sanitize_mode sanitize;
	int threads;                      /* of the candidate; 0: all */
	int only_case;                    /* -1: all */
	struct kw_close_rule close;
	double best_ns;                   /* SCREEN: stop early when clearly slower than 2 x this; 0: never */
	const char *compiler;             /* for the backend; NULL default */
	/* NULL: not asked. What a profiler printed about a call of a timed case, after a candidate was found right; or text NULL, and why there
	 * is nothing. label NULL: about no case. NVIDIA's devices: Nsight Compute's raw page as CSV. */
	void (*profiled)(void *arg, const char *label, const char *text, size_t len, const char *why);
	void *profiled_arg;
	void (*progress)(void *arg, const char *text);
	void *progress_arg;
};
int64_t kw_judge_time_limit_ns(enum kw_judge_effort effort);
void kw_judge_opts_default(struct kw_judge_opts *o, enum kw_judge_effort effort);

/* The sanitizer for a backend's kernels; KW_ERR_ENV with what to install, KW_ERR_USAGE where there can be none. */
enum kw_status kw_sanitizer_find(const char *backend, char path[PATH_MAX], struct kw_error *err);

struct kw_judge;
enum kw_status kw_judge_new(const char *device, struct kw_judge **out, struct kw_error *err);
void kw_judge_free(struct kw_judge *j);
struct kw_device *kw_judge_device(struct kw_judge *j);
/* Tasks with PyTorch will come, and modules as candidates, so many of them with Triton: the processes that these need are started meanwhile, on
 * threads. They import for seconds. Nothing depends on it; what fails is met, and told, where it is needed. */
void kw_judge_expect(struct kw_judge *j, bool modules, int triton);
/* Candidates of this task will be judged: its reference in PyTorch is checked meanwhile, on a thread, as the first evaluation would
 * begin by doing; of several tasks one after the other, in this order. Both stay the caller's until it is over. seed: as in the options. */
void kw_judge_check_ahead(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e, uint64_t seed);
/* No further check begins, and those that have not begun are left to the evaluations: the task of the one that is under way; NULL: none is. */
const struct kw_task *kw_judge_check_last(struct kw_judge *j);
/* Waits for that too, as every evaluation does: nothing is timed beside it. */
void kw_judge_check_over(struct kw_judge *j);
/* What the judge itself runs for this task on its device, expected values as code of its own, in KW_JUDGE_PARTS parts that are built one by one
 * into the build cache. Any thread. What is not there, or fails, is the evaluation's to find. */
enum { KW_JUDGE_PARTS = 2 };
void kw_judge_build_ahead(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e, int part);
/* So many modules will be judged next, of which so many name Triton: compilers for these start, and on a device where starting a process for a
 * module takes long, those too, all at once, while something else is done. Ready: they have, and disturb no measurement. */
void kw_judge_modules_ahead(struct kw_judge *j, int count, int triton);
void kw_judge_modules_ready(struct kw_judge *j);
/* v must be initialised (kw_verdict_init). Not thread-safe per judge. */
enum kw_status kw_judge_eval(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e,
			     const struct kw_candidate *c, const struct kw_judge_opts *o,
			     struct kw_verdict *v, struct kw_error *err);

#endif
