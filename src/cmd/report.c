/* kwright report [RUN] */
#include <stdio.h>

#include "cmd/cmd.h"

enum kw_status kw_cmd_report(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	static const struct kw_syntax syntax = {
		"report", "[RUN]", 0, 1,
		"What a run did and found, from the store: rounds, best kernel against the baselines, verdicts, files.\n"
		"Without a number: the newest run.",
		"kwright report 3 --json", NULL, 0, false
	};
	struct kw_report r;
	struct kw_store *s;
	struct kw_buf out;
	int64_t id;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, NULL, err);

	if (status != KW_OK || cmd->helped)
		return status;
	status = kw_run_number(cmd, cmd->arg_count ? cmd->args[0] : NULL, &id, err);
	if (status == KW_OK)
		status = kw_store_open(cmd->env.store_dir, true, &s, err);
	if (status != KW_OK)
		return status;
	status = kw_report_load(&r, s, id, err);
	kw_store_close(s);
	if (status != KW_OK)
		return status;
	kw_buf_init(&out, 64 << 20);
	if (!cmd->json)
		kw_report_text(&r, &out);
	status = cmd->json ? kw_print_json(kw_report_json(&r), err) : kw_print_buf(&out, err);
	kw_report_release(&r);
	return status;
}
