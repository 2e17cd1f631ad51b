/* Strategy `best_of`: so many answers to one question, all judged; the best is taken (repeated sampling). */
#include "search/write.h"

enum { WIDTH = 4 };

struct state {
	struct kw_writer w;
	struct kw_batch batch;
	bool began;
	double best_before_ns;
};

static enum kw_status begin(struct kw_search *s, void **state, struct kw_error *err)
{
	struct state *st = kw_arena_calloc(s->arena, 1, sizeof(*st));

	if (!st)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a run");
	*state = st;
	st->began = !s->opts->from;
	return kw_writer_init(&st->w, s, err);
}

static enum kw_status sample(struct kw_search *s, struct state *st, struct kw_error *err)
{
	const struct kw_ranked *parent = s->ranked_count ? &s->ranked[0] : NULL;
	struct kw_request requests[KW_BATCH_MAX];
	const char *what[KW_BATCH_MAX];
	struct kw_prompt_facts facts;
	size_t n = kw_batch_width(s, WIDTH);

	kw_writer_facts(&st->w, parent, &facts);
	for (size_t i = 0; i < n; i++) {
		requests[i] = (struct kw_request){ .role = KW_ROLE_CODER, .facts = &facts, .temperature = kw_batch_temperature(s),
						   .round = s->round + 1 };
		requests[i].slot = kw_arena_printf(s->arena, "r%d/coder/%zu", s->round + 1, i + 1);
		what[i] = kw_arena_printf(s->arena, "sample %zu", i + 1);
		if (!requests[i].slot || !what[i])
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a round");
	}
	return kw_batch_ask(&st->w, requests, what, n, &st->batch, err);
}

static enum kw_status next(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct state *st = state;
	enum kw_status status;

	*more = true;
	st->best_before_ns = s->best_ns;
	if (!st->began) {
		st->began = true;
		*step = (struct kw_step){ .candidate = *s->opts->from, .tune = true, .what = "the kernel that it starts from" };
		return kw_agent_know(s->ports->agent, s->opts->from->sha256, err);
	}
	status = sample(s, st, err);
	if (status == KW_OK)
		status = kw_batch_next(&st->w, &st->batch, step, more, err);
	step->round = kw_arena_printf(s->arena, "%zu samples", st->batch.count);
	return status;
}

static void told(struct kw_search *s, void *state, const struct kw_step *step, const struct kw_ranked *best)
{
	struct state *st = state;

	(void)s;
	kw_writer_note_step(&st->w, step, best, st->best_before_ns);
}

static enum kw_status again(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct state *st = state;

	(void)s;
	/* After the kernel that it starts from there is no batch yet. */
	if (!st->batch.pending) {
		*more = false;
		return KW_OK;
	}
	return kw_batch_next(&st->w, &st->batch, step, more, err);
}

static void end(void *state)
{
	struct state *st = state;

	if (st)
		kw_batch_end(&st->w, &st->batch);
}

const struct kw_strategy kw_strategy_best_of = {
	.name = "best_of",
	.title = "several answers to one question, the best of them (--width)",
	.begin = begin,
	.next = next,
	.told = told,
	.again = again,
	.end = end,
	.rounds = 1,
	.needs_model = true,
};
