/* A problem in KernelBench's form as a task: a file whose reference is an expression where every operator is known. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ops/internal.h"
#include "python/describe.h"

enum { TEXT_MAX_BYTES = 1 << 24 };

/* The length of a path up to the file's name. */
static size_t folder_len(const char *path)
{
	return (size_t)(kw_path_base(path) - path);
}

/* How a task in the file `out` names the problem: by its name beside it, else from the root. */
static const char *shown(const char *path, const char *out, char full[PATH_MAX])
{
	if (out && folder_len(path) == folder_len(out) && memcmp(path, out, folder_len(path)) == 0)
		return kw_path_base(path);
	return realpath(path, full) ? full : path;
}

/* Where the expression cannot be read the problem itself is the reference, as where there is none. */
static enum kw_status settle_expr(json_t *described, const char *path, const struct kw_describe_opts *o, struct kw_error *err)
{
	const char *yaml = json_string_value(json_object_get(described, "yaml"));
	struct kw_error why;
	struct kw_buf text;
	enum kw_status s;

	kw_error_reset(&why);
	if (!json_is_string(json_object_get(described, "expr")) || kw_op_torch_can_be_read(path, yaml, strlen(yaml), &why))
		return KW_OK;
	kw_buf_init(&text, TEXT_MAX_BYTES);
	s = kw_op_torch_drop_expr(yaml, o->shown, o->eval, &why, &text, err);
	if (s == KW_OK) {
		json_object_set_new(described, "yaml", json_stringn(text.ptr, text.len));
		json_object_set_new(described, "expr", json_null());
		json_array_append_new(json_object_get(described, "notes"),
				      json_sprintf("no expression: what was made of the graph cannot be read: %.300s", why.text));
	}
	kw_buf_release(&text);
	return s;
}

enum kw_status kw_op_import_problem(const char *path, bool eval, int timeout_ms, const char *out, json_t **described,
				    struct kw_error *err)
{
	struct kw_describe_opts o = { .eval = eval, .timeout_ms = timeout_ms };
	char full[PATH_MAX];
	const char *yaml;
	enum kw_status s;

	*described = NULL;
	if (!kw_path_exists(path))
		return kw_fail(err, KW_ERR_INPUT, path, "no such file");
	if (out && kw_path_exists(out))
		return kw_fail(err, KW_ERR_USAGE, out, "is there already; name another file by --out");
	o.shown = shown(path, out, full);
	s = kw_python_describe(NULL, path, &o, described, err);
	yaml = json_string_value(json_object_get(*described, "yaml"));
	if (s == KW_OK && !yaml)
		s = kw_fail(err, KW_ERR_BUG, path, "its description has no task");
	if (s == KW_OK)
		s = settle_expr(*described, path, &o, err);
	yaml = json_string_value(json_object_get(*described, "yaml"));
	if (s == KW_OK && out)
		s = kw_file_write(out, yaml, strlen(yaml), err);
	if (s != KW_OK) {
		json_decref(*described);
		*described = NULL;
	}
	return s;
}
