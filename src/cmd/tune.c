/* kwright tune TASK FILE */
#include <string.h>

#include "cmd/cmd.h"

struct own {
	int evaluations;
	int64_t time_ns;
};

static const struct kw_option options[] = {
	{ "budget-evals", KW_OPT_COUNT, offsetof(struct own, evaluations), "N", "judge at most so many points" },
	{ "budget-time", KW_OPT_TIME, offsetof(struct own, time_ns), "TIME", "search at most so long (60s)" },
};
static const struct kw_syntax syntax = {
	"tune", "TASK FILE", 2, 2,
	"Searches the `tune` lines of a candidate for the fastest point, and judges that point in full.\n"
	"Exit code 0: the best point is right. 1: none is.",
	"kwright tune softmax my_softmax.c --budget-time 30s", options, sizeof(options) / sizeof(options[0]),
	true
};

enum kw_status kw_cmd_tune(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	struct own own = { 0 };
	struct kw_op_search_opts o;
	struct kw_op_search r;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	kw_search_words(cmd, &o);
	o.file = cmd->args[1];
	o.budget = (struct kw_budget){ .max_evaluations = own.evaluations, .max_wall_ns = own.time_ns };
	status = kw_op_tune(&cmd->env, &o, &r, err);
	status = kw_print_search(cmd, &r, status, err);
	kw_op_search_release(&r);
	return status;
}
