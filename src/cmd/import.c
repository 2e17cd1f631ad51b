/* kwright import TASK FILE | import PROBLEM.py */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cmd/cmd.h"

struct own {
	struct kw_texts inputs, args;
	const char *out, *entry, *grid, *block, *backend;
	int64_t timeout_ns;
	bool eval;
};

/* "kernel.cu" beside us becomes "kernel.candidate.cu" here. */
static const char *default_out(const char *file, char *out, size_t out_bytes)
{
	const char *base = kw_path_base(file), *dot = strrchr(base, '.');

	snprintf(out, out_bytes, "%.*s.candidate%s", dot ? (int)(dot - base) : (int)strlen(base), base, dot ? dot : "");
	return out;
}

/* What a task does not say by itself, for people. */
static void problem_notes(const json_t *d)
{
	const json_t *unknown = json_object_get(d, "unknown"), *notes = json_object_get(d, "notes"), *state = json_object_get(d, "state");
	size_t i;
	json_t *v;

	json_array_foreach(notes, i, v)
		fprintf(stderr, "note: %s\n", json_string_value(v));
	json_array_foreach(unknown, i, v)
		fprintf(stderr, "note: no expression: %s (line %lld, %lld times)\n", json_string_value(json_object_get(v, "op")),
			(long long)json_integer_value(json_object_get(v, "line")),
			(long long)json_integer_value(json_object_get(v, "count")));
	json_array_foreach(state, i, v)
		fprintf(stderr, "%s%s%s", i ? ", " : "note: a call also changes ", json_string_value(v),
			i + 1 == json_array_size(state) ? ": state, and no output of the task\n" : "");
}

static enum kw_status import_problem(const struct kw_cmd *cmd, const struct own *own, struct kw_error *err)
{
	const char *path = cmd->args[0], *dot = strrchr(path, '.');
	json_t *d = NULL;
	enum kw_status s;

	if (!dot || strcmp(dot, ".py") != 0)
		return kw_fail(err, KW_ERR_USAGE, path, "one argument is a problem in Python, problem.py; a kernel comes behind its task");
	s = kw_op_import_problem(path, own->eval, (int)(own->timeout_ns / 1000000), own->out, &d, err);
	if (s != KW_OK)
		return s;
	if (cmd->json)
		return kw_print_json(d, err);
	problem_notes(d);
	if (own->out)
		puts(own->out);
	else
		fputs(json_string_value(json_object_get(d, "yaml")), stdout);
	json_decref(d);
	return KW_OK;
}

enum kw_status kw_cmd_import(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	static const struct kw_option options[] = {
		{ "out", KW_OPT_TEXT, offsetof(struct own, out), "FILE", "where the candidate goes (NAME.candidate.cu)" },
		{ "arg", KW_OPT_TEXTS, offsetof(struct own, args), "NAME=EXPR", "what a parameter is: a tensor, or a number of the dims" },
		{ "entry", KW_OPT_TEXT, offsetof(struct own, entry), "NAME", "the one kernel to take" },
		{ "grid", KW_OPT_TEXT, offsetof(struct own, grid), "EXPR", "where no launch says it: rows, or cdiv(n, 256), 4" },
		{ "block", KW_OPT_TEXT, offsetof(struct own, block), "EXPR", "likewise" },
		{ "backend", KW_OPT_TEXT, offsetof(struct own, backend), "NAME", "kernel language; else by the file's ending" },
		{ "eval", KW_OPT_FLAG, offsetof(struct own, eval), NULL, "a problem's modules as they are used, not as they are trained" },
		{ "timeout", KW_OPT_TIME, offsetof(struct own, timeout_ns), "TIME", "for the description of a problem (300s)" },
		{ "input", KW_OPT_TEXTS, offsetof(struct own, inputs), "SPEC",
		  "TASK is an expression: one of its inputs, x:f32[128,4096]" },
	};
	static const struct kw_syntax syntax = {
		"import", "TASK FILE | PROBLEM.py", 1, 2,
		"Makes a candidate of a kernel that you have: its launches (name<<<grid, block>>>(...)) become plan lines, host code\n"
		"goes, parameters are matched with the task's tensors and dims by name or order; what the text does not say is asked\n"
		"for. `kwright optimize TASK --from FILE` starts there.\n"
		"Of a problem in KernelBench's form it makes a task: inputs and weights by name, with an expression as reference where every\n"
		"operator is known. It is printed, or written to --out.",
		"kwright import softmax my_softmax.cu", options, sizeof(options) / sizeof(options[0]), false
	};
	struct own own = { 0 };
	struct kw_op_import_opts o;
	struct kw_op_import r;
	char name[600];
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	if (cmd->arg_count == 1)
		return import_problem(cmd, &own, err);
	o = (struct kw_op_import_opts){ .task = cmd->args[0], .file = cmd->args[1], .inputs = own.inputs.text,
					.input_count = own.inputs.count, .args = own.args.text, .arg_count = own.args.count,
					.entry = own.entry, .grid = own.grid, .block = own.block, .backend = own.backend,
					.out = own.out ? own.out : default_out(cmd->args[1], name, sizeof(name)) };
	status = kw_op_import(&o, &r, err);
	if (status == KW_OK && cmd->json)
		status = kw_print_json(json_pack("{s:s, s:s}", "file", o.out, "plan", r.plan), err);
	else if (status == KW_OK)
		printf("%s%s\nread these lines: they say how it is called\n", r.plan, o.out);
	kw_op_import_release(&r);
	return status;
}
