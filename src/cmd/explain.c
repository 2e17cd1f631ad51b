/* kwright explain INPUT... */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cmd/cmd.h"
#include "report/explain.h"

struct own {
	bool compare, all;
	bool no_counters;
	const char *device, *html, *applied, *backend;
	int threads;
};

static const struct kw_option options[] = {
	{ "compare", KW_OPT_FLAG, offsetof(struct own, compare), "",
	  "two inputs: what the change from the first to the second did" },
	{ "all", KW_OPT_FLAG, offsetof(struct own, all), "",
	  "every launch and finding, and what was left out and why" },
	{ "html", KW_OPT_TEXT, offsetof(struct own, html), "FILE",
	  "also a page with the roofline and the stall reasons" },
	{ "device", KW_OPT_TEXT, offsetof(struct own, device), "NAME",
	  "a hardware sheet, where the input does not name its device" },
	{ "applied", KW_OPT_TEXT, offsetof(struct own, applied), "RULE",
	  "with --compare: keep what came of this rule's directive (kwright memory rules)" },
	{ "backend", KW_OPT_TEXT, offsetof(struct own, backend), "NAME", "of a candidate; else by its ending" },
	{ "no-counters", KW_OPT_FLAG, offsetof(struct own, no_counters), "",
	  "of a candidate: judged and timed, but no profiler is run (Nsight Compute, where it is)" },
	{ "threads", KW_OPT_THREADS, offsetof(struct own, threads), "N", "of a candidate that runs on the CPU" },
};
static const struct kw_syntax syntax = {
	"explain",
	"INPUT... | TASK FILE | --compare BEFORE AFTER",
	1,
	KW_ARGS_MAX,
	"Why a kernel is slow, and what to change. An INPUT is known by its content: an export of Nsight Compute in "
	"any form (or its\n"
	"report file where ncu is), the output of perf stat, CUDA, OpenCL, C or Python source, a cubin, PTX, SASS, the "
	"log of ptxas or\n"
	"of a compiler, a table of times; - is standard input. A TASK with a candidate is judged and timed here first,\n"
	"and on an NVIDIA GPU run under Nsight Compute where that is installed.",
	"kwright explain profile.csv",
	options,
	sizeof(options) / sizeof(options[0]),
	false
};

static enum kw_status print(const struct kw_cmd *cmd, const struct own *own, const struct kw_op_explain *r,
			    struct kw_error *err)
{
	struct kw_buf out;

	if (cmd->json)
		return kw_print_json(kw_report_explain_json(&r->all), err);
	kw_buf_init(&out, 256 << 20);
	if (!kw_report_explain_text(&r->all, own->all, &out)) {
		kw_buf_release(&out);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	if (r->recorded)
		kw_buf_printf(&out, "%s\n", r->recorded);
	return kw_print_buf(&out, err);
}

static enum kw_status write_page(const char *path, const struct kw_op_explain *r, struct kw_error *err)
{
	struct kw_buf out;
	enum kw_status s;

	kw_buf_init(&out, 256 << 20);
	s = kw_report_explain_html(&r->all, &out) ? kw_file_write(path, out.ptr, out.len, err)
						   : kw_fail(err, KW_ERR_NOMEM, path, "out of memory");
	kw_buf_release(&out);
	return s;
}

enum kw_status kw_cmd_explain(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	struct own own = { 0 };
	struct kw_op_explain r;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	status = kw_op_explain(&cmd->env,
			       &(struct kw_op_explain_opts){ .inputs = cmd->args,
							     .count = cmd->arg_count,
							     .compare = own.compare,
							     .device = own.device,
							     .applied = own.applied,
							     .backend = own.backend,
							     .no_counters = own.no_counters,
							     .threads = own.threads,
							     .progress = kw_show_case },
			       &r, err);
	if (status != KW_OK)
		return status;
	status = print(cmd, &own, &r, err);
	if (status == KW_OK && own.html)
		status = write_page(own.html, &r, err);
	kw_op_explain_release(&r);
	return status;
}
