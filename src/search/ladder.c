/* Strategy `ladder`: many cheap looks first, few dear ones last.
 *
 * Rung 1 asks for many kernels and gives each a quick look at every perf case. The fastest third goes on to rung 2, where each gets a child,
 * looked at likewise. The fastest few of all are then tuned and judged in full, a round each. */
#include <stdlib.h>

#include "search/write.h"

enum { WIDTH = 8, PROMOTED_PART = 3, FINALISTS = 3, RUNGS_MAX = 2 * KW_BATCH_MAX };

struct climber {
	struct kw_candidate candidate;
	const char *what;
	struct kw_screened p;
	size_t turn;
};
struct state {
	struct kw_writer w;
	struct climber at[RUNGS_MAX];
	size_t count, next;
	bool climbed;
};

static enum kw_status begin(struct kw_search *s, void **state, struct kw_error *err)
{
	struct state *st = kw_arena_calloc(s->arena, 1, sizeof(*st));

	if (!st)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a run");
	*state = st;
	return kw_writer_init(&st->w, s, err);
}

static int by_ns(const void *a, const void *b)
{
	const struct climber *p = a, *q = b;

	if (kw_screened_better(&p->p, &q->p))
		return -1;
	return kw_screened_better(&q->p, &p->p) ? 1 : p->turn < q->turn ? -1 : p->turn > q->turn;
}

/* A quick look; what is right climbs. */
static enum kw_status look(struct kw_search *s, struct state *st, const struct kw_candidate *c, const char *what, struct kw_error *err)
{
	struct kw_screened p;
	struct kw_verdict v;
	struct kw_outcome out;
	enum kw_status status;

	kw_verdict_init(&v);
	status = kw_search_screen(s, c, 0, &v, &out, &p, err);
	if (status == KW_OK && out.cls == KW_V_OK && p.look_count && st->count < RUNGS_MAX) {
		st->at[st->count] = (struct climber){ *c, what, p, st->count };
		st->count++;
	} else if (status == KW_OK && out.cls != KW_V_OK) {
		kw_writer_note(&st->w, "%s: REFUSED, %s: %s", what, kw_verdict_name(out.cls), v.summary);
	}
	kw_verdict_release(&v);
	return status;
}

static enum kw_status look_at_all(struct kw_search *s, struct state *st, struct kw_batch *b, struct kw_error *err)
{
	struct kw_step step;
	bool more = true;
	enum kw_status status = KW_OK;

	while (status == KW_OK && more) {
		status = kw_batch_next(&st->w, b, &step, &more, err);
		if (status == KW_OK && more && !step.idle)
			status = look(s, st, &step.candidate, step.what, err);
	}
	s->failing = status != KW_OK && status != KW_NO;
	kw_batch_end(&st->w, b);
	qsort(st->at, st->count, sizeof(*st->at), by_ns);
	return status;
}

/* parents: how many of the fastest get a child each; 0: fresh ones. */
static enum kw_status rung(struct kw_search *s, struct state *st, int number, size_t parents, size_t count, struct kw_error *err)
{
	struct kw_prompt_facts facts[KW_BATCH_MAX];
	struct kw_request requests[KW_BATCH_MAX];
	struct kw_ranked rows[KW_BATCH_MAX];
	const char *what[KW_BATCH_MAX];
	struct kw_batch *batch = kw_arena_calloc(s->arena, 1, sizeof(*batch));
	enum kw_status status;

	for (size_t i = 0; batch && i < count; i++) {
		rows[i] = (struct kw_ranked){ .candidate = parents ? st->at[i].candidate : (struct kw_candidate){ 0 } };
		kw_writer_facts(&st->w, parents ? &rows[i] : NULL, &facts[i]);
		facts[i].directive = parents ? kw_own_choice : NULL;
		requests[i] = (struct kw_request){ .role = KW_ROLE_CODER, .facts = &facts[i], .temperature = kw_batch_temperature(s),
						   .round = number };
		requests[i].slot = kw_arena_printf(s->arena, "rung%d/coder/%zu", number, i + 1);
		what[i] = parents ? kw_arena_printf(s->arena, "rung %d: child of %s", number, st->at[i].candidate.name)
				  : kw_arena_printf(s->arena, "rung %d: sample %zu", number, i + 1);
		if (!requests[i].slot || !what[i])
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a rung");
	}
	if (!batch)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a rung");
	batch->looks = true;
	status = kw_batch_ask(&st->w, requests, what, count, batch, err);
	return status == KW_OK ? look_at_all(s, st, batch, err) : status;
}

/* A rung that nobody answers any more ends the climb, not the run. */
static enum kw_status climb(struct kw_search *s, struct state *st, struct kw_error *err)
{
	size_t width = kw_batch_width(s, WIDTH), promoted;
	enum kw_status status = KW_OK;

	st->climbed = true;
	if (s->opts->from) {
		status = kw_agent_know(s->ports->agent, s->opts->from->sha256, err);
		if (status == KW_OK)
			status = look(s, st, s->opts->from, "the kernel that it starts from", err);
	}
	if (status == KW_OK)
		status = rung(s, st, 1, 0, width, err);
	promoted = st->count / PROMOTED_PART > 0 ? st->count / PROMOTED_PART : st->count > 0;
	if (status == KW_OK && promoted)
		status = rung(s, st, 2, promoted, promoted, err);
	return status == KW_NO && st->count && s->stop == KW_RUN_EXHAUSTED ? KW_OK : status;
}

static enum kw_status next(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct state *st = state;
	enum kw_status status = st->climbed ? KW_OK : climb(s, st, err);

	*more = status == KW_OK && st->next < st->count && st->next < FINALISTS;
	if (*more) {
		const struct climber *c = &st->at[st->next++];

		*step = (struct kw_step){ .candidate = c->candidate, .what = c->what, .tune = true };
	}
	return status;
}

static int left(const struct kw_search *s, const void *state)
{
	const struct state *st = state;
	size_t n = st->count < FINALISTS ? st->count : FINALISTS;

	(void)s;
	return (int)(n - st->next);
}

const struct kw_strategy kw_strategy_ladder = {
	.name = "ladder",
	.title = "many kernels looked at quickly, the fastest improved, tuned and judged (--width)",
	.begin = begin,
	.next = next,
	.left = left,
	.needs_model = true,
};
