/* Expected values on the device. Where a large case would be moved to the host and evaluated there for each of its checks,
 * this takes milliseconds. It only ever says "right": whatever is not goes the host's way, which names it. */
#include "judge/gpu.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

#define TILE ((int64_t)1 << 26)           /* expected values at once: 512 MiB */
#define TOLERANCE_SAMPLE ((int64_t)1 << 18) /* elements that the plain evaluation is tried on */
#define AS_LARGE 0.5                      /* of the RMS of the values that a tolerance is from */
#define MEMORY_SHARE 0.2                  /* of the device's memory that workspaces may take */
enum { F64, F32, THREADS = 256, SAMPLED_RANGES = 64, SAMPLED_COUNT = 4096, ARGS_MAX = 64 };

struct form {
	struct kw_candidate candidate;
	struct kw_naive_info info;
	struct kw_build_result build;
	bool built;
	struct kw_program *program;
};
struct references {
	struct kw_arena arena;
	struct form form[KW_REFERENCES];
};

/* ---- life ---- */

static enum kw_status emit(struct work *w, int which, struct kw_error *err)
{
	struct form *f = &w->references->form[which];
	struct kw_buf text;
	enum kw_status st;

	kw_buf_init(&text, 4u << 20);
	st = kw_expr_emit_naive_gpu(w->e, "cuda", which == F64 ? KW_NAIVE_F64 : KW_NAIVE_F32, &text, &f->info, err);
	if (st == KW_OK)
		st = kw_candidate_from_text(&f->candidate, which == F64 ? "reference_f64" : "reference_f32", "cuda", text.ptr,
					    text.len, &w->apart, &w->references->arena, err);
	kw_buf_release(&text);
	return st;
}

static bool compared_by_value(const struct work *w)
{
	for (size_t i = 0; i < w->t->output_count; i++)
		if (w->t->outputs[i].compare != KW_COMPARE_VALUES || !kw_gpu_knows(w->t->outputs[i].dtype))
			return false;
	return true;
}

enum kw_status kw_references_new(struct work *w, struct kw_error *err)
{
	enum kw_status st = KW_OK;

	if (!w->j->dev->ops->compute || !compared_by_value(w))
		return KW_OK;
	w->references = kw_calloc(1, sizeof *w->references);
	if (!w->references)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_arena_init(&w->references->arena, 64u << 20);
	for (int i = 0; i < KW_REFERENCES && st == KW_OK; i++)
		st = emit(w, i, err);
	if (st == KW_NO) { /* the host evaluates it */
		kw_references_free(w);
		if (err)
			kw_error_reset(err);
		return KW_OK;
	}
	return st;
}

void kw_references_free(struct work *w)
{
	struct references *r = w->references;

	for (int i = 0; r && i < KW_REFERENCES; i++) {
		if (r->form[i].program)
			w->j->dev->ops->compute->unload(r->form[i].program);
		if (r->form[i].built)
			kw_build_result_release(&r->form[i].build);
	}
	if (r)
		kw_arena_release(&r->arena);
	kw_free(r);
	w->references = NULL;
}

size_t kw_references_jobs(struct work *w, const struct stage *s, struct reference_job jobs[KW_REFERENCES])
{
	struct references *r = w->references;
	size_t n = 0;

	for (int i = 0; r && s->reference.usable && i < KW_REFERENCES; i++)
		if (!r->form[i].built)
			jobs[n++] = (struct reference_job){ &r->form[i].candidate, &s->reference.plan[i], &r->form[i].build,
							    &r->form[i].built };
	return n;
}

enum kw_status kw_references_bind(struct stage *s, struct kw_error *err)
{
	struct references *r = s->w->references;
	struct reference_run *run = &s->reference;
	enum kw_status st = KW_OK;

	run->usable = r != NULL;
	for (int i = 0; r && i < KW_REFERENCES && st == KW_OK; i++) {
		st = kw_plan_bind(&r->form[i].candidate.plan, &s->w->apart, s->c, s->view, NULL, &s->w->j->facts, &s->arena, &run->plan[i],
				  err);
		/* One build serves all cases. */
		run->usable = run->usable && st == KW_OK && run->plan[i].applicable && run->plan[i].define_count == 0;
	}
	return st;
}

/* All cases share a build: the first that can be bound says what it is. */
static void build_ahead(struct work *w, int part, struct stage *s)
{
	struct reference_job job[KW_REFERENCES];
	struct kw_build_opts o = { .arch = w->j->dev->hardware.arch, .trusted = true };

	if (kw_stage_bind(s, w, &w->t->cases[0], NULL) == KW_OK && kw_references_bind(s, NULL) == KW_OK &&
	    kw_references_jobs(w, s, job) == KW_REFERENCES &&
	    kw_build(kw_backend_find("cuda"), job[part].candidate, job[part].plan, &o, job[part].result, NULL) == KW_OK)
		*job[part].done = true;
	kw_stage_close(s);
}

void kw_judge_build_ahead(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e, int part)
{
	struct work w = { .j = j, .t = t, .e = e };
	struct stage *s = kw_calloc(1, sizeof *s);
	struct kw_arena a;

	kw_arena_init(&a, 64u << 20);
	w.a = &a;
	if (s && t->case_count && kw_task_out_of_place(t, &a, &w.apart, NULL) == KW_OK && kw_references_new(&w, NULL) == KW_OK && w.references)
		build_ahead(&w, part, s);
	kw_references_free(&w);
	kw_arena_release(&a);
	kw_free(s);
}

/* ---- a case's memory ---- */

static double workspace_bytes(const struct stage *s, int which)
{
	const struct kw_plan *p = &s->w->references->form[which].candidate.plan;
	double sum = 0;

	for (size_t i = 0; i < p->workspace_count; i++)
		sum += (double)kw_shape_count(&s->reference.plan[which].workspaces[i]) * (double)kw_dtype_bytes(p->workspaces[i].dtype);
	return sum;
}

static int64_t tile(const struct stage *s)
{
	int64_t most = 1;

	for (int o = 0; o < s->outputs; o++) {
		int64_t n = kw_shape_count(&s->view[s->inputs + o].shape);

		most = n > most ? n : most;
	}
	return most < TILE ? most : TILE;
}

static enum kw_status open_run(struct stage *s, struct kw_error *err)
{
	struct reference_run *run = &s->reference;
	struct kw_device *dev = s->w->j->dev;
	const struct kw_compute_ops *ops = dev->ops->compute;
	int64_t sample = tile(s) < TOLERANCE_SAMPLE ? tile(s) : TOLERANCE_SAMPLE;
	enum kw_status st = KW_OK;

	run->opened = true;
	if (workspace_bytes(s, F64) + workspace_bytes(s, F32) > MEMORY_SHARE * (double)dev->hardware.memory_bytes) {
		run->usable = false;
		return KW_OK;
	}
	for (int f = 0; f < KW_REFERENCES && st == KW_OK; f++) {
		struct form *form = &s->w->references->form[f];
		const struct kw_plan *p = &form->candidate.plan;

		if (!form->built) {
			run->usable = false;
			return KW_OK;
		}
		if (!form->program)
			st = ops->load(dev, &form->build.artefact, &form->program, err);
		run->workspaces[f] = kw_arena_calloc(&s->arena, p->workspace_count + 1, sizeof *run->workspaces[f]);
		if (!run->workspaces[f])
			return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		for (size_t i = 0; i < p->workspace_count && st == KW_OK; i++)
			st = ops->alloc(dev, (size_t)kw_shape_count(&run->plan[f].workspaces[i]) *
						     kw_dtype_bytes(p->workspaces[i].dtype),
					&run->workspaces[f][i], err);
	}
	if (st == KW_OK)
		st = ops->alloc(dev, (size_t)tile(s) * sizeof(double), &run->want, err);
	if (st == KW_OK)
		st = ops->alloc(dev, (size_t)sample * sizeof(double), &run->plain, err);
	return st;
}

void kw_references_close(struct stage *s)
{
	struct reference_run *run = &s->reference;
	struct kw_device *dev = s->w ? s->w->j->dev : NULL;

	if (!run->opened || !dev->ops->compute)
		return;
	for (int f = 0; f < KW_REFERENCES; f++)
		for (size_t i = 0; run->workspaces[f] && i < s->w->references->form[f].candidate.plan.workspace_count; i++)
			dev->ops->compute->release(dev, run->workspaces[f][i]);
	dev->ops->compute->release(dev, run->want);
	dev->ops->compute->release(dev, run->plain);
	*run = (struct reference_run){ 0 };
}

/* ---- running ---- */

struct values {
	uint64_t bits[ARGS_MAX];
	void *at[ARGS_MAX];
};

static void bind_value(struct stage *s, int which, int slot, const struct kw_bound_arg *a, uint64_t output, uint64_t *bits)
{
	const struct kw_compute_ops *ops = s->w->j->dev->ops->compute;
	float f = (float)a->f;

	*bits = (uint64_t)a->i;
	if (a->kind == KW_ARG_TENSOR)
		*bits = a->index < s->inputs ? ops->address(s->session, slot, a->index) : output;
	else if (a->kind == KW_ARG_WORKSPACE)
		*bits = s->reference.workspaces[which][a->index];
	else if (a->dtype == KW_F64)
		memcpy(bits, &a->f, sizeof a->f);
	else if (a->dtype == KW_F32)
		memcpy(bits, &f, sizeof f);
}

/* Kernel k of a form. count >= 0: elements first..first+count of its output, to `output`. */
static enum kw_status launch(struct stage *s, int which, size_t k, int slot, uint64_t output, int64_t first, int64_t count,
			     struct kw_error *err)
{
	const struct kw_compute_ops *ops = s->w->j->dev->ops->compute;
	struct form *form = &s->w->references->form[which];
	const struct kw_bound_kernel *b = &s->reference.plan[which].kernels[k];
	const json_t *kernels = json_object_get(form->build.artefact.facts, "kernels");
	const char *symbol = kw_json_get_str(json_object_get(kernels, b->name), "symbol", b->name);
	int64_t grid[3] = { b->grid[0], b->grid[1], b->grid[2] };
	struct values v;

	if (b->arg_count > ARGS_MAX)
		return kw_fail(err, KW_ERR_LIMIT, b->name, "more than %d arguments", ARGS_MAX);
	for (size_t i = 0; i < b->arg_count; i++) {
		bind_value(s, which, slot, &b->args[i], output, &v.bits[i]);
		v.at[i] = &v.bits[i];
	}
	if (count >= 0) {
		v.bits[b->arg_count - 2] = (uint64_t)first;
		v.bits[b->arg_count - 1] = (uint64_t)count;
		grid[0] = (count * form->info.lanes[k] + THREADS - 1) / THREADS;
	}
	if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
		return KW_OK;
	return ops->launch(form->program, symbol, grid, b->block, v.at, err);
}

/* What all elements of the outputs need. */
static enum kw_status begin(struct stage *s, int which, int slot, struct kw_error *err)
{
	const struct form *f = &s->w->references->form[which];
	enum kw_status st = KW_OK;

	for (size_t k = 0; k < f->info.kernel_count && st == KW_OK; k++)
		if (f->info.output[k] < 0)
			st = launch(s, which, k, slot, 0, 0, -1, err);
	return st;
}

static enum kw_status range(struct stage *s, int which, int slot, int output, int64_t first, int64_t count, uint64_t to,
			    struct kw_error *err)
{
	const struct form *f = &s->w->references->form[which];

	for (size_t k = 0; k < f->info.kernel_count; k++)
		if (f->info.output[k] == output)
			return launch(s, which, k, slot, to, first, count, err);
	return kw_fail(err, KW_ERR_BUG, "", "no kernel of the reference computes output %d", output);
}

/* ---- checking ---- */

static enum kw_status tolerance(struct stage *s, int slot, enum kw_fill fill, int output, bool *usable, struct kw_error *err)
{
	int64_t n = kw_shape_count(&s->view[s->inputs + output].shape);
	int64_t count = n < TOLERANCE_SAMPLE ? n : TOLERANCE_SAMPLE;
	uint64_t rng = s->w->seed ^ (0xa076u + s->w->counter);
	int64_t first = (int64_t)(kw_next_u64(&rng) % (uint64_t)(n - count + 1));
	struct kw_gpu_plain p = { 0 };
	enum kw_status st = range(s, F64, slot, output, first, count, s->reference.want, err);

	if (st == KW_OK)
		st = range(s, F32, slot, output, first, count, s->reference.plain, err);
	if (st == KW_OK)
		st = kw_gpu_plain(s, s->reference.want, s->reference.plain, count, &p, err);
	if (st == KW_OK)
		*usable = kw_stage_set_tolerance(s, output, fill, p.worst, p.squares, p.n, p.nan, p.ill) && *usable;
	return st;
}

/* Expected values that a later answer may be an old copy of. */
static enum kw_status remember(struct stage *s, int output, int64_t first, int64_t count, double *want, struct kw_error *err)
{
	const struct memo *m = kw_memo_places(s, output);
	struct kw_device *dev = s->w->j->dev;
	enum kw_status st = KW_OK;

	for (int i = 0; i < m->points && st == KW_OK; i++)
		if (m->flat[i] >= first && m->flat[i] < first + count)
			st = dev->ops->compute->read(dev, &want[i], s->reference.want + (uint64_t)(m->flat[i] - first) * sizeof(double),
						     sizeof(double), err);
	return st;
}

static enum kw_status check_range(struct stage *s, int slot, enum kw_fill fill, int output, int64_t first, int64_t count,
				  struct kw_compare_stats *st, struct kw_error *err)
{
	enum kw_status status = range(s, F64, slot, output, first, count, s->reference.want, err);

	if (status == KW_OK)
		status = kw_gpu_compare(s, slot, output, s->reference.want, first, count, fill != KW_FILL_DECLARED, st, err);
	return status;
}

/* want: receives the expected values at the places of the memo. */
static enum kw_status check_whole(struct stage *s, int slot, enum kw_fill fill, int output, double *want,
				  struct kw_compare_stats *st, struct kw_error *err)
{
	int64_t n = kw_shape_count(&s->view[s->inputs + output].shape), step = tile(s);
	enum kw_status status = KW_OK;

	for (int64_t first = 0; first < n && status == KW_OK; first += step) {
		int64_t count = n - first < step ? n - first : step;

		status = check_range(s, slot, fill, output, first, count, st, err);
		if (status == KW_OK)
			status = remember(s, output, first, count, want, err);
	}
	return status;
}

/* Where an element of the reference costs much: random ranges, and poison everywhere. */
static enum kw_status check_sampled(struct stage *s, int slot, enum kw_fill fill, int output, struct kw_compare_stats *st,
				    struct kw_error *err)
{
	int64_t n = kw_shape_count(&s->view[s->inputs + output].shape), unwritten = 0;
	int64_t count = n < SAMPLED_COUNT ? n : SAMPLED_COUNT;
	uint64_t rng = kw_random_u64(); /* drawn after the candidate ran */
	enum kw_status status = kw_gpu_unwritten(s, slot, output, &unwritten, err);

	for (int i = 0; i < SAMPLED_RANGES && status == KW_OK; i++)
		status = check_range(s, slot, fill, output, (int64_t)(kw_next_u64(&rng) % (uint64_t)(n - count + 1)), count, st, err);
	if (unwritten > st->unwritten)
		st->unwritten = unwritten;
	return status;
}

/* What one output is compared by, and how. */
static enum kw_status check_output(struct stage *s, int slot, enum kw_fill fill, int output, bool sampled, double *want,
				   struct kw_compare_stats *st, struct kw_error *err)
{
	enum kw_status status;

	kw_compare_init(st);
	status = sampled ? check_sampled(s, slot, fill, output, st, err) : check_whole(s, slot, fill, output, want, st, err);
	kw_compare_finish(st);
	return status;
}

static bool passes(const struct kw_compare_stats *st)
{
	return kw_compare_right(st) && st->unwritten == 0;
}

/* Whether the values expected now are as large as those that the tolerance is from. */
static bool as_large(const struct stage *s, int output, const struct kw_compare_stats *st)
{
	return st->compared > 0 && sqrt(st->sum_want2 / (double)st->compared) >= AS_LARGE * s->tol[output].scale;
}

/* How far a plain evaluation is off is told by earlier inputs of the same kind too, and a sum in f32 that is not split costs more than all
 * the rest. An answer that passes by that needs no other; for one that does not it is evaluated on these inputs. */
static enum kw_status judge_output(struct stage *s, int slot, enum kw_fill fill, int output, bool *began, bool *right,
				   struct kw_compare_stats *st, struct kw_error *err)
{
	struct reference_run *run = &s->reference;
	bool sampled = s->sampled && kw_shape_count(&s->view[s->inputs + output].shape) > SAMPLED_COUNT, usable = true;
	double want[KW_MEMO_POINTS] = { 0 };
	enum kw_status status = KW_OK;

	*right = false;
	if (fill == KW_FILL_DECLARED && run->told[output]) {
		status = check_output(s, slot, fill, output, sampled, want, st, err);
		*right = passes(st) && as_large(s, output, st);
	}
	run->told[output] = fill == KW_FILL_DECLARED;
	if (status == KW_OK && !*right) {
		if (!*began)
			status = begin(s, F32, slot, err);
		*began = true;
		if (status == KW_OK)
			status = tolerance(s, slot, fill, output, &usable, err);
		if (status == KW_OK)
			status = check_output(s, slot, fill, output, sampled, want, st, err);
		*right = usable && passes(st);
	}
	if (status == KW_OK && *right && !sampled)
		kw_memo_add(s, output, want); /* right answers only: a later one may be an old copy of them */
	run->told[output] = run->told[output] && *right; /* the host sets tolerances too */
	return status;
}

enum kw_status kw_references_check(struct stage *s, int slot, enum kw_fill fill, struct kw_compare_stats *stats, bool *right,
				   struct kw_error *err)
{
	int64_t start = kw_now_ns();
	bool began = false;
	enum kw_status st = KW_OK;

	*right = false;
	if (!s->w->j->gpu || !s->reference.usable)
		return KW_OK;
	if (!s->reference.opened && (st = open_run(s, err)) != KW_OK)
		return st;
	if (!s->reference.usable)
		return KW_OK;
	st = begin(s, F64, slot, err);
	*right = true;
	for (int o = 0; o < s->outputs && st == KW_OK && *right; o++) {
		kw_compare_init(&stats[o]);
		if (kw_shape_count(&s->view[s->inputs + o].shape) > 0)
			st = judge_output(s, slot, fill, o, &began, right, &stats[o], err);
	}
	s->w->v->compare_ns += kw_now_ns() - start;
	return st;
}
