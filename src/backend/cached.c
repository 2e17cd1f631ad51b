#include "backend/cached.h"

#include "backend/cache.h"

#include <string.h>

enum kw_status kw_build_cached(const struct kw_cached_build *how, const char key[KW_SHA256_HEX], struct kw_error *err)
{
	struct kw_artefact *a = &how->out->artefact, known = *a;
	bool cache = !how->opts->no_cache, found = cache && kw_cache_get(key, a);
	enum kw_status s = KW_OK;

	if (!found) { /* a damaged entry may have been read into it */
		*a = known;
		s = how->fresh(how->build, err);
		kw_diagnostics_take(how->diags, a);
	}
	memcpy(a->key, key, sizeof(a->key));
	if (!found && cache && s == KW_OK && how->out->cls == KW_V_OK)
		kw_cache_put(key, a);
	return s;
}

enum kw_status kw_build_key(struct kw_hasher *h, const char *backend, const struct kw_candidate *c, const char *header,
			    size_t header_len, struct kw_error *err)
{
	if (kw_hasher_init(h) != 0)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_hasher_addz(h, "backend", backend);
	kw_hasher_add(h, "source", c->source, c->source_len);
	kw_hasher_addz(h, "name", c->name);
	kw_hasher_add(h, "header", header, header_len);
	return KW_OK;
}

const char *kw_build_define(struct kw_arena *arena, const struct kw_bound_plan *bound, size_t i)
{
	return kw_arena_printf(arena, "-D%s=%lld", bound->defines[i].name, (long long)bound->defines[i].value);
}
