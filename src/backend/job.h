/* job.h - the course that every backend's build takes: find the compiler, look at the source, look into the cache, compile.
 *
 *     struct build { struct kw_build_job job; ... };         // a backend's own things stand behind it
 *     static const struct kw_build_steps steps = { .version = "c 1", .bytes = sizeof(struct build), .find = find, ... };
 *     return kw_build_run(&steps, c, bound, opts, out, err);
 *
 * A step gets the backend's own struct. KW_OK says that it did its work, not that the source is good: a source that is not
 * is turned down by kw_build_reject(), and no later step runs. Thread rule: as the backend's. */
#ifndef KW_BACKEND_JOB_H
#define KW_BACKEND_JOB_H

#include "backend/backend.h"
#include "backend/diagnostics.h"
#include "base/arena.h"
#include "base/hash.h"

#include <limits.h>

struct kw_build_job {
	const struct kw_candidate *c;
	const struct kw_bound_plan *bound;
	const struct kw_build_opts *opts;
	struct kw_build_result *out;      /* cls is KW_V_OK until the source is turned down */
	struct kw_arena arena;            /* strings that live as long as the build */
	char *header;                     /* the text of the steps' header; NULL: it has none */
	size_t header_len;
	char dir[PATH_MAX];               /* a folder for the compiler; "" until a step makes it; removed at the end */
	struct kw_diagnostics diags;
};

struct kw_build_steps {
	const char *version;              /* "c 1": every key begins with it; a new number when the same source gives other code */
	size_t bytes;                     /* of the backend's own struct, which is zeroed at first */
	size_t arena_bytes;               /* the most that its strings may take */
	const char *kind;                 /* of the artefact */
	const char *file;                 /* what the compiler calls the source; NULL: known later, or by the candidate's name */
	const char *header;               /* a path among the built-in files; NULL: none */
	/* The compiler, and that it builds for opts->arch. Fills artefact.toolchain. */
	enum kw_status (*find)(void *build, struct kw_error *err);
	/* Turns down what the compiler need not see. NULL: it sees all. */
	void (*check)(void *build);
	/* Chooses the options; adds to the key all that can change the code, but source and header. */
	enum kw_status (*key)(void *build, struct kw_hasher *h, struct kw_error *err);
	/* Fills the artefact, or turns the source down. */
	enum kw_status (*compile)(void *build, struct kw_error *err);
	void (*release)(void *build);     /* NULL: nothing but the job itself */
};
enum kw_status kw_build_run(const struct kw_build_steps *steps, const struct kw_candidate *c, const struct kw_bound_plan *bound,
			    const struct kw_build_opts *opts, struct kw_build_result *out, struct kw_error *err);
/* The source is turned down: cls and subclass are the build's verdict. line 0: no place in particular. */
void kw_build_reject(struct kw_build_job *job, enum kw_verdict_class cls, enum kw_subclass subclass, int line, int column,
		     const char *message);
/* A built-in header as one text: what it includes of its own folder stands in it. Lives in the arena. */
enum kw_status kw_build_header(const char *path, struct kw_arena *a, char **text, size_t *len, struct kw_error *err);
/* "-DNAME=VALUE". NULL: out of memory. */
const char *kw_build_define(struct kw_build_job *job, size_t i);

#endif
