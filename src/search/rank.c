/* The ranking of what was judged in full. */
#include "search/engine.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"

static int covered_cases(const struct kw_verdict *v)
{
	int n = 0;

	for (size_t i = 0; i < v->case_count; i++)
		n += v->cases[i].perf && v->cases[i].verdict == KW_V_OK;
	return n;
}

/* More of the perf cases first, then by time: a kernel for one case only is no match for one that serves them all. */
static bool better(const struct kw_ranked *a, const struct kw_ranked *b)
{
	return a->covered != b->covered ? a->covered > b->covered : a->ns < b->ns;
}

struct kw_ranked *kw_search_rank(struct kw_search *s, const struct kw_candidate *c, const char *tune,
				 struct kw_verdict *v)
{
	struct kw_ranked row = { .candidate = *c, .tune = tune, .verdict = v, .speedup = v->geomean_speedup,
				 .sol = v->geomean_sol, .covered = covered_cases(v) };
	size_t at = 0;

	for (size_t i = 0; i < s->ranked_count; i++)
		if (strcmp(s->ranked[i].candidate.sha256, c->sha256) == 0 && strcmp(s->ranked[i].tune, tune) == 0) {
			kw_verdict_release(v);
			kw_free(v);
			return &s->ranked[i];
		}
	row.ns = kw_search_mean_ns(v);
	/* Full: the last makes room for a better one. */
	if (s->ranked_count == KW_RANKED_MAX) {
		struct kw_ranked *last = &s->ranked[KW_RANKED_MAX - 1];
		bool goes = better(&row, last);

		kw_verdict_release(goes ? last->verdict : v);
		kw_free(goes ? last->verdict : v);
		if (!goes)
			return NULL;
		s->ranked_count--;
	}
	while (at < s->ranked_count && !better(&row, &s->ranked[at]))
		at++;
	memmove(&s->ranked[at + 1], &s->ranked[at], (s->ranked_count - at) * sizeof(row));
	s->ranked[at] = row;
	s->ranked_count++;
	s->best_ns = s->ranked[0].ns;
	s->best_speedup = s->ranked[0].speedup;
	return &s->ranked[at];
}

/* ---- what was only screened --------------------------------------------------------------------- */

bool kw_screened_better(const struct kw_screened *a, const struct kw_screened *b)
{
	if (a->look_count != b->look_count)
		return a->look_count > b->look_count;
	for (size_t i = 0; i < a->look_count; i++)
		if (a->looks[i].index != b->looks[i].index)
			return a->looks[i].index < b->looks[i].index;
	return a->ns < b->ns;
}

/* The mean over the cases of q, which p has too; 0: it has not. */
static double mean_over(const struct kw_screened *p, const struct kw_screened *q)
{
	double logs = 0.0;

	for (size_t i = 0; i < q->look_count; i++) {
		size_t k = 0;

		while (k < p->look_count && p->looks[k].index != q->looks[i].index)
			k++;
		if (k == p->look_count)
			return 0.0;
		logs += log(p->looks[k].ns);
	}
	return exp(logs / (double)q->look_count);
}

const struct kw_screened *kw_search_first_screened(const struct kw_search *s)
{
	const struct kw_screened *top = &s->screened[0];

	for (size_t i = 1; i < s->screened_count; i++) {
		const struct kw_screened *q = &s->screened[i];

		if (strcmp(q->candidate.sha256, top->candidate.sha256) == 0)
			return q->look_count + 1 == top->look_count && q->ns < mean_over(top, q) ? q : top;
	}
	return s->screened_count ? top : NULL;
}

double kw_screened_share(const struct kw_screened *p, const struct kw_verdict *v)
{
	double logs = 0.0;
	int n = 0;

	for (size_t i = 0; i < p->look_count; i++)
		for (size_t k = 0; k < v->case_count; k++) {
			const struct kw_case_result *c = &v->cases[k];

			if (c->has_times && c->times.median_ns > 0.0 && c->label && strcmp(c->label, p->looks[i].label) == 0) {
				logs += log(p->looks[i].ns / c->times.median_ns);
				n++;
				break;
			}
		}
	return n ? exp(logs / n) : 0.0;
}

enum kw_status kw_screened_add(struct kw_screened *p, int index, const char *label, double ns, struct kw_arena *a, struct kw_error *err)
{
	size_t at = 0;
	double logs = 0.0;

	while (at < p->look_count && p->looks[at].index < index)
		at++;
	if (at == p->look_count || p->looks[at].index != index) {
		struct kw_case_look *looks = kw_arena_calloc(a, p->look_count + 1, sizeof(*looks));

		if (!looks)
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a look");
		if (p->look_count) {
			memcpy(looks, p->looks, at * sizeof(*looks));
			memcpy(looks + at + 1, p->looks + at, (p->look_count - at) * sizeof(*looks));
		}
		p->looks = looks;
		p->look_count++;
	}
	p->looks[at] = (struct kw_case_look){ index, label, ns };
	for (size_t i = 0; i < p->look_count; i++)
		logs += log(p->looks[i].ns);
	p->ns = exp(logs / (double)p->look_count);
	return KW_OK;
}

static void drop(struct kw_search *s, size_t at)
{
	s->screened_count--;
	memmove(&s->screened[at], &s->screened[at + 1], (s->screened_count - at) * sizeof(*s->screened));
}

/* tune NULL: all points of the candidate. */
static void drop_points(struct kw_search *s, const char *candidate_sha, const char *tune)
{
	for (size_t i = s->screened_count; i-- > 0;)
		if (strcmp(s->screened[i].candidate.sha256, candidate_sha) == 0 &&
		    (!tune || strcmp(s->screened[i].tune, tune) == 0))
			drop(s, i);
}

/* A full table loses the last. */
static void keep(struct kw_search *s, const struct kw_screened *p)
{
	size_t at = 0;

	while (at < s->screened_count && !kw_screened_better(p, &s->screened[at]))
		at++;
	if (at == KW_SCREENED_MAX)
		return;
	s->screened_count -= s->screened_count == KW_SCREENED_MAX;
	memmove(&s->screened[at + 1], &s->screened[at], (s->screened_count - at) * sizeof(*p));
	s->screened[at] = *p;
	s->screened_count++;
}

void kw_search_note_screened(struct kw_search *s, const struct kw_candidate *c, const struct kw_judge_opts *o,
			     const struct kw_verdict *v, const struct kw_outcome *out)
{
	struct kw_screened p = { .candidate = *c, .tune = out->tune };
	const char *label = NULL;

	for (size_t i = 0; i < s->screened_count; i++)
		if (strcmp(s->screened[i].candidate.sha256, c->sha256) == 0 && strcmp(s->screened[i].tune, out->tune) == 0)
			p = s->screened[i];
	/* That one case cannot be judged says nothing about the others. */
	if (o->effort == KW_EFFORT_SCREEN && out->cls == KW_V_NOT_APPLICABLE && p.look_count)
		return;
	drop_points(s, c->sha256, out->cls == KW_V_CHEAT ? NULL : out->tune);
	if (!s->screened || o->effort != KW_EFFORT_SCREEN || out->cls != KW_V_OK || !(out->ns > 0.0))
		return;
	for (size_t i = 0; i < v->case_count && !label; i++)
		if (v->cases[i].has_times)
			label = kw_arena_strdup(s->arena, v->cases[i].label);
	if (label && kw_screened_add(&p, o->only_case > 0 ? o->only_case : 0, label, out->ns, s->arena, NULL) == KW_OK)
		keep(s, &p);
}

void kw_search_forget_screened(struct kw_search *s, const char *candidate_sha)
{
	drop_points(s, candidate_sha, NULL);
}
