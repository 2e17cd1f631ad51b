/* kwright tune TASK FILE */
#include <string.h>

#include "cmd/cmd.h"

struct own {
	struct kw_texts inputs;
	const char *backend;
	int evaluations, threads;
	int64_t time_ns;
	uint64_t seed;
	bool large;
};

static const struct kw_option options[] = {
	{ "budget-evals", KW_OPT_COUNT, offsetof(struct own, evaluations), "N", "judge at most so many points" },
	{ "budget-time", KW_OPT_TIME, offsetof(struct own, time_ns), "TIME", "search at most so long (60s)" },
	{ "backend", KW_OPT_TEXT, offsetof(struct own, backend), "NAME", "kernel language; else by the file's ending" },
	{ "input", KW_OPT_TEXTS, offsetof(struct own, inputs), "SPEC",
	  "TASK is an expression: one of its inputs, x:f32[128,4096]" },
	{ "threads", KW_OPT_COUNT, offsetof(struct own, threads), "N", "threads of the candidate (all cores)" },
	{ "seed", KW_OPT_SEED, offsetof(struct own, seed), "N", "of the inputs; else drawn after each build" },
	{ "large", KW_OPT_FLAG, offsetof(struct own, large), NULL, "large cases too" },
};
static const struct kw_syntax syntax = {
	"tune", "TASK FILE", 2, 2,
	"Searches the `tune` lines of a candidate for the fastest point, and judges that point in full.\n"
	"Exit code 0: the best point is right. 1: none is.",
	"kwright tune softmax my_softmax.c --budget-time 30s", options, sizeof(options) / sizeof(options[0])
};

enum kw_status kw_cmd_tune(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	struct own own = { 0 };
	struct kw_op_search_opts o = { 0 };
	struct kw_op_search r;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	o.task = cmd->args[0];
	o.file = cmd->args[1];
	o.inputs = own.inputs.text;
	o.input_count = own.inputs.count;
	o.backend = own.backend;
	o.budget = (struct kw_budget){ .max_evaluations = own.evaluations, .max_wall_ns = own.time_ns };
	o.threads = own.threads;
	o.seed = own.seed;
	o.large = own.large;
	o.progress = kw_show_search;
	status = kw_op_tune(&cmd->env, &o, &r, err);
	status = kw_print_search(cmd, &r, status, err);
	kw_op_search_release(&r);
	return status;
}
