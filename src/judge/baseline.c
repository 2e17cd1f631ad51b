/* Baselines on the CPU: what a user would write first, by the same compiler, run in trusted players. */
#include "judge/internal.h"

#include "base/alloc.h"

#include <string.h>

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

enum kw_status kw_baselines_new(struct work *w, struct kw_error *err)
{
	struct baseline_set *set = kw_calloc(1, sizeof *set);
	enum kw_status st;

	if (!set)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_arena_init(&set->arena, 64u << 20);
	w->baselines = set;
	st = one(w, &set->item[0], "naive -O3", false, err);
	if (st == KW_OK)
		set->count = 1;
	if (st == KW_OK && (st = one(w, &set->item[1], "naive -O3 openmp", true, err)) == KW_OK)
		set->count = 2;
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

enum kw_status kw_baseline_player(struct stage *s, struct baseline *b, struct kw_player **out, struct kw_error *err)
{
	const struct kw_device_ops *ops = s->w->j->dev->ops;
	struct kw_build_opts o = { .compiler = s->w->o.compiler, .trusted = true, .naive_flags = b->naive_flags };
	struct kw_player_opts po = { .trusted = true, .threads = s->w->o.threads };
	struct kw_play_result r = { .buffer = -1 };
	struct kw_build_result build;
	struct kw_bound_plan plan;
	enum kw_status st;

	*out = NULL;
	st = kw_plan_bind(&b->candidate.plan, s->w->t, s->c, s->view, NULL, &s->w->j->facts, &s->arena, &plan, err);
	if (st != KW_OK || !plan.applicable)
		return st;
	memset(&build, 0, sizeof build);
	st = kw_build(kw_backend_find("c"), &b->candidate, &plan, &o, &build, err);
	if (st == KW_OK && build.cls != KW_V_OK)
		st = kw_fail(err, KW_ERR_BUG, "", "the baseline '%s' of %s does not compile: %.300s", b->name, s->w->t->name,
			     build.artefact.diagnostic_count ? build.artefact.diagnostics[0].message : "no message");
	else if (st == KW_OK && (st = ops->player_start(s->session, &po, out, err)) == KW_OK)
		st = ops->load(*out, &build.artefact, &plan, 10000, &r, err);
	if (st == KW_OK && r.end != KW_PLAY_DONE)
		st = kw_fail(err, KW_ERR_BUG, "", "the baseline '%s' of %s cannot be loaded: %s", b->name, s->w->t->name, r.detail);
	kw_trial_release(&r);
	kw_build_result_release(&build);
	if (st != KW_OK && *out) {
		ops->player_stop(*out);
		*out = NULL;
	}
	return st;
}
