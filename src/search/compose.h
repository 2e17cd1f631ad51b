/* compose.h - kernels of the parts of a task as one candidate for the whole: one plan with several launches.
 *
 *     struct kw_compose_part parts[] = { { &task1, &kernel1 }, { &task2, &kernel2 } };
 *     kw_compose(whole, parts, 2, arena, &source, err);
 *
 * What passes from part to part is a workspace. Names that a part defines (kernels, functions, macros, tune lines, workspaces) get
 * a mark of their part, so that two parts may define the same; tune lines become define lines at the part's best point. The text is
 * only put together here: whether it is right says the judge. Pure. */
#ifndef KW_SEARCH_COMPOSE_H
#define KW_SEARCH_COMPOSE_H

#include "core/candidate.h"
#include "core/task.h"

struct kw_compose_part {
	const struct kw_task *task;
	const struct kw_candidate *candidate; /* at its tune point */
};
enum kw_status kw_compose(const struct kw_task *whole, const struct kw_compose_part *parts, size_t count, struct kw_arena *a,
			  const char **source, struct kw_error *err);

#endif
