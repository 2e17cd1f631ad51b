/* Strategy `evolve`: islands, each with a grid of niches (MAP-Elites, Mouret and Clune 2015).
 *
 * A generation gives every island a child: of the best kernel of one of its niches, drawn by chance from a seed that is the run's
 * own, so that a resumed run draws the same. A right child takes the place of its niche when it is faster. Every third
 * generation the best of each island moves to the next one. A child that differs from an earlier kernel by blanks and comments
 * only is not judged. */
#include <string.h>

#include "base/hash.h"
#include "search/niche.h"
#include "search/write.h"

enum { ISLANDS = 3, GENERATIONS = 12, MIGRATION = 3, SHAPES_MAX = 4096 };

struct elite {
	bool taken;
	struct kw_candidate candidate;    /* tune_values set */
	double ns;
};
struct state {
	struct kw_rounds r;               /* a generation is a round */
	size_t islands, at;               /* at: the island of the step that is judged now */
	struct elite grid[KW_BATCH_MAX][KW_NICHES];
	char (*shapes)[KW_SHA256_HEX];
	size_t shape_count;
	uint64_t seed;
};

static enum kw_status begin(struct kw_search *s, void **state, struct kw_error *err)
{
	struct state *st = kw_arena_calloc(s->arena, 1, sizeof(*st));

	if (st)
		st->shapes = kw_arena_calloc(s->arena, SHAPES_MAX, sizeof(*st->shapes));
	if (!st || !st->shapes)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a run");
	*state = st;
	st->islands = kw_batch_width(s, ISLANDS);
	st->seed = s->opts->judge.seed ^ 0x6b77ull;
	return kw_rounds_init(&st->r, s, err);
}

static bool new_shape(struct state *st, const char *source)
{
	char sha[KW_SHA256_HEX];

	kw_niche_shape(source, sha);
	for (size_t i = 0; i < st->shape_count; i++)
		if (strcmp(st->shapes[i], sha) == 0)
			return false;
	if (st->shape_count < SHAPES_MAX)
		memcpy(st->shapes[st->shape_count++], sha, sizeof(sha));
	return true;
}

/* One of an island's elites; NULL: it has none. */
static const struct elite *choose(struct state *st, size_t island)
{
	size_t taken[KW_NICHES], n = 0;

	for (size_t i = 0; i < KW_NICHES; i++)
		if (st->grid[island][i].taken)
			taken[n++] = i;
	return n ? &st->grid[island][taken[kw_next_u64(&st->seed) % n]] : NULL;
}

/* The niche of an island's fastest; KW_NICHES: it has none. */
static int best_niche(const struct state *st, size_t island)
{
	int best = KW_NICHES;

	for (int i = 0; i < KW_NICHES; i++) {
		const struct elite *e = &st->grid[island][i];

		if (e->taken && (best == KW_NICHES || e->ns < st->grid[island][best].ns))
			best = i;
	}
	return best;
}

static void settle(struct state *st, size_t island, int niche, const struct elite *one)
{
	struct elite *e = &st->grid[island][niche];

	if (!e->taken || one->ns < e->ns)
		*e = *one;
}

/* With its verdict, where the ranking still has it. */
static struct kw_ranked row_of(const struct kw_search *s, const struct elite *e)
{
	for (size_t i = 0; i < s->ranked_count; i++)
		if (strcmp(s->ranked[i].candidate.sha256, e->candidate.sha256) == 0)
			return s->ranked[i];
	return (struct kw_ranked){ .candidate = e->candidate };
}

static void migrate(struct state *st)
{
	struct elite moving[KW_BATCH_MAX];
	int niche[KW_BATCH_MAX];

	for (size_t i = 0; i < st->islands; i++) {
		niche[i] = best_niche(st, i);
		moving[i] = niche[i] < KW_NICHES ? st->grid[i][niche[i]] : (struct elite){ .taken = false };
	}
	for (size_t i = 0; i < st->islands; i++)
		if (moving[i].taken)
			settle(st, (i + 1) % st->islands, niche[i], &moving[i]);
}

/* What a child is asked to do: fill a niche that nobody has, or improve its parent's. */
static const char *errand(struct state *st, struct kw_arena *a, const struct elite *parent)
{
	int niche = (int)(kw_next_u64(&st->seed) % KW_NICHES);
	bool empty = true;

	for (size_t i = 0; i < st->islands && empty; i++)
		empty = !st->grid[i][niche].taken;
	if (!parent)
		return NULL;
	if (empty && kw_next_u64(&st->seed) % 2)
		return kw_arena_printf(a, "Try a kernel of another kind than this one: %s. Name what is different in a comment at the top.",
				       kw_niche_text(niche, a));
	return kw_own_choice;
}

static enum kw_status ask(struct kw_search *s, struct kw_rounds *r, struct kw_error *err)
{
	struct state *st = (struct state *)r; /* its first member */
	struct kw_prompt_facts facts[KW_BATCH_MAX];
	struct kw_request requests[KW_BATCH_MAX];
	const char *what[KW_BATCH_MAX];
	struct kw_ranked rows[KW_BATCH_MAX];

	for (size_t i = 0; i < st->islands; i++) {
		const struct elite *parent = choose(st, i);

		if (parent)
			rows[i] = row_of(s, parent);
		kw_writer_facts(&r->w, parent ? &rows[i] : NULL, &facts[i]);
		facts[i].directive = errand(st, s->arena, parent);
		requests[i] = (struct kw_request){ .role = KW_ROLE_CODER, .facts = &facts[i], .temperature = kw_batch_temperature(s),
						   .round = s->round + 1 };
		requests[i].slot = kw_arena_printf(s->arena, "r%d/coder/i%zu", s->round + 1, i + 1);
		what[i] = kw_arena_printf(s->arena, "island %zu: child of %s", i + 1, parent ? parent->candidate.name : "nobody");
		if (!requests[i].slot || !what[i])
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a generation");
	}
	return kw_batch_ask(&r->w, requests, what, st->islands, &r->batch, err);
}

/* A child that is an earlier kernel in other clothes is not judged. */
static void receive(struct kw_search *s, struct state *st, struct kw_step *step)
{
	st->at = st->r.batch.next ? st->r.batch.next - 1 : 0;
	if (!step->idle && !new_shape(st, step->candidate.source)) {
		const char *why = kw_arena_printf(s->arena, "%s: an earlier kernel but for blanks and comments", step->what);

		*step = (struct kw_step){ .idle = true, .what = why ? why : step->what, .round = step->round };
	}
}

static enum kw_status next(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct state *st = state;
	enum kw_status status;

	if (s->round && s->round % MIGRATION == 0)
		migrate(st);
	status = kw_rounds_next(s, &st->r, ask, "islands' children", step, more, err);
	if (status == KW_OK && *more)
		receive(s, st, step);
	return status;
}

static void told(struct kw_search *s, void *state, const struct kw_step *step, const struct kw_ranked *best)
{
	struct state *st = state;

	kw_rounds_told(s, &st->r, step, best);
	if (best)
		settle(st, st->at < st->islands ? st->at : 0, kw_niche_of(&best->candidate, best->verdict),
		       &(struct elite){ true, best->candidate, best->ns });
}

static enum kw_status again(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct state *st = state;
	enum kw_status status = kw_rounds_again(s, &st->r, step, more, err);

	if (status == KW_OK && *more)
		receive(s, st, step);
	return status;
}

const struct kw_strategy kw_strategy_evolve = {
	.name = "evolve",
	.title = "islands of kernels with niches; the best migrate (--width: islands)",
	.begin = begin,
	.next = next,
	.told = told,
	.again = again,
	.end = kw_rounds_end, /* of the first member */
	.rounds = GENERATIONS,
	.patience = KW_PATIENT,
	.needs_model = true,
};
