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
	if (s->ranked_count == KW_RANKED_MAX) {
		kw_verdict_release(v);
		kw_free(v);
		return NULL;
	}
	row.ns = kw_search_mean_ns(v);
	while (at < s->ranked_count && !better(&row, &s->ranked[at]))
		at++;
	memmove(&s->ranked[at + 1], &s->ranked[at], (s->ranked_count - at) * sizeof(row));
	s->ranked[at] = row;
	s->ranked_count++;
	s->best_ns = s->ranked[0].ns;
	s->best_speedup = s->ranked[0].speedup;
	return &s->ranked[at];
}
