/* The audit of a suite: `task check` of each problem, in a resident process that can be ended. Nothing is stored. */
#include <stdio.h>
#include <string.h>

#include "ops/bench_internal.h"

#define AUDIT_LIMIT_NS (5ll * 60 * 1000000000)

struct audit {
	struct kw_op_audit *out;
	const struct kw_op_bench_opts *o;
	struct kw_bench_job *jobs;
	size_t done;
	int faults;                       /* of the machine, in a row */
	struct kw_error *err;
};

static enum kw_status no_memory(struct audit *a)
{
	return kw_fail(a->err, KW_ERR_NOMEM, "", "out of memory for the audit");
}

static void step(void *arg, struct kw_bench_job *job, const char *at)
{
	struct audit *a = arg;
	char line[300];

	if (!a->o->progress || !job || strcmp(at, "judge") == 0)
		return;
	snprintf(line, sizeof(line), "%zu of %zu  %s %s", a->done, a->out->count, job->key, job->name);
	a->o->progress(a->o->progress_arg, line);
}

static enum kw_status done(void *arg, struct kw_bench_job *job, const json_t *message, const char *fate, struct kw_error *err)
{
	struct audit *a = arg;
	struct kw_op_audit_row *row = job->of;
	const json_t *labels = json_object_get(message, "labels"), *label;
	const char *text = message ? kw_json_get_str(message, "text", NULL) : fate ? fate : "not done within its time";
	size_t i;

	a->done++;
	a->faults = strcmp(kw_json_get_str(message, "state", ""), kw_bench_state_name(KW_BENCH_MACHINE)) == 0 ? a->faults + 1 : 0;
	if (a->faults >= KW_BENCH_FAULTS_IN_A_ROW)
		return kw_fail(err, KW_ERR_ENV, "", "%d faults of this machine in a row: %s", a->faults, text ? text : "");
	if (text) {
		row->text = kw_arena_strdup(&a->out->arena, text);
		return row->text ? KW_OK : no_memory(a);
	}
	row->labels = kw_arena_calloc(&a->out->arena, json_array_size(labels) + 1, sizeof(*row->labels));
	if (!row->labels)
		return no_memory(a);
	json_array_foreach(labels, i, label) {
		row->labels[row->label_count] = kw_arena_strdup(&a->out->arena, json_string_value(label));
		if (!row->labels[row->label_count++])
			return no_memory(a);
	}
	return KW_OK;
}

static enum kw_status plan(struct audit *a)
{
	struct kw_op_audit *out = a->out;

	out->rows = kw_arena_calloc(&out->arena, out->problems.count + 1, sizeof(*out->rows));
	a->jobs = kw_arena_calloc(&out->arena, out->problems.count + 1, sizeof(*a->jobs));
	if (!out->rows || !a->jobs)
		return no_memory(a);
	for (size_t i = 0; i < out->problems.count; i++) {
		const struct kw_problem *p = &out->problems.items[i];

		out->rows[i].problem = p;
		a->jobs[i] = (struct kw_bench_job){ .key = p->key, .name = p->name, .of = &out->rows[i] };
		a->jobs[i].item = json_pack("{s:s, s:s, s:s}", "key", p->key, "name", p->name, "problem", p->path);
		out->count++;
		if (!a->jobs[i].item)
			return no_memory(a);
	}
	return KW_OK;
}

enum kw_status kw_op_bench_audit(const struct kw_op_env *env, const struct kw_op_bench_opts *o, struct kw_op_audit *out,
				 struct kw_error *err)
{
	struct audit a = { .out = out, .o = o, .err = err };
	struct kw_bench_pool p = { .batch = KW_BENCH_BATCH_CANDIDATES, .args = o->worker_args, .arg = &a, .step = step, .done = done,
				   .limit_ns = o->limit_ns > 0 ? o->limit_ns : AUDIT_LIMIT_NS };
	const struct kw_suite *s;
	struct kw_problem_list all;
	json_t *config = json_pack("{s:s, s:i}", "suite", o->suite, "mode", KW_BENCH_MODE_AUDIT);
	enum kw_status status;

	(void)env;
	memset(out, 0, sizeof(*out));
	kw_arena_init(&out->arena, 512 << 20);
	p.config = config;
	status = config ? kw_suite_find(o->suite, &s, err) : no_memory(&a);
	if (status == KW_OK)
		status = kw_suite_read(s, o->path, &out->arena, &all, err);
	if (status == KW_OK)
		status = kw_suite_select(s, &all, o->select, o->select_count, &out->arena, &out->problems, err);
	if (status == KW_OK)
		status = plan(&a);
	p.jobs = a.jobs;
	p.count = out->count;
	if (status == KW_OK)
		status = kw_bench_pool_run(&p, err);
	for (size_t i = 0; i < out->count; i++) {
		out->flagged += out->rows[i].label_count > 0;
		out->failed += out->rows[i].text != NULL;
		json_decref(a.jobs[i].item);
	}
	json_decref(config);
	if (status != KW_OK)
		kw_op_audit_release(out);
	return status;
}

void kw_op_audit_release(struct kw_op_audit *r)
{
	kw_arena_release(&r->arena);
	memset(r, 0, sizeof(*r));
}
