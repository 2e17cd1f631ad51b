/* strategy.h - what to try next (design 11). One strategy is one file and one row of strategies.def.
 *
 * The engine owns the loop: it asks for a step, screens, tunes and judges its candidate, stores every verdict, and only
 * then tells the strategy how it went. A strategy never judges in secret: what it wants to know before its first step it
 * asks through kw_search_evaluate, which stores too. So a run can be killed at any moment and resumed: a strategy that
 * proposes the same steps for the same outcomes finds its own past in the store. It must not depend on the clock.
 *
 * Thread rule: one run, one thread. Everything that a step points to lives in the run's arena (s->arena). */
#ifndef KW_SEARCH_STRATEGY_H
#define KW_SEARCH_STRATEGY_H

#include "core/finding.h"
#include "search/engine.h"

struct kw_step {
	struct kw_candidate candidate;
	const char *what;                 /* what this step tries, in one line: the pattern, the directive */
	const char *round;                /* of a round with several steps, in one line; NULL: what */
	bool tune;                        /* search its tune space (else only the point it carries) */
	bool final;                       /* not tuned: what is handed over if it is right, so that it is judged once, by the final check */
	const struct kw_finding *applied; /* the finding whose directive the answer says that it follows; NULL: none */
	const char *of_case;              /* of the parent, with applied: the case that the finding is about, and its time; NULL: all, their mean */
	double before_ns;
	double predicted;                 /* what is expected of the time, as a share of the best before; 0: nothing was said */
	bool idle;                        /* nothing came of this round: there is no candidate, `what` says why */
};
enum { KW_PATIENT = 4 };
struct kw_strategy {
	const char *name, *title;         /* title: one line for --help */
	/* Required. Once, before the first step. *state is the strategy's own (in s->arena or heap). Returns KW_NO with
	 * s->stop set when there is nothing to do (no pattern, no right candidate). */
	enum kw_status (*begin)(struct kw_search *s, void **state, struct kw_error *err);
	/* Required. Fills the next step and *more; *more false: nothing is left. KW_NO: s->stop says why to stop. */
	enum kw_status (*next)(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err);
	/* Optional. After the step's verdicts are stored; best is NULL when no point of it was right. */
	void (*told)(struct kw_search *s, void *state, const struct kw_step *step, const struct kw_ranked *best);
	/* Optional. After told: one more step within the same round, as a repair is. */
	enum kw_status (*again)(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err);
	/* Optional. Releases what is not in the arena. */
	void (*end)(void *state);
	/* Optional. How many steps are likely to come (for the time left); -1: unknown. */
	int (*left)(const struct kw_search *s, const void *state);
	int rounds;                       /* at most, where the user does not say; 0: as many as it has steps */
	int patience;                     /* rounds in a row that gain under 5% and end it; 0: two (design 11), KW_PATIENT: its end says four */
	bool needs_model;
	bool rounds_are_of_parts;         /* the user's limit is passed on to other searches, and is none of its own rounds */
};
/* NULL when unknown. */
const struct kw_strategy *kw_strategy_find(const char *name);
const struct kw_strategy *const *kw_strategy_all(size_t *count);

#endif
