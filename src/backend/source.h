/* source.h - what a backend looks for in a candidate's own text before a compiler reads it: flags
 * that are not on its list, includes of files, host code. The compiler's box is what keeps files
 * safe; these are the clear messages.
 *
 *     struct kw_source_fault f;
 *     if (!kw_source_includes(c, &f))
 *             fail_build(b, KW_V_BUILD_ERROR, f.cls, f.line, f.column, f.message);
 *
 * True: nothing was found. Pure functions; any thread. */
#ifndef KW_BACKEND_SOURCE_H
#define KW_BACKEND_SOURCE_H

#include "core/candidate.h"
#include "core/verdict.h"

struct kw_source_fault {
	enum kw_subclass cls;
	int line, column;
	char message[300];
};
/* The candidate's `flags` lines. Allowed names that end in '=' take a value of letters, digits and
 * "-_.,=". */
bool kw_source_flags(const struct kw_candidate *c, const char *const *allowed, size_t count,
		     struct kw_source_fault *out);
bool kw_source_flag_allowed(const char *const *allowed, size_t count, const char *flag);
/* #include of a path that begins with '/' or "..". */
bool kw_source_includes(const struct kw_candidate *c, struct kw_source_fault *out);
/* CUDA: `<<<` and a function main, outside of comments and literals. */
bool kw_source_host_code(const struct kw_candidate *c, struct kw_source_fault *out);

#endif
