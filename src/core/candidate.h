/* candidate.h - one kernel source with its launch plan, at one tune point.
 *
 * Plain data; strings in the caller's arena. The hash covers language and source; the tune point is
 * apart, so that a tuned candidate is still the same candidate. */
#ifndef KW_CORE_CANDIDATE_H
#define KW_CORE_CANDIDATE_H

#include "base/hash.h"
#include "core/plan.h"

#define KW_CANDIDATE_MAX_BYTES (4u << 20)

struct kw_candidate {
	const char *name;                 /* file base name or pattern name */
	const char *backend;              /* "c", "cuda", ... */
	const char *source;
	size_t source_len;
	char sha256[KW_SHA256_HEX];
	struct kw_plan plan;
	const char *origin;               /* "file:PATH", "pattern:NAME", "model:NAME" */
	int64_t *tune_values;             /* plan order; NULL: defaults */
};

/* The backend that a file's ending says; NULL: none. */
const char *kw_candidate_backend(const char *path);
/* Reads and parses; refuses over KW_CANDIDATE_MAX_BYTES, NUL bytes and invalid UTF-8 with one
 * sentence. backend NULL: from the file's ending (.c .cu .cl .py). */
enum kw_status kw_candidate_load(struct kw_candidate *c, const char *path, const char *backend,
				 const struct kw_task *task, struct kw_arena *a, struct kw_error *err);
enum kw_status kw_candidate_from_text(struct kw_candidate *c, const char *name, const char *backend,
				      const char *text, size_t len, const struct kw_task *task,
				      struct kw_arena *a, struct kw_error *err);

#endif
