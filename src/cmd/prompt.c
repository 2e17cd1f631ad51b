/* kwright prompt list | show ROLE TASK | ask ROLE TASK */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "model/provider.h"
#include "report/table.h"

struct own {
	struct kw_texts inputs;
	const char *backend, *device, *from;
	struct kw_model_words model;
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

static struct kw_op_prompt_opts words(const struct kw_cmd *cmd, const struct own *own)
{
	return (struct kw_op_prompt_opts){ .role = cmd->args[1], .task = cmd->args[2], .inputs = own->inputs.text,
					   .input_count = own->inputs.count, .backend = own->backend, .device = own->device,
					   .from = own->from, .max_bytes = (size_t)own->max_bytes };
}

static json_t *answer_json(const struct kw_op_ask *r)
{
	const struct kw_answer *a = &r->answer;
	json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:b, s:i, s:I, s:f, s:b}", "model", a->model, "text", a->text, "reasoning",
			      a->reasoning, "finish", kw_finish_name(a->finish), "tokens_in", (json_int_t)a->tokens_in, "tokens_out",
			      (json_int_t)a->tokens_out, "counted", a->counted, "attempts", a->attempts, "latency_ns",
			      (json_int_t)a->latency_ns, "cost_usd", r->cost_usd, "priced", r->priced);

	if (j && r->has_reply) {
		json_object_set_new(j, "outcome", json_string(kw_reply_name(r->reply.kind)));
		json_object_set_new(j, "why", json_string(r->reply.why));
	}
	return j;
}

/* What a model says to that prompt. 1: the loop could not use it. */
static enum kw_status ask(const struct kw_cmd *cmd, const struct own *own, struct kw_error *err)
{
	struct kw_op_prompt_opts o = words(cmd, own);
	struct kw_agent_opts m;
	struct kw_op_ask r;
	enum kw_status status;

	kw_agent_opts_default(&m);
	status = kw_model_words(&own->model, &m, err);
	if (status != KW_OK)
		return status;
	status = kw_op_ask(&o, &m, &r, err);
	if (status == KW_OK && cmd->json) {
		status = kw_print_json(answer_json(&r), err);
	} else if (status == KW_OK) {
		printf("%s\n", r.answer.text);
		kw_log(KW_LOG_INFO, "%s: %lld tokens in, %lld out%s, %s; %s%s%s", r.answer.model, (long long)r.answer.tokens_in,
		       (long long)r.answer.tokens_out, r.answer.counted ? "" : " (estimated)", kw_finish_text(r.answer.finish),
		       r.has_reply ? kw_reply_text(r.reply.kind) : "answered", r.reply.why[0] ? ": " : "", r.reply.why);
	}
	if (status == KW_OK && r.has_reply && r.reply.kind != KW_REPLY_SOURCE)
		status = KW_NO;
	kw_op_ask_release(&r);
	return status;
}

/* The prompt alone on standard output, as it would be sent; what it weighs beside it. */
static enum kw_status show(const struct kw_cmd *cmd, const struct own *own, struct kw_error *err)
{
	struct kw_op_prompt_opts o = words(cmd, own);
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
	static const char *const actions[] = { "list", "show", "ask" };
	static const struct kw_option options[] = {
		{ "backend", KW_OPT_TEXT, offsetof(struct own, backend), "NAME", "kernel language (c)" },
		{ "device", KW_OPT_TEXT, offsetof(struct own, device), "NAME", "the hardware sheet of another machine" },
		{ "from", KW_OPT_TEXT, offsetof(struct own, from), "FILE", "with this kernel as the one to improve or repair" },
		{ "prompt-limit", KW_OPT_COUNT, offsetof(struct own, max_bytes), "BYTES", "leave the least useful parts out beyond this" },
		KW_MODEL_OPTIONS(struct own, model),
		{ "input", KW_OPT_TEXTS, offsetof(struct own, inputs), "SPEC",
		  "TASK is an expression: one of its inputs, x:f32[128,4096]" },
	};
	static const struct kw_syntax syntax = {
		"prompt", "list | show ROLE TASK | ask ROLE TASK", 1, 3,
		"list  roles, and the providers of models\n"
		"show  exactly what a role would be told about a task, and on standard error how large that is\n"
		"ask   sends that to a model and prints what it says; nothing is judged or stored",
		"kwright prompt show coder softmax", options, sizeof(options) / sizeof(options[0]), false
	};
	struct own own = { .model = KW_MODEL_WORDS_DEFAULT };
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);
	size_t i = 0;

	if (status != KW_OK || cmd->helped)
		return status;
	while (i < 3 && strcmp(cmd->args[0], actions[i]) != 0)
		i++;
	if (i == 3)
		return kw_unknown_word("action of prompt", cmd->args[0], actions, 3, err);
	if (cmd->arg_count != (i == 0 ? 1 : 3))
		return kw_fail(err, KW_ERR_USAGE, "", "usage: kwright prompt %s", syntax.args);
	return i == 0 ? list(cmd, err) : i == 1 ? show(cmd, &own, err) : ask(cmd, &own, err);
}
