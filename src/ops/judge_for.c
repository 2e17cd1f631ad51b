/* From the name of a backend to the judge of its device. */
#include "ops/internal.h"

enum kw_status kw_op_backend(const char *name, const struct kw_backend **out, struct kw_error *err)
{
	const struct kw_backend *const *all;
	const char *names[32], *near;
	size_t n = 0;

	*out = kw_backend_find(name);
	if (*out)
		return KW_OK;
	all = kw_backend_all(&n);
	n = n < 32 ? n : 32;
	for (size_t i = 0; i < n; i++)
		names[i] = all[i]->name;
	near = kw_str_nearest(name, names, n);
	if (near)
		return kw_fail(err, KW_ERR_USAGE, "", "no backend '%.60s'; did you mean '%s'?", name, near);
	return kw_fail(err, KW_ERR_USAGE, "", "no backend '%.60s' in this program; there is '%s'%s", name,
		       n ? names[0] : "none", n > 1 ? " and others (kwright doctor)" : "");
}

enum kw_status kw_op_has_device(const struct kw_backend *b, struct kw_error *err)
{
	if (kw_device_find(b->device))
		return KW_OK;
	return kw_fail(err, KW_ERR_ENV, "", "this version has no device '%s': kernels of the backend '%s' are built and checked, not run "
					    "(kwright eval --device mi300x)", b->device, b->name);
}

enum kw_status kw_op_judge_for(const char *backend, struct kw_judge **out, struct kw_error *err)
{
	const struct kw_backend *b;
	enum kw_status status = kw_op_backend(backend, &b, err);

	if (status == KW_OK)
		status = kw_op_has_device(b, err);
	return status == KW_OK ? kw_judge_new(b->device, out, err) : status;
}
