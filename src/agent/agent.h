/* agent.h - roles that ask models: prompt, call, answer, store (design 10).
 *
 *     struct kw_agent *g;
 *     kw_agent_new(&opts, &g, err);             // opens the models: what cannot work is said here
 *     kw_agent_join(g, store, run_id, "run 3", err);
 *     struct kw_turn turn;
 *     kw_agent_ask(g, &(struct kw_request){ .role = KW_ROLE_CODER, .slot = "r1/coder", .facts = &facts }, 1, arena, &turn, err);
 *     if (turn.reply.kind == KW_REPLY_SOURCE) judge(&turn.candidate);
 *
 * A call is in the store as soon as its answer arrives, under its slot: a run that was killed finds its answers again and pays for
 * none twice. Budgets of tokens and money are looked at before each call; of several at once each waits for all but the last few (parallel)
 * before it, and is not sent where those have spent it. An answer that cannot be used is asked for once
 * more, with the reason; after three of no use in a row nobody is asked any more.
 *
 * Thread rule: one owner; it asks several models at once itself. What comes back does not depend on which answered first. */
#ifndef KW_AGENT_AGENT_H
#define KW_AGENT_AGENT_H

#include "agent/prompt.h"
#include "agent/reply.h"
#include "core/run.h"
#include "store/store.h"

enum { KW_USELESS_MAX = 3, KW_PARALLEL_MAX = 64 };
#define KW_PROMPT_DEFAULT_BYTES ((size_t)160 << 10)

struct kw_agent_opts {
	const char *model;                          /* "replay:FILE"; NULL: none */
	const char *role_model[KW_ROLE_COUNT];      /* NULL: model */
	const char *base_url, *key_file, *record;   /* NULL: none */
	double temperature;                         /* negative: the model's own */
	double role_temperature[KW_ROLE_COUNT];     /* where has_role_temperature: before all others */
	bool has_role_temperature[KW_ROLE_COUNT];
	int64_t max_tokens, timeout_ns;             /* 0: the provider's */
	int retries;                                /* negative: the provider's */
	size_t prompt_bytes;                        /* 0: KW_PROMPT_DEFAULT_BYTES */
	int64_t budget_tokens;                      /* of a whole run; 0: none */
	double budget_usd;                          /* likewise */
	int parallel;                               /* calls at once; 0: 4 */
	bool review;                                /* a reviewer looks at right kernels */
};
struct kw_agent_sums {
	int calls, recalled, useless;               /* useless: in all */
	int64_t tokens_in, tokens_out;
	double cost_usd;
	bool unpriced, estimated;                   /* of some call the price, or the count of tokens, is not known */
};
struct kw_request {
	enum kw_role role;
	const char *slot;
	const struct kw_prompt_facts *facts;
	double temperature;                         /* negative: as the agent's options say */
	int round;
};
struct kw_turn {
	struct kw_reply reply;                      /* SOURCE: the candidate is set; roles without code: SOURCE and text */
	const char *text;                           /* what was said, without reasoning */
	struct kw_candidate candidate;
	const char *model;
	const char *left_out;                       /* of its prompt, for want of room; "" nothing */
	bool asked;                                 /* false: the budget, or nobody to ask */
	const char *late;                           /* the call that the run's time did not suffice for, "r2/coder of mailbox:box"; or NULL */
};

struct kw_agent;
enum kw_status kw_agent_new(const struct kw_agent_opts *o, struct kw_agent **out, struct kw_error *err);
/* For a part of a task: the same models, budgets of its own, and "part1/" before its slots. `whole` must outlive it. Asked by another
 * thread than `whole`'s owner. */
enum kw_status kw_agent_part(struct kw_agent *whole, const struct kw_agent_opts *o, const char *prefix, struct kw_agent **out,
			     struct kw_error *err);
/* Adds what another run's calls have cost to what this one has spent. */
enum kw_status kw_agent_charge(struct kw_agent *g, struct kw_store *store, int64_t run_id, struct kw_error *err);
void kw_agent_free(struct kw_agent *g);         /* NULL is fine */
/* Which run it works for; sums up what that run has spent before. May be left out: then nothing is stored. */
enum kw_status kw_agent_join(struct kw_agent *g, struct kw_store *store, int64_t run_id, const char *mark,
			     struct kw_error *err);
/* Asks count requests at once, each once more where its answer is of no use; turns[] in the order of the requests, strings
 * in the arena. KW_NO: nobody could be asked; *stop of kw_agent_stop says why. A request that a budget cut off has
 * asked false. */
enum kw_status kw_agent_ask(struct kw_agent *g, const struct kw_request *requests, size_t count, struct kw_arena *a,
			    struct kw_turn *turns, struct kw_error *err);
/* The same in parts, so that what was answered can be judged while others are still waited for: begin sends count requests, take
 * waits for the i-th (in their order; once each), end waits for the rest, which are kept all the same. The facts of a request and
 * the candidate that they name as parent must live until it is taken. Where a model works on this machine begin waits for all: it would
 * disturb what is timed. */
struct kw_pending;
enum kw_status kw_agent_begin(struct kw_agent *g, const struct kw_request *requests, size_t count, struct kw_pending **out,
			      struct kw_error *err);
enum kw_status kw_agent_take(struct kw_agent *g, struct kw_pending *p, size_t i, struct kw_arena *a, struct kw_turn *turn,
			     struct kw_error *err);
/* p NULL is fine. over: nobody wants what is not answered yet, so it is closed instead of waited for; else only calls are that a resumed run finds
 * again where they were (a mailbox's). closed: how many were; may be NULL. */
enum kw_status kw_agent_end(struct kw_agent *g, struct kw_pending *p, bool over, size_t *closed, struct kw_error *err);
/* The candidate of a request that was answered by now, and is not taken yet: what may be built before its turn. false: not there, or of no
 * use. Nothing is counted or remembered by it. */
bool kw_agent_peek(struct kw_agent *g, struct kw_pending *p, size_t i, struct kw_arena *a, struct kw_candidate *out);
/* When the run's time is over, of kw_now_ns (0: never): what was not answered then is not waited for. May be told again at any time. */
void kw_agent_until(struct kw_agent *g, int64_t until_ns);
/* Why nobody is asked any more: BUDGET (its time), TOKENS, MONEY, USELESS, INTERRUPTED, or EXHAUSTED (the provider has no more answers). */
enum kw_run_state kw_agent_stop(const struct kw_agent *g);
/* A kernel that needs no further judging: an answer that repeats it is of no use. */
enum kw_status kw_agent_know(struct kw_agent *g, const char *sha256, struct kw_error *err);
const struct kw_agent_sums *kw_agent_sums(const struct kw_agent *g);
int64_t kw_agent_waited_ns(const struct kw_agent *g);          /* how long its owner has waited for models */
const char *kw_agent_model(const struct kw_agent *g);          /* the coder's */
/* Told at each change: who is asked now. */
void kw_agent_watch(struct kw_agent *g, void (*fn)(void *arg, const char *role, bool waiting), void *arg);
bool kw_agent_reviews(const struct kw_agent *g);
int kw_agent_parallel(const struct kw_agent *g);
/* There and back: what a run is started with. */
json_t *kw_agent_opts_json(const struct kw_agent_opts *o);
enum kw_status kw_agent_opts_read(struct kw_agent_opts *o, const json_t *j, struct kw_arena *a, struct kw_error *err);
void kw_agent_opts_default(struct kw_agent_opts *o);

#endif
