/* memory.h - what we know before and after a run: patterns, hardware sheets, experience; and how to
 * find it. */
#ifndef KW_MEMORY_MEMORY_H
#define KW_MEMORY_MEMORY_H

#include "core/pattern.h"
#include "expr/expr.h"
#include "store/store.h"

/* All patterns of a backend (NULL: all), from knowledge/patterns/, sorted by name, then backend. A file that does
 * not parse is an error that names it. */
enum kw_status kw_memory_patterns(const char *backend, struct kw_arena *a, struct kw_pattern **out,
				  size_t *count, struct kw_error *err);
/* Records a verdict as experience (text: task, expression, family, dtype, pattern, tune, outcome,
 * summary). A candidate that did not apply teaches nothing and is left out. memory NULL: nothing
 * happens. */
enum kw_status kw_memory_learn(struct kw_store *memory, const struct kw_task *t,
			       const struct kw_expr *e, const struct kw_candidate *c,
			       const struct kw_verdict *v, struct kw_error *err);
/* Keeps a kernel that was handed over, whole, so that later tasks of its family can start from it. What comes from a pattern is not
 * kept: the pattern is there. */
enum kw_status kw_memory_keep_kernel(struct kw_store *memory, const struct kw_task *t, const struct kw_expr *e,
				     const struct kw_candidate *c, const struct kw_verdict *v, struct kw_error *err);
/* One list over patterns (kind "pattern"), hardware sheets ("hardware") and experience ("verdict",
 * "note") that match the words. Best first: by how many of the words a row has, knowledge before
 * experience. Empty words match all. memory NULL: knowledge only. At most limit rows (0: 50). Rows
 * that are files have id 0; the device of a sheet is its path, of a pattern its backend. */
enum kw_status kw_memory_search(struct kw_store *memory, const char *words, int limit,
				struct kw_arena *a, struct kw_memory_row **out, size_t *count,
				struct kw_error *err);

#endif
