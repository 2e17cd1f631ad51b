/* engine.h - the inside of a run, for strategies, the tuner and tests; commands use search.h.
 *
 * struct kw_search is one run. The world outside (judge, author) is reached through struct kw_search_ports, so that the
 * tests can run the engine against a made-up machine; search.c fills in the real ones. */
#ifndef KW_SEARCH_ENGINE_H
#define KW_SEARCH_ENGINE_H

#include "search/search.h"

/* A search of its own for a part of the task, as an item of the run: what strategy `parts` asks for. */
struct kw_part_job {
	const struct kw_task *task;
	const struct kw_expr *expr;
	const struct kw_search_opts *opts;
	struct kw_agent *agent;           /* NULL: no model */
	struct kw_store *store;           /* of the thread that asks */
};
struct kw_search_ports {
	void *arg;
	/* As kw_judge_eval. */
	enum kw_status (*evaluate)(void *arg, const struct kw_candidate *c, const struct kw_judge_opts *o,
				   struct kw_verdict *v, struct kw_error *err);
	/* As kw_author_propose for the run's backend. */
	enum kw_status (*propose)(void *arg, struct kw_arena *a, struct kw_proposal **out, size_t *count,
				  const char ***reasons, size_t *reason_count, struct kw_error *err);
	/* Optional. What is remembered of a verdict beyond this run (kw_memory_learn). */
	enum kw_status (*learn)(void *arg, const struct kw_candidate *c, const struct kw_verdict *v,
				struct kw_error *err);
	/* Optional. Compiles candidates at their tune points, several at once, while nothing is timed (kw_ahead_build). */
	void (*build_ahead)(void *arg, const struct kw_candidate *const *list, size_t count, int perf_case);
	/* Optional. Several evaluations at once, where there are several devices: evaluate then waits for what was begun here. */
	void (*judge_ahead)(void *arg, const struct kw_candidate *const *list, size_t count, const struct kw_judge_opts *o);
	/* With judge_ahead: what was begun of this candidate, NULL: of any, and was not asked for, is not wanted any more. */
	void (*drop_ahead)(void *arg, const char *candidate_sha);
	/* Optional. Any thread, several at once; as kw_search_run_with. */
	enum kw_status (*search_part)(void *arg, const struct kw_part_job *job, struct kw_search_result *out, struct kw_error *err);
	int evaluators;                       /* how many judgements may go on at once; 0: one, by the run's own thread */
	const struct kw_hardware *hardware;   /* device facts for plan lines; never NULL */
	const struct kw_hardware *told;       /* Optional. The same for prompts, with measured rates; NULL: hardware */
	struct kw_agent *agent;               /* NULL: no model takes part */
};

/* How one evaluation ended, judged now or found in the store. */
struct kw_outcome {
	enum kw_verdict_class cls;
	enum kw_subclass subclass;
	double ns;                        /* geometric mean of the timed cases' medians; 0: none */
	double low_ns, high_ns;           /* of the first timed case: the ends of its interval */
	double speedup, sol;
	int64_t verdict_id;
	bool recalled;                    /* from the store: cost nothing */
	bool cached;                      /* its builds were all in the build cache */
	const char *tune;
};
/* A candidate at one point, judged in full: rows of the ranking. */
struct kw_ranked {
	struct kw_candidate candidate;    /* tune_values set */
	const char *tune;
	struct kw_verdict *verdict;       /* heap, owned by the search */
	double ns, speedup, sol;
	int covered;                      /* perf cases that it ran */
	bool refused, proven;             /* by the final check */
};

/* The last verdict that was not right, for those who repair. Strings in the search's arena. */
struct kw_refusal {
	char candidate_sha[KW_SHA256_HEX];
	enum kw_verdict_class cls;
	enum kw_subclass subclass;
	const char *tune, *summary, *evidence, *case_label;
};

/* A right point that was only screened so far: what a spent budget leaves for the final check. */
struct kw_case_look {
	int index;                        /* of the task's cases */
	const char *label;
	double ns;                        /* of the latest look */
};
struct kw_screened {
	struct kw_candidate candidate;    /* tune_values set, or NULL for the default point */
	const char *tune;
	struct kw_case_look *looks;       /* by index; those that it was timed on */
	size_t look_count;
	double ns;                        /* geometric mean of the looks */
};

enum { KW_RANKED_MAX = 256, KW_SCREENED_MAX = 160, KW_REASONS_MAX = 512 };

struct kw_search {
	const struct kw_task *task;
	const struct kw_expr *expr;
	const struct kw_search_opts *opts;
	const struct kw_search_ports *ports;
	struct kw_store *store, *memory;  /* memory may be NULL */
	struct kw_arena *arena;           /* of the result */
	int64_t run_id, started_ms;       /* started_ms: of the wall's clock, before any resume; of runs with a model */
	enum kw_run_state stop;           /* why to stop, once a call returned KW_NO */
	int round, rounds_planned;
	int evaluations;                  /* completed verdicts of this run, in the store: what a budget counts */
	int past;                         /* of them from before a resume */
	int fresh;                        /* of them judged now */
	int met;                          /* of them met on the way here, judged now or recalled */
	int64_t last_id;                  /* of those met; the numbers of verdicts rise */
	int64_t recalled_ns;              /* what the recalled ones took when they were judged */
	int64_t full_ns;                  /* what the dearest judgement in full took; 0: none yet */
	bool handing_over;                /* a budget refuses nothing any more */
	bool owed;                        /* nor one judgement, without which all that was spent is for nothing (strategy parts) */
	bool failing;                     /* by a fault of the machine: what was asked is for the run that resumes it */
	bool no_ahead;                    /* what is built ahead is not found again: no build cache here */
	int round_evaluations;            /* of them in this round, judged now or before a resume */
	int upcoming;                     /* likely still to come, for the time left */
	int64_t start_ns;
	int64_t judging_ns, building_ns;  /* of the time since then: in evaluations, in builds ahead of them */
	double best_ns, best_speedup;
	const char *role;                 /* who is asked now; NULL: nobody */
	const char *told;                 /* of the last verdict: the candidate's name; NULL: there was none */
	char told_verdict[64];
	struct kw_refusal refusal;
	struct kw_ranked *ranked;         /* best first */
	size_t ranked_count;
	struct kw_screened *screened;     /* best first; of candidates that are still being searched */
	size_t screened_count;
	const char **reasons;
	size_t reason_count;
	struct kw_rule *rules;            /* what findings are made by: loaded when the first are wanted */
	size_t rule_count;
};

/* Judges a candidate at its tune point, or finds the verdict that this run's store already has under (candidate, tune text,
 * effort label), and stores the verdict before it returns. o->effort and limits: as wanted; label: "screen",
 * "screen.1", "full", "final". v may be NULL; else it is filled (kw_verdict_init first).
 * KW_NO: not judged, s->stop is BUDGET or INTERRUPTED. */
enum kw_status kw_search_evaluate(struct kw_search *s, const struct kw_candidate *c, const char *label,
				  const struct kw_judge_opts *o, struct kw_verdict *v, struct kw_outcome *out,
				  struct kw_error *err);
/* A quick look at a candidate's default point, on the first perf case that it can be judged on; where it takes there at most limit_ns (0:
 * whatever it takes), on the others too. v, out: of the last look, the first that was not right ends it. *p: what was timed. */
enum kw_status kw_search_screen(struct kw_search *s, const struct kw_candidate *c, double limit_ns, struct kw_verdict *v,
				struct kw_outcome *out, struct kw_screened *p, struct kw_error *err);
/* The label of a screening on a perf case: other cases than the first have labels of their own. NULL: out of memory. */
const char *kw_search_label(struct kw_search *s, const char *rung, int perf_case);
/* Before the next few are evaluated under a label: compiles at once those that are not judged yet; false: none. perf_case: as
 * for kw_ahead_build. */
bool kw_search_build_ahead(struct kw_search *s, const struct kw_candidate *const *list, size_t count, int perf_case,
			   const char *label);
/* Likewise begins to judge them, where several devices can. Each will be asked for by kw_search_evaluate under this label and these options, in
 * any order: what is stored, and when, is as if there were one device. */
void kw_search_judge_ahead(struct kw_search *s, const struct kw_candidate *const *list, size_t count, const char *label,
			   const struct kw_judge_opts *o);
/* NULL: of any candidate. */
void kw_search_drop_ahead(struct kw_search *s, const char *candidate_sha);
/* The run's judge options for an effort. */
void kw_search_judge_opts(const struct kw_search *s, enum kw_judge_effort effort, struct kw_judge_opts *out);
/* Geometric mean of the medians of the timed perf cases; 0: none was timed. */
double kw_search_mean_ns(const struct kw_verdict *v);
/* Whether to stop now (interrupted, budget); sets s->stop. As soon as something right is known, a budget keeps room for its
 * final check: one evaluation, or the time that it is likely to take. */
bool kw_search_should_stop(struct kw_search *s);
/* What a budget of time keeps for the final check, which does about twice as much as a judgement in full (full_ns: the dearest so far; 0:
 * nobody knows). A short budget is not all kept for it: the search gets at least half. */
int64_t kw_search_proof_room_ns(int64_t max_wall_ns, int64_t full_ns);
/* How long the run has taken, with the parts of it before a resume. */
int64_t kw_search_elapsed_ns(const struct kw_search *s);
/* A sentence for the user: why something was not taken. */
void kw_search_reason(struct kw_search *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void kw_search_progress(const struct kw_search *s, const char *candidate, const char *tune, const char *verdict);

/* The tuner within a run (tuner.c). limit_ns: how long it may take, fresh evaluations only. Leaves c->tune_values at the
 * best point. points, when not NULL: the right points, best first, for a fallback. KW_NO: s->stop. */
struct kw_tune_point_time {
	int64_t *values;
	double ns;
};
struct kw_tune_points {
	struct kw_tune_point_time *at;
	size_t count;
};
/* Whole candidates whose turn will come: builds them, and begins the first evaluation that kw_tuner_run, or a judgement in full where there is
 * nothing to tune, will ask for. looks: as kw_search_screen will instead. */
void kw_search_begin_ahead(struct kw_search *s, const struct kw_candidate *const *list, size_t count, bool looks);
enum kw_status kw_tuner_run(struct kw_search *s, struct kw_candidate *c, int64_t limit_ns,
			    struct kw_tune_report *report, struct kw_tune_points *points, struct kw_error *err);

/* rank.c. What the engine remembers of a verdict for the final check: a right screened point is kept, a point that was judged
 * in full or found wrong is dropped. */
void kw_search_note_screened(struct kw_search *s, const struct kw_candidate *c, const struct kw_judge_opts *o,
			     const struct kw_verdict *v, const struct kw_outcome *out);
/* Its search is over: its points that were not judged in full lost. */
void kw_search_forget_screened(struct kw_search *s, const char *candidate_sha);
/* Adds a look of the latest time, or renews it. */
enum kw_status kw_screened_add(struct kw_screened *p, int index, const char *label, double ns, struct kw_arena *a, struct kw_error *err);
/* Of two that were only looked at, whether a is to be preferred: more of the cases first, as the ranking has it. Times of different cases are
 * not compared: of equally many, those of earlier cases come first. */
bool kw_screened_better(const struct kw_screened *a, const struct kw_screened *b);
/* Of what was only screened, the one to prove first. A case that one point alone was looked at on, when a budget ended, decides nothing. */
const struct kw_screened *kw_search_first_screened(const struct kw_search *s);
/* Its time as a share of a verdict's, by their geometric means over the cases that both were timed on; 0: there are none. */
double kw_screened_share(const struct kw_screened *p, const struct kw_verdict *v);

/* Takes the verdict over (v: heap) and sorts it in. NULL when the table is full of better ones (v is released then). A row may go
 * later, for better ones: hold its hash, not its address. */
struct kw_ranked *kw_search_rank(struct kw_search *s, const struct kw_candidate *c, const char *tune,
				 struct kw_verdict *v);
/* Hand-over (finish.c): the final check, best first; the dispatch list. */
enum kw_status kw_search_finish(struct kw_search *s, struct kw_search_result *out, struct kw_error *err);

/* kw_search_run and kw_tune_run against other ports. */
enum kw_status kw_search_run_with(const struct kw_search_ports *ports, const struct kw_task *t, const struct kw_expr *e,
				  const struct kw_search_opts *o, struct kw_store *store, struct kw_store *memory,
				  struct kw_search_result *out, struct kw_error *err);
enum kw_status kw_tune_run_with(const struct kw_search_ports *ports, const struct kw_task *t, const struct kw_expr *e,
				struct kw_candidate *c, const struct kw_search_opts *o, struct kw_store *store, int64_t run_id,
				struct kw_arena *a, struct kw_tune_result *out, struct kw_error *err);

#endif
