/* Hand-over: the final check of the best, and the dispatch list that ends in the baseline.
 *
 * A budget that ran out in the middle of a round leaves points that were only screened. The best of them is proven first if
 * it is ahead of everything that was judged in full; then it stands in the ranking like the others. */
#include "search/engine.h"

#include <string.h>

#include "base/alloc.h"

/* PROOFS_OF_ONE_MAX: of one candidate's points, so that there are proofs left for others. */
enum { LIST_MAX = 16, TEXT_MAX = 1 << 16, PROOFS_MAX = 4, PROOFS_OF_ONE_MAX = 3 };

struct handed {
	const struct kw_ranked *row;
};

static bool serves(const struct kw_verdict *v, const char *label)
{
	for (size_t i = 0; i < v->case_count; i++)
		if (v->cases[i].verdict == KW_V_OK && v->cases[i].label && strcmp(v->cases[i].label, label) == 0)
			return true;
	return false;
}

/* Whether a candidate serves a case of the task that none of those handed over serves. */
static bool adds_a_case(const struct kw_search *s, const struct kw_verdict *v, const struct handed *h, size_t count)
{
	for (size_t i = 0; i < s->task->case_count; i++) {
		const char *label = s->task->cases[i].label;
		bool served = false;

		for (size_t k = 0; k < count && !served; k++)
			served = serves(h[k].row->verdict, label);
		if (!served && serves(v, label))
			return true;
	}
	return false;
}

static const char *proven_cases(struct kw_search *s, const struct kw_verdict *v)
{
	struct kw_buf b;
	const char *text;

	kw_buf_init(&b, TEXT_MAX);
	for (size_t i = 0; i < v->case_count; i++)
		if (v->cases[i].verdict == KW_V_OK && v->cases[i].label)
			kw_buf_printf(&b, "%s%s", b.len ? "; " : "", v->cases[i].label);
	text = kw_arena_strndup(s->arena, b.ptr ? b.ptr : "", b.len);
	kw_buf_release(&b);
	return text;
}

/* All require lines of a plan as one expression; "" when it has none. */
static const char *require_text(struct kw_search *s, const struct kw_plan *p)
{
	struct kw_buf b;
	const char *text;

	kw_buf_init(&b, TEXT_MAX);
	for (size_t i = 0; i < p->require_count; i++) {
		const char *one = kw_intexpr_text(p->requires[i]);

		kw_buf_printf(&b, p->require_count > 1 ? "%s(%s)" : "%s%s", i ? " && " : "", one);
	}
	text = kw_arena_strndup(s->arena, b.ptr ? b.ptr : "", b.len);
	kw_buf_release(&b);
	return text;
}

/* FINAL on one row. passed: handed over; its verdict then replaces the row's. */
static enum kw_status final_check(struct kw_search *s, struct kw_ranked *row, bool *passed, struct kw_error *err)
{
	struct kw_verdict *v = kw_alloc(sizeof(*v));
	struct kw_judge_opts o;
	struct kw_outcome out;
	enum kw_status status;

	*passed = false;
	if (!v)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a verdict");
	kw_verdict_init(v);
	kw_search_judge_opts(s, KW_EFFORT_FINAL, &o);
	status = kw_search_evaluate(s, &row->candidate, "final", &o, v, &out, err);
	if (status == KW_OK && out.cls == KW_V_OK) {
		if (row->verdict)
			kw_verdict_release(row->verdict);
		kw_free(row->verdict);
		row->verdict = v;
		row->ns = out.ns;
		row->speedup = out.speedup;
		row->sol = out.sol;
		*passed = true;
		return KW_OK;
	}
	if (status == KW_OK) {
		row->refused = true;
		kw_search_reason(s, "%s%s%s: refused by the final check: %s%s%s: %s", row->candidate.name,
				 *row->tune ? " " : "", row->tune, kw_verdict_name(out.cls),
				 out.subclass == KW_S_NONE ? "" : "/", kw_subclass_name(out.subclass), v->summary);
	}
	kw_verdict_release(v);
	kw_free(v);
	return status;
}

/* Whether a screened point looks better than the best of what was judged in full: it serves more cases, or is faster on those that both were
 * timed on. What was looked at on some of its cases only may lose to that one yet, once it is proven on all. */
static bool ahead(const struct kw_search *s, const struct kw_screened *p)
{
	double share;

	for (size_t i = 0; i < s->ranked_count; i++)
		if (!s->ranked[i].refused) {
			share = kw_screened_share(p, s->ranked[i].verdict);
			return p->look_count > (size_t)s->ranked[i].covered || (share > 0.0 && share < 1.0);
		}
	return true;
}

struct proofs {
	int left;
	char of[PROOFS_MAX][KW_SHA256_HEX]; /* whose points were checked */
	size_t count;
};

static void note_proof(struct kw_search *s, struct proofs *p, const char *sha)
{
	int n = 1;

	p->left--;
	for (size_t i = 0; i < p->count; i++)
		n += strcmp(p->of[i], sha) == 0;
	if (p->count < PROOFS_MAX)
		snprintf(p->of[p->count++], KW_SHA256_HEX, "%s", sha);
	if (n == PROOFS_OF_ONE_MAX)
		kw_search_forget_screened(s, sha);
}

/* The final check of the best screened point, of the next where it is refused; the first to pass gets into the ranking. */
static enum kw_status prove_screened(struct kw_search *s, struct proofs *proofs, struct kw_error *err)
{
	enum kw_status status = KW_OK;
	bool passed = false;

	/* A refused point leaves the list (kw_search_note_screened), and so does one that passed. */
	while (s->screened_count && proofs->left > 0 && !passed && status == KW_OK) {
		const struct kw_screened *p = kw_search_first_screened(s);
		struct kw_ranked row = { .candidate = p->candidate, .tune = p->tune };

		if (!ahead(s, p))
			break;
		status = final_check(s, &row, &passed, err);
		note_proof(s, proofs, row.candidate.sha256);
		if (passed)
			kw_search_rank(s, &row.candidate, row.tune, row.verdict);
	}
	return status;
}

/* The ranking, best first: what passes the final check and serves a case that nothing before it serves. */
static enum kw_status prove_ranked(struct kw_search *s, struct handed *handed, size_t *count, struct kw_error *err)
{
	enum kw_status status = KW_OK;
	bool passed;

	for (size_t i = 0; i < s->ranked_count && *count < LIST_MAX && status == KW_OK; i++) {
		struct kw_ranked *row = &s->ranked[i];

		if (row->refused || (*count > 0 && !adds_a_case(s, row->verdict, handed, *count)))
			continue;
		status = final_check(s, row, &passed, err);
		if (status == KW_OK && passed)
			handed[(*count)++] = (struct handed){ .row = row };
	}
	return status;
}

static enum kw_status make_list(struct kw_search *s, const struct handed *h, size_t count, struct kw_result_list *l,
				struct kw_error *err)
{
	l->entries = kw_arena_calloc(s->arena, count + 1, sizeof(*l->entries));
	if (!l->entries)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the result");
	for (size_t i = 0; i < count; i++) {
		l->entries[i] = (struct kw_result_entry){
			.require = require_text(s, &h[i].row->candidate.plan),
			.candidate_sha = kw_arena_strdup(s->arena, h[i].row->candidate.sha256),
			.tune = h[i].row->tune,
			.cases = h[i].row->verdict ? proven_cases(s, h[i].row->verdict) : "",
		};
		if (!l->entries[i].require || !l->entries[i].candidate_sha || !l->entries[i].cases)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the result");
	}
	l->entries[count] = (struct kw_result_entry){ .require = "", .candidate_sha = "", .tune = "", .cases = "" };
	l->count = count + 1;
	return KW_OK;
}

static void none_right(struct kw_search *s)
{
	const struct kw_agent *g = s->ports->agent;

	if (g && s->stop == KW_RUN_EXHAUSTED && kw_agent_sums(g)->calls + kw_agent_sums(g)->recalled == 0)
		kw_search_reason(s, "%s has no answer to any call of this strategy; in a recording an answer with a slot answers that call only, one without "
				 "any of its role", kw_agent_model(g));
	if (s->stop == KW_RUN_EXHAUSTED || s->stop == KW_RUN_CONVERGED || s->stop == KW_RUN_FLAT || s->stop == KW_RUN_GOAL)
		s->stop = KW_RUN_NO_CORRECT;
}

/* The result owns its best: candidate strings are in its arena already, the verdict moves. */
static void hand_best(struct kw_search *s, struct kw_ranked *row, struct kw_search_result *out)
{
	kw_verdict_release(&out->verdict);
	out->verdict = *row->verdict;
	kw_verdict_init(row->verdict);
	out->best = row->candidate;
	out->has_best = true;
	s->best_ns = row->ns;
	s->best_speedup = row->speedup;
}

/* Of a part: what was judged in full, else what was only screened. The final check is the whole's. */
static enum kw_status finish_part(struct kw_search *s, struct kw_search_result *out, struct kw_error *err)
{
	struct kw_ranked screened;
	struct handed best = { 0 };
	enum kw_status status;

	if (s->ranked_count) {
		best.row = &s->ranked[0];
	} else if (s->screened_count) {
		const struct kw_screened *p = kw_search_first_screened(s);

		screened = (struct kw_ranked){ .candidate = p->candidate, .tune = p->tune };
		best.row = &screened;
	} else {
		none_right(s);
	}
	status = make_list(s, &best, best.row != NULL, &out->list, err);
	if (status == KW_OK && s->ranked_count)
		hand_best(s, &s->ranked[0], out);
	return status;
}

enum kw_status kw_search_finish(struct kw_search *s, struct kw_search_result *out, struct kw_error *err)
{
	struct handed handed[LIST_MAX];
	size_t count = 0;
	struct proofs proofs = { .left = s->stop == KW_RUN_BUDGET ? PROOFS_MAX : 0 };
	enum kw_status status;

	if (s->opts->as_part)
		return finish_part(s, out, err);
	s->handing_over = true;
	s->upcoming = s->ranked_count > 0 || s->screened_count > 0;
	do {
		status = prove_screened(s, &proofs, err);
		if (status == KW_OK)
			status = prove_ranked(s, handed, &count, err);
	} while (status == KW_OK && count == 0 && s->screened_count && proofs.left > 0);
	if (status == KW_NO)
		return KW_OK; /* interrupted: s->stop says so */
	if (status != KW_OK)
		return status;
	if (count == 0)
		none_right(s);
	status = make_list(s, handed, count, &out->list, err);
	if (status == KW_OK && count > 0)
		for (size_t i = 0; i < s->ranked_count; i++)
			if (&s->ranked[i] == handed[0].row) {
				hand_best(s, &s->ranked[i], out);
				break;
			}
	return status;
}
