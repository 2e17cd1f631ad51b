/* kwright report [RUN] */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "report/bench.h"

/* A benchmark has a report of its own. KW_NO: the run is none. */
static enum kw_status print_bench(const struct kw_cmd *cmd, struct kw_store *s, int64_t id, struct kw_error *err)
{
	struct kw_bench_report r;
	struct kw_run_row row;
	struct kw_arena a;
	struct kw_buf out;
	enum kw_status status;
	bool is_one;

	kw_arena_init(&a, 64 << 20);
	status = kw_store_run_get(s, id, &a, &row, err);
	is_one = status == KW_OK && strcmp(row.strategy, KW_BENCH_STRATEGY) == 0;
	kw_arena_release(&a);
	if (status != KW_OK || !is_one)
		return status == KW_OK ? KW_NO : status;
	status = kw_bench_report_load(&r, s, id, err);
	if (status != KW_OK)
		return status;
	kw_buf_init(&out, 256 << 20);
	if (!cmd->json)
		kw_bench_report_text(&r, true, &out);
	status = cmd->json ? kw_print_json(kw_bench_report_json(&r), err) : kw_print_buf(&out, err);
	kw_bench_report_release(&r);
	return status;
}

enum kw_status kw_cmd_report(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	static const struct kw_syntax syntax = {
		"report", "[RUN]", 0, 1,
		"What a run did and found, from the store: rounds, best kernel against the baselines, verdicts, files.\n"
		"Without a number: the newest run.",
		"kwright report 3 --json", NULL, 0, false
	};
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, NULL, err);

	return status != KW_OK || cmd->helped ? status : kw_print_report(cmd, cmd->arg_count ? cmd->args[0] : NULL, err);
}

enum kw_status kw_print_report(const struct kw_cmd *cmd, const char *number, struct kw_error *err)
{
	struct kw_report r;
	struct kw_store *s;
	struct kw_buf out;
	int64_t id;
	enum kw_status status = kw_run_number(cmd, number, &id, err);

	if (status == KW_OK)
		status = kw_store_open(cmd->env.store_dir, true, &s, err);
	if (status != KW_OK)
		return status;
	status = print_bench(cmd, s, id, err);
	if (status != KW_NO) {
		kw_store_close(s);
		return status;
	}
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
