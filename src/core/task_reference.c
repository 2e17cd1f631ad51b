/* The reference of a task: an expression, or a C file. */
#include "core/task_internal.h"

#include <stdio.h>
#include <string.h>

/* `{ expr: y = max(x, 0) }` reaches us as expr: "y = max(x" and a stray key "0)". */
static bool is_half_expression(const struct kw_yaml *n)
{
	return kw_yaml_is_plain_null(n) || strpbrk(n->key, "()=+*/@[] ") != NULL;
}

static enum kw_status check_stray(const struct kw_task_reader *r, const struct kw_yaml *map)
{
	const struct kw_yaml *expr = kw_yaml_find(map, "expr");

	if (map->kind != KW_YAML_MAP || !map->flow || !expr || expr->kind != KW_YAML_SCALAR)
		return KW_OK;
	for (const struct kw_yaml *n = expr->next; n; n = n->next)
		if (strcmp(n->key, "c") != 0 && is_half_expression(n))
			return kw_task_fail_key(
				n, r->err,
				"the expression was cut at a comma: '%.200s' and '%.200s'; write it in "
				"block form:\n    reference:\n      expr: |\n        %.200s, %.200s%s",
				expr->text, n->key, expr->text, n->key,
				n->next || !kw_yaml_is_plain_null(n) ? " ..." : "");
	return KW_OK;
}

/* Where the text of the expression starts in the file. The place of a block text is column 1 of
 * its first line; how far that is indented, only the file knows. */
static void locate(struct kw_task_reader *r, const struct kw_yaml *n)
{
	const char *at = r->text;

	r->task->expr_line = n->line;
	r->task->expr_column = n->column; /* behind the quote, if there is one */
	if (!n->quoted || n->column != 1)
		return;
	for (int line = 1; line < n->line && at; line++) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	while (at && (*at == '\n' || *at == '\r')) /* empty lines are not indented */
		at++;
	r->task->expr_column = at ? (int)strspn(at, " ") + 1 : 1;
}

/* A path is relative to the task's file. */
static enum kw_status read_path(struct kw_task_reader *r, const struct kw_yaml *map, const char *key, const char **out)
{
	const char *name = NULL, *slash = strrchr(r->task->file, '/');
	enum kw_status s = kw_yaml_get_str(map, key, false, &name, r->err);

	if (s != KW_OK || !name)
		return s;
	if (slash && name[0] != '/')
		*out = kw_arena_printf(r->arena, "%.*s%s", (int)(slash + 1 - r->task->file), r->task->file, name);
	else
		*out = name;
	return *out ? KW_OK : kw_task_nomem(r);
}

/* torch: a line; file: a problem's; file, callable and args: anything that can be called. */
static enum kw_status read_torch(struct kw_task_reader *r, const struct kw_yaml *map)
{
	static const char *const modes[] = { "train", "eval" };
	const struct kw_yaml *mode = kw_yaml_find(map, "mode"), *callable = kw_yaml_find(map, "callable"), *args = kw_yaml_find(map, "args");
	struct kw_task *t = r->task;
	const char *line = NULL, *file = NULL;
	int eval = 0;
	enum kw_status s = kw_yaml_get_str(map, "torch", false, &line, r->err);

	if (s == KW_OK)
		s = read_path(r, map, "file", &file);
	if (s == KW_OK)
		s = kw_yaml_get_str(map, "callable", false, &t->torch_callable, r->err);
	if (s == KW_OK)
		s = read_path(r, map, "args", &t->torch_args);
	if (s == KW_OK && mode)
		s = kw_task_read_word(mode, "'train' or 'eval'", modes, 2, &eval, r->err);
	if (s != KW_OK)
		return s;
	if (line && file)
		return kw_yaml_fail(kw_yaml_find(map, "file"), r->err, "a reference is a 'torch' line or a 'file', not both");
	if ((callable || args || mode) && !file)
		return kw_task_fail_key(callable ? callable : args ? args : mode, r->err, "'%s' goes with a 'file'",
					callable ? "callable" : args ? "args" : "mode");
	if (!callable != !args)
		return kw_task_fail_key(callable ? callable : args, r->err, "'callable' and 'args' go together");
	if (line && kw_str_trim(kw_str_from(line)).len == 0)
		return kw_yaml_fail(kw_yaml_find(map, "torch"), r->err, "'torch' is empty");
	t->reference_torch = line ? line : file;
	t->torch_form = line ? KW_TORCH_LINE : callable ? KW_TORCH_CALLABLE : file ? KW_TORCH_PROBLEM : KW_TORCH_NONE;
	t->torch_line = line ? kw_yaml_find(map, "torch")->line : 0;
	t->torch_eval = eval == 1;
	return KW_OK;
}

/* What only an expression can be, or must say. */
static enum kw_status check_kind(struct kw_task_reader *r, const struct kw_yaml *map)
{
	struct kw_task *t = r->task;

	if (!t->expr && !t->reference_c && !t->torch_form)
		return kw_yaml_fail(map, r->err, "'reference' needs an 'expr', a 'c', a 'torch' or a 'file'");
	if (t->reference_c && (t->expr || t->torch_form))
		return kw_yaml_fail(kw_yaml_find(map, "c"), r->err, "a reference is %s or a 'c', not both", t->expr ? "an 'expr'" : "PyTorch");
	for (size_t i = 0; !t->expr && i < t->output_count; i++)
		if (t->outputs[i].compare == KW_COMPARE_DISTRIBUTION)
			return kw_yaml_fail(map, r->err, "'%s' is compared by its distribution, for which the reference is "
					    "drawn again and again: only an 'expr' can be", t->outputs[i].name);
	return KW_OK;
}

enum kw_status kw_task_read_reference(struct kw_task_reader *r, const struct kw_yaml *map)
{
	static const char *const keys[] = { "expr", "c", "torch", "file", "callable", "args", "mode", NULL };
	const struct kw_yaml *expr = kw_yaml_find(map, "expr");
	enum kw_status s;

	if (!map)
		return kw_yaml_fail(r->root, r->err, "key 'reference' is missing");
	s = check_stray(r, map);
	if (s == KW_OK)
		s = kw_yaml_check_keys(map, keys, r->err);
	if (s == KW_OK)
		s = kw_yaml_get_str(map, "expr", false, &r->task->expr, r->err);
	if (s == KW_OK)
		s = read_path(r, map, "c", &r->task->reference_c);
	if (s == KW_OK)
		s = read_torch(r, map);
	if (s == KW_OK)
		s = check_kind(r, map);
	if (s != KW_OK)
		return s;
	if (r->task->expr && kw_str_trim(kw_str_from(r->task->expr)).len == 0)
		return kw_yaml_fail(expr, r->err, "'expr' is empty");
	if (expr)
		locate(r, expr);
	if (!r->task->expr && !r->task->torch_form && r->task->output_count == 0)
		return kw_yaml_fail(r->root, r->err,
				    "key 'outputs' is missing (only an 'expr' or PyTorch can do without)");
	return KW_OK;
}
