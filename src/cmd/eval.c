/* kwright eval TASK FILE */
#include "cmd/eval.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

struct own {
	const char *case_name, *effort, *device;
	int trials;
	int64_t timeout_ns;
};

static const struct kw_option options[] = {
	{ "case", KW_OPT_TEXT, offsetof(struct own, case_name), "CASE", "only this case: its label, or its number from 1" },
	{ "trials", KW_OPT_COUNT, offsetof(struct own, trials), "N", "checked trials a case (5)" },
	{ "effort", KW_OPT_TEXT, offsetof(struct own, effort), "WORD", "screen, full (default) or final" },
	{ "timeout", KW_OPT_TIME, offsetof(struct own, timeout_ns), "TIME", "limit of one call (10s)" },
	{ "device", KW_OPT_TEXT, offsetof(struct own, device), "NAME",
	  "a hardware sheet (h200, a100, ...): builds for it and checks what it can launch, runs nothing; cpu or nvidia: where a "
	  "Python module runs" },
};
static const struct kw_syntax syntax = {
	"eval", "TASK FILE", 2, 2,
	"Builds a candidate, judges it on every case of the task, and times it against the baselines.\n"
	"Exit code 0: it is right (with --device: it builds, and the device could launch it). 1: it is not.",
	"kwright eval softmax my_softmax.c --json", options, sizeof(options) / sizeof(options[0]), true
};

static enum kw_status read_effort(const char *word, enum kw_judge_effort *out, struct kw_error *err)
{
	static const char *const words[] = { "screen", "full", "final" };
	static const enum kw_judge_effort efforts[] = { KW_EFFORT_SCREEN, KW_EFFORT_FULL, KW_EFFORT_FINAL };

	*out = KW_EFFORT_FULL;
	for (size_t i = 0; word && i < 3; i++) {
		*out = efforts[i];
		if (strcmp(word, words[i]) == 0)
			return KW_OK;
	}
	return word ? kw_unknown_word("effort", word, words, 3, err) : KW_OK;
}

static enum kw_status print(const struct kw_cmd *cmd, const struct kw_op_eval *r, struct kw_error *err)
{
	struct kw_buf out;

	if (cmd->json)
		return kw_print_json(kw_report_verdict_json(&r->verdict, r->name, r->verdict_id, r->record_sha), err);
	kw_buf_init(&out, 16 << 20);
	kw_report_verdict_text(&r->verdict, r->name, &out);
	kw_buf_printf(&out, "  verdict %lld of %s\n", (long long)r->verdict_id, cmd->env.store_dir);
	return kw_print_buf(&out, err);
}

enum kw_status kw_cmd_eval(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	struct own own = { 0 };
	struct kw_op_eval_opts o = { 0 };
	struct kw_op_eval r;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	status = read_effort(own.effort, &o.effort, err);
	if (status != KW_OK)
		return status;
	if (own.device && !kw_device_find(own.device) && cmd->judging.sanitize)
		return kw_fail(err, KW_ERR_USAGE, "", "--sanitize runs the kernel, and with --device %s nothing is run", own.device);
	if (own.device && !kw_device_find(own.device))
		return kw_eval_build(cmd, &(struct kw_op_build_opts){ .task = cmd->args[0], .file = cmd->args[1],
				     .backend = cmd->judging.backend, .case_name = own.case_name,
				     .inputs = cmd->judging.inputs.text, .input_count = cmd->judging.inputs.count,
				     .device = own.device, .large = cmd->judging.large }, err);
	o.task = cmd->args[0];
	o.file = cmd->args[1];
	o.inputs = cmd->judging.inputs.text;
	o.input_count = cmd->judging.inputs.count;
	o.backend = cmd->judging.backend;
	o.case_name = own.case_name;
	o.device = own.device;
	o.large = cmd->judging.large;
	o.sanitize = cmd->judging.sanitize;
	o.original = cmd->judging.original;
	o.baselines = cmd->judging.baseline_kinds;
	o.trials = own.trials;
	o.timings = cmd->judging.timings;
	o.threads = cmd->judging.threads;
	o.seed = cmd->judging.seed;
	o.call_timeout_ms = (int)(own.timeout_ns / 1000000 > INT32_MAX ? INT32_MAX : own.timeout_ns / 1000000);
	o.progress = kw_show_case;
	status = kw_op_eval(&cmd->env, &o, &r, err);
	if (status != KW_OK)
		return status;
	status = print(cmd, &r, err);
	fflush(stdout); /* closing a device takes a while; what failed here is told at the end */
	if (status == KW_OK && r.verdict.cls != KW_V_OK)
		status = KW_NO;
	kw_op_eval_release(&r);
	return status;
}
