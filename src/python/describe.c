#include "python/describe.h"

#include <string.h>

/* A network of hundreds of layers is exported in half a minute, on a busy machine in more. */
enum { ANSWER_MS = 300 * 1000 };
static const int64_t memory_bytes = 12LL << 30;

static enum kw_status fail(const char *path, const struct kw_python_answer *a, int timeout_ms, struct kw_error *err)
{
	switch (a->end) {
	case KW_PYTHON_TIMEOUT: return kw_fail(err, KW_ERR_INPUT, path, "is not described within %g s", timeout_ms / 1e3);
	case KW_PYTHON_MEMORY:
		return kw_fail(err, KW_ERR_INPUT, path, "needs more than %lld GiB to be described", (long long)(memory_bytes >> 30));
	case KW_PYTHON_RAISED: return kw_fail(err, KW_ERR_BUG, path, "its description raises %s", a->text);
	default: return kw_fail(err, KW_ERR_INPUT, path, "ends the process that describes it: %s", a->text);
	}
}

static enum kw_status take(const char *path, struct kw_python_answer *a, int timeout_ms, json_t **out, struct kw_error *err)
{
	const char *error = json_string_value(json_object_get(a->json, "error"));

	if (a->end != KW_PYTHON_ANSWERED)
		return fail(path, a, timeout_ms, err);
	if (error)
		return kw_fail(err, KW_ERR_INPUT, path, "%s", error);
	*out = json_incref(a->json);
	return KW_OK;
}

enum kw_status kw_python_describe(struct kw_python **keep, const char *path, const struct kw_describe_opts *o, json_t **out,
				  struct kw_error *err)
{
	const struct kw_python_opts start = { .file = "describe", .wants = KW_PYTHON_TORCH, .memory_bytes = memory_bytes };
	struct kw_python *own = NULL, **p = keep ? keep : &own;
	struct kw_python_answer a = { 0 };
	int timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : ANSWER_MS;
	json_t *request = json_pack("{s:s, s:s, s:s}", "path", path, "mode", o->eval ? "eval" : "train", "shown",
				    o->shown ? o->shown : path);
	enum kw_status s = request ? KW_OK : kw_fail(err, KW_ERR_INPUT, path, "its name is no UTF-8 text");

	if (s == KW_OK && *p && kw_python_pid(*p) < 0) {
		kw_python_stop(*p);
		*p = NULL;
	}
	if (s == KW_OK && !*p)
		s = kw_python_start(&start, p, err);
	if (s == KW_OK)
		s = kw_python_ask(*p, json_incref(request), NULL, 0, timeout_ms, &a, err);
	if (s == KW_OK)
		s = take(path, &a, timeout_ms, out, err);
	kw_python_answer_release(&a);
	json_decref(request);
	kw_python_stop(own);
	return s;
}
