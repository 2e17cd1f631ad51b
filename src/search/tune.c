/* Strategy `tune`: the patterns that fit, fastest first, each tuned in a round of its own.
 *
 * Before the first round every proposal is screened at its default point. What is wrong there is out; the rest is tried in
 * the order of these times, so that the stop rules cut off the slow ones and not the good ones. A proposal that is only there for
 * want of others is not looked at where one of them is right. */
#include "search/strategy.h"

#include <stdlib.h>

#include "search/ahead.h"
#include "search/space.h"

/* Tuning seldom gives more than this factor: a pattern further behind the best tuned one is not worth a round. */
static const double hopeless = 4.0;

struct screened {
	const struct kw_proposal *proposal;
	double ns;
};
struct state {
	struct screened *at;
	size_t count, next;
};

static int by_ns(const void *a, const void *b)
{
	const struct screened *p = a, *q = b;

	/* Those without a time (the default does not build) last. */
	if ((p->ns > 0.0) != (q->ns > 0.0))
		return p->ns > 0.0 ? -1 : 1;
	return p->ns < q->ns ? -1 : p->ns > q->ns;
}

/* On the first perf case that it can be judged on: one that does not fit this machine is no reason against a kernel. */
enum kw_status kw_search_screen(struct kw_search *s, const struct kw_candidate *c, struct kw_verdict *v,
				struct kw_outcome *out, struct kw_error *err)
{
	const struct kw_hardware *hw = s->ports->hardware;
	bool large = s->opts->judge.large;
	int at = kw_space_case(c, s->task, hw, large, 0);
	struct kw_judge_opts o;
	enum kw_status status;

	kw_search_judge_opts(s, KW_EFFORT_SCREEN, &o);
	o.time_limit_ns = 50 * 1000000ll;
	for (;; at = kw_space_case(c, s->task, hw, large, at + 1)) {
		const char *label = kw_search_label(s, "screen", at);

		if (!label)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		o.only_case = at;
		status = kw_search_evaluate(s, c, label, &o, v, out, err);
		if (status != KW_OK || out->cls != KW_V_NOT_APPLICABLE || at < 0 ||
		    kw_space_case(c, s->task, hw, large, at + 1) < 0)
			return status;
		kw_verdict_release(v);
		kw_verdict_init(v);
	}
}

static enum kw_status screen(struct kw_search *s, struct state *st, const struct kw_proposal *p, struct kw_error *err)
{
	struct kw_verdict v;
	struct kw_outcome out;
	enum kw_status status;

	kw_verdict_init(&v);
	status = kw_search_screen(s, &p->candidate, &v, &out, err);
	if (status == KW_OK && (out.cls == KW_V_OK || out.cls == KW_V_BUILD_ERROR))
		st->at[st->count++] = (struct screened){ p, out.ns };
	else if (status == KW_OK)
		kw_search_reason(s, "%s: %s%s%s: %s", p->candidate.name, kw_verdict_name(out.cls),
				 out.subclass == KW_S_NONE ? "" : "/", kw_subclass_name(out.subclass), v.summary);
	kw_verdict_release(&v);
	return status;
}

static void build_ahead(struct kw_search *s, const struct kw_proposal *p, size_t count)
{
	const struct kw_candidate **list = kw_arena_calloc(s->arena, count, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; list && i < count; i++)
		if (!p[i].last)
			list[n++] = &p[i].candidate;
	if (list)
		kw_search_build_ahead(s, list, n, -1, "screen");
}

/* One that was right is among those screened. */
static bool has_right_one(const struct state *st)
{
	for (size_t i = 0; i < st->count; i++)
		if (st->at[i].ns > 0.0)
			return true;
	return false;
}

static enum kw_status begin(struct kw_search *s, void **state, struct kw_error *err)
{
	struct kw_proposal *proposals = NULL;
	struct state *st = kw_arena_calloc(s->arena, 1, sizeof(*st));
	const char **reasons = NULL;
	size_t count = 0, reason_count = 0, batch = kw_ahead_batch(s->ports->hardware);
	enum kw_status status;

	status = s->ports->propose(s->ports->arg, s->arena, &proposals, &count, &reasons, &reason_count, err);
	if (status != KW_OK)
		return status;
	for (size_t i = 0; i < reason_count; i++)
		kw_search_reason(s, "%s", reasons[i]);
	if (count == 0) {
		s->stop = KW_RUN_NO_PATTERN;
		return KW_NO;
	}
	if (st)
		st->at = kw_arena_calloc(s->arena, count, sizeof(*st->at));
	if (!st || !st->at)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for %zu proposals", count);
	*state = st;
	s->upcoming = (int)count;
	for (size_t i = 0; i < count && status == KW_OK; i++) {
		if (i % batch == 0)
			build_ahead(s, &proposals[i], count - i < batch ? count - i : batch);
		if (!proposals[i].last || !has_right_one(st))
			status = screen(s, st, &proposals[i], err);
	}
	qsort(st->at, st->count, sizeof(*st->at), by_ns);
	return status;
}

static enum kw_status next(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct state *st = state;

	(void)err;
	while (st->next < st->count) {
		const struct screened *c = &st->at[st->next++];

		if (s->best_ns > 0.0 && c->ns > hopeless * s->best_ns) {
			kw_search_reason(s, "%s: not tuned, its default point takes %.1f times as long as the best",
					 c->proposal->candidate.name, c->ns / s->best_ns);
			continue;
		}
		*step = (struct kw_step){ .candidate = c->proposal->candidate, .tune = true,
					  .what = c->proposal->pattern };
		*more = true;
		return KW_OK;
	}
	*more = false;
	return KW_OK;
}

static int left(const struct kw_search *s, const void *state)
{
	const struct state *st = state;

	(void)s;
	return (int)(st->count - st->next);
}

const struct kw_strategy kw_strategy_tune = {
	.name = "tune",
	.title = "the patterns that fit, each with its parameters searched",
	.begin = begin,
	.next = next,
	.left = left,
};
