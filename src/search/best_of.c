/* Strategy `best_of`: so many answers to one question, all judged; the best is taken (repeated sampling). */
#include "search/write.h"

enum { WIDTH = 4 };

static enum kw_status sample(struct kw_search *s, struct kw_rounds *r, struct kw_error *err)
{
	const struct kw_ranked *parent = s->ranked_count ? &s->ranked[0] : NULL;
	struct kw_request requests[KW_BATCH_MAX];
	const char *what[KW_BATCH_MAX];
	struct kw_prompt_facts facts;
	size_t n = kw_batch_width(s, WIDTH);

	kw_writer_facts(&r->w, parent, &facts);
	for (size_t i = 0; i < n; i++) {
		requests[i] = (struct kw_request){ .role = KW_ROLE_CODER, .facts = &facts, .temperature = kw_batch_temperature(s),
						   .round = s->round + 1 };
		requests[i].slot = kw_arena_printf(s->arena, "r%d/coder/%zu", s->round + 1, i + 1);
		what[i] = kw_arena_printf(s->arena, "sample %zu", i + 1);
		if (!requests[i].slot || !what[i])
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a round");
	}
	return kw_batch_ask(&r->w, requests, what, n, &r->batch, err);
}

static enum kw_status next(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	return kw_rounds_next(s, state, sample, "samples", step, more, err);
}

const struct kw_strategy kw_strategy_best_of = {
	.name = "best_of",
	.title = "several answers to one question, the best of them (--width)",
	.begin = kw_rounds_begin,
	.next = next,
	.told = kw_rounds_told,
	.again = kw_rounds_again,
	.end = kw_rounds_end,
	.rounds = 1,
	.needs_model = true,
};
