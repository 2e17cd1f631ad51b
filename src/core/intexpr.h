/* intexpr.h - the integer expressions of shapes and plan lines (docs/plan-lines.md).
 *
 * integers, names, dotted names (x.stride0), + - * / % (truncating, like C), comparisons, && || ! ?:,
 * parentheses, min(a,b,...), max(...), cdiv(a,b). Evaluated in 64 bits; overflow and division by zero
 * are errors that name the expression. Parsed once into the arena, then immutable.
 *
 *     kw_intexpr_parse(KW_STR("cdiv(rows, 4)"), "k.c", 3, 20, arena, &e, err);
 *     kw_intexpr_eval(e, &env, &value, err); */
#ifndef KW_CORE_INTEXPR_H
#define KW_CORE_INTEXPR_H

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct kw_intexpr;                 /* opaque */

/* A list of names with values; lookup walks `next` environments. */
struct kw_intenv_var {
	const char *name;
	int64_t value;
};
struct kw_intenv {
	const struct kw_intenv_var *vars;
	size_t count;
	const struct kw_intenv *next;
};

/* file, line, column: where text starts, for messages with a caret. */
enum kw_status kw_intexpr_parse(struct kw_str text, const char *file, int line, int column,
				struct kw_arena *a, struct kw_intexpr **out, struct kw_error *err);
enum kw_status kw_intexpr_eval(const struct kw_intexpr *e, const struct kw_intenv *env,
			       int64_t *out, struct kw_error *err);
/* The text as written (trimmed). */
const char *kw_intexpr_text(const struct kw_intexpr *e);
/* Calls fn for every distinct name used. */
void kw_intexpr_names(const struct kw_intexpr *e, void (*fn)(void *arg, const char *name), void *arg);
bool kw_intenv_get(const struct kw_intenv *env, const char *name, int64_t *out);

#endif
