/* Strategy `refine`: one kernel, one change at a time (design 11).
 *
 * The coder writes a kernel; from the first right one on the planner names steps, and each round applies and measures one. What
 * is refused goes back to the last right kernel after one repair by the debugger, in the same round. The engine's rules end
 * it: the goal, two rounds in a row under 5%, five rounds, a budget; three answers of no use in a row. */
#include <string.h>

#include "search/write.h"

enum { ROUNDS = 5, STEP_SHOWN = 120 };

struct state {
	struct kw_writer w;
	bool began;                       /* the kernel to start from was judged */
	bool repaired;                    /* in this round */
	struct kw_candidate refused;      /* to be repaired; source NULL: none */
	const char *objection;            /* of the reviewer, to be answered by the next change */
	char reviewed[KW_SHA256_HEX];     /* hash of the last kernel that was reviewed */
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

static const char *slot(const struct kw_search *s, int round, const char *role)
{
	return kw_arena_printf(s->arena, "r%d/%s", round, role);
}

/* What the coder is to do now; *over: the planner sees nothing left. */
static enum kw_status directive(struct kw_search *s, struct state *st, const struct kw_ranked *parent, const char **out, bool *over,
				struct kw_error *err)
{
	const char *why = NULL, *at = slot(s, s->round + 1, "planner");
	enum kw_status status;

	*out = NULL;
	*over = false;
	if (!parent)
		return KW_OK;
	if (st->objection) {
		*out = kw_arena_printf(s->arena, "A reviewer objects: %s", st->objection);
		st->objection = NULL;
		return *out ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a step");
	}
	if (!at)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a step");
	status = kw_writer_directive(&st->w, parent, at, out, &why, err);
	if (status == KW_OK && why) {
		kw_search_reason(s, "the planner sees nothing left to gain: %s", why);
		*over = true;
	}
	return status;
}

static enum kw_status ask_coder(struct kw_search *s, struct state *st, const struct kw_ranked *parent, const char *what,
				struct kw_step *step, struct kw_error *err)
{
	struct kw_prompt_facts facts;
	struct kw_request r = { .role = KW_ROLE_CODER, .slot = slot(s, s->round + 1, "coder"), .facts = &facts, .temperature = -1,
				.round = s->round + 1 };
	struct kw_turn turn;
	enum kw_status status;

	kw_writer_facts(&st->w, parent, &facts);
	facts.directive = what;
	status = r.slot ? kw_search_ask(s, &r, &turn, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a step");
	if (status != KW_OK)
		return status;
	return kw_writer_step(&st->w, &turn, &facts, what ? kw_writer_line(&st->w, what, STEP_SHOWN) : "a first kernel", step, err);
}

static enum kw_status next(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct state *st = state;
	const struct kw_ranked *parent = s->ranked_count ? &s->ranked[0] : NULL;
	const char *what;
	bool over;
	enum kw_status status;

	st->repaired = false;
	st->best_before_ns = s->best_ns;
	*more = true;
	if (!st->began) {
		st->began = true;
		*step = (struct kw_step){ .candidate = *s->opts->from, .tune = true, .what = "the kernel that it starts from" };
		return kw_agent_know(s->ports->agent, s->opts->from->sha256, err);
	}
	status = directive(s, st, parent, &what, &over, err);
	if (status == KW_OK && over) {
		*more = false;
		return KW_OK;
	}
	return status == KW_OK ? ask_coder(s, st, parent, what, step, err) : status;
}

static void told(struct kw_search *s, void *state, const struct kw_step *step, const struct kw_ranked *best)
{
	struct state *st = state;

	kw_writer_note_step(&st->w, step, best, st->best_before_ns);
	st->refused = (struct kw_candidate){ 0 };
	if (!step->idle && !best && strcmp(s->refusal.candidate_sha, step->candidate.sha256) == 0)
		st->refused = step->candidate;
}

static enum kw_status repair(struct kw_search *s, struct state *st, struct kw_step *step, bool *more, struct kw_error *err)
{
	const struct kw_ranked *parent = s->ranked_count ? &s->ranked[0] : NULL;
	struct kw_prompt_facts facts;
	struct kw_request r = { .role = KW_ROLE_DEBUGGER, .slot = slot(s, s->round, "debugger"), .facts = &facts, .temperature = -1,
				.round = s->round };
	struct kw_turn turn;
	enum kw_status status;

	st->repaired = true;
	kw_writer_facts(&st->w, parent, &facts);
	facts.failed_source = st->refused.source;
	facts.failure = kw_writer_failure(&st->w, st->refused.sha256);
	if (!r.slot || !facts.failure)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a step");
	status = kw_search_ask(s, &r, &turn, err);
	*more = status == KW_OK && turn.asked;
	return status != KW_OK ? status : turn.asked ? kw_writer_step(&st->w, &turn, &facts, "the repair", step, err) : KW_OK;
}

/* Whether the reviewer has something against a new best. */
static enum kw_status review(struct kw_search *s, struct state *st, struct kw_error *err)
{
	const struct kw_ranked *best = &s->ranked[0];
	const char *at = slot(s, s->round, "reviewer");
	enum kw_status status;

	memcpy(st->reviewed, best->candidate.sha256, sizeof(st->reviewed));
	if (!at)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a review");
	status = kw_writer_review(&st->w, best, at, &st->objection, err);
	if (status == KW_OK && st->objection) {
		kw_search_reason(s, "the reviewer objects to %s: %s", best->candidate.name, st->objection);
		kw_writer_note(&st->w, "round %d: the reviewer objected: %s", s->round, st->objection);
	}
	return status;
}

static enum kw_status again(struct kw_search *s, void *state, struct kw_step *step, bool *more, struct kw_error *err)
{
	struct state *st = state;

	*more = false;
	if (st->refused.source && !st->repaired)
		return repair(s, st, step, more, err);
	if (kw_agent_reviews(s->ports->agent) && s->ranked_count &&
	    strcmp(st->reviewed, s->ranked[0].candidate.sha256) != 0)
		return review(s, st, err);
	return KW_OK;
}

static int left(const struct kw_search *s, const void *state)
{
	int most = s->opts->budget.max_rounds ? s->opts->budget.max_rounds : ROUNDS;

	(void)state;
	return most > s->round ? most - s->round : 0;
}

const struct kw_strategy kw_strategy_refine = {
	.name = "refine",
	.title = "a model improves one kernel, one measured change at a time",
	.begin = begin,
	.next = next,
	.told = told,
	.again = again,
	.left = left,
	.rounds = ROUNDS,
	.needs_model = true,
};
