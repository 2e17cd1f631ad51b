/* kwright runs list | show N | resume N | diff A B | rm N | verify WHAT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "report/bench.h"
#include "report/table.h"

struct own {
	const char *task, *file, *key_file;
	int evaluations, threads, rounds, tokens;
	int64_t time_ns;
	double usd;
	bool record, calls;
	const char *slot;
};

/* Lines of a dataset, which may be hundreds of megabytes. Nobody reads those on a terminal, which gets the first of them; a file or a pipe gets all. */
enum { TERMINAL_BYTES_MAX = 64 << 10 };
struct lines {
	const char *what, *option, *run;
	size_t total, shown, bytes;
	bool terminal;
};

static struct lines lines_begin(const struct kw_cmd *cmd, const char *what, const char *option, size_t total)
{
	return (struct lines){ .what = what, .option = option, .run = cmd->args[1], .total = total, .terminal = isatty(STDOUT_FILENO) };
}

static bool more_lines(const struct lines *l)
{
	return l->shown < l->total && !(l->terminal && l->bytes >= TERMINAL_BYTES_MAX) && !kw_put_errno;
}

static void put_line(struct lines *l, const char *text)
{
	size_t len = strlen(text);

	kw_put(text, len);
	kw_put("\n", 1);
	l->shown++;
	l->bytes += len + 1;
}

static void lines_end(const struct lines *l, enum kw_status status)
{
	if (status == KW_OK && l->terminal && l->shown < l->total)
		kw_log(KW_LOG_WARN, "%zu of %zu %s are shown; kwright runs show %s %s > FILE writes all of them", l->shown, l->total, l->what, l->run,
		       l->option);
}

static enum kw_status list_rows(const struct kw_cmd *cmd, const struct kw_run_row *rows, size_t n,
				struct kw_arena *a, struct kw_error *err)
{
	struct kw_table t;
	struct kw_buf out;
	json_t *list;

	if (cmd->json) {
		list = json_array();
		for (size_t i = 0; list && i < n; i++)
			if (json_array_append_new(list, kw_report_run_json(&rows[i])) != 0) {
				json_decref(list);
				list = NULL;
			}
		return kw_print_json(list, err);
	}
	if (n == 0) {
		printf("no runs yet\n");
		return KW_OK;
	}
	kw_table_init(&t, a, "><<>>><");
	kw_table_row(&t, "run", "task", "begun", "evaluations", "best", "speedup", "state");
	for (size_t i = 0; i < n; i++) {
		char id[24], when[32], count[16], ns[40] = "-", speedup[24] = "-", state[KW_REPORT_STATE_MAX];

		snprintf(id, sizeof(id), "%lld", (long long)rows[i].id);
		snprintf(count, sizeof(count), "%d", rows[i].evaluations);
		if (rows[i].best_ns > 0)
			kw_human_ns(rows[i].best_ns, ns, sizeof(ns));
		if (rows[i].best_speedup > 0)
			snprintf(speedup, sizeof(speedup), "%.3gx", rows[i].best_speedup);
		kw_table_row(&t, id, rows[i].task_name, kw_wall_text(rows[i].started_ms, when, sizeof(when)), count,
			     ns, speedup, kw_report_state(&rows[i], state));
	}
	kw_buf_init(&out, 64 << 20);
	kw_table_write(&t, "", &out);
	return kw_print_buf(&out, err);
}

static enum kw_status list(const struct kw_cmd *cmd, struct kw_error *err)
{
	struct kw_store *s = NULL;
	struct kw_run_row *rows = NULL;
	struct kw_arena a;
	size_t n = 0;
	enum kw_status status;

	kw_arena_init(&a, 512 << 20);
	status = kw_store_open(cmd->env.store_dir, true, &s, err);
	if (status == KW_OK)
		status = kw_store_run_list(s, &a, &rows, &n, err);
	else if (status == KW_ERR_NOT_FOUND) /* nothing was run here */
		status = KW_OK;
	if (status == KW_OK)
		status = list_rows(cmd, rows, n, &a, err);
	kw_store_close(s);
	kw_arena_release(&a);
	return status;
}

/* The records of a run, a line each: what `runs verify` reads elsewhere. */
static enum kw_status records(const struct kw_cmd *cmd, const struct kw_report *r, struct kw_error *err)
{
	struct kw_store *s;
	struct kw_verdict_row row;
	struct kw_arena a;
	struct lines l = lines_begin(cmd, "records", "--records", r->verdict_count);
	enum kw_status status = kw_store_open(cmd->env.store_dir, true, &s, err);

	if (status != KW_OK)
		return status;
	kw_arena_init(&a, 512 << 20);
	for (size_t i = 0; status == KW_OK && more_lines(&l); i++) {
		status = kw_store_verdict_get(s, r->verdicts[i].id, &a, &row, err);
		if (status == KW_OK)
			put_line(&l, row.record);
		kw_arena_reset(&a);
	}
	lines_end(&l, status);
	kw_arena_release(&a);
	kw_store_close(s);
	return status;
}

static enum kw_status put_call(struct kw_store *s, const struct kw_model_call *c, struct kw_arena *a, struct lines *l, struct kw_error *err)
{
	const char *prompt, *answer, *reasoning = "";
	json_t *j = kw_model_call_to_json(c);
	struct kw_buf text;
	enum kw_status status;

	kw_buf_init(&text, 256 << 20);
	status = kw_store_text_get(s, c->prompt_sha, a, &prompt, err);
	if (status == KW_OK)
		status = kw_store_text_get(s, c->answer_sha, a, &answer, err);
	if (status == KW_OK && c->reasoning_sha[0])
		status = kw_store_text_get(s, c->reasoning_sha, a, &reasoning, err);
	if (status == KW_OK && (!j || json_object_set_new(j, "prompt", json_string(prompt)) != 0 ||
				json_object_set_new(j, "answer", json_string(answer)) != 0 ||
				json_object_set_new(j, "reasoning", json_string(reasoning)) != 0))
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (status == KW_OK)
		status = kw_json_canonical(j, &text, err);
	if (status == KW_OK)
		put_line(l, text.ptr);
	kw_buf_release(&text);
	json_decref(j);
	return status;
}

static bool is_wanted(const struct kw_model_call *c, const char *slot)
{
	return !slot || strcmp(c->slot, slot) == 0;
}

/* What models were asked and answered, a call a line: a dataset. */
static enum kw_status calls(const struct kw_cmd *cmd, const struct kw_report *r, const char *slot, struct kw_error *err)
{
	struct kw_store *s;
	struct kw_arena a;
	struct lines l;
	size_t total = 0;
	enum kw_status status;

	for (size_t i = 0; i < r->call_count; i++)
		total += is_wanted(&r->calls[i], slot);
	if (slot && total == 0)
		return kw_fail(err, KW_ERR_NOT_FOUND, "", "run %s has no call '%.60s'%s%.60s", cmd->args[1], slot,
			       r->call_count ? "; there is " : ", and no other", r->call_count ? r->calls[0].slot : "");
	status = kw_store_open(cmd->env.store_dir, true, &s, err);
	if (status != KW_OK)
		return status;
	l = lines_begin(cmd, "calls", "--calls", total);
	kw_arena_init(&a, 512 << 20);
	for (size_t i = 0; status == KW_OK && more_lines(&l); i++) {
		if (is_wanted(&r->calls[i], slot))
			status = put_call(s, &r->calls[i], &a, &l, err);
		kw_arena_reset(&a);
	}
	lines_end(&l, status);
	kw_arena_release(&a);
	kw_store_close(s);
	return status;
}

static void verdict_rows(const struct kw_report *r, struct kw_buf *out)
{
	struct kw_arena a;
	struct kw_table t;

	kw_arena_init(&a, 64 << 20);
	kw_table_init(&t, &a, "><<<><");
	kw_table_row(&t, "verdict", "effort", "candidate", "tune", "time", "class");
	for (size_t i = 0; i < r->verdict_count; i++) {
		const struct kw_verdict_row *v = &r->verdicts[i];
		char id[24], ns[40] = "-", cls[80];

		snprintf(id, sizeof(id), "%lld", (long long)v->id);
		if (v->median_ns > 0)
			kw_human_ns(v->median_ns, ns, sizeof(ns));
		snprintf(cls, sizeof(cls), "%s%s%s", v->cls, v->subclass[0] ? " " : "", v->subclass);
		kw_table_row(&t, id, v->effort, v->candidate_name, v->tune, ns, cls);
	}
	kw_table_write(&t, "  ", out);
	kw_arena_release(&a);
}

static bool is_bench(const struct kw_run_row *r)
{
	return strcmp(r->strategy, KW_BENCH_STRATEGY) == 0;
}

static enum kw_status load(const struct kw_cmd *cmd, const char *number, struct kw_report *r, struct kw_error *err)
{
	struct kw_store *s;
	int64_t id;
	enum kw_status status = kw_run_number(cmd, number, &id, err);

	if (status == KW_OK)
		status = kw_store_open(cmd->env.store_dir, true, &s, err);
	if (status != KW_OK)
		return status;
	status = kw_report_load(r, s, id, err);
	kw_store_close(s);
	return status;
}

static enum kw_status show(const struct kw_cmd *cmd, const struct own *own, struct kw_error *err)
{
	struct kw_report r;
	struct kw_buf out;
	enum kw_status status = load(cmd, cmd->args[1], &r, err);

	if (status != KW_OK)
		return status;
	if (own->slot && !own->calls) {
		kw_report_release(&r);
		return kw_fail(err, KW_ERR_USAGE, "", "--slot goes with --calls");
	}
	if (is_bench(&r.run) && !own->calls && !own->record) {
		kw_report_release(&r);
		return kw_print_report(cmd, cmd->args[1], err);
	}
	kw_buf_init(&out, 256 << 20);
	if (own->calls) {
		status = calls(cmd, &r, own->slot, err);
	} else if (own->record) {
		status = records(cmd, &r, err);
	} else if (cmd->json) {
		status = kw_print_json(kw_report_json(&r), err);
	} else if (r.verdict_count == 0) {
		kw_report_text(&r, &out);
		status = kw_print_buf(&out, err);
	} else {
		kw_report_text(&r, &out);
		verdict_rows(&r, &out);
		status = kw_print_buf(&out, err);
	}
	kw_buf_release(&out);
	kw_report_release(&r);
	return status;
}

static enum kw_status diff(const struct kw_cmd *cmd, struct kw_error *err)
{
	struct kw_report a, b;
	struct kw_buf out;
	enum kw_status status = load(cmd, cmd->args[1], &a, err);

	if (status != KW_OK)
		return status;
	status = load(cmd, cmd->args[2], &b, err);
	if (status == KW_OK && (is_bench(&a.run) || is_bench(&b.run))) {
		status = kw_fail(err, KW_ERR_USAGE, "", "run %s is a benchmark, which has no best kernel of its own; kwright report %s shows it",
				 cmd->args[is_bench(&a.run) ? 1 : 2], cmd->args[is_bench(&a.run) ? 1 : 2]);
		kw_report_release(&b);
	} else if (status == KW_OK) {
		kw_buf_init(&out, 64 << 20);
		if (!cmd->json)
			kw_report_diff_text(&a, &b, &out);
		status = cmd->json ? kw_print_json(kw_report_diff_json(&a, &b), err) : kw_print_buf(&out, err);
		kw_report_release(&b);
	}
	kw_report_release(&a);
	return status;
}

static enum kw_status resume(const struct kw_cmd *cmd, const struct own *own, struct kw_error *err)
{
	struct kw_op_search_opts o = { .threads = own->threads, .progress = kw_show_search,
				       .budget = { .max_evaluations = own->evaluations, .max_wall_ns = own->time_ns,
						   .max_rounds = own->rounds },
				       .agent = { .budget_tokens = own->tokens, .budget_usd = own->usd, .key_file = own->key_file } };
	struct kw_op_search r;
	int64_t id;
	enum kw_status status = kw_run_number(cmd, cmd->args[1], &id, err);

	if (status != KW_OK)
		return status;
	status = kw_op_resume(&cmd->env, id, &o, &r, err);
	status = kw_print_search(cmd, &r, status, err);
	kw_op_search_release(&r);
	return status;
}

static enum kw_status rm(const struct kw_cmd *cmd, struct kw_error *err)
{
	int64_t id;
	enum kw_status status = kw_run_number(cmd, cmd->args[1], &id, err);

	if (status == KW_OK)
		status = kw_op_run_remove(&cmd->env, id, err);
	if (status != KW_OK)
		return status;
	if (cmd->json)
		return kw_print_json(json_pack("{s:I}", "removed", (json_int_t)id), err);
	printf("run %lld is removed\n", (long long)id);
	return KW_OK;
}

/* Without an argument: the chain of the whole store. */
static enum kw_status verify_chain(const struct kw_cmd *cmd, struct kw_error *err)
{
	struct kw_store *s;
	struct kw_chain_report r;
	enum kw_status status = kw_store_open(cmd->env.store_dir, true, &s, err);

	if (status != KW_OK)
		return status;
	status = kw_store_chain_check(s, &r, err);
	kw_store_close(s);
	if (status != KW_OK)
		return status;
	if (cmd->json)
		status = kw_print_json(json_pack("{s:I, s:I, s:b, s:I}", "records", (json_int_t)r.links, "removed",
						 (json_int_t)r.removed, "agrees", r.first_bad == 0, "first_bad",
						 (json_int_t)r.first_bad), err);
	else if (r.first_bad)
		printf("verdict %lld is not as it was recorded\n", (long long)r.first_bad);
	else
		printf("%lld records, each as it was recorded (%lld of removed runs)\n", (long long)r.links,
		       (long long)r.removed);
	return status == KW_OK && r.first_bad ? KW_NO : status;
}

static json_t *verify_json(const struct kw_op_verify *v)
{
	json_t *lines = json_array();

	for (size_t i = 0; lines && i < v->line_count; i++)
		json_array_append_new(lines, json_pack("{s:s, s:s, s:s, s:b}", "what", v->lines[i].what, "recorded",
						       v->lines[i].recorded, "now", v->lines[i].now, "agrees",
						       v->lines[i].agrees));
	return json_pack("{s:b, s:b, s:o}", "agrees", v->agrees, "hash", v->hash_good, "lines", lines);
}

static enum kw_status verify(const struct kw_cmd *cmd, const struct own *own, struct kw_error *err)
{
	struct kw_op_verify_opts o = { .what = cmd->args[1], .task = own->task, .file = own->file,
				       .threads = own->threads, .progress = kw_show_case };
	struct kw_op_verify v;
	struct kw_table t;
	struct kw_buf out;
	enum kw_status status = kw_op_verify(&cmd->env, &o, &v, err);

	if (status != KW_OK)
		return status;
	kw_buf_init(&out, 16 << 20);
	kw_table_init(&t, &v.arena, "<<<<");
	kw_table_row(&t, "", "recorded", "now", "");
	for (size_t i = 0; i < v.line_count; i++)
		kw_table_row(&t, v.lines[i].what, v.lines[i].recorded, v.lines[i].now,
			     v.lines[i].agrees ? "" : "differs");
	kw_table_write(&t, "", &out);
	kw_buf_addz(&out, v.agrees ? "it agrees\n" : "it does not agree\n");
	status = cmd->json ? kw_print_json(verify_json(&v), err) : kw_print_buf(&out, err);
	kw_buf_release(&out);
	if (status == KW_OK && !v.agrees)
		status = KW_NO;
	kw_op_verify_release(&v);
	return status;
}

static enum kw_status need_args(const struct kw_cmd *cmd, size_t count, const char *args, struct kw_error *err)
{
	if (cmd->arg_count == count + 1)
		return KW_OK;
	return kw_fail(err, KW_ERR_USAGE, "", "usage: kwright runs %s %s", cmd->args[0], args);
}

static enum kw_status dispatch(const struct kw_cmd *cmd, const struct own *own, struct kw_error *err)
{
	static const char *const actions[] = { "list", "show", "resume", "diff", "rm", "verify" };
	static const char *const args[] = { "", "N", "N", "A B", "N", "[FILE | VERDICT]" };
	static const size_t counts[] = { 0, 1, 1, 2, 1, 1 };
	enum kw_status status;
	size_t i = 0;

	while (i < 6 && strcmp(cmd->args[0], actions[i]) != 0)
		i++;
	if (i == 6)
		return kw_unknown_word("action of runs", cmd->args[0], actions, 6, err);
	if (i == 5 && cmd->arg_count == 1)
		return verify_chain(cmd, err);
	status = need_args(cmd, counts[i], args[i], err);
	if (status != KW_OK)
		return status;
	switch (i) {
	case 0: return list(cmd, err);
	case 1: return show(cmd, own, err);
	case 2: return resume(cmd, own, err);
	case 3: return diff(cmd, err);
	case 4: return rm(cmd, err);
	default: return verify(cmd, own, err);
	}
}

enum kw_status kw_cmd_runs(struct kw_cmd *cmd, int argc, char **argv, struct kw_error *err)
{
	static const struct kw_option options[] = {
		{ "records", KW_OPT_FLAG, offsetof(struct own, record), NULL, "show: its records, one JSON line each" },
		{ "budget-evals", KW_OPT_COUNT, offsetof(struct own, evaluations), "N", "resume: a new budget for all of the run" },
		{ "budget-time", KW_OPT_TIME, offsetof(struct own, time_ns), "TIME", "resume: a new budget for all of the run" },
		{ "budget-rounds", KW_OPT_COUNT, offsetof(struct own, rounds), "N", "resume: likewise" },
		{ "budget-tokens", KW_OPT_COUNT, offsetof(struct own, tokens), "N", "resume: likewise" },
		{ "budget-usd", KW_OPT_AMOUNT, offsetof(struct own, usd), "USD", "resume: likewise" },
		{ "key-file", KW_OPT_TEXT, offsetof(struct own, key_file), "FILE", "resume: the key of the model" },
		{ "calls", KW_OPT_FLAG, offsetof(struct own, calls), NULL, "show: what models were asked and answered, a JSON line each" },
		{ "slot", KW_OPT_TEXT, offsetof(struct own, slot), "SLOT", "show --calls: of this call alone, r1/coder" },
		{ "task", KW_OPT_TEXT, offsetof(struct own, task), "TASK", "verify: the record's task, if not in the store" },
		{ "file", KW_OPT_TEXT, offsetof(struct own, file), "FILE", "verify: the record's candidate, likewise" },
		{ "threads", KW_OPT_THREADS, offsetof(struct own, threads), "N", "resume, verify: of candidates" },
	};
	static const struct kw_syntax syntax = {
		"runs", "list | show N | resume N | diff A B | rm N | verify [FILE | VERDICT]", 1, 3,
		"list    every run of the store\n"
		"show    one run with all its verdicts\n"
		"resume  goes on where a run stopped; nothing is judged twice\n"
		"diff    two runs side by side\n"
		"rm      forgets a run and its files\n"
		"verify  judges a record again and says what agrees; without an argument: is the store as it was written?",
		"kwright runs resume 3", options, sizeof(options) / sizeof(options[0]), false
	};
	struct own own = { 0 };
	enum kw_status status = kw_options_parse(cmd, &syntax, argc, argv, &own, err);

	return status != KW_OK || cmd->helped ? status : dispatch(cmd, &own, err);
}
