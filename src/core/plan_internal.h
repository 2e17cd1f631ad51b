/* plan_internal.h - what the plan_*.c files share; nobody else includes it. */
#ifndef KW_CORE_PLAN_INTERNAL_H
#define KW_CORE_PLAN_INTERNAL_H

#include "core/plan.h"

enum {
	KW_PLAN_MAX_LINES = 64,     /* of each kind */
	KW_PLAN_MAX_ARGS = 64,      /* of one kernel */
	KW_PLAN_MAX_VALUES = 1024   /* of one tune line */
};

/* A place in one plan line. Columns count bytes from 1. */
struct kw_plan_cursor {
	const char *file;
	int line, column;           /* of text.ptr[0] */
	struct kw_str text;
	size_t at;
	struct kw_arena *arena;
	struct kw_error *err;
	const struct kw_task *task; /* NULL: syntax only */
	const struct kw_plan *plan; /* the lines read so far; all but kernels are read first */
};

/* Fails at an offset in the line, with the line and a caret below it. */
enum kw_status kw_plan_fail(const struct kw_plan_cursor *c, size_t at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
enum kw_status kw_plan_nomem(const struct kw_plan_cursor *c);
void kw_plan_blanks(struct kw_plan_cursor *c);
bool kw_plan_take(struct kw_plan_cursor *c, char wanted);      /* after blanks */
bool kw_plan_at_end(struct kw_plan_cursor *c);
/* The identifier here; len 0 if none. */
struct kw_str kw_plan_word(struct kw_plan_cursor *c);
/* A part of the line as a cursor of its own. */
struct kw_plan_cursor kw_plan_part(const struct kw_plan_cursor *c, size_t from, size_t to);
/* Offset of the closing partner of the bracket at `at`, or of the end of the line. */
size_t kw_plan_closing(const struct kw_plan_cursor *c, size_t at);
/* Splits (a, b), {a, b} or [a, b] at top-level commas; parts has room for max. Ends behind it. */
enum kw_status kw_plan_list(struct kw_plan_cursor *c, char open, size_t max,
			    struct kw_plan_cursor *parts, size_t *count);
/* The rest of the cursor as an expression whose names are known. */
enum kw_status kw_plan_expr(struct kw_plan_cursor *c, const struct kw_intexpr **out);
enum kw_status kw_plan_exprs(struct kw_plan_cursor *c, char open, size_t max,
			     const struct kw_intexpr **out, int *count);

enum kw_status kw_plan_read_kernel(struct kw_plan_cursor *c, struct kw_plan_kernel *k);

/* plan_tensormap.c */
enum kw_status kw_plan_read_tensormap(struct kw_plan_cursor *c, struct kw_plan_tensormap *m);
/* After the workspaces. What a layout makes impossible is not applicable; a box that no layout allows is an error. */
enum kw_status kw_plan_bind_tensormaps(const struct kw_plan *p, const struct kw_task *t, const struct kw_view *views,
				       const struct kw_intenv *env, struct kw_arena *a, struct kw_bound_plan *out,
				       struct kw_error *err);

/* Position of a tensor: inputs first, then outputs; -1 if there is none. An input that is updated in place is where its
 * output is. */
int kw_plan_tensor_index(const struct kw_task *t, const char *name);

#endif
