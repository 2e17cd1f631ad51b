/* kwright task list | show T | check T | new WORDS | accept FILE */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "report/table.h"

struct own {
	struct kw_texts inputs;
	struct kw_model_words model;
	const char *out, *torch, *args;
};

static enum kw_status list(const struct kw_cmd *cmd, struct kw_error *err)
{
	struct kw_arena a;
	struct kw_op_task_row *rows;
	struct kw_table t;
	struct kw_buf out;
	json_t *j = json_array();
	size_t n = 0;
	enum kw_status status;

	kw_arena_init(&a, 64 << 20);
	kw_buf_init(&out, 16 << 20);
	kw_table_init(&t, &a, "<<>><");
	kw_table_row(&t, "task", "family", "perf", "check", "");
	status = kw_op_task_list(&a, &rows, &n, err);
	for (size_t i = 0; status == KW_OK && i < n; i++) {
		char perf[24], check[24];

		snprintf(perf, sizeof(perf), "%zu", rows[i].perf_count);
		snprintf(check, sizeof(check), "%zu", rows[i].check_count);
		kw_table_row(&t, rows[i].name, rows[i].family, perf, check, rows[i].title);
		if (cmd->json &&
		    json_array_append_new(j, json_pack("{s:s, s:s, s:s, s:I, s:I}", "name", rows[i].name, "title",
						       rows[i].title, "family", rows[i].family, "perf",
						       (json_int_t)rows[i].perf_count, "check",
						       (json_int_t)rows[i].check_count)) != 0)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	kw_table_write(&t, "", &out);
	if (status == KW_OK)
		status = cmd->json ? kw_print_json(json_incref(j), err) : kw_print_buf(&out, err);
	json_decref(j);
	kw_buf_release(&out);
	kw_arena_release(&a);
	return status;
}

static void tensor_text(const struct kw_tensor_decl *d, struct kw_buf *out)
{
	kw_buf_printf(out, "  %s: %s[", d->name, kw_dtype_name(d->dtype));
	for (int i = 0; i < d->rank; i++)
		kw_buf_printf(out, "%s%s", i ? ", " : "", kw_intexpr_text(d->shape[i]));
	kw_buf_addz(out, "]");
	for (int i = 0; i < d->rank && d->has_strides; i++)
		kw_buf_printf(out, "%s%s%s", i ? ", " : ", strides [", kw_intexpr_text(d->stride[i]), i == d->rank - 1 ? "]" : "");
	if (d->align_bytes)
		kw_buf_printf(out, ", aligned to %lld bytes", (long long)d->align_bytes);
	if (d->inout)
		kw_buf_addz(out, ", in place");
	if (d->contiguous != KW_CONTIGUOUS_UNSAID)
		kw_buf_addz(out, d->contiguous == KW_CONTIGUOUS_ALWAYS ? ", always contiguous" : ", any strides");
	kw_buf_addz(out, "\n");
}

static void head_text(const struct kw_op_task *t, struct kw_buf *out)
{
	const struct kw_task *k = &t->task;

	kw_buf_printf(out, "%s%s%s%s\n", k->name, k->title && k->title[0] ? ": " : "", k->title ? k->title : "",
		      k->unconfirmed ? "  (unconfirmed: drafted by a model)" : "");
	kw_buf_printf(out, "family %s; reference:\n", kw_family_name(kw_expr_family(t->expr)));
	if (k->reference_c || k->torch_form)
		kw_buf_printf(out, "  %s%s%s\n", k->expr && k->torch_form == KW_TORCH_LINE ? "PyTorch too" : kw_task_reference_kind(k),
			      k->torch_form == KW_TORCH_LINE ? "" : k->expr ? " for " : ", ",
			      k->reference_c ? k->reference_c : k->torch_form == KW_TORCH_LINE ? "" : k->reference_torch);
	for (struct kw_str rest = kw_str_from(k->expr ? k->expr : k->torch_form == KW_TORCH_LINE ? k->reference_torch : ""), line;
	     kw_str_split(&rest, '\n', &line);)
		if (kw_str_trim(line).len)
			kw_buf_printf(out, "  " KW_STR_FMT "\n", KW_STR_ARG(kw_str_trim(line)));
	for (size_t i = 0; i < k->grad_count; i++)
		kw_buf_printf(out, "%s%s%s", i ? ", " : "its backward pass, by ", k->grad[i], i + 1 == k->grad_count ? "\n" : "");
	if (k->reference_note)
		kw_buf_printf(out, "  note: %s\n", k->reference_note);
	kw_buf_addz(out, "inputs\n");
	for (size_t i = 0; i < k->input_count; i++)
		tensor_text(&k->inputs[i], out);
	kw_buf_addz(out, "outputs\n");
	for (size_t i = 0; i < k->output_count; i++)
		tensor_text(&k->outputs[i], out);
}

static const char *shapes_text(struct kw_arena *a, const struct kw_task *t, const struct kw_op_case *c)
{
	struct kw_buf b;
	char shape[256];
	const char *out;

	kw_buf_init(&b, 8192);
	for (size_t i = 0; i < t->input_count; i++)
		kw_buf_printf(&b, "%s%s", i ? " " : "", kw_shape_text(&c->inputs[i], shape, sizeof(shape)));
	kw_buf_addz(&b, " ->");
	for (size_t i = 0; i < t->output_count; i++)
		kw_buf_printf(&b, " %s", kw_shape_text(&c->outputs[i], shape, sizeof(shape)));
	out = kw_arena_str(a, kw_buf_str(&b));
	kw_buf_release(&b);
	return out;
}

static void cases_text(const struct kw_op_task *t, const struct kw_op_case *rows, struct kw_arena *a,
		       struct kw_buf *out)
{
	struct kw_table table;

	kw_table_init(&table, a, "<<<>>>");
	kw_table_row(&table, "case", "", "shapes", "flops", "bytes", "flops/byte");
	for (size_t i = 0; i < t->task.case_count; i++) {
		const struct kw_op_case *r = &rows[i];
		char bytes[40], flops[40], intensity[40];

		kw_human_bytes(r->cost.bytes_read + r->cost.bytes_written, bytes, sizeof(bytes));
		snprintf(flops, sizeof(flops), "%.4g", r->cost.flops);
		snprintf(intensity, sizeof(intensity), "%.3g", r->intensity);
		if (kw_expr_is_external(t->expr)) /* nobody knows what it does */
			intensity[0] = flops[0] = '?', intensity[1] = flops[1] = '\0';
		kw_table_row(&table, r->c->label,
			     r->c->large ? "large" : r->c->perf ? "perf" : "check", shapes_text(a, &t->task, r),
			     flops, bytes, intensity);
	}
	kw_table_write(&table, "", out);
}

static json_t *shape_json(const struct kw_shape *s)
{
	json_t *j = json_array();

	for (int i = 0; j && i < s->rank; i++)
		json_array_append_new(j, json_integer(s->dim[i]));
	return j;
}

static json_t *shapes_json(const struct kw_tensor_decl *d, const struct kw_shape *s, size_t n)
{
	json_t *j = json_object();

	for (size_t i = 0; j && i < n; i++)
		json_object_set_new(j, d[i].name, json_pack("{s:s, s:o}", "dtype", kw_dtype_name(d[i].dtype),
							    "shape", shape_json(&s[i])));
	return j;
}

static json_t *show_json(const struct kw_op_task *t, const struct kw_op_case *rows)
{
	const struct kw_task *k = &t->task;
	json_t *cases = json_array();

	for (size_t i = 0; cases && i < k->case_count; i++) {
		const struct kw_op_case *r = &rows[i];

		if (json_array_append_new(cases, json_pack(
			"{s:s, s:b, s:b, s:o, s:o, s:f, s:f, s:f, s:f}", "case", r->c->label, "perf", r->c->perf,
			"large", r->c->large, "inputs", shapes_json(k->inputs, r->inputs, k->input_count), "outputs",
			shapes_json(k->outputs, r->outputs, k->output_count), "flops", r->cost.flops, "bytes_read",
			r->cost.bytes_read, "bytes_written", r->cost.bytes_written, "intensity",
			r->intensity)) != 0) {
			json_decref(cases);
			return NULL;
		}
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "name", k->name, "title", k->title ? k->title : "",
			 "sha256", k->sha256, "family", kw_family_name(kw_expr_family(t->expr)), "expr",
			 k->expr ? k->expr : "", "cases", cases);
}

static enum kw_status show(const struct kw_cmd *cmd, const struct kw_op_task *t, struct kw_error *err)
{
	struct kw_arena a;
	struct kw_op_case *rows;
	struct kw_buf out;
	enum kw_status status;

	kw_arena_init(&a, 256 << 20);
	kw_buf_init(&out, 16 << 20);
	status = kw_op_task_cases(t, &a, &rows, err);
	if (status == KW_OK && cmd->json) {
		status = kw_print_json(show_json(t, rows), err);
	} else if (status == KW_OK) {
		head_text(t, &out);
		cases_text(t, rows, &a, &out);
		status = kw_print_buf(&out, err);
	}
	kw_buf_release(&out);
	kw_arena_release(&a);
	return status;
}

static enum kw_status check(const struct kw_cmd *cmd, const struct kw_op_task *t, struct kw_error *err)
{
	struct kw_arena a;
	const char **labels = NULL;
	size_t n = 0;
	json_t *list = json_array();
	enum kw_status status;

	kw_arena_init(&a, 1 << 30);
	status = kw_op_task_audit(t, &a, &labels, &n, err);
	for (size_t i = 0; status == KW_OK && i < n; i++) {
		if (cmd->json)
			json_array_append_new(list, json_string(labels[i]));
		else
			printf("%s\n", labels[i]);
	}
	if (status == KW_OK && cmd->json)
		status = kw_print_json(json_pack("{s:s, s:O}", "name", t->task.name, "labels", list), err);
	else if (status == KW_OK && n == 0)
		printf("%s: nothing to remark\n", t->task.name);
	json_decref(list);
	kw_arena_release(&a);
	return status;
}

static json_t *draft_json(const struct kw_op_draft *d)
{
	json_t *assumptions = json_array();

	for (size_t i = 0; assumptions && i < d->assumption_count; i++)
		json_array_append_new(assumptions, json_string(d->assumptions[i]));
	return json_pack("{s:s, s:s, s:s, s:b, s:o}", "name", d->name, "file", d->path, "model", d->model, "unconfirmed", 1,
			 "assumptions", assumptions);
}

/* A draft from words, with what it takes for granted. */
static enum kw_status new_task(const struct kw_cmd *cmd, const struct own *own, struct kw_error *err)
{
	struct kw_agent_opts m;
	struct kw_op_draft d;
	enum kw_status status;

	kw_agent_opts_default(&m);
	status = kw_model_words(&own->model, &m, err);
	if (status != KW_OK)
		return status;
	status = kw_op_task_new(cmd->args[1], own->out, &m, &d, err);
	if (status == KW_OK && cmd->json) {
		status = kw_print_json(draft_json(&d), err);
	} else if (status == KW_OK) {
		printf("%s: drafted by %s, unconfirmed\n", d.path, d.model);
		if (d.assumption_count == 0)
			printf("  it names no assumption: read it with care\n");
		for (size_t i = 0; i < d.assumption_count; i++)
			printf("  assumes: %s\n", d.assumptions[i]);
		printf("read it, correct it, then: kwright task accept %s\n", d.path);
	}
	kw_op_draft_release(&d);
	return status;
}

static enum kw_status accept_task(const struct kw_cmd *cmd, struct kw_error *err)
{
	enum kw_status status = kw_op_task_accept(cmd->args[1], err);

	if (status != KW_OK)
		return status;
	if (cmd->json)
		return kw_print_json(json_pack("{s:s}", "accepted", cmd->args[1]), err);
	printf("%s is accepted\n", cmd->args[1]);
	return KW_OK;
}

enum kw_status kw_cmd_task(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	static const char *const actions[] = { "list", "show", "check", "new", "accept" };
	static const struct kw_option options[] = {
		{ "input", KW_OPT_TEXTS, offsetof(struct own, inputs), "SPEC",
		  "TASK is an expression: one of its inputs, x:f32[128,4096]" },
		{ "torch", KW_OPT_TEXT, offsetof(struct own, torch), "FILE.py:NAME", "instead of TASK: a function or module of PyTorch" },
		{ "args", KW_OPT_TEXT, offsetof(struct own, args), "FILE.pt", "what it is called with, by torch.save" },
		{ "out", KW_OPT_TEXT, offsetof(struct own, out), "FILE", "new: where the draft goes (NAME.yaml)" },
		KW_MODEL_OPTIONS(struct own, model),
	};
	static const struct kw_syntax syntax = {
		"task", "list | show TASK | check TASK | new WORDS | accept FILE", 1, 2,
		"list    the tasks of the library\n"
		"show    shapes, flops, bytes and arithmetic intensity of each case\n"
		"check   labels what makes a task easy to cheat on or odd; refuses nothing\n"
		"new     a model drafts a task from words and lists what it assumes; the draft is unconfirmed\n"
		"accept  takes that mark from a draft",
		"kwright task show softmax", options, sizeof(options) / sizeof(options[0]), false
	};
	struct own own = { .model = KW_MODEL_WORDS_DEFAULT };
	struct kw_op_task t;
	size_t i;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	if (strcmp(cmd->args[0], "list") == 0)
		return list(cmd, err);
	for (i = 1; i < 5 && strcmp(cmd->args[0], actions[i]) != 0; i++)
		;
	if (i == 5)
		return kw_unknown_word("action of task", cmd->args[0], actions, 5, err);
	status = kw_torch_task(cmd, own.torch, own.args, 1, err);
	if (status != KW_OK)
		return status;
	if (cmd->arg_count < 2)
		return kw_fail(err, KW_ERR_USAGE, "", "usage: kwright task %s %s", cmd->args[0], i < 3 ? "TASK" : i == 3 ? "WORDS" : "FILE");
	if (i >= 3)
		return i == 3 ? new_task(cmd, &own, err) : accept_task(cmd, err);
	status = kw_op_task_load(cmd->args[1], own.inputs.text, own.inputs.count, &t, err);
	if (status != KW_OK)
		return status;
	status = cmd->args[0][0] == 's' ? show(cmd, &t, err) : check(cmd, &t, err);
	kw_op_task_release(&t);
	return status;
}
