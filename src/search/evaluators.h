/* evaluators.h - several judges of one kind of device, each with a thread of its own.
 *
 *     kw_evaluators_new("nvidia", 0, &ev, err);        // as many as there are devices
 *     kw_evaluators_judge(ev, task, expr, c, &o, &v, err);   // by any thread: waits for a free one, and for the verdict
 *     kw_evaluators_free(ev);
 *
 * A judge's players end with the thread that started them, so a judge stays with its thread. Who is judged where is chance; a verdict
 * does not depend on it, and what a search makes of its verdicts must not depend on their order of arrival. */
#ifndef KW_SEARCH_EVALUATORS_H
#define KW_SEARCH_EVALUATORS_H

#include "judge/judge.h"

enum { KW_EVALUATORS_MAX = 64 };
struct kw_evaluators;
/* count 0: one for each device of the kind. Some kinds have one device, which several evaluators share; their times disturb each
 * other then. */
enum kw_status kw_evaluators_new(const char *device, int count, struct kw_evaluators **out, struct kw_error *err);
/* Somebody else's judge, which is called by the thread that asks: only one may. It counts as none. */
enum kw_status kw_evaluators_borrow(struct kw_judge *j, struct kw_evaluators **out, struct kw_error *err);
void kw_evaluators_free(struct kw_evaluators *ev);   /* NULL is fine; waits for what is being judged */
int kw_evaluators_count(const struct kw_evaluators *ev);
const struct kw_hardware *kw_evaluators_hardware(const struct kw_evaluators *ev);
/* For prompts (kw_device_told). Before the first judgement: it may measure. */
void kw_evaluators_told(const struct kw_evaluators *ev, struct kw_hardware *out);
enum kw_status kw_evaluators_judge(struct kw_evaluators *ev, const struct kw_task *t, const struct kw_expr *e,
				   const struct kw_candidate *c, const struct kw_judge_opts *o, struct kw_verdict *v,
				   struct kw_error *err);
/* The same in two steps, so that several are judged at once by one thread's wish: begin copies the candidate's tune point and the options,
 * take waits and fills v (initialised), drop throws the verdict away. Task, expression and what a candidate points to must live until
 * then. NULL: out of memory, or a borrowed judge, which has no thread of its own. */
struct kw_judging;
struct kw_judging *kw_evaluators_begin(struct kw_evaluators *ev, const struct kw_task *t, const struct kw_expr *e,
				       const struct kw_candidate *c, const struct kw_judge_opts *o);
/* Whether it is about this candidate at its tune point, at this effort and case. */
bool kw_judging_is(const struct kw_judging *j, const struct kw_candidate *c, const struct kw_judge_opts *o);
bool kw_judging_of(const struct kw_judging *j, const char *candidate_sha);
enum kw_status kw_evaluators_take(struct kw_evaluators *ev, struct kw_judging *j, struct kw_verdict *v, struct kw_error *err);
void kw_evaluators_drop(struct kw_evaluators *ev, struct kw_judging *j);
/* Nothing is judged while fn runs, where the device is the machine that it runs on. */
void kw_evaluators_while_idle(struct kw_evaluators *ev, void (*fn)(void *arg), void *arg);

#endif
