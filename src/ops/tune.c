/* Tunes one candidate and judges its best point in full. */
#include <stdio.h>
#include <string.h>

#include "ops/internal.h"

enum { CANDIDATE_ARENA_BYTES = 256 << 20 };

struct tune_job {
	struct kw_arena arena;
	struct kw_op_task task;
	struct kw_candidate c;
	struct kw_search_opts so;
	struct kw_store *store, *memory;
	struct kw_judge *judge;
	int64_t run_id;
};

static enum kw_status store_tune(struct tune_job *j, const struct kw_tune_result *r, struct kw_error *err)
{
	json_t *list = json_array();
	enum kw_status status;

	if (json_array_append_new(list, kw_op_tune_json(&j->c, &r->report)) != 0)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	else
		status = kw_store_fact_put(j->store, j->run_id, "tune", list, err);
	json_decref(list);
	return status == KW_OK ? kw_op_put_reasons(j->store, j->run_id, r->reasons, r->reason_count, err) : status;
}

/* With a run that is ours: tunes, judges, ends it, reports. */
static enum kw_status tune(struct tune_job *j, struct kw_op_search *out, struct kw_error *err)
{
	struct kw_tune_result r = { 0 };
	struct kw_error ignored;
	enum kw_status status, ended;

	kw_error_reset(&ignored);
	out->run_id = j->run_id;
	j->so.memory = j->memory;
	status = kw_tune_run(&j->task.task, j->task.expr, &j->c, &j->so, j->judge, j->store, j->run_id,
			     &j->arena, &r, err);
	if (status == KW_OK)
		status = store_tune(j, &r, err);
	kw_search_tell_resume(j->run_id, status, err);
	out->state = status == KW_ERR_INTERRUPTED ? KW_RUN_INTERRUPTED : status != KW_OK ? KW_RUN_FAILED : r.state;
	ended = kw_store_run_end(j->store, j->run_id, out->state, NULL, status == KW_OK ? err : &ignored);
	if (status == KW_OK)
		status = ended;
	if (status == KW_OK && r.right)
		status = kw_op_result_write(j->store, j->run_id, &j->task.task, &j->c, err);
	if (status == KW_OK)
		status = kw_report_load(&out->report, j->store, j->run_id, err);
	return status;
}

static enum kw_status new_run(struct tune_job *j, struct kw_error *err)
{
	json_t *options = kw_search_opts_json(&j->so);
	struct kw_run_row row = { .task_name = j->task.task.name, .task_text = j->task.task.text,
				  .task_sha = j->task.task.sha256, .backend = j->so.backend,
				  .device = j->so.device, .strategy = KW_OP_TUNE_FILE };
	struct kw_buf text;
	enum kw_status status = KW_OK;

	kw_buf_init(&text, 1 << 16);
	if (!options || json_object_set_new(options, "candidate", json_string(j->c.sha256)) != 0)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the run's options");
	if (status == KW_OK)
		status = kw_json_canonical(options, &text, err);
	row.options = text.ptr;
	if (status == KW_OK)
		status = kw_store_candidate_put(j->store, &j->c, err);
	if (status == KW_OK)
		status = kw_store_run_new(j->store, &row, &j->run_id, err);
	json_decref(options);
	kw_buf_release(&text);
	return status;
}

static void init_job(struct tune_job *j, const struct kw_op_search_opts *o)
{
	memset(j, 0, sizeof(*j));
	kw_arena_init(&j->arena, CANDIDATE_ARENA_BYTES);
	kw_op_search_defaults(&j->so, o);
}

static void release_job(struct tune_job *j)
{
	kw_judge_free(j->judge);
	kw_store_close(j->memory);
	kw_op_task_release(&j->task);
	kw_arena_release(&j->arena);
}

static enum kw_status open_judge(struct tune_job *j, struct kw_error *err)
{
	const struct kw_backend *b;
	enum kw_status status = kw_op_backend(j->c.backend, &b, err);

	if (status != KW_OK)
		return status;
	j->so.backend = b->name;
	j->so.device = b->device;
	j->memory = kw_op_memory();
	status = kw_op_has_device(b, err);
	return status == KW_OK ? kw_judge_new(b->device, &j->judge, err) : status;
}

enum kw_status kw_op_tune(const struct kw_op_env *env, const struct kw_op_search_opts *o,
			  struct kw_op_search *out, struct kw_error *err)
{
	struct tune_job j;
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	init_job(&j, o);
	status = kw_op_task_load(o->task, o->inputs, o->input_count, &j.task, err);
	if (status == KW_OK)
		status = kw_op_check_perf(&j.task, err);
	if (status == KW_OK)
		status = kw_candidate_load(&j.c, o->file, o->backend, &j.task.task, &j.arena, err);
	if (status == KW_OK)
		status = kw_op_check_sanitizer(j.c.backend, o->sanitize, err);
	if (status == KW_OK)
		status = kw_store_open(env->store_dir, false, &j.store, err);
	if (status == KW_OK)
		status = open_judge(&j, err);
	if (status == KW_OK)
		status = new_run(&j, err);
	if (status == KW_OK)
		status = tune(&j, out, err);
	kw_store_close(j.store);
	release_job(&j);
	return status;
}

/* The store is the caller's. What the run has judged is found there and not judged again. */
enum kw_status kw_op_tune_resume(struct kw_store *s, const struct kw_run_row *row,
				 const struct kw_op_search_opts *o, struct kw_op_search *out,
				 struct kw_error *err)
{
	struct tune_job j;
	json_t *options = NULL;
	const char *sha, *source, *backend, *name;
	char file[64];
	size_t len;
	enum kw_status status;

	init_job(&j, o);
	j.store = s;
	j.run_id = row->id;
	snprintf(file, sizeof(file), "(task of run %lld)", (long long)row->id);
	status = kw_json_parse("options of the run", row->options, strlen(row->options), &options, err);
	if (status == KW_OK)
		status = kw_op_task_parse(file, row->task_text, &j.task, err);
	if (status == KW_OK)
		status = kw_op_search_again(&j.so, row, o, &j.arena, err);
	sha = kw_json_get_str(options, "candidate", "");
	if (status == KW_OK)
		status = kw_store_candidate_get(s, sha, &j.arena, &source, &len, &backend, &name, err);
	if (status == KW_OK)
		status = kw_candidate_from_text(&j.c, name, backend, source, len, &j.task.task, &j.arena,
						err);
	if (status == KW_OK)
		status = open_judge(&j, err);
	if (status == KW_OK)
		status = kw_store_run_claim(s, row->id, err);
	if (status == KW_OK)
		status = tune(&j, out, err);
	json_decref(options);
	release_job(&j);
	return status;
}
