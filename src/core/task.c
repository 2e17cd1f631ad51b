#include "core/task.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"

enum { MAX_TASK_BYTES = 1 << 20 };

const char *kw_dist_name(enum kw_dist d)
{
	static const char *const names[] = {
#define X(e, name) name,
		KW_DIST_LIST(X)
#undef X
	};

	return (unsigned)d < KW_DIST_COUNT ? names[d] : "none";
}

const char *kw_layout_name(enum kw_layout_kind l)
{
	static const char *const names[] = {
#define X(e, name) name,
		KW_LAYOUT_LIST(X)
#undef X
	};

	return (unsigned)l < KW_LAYOUT_COUNT ? names[l] : "none";
}

static bool ends_in(const char *word, const char *ending)
{
	size_t n = strlen(word), m = strlen(ending);

	return n >= m && strcmp(word + n - m, ending) == 0;
}

static bool is_path(const char *word)
{
	struct stat st;

	return strchr(word, '/') || ends_in(word, ".yaml") || ends_in(word, ".yml") ||
	       (lstat(word, &st) == 0 && !S_ISDIR(st.st_mode));
}

static bool is_folder(const char *word)
{
	struct stat st;

	return stat(word, &st) == 0 && S_ISDIR(st.st_mode);
}

/* "no task 'sofmax' in the library, and no such file; did you mean 'softmax'?" */
static enum kw_status fail_unknown(const char *name, struct kw_error *err)
{
	const char *file = is_folder(name) ? "what has this name here is a folder" : "no such file";
	struct kw_arena a;
	char **paths = NULL;
	const char *near = NULL;
	size_t n = 0;
	enum kw_status s;

	kw_arena_init(&a, 4 << 20);
	if (kw_data_list("tasks/", ".yaml", &a, &paths, &n, NULL) == KW_OK) {
		for (size_t i = 0; i < n; i++) {
			char *base = kw_arena_strdup(&a, kw_path_base(paths[i]));

			if (base)
				base[strlen(base) - strlen(".yaml")] = '\0';
			paths[i] = base ? base : paths[i];
		}
		near = kw_str_nearest(name, (const char *const *)paths, n);
	}
	if (near)
		s = kw_fail(err, KW_ERR_NOT_FOUND, "", "no task '%.100s' in the library, and %s; did you mean '%s'?", name, file, near);
	else
		s = kw_fail(err, KW_ERR_NOT_FOUND, "", "no task '%.100s' in the library, and %s; `kwright task list` shows what there is",
			    name, file);
	kw_arena_release(&a);
	return s;
}

static enum kw_status load_path(struct kw_task *t, const char *path, struct kw_error *err)
{
	struct kw_buf text;
	enum kw_status s;

	if (ends_in(path, ".py"))
		return kw_fail(err, KW_ERR_INPUT, path, "is Python; a task is YAML (docs/tasks.md), which `kwright import` writes");
	kw_buf_init(&text, MAX_TASK_BYTES + 1);
	s = kw_file_read(path, MAX_TASK_BYTES, &text, err);
	if (s == KW_OK && text.full)
		s = kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	if (s == KW_OK)
		s = kw_task_parse_yaml(t, path, text.len ? text.ptr : "", text.len, err);
	kw_buf_release(&text);
	return s;
}

static enum kw_status load_library(struct kw_task *t, const char *name, struct kw_error *err)
{
	char path[256];
	struct kw_arena a;
	char *text = NULL;
	size_t len = 0;
	enum kw_status s;

	if (strlen(name) > 100)
		return fail_unknown(name, err);
	snprintf(path, sizeof(path), "tasks/%s.yaml", name);
	kw_arena_init(&a, 2 * MAX_TASK_BYTES);
	s = kw_data_read(path, &a, &text, &len, err);
	if (s == KW_OK)
		s = kw_task_parse_yaml(t, path, text, len, err);
	else if (s == KW_ERR_NOT_FOUND)
		s = fail_unknown(name, err);
	kw_arena_release(&a);
	return s;
}

enum kw_status kw_task_load(struct kw_task *t, const char *path_or_name, struct kw_error *err)
{
	memset(t, 0, sizeof(*t));
	if (!*path_or_name)
		return kw_fail(err, KW_ERR_USAGE, "", "the name of a task is empty");
	return is_path(path_or_name) ? load_path(t, path_or_name, err)
				     : load_library(t, path_or_name, err);
}

void kw_task_release(struct kw_task *t)
{
	kw_arena_release(&t->arena);
	memset(t, 0, sizeof(*t));
}

bool kw_task_has_name(const struct kw_task *t, const char *name)
{
	for (size_t i = 0; i < t->dim_count; i++)
		if (strcmp(t->dims[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < t->param_count; i++)
		if (strcmp(t->params[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < t->input_count; i++)
		if (strcmp(t->inputs[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < t->output_count; i++)
		if (strcmp(t->outputs[i].name, name) == 0)
			return true;
	return false;
}

const char *kw_task_reference_kind(const struct kw_task *t)
{
	return t->expr ? "an expression" : t->reference_c ? "C" : "PyTorch";
}

const char *kw_task_torch_place(const struct kw_task *t, char out[KW_TASK_PLACE_MAX])
{
	/* A task of the command line has no file whose lines could be counted. */
	if (t->torch_form == KW_TORCH_LINE && t->torch_line && t->file[0] != '(')
		snprintf(out, KW_TASK_PLACE_MAX, "%.480s:%d", t->file, t->torch_line);
	else
		snprintf(out, KW_TASK_PLACE_MAX, "%s", t->torch_form == KW_TORCH_LINE ? t->file : t->reference_torch);
	return out;
}

const char *kw_task_reference_text(const struct kw_task *t)
{
	if (t->expr)
		return t->expr;
	if (t->torch_form == KW_TORCH_LINE)
		return t->reference_torch;
	return t->reference_source ? t->reference_source : t->reference_c ? "a C function" : "a PyTorch module";
}
