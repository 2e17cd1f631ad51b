/* cached.h - what every backend's build has around its compiler: the beginning of the key, the cache, what was said.
 *
 *     struct kw_cached_build how = { opts, out, &b->diags, build_fresh, b };
 *     s = kw_build_cached(&how, key, err);
 *
 * Thread rule: as the backend's. */
#ifndef KW_BACKEND_CACHED_H
#define KW_BACKEND_CACHED_H

#include "backend/backend.h"
#include "backend/diagnostics.h"
#include "base/arena.h"
#include "base/hash.h"

struct kw_cached_build {
	const struct kw_build_opts *opts;
	struct kw_build_result *out;      /* kind and toolchain of its artefact are known */
	struct kw_diagnostics *diags;     /* moved into the artefact of a fresh build */
	enum kw_status (*fresh)(void *build, struct kw_error *err);
	void *build;
};
/* From the cache, else fresh, and kept when it is good. */
enum kw_status kw_build_cached(const struct kw_cached_build *how, const char key[KW_SHA256_HEX], struct kw_error *err);
/* What every key begins with. backend: its name and the version of what it does. */
enum kw_status kw_build_key(struct kw_hasher *h, const char *backend, const struct kw_candidate *c, const char *header,
			    size_t header_len, struct kw_error *err);
/* "-DNAME=VALUE". NULL: out of memory. */
const char *kw_build_define(struct kw_arena *arena, const struct kw_bound_plan *bound, size_t i);

#endif
