/* author.h - the built-in author: instantiates patterns for a task (design 7 of issue "spine",
 * design 12).
 *
 * No model. Lowers the expression, finds its family, takes the patterns of that family and backend
 * whose `when` lines can hold, and fills the task's own inputs, prologue and epilogue in. Each
 * proposal is a complete, readable candidate with plan lines and tune space. Zero proposals is a
 * result ("no pattern fits"), reasons say why each pattern did not.
 *
 * A pattern of the family `any` takes whatever the naive emitter of its language takes. Such proposals
 * come behind all others and are marked: they are for where none of those is right. */
#ifndef KW_AUTHOR_AUTHOR_H
#define KW_AUTHOR_AUTHOR_H

#include "core/candidate.h"
#include "expr/expr.h"
#include "memory/memory.h"

struct kw_proposal {
	struct kw_candidate candidate;
	const char *pattern; /* name */
	const char *why;     /* the pattern's own reasons, joined */
	bool last;           /* only where no other is right */
};
enum kw_status kw_author_propose(const struct kw_task *t, const struct kw_expr *e,
				 const char *backend, struct kw_arena *a, struct kw_proposal **out,
				 size_t *count, const char ***reasons, size_t *reason_count,
				 struct kw_error *err);

#endif
