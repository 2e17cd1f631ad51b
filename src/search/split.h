/* split.h - "split by size": one point of a tune space is the fastest on some perf cases, another on others, and one dim of the task tells
 * these cases apart. Then the tune lines that differ become define lines that choose by that dim.
 *
 *     kw_split_find(c, task, points, count, arena, &split, err);          split NULL: nothing to gain
 *     kw_split_apply(c, task, hw, split, arena, &by_size, err);           KW_NO: it would serve fewer cases
 *
 * What the tuner found is remembered with the candidate and the machine, so that models are told where the search did not do it. */
#ifndef KW_SEARCH_SPLIT_H
#define KW_SEARCH_SPLIT_H

#include "core/candidate.h"
#include "core/finding.h"
#include "core/hardware.h"
#include "search/search.h"

struct kw_rule;
/* A right point with its times, by the index of the perf case; 0: none. */
struct kw_split_point {
	const int64_t *values;
	const double *ns, *low_ns, *high_ns;
};
/* points[0]: the best over all cases. Another is taken for a size only where on a case it is faster and neither time is
 * within the other's interval: what comes of it is judged in full, so a false alarm costs a judgement. */
enum kw_status kw_split_find(const struct kw_candidate *c, const struct kw_task *t, const struct kw_split_point *points, size_t count,
			     struct kw_arena *a, const struct kw_tune_split **out, struct kw_error *err);
/* A candidate of its own, at the point that the split leaves open; all that it holds is in the arena. */
enum kw_status kw_split_apply(const struct kw_candidate *c, const struct kw_task *t, const struct kw_hardware *hw,
			      const struct kw_tune_split *split, struct kw_arena *a, struct kw_candidate *out, struct kw_error *err);

#define KW_SPLIT_METRIC "mean time"       /* what its finding predicts: the geometric mean over the perf cases */
/* Of a candidate on a kind of machine, among what is remembered. */
const char *kw_split_key(const struct kw_candidate *c, const struct kw_hardware *hw, struct kw_arena *a);
/* What the tuner reports, or with report NULL that there is nothing to tell any more. */
enum kw_status kw_split_remember(struct kw_store *memory, const char *key, const struct kw_tune_report *report, struct kw_arena *a,
				 struct kw_error *err);
/* The finding that is remembered of a candidate; *found false: none. rules: of kw_rules_load. mean_ns: its time now, of which the gain is a
 * share; 0: as it was tuned. */
enum kw_status kw_split_finding(struct kw_store *memory, const char *key, const struct kw_rule *rules, size_t rule_count, double mean_ns,
				struct kw_arena *a, struct kw_finding *out, bool *found, struct kw_error *err);

#endif
