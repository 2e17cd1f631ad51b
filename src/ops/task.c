/* Tasks: load, list, cost. */
#include <string.h>

#include "base/file.h"
#include "core/reference.h"
#include "ops/internal.h"

enum { EXPR_MAX_BYTES = 64 << 20 };

/* The expression of a task that was just loaded, and the outputs that follow from it where none are declared; releases the
 * task on failure. */
static enum kw_status finish(struct kw_op_task *t, struct kw_error *err)
{
	enum kw_status status = KW_OK;

	kw_arena_init(&t->arena, EXPR_MAX_BYTES);
	if (status == KW_OK)
		status = kw_op_torch_complete(t, err);
	if (status == KW_OK)
		status = kw_expr_complete_task(&t->task, err);
	if (status == KW_OK)
		status = kw_reference_load(&t->task, err);
	if (status == KW_OK && t->task.reference_c) /* for what is wrong with it */
		status = kw_reference_read(&t->task, &t->arena, &(struct kw_reference){ 0 }, err);
	if (status == KW_OK)
		status = kw_expr_parse(&t->task, &t->arena, &t->expr, err);
	if (status != KW_OK)
		kw_op_task_release(t);
	return status;
}

/* A file of Python, or something in one that can be called. */
static enum kw_status parse_stub(const char *word, struct kw_op_task *out, struct kw_error *err)
{
	struct kw_buf text;
	struct kw_arena a;
	const char *file;
	enum kw_status status;

	kw_buf_init(&text, 1 << 16);
	kw_arena_init(&a, 1 << 16);
	status = kw_op_torch_stub(word, &text, &a, &file, err);
	if (status == KW_OK)
		status = kw_task_parse_yaml(&out->task, file, text.ptr, text.len, err);
	kw_arena_release(&a);
	kw_buf_release(&text);
	return status;
}

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* An input that the expression never names was meant for another one, or is misspelt in it. */
static enum kw_status all_used(const char *expr, const char *const *inputs, size_t count, struct kw_error *err)
{
	for (size_t i = 0; i < count; i++) {
		size_t n = strspn(inputs[i], NAME_LETTERS);
		bool used = false;

		for (const char *at = expr; n && !used && *at; at += strcspn(at, NAME_LETTERS)) {
			size_t word = strspn(at, NAME_LETTERS);

			used = word == n && memcmp(at, inputs[i], n) == 0;
			at += word;
		}
		if (n && !used)
			return kw_fail(err, KW_ERR_USAGE, "", "--input '%.100s' is of no use: the expression '%.200s' has no '%.*s'", inputs[i],
				       expr, (int)n, inputs[i]);
	}
	return KW_OK;
}

enum kw_status kw_op_task_load(const char *word, const char *const *inputs, size_t input_count,
			       struct kw_op_task *out, struct kw_error *err)
{
	size_t len = strlen(word);
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	if (input_count && len > 5 && strcmp(word + len - 5, ".yaml") == 0)
		return kw_fail(err, KW_ERR_USAGE, "", "--input is for a TASK that is an expression; '%.200s' is a file with "
			       "its own inputs", word);
	if (input_count)
		status = kw_task_parse_line(&out->task, word, inputs, input_count, err);
	else if (kw_op_is_torch_word(word))
		status = parse_stub(word, out, err);
	else
		status = kw_task_load(&out->task, word, err);
	/* An expression without its inputs is the likely slip. */
	if (status == KW_ERR_NOT_FOUND && strpbrk(word, "(=+*@") && !kw_op_is_torch_word(word))
		status = kw_fail(err, KW_ERR_USAGE, "",
				 "'%.200s' looks like an expression; name its inputs, as in "
				 "--input 'x:f32[128,4096]'", word);
	if (status == KW_OK)
		status = finish(out, err);
	/* Last, so that what else is wrong with the expression is told first. */
	if (status == KW_OK && (status = all_used(word, inputs, input_count, err)) != KW_OK)
		kw_op_task_release(out);
	return status;
}

enum kw_status kw_op_task_parse(const char *file, const char *text, struct kw_op_task *out,
				struct kw_error *err)
{
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	status = kw_task_parse_yaml(&out->task, file, text, strlen(text), err);
	return status == KW_OK ? finish(out, err) : status;
}

void kw_op_task_release(struct kw_op_task *t)
{
	kw_arena_release(&t->arena);
	kw_task_release(&t->task);
	memset(t, 0, sizeof(*t));
}

static enum kw_status read_row(const char *path, struct kw_arena *a, struct kw_op_task_row *row,
			       struct kw_error *err)
{
	struct kw_op_task t;
	struct kw_arena texts;
	char *text;
	size_t len;
	enum kw_status status;

	kw_arena_init(&texts, 4 << 20);
	status = kw_data_read(path, &texts, &text, &len, err);
	if (status == KW_OK)
		status = kw_op_task_parse(path, text, &t, err);
	kw_arena_release(&texts);
	if (status != KW_OK)
		return status;
	row->name = kw_arena_strdup(a, t.task.name);
	row->title = kw_arena_strdup(a, t.task.title ? t.task.title : "");
	row->family = kw_family_name(kw_expr_family(t.expr));
	row->perf_count = t.task.perf_count;
	row->check_count = t.task.case_count - t.task.perf_count;
	kw_op_task_release(&t);
	return row->name && row->title ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

enum kw_status kw_op_task_list(struct kw_arena *a, struct kw_op_task_row **out, size_t *count,
			       struct kw_error *err)
{
	char **paths = NULL;
	size_t n = 0;
	enum kw_status status = kw_data_list("tasks/", ".yaml", a, &paths, &n, err);

	*count = 0;
	*out = kw_arena_calloc(a, n + 1, sizeof(**out));
	if (status == KW_OK && !*out)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; status == KW_OK && i < n; i++) {
		status = read_row(paths[i], a, &(*out)[i], err);
		if (status == KW_OK)
			(*count)++;
	}
	return status;
}

enum kw_status kw_op_task_cases(const struct kw_op_task *t, struct kw_arena *a,
				struct kw_op_case **out, struct kw_error *err)
{
	const struct kw_task *task = &t->task;
	struct kw_op_case *rows = kw_arena_calloc(a, task->case_count + 1, sizeof(*rows));
	struct kw_bound *b;
	enum kw_status status = rows ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	for (size_t i = 0; status == KW_OK && i < task->case_count; i++) {
		struct kw_op_case *r = &rows[i];
		double bytes;

		r->c = &task->cases[i];
		status = kw_expr_bind(t->expr, r->c, a, &b, err);
		r->inputs = kw_arena_calloc(a, task->input_count + 1, sizeof(*r->inputs));
		r->outputs = kw_arena_calloc(a, task->output_count + 1, sizeof(*r->outputs));
		if (status == KW_OK && (!r->inputs || !r->outputs))
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		if (status != KW_OK)
			break;
		for (size_t k = 0; k < task->input_count; k++)
			r->inputs[k] = *kw_bound_input_shape(b, (int)k);
		for (size_t k = 0; k < task->output_count; k++)
			r->outputs[k] = *kw_bound_output_shape(b, (int)k);
		kw_expr_cost(b, &r->cost);
		bytes = r->cost.bytes_read + r->cost.bytes_written;
		r->intensity = bytes > 0 ? r->cost.flops / bytes : 0;
	}
	*out = rows;
	return status;
}

enum kw_status kw_op_check_perf(const struct kw_op_task *t, struct kw_error *err)
{
	struct kw_op_case *cases = NULL;
	struct kw_arena a;
	double bytes = 0;
	enum kw_status status;

	if (t->task.perf_count == 0)
		return kw_fail(err, KW_ERR_INPUT, t->task.file, "the task has no perf case to be fast on");
	kw_arena_init(&a, EXPR_MAX_BYTES);
	status = kw_op_task_cases(t, &a, &cases, err);
	for (size_t i = 0; status == KW_OK && i < t->task.perf_count; i++)
		bytes += cases[i].cost.bytes_read + cases[i].cost.bytes_written;
	kw_arena_release(&a);
	if (status == KW_OK && bytes <= 0)
		status = kw_fail(err, KW_ERR_INPUT, t->task.file, "no perf case has any elements to be fast on (%s)",
				 t->task.cases[0].label);
	return status;
}
