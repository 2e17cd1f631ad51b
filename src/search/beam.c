/* Strategy `beam`: the best few kernels, each with several children a round; the best few of all go on. */
#include <string.h>

#include "search/write.h"

enum { WIDTH = 3, CHILDREN = 2, ROUNDS = 4 };

/* Children of one parent are sent different ways. */
static const char *const ways[CHILDREN] = {
	kw_own_choice,
	"Try another structure than the kernel above has, one that moves fewer bytes or waits less, and name it in a comment at the top.",
};

/* The best points of different candidates. */
static size_t parents(const struct kw_search *s, size_t most, struct kw_ranked *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s->ranked_count && n < most; i++) {
		bool known = false;

		for (size_t k = 0; k < n && !known; k++)
			known = strcmp(out[k].candidate.sha256, s->ranked[i].candidate.sha256) == 0;
		if (!known)
			out[n++] = s->ranked[i];
	}
	return n;
}

static enum kw_status ask(struct kw_search *s, struct kw_rounds *r, struct kw_error *err)
{
	struct kw_ranked from[KW_BATCH_MAX];
	struct kw_prompt_facts facts[KW_BATCH_MAX];
	struct kw_request requests[KW_BATCH_MAX];
	const char *what[KW_BATCH_MAX];
	size_t most = kw_batch_width(s, WIDTH), n = parents(s, most, from), count = 0;
	size_t lines = n ? n : most; /* nothing right yet: so many fresh beginnings */

	for (size_t i = 0; i < lines; i++)
		for (size_t k = 0; k < (n ? CHILDREN : 1) && count < KW_BATCH_MAX; k++, count++) {
			kw_writer_facts(&r->w, n ? &from[i] : NULL, &facts[count]);
			facts[count].directive = n ? ways[k] : NULL;
			requests[count] = (struct kw_request){ .role = KW_ROLE_CODER, .facts = &facts[count],
							       .temperature = kw_batch_temperature(s), .round = s->round + 1 };
			requests[count].slot = kw_arena_printf(s->arena, "r%d/coder/%zu.%zu", s->round + 1, i + 1, k + 1);
			what[count] = n ? kw_arena_printf(s->arena, "child %zu of %s", k + 1, from[i].candidate.name)
					: kw_arena_printf(s->arena, "beginning %zu", i + 1);
			if (!requests[count].slot || !what[count])
				return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a round");
		}
	return kw_batch_ask(&r->w, requests, what, count, &r->batch, err);
}

static enum kw_status next(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	return kw_rounds_next(s, state, ask, "kernels", step, more, err);
}

const struct kw_strategy kw_strategy_beam = {
	.name = "beam",
	.title = "the best few kernels, each with children; the best go on (--width)",
	.begin = kw_rounds_begin,
	.next = next,
	.told = kw_rounds_told,
	.again = kw_rounds_again,
	.end = kw_rounds_end,
	.rounds = ROUNDS,
	.needs_model = true,
};
