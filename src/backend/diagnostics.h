/* diagnostics.h - a C compiler's messages as data: gcc's JSON, clang's and the linker's text.
 *
 *     kw_diagnostics_init(&d, "/tmp/kw-build-x/candidate.c", "softmax.c");
 *     kw_diagnostics_parse(&d, text, len);
 *     kw_diagnostics_take(&d, &artefact);
 *
 * Places in the candidate's own file carry its name; places elsewhere keep theirs. At most 50 are kept. Out of memory:
 * fewer are. Thread rule: one owner. */
#ifndef KW_BACKEND_DIAGNOSTICS_H
#define KW_BACKEND_DIAGNOSTICS_H

#include "core/artefact.h"

struct kw_diagnostics {
	const char *path, *name;          /* the file that was compiled, what to call it; borrowed */
	struct kw_diagnostic *list;
	size_t count;
	struct kw_buf log;                /* "name:line:column: error: message" lines */
	const char *aside;                /* a file of ours: what is said of it, and the notes after it, is counted only */
	size_t aside_errors, aside_warnings;
	bool after_aside;
};
void kw_diagnostics_init(struct kw_diagnostics *d, const char *path, const char *name);
void kw_diagnostics_release(struct kw_diagnostics *d);
/* What a compiler run printed. source: to find the line of a symbol that the linker misses; may be NULL. */
void kw_diagnostics_parse(struct kw_diagnostics *d, const char *text, size_t len, const char *source);
void kw_diagnostics_add(struct kw_diagnostics *d, enum kw_severity severity, enum kw_subclass cls, const char *file,
			int line, int column, const char *message);
bool kw_diagnostics_has_error(const struct kw_diagnostics *d);
/* Class of the first error; SYNTAX when there is none. */
enum kw_subclass kw_diagnostics_class(const struct kw_diagnostics *d);
/* Moves list and log into the artefact. */
void kw_diagnostics_take(struct kw_diagnostics *d, struct kw_artefact *a);
/* From the words of a message, in the C locale. */
enum kw_subclass kw_diagnostic_class(const char *message);

#endif
