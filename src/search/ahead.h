/* ahead.h - compiles candidates before they are judged, several at once; the judge then finds them in the build cache.
 *
 * Never beside a measurement: a compiler on another core takes caches, memory bandwidth and turbo clocks from the kernel
 * that is timed, and on a machine with two cores it takes one of the kernel's own. So a batch is built first, on all cores,
 * and judged after that, one by one. What comes of a build is no verdict: the judge builds, or finds, for itself. */
#ifndef KW_SEARCH_AHEAD_H
#define KW_SEARCH_AHEAD_H

#include "core/candidate.h"
#include "core/hardware.h"

/* How many candidates are built before the first of them is judged: few, as a rung may end early. */
size_t kw_ahead_batch(const struct kw_hardware *hw);
/* Builds each candidate at its tune point for a perf case (-1: the first that it applies to), as the judge will.
 * Failures are the judge's to find. An interrupt ends it early. large, compiler: of kw_judge_opts. */
/* One of them; any thread. */
void kw_ahead_build_one(const struct kw_candidate *c, const struct kw_task *t, int perf_case, const struct kw_hardware *hw, bool large,
			const char *compiler);
void kw_ahead_build(const struct kw_candidate *const *list, size_t count, const struct kw_task *t, int perf_case,
		    const struct kw_hardware *hw, bool large, const char *compiler);

#endif
