/* Strategy `tune`: the patterns that fit, fastest first, each tuned in a round of its own.
 *
 * Before the first round every proposal is screened at its default point, on every perf case unless it is far behind on the first. What is
 * wrong there is out; the rest is tried in the order of these times, so that the stop rules cut off the slow ones and not the good ones. A
 * proposal that is only there for want of others is not looked at where one of them is right. */
#include "search/strategy.h"

#include <stdlib.h>

#include "search/ahead.h"
#include "search/space.h"

/* Tuning seldom gives more than this factor: a pattern further behind the best tuned one is not worth a round. */
static const double hopeless = 4.0;

struct screened {
	const struct kw_proposal *proposal;
	struct kw_screened p;             /* no look: the default does not build */
	size_t turn;
};
struct state {
	struct screened *at;
	size_t count, next;
	double fastest_ns;                /* on the first case */
};

/* Those without a time last. */
static int by_ns(const void *a, const void *b)
{
	const struct screened *p = a, *q = b;

	if (kw_screened_better(&p->p, &q->p))
		return -1;
	return kw_screened_better(&q->p, &p->p) ? 1 : p->turn < q->turn ? -1 : p->turn > q->turn;
}

static enum kw_status look(struct kw_search *s, const struct kw_candidate *c, int at, struct kw_verdict *v, struct kw_outcome *out,
			   struct kw_screened *p, struct kw_error *err)
{
	const char *label = kw_search_label(s, "screen", at), *case_label = NULL;
	struct kw_judge_opts o;
	enum kw_status status;

	if (!label)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_verdict_release(v);
	kw_verdict_init(v);
	kw_search_judge_opts(s, KW_EFFORT_SCREEN, &o);
	o.time_limit_ns = 50 * 1000000ll;
	o.only_case = at;
	status = kw_search_evaluate(s, c, label, &o, v, out, err);
	if (status != KW_OK || out->cls != KW_V_OK || !(out->ns > 0.0))
		return status;
	for (size_t i = 0; i < v->case_count && !case_label; i++)
		if (v->cases[i].has_times)
			case_label = kw_arena_strdup(s->arena, v->cases[i].label);
	return case_label ? kw_screened_add(p, at > 0 ? at : 0, case_label, out->ns, s->arena, err)
			  : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a look");
}

/* A case that does not fit this machine is no reason against a kernel. */
enum kw_status kw_search_screen(struct kw_search *s, const struct kw_candidate *c, double limit_ns, struct kw_verdict *v,
				struct kw_outcome *out, struct kw_screened *p, struct kw_error *err)
{
	const struct kw_hardware *hw = s->ports->hardware;
	int at = kw_space_case(c, s->task, hw, s->opts->judge.large, 0);
	bool right = false;
	enum kw_status status;

	*p = (struct kw_screened){ .candidate = *c };
	do {
		status = look(s, c, at, v, out, p, err);
		right = right || (status == KW_OK && out->cls == KW_V_OK);
		at = at < 0 ? at : kw_space_case(c, s->task, hw, s->opts->judge.large, at + 1);
	} while (status == KW_OK && at >= 0 && (out->cls == KW_V_OK || out->cls == KW_V_NOT_APPLICABLE) &&
		 (limit_ns <= 0.0 || p->ns <= limit_ns));
	if (status == KW_OK && right && out->cls == KW_V_NOT_APPLICABLE)
		out->cls = KW_V_OK;
	return status;
}

static enum kw_status screen(struct kw_search *s, struct state *st, const struct kw_proposal *p, struct kw_error *err)
{
	struct kw_screened looks;
	struct kw_verdict v;
	struct kw_outcome out;
	enum kw_status status;

	kw_verdict_init(&v);
	status = kw_search_screen(s, &p->candidate, hopeless * st->fastest_ns, &v, &out, &looks, err);
	if (status == KW_OK && (out.cls == KW_V_OK || out.cls == KW_V_BUILD_ERROR)) {
		looks.look_count = out.cls == KW_V_OK ? looks.look_count : 0;
		st->at[st->count] = (struct screened){ p, looks, st->count };
		st->count++;
		if (looks.look_count && (st->fastest_ns == 0.0 || looks.looks[0].ns < st->fastest_ns))
			st->fastest_ns = looks.looks[0].ns;
	}
	if (status == KW_OK && out.cls != KW_V_OK && out.cls != KW_V_BUILD_ERROR)
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
		if (st->at[i].p.look_count)
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
		double share = s->ranked_count ? kw_screened_share(&c->p, s->ranked[0].verdict) : 0.0;

		if (share > hopeless) {
			kw_search_reason(s, "%s: not tuned, its default point takes %.1f times as long as the best",
					 c->proposal->candidate.name, share);
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
