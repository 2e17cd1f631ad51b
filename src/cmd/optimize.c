/* kwright optimize TASK */
#include <stdio.h>

#include "cmd/cmd.h"

struct own {
	const char *strategy, *record, *from;
	struct kw_model_words model;
	int evaluations, rounds, tokens, prompt_bytes, parallel, width, devices;
	int64_t time_ns;
	double usd;
	bool review;
};

static const struct kw_option options[] = {
	{ "strategy", KW_OPT_TEXT, offsetof(struct own, strategy), "NAME", "tune: patterns; parts; with a model refine, best_of, beam, evolve, ladder" },
	{ "budget-evals", KW_OPT_COUNT, offsetof(struct own, evaluations), "N", "judge at most so many candidates" },
	{ "budget-time", KW_OPT_TIME, offsetof(struct own, time_ns), "TIME", "search at most so long: 60s, 5m" },
	{ "budget-rounds", KW_OPT_COUNT, offsetof(struct own, rounds), "N", "at most so many rounds" },
	KW_MODEL_OPTIONS(struct own, model),
	{ "from", KW_OPT_TEXT, offsetof(struct own, from), "FILE", "start at this kernel" },
	{ "record", KW_OPT_TEXT, offsetof(struct own, record), "FILE", "record every answer, for --model replay:FILE" },
	{ "prompt-limit", KW_OPT_COUNT, offsetof(struct own, prompt_bytes), "BYTES", "of one prompt (163840)" },
	{ "budget-tokens", KW_OPT_COUNT, offsetof(struct own, tokens), "N", "ask no more once so many are spent" },
	{ "budget-usd", KW_OPT_AMOUNT, offsetof(struct own, usd), "USD", "likewise, by knowledge/prices.yaml" },
	{ "parallel", KW_OPT_COUNT, offsetof(struct own, parallel), "N", "calls of models at once (4)" },
	{ "width", KW_OPT_COUNT, offsetof(struct own, width), "N", "kernels a round, of strategies that try several (at most 64)" },
	{ "devices", KW_OPT_COUNT, offsetof(struct own, devices), "N", "judge on so many at once (all GPUs; on a CPU one, as they disturb each other)" },
	{ "review", KW_OPT_FLAG, offsetof(struct own, review), NULL, "let a reviewer look at each new best" },
};
static const struct kw_syntax syntax = {
	"optimize", "TASK", 1, 1,
	"Searches for a fast kernel, proves the best one on every case and on sizes it has not seen, and writes it\n"
	"with how to call it to .kernelwright/results/. A run that was stopped goes on by `kwright runs resume`.\n"
	"Exit code 0: there is one. 1: no pattern fits, none was right, none was proven within the budget, or what is right\n"
	"is slower than the best baseline.",
	"kwright optimize 'softmax(x, axis=-1)' --input 'x:f32[128,4096]'", options,
	sizeof(options) / sizeof(options[0]), true
};

/* A fast kernel was asked for, and there is none. Of a candidate's own tune lines the best point is asked for, whatever its time. */
static bool loses(const struct kw_report *r)
{
	return strcmp(r->run.strategy, KW_OP_TUNE_FILE) != 0 && kw_verdict_is_slower(&r->best, NULL);
}

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
	return status == KW_OK && (!r->report.proven || loses(&r->report)) ? KW_NO : status;
}

void kw_search_words(const struct kw_cmd *cmd, struct kw_op_search_opts *o)
{
	const struct kw_judging *j = &cmd->judging;

	*o = (struct kw_op_search_opts){ .task = cmd->args[0], .inputs = j->inputs.text, .input_count = j->inputs.count,
					 .backend = j->backend, .threads = j->threads, .seed = j->seed,
					 .timings = j->timings, .large = j->large, .sanitize = j->sanitize, .original = j->original,
					 .baselines = j->baseline_kinds, .progress = kw_show_search };
	kw_agent_opts_default(&o->agent);
}

enum kw_status kw_cmd_optimize(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	struct own own = { .model = KW_MODEL_WORDS_DEFAULT };
	struct kw_op_search_opts o;
	struct kw_op_search r;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	kw_search_words(cmd, &o);
	status = kw_model_words(&own.model, &o.agent, err);
	if (status != KW_OK)
		return status;
	if (!own.model.model && (own.from || own.record || own.review))
		return kw_fail(err, KW_ERR_USAGE, "", "%s goes with --model%s", own.from ? "--from" : own.record ? "--record" : "--review",
			       own.from ? "; kwright tune TASK FILE searches a kernel's own tune lines" : "");
	o.agent.record = own.record;
	o.agent.prompt_bytes = (size_t)own.prompt_bytes;
	o.agent.budget_tokens = own.tokens;
	o.agent.budget_usd = own.usd;
	o.agent.parallel = own.parallel;
	o.agent.review = own.review;
	o.strategy = own.strategy;
	o.from = own.from;
	o.width = own.width;
	o.evaluators = own.devices;
	o.budget = (struct kw_budget){ .max_evaluations = own.evaluations, .max_wall_ns = own.time_ns,
				       .max_rounds = own.rounds };
	status = kw_op_optimize(&cmd->env, &o, &r, err);
	status = kw_print_search(cmd, &r, status, err);
	kw_op_search_release(&r);
	return status;
}
