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
static enum kw_status read_c(struct kw_task_reader *r, const struct kw_yaml *map)
{
	const char *name = NULL, *slash = strrchr(r->task->file, '/');
	enum kw_status s = kw_yaml_get_str(map, "c", false, &name, r->err);

	if (s != KW_OK || !name)
		return s;
	if (slash && name[0] != '/')
		r->task->reference_c = kw_arena_printf(r->arena, "%.*s%s",
						       (int)(slash + 1 - r->task->file),
						       r->task->file, name);
	else
		r->task->reference_c = name;
	return r->task->reference_c ? KW_OK : kw_task_nomem(r);
}

enum kw_status kw_task_read_reference(struct kw_task_reader *r, const struct kw_yaml *map)
{
	static const char *const keys[] = { "expr", "c", NULL };
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
		s = read_c(r, map);
	if (s != KW_OK)
		return s;
	if (!r->task->expr && !r->task->reference_c)
		return kw_yaml_fail(map, r->err, "'reference' needs an 'expr' or a 'c'");
	if (r->task->expr && r->task->reference_c)
		return kw_yaml_fail(kw_yaml_find(map, "c"), r->err, "a reference is an 'expr' or a 'c', not both");
	for (size_t i = 0; r->task->reference_c && i < r->task->output_count; i++)
		if (r->task->outputs[i].compare == KW_COMPARE_DISTRIBUTION)
			return kw_yaml_fail(kw_yaml_find(map, "c"), r->err, "'%s' is compared by its distribution, for which the reference is "
					    "drawn again and again: only an 'expr' can be", r->task->outputs[i].name);
	if (r->task->expr && kw_str_trim(kw_str_from(r->task->expr)).len == 0)
		return kw_yaml_fail(expr, r->err, "'expr' is empty");
	if (expr)
		locate(r, expr);
	if (!r->task->expr && r->task->output_count == 0)
		return kw_yaml_fail(r->root, r->err,
				    "key 'outputs' is missing (only an 'expr' can do without)");
	return KW_OK;
}
