/* Baselines: what a user would write first, by the same compiler, run in trusted players. On the CPU that is C, with and
 * without threads; by OpenCL a kernel for each step, a work-item for each element. */
#include "judge/internal.h"

#include "base/alloc.h"

#include <string.h>

#define LOAD_TIMEOUT_MS 10000

static enum kw_status one(struct work *w, struct baseline *b, const char *name, bool openmp, struct kw_error *err)
{
	struct baseline_set *set = w->baselines;
	struct kw_buf text;
	enum kw_status st;

	kw_buf_init(&text, 4u << 20);
	b->name = name;
	b->naive_flags = !openmp;
	st = kw_expr_emit_naive_c(w->e, openmp, &text, err);
	if (st == KW_OK)
		st = kw_candidate_from_text(&b->candidate, openmp ? "naive_openmp" : "naive", "c", text.ptr, text.len, w->t,
					    &set->arena, err);
	kw_buf_release(&text);
	b->usable = st == KW_OK;
	return st;
}

static enum kw_status one_opencl(struct work *w, struct baseline *b, struct kw_error *err)
{
	struct kw_buf text;
	enum kw_status st;

	kw_buf_init(&text, 4u << 20);
	b->name = "naive opencl";
	st = kw_expr_emit_naive_gpu(w->e, "opencl", KW_NAIVE_BASELINE, &text, NULL, err);
	if (st == KW_OK)
		st = kw_candidate_from_text(&b->candidate, "naive", "opencl", text.ptr, text.len, w->t, &w->baselines->arena, err);
	kw_buf_release(&text);
	b->usable = st == KW_OK;
	return st;
}

/* Each one that there is, in turn; KW_NO ends the list. */
static enum kw_status emit_all(struct work *w, struct kw_error *err)
{
	struct baseline_set *set = w->baselines;
	enum kw_status st;

	if (strcmp(w->j->dev->ops->name, "opencl") == 0) {
		st = one_opencl(w, &set->item[0], err);
		set->count = st == KW_OK;
		return st;
	}
	st = one(w, &set->item[0], "naive -O3", false, err);
	if (st == KW_OK)
		set->count = 1;
	if (st == KW_OK && (st = one(w, &set->item[1], "naive -O3 openmp", true, err)) == KW_OK)
		set->count = 2;
	return st;
}

enum kw_status kw_baselines_new(struct work *w, struct kw_error *err)
{
	struct baseline_set *set = kw_calloc(1, sizeof *set);
	enum kw_status st;

	if (strcmp(w->j->dev->ops->name, "cpu") != 0 && strcmp(w->j->dev->ops->name, "opencl") != 0) {
		kw_free(set);
		return KW_OK;
	}
	if (!set)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_arena_init(&set->arena, 64u << 20);
	w->baselines = set;
	st = emit_all(w, err);
	if (st == KW_NO) { /* an operation without a naive form: say so, judge without */
		if (err)
			kw_error_reset(err);
		st = KW_OK;
	}
	return st;
}

void kw_baselines_free(struct work *w)
{
	if (!w->baselines)
		return;
	kw_arena_release(&w->baselines->arena);
	kw_free(w->baselines);
	w->baselines = NULL;
}

enum kw_status kw_baselines_bind(struct stage *s, struct kw_error *err)
{
	struct baseline_set *set = s->w->baselines;
	enum kw_status st = KW_OK;

	for (int i = 0; set && i < set->count && st == KW_OK; i++)
		st = kw_plan_bind(&set->item[i].candidate.plan, s->w->t, s->c, s->view, NULL, &s->w->j->facts, &s->arena,
				  &s->base[i].plan, err);
	return st;
}

enum kw_status kw_baselines_start(struct stage *s, struct kw_error *err)
{
	struct kw_player_opts o = { .trusted = true, .threads = s->w->o.threads };
	enum kw_status st = KW_OK;

	for (int i = 0; i < KW_BASELINES && st == KW_OK; i++)
		if (s->base[i].plan.applicable && !s->base[i].player)
			st = s->w->j->dev->ops->player_start(s->session, &o, &s->base[i].player, err);
	return st;
}

enum kw_status kw_baselines_load(struct stage *s, struct kw_error *err)
{
	enum kw_status st = kw_baselines_start(s, err);

	for (int i = 0; i < KW_BASELINES && st == KW_OK; i++) {
		struct baseline_run *b = &s->base[i];
		struct kw_play_result r = { .buffer = -1 };

		if (!b->player)
			continue;
		st = s->w->j->dev->ops->load(b->player, &b->build.artefact, &b->plan, LOAD_TIMEOUT_MS, &r, err);
		if (st == KW_OK && r.end != KW_PLAY_DONE)
			st = kw_fail(err, KW_ERR_BUG, "", "the baseline '%s' of %s cannot be loaded: %s",
				     s->w->baselines->item[i].name, s->w->t->name, r.detail);
		kw_trial_release(&r);
	}
	return st;
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
