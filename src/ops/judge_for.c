/* From the name of a backend to the judge of its device. */
#include "ops/internal.h"

#include <stdlib.h>
#include <string.h>

enum kw_status kw_op_backend(const char *name, const struct kw_backend **out, struct kw_error *err)
{
	const struct kw_backend *const *all;
	const char *names[32], *near;
	struct kw_buf list;
	size_t n = 0;
	enum kw_status status;

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
	kw_buf_init(&list, 4096);
	for (size_t i = 0; i < n; i++)
		kw_buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
	status = kw_fail(err, KW_ERR_USAGE, "", "no backend '%.60s' in this program; there %s %s", name, n > 1 ? "are" : "is",
			 list.len ? list.ptr : "none");
	kw_buf_release(&list);
	return status;
}

enum kw_status kw_op_has_device(const struct kw_backend *b, struct kw_error *err)
{
	if (kw_device_find(b->device))
		return KW_OK;
	return kw_fail(err, KW_ERR_ENV, "", "this version has no device '%s': kernels of the backend '%s' are built and checked, not run "
					    "(kwright eval --device mi300x)", b->device, b->name);
}

/* Triton's own word for its interpreter. */
static bool asked_for(const char *checker)
{
	const char *wish = getenv("TRITON_INTERPRET");

	return strcmp(checker, "interpreter") == 0 && wish && strcmp(wish, "0") != 0 && *wish;
}

/* Where the device is not to be had, right or wrong is better than nothing. Why both fail is worth a sentence each. */
static enum kw_status check_instead(const struct kw_backend *b, struct kw_judge **out, struct kw_error *err)
{
	struct kw_error first = *err, second = { 0 };
	enum kw_status status = kw_judge_new(b->checker, out, &second);

	if (status == KW_OK) {
		kw_error_reset(err);
		return KW_OK;
	}
	return kw_fail(err, status, "", "%.300s; and nothing checks its kernels without it: %.300s", first.text, second.text);
}

enum kw_status kw_op_judge_for(const char *backend, struct kw_judge **out, struct kw_error *err)
{
	const struct kw_backend *b;
	enum kw_status status = kw_op_backend(backend, &b, err);

	if (status == KW_OK)
		status = kw_op_has_device(b, err);
	if (status != KW_OK)
		return status;
	if (b->checker && asked_for(b->checker))
		return kw_judge_new(b->checker, out, err);
	status = kw_judge_new(b->device, out, err);
	return status == KW_ERR_ENV && b->checker ? check_instead(b, out, err) : status;
}
