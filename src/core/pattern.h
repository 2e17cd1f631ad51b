/* pattern.h - the `//@ pattern` header of a file in knowledge/patterns/ (design 12).
 *
 *     //@ pattern row_softmax family=row_reduce backend=c
 *     //@ title One row per thread, three passes, the row stays in L1/L2
 *     //@ why …                       (may repeat; one sentence a line)
 *     //@ when cols <= 262144          (integer expression; optional, may repeat)
 *     //@ roles x=input y=output
 * Lines are kept as data; the kernel's own plan lines follow (plan.h ignores these keywords). */
#ifndef KW_CORE_PATTERN_H
#define KW_CORE_PATTERN_H

#include "base/arena.h"
#include "base/error.h"
#include "core/intexpr.h"

struct kw_pattern {
	const char *name, *family, *backend, *title, *path;
	const char **why;
	size_t why_count;
	const struct kw_intexpr **when;
	size_t when_count;
	const char *text;                 /* the whole file */
	size_t len;
};
enum kw_status kw_pattern_parse(const char *path, const char *text, size_t len, struct kw_arena *a,
				struct kw_pattern *out, struct kw_error *err);
#endif
