/* Judges one candidate and stores what came out. */
#include <string.h>

#include "base/log.h"
#include "memory/memory.h"
#include "ops/internal.h"

enum { CANDIDATE_ARENA_BYTES = 64 << 20 };

enum kw_status kw_op_find_case(const struct kw_task *t, const char *name, int *out,
			       struct kw_error *err)
{
	const char *labels[256], *near;
	size_t n = t->case_count < 256 ? t->case_count : 256;
	int64_t number;

	*out = -1;
	if (!name)
		return KW_OK;
	for (size_t i = 0; i < n; i++) {
		labels[i] = t->cases[i].label;
		if (strcmp(name, labels[i]) == 0) {
			*out = (int)i;
			return KW_OK;
		}
	}
	if (kw_str_to_i64(kw_str_from(name), &number) && number >= 1 &&
	    number <= (int64_t)t->case_count) {
		*out = (int)number - 1;
		return KW_OK;
	}
	near = kw_str_nearest(name, labels, n);
	if (near)
		return kw_fail(err, KW_ERR_USAGE, t->file, "no case '%.100s'; did you mean '%s'?", name,
			       near);
	return kw_fail(err, KW_ERR_USAGE, t->file,
		       "no case '%.100s'; give a label that `kwright task show` prints, or a number "
		       "from 1 to %zu", name, t->case_count);
}

static void not_remembered(const struct kw_error *err)
{
	kw_log(KW_LOG_WARN, "nothing is remembered beyond this folder's store: %s%s%s (XDG_DATA_HOME names another place)", err->where,
	       err->where[0] ? ": " : "", err->text);
}

struct kw_store *kw_op_memory(void)
{
	struct kw_store *memory = NULL;
	struct kw_error err = { 0 };

	if (kw_store_memory_open(&memory, &err) != KW_OK) {
		not_remembered(&err);
		return NULL;
	}
	return memory;
}

/* The verdict is kept already: a full disk elsewhere takes nothing from it. */
static void learn(const struct kw_task *t, const struct kw_expr *e, const struct kw_candidate *c, const struct kw_verdict *v)
{
	struct kw_store *memory = kw_op_memory();
	struct kw_error err = { 0 };

	if (kw_memory_learn(memory, t, e, c, v, &err) != KW_OK)
		not_remembered(&err);
	kw_store_close(memory);
}

static enum kw_status keep(struct kw_store *s, const struct kw_op_task *t,
			   const struct kw_candidate *c, int64_t run_id, const char *effort,
			   struct kw_op_eval *out, struct kw_error *err)
{
	struct kw_verdict_row row;
	enum kw_status status = kw_store_task_put(s, t->task.sha256, t->task.name, t->task.text, err);

	if (status == KW_OK)
		status = kw_store_candidate_put(s, c, err);
	if (status == KW_OK)
		status = kw_store_verdict_put(s, run_id, 0, effort, &out->verdict, &out->verdict_id, err);
	if (status == KW_OK)
		status = kw_store_verdict_get(s, out->verdict_id, &out->arena, &row, err);
	if (status == KW_OK)
		out->record_sha = row.sha;
	return status;
}

/* What the candidate is judged with. */
static void judge_opts(const struct kw_op_eval_opts *o, const struct kw_op_task *t, struct kw_judge_opts *jo)
{
	jo->trials = o->trials ? o->trials : jo->trials;
	jo->call_timeout_ms = o->call_timeout_ms;
	jo->threads = o->threads;
	jo->seed = o->seed;
	jo->large = o->large || (jo->only_case >= 0 && t->task.cases[jo->only_case].large);
	jo->sanitize = o->sanitize ? KW_SANITIZE_MUST : o->effort == KW_EFFORT_FINAL ? KW_SANITIZE_IF_THERE : KW_SANITIZE_NO;
	jo->close = o->close;
	jo->profiled = o->profiled;
	jo->profiled_arg = o->profiled_arg;
	jo->progress = o->progress;
	jo->progress_arg = o->progress_arg;
	jo->baselines = o->baselines;
	jo->original = o->original;
	jo->timings = o->timings;
}

static enum kw_status judge_on(const char *device, const char *backend, struct kw_judge **out, struct kw_error *err)
{
	const struct kw_backend *b = kw_backend_find(backend);

	if (!device || !b)
		return kw_op_judge_for(backend, out, err);
	if (strcmp(device, b->device) != 0 && (!b->checker || strcmp(device, b->checker) != 0))
		return kw_fail(err, KW_ERR_USAGE, "", "kernels of the backend '%s' run on %s%s%s, not on %s", backend, b->device,
			       b->checker ? " or " : "", b->checker ? b->checker : "", device);
	return kw_judge_new(device, out, err);
}

enum kw_status kw_op_eval(const struct kw_op_env *env, const struct kw_op_eval_opts *o,
			  struct kw_op_eval *out, struct kw_error *err)
{
	static const char *const efforts[] = { [KW_EFFORT_SCREEN] = "screen", [KW_EFFORT_FULL] = "full",
					       [KW_EFFORT_FINAL] = "final" };
	struct kw_op_task own = { 0 };
	const struct kw_op_task *t = o->ready_task ? o->ready_task : &own;
	struct kw_candidate loaded;
	const struct kw_candidate *c = o->ready_candidate ? o->ready_candidate : &loaded;
	struct kw_judge_opts jo;
	struct kw_judge *judge = o->judge;
	struct kw_store *store = NULL;
	enum kw_status status = KW_OK;

	memset(out, 0, sizeof(*out));
	kw_arena_init(&out->arena, CANDIDATE_ARENA_BYTES);
	kw_verdict_init(&out->verdict);
	kw_judge_opts_default(&jo, o->effort);
	if (!o->ready_task)
		status = kw_op_task_load(o->task, o->inputs, o->input_count, &own, err);
	if (status == KW_OK && !o->ready_candidate)
		status = kw_candidate_load(&loaded, o->file, o->backend, &t->task, &out->arena, err);
	if (status == KW_OK)
		status = kw_op_find_case(&t->task, o->case_name, &jo.only_case, err);
	/* The store first: a verdict that cannot be kept is not worth the time. */
	if (status == KW_OK)
		status = kw_store_open(env->store_dir, false, &store, err);
	if (status == KW_OK && !judge)
		status = judge_on(o->device, c->backend, &judge, err);
	if (status == KW_OK) {
		out->name = c->name;
		judge_opts(o, t, &jo);
		status = kw_judge_eval(judge, &t->task, t->expr, c, &jo, &out->verdict, err);
	}
	if (status == KW_OK)
		status = keep(store, t, c, o->run_id, efforts[o->effort], out, err);
	if (status == KW_OK)
		learn(&t->task, t->expr, c, &out->verdict);
	if (!o->judge)
		out->judge = judge;
	kw_store_close(store);
	kw_op_task_release(&own);
	if (status != KW_OK)
		kw_op_eval_release(out);
	return status;
}

void kw_op_eval_release(struct kw_op_eval *r)
{
	kw_judge_free(r->judge);
	kw_verdict_release(&r->verdict);
	kw_arena_release(&r->arena);
	memset(r, 0, sizeof(*r));
}
