/* Removing a run with its files; verifying a record by judging again. */
#include <string.h>

#include "base/file.h"
#include "ops/internal.h"

enum { RECORD_MAX_BYTES = 64 << 20, LINES_MAX = 600 };

static enum kw_status remove_files(const struct kw_op_env *env, struct kw_arena *a, int64_t id, struct kw_error *err)
{
	const char *dir = kw_arena_printf(a, "%s/results/%lld", env->store_dir, (long long)id);

	return dir ? kw_rmtree(dir, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
}

enum kw_status kw_op_run_remove(const struct kw_op_env *env, int64_t id, struct kw_error *err)
{
	struct kw_store *store;
	struct kw_run_row *items = NULL;
	struct kw_arena a;
	size_t n = 0;
	enum kw_status status = kw_store_open(env->store_dir, false, &store, err);

	if (status != KW_OK)
		return status;
	kw_arena_init(&a, 512 << 20);
	status = kw_store_run_items(store, id, &a, &items, &n, err);
	if (status == KW_OK)
		status = kw_store_run_remove(store, id, err);
	/* The files last: a run without files can be shown, files without a run are litter. */
	if (status == KW_OK)
		status = remove_files(env, &a, id, err);
	for (size_t i = 0; status == KW_OK && i < n; i++)
		status = remove_files(env, &a, items[i].id, err);
	kw_arena_release(&a);
	kw_store_close(store);
	return status;
}

struct verifier {
	struct kw_op_verify *out;
	const struct kw_op_verify_opts *o;
	struct kw_store *store;           /* NULL: none here */
	struct kw_op_task task;
	struct kw_candidate c;
	struct kw_verdict then, now;
	struct kw_error *err;
};

static enum kw_status read_file(struct verifier *v, json_t **record)
{
	char *text;
	size_t len;
	enum kw_status status = kw_file_read_arena(v->o->what, RECORD_MAX_BYTES, &v->out->arena, &text, &len,
						   v->err);

	return status == KW_OK ? kw_json_parse(v->o->what, text, len, record, v->err) : status;
}

static enum kw_status read_record(struct verifier *v, json_t **record)
{
	struct kw_verdict_row row;
	int64_t id;
	enum kw_status status;

	if (!kw_str_to_i64(kw_str_from(v->o->what), &id))
		return read_file(v, record);
	if (!v->store)
		return kw_fail(v->err, KW_ERR_NOT_FOUND, "", "there is no store here, so no verdict %lld",
			       (long long)id);
	status = kw_store_verdict_get(v->store, id, &v->out->arena, &row, v->err);
	if (status != KW_OK)
		return status;
	return kw_json_parse("record", row.record, strlen(row.record), record, v->err);
}

static enum kw_status need(struct verifier *v, const char *what, const char *option, const char *sha)
{
	return kw_fail(v->err, KW_ERR_NOT_FOUND, v->o->what,
		       "the store here has no %s %.12s that the record is about; give it by %s", what, sha,
		       option);
}

static enum kw_status load_task(struct verifier *v)
{
	const char *name, *text;
	enum kw_status status;

	if (v->o->task) {
		status = kw_op_task_load(v->o->task, NULL, 0, &v->task, v->err);
		if (status != KW_OK)
			return status;
	} else {
		if (!v->store || kw_store_task_get(v->store, v->then.task_sha, &v->out->arena, &name, &text,
						   NULL) != KW_OK)
			return need(v, "task", "--task TASK", v->then.task_sha);
		status = kw_op_task_parse("(task of the record)", text, &v->task, v->err);
		if (status != KW_OK)
			return status;
	}
	if (strcmp(v->task.task.sha256, v->then.task_sha) != 0)
		return kw_fail(v->err, KW_ERR_INPUT, v->o->task ? v->o->task : v->o->what,
			       "this task is %.12s, but the record is about %.12s", v->task.task.sha256,
			       v->then.task_sha);
	return KW_OK;
}

static enum kw_status load_candidate(struct verifier *v)
{
	const char *source, *backend, *name, *file = v->o->file;
	size_t len;
	struct kw_arena *a = &v->out->arena;
	enum kw_status status;

	if (file)
		status = kw_candidate_load(&v->c, file, v->then.backend, &v->task.task, a, v->err);
	else if (!v->store || kw_store_candidate_get(v->store, v->then.candidate_sha, a, &source, &len,
						     &backend, &name, NULL) != KW_OK)
		return need(v, "candidate", "--file FILE", v->then.candidate_sha);
	else
		status = kw_candidate_from_text(&v->c, name, backend, source, len, &v->task.task, a, v->err);
	if (status != KW_OK)
		return status;
	if (strcmp(v->c.sha256, v->then.candidate_sha) != 0)
		return kw_fail(v->err, KW_ERR_INPUT, file ? file : v->o->what,
			       "this candidate is %.12s, but the record is about %.12s", v->c.sha256,
			       v->then.candidate_sha);
	v->c.tune_values = kw_arena_calloc(a, v->c.plan.tune_count + 1, sizeof(int64_t));
	if (!v->c.tune_values)
		return kw_fail(v->err, KW_ERR_NOMEM, "", "out of memory");
	return kw_plan_tune_parse(&v->c.plan, v->then.tune ? v->then.tune : "", v->c.tune_values, v->err);
}

static bool line(struct verifier *v, const char *what, const char *recorded, const char *now, bool agrees)
{
	struct kw_op_verify *r = v->out;

	if (!what || !recorded || !now || r->line_count == LINES_MAX)
		return false;
	r->lines[r->line_count++] = (struct kw_op_verify_line){ what, recorded, now, agrees };
	r->agrees = r->agrees && agrees;
	return true;
}

static const char *class_text(struct kw_arena *a, enum kw_verdict_class cls, enum kw_subclass sub)
{
	const char *name = kw_subclass_name(sub);

	return kw_arena_printf(a, "%s%s%s", kw_verdict_name(cls), name[0] ? " " : "", name);
}

/* The same seed makes the same inputs, so verdicts of cases must agree; times belong to their machine and are
 * shown, never judged. */
static bool compare_cases(struct verifier *v)
{
	struct kw_arena *a = &v->out->arena;
	char then[40], now[40];

	for (size_t i = 0; i < v->then.case_count; i++) {
		const struct kw_case_result *x = &v->then.cases[i], *y = NULL;
		const char *label = x->label ? x->label : "";

		for (size_t k = 0; k < v->now.case_count && !y; k++)
			if (strcmp(label, v->now.cases[k].label ? v->now.cases[k].label : "") == 0)
				y = &v->now.cases[k];
		if (!y) /* a size that was drawn, or a case that was not asked for */
			continue;
		if (!line(v, label, class_text(a, x->verdict, x->subclass),
			  class_text(a, y->verdict, y->subclass),
			  x->verdict == y->verdict && x->subclass == y->subclass))
			return false;
		if (x->has_times && y->has_times &&
		    !line(v, kw_arena_printf(a, "%s: time", label),
			  kw_arena_strdup(a, kw_human_ns(x->times.median_ns, then, sizeof(then))),
			  kw_arena_strdup(a, kw_human_ns(y->times.median_ns, now, sizeof(now))), true))
			return false;
	}
	return true;
}

static enum kw_status judge_again(struct verifier *v)
{
	struct kw_judge *judge = NULL;
	struct kw_judge_opts jo;
	struct kw_arena *a = &v->out->arena;
	bool good;
	enum kw_status status = kw_op_judge_for(v->c.backend, &judge, v->err);

	if (status != KW_OK)
		return status;
	kw_judge_opts_default(&jo, KW_EFFORT_FULL);
	jo.seed = v->then.seed;
	jo.threads = v->o->threads;
	jo.progress = v->o->progress;
	jo.progress_arg = v->o->progress_arg;
	status = kw_judge_eval(judge, &v->task.task, v->task.expr, &v->c, &jo, &v->now, v->err);
	kw_judge_free(judge);
	if (status != KW_OK)
		return status;
	good = line(v, "verdict", class_text(a, v->then.cls, v->then.subclass),
		    class_text(a, v->now.cls, v->now.subclass),
		    v->then.cls == v->now.cls && v->then.subclass == v->now.subclass) &&
	       line(v, "device", kw_arena_strdup(a, v->then.device ? v->then.device : "?"),
		    kw_arena_strdup(a, v->now.device ? v->now.device : "?"), true) &&
	       compare_cases(v);
	return good ? KW_OK : kw_fail(v->err, KW_ERR_NOMEM, "", "out of memory");
}

static enum kw_status verify(struct verifier *v, const json_t *record)
{
	struct kw_op_verify *r = v->out;
	enum kw_status status = kw_record_check(record, &r->hash_good, v->err);

	r->lines = kw_arena_calloc(&r->arena, LINES_MAX, sizeof(*r->lines));
	if (status == KW_OK && !r->lines)
		status = kw_fail(v->err, KW_ERR_NOMEM, "", "out of memory");
	if (status == KW_OK)
		status = kw_verdict_from_json(&v->then, record, v->err);
	if (status != KW_OK)
		return status;
	r->agrees = true;
	line(v, "hash of the record",
	     kw_arena_strdup(&r->arena, kw_json_get_str(record, "sha256", "none")),
	     r->hash_good ? "the same" : "another", r->hash_good);
	if (!r->hash_good)
		return KW_OK; /* nothing in it can be believed */
	status = load_task(v);
	if (status == KW_OK)
		status = load_candidate(v);
	return status == KW_OK ? judge_again(v) : status;
}

enum kw_status kw_op_verify(const struct kw_op_env *env, const struct kw_op_verify_opts *o,
			    struct kw_op_verify *out, struct kw_error *err)
{
	struct verifier v = { .out = out, .o = o, .err = err };
	json_t *record = NULL;
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	kw_arena_init(&out->arena, 256 << 20);
	kw_verdict_init(&v.then);
	kw_verdict_init(&v.now);
	status = kw_store_open(env->store_dir, true, &v.store, err);
	if (status == KW_ERR_NOT_FOUND) /* a record from elsewhere needs no store */
		status = KW_OK;
	if (status == KW_OK)
		status = read_record(&v, &record);
	if (status == KW_OK)
		status = verify(&v, record);
	/* Texts of the lines must outlive the verdicts. */
	for (size_t i = 0; i < out->line_count; i++) {
		struct kw_op_verify_line *l = &out->lines[i];

		l->what = kw_arena_strdup(&out->arena, l->what);
		l->recorded = kw_arena_strdup(&out->arena, l->recorded);
		l->now = kw_arena_strdup(&out->arena, l->now);
		if (!l->what || !l->recorded || !l->now)
			status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	json_decref(record);
	kw_op_task_release(&v.task);
	kw_verdict_release(&v.then);
	kw_verdict_release(&v.now);
	kw_store_close(v.store);
	if (status != KW_OK)
		kw_op_verify_release(out);
	return status;
}

void kw_op_verify_release(struct kw_op_verify *v)
{
	kw_arena_release(&v->arena);
	memset(v, 0, sizeof(*v));
}
