/* Baselines: what a user would write first for this device, by the same compiler, run in trusted players. */
#include "judge/internal.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

#define LOAD_TIMEOUT_MS 10000
#define EMPTY_BATCHES 7
#define MEMORY_SHARE 0.25 /* of what is available that the workspaces of a baseline may take */

static const struct form {
	const char *device, *name, *backend, *candidate;
	bool openmp;
	bool may_fail; /* a GPU: its driver may lack f64, memory, or the time that a watchdog gives */
} forms[] = {
	{ .device = "cpu", .name = "naive -O3", .backend = "c", .candidate = "naive" },
	{ .device = "cpu", .name = "naive -O3 openmp", .backend = "c", .candidate = "naive_openmp", .openmp = true },
	{ .device = "nvidia", .name = "naive CUDA", .backend = "cuda", .candidate = "naive", .may_fail = true },
	{ .device = "opencl", .name = "naive OpenCL", .backend = "opencl", .candidate = "naive", .may_fail = true },
};

/* A reference in C is what its author wrote first. */
static enum kw_status own_reference(struct work *w, struct baseline *b, const struct form *f)
{
	const struct kw_candidate *c = kw_c_reference_as_baseline(w);

	if (!c || f->openmp || strcmp(f->backend, "c") != 0 ||
	    w->t->input_count + w->t->output_count + c->plan.workspace_count > KW_MAX_TENSORS)
		return KW_NO;
	b->name = "C reference -O3";
	b->candidate = *c;
	b->naive_flags = true;
	b->may_fail = true; /* it is not ours, and reads inputs as the case lays them out */
	b->usable = true;
	return KW_OK;
}

static enum kw_status one(struct work *w, struct baseline *b, const struct form *f, struct kw_error *err)
{
	struct baseline_set *set = w->baselines;
	bool c = strcmp(f->backend, "c") == 0;
	struct kw_buf text;
	enum kw_status st;

	if (kw_expr_is_external(w->e))
		return w->c_reference ? own_reference(w, b, f) : KW_NO;
	kw_buf_init(&text, 4u << 20);
	b->name = f->name;
	b->naive_flags = c && !f->openmp;
	b->may_fail = f->may_fail;
	st = c ? kw_expr_emit_naive_c(w->e, f->openmp, &text, err) :
		 kw_expr_emit_naive_gpu(w->e, f->backend, KW_NAIVE_BASELINE, &text, NULL, err);
	if (st == KW_OK)
		st = kw_candidate_from_text(&b->candidate, f->candidate, f->backend, text.ptr, text.len, &w->apart, &set->arena,
					    err);
	kw_buf_release(&text);
	if (st == KW_OK && w->t->input_count + w->t->output_count + b->candidate.plan.workspace_count > KW_MAX_TENSORS)
		st = KW_NO;
	b->usable = st == KW_OK;
	return st;
}

enum kw_status kw_baselines_new(struct work *w, struct kw_error *err)
{
	struct baseline_set *set = kw_calloc(1, sizeof *set);
	enum kw_status st = KW_OK;

	if (!set)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_arena_init(&set->arena, 64u << 20);
	w->baselines = set;
	for (size_t i = 0; (w->o.baselines & KW_BASELINE_NAIVE) && i < sizeof(forms) / sizeof(forms[0]) && st == KW_OK && set->count < KW_BASELINES; i++)
		if (strcmp(forms[i].device, w->j->dev->ops->name) == 0 &&
		    (st = one(w, &set->item[set->count], &forms[i], err)) == KW_OK)
			set->count++;
	if (st == KW_NO) { /* an operation without a naive form: judge without */
		if (err)
			kw_error_reset(err);
		st = KW_OK;
	}
	return st == KW_OK ? kw_torch_baselines_new(w, err) : st;
}

void kw_baselines_free(struct work *w)
{
	if (!w->baselines)
		return;
	kw_arena_release(&w->baselines->arena);
	kw_free(w->baselines);
	w->baselines = NULL;
}

static double workspace_bytes(const struct kw_plan *p, const struct kw_bound_plan *bound)
{
	double sum = 0;

	for (size_t i = 0; i < p->workspace_count; i++)
		sum += (double)kw_shape_count(&bound->workspaces[i]) * (double)kw_dtype_bytes(p->workspaces[i].dtype);
	return sum;
}

/* Asks how much memory the device has left: not while it still starts, where it need not be. */
static double slots(const struct stage *s)
{
	return kw_stage_bytes(s) / (s->footprint_bytes > 1 ? s->footprint_bytes : 1);
}

enum kw_status kw_baselines_bind(struct stage *s, struct kw_error *err)
{
	struct baseline_set *set = s->w->baselines;
	enum kw_status st = KW_OK;

	for (int i = 0; set && i < set->count && st == KW_OK; i++) {
		const struct kw_plan *p = &set->item[i].candidate.plan;
		struct kw_bound_plan *bound = &s->base[i].plan;

		if (set->item[i].torch)
			continue;
		st = kw_plan_bind(p, &s->w->apart, s->c, s->view, NULL, &s->w->j->facts, &s->arena, bound, err);
		/* The candidate is judged though the naive kernel needs all scores of a large attention at once. */
		if (st == KW_OK && bound->applicable && p->workspace_count &&
		    workspace_bytes(p, bound) * slots(s) > MEMORY_SHARE * (double)kw_memory_available())
			bound->applicable = false;
	}
	return st;
}

enum kw_status kw_baselines_start(struct stage *s, struct kw_error *err)
{
	struct kw_player_opts o = { .trusted = true, .threads = s->w->o.threads };
	enum kw_status st = KW_OK;

	for (int i = 0; i < KW_BASELINES && st == KW_OK; i++)
		if (s->base[i].plan.applicable && !s->base[i].player && !s->base[i].why[0])
			st = s->w->j->dev->ops->player_start(s->session, &o, &s->base[i].player, err);
	return st;
}

void kw_baseline_drop(struct stage *s, int i, const char *why)
{
	kw_log(KW_LOG_WARN, "no baseline '%s' for %s (%s): %s", s->w->baselines->item[i].name, s->w->t->name, s->c->label, why);
	snprintf(s->base[i].why, sizeof s->base[i].why, "%s", why[0] ? why : "it failed");
	if (s->base[i].player)
		s->w->j->dev->ops->player_stop(s->base[i].player);
	s->base[i].player = NULL;
}

/* Beside a module, whose empty batch has in it what Python takes to wake. */
static enum kw_status empty_batches(struct stage *s, struct baseline_run *b, struct kw_error *err)
{
	struct kw_play_result r = { .buffer = -1 };
	enum kw_status st = KW_OK;

	b->fixed_ns = INT64_MAX;
	for (int i = 0; i < EMPTY_BATCHES && st == KW_OK; i++) {
		st = s->w->j->dev->ops->run(b->player, NULL, 0, LOAD_TIMEOUT_MS, &r, err);
		kw_trial_release(&r);
		if (st == KW_OK && r.wall_ns < b->fixed_ns)
			b->fixed_ns = r.wall_ns;
	}
	return st;
}

enum kw_status kw_baselines_load(struct stage *s, struct kw_error *err)
{
	enum kw_status st = kw_baselines_start(s, err);

	for (int i = 0; i < KW_BASELINES && st == KW_OK && !s->w->failed; i++) {
		struct baseline_run *b = &s->base[i];
		struct kw_play_result r = { .buffer = -1 };

		if (b->player && b->built && b->build.cls != KW_V_OK) /* it may fail: see kw_builds_make */
			kw_baseline_drop(s, i, "it does not compile");
		if (!b->player || s->w->baselines->item[i].torch)
			continue;
		if (s->module.spec && (st = empty_batches(s, b, err)) != KW_OK)
			break;
		st = s->w->j->dev->ops->load(b->player, &b->build.artefact, &b->plan, LOAD_TIMEOUT_MS, &r, err);
		if (st != KW_OK || kw_trial_killed(s, &r))
			;
		else if (r.end != KW_PLAY_DONE && s->w->baselines->item[i].may_fail)
			kw_baseline_drop(s, i, r.detail);
		else if (r.end != KW_PLAY_DONE)
			st = kw_fail(err, KW_ERR_BUG, "", "the baseline '%s' of %s cannot be loaded: %s",
				     s->w->baselines->item[i].name, s->w->t->name, r.detail);
		kw_trial_release(&r);
	}
	return st == KW_OK && !s->w->failed ? kw_torch_baselines_load(s, err) : st;
}

void kw_baselines_close(struct stage *s)
{
	for (int i = 0; i < KW_BASELINES; i++) {
		struct baseline_run *b = &s->base[i];

		if (b->player)
			s->w->j->dev->ops->player_stop(b->player);
		if (b->built)
			kw_build_result_release(&b->build);
		b->player = NULL;
		b->built = false;
	}
}
