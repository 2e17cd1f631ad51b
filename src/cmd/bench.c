/* kwright bench SUITE | bench audit SUITE, and the resident process behind them */
#include "ops/bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "report/table.h"

enum { WORKER_ARGS = 8, UNKNOWN_SHOWN = 10 };

struct own {
	const char *path, *candidates, *strategy;
	struct kw_texts select;
	struct kw_model_words model;
	int samples, evaluations, rounds, tokens, parallel, width, devices, prompt_bytes;
	int64_t time_ns, limit_ns;
	double usd;
	bool list, fresh, retry, brief;
};

static const struct kw_option options[] = {
	{ "path", KW_OPT_TEXT, offsetof(struct own, path), "DIR", "the suite's folder" },
	{ "select", KW_OPT_TEXTS, offsetof(struct own, select), "WHAT", "level1, 1-20, level2/7, softmax, '*relu*'; several with commas" },
	{ "list", KW_OPT_FLAG, offsetof(struct own, list), NULL, "only list the problems" },
	{ "candidates", KW_OPT_TEXT, offsetof(struct own, candidates), "DIR", "judge the files of this folder; else kernels are searched for" },
	{ "samples", KW_OPT_COUNT, offsetof(struct own, samples), "N", "searches a problem (1), for pass@k" },
	{ "strategy", KW_OPT_TEXT, offsetof(struct own, strategy), "NAME", "of a search: tune; with a model refine, best_of, beam, evolve" },
	{ "budget-evals", KW_OPT_COUNT, offsetof(struct own, evaluations), "N", "of a search: judge at most so many candidates" },
	{ "budget-time", KW_OPT_TIME, offsetof(struct own, time_ns), "TIME", "of a search: at most so long" },
	{ "budget-rounds", KW_OPT_COUNT, offsetof(struct own, rounds), "N", "of a search: at most so many rounds" },
	KW_MODEL_OPTIONS(struct own, model),
	{ "prompt-limit", KW_OPT_COUNT, offsetof(struct own, prompt_bytes), "BYTES", "of one prompt (163840)" },
	{ "budget-tokens", KW_OPT_COUNT, offsetof(struct own, tokens), "N", "of a search: ask no more once so many are spent" },
	{ "budget-usd", KW_OPT_AMOUNT, offsetof(struct own, usd), "USD", "likewise" },
	{ "parallel", KW_OPT_COUNT, offsetof(struct own, parallel), "N", "calls of models at once (4)" },
	{ "width", KW_OPT_COUNT, offsetof(struct own, width), "N", "kernels a round, of strategies that try several" },
	{ "limit", KW_OPT_TIME, offsetof(struct own, limit_ns), "TIME", "of one problem; then it is ended (10m a candidate, 60m a search)" },
	{ "devices", KW_OPT_COUNT, offsetof(struct own, devices), "N", "at most so many GPUs at once (all)" },
	{ "fresh", KW_OPT_FLAG, offsetof(struct own, fresh), NULL, "anew, instead of going on with what the store has" },
	{ "retry", KW_OPT_FLAG, offsetof(struct own, retry), NULL, "once more what could not be loaded or used, or took too long" },
	{ "brief", KW_OPT_FLAG, offsetof(struct own, brief), NULL, "the scores without a line for each item" },
};
static const struct kw_syntax syntax = {
	"bench", "SUITE | audit SUITE", 1, 2,
	"Runs a benchmark suite and scores it: kernelbench, tritonbench or multikernelbench. Judges the candidates of a folder, or\n"
	"searches a kernel for each problem, by the built-in author or a model. The same command goes on where it was stopped.\n"
	"audit   looks for problems that are easy to cheat on: constant output, an input that does not matter, ...\n"
	"Exit code 0: something is right. 1: nothing is.",
	"kwright bench kernelbench --path KernelBench --select level1/1-20 --backend cuda", options,
	sizeof(options) / sizeof(options[0]), true
};

static void show(void *arg, const char *line)
{
	(void)arg;
	kw_progress("%s", line);
}

/* ---- list ---------------------------------------------------------------------------------------- */

static enum kw_status list_json(const struct kw_problem_list *some, struct kw_error *err)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < some->count; i++) {
		const struct kw_problem *p = &some->items[i];

		if (json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s, s:s}", "problem", p->key, "group", p->group, "number",
							  p->number ? json_integer(p->number) : json_null(), "name", p->name, "file",
							  p->path)) != 0) {
			json_decref(list);
			list = NULL;
		}
	}
	return kw_print_json(list, err);
}

static enum kw_status list(const struct kw_cmd *cmd, const struct kw_op_bench_opts *o, struct kw_error *err)
{
	const struct kw_suite *s;
	struct kw_problem_list all, some;
	struct kw_arena a;
	struct kw_table t;
	struct kw_buf out;
	enum kw_status status;

	kw_arena_init(&a, 512 << 20);
	status = kw_suite_find(o->suite, &s, err);
	if (status == KW_OK)
		status = kw_suite_read(s, o->path, &a, &all, err);
	if (status == KW_OK)
		status = kw_suite_select(s, &all, o->select, o->select_count, &a, &some, err);
	if (status == KW_OK && cmd->json) {
		status = list_json(&some, err);
	} else if (status == KW_OK) {
		kw_buf_init(&out, 64 << 20);
		kw_table_init(&t, &a, "<<<");
		kw_table_row(&t, "problem", "name", "file");
		for (size_t i = 0; i < some.count; i++)
			kw_table_row(&t, some.items[i].key, some.items[i].name, some.items[i].path);
		kw_table_write(&t, "", &out);
		kw_buf_printf(&out, "%zu of the %zu problems of %s\n", some.count, all.count, s->title);
		status = kw_print_buf(&out, err);
	}
	kw_arena_release(&a);
	return status;
}

/* ---- audit --------------------------------------------------------------------------------------- */

static json_t *audit_json(const struct kw_op_audit *r)
{
	json_t *rows = json_array();

	for (size_t i = 0; rows && i < r->count; i++) {
		const struct kw_op_audit_row *row = &r->rows[i];
		json_t *labels = json_array();

		for (size_t k = 0; labels && k < row->label_count; k++)
			json_array_append_new(labels, json_string(row->labels[k]));
		if (json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:o, s:o}", "problem", row->problem->key, "group",
							  row->problem->group, "name", row->problem->name, "labels", labels, "failed",
							  row->text ? json_string(row->text) : json_null())) != 0) {
			json_decref(rows);
			return NULL;
		}
	}
	return json_pack("{s:I, s:I, s:I, s:o}", "problems", (json_int_t)r->count, "flagged", (json_int_t)r->flagged, "failed",
			 (json_int_t)r->failed, "rows", rows);
}

static void audit_text(const struct kw_op_audit *r, struct kw_buf *out)
{
	struct kw_arena a;
	struct kw_table t;

	kw_arena_init(&a, 64 << 20);
	kw_table_init(&t, &a, "<<<");
	kw_table_row(&t, "problem", "name", "remarks");
	for (size_t i = 0; i < r->count; i++) {
		const struct kw_op_audit_row *row = &r->rows[i];

		if (row->text)
			kw_table_row(&t, row->problem->key, row->problem->name,
				     kw_arena_printf(&a, "could not be looked at: %.*s", (int)strcspn(row->text, "\n"), row->text));
		else if (row->label_count == 0)
			kw_table_row(&t, row->problem->key, row->problem->name, "nothing to remark");
		for (size_t k = 0; k < row->label_count; k++)
			kw_table_row(&t, k ? "" : row->problem->key, k ? "" : row->problem->name, row->labels[k]);
	}
	kw_table_write(&t, "", out);
	kw_buf_printf(out, "%zu problems: %zu with remarks, %zu could not be looked at\n", r->count, r->flagged, r->failed);
	kw_arena_release(&a);
}

static enum kw_status audit(const struct kw_cmd *cmd, const struct kw_op_bench_opts *o, struct kw_error *err)
{
	struct kw_op_audit r;
	struct kw_buf out;
	enum kw_status status = kw_op_bench_audit(&cmd->env, o, &r, err);

	if (status != KW_OK)
		return status;
	kw_buf_init(&out, 64 << 20);
	if (cmd->json) {
		status = kw_print_json(audit_json(&r), err);
	} else {
		audit_text(&r, &out);
		status = kw_print_buf(&out, err);
	}
	if (status == KW_OK && r.failed == r.count)
		status = KW_NO;
	kw_op_audit_release(&r);
	return status;
}

/* ---- the benchmark ------------------------------------------------------------------------------- */

static json_t *unknown_json(const struct kw_op_bench *b)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < b->unknown_count; i++)
		json_array_append_new(list, json_string(b->unknown[i]));
	return list;
}

static enum kw_status print(const struct kw_cmd *cmd, const struct kw_op_bench *b, bool brief, struct kw_error *err)
{
	struct kw_buf out;
	json_t *j;

	for (size_t i = 0; i < b->unknown_count && i < UNKNOWN_SHOWN; i++)
		kw_log(KW_LOG_WARN, "%s", b->unknown[i]);
	if (b->unknown_count > UNKNOWN_SHOWN)
		kw_log(KW_LOG_WARN, "and %zu files more that belong to no problem", b->unknown_count - UNKNOWN_SHOWN);
	if (cmd->json) {
		j = kw_bench_report_json(&b->report);
		if (j && json_object_set_new(j, "unknown_files", unknown_json(b)) != 0) {
			json_decref(j);
			j = NULL;
		}
		if (j)
			json_object_set_new(j, "reused", json_integer((json_int_t)b->reused));
		return kw_print_json(j, err);
	}
	kw_buf_init(&out, 256 << 20);
	kw_bench_report_text(&b->report, !brief, &out);
	return kw_print_buf(&out, err);
}

static enum kw_status run(const struct kw_cmd *cmd, const struct kw_op_bench_opts *o, bool brief, struct kw_error *err)
{
	struct kw_op_bench b;
	enum kw_status status = kw_op_bench(&cmd->env, o, &b, err);

	if (status == KW_ERR_INTERRUPTED && b.run_id)
		status = kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted; the same command goes on with run %lld", (long long)b.run_id);
	if (status == KW_OK)
		status = print(cmd, &b, brief, err);
	if (status == KW_OK && b.fault.status != KW_OK)
		status = kw_fail(err, b.fault.status, "", "a fault of this machine: %s; the same command tries these items again", b.fault.text);
	if (status == KW_OK && b.report.groups[0].right == 0)
		status = KW_NO;
	kw_op_bench_release(&b);
	return status;
}

static void worker_args(const struct kw_cmd *cmd, const char *args[WORKER_ARGS])
{
	int n = 0;

	args[n++] = cmd->verbose ? "--verbose" : "--quiet";
	if (cmd->store_dir) {
		args[n++] = "--store";
		args[n++] = cmd->store_dir;
	}
	if (cmd->data_dir) {
		args[n++] = "--data";
		args[n++] = cmd->data_dir;
	}
	if (cmd->python) {
		args[n++] = "--python";
		args[n++] = cmd->python;
	}
	args[n] = NULL;
}

static enum kw_status read_options(const struct kw_cmd *cmd, const struct own *own, struct kw_op_bench_opts *o, struct kw_error *err)
{
	struct kw_op_search_opts *so = &o->search;
	enum kw_status status;

	kw_search_words(cmd, so);
	so->task = NULL;
	status = kw_model_words(&own->model, &so->agent, err);
	if (status != KW_OK)
		return status;
	if (!own->path)
		return kw_fail(err, KW_ERR_USAGE, "", "which folder? kwright bench %s --path DIR", o->suite);
	if (cmd->judging.inputs.count)
		return kw_fail(err, KW_ERR_USAGE, "", "--input is for a TASK that is an expression; the problems of a suite have their own");
	if (own->candidates && (own->model.model || own->samples || own->strategy))
		return kw_fail(err, KW_ERR_USAGE, "", "--candidates judges files; %s goes with a search",
			       own->model.model ? "--model" : own->samples ? "--samples" : "--strategy");
	so->agent.prompt_bytes = (size_t)own->prompt_bytes;
	so->agent.budget_tokens = own->tokens;
	so->agent.budget_usd = own->usd;
	so->agent.parallel = own->parallel;
	so->strategy = own->strategy;
	so->width = own->width;
	so->budget = (struct kw_budget){ .max_evaluations = own->evaluations, .max_wall_ns = own->time_ns, .max_rounds = own->rounds };
	o->path = own->path;
	o->select = own->select.text;
	o->select_count = own->select.count;
	o->candidates = own->candidates;
	o->samples = own->samples;
	o->limit_ns = own->limit_ns;
	o->devices = own->devices;
	o->fresh = own->fresh;
	o->retry = own->retry;
	o->progress = show;
	return KW_OK;
}

enum kw_status kw_cmd_bench(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	struct own own = { .model = KW_MODEL_WORDS_DEFAULT };
	struct kw_op_bench_opts o = { 0 };
	const char *args[WORKER_ARGS];
	bool is_audit;
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	if (status != KW_OK || cmd->helped)
		return status;
	is_audit = strcmp(cmd->args[0], "audit") == 0;
	if (cmd->arg_count != (is_audit ? 2 : 1))
		return kw_fail(err, KW_ERR_USAGE, "", "usage: kwright bench %sSUITE --path DIR", is_audit ? "audit " : "");
	o.suite = cmd->args[is_audit];
	status = read_options(cmd, &own, &o, err);
	if (status != KW_OK)
		return status;
	worker_args(cmd, args);
	o.worker_args = args;
	if (own.list)
		return list(cmd, &o, err);
	return is_audit ? audit(cmd, &o, err) : run(cmd, &o, own.brief, err);
}

/* `kwright __bench`: what others print on standard output goes to standard error, and not between the lines of the protocol. */
enum kw_status kw_cmd_bench_serve(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	static const struct kw_syntax serve = { "__bench", "", 0, 0, "Serves kwright bench.", "kwright __bench", NULL, 0, false };
	enum kw_status status = kw_options_parse(cmd, &serve, argc, argv, NULL, err);
	int out = fcntl(1, F_DUPFD_CLOEXEC, 3);

	if (status != KW_OK || cmd->helped)
		return status;
	if (out < 0 || dup2(2, 1) < 0)
		return kw_fail(err, KW_ERR_IO, "", "cannot set up standard output");
	return kw_op_bench_serve(&cmd->env, 0, out, err);
}
