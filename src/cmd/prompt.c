/* kwright prompt list | show ROLE TASK */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "model/provider.h"
#include "report/table.h"

struct own {
	struct kw_texts inputs;
	const char *backend, *device, *from;
	int max_bytes;
};

static json_t *named(const char *name, const char *text)
{
	return json_pack("{s:s, s:s}", "name", name, "title", text);
}

static enum kw_status list_json(struct kw_error *err)
{
	const struct kw_provider *const *all;
	json_t *roles = json_array(), *providers = json_array();
	size_t n;

	for (int i = 0; i < KW_ROLE_COUNT; i++)
		json_array_append_new(roles, named(kw_role_name((enum kw_role)i), kw_role_text((enum kw_role)i)));
	all = kw_provider_all(&n);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(providers, named(all[i]->name, all[i]->title));
	return kw_print_json(json_pack("{s:o, s:o}", "roles", roles, "providers", providers), err);
}

static enum kw_status list(const struct kw_cmd *cmd, struct kw_error *err)
{
	const struct kw_provider *const *all;
	struct kw_arena a;
	struct kw_table t;
	struct kw_buf out;
	size_t n;
	enum kw_status status;

	if (cmd->json)
		return list_json(err);
	kw_arena_init(&a, 1 << 20);
	kw_buf_init(&out, 1 << 20);
	kw_table_init(&t, &a, "<<");
	kw_table_row(&t, "role", "what it writes");
	for (int i = 0; i < KW_ROLE_COUNT; i++)
		kw_table_row(&t, kw_role_name((enum kw_role)i), kw_role_text((enum kw_role)i));
	kw_table_row(&t, "", "");
	kw_table_row(&t, "provider", "");
	all = kw_provider_all(&n);
	for (size_t i = 0; i < n; i++)
		kw_table_row(&t, kw_arena_printf(&a, "%s%s%s", all[i]->name, all[i]->argument[0] ? ":" : "", all[i]->argument),
			     all[i]->title);
	kw_table_write(&t, "", &out);
	status = kw_print_buf(&out, err);
	kw_arena_release(&a);
	return status;
}

static json_t *prompt_json(const struct kw_op_prompt_opts *o, const struct kw_prompt *p)
{
	json_t *dropped = json_array();

	for (size_t i = 0; dropped && i < p->dropped_count; i++)
		json_array_append_new(dropped, json_string(p->dropped[i]));
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:o}", "role", o->role, "task", o->task, "prompt", p->text, "bytes",
			 (json_int_t)p->len, "tokens_estimated", (json_int_t)kw_tokens_estimate(p->len), "dropped", dropped);
}

/* The prompt alone on standard output, as it would be sent; what it weighs beside it. */
static enum kw_status show(const struct kw_cmd *cmd, const struct own *own, struct kw_error *err)
{
	struct kw_op_prompt_opts o = { .role = cmd->args[1], .task = cmd->args[2], .inputs = own->inputs.text,
				       .input_count = own->inputs.count, .backend = own->backend, .device = own->device,
				       .from = own->from, .max_bytes = (size_t)own->max_bytes };
	struct kw_op_prompt r;
	enum kw_status status = kw_op_prompt(&o, &r, err);

	if (status == KW_OK && cmd->json) {
		status = kw_print_json(prompt_json(&o, &r.prompt), err);
	} else if (status == KW_OK) {
		fputs(r.prompt.text, stdout);
		kw_log(KW_LOG_INFO, "%zu bytes, about %lld tokens; %s", r.prompt.len,
		       (long long)kw_tokens_estimate(r.prompt.len), r.prompt.dropped_count ? "left out:" : "nothing left out");
		for (size_t i = 0; i < r.prompt.dropped_count; i++)
			kw_log(KW_LOG_INFO, "  %s", r.prompt.dropped[i]);
	}
	kw_op_prompt_release(&r);
	return status;
}

enum kw_status kw_cmd_prompt(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	static const char *const actions[] = { "list", "show" };
	static const struct kw_option options[] = {
		{ "backend", KW_OPT_TEXT, offsetof(struct own, backend), "NAME", "kernel language (c)" },
		{ "device", KW_OPT_TEXT, offsetof(struct own, device), "NAME", "the hardware sheet of another machine" },
		{ "from", KW_OPT_TEXT, offsetof(struct own, from), "FILE", "with this kernel as the one to improve or repair" },
		{ "prompt-limit", KW_OPT_COUNT, offsetof(struct own, max_bytes), "BYTES", "leave the least useful parts out beyond this" },
		{ "input", KW_OPT_TEXTS, offsetof(struct own, inputs), "SPEC",
		  "TASK is an expression: one of its inputs, x:f32[128,4096]" },
	};
	static const struct kw_syntax syntax = {
		"prompt", "list | show ROLE TASK", 1, 3,
		"list  roles, and the providers of models\n"
		"show  exactly what a role would be told about a task, and on standard error how large that is",
		"kwright prompt show coder softmax", options, sizeof(options) / sizeof(options[0]), false
	};
	struct own own = { 0 };
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	if (strcmp(cmd->args[0], "list") == 0 && cmd->arg_count == 1)
		return list(cmd, err);
	if (strcmp(cmd->args[0], "show") != 0 && strcmp(cmd->args[0], "list") != 0)
		return kw_unknown_word("action of prompt", cmd->args[0], actions, 2, err);
	if (cmd->args[0][0] != 's' || cmd->arg_count != 3)
		return kw_fail(err, KW_ERR_USAGE, "", "usage: kwright prompt %s", syntax.args);
	return show(cmd, &own, err);
}
