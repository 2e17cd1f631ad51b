#include "backend/backend.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <string.h>

#define X(symbol) extern const struct kw_backend symbol;
#include "backend/backends.def"
#undef X

static const struct kw_backend *const backends[] = {
#define X(symbol) &symbol,
#include "backend/backends.def"
#undef X
};
enum { BACKEND_COUNT = sizeof(backends) / sizeof(backends[0]) };

const struct kw_backend *kw_backend_find(const char *name)
{
	for (size_t i = 0; name && i < BACKEND_COUNT; i++)
		if (strcmp(backends[i]->name, name) == 0)
			return backends[i];
	return NULL;
}

const struct kw_backend *const *kw_backend_all(size_t *count)
{
	*count = BACKEND_COUNT;
	return backends;
}

enum kw_status kw_build(const struct kw_backend *b, const struct kw_candidate *c, const struct kw_bound_plan *bound,
			const struct kw_build_opts *opts, struct kw_build_result *out, struct kw_error *err)
{
	static const struct kw_build_opts defaults;
	int64_t start = kw_now_ns();
	enum kw_status s;

	memset(out, 0, sizeof(*out));
	if (!b)
		return kw_fail(err, KW_ERR_USAGE, "", "there is no such backend");
	s = b->build(c, bound, opts ? opts : &defaults, out, err);
	if (s != KW_OK) {
		kw_build_result_release(out);
		return s;
	}
	if (!out->artefact.cached)
		out->artefact.build_ns = kw_now_ns() - start;
	kw_log(KW_LOG_DEBUG, "built %s with %s in %.1f ms%s", c->name, out->artefact.toolchain,
	       (double)(kw_now_ns() - start) * 1e-6, out->artefact.cached ? " (cache)" : "");
	return KW_OK;
}

void kw_build_variant(const struct kw_backend *b, const struct kw_bound_plan *bound, struct kw_buf *out)
{
	for (size_t i = 0; i < bound->kernel_count; i++) {
		const struct kw_bound_kernel *k = &bound->kernels[i];

		if (b->per_block)
			kw_buf_printf(out, " block=(%lld, %lld, %lld) smem=%lld", (long long)k->block[0], (long long)k->block[1],
				      (long long)k->block[2], (long long)k->smem_bytes);
		if (b->per_number)
			kw_buf_addz(out, " 16:");
		for (size_t j = 0; b->per_number && j < k->arg_count; j++)
			kw_buf_addc(out, kw_bound_arg_is_16(&k->args[j]) ? 'y' : 'n');
	}
}

void kw_build_result_release(struct kw_build_result *r)
{
	kw_artefact_release(&r->artefact);
	memset(r, 0, sizeof(*r));
}
