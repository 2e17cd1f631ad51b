/* run.h - a whole search on one task: rounds, model calls, and the result's dispatch list (design 2, 5, 11). */
#ifndef KW_CORE_RUN_H
#define KW_CORE_RUN_H

#include "base/arena.h"
#include "base/json.h"

/* Why a run ended; RUNNING also stands for "was killed": it can be resumed. */
#define KW_RUN_STATE_LIST(X)                                                            \
	X(RUNNING, "running")                                                           \
	X(GOAL, "goal met")                                                             \
	X(CONVERGED, "two rounds in a row gained under 5%")                             \
	X(EXHAUSTED, "nothing left to try")                                             \
	X(BUDGET, "budget spent")                                                       \
	X(INTERRUPTED, "interrupted")                                                   \
	X(NO_PATTERN, "no pattern fits; give a model")                                  \
	X(NO_CORRECT, "no candidate was right")                                         \
	X(FAILED, "an error ended it")                                                  \
	X(ROUNDS, "its rounds are used up")                                             \
	X(TOKENS, "token budget spent")                                                 \
	X(MONEY, "money budget spent")                                                  \
	X(USELESS, "three answers in a row were of no use")                             \
	X(DONE, "done")                                                                 \
	X(FLAT, "four rounds in a row gained under 5%")
enum kw_run_state {
#define X(e, text) KW_RUN_##e,
	KW_RUN_STATE_LIST(X)
#undef X
	KW_RUN_STATE_COUNT
};
const char *kw_run_state_text(enum kw_run_state s);
/* Not at its end: running, killed, interrupted, or ended by a fault. What it has so far is no result. */
bool kw_run_state_open(enum kw_run_state s);
/* Ended by a budget: with a larger one it can go on. */
bool kw_run_state_spent(enum kw_run_state s);

/* One request that a model answered. Prompt, answer and reasoning are texts of the store, by their hashes. */
struct kw_model_call {
	const char *provider, *model, *role;
	int64_t tokens_in, tokens_out, latency_ns;
	double cost_usd;
	const char *prompt_sha, *answer_sha, *outcome;
	const char *slot;                 /* which call of the run: "r2/coder"; a resumed run finds its answer by it */
	const char *reasoning_sha;        /* "" none */
	const char *finish;               /* why the model stopped */
	const char *note;                 /* "scripted", or "" */
	int round, attempts;              /* attempts: requests that were sent, above 1 where some failed */
	bool counted;                     /* tokens as the provider says; else estimated */
	bool priced;                      /* the price of the model is known */
	const char *left_out;             /* parts of the prompt for which there was no room; "" none */
};
struct kw_round {
	int index;
	const char *step;                 /* what this round changed: pattern, directive */
	int evaluations;
	double best_ns_before, best_ns_after;
	double predicted;                 /* what was expected of the time, as a share of the best before; 0: nothing was said */
	double measured_ns;               /* of the fastest right kernel that came of it, kept or not; 0: none */
};
/* One row of a result: the first whose require holds is used; the last is the baseline. */
struct kw_result_entry {
	const char *require;              /* "" always */
	const char *candidate_sha, *tune; /* candidate_sha "" = baseline */
	const char *cases;                /* labels it was proven on */
};
struct kw_result_list {
	struct kw_result_entry *entries;
	size_t count;
};
json_t *kw_model_call_to_json(const struct kw_model_call *c);
enum kw_status kw_model_call_from_json(struct kw_model_call *c, const json_t *j, struct kw_arena *a, struct kw_error *err);
json_t *kw_round_to_json(const struct kw_round *r);
json_t *kw_result_list_to_json(const struct kw_result_list *l);
enum kw_status kw_result_list_from_json(struct kw_result_list *l, const json_t *j, struct kw_arena *a,
					struct kw_error *err);
#endif
