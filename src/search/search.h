/* search.h - the engine: rounds, stop rules, the tuner (design 11).
 *
 * A strategy (vtable, strategies.def) proposes what to try next; the engine judges, stores each verdict before it tells the
 * strategy, and stops by rule: goal met, two rounds in a row under 5%, budget spent, interrupted. Killed at any moment, a
 * run resumes: what the store has is not judged again. */
#ifndef KW_SEARCH_SEARCH_H
#define KW_SEARCH_SEARCH_H

#include "agent/agent.h"
#include "author/author.h"
#include "judge/judge.h"
#include "search/evaluators.h"
#include "store/store.h"

/* Of a whole run, with what it did before a resume. The search ends early enough for the final check of the best point known, by what the
 * evaluations so far took. That check is never cut off, and a short budget of time shortens only its timing: so a run can go beyond its budget,
 * by the end of a judgement that took longer than those before (one that refuses a point is followed by another), and says by how much. */
struct kw_budget {
	int max_evaluations;              /* 0: none */
	int64_t max_wall_ns;              /* 0: none */
	int max_rounds;                   /* 0: strategy's default */
};
/* One line of progress; all numbers may be 0 when unknown. */
struct kw_progress {
	int round, rounds, evaluation, planned;
	const char *candidate, *tune;
	double best_ns, best_speedup, rate_per_s;
	int64_t left_ns;
	const char *verdict;
	const char *role;                 /* who is asked now; NULL: nobody */
	const char *part;                 /* "part1": of a task that is searched in parts; NULL: the whole */
	const struct kw_agent_sums *sums; /* NULL: no model takes part */
};
struct kw_search_opts {
	const char *backend, *device, *strategy;   /* "c", "cpu", "tune" */
	struct kw_budget budget;
	struct kw_judge_opts judge;                /* threads, seed, compiler, large */
	int64_t resume_run;                        /* 0: a new run */
	int64_t parent_run;                        /* of a new one: the benchmark that it is an item of; 0: none */
	const char *item;                          /* which one; NULL: none */
	bool as_part;                              /* what it finds is proven with the whole (strategy parts), and has no final check of its own */
	struct kw_agent_opts agent;                /* agent.model NULL: no model */
	const struct kw_candidate *from;           /* NULL, or the kernel to start from; it is in the store */
	const char *from_sha, *from_name;          /* of kw_search_opts_read: that kernel, or NULL */
	int evaluators;                            /* judgements at once; 0: one a device (kw_evaluators_new) */
	int width;                                 /* of strategies that try several at once; 0: their own */
	struct kw_store *memory;                   /* kw_tune_run: where earlier winners are; NULL: none */
	void (*progress)(void *arg, const struct kw_progress *p);
	void *progress_arg;
};
/* One point of the tuner's curve: after how many points of the space the best was how fast. */
struct kw_curve_point {
	int evaluations;
	int cases;                        /* that best_ns is the mean of; 1: of first_case */
	double best_ns;
	int64_t at_ns;
};
/* A perf case that took part in the choice: the time of the chosen point there, and the fastest of those that came as far. */
struct kw_tune_case {
	const char *label;
	double ns, fastest_ns;
	const char *fastest;              /* as kw_plan_tune_text */
	bool apart;                       /* their intervals are */
};
/* What one value for all sizes gives away: the tune lines that should choose by a dim (split.h). */
struct kw_tune_split {
	const char *text;                 /* "THREADS = cols > 2048 ? 512 : 128", several joined by "; " */
	const char *const *lines;         /* plan order: the expression of such a line; NULL: it stays a tune line */
	const int64_t *values;            /* plan order: of those that stay */
	double ns;                        /* geometric mean over the cases, from each one's own time */
};
struct kw_tune_report {
	const char *candidate;
	int64_t space;                    /* points that satisfy the where lines */
	int tried, failed_build, pruned, wrong;
	struct kw_curve_point *curve;
	size_t curve_count;
	int64_t *best_values;             /* plan order */
	double best_ns;                   /* geometric mean over cases */
	const char *first_case;           /* the one that all points were timed on; NULL: none */
	struct kw_tune_case *cases;
	size_t case_count;
	const struct kw_tune_split *split; /* NULL: one point is as good as several */
};
struct kw_tune_result {
	struct kw_tune_report report;
	enum kw_run_state state;
	bool right;                       /* in full, at the point that c->tune_values was left at */
	const char **reasons;             /* what was refused and why */
	size_t reason_count;
};
struct kw_search_result {
	struct kw_arena arena;
	int64_t run_id;
	enum kw_run_state state;
	bool has_best;
	struct kw_candidate best;         /* with tune_values */
	struct kw_verdict verdict;        /* final effort */
	struct kw_result_list list;
	struct kw_tune_report *tunes;
	size_t tune_count;
	struct kw_round *rounds;
	size_t round_count;
	const char **reasons;             /* why patterns did not fit, and what was refused and why */
	size_t reason_count;
	int evaluations;
	int64_t wall_ns;
};
void kw_search_opts_default(struct kw_search_opts *o);
/* The options that a run is started with (kw_run_row.options); NULL: out of memory. And back, for resuming it: strings in the
 * arena. */
json_t *kw_search_opts_json(const struct kw_search_opts *o);
enum kw_status kw_search_opts_read(struct kw_search_opts *o, const char *json, struct kw_arena *a, struct kw_error *err);
/* Initialises out whatever happens (release it always). Ends with KW_OK for every state but INTERRUPTED, which is
 * KW_ERR_INTERRUPTED with out filled in as far as it got. memory may be NULL. */
enum kw_status kw_search_run(const struct kw_task *t, const struct kw_expr *e, const struct kw_search_opts *o,
			     struct kw_evaluators *ev, struct kw_store *store, struct kw_store *memory,
			     struct kw_search_result *out, struct kw_error *err);
/* Adds to what kept a run of the store from going on, where the machine did, how it goes on. */
void kw_search_tell_resume(int64_t run_id, enum kw_status status, struct kw_error *err);
void kw_search_result_release(struct kw_search_result *r);
/* The tuner alone, on one candidate: successive halving over its tune space, then the best point in full, which no budget cuts
 * off. Leaves c->tune_values at that point. Every verdict is stored under run_id. Strings of the result are in the arena. */
enum kw_status kw_tune_run(const struct kw_task *t, const struct kw_expr *e, struct kw_candidate *c,
			   const struct kw_search_opts *o, struct kw_judge *j, struct kw_store *store, int64_t run_id,
			   struct kw_arena *a, struct kw_tune_result *out, struct kw_error *err);

#endif
