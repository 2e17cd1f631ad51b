/* The ranking of what was judged in full. */
#include "search/engine.h"

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

enum { POINTS_OF_ONE_MAX = 3 }; /* of one candidate, so that the final check has others to turn to */

/* Times of different cases cannot be compared: those of the task's first case come first. */
static bool screened_better(const struct kw_screened *a, const struct kw_screened *b)
{
	return a->case_index != b->case_index ? a->case_index < b->case_index : a->ns < b->ns;
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

/* Makes room: the slowest of a candidate that has enough, else the slowest of all. */
static void keep(struct kw_search *s, const struct kw_screened *p)
{
	size_t at = 0, of_one = 0, slowest = s->screened_count;

	for (size_t i = 0; i < s->screened_count; i++)
		if (strcmp(s->screened[i].candidate.sha256, p->candidate.sha256) == 0) {
			of_one++;
			slowest = i;
		}
	if (of_one == POINTS_OF_ONE_MAX || s->screened_count == KW_SCREENED_MAX) {
		slowest = of_one == POINTS_OF_ONE_MAX ? slowest : s->screened_count - 1;
		if (!screened_better(p, &s->screened[slowest]))
			return;
		drop(s, slowest);
	}
	while (at < s->screened_count && !screened_better(p, &s->screened[at]))
		at++;
	memmove(&s->screened[at + 1], &s->screened[at], (s->screened_count - at) * sizeof(*p));
	s->screened[at] = *p;
	s->screened_count++;
}

void kw_search_note_screened(struct kw_search *s, const struct kw_candidate *c, const struct kw_judge_opts *o,
			     const struct kw_verdict *v, const struct kw_outcome *out)
{
	struct kw_screened p = { .candidate = *c, .tune = out->tune, .ns = out->ns,
				 .case_index = o->only_case > 0 ? o->only_case : 0 };

	drop_points(s, c->sha256, out->cls == KW_V_CHEAT ? NULL : out->tune);
	if (!s->screened || o->effort != KW_EFFORT_SCREEN || out->cls != KW_V_OK || !(out->ns > 0.0))
		return;
	for (size_t i = 0; i < v->case_count && !p.case_label; i++)
		if (v->cases[i].has_times)
			p.case_label = kw_arena_strdup(s->arena, v->cases[i].label);
	if (p.case_label)
		keep(s, &p);
}

void kw_search_forget_screened(struct kw_search *s, const char *candidate_sha)
{
	drop_points(s, candidate_sha, NULL);
}
