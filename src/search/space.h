/* space.h - the points of a tune space that satisfy its where lines.
 *
 * A small space is listed whole; of a large one a random subset is taken, the same for the same candidate, so that a resumed
 * run looks at the same points. The default point is always first. */
#ifndef KW_SEARCH_SPACE_H
#define KW_SEARCH_SPACE_H

#include "core/candidate.h"
#include "core/hardware.h"

struct kw_space {
	int64_t **points;                 /* points[i]: values in plan order */
	size_t count;
	int64_t size;                     /* of the space after the where lines; -1: over ten million */
	int64_t pruned;                   /* combinations met that a where line excludes */
	bool whole;                       /* points are all of it */
};
/* At most max points (at least 1), in the arena. Where lines that need dims hold if they hold in any perf case. */
enum kw_status kw_space_list(const struct kw_candidate *c, const struct kw_task *t, const struct kw_hardware *hw,
			     size_t max, struct kw_arena *a, struct kw_space *out, struct kw_error *err);
/* Whether the where lines (and requires) hold for these values in any perf case. */
bool kw_space_allows(const struct kw_candidate *c, const struct kw_task *t, const struct kw_hardware *hw,
		     const int64_t *values);

/* The plan at these values (NULL: the defaults) for a case with contiguous tensors; false: it does not apply, or no memory. */
bool kw_space_bind(const struct kw_candidate *c, const struct kw_task *t, const struct kw_case *k,
		   const struct kw_hardware *hw, const int64_t *values, struct kw_arena *a, struct kw_bound_plan *out);

/* The perf case to tune on: the first from `from` on to which the candidate applies at its tune point, large ones only when
 * asked for; -1: none. Whether it fits this machine the judge will say. */
int kw_space_case(const struct kw_candidate *c, const struct kw_task *t, const struct kw_hardware *hw, bool large,
		  int from);

#endif
