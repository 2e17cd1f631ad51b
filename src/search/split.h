/* split.h - "split by size": one point of a tune space is the fastest on some perf cases, another on others, and one dim of the task tells
 * these cases apart. Then the tune lines that differ become define lines that choose by that dim.
 *
 *     kw_split_find(c, task, points, count, arena, &split, err);          split NULL: nothing to gain
 *     kw_split_apply(c, task, hw, split, arena, &by_size, err);           KW_NO: it would serve fewer cases
 */
#ifndef KW_SEARCH_SPLIT_H
#define KW_SEARCH_SPLIT_H

#include "core/candidate.h"
#include "core/hardware.h"
#include "search/search.h"

/* A right point with its times, by the index of the perf case; 0: none. */
struct kw_split_point {
	const int64_t *values;
	const double *ns, *low_ns, *high_ns;
};
/* points[0]: the best over all cases. Another is taken for a size only where it is faster beyond the ends of their intervals. */
enum kw_status kw_split_find(const struct kw_candidate *c, const struct kw_task *t, const struct kw_split_point *points, size_t count,
			     struct kw_arena *a, const struct kw_tune_split **out, struct kw_error *err);
/* A candidate of its own, at the point that the split leaves open; all that it holds is in the arena. */
enum kw_status kw_split_apply(const struct kw_candidate *c, const struct kw_task *t, const struct kw_hardware *hw,
			      const struct kw_tune_split *split, struct kw_arena *a, struct kw_candidate *out, struct kw_error *err);

#endif
