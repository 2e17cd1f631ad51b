/* memory.h - what we know before and after a run: patterns, hardware sheets, experience; and how to find it. */
#ifndef KW_MEMORY_MEMORY_H
#define KW_MEMORY_MEMORY_H

#include "core/pattern.h"
#include "expr/expr.h"
#include "store/store.h"

/* All patterns of a backend (NULL: all), from knowledge/patterns/, sorted by name. A file that does not parse is an
 * error that names it. */
enum kw_status kw_memory_patterns(const char *backend, struct kw_arena *a, struct kw_pattern **out, size_t *count,
				  struct kw_error *err);
/* Records a verdict as experience (text: task, family, dtype, pattern, tune, outcome). */
enum kw_status kw_memory_learn(struct kw_store *memory, const struct kw_task *t, const struct kw_expr *e,
			       const struct kw_candidate *c, const struct kw_verdict *v, struct kw_error *err);
/* One list over patterns, hardware sheets and experience that match the words; best first. */
enum kw_status kw_memory_search(struct kw_store *memory, const char *words, int limit, struct kw_arena *a,
				struct kw_memory_row **out, size_t *count, struct kw_error *err);

#endif
