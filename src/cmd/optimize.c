/* kwright optimize TASK */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

struct own {
	const char *strategy, *model, *base_url, *key_file, *record, *from;
	struct kw_texts role_models;
	int evaluations, rounds, tokens, max_tokens, prompt_bytes, parallel, width;
	int64_t time_ns, timeout_ns;
	double usd, temperature;
	bool review;
};

static const struct kw_option options[] = {
	{ "strategy", KW_OPT_TEXT, offsetof(struct own, strategy), "NAME", "tune: every pattern that fits; refine: a model's kernel, step by step" },
	{ "budget-evals", KW_OPT_COUNT, offsetof(struct own, evaluations), "N", "judge at most so many candidates" },
	{ "budget-time", KW_OPT_TIME, offsetof(struct own, time_ns), "TIME", "search at most so long: 60s, 5m" },
	{ "budget-rounds", KW_OPT_COUNT, offsetof(struct own, rounds), "N", "at most so many rounds" },
	{ "model", KW_OPT_TEXT, offsetof(struct own, model), "PROVIDER:NAME", "who writes kernels; kwright prompt list names providers" },
	{ "role-model", KW_OPT_TEXTS, offsetof(struct own, role_models), "ROLE=MODEL", "another model for one role (planner, coder, ...)" },
	{ "from", KW_OPT_TEXT, offsetof(struct own, from), "FILE", "start at this kernel" },
	{ "base-url", KW_OPT_TEXT, offsetof(struct own, base_url), "URL", "of another server that speaks the provider's protocol" },
	{ "key-file", KW_OPT_TEXT, offsetof(struct own, key_file), "FILE", "the key, in a file that only you can read" },
	{ "record", KW_OPT_TEXT, offsetof(struct own, record), "FILE", "record every answer, for --model replay:FILE" },
	{ "temperature", KW_OPT_NUMBER, offsetof(struct own, temperature), "T", "of the model; else its own" },
	{ "max-tokens", KW_OPT_COUNT, offsetof(struct own, max_tokens), "N", "of one answer, its reasoning included" },
	{ "prompt-limit", KW_OPT_COUNT, offsetof(struct own, prompt_bytes), "BYTES", "of one prompt (163840)" },
	{ "model-timeout", KW_OPT_TIME, offsetof(struct own, timeout_ns), "TIME", "without a sign of life from the model" },
	{ "budget-tokens", KW_OPT_COUNT, offsetof(struct own, tokens), "N", "ask no more once so many are spent" },
	{ "budget-usd", KW_OPT_NUMBER, offsetof(struct own, usd), "USD", "likewise, by knowledge/prices.yaml" },
	{ "parallel", KW_OPT_COUNT, offsetof(struct own, parallel), "N", "calls of models at once (4)" },
	{ "width", KW_OPT_COUNT, offsetof(struct own, width), "N", "kernels a round, of strategies that try several" },
	{ "review", KW_OPT_FLAG, offsetof(struct own, review), NULL, "let a reviewer look at each new best" },
};
static const struct kw_syntax syntax = {
	"optimize", "TASK", 1, 1,
	"Searches for a fast kernel, proves the best one on every case and on sizes it has not seen, and writes it\n"
	"with how to call it to .kernelwright/results/. A run that was stopped goes on by `kwright runs resume`.\n"
	"Exit code 0: there is one. 1: no pattern fits, none was right, or none was proven within the budget.",
	"kwright optimize 'softmax(x, axis=-1)' --input 'x:f32[128,4096]'", options,
	sizeof(options) / sizeof(options[0]), true
};

enum kw_status kw_print_search(const struct kw_cmd *cmd, struct kw_op_search *r, enum kw_status status,
			       struct kw_error *err)
{
	struct kw_buf out;

	if (status == KW_ERR_INTERRUPTED && r->run_id)
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted; resume with kwright runs resume %lld",
			       (long long)r->run_id);
	if (status != KW_OK)
		return status;
	if (cmd->json) {
		status = kw_print_json(kw_report_json(&r->report), err);
	} else {
		kw_buf_init(&out, 64 << 20);
		kw_report_text(&r->report, &out);
		status = kw_print_buf(&out, err);
	}
	return status == KW_OK && !r->report.proven ? KW_NO : status;
}

void kw_search_words(const struct kw_cmd *cmd, struct kw_op_search_opts *o)
{
	const struct kw_judging *j = &cmd->judging;

	*o = (struct kw_op_search_opts){ .task = cmd->args[0], .inputs = j->inputs.text, .input_count = j->inputs.count,
					 .backend = j->backend, .threads = j->threads, .seed = j->seed,
					 .large = j->large, .sanitize = j->sanitize, .progress = kw_show_search };
	kw_agent_opts_default(&o->agent);
}

/* "coder=openai:gpt-5" */
static enum kw_status role_model(const char *text, struct kw_agent_opts *o, struct kw_error *err)
{
	const char *equals = strchr(text, '=');
	char name[32];
	enum kw_role role;
	enum kw_status status;

	if (!equals || !equals[1] || (size_t)(equals - text) >= sizeof(name))
		return kw_fail(err, KW_ERR_USAGE, "", "--role-model takes ROLE=PROVIDER:NAME, not '%.100s'", text);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	status = kw_role_parse(name, &role, err);
	if (status == KW_OK)
		o->role_model[role] = equals + 1;
	return status;
}

static enum kw_status agent_words(const struct own *own, struct kw_agent_opts *o, struct kw_error *err)
{
	enum kw_status status = KW_OK;

	o->model = own->model;
	o->base_url = own->base_url;
	o->key_file = own->key_file;
	o->record = own->record;
	o->temperature = own->temperature;
	o->max_tokens = own->max_tokens;
	o->prompt_bytes = (size_t)own->prompt_bytes;
	o->timeout_ns = own->timeout_ns;
	o->budget_tokens = own->tokens;
	o->budget_usd = own->usd;
	o->parallel = own->parallel;
	o->review = own->review;
	for (size_t i = 0; i < own->role_models.count && status == KW_OK; i++)
		status = role_model(own->role_models.text[i], o, err);
	if (status == KW_OK && !own->model && own->role_models.count)
		status = kw_fail(err, KW_ERR_USAGE, "", "--role-model goes with --model, which serves the other roles");
	return status;
}

enum kw_status kw_cmd_optimize(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	struct own own = { .temperature = -1.0 };
	struct kw_op_search_opts o;
	struct kw_op_search r;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	kw_search_words(cmd, &o);
	status = agent_words(&own, &o.agent, err);
	if (status != KW_OK)
		return status;
	o.strategy = own.strategy;
	o.from = own.from;
	o.width = own.width;
	o.budget = (struct kw_budget){ .max_evaluations = own.evaluations, .max_wall_ns = own.time_ns,
				       .max_rounds = own.rounds };
	status = kw_op_optimize(&cmd->env, &o, &r, err);
	status = kw_print_search(cmd, &r, status, err);
	kw_op_search_release(&r);
	return status;
}
