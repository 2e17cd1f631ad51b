/* A task and a candidate: judged as eval judges it, each timed case a launch, with what its source says. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "explain/judged.h"
#include "ops/explain_internal.h"

enum { SOURCE_BYTES = 4 << 20 };

/* What the candidate's source says, added to every case. */
static enum kw_status read_source(const char *path, enum kw_input_kind *kind, struct kw_launches *facts, struct kw_arena *a,
				  struct kw_error *err)
{
	char *text;
	size_t len;
	enum kw_status s = kw_file_read_arena(path, SOURCE_BYTES, a, &text, &len, err);

	if (s != KW_OK)
		return s;
	kw_launches_init(facts, a, path);
	*kind = kw_input_recognise(path, text, len);
	kw_input_read(*kind, text, len, facts);
	if (*kind == KW_INPUT_C)
		kw_explain_compile_c(text, len, facts);
	else if (*kind == KW_INPUT_CUDA)
		kw_explain_compile_cuda(text, len, facts);
	return KW_OK;
}

/* Case by case against the best baseline, with the first finding that says what is missing. */
static enum kw_status falls_short(const struct kw_verdict *v, struct kw_op_explain *out, struct kw_error *err)
{
	struct kw_falls_short *list = kw_arena_calloc(&out->arena, v->case_count + 1, sizeof(*list));
	const struct kw_explained_input *in = &out->all.inputs[0];

	if (!list)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0, k = 0; i < v->case_count; i++) {
		const struct kw_case_result *c = &v->cases[i];
		const struct kw_baseline_time *best = kw_case_best_baseline(c);
		const struct kw_explained *e;

		if (!c->perf || !c->has_times || k >= in->launches.count)
			continue;
		e = &in->explained[k++];
		if (!best || !(best->times.median_ns < c->times.median_ns))
			continue;
		list[out->all.falls_short_count++] =
			(struct kw_falls_short){ kw_arena_strdup(&out->arena, c->label),
						 kw_arena_strdup(&out->arena, best->name),
						 c->times.median_ns,
						 best->times.median_ns,
						 c->sol,
						 e->count ? e->findings[0].evidence : "",
						 e->count ? e->findings[0].directive : "" };
	}
	out->all.falls_short = list;
	return KW_OK;
}

/* What a profiler said, until there are launches to add it to. */
struct profile {
	const char *label, *text;
	size_t len;
};
enum { PROFILES = 8 };
struct profiles {
	struct kw_arena *arena;
	struct kw_launches *notes;
	struct profile list[PROFILES];
	size_t count;
	bool full;
};

static void on_profile(void *arg, const char *label, const char *text, size_t len, const char *why)
{
	struct profiles *p = arg;
	struct profile *one = &p->list[p->count];

	if (!text) {
		kw_launches_note(p->notes, 0, "no hardware counters%s%s: %s", label ? " of " : "", label ? label : "", why);
		return;
	}
	if (p->count == PROFILES)
		return;
	*one = (struct profile){ kw_arena_strdup(p->arena, label), kw_arena_strndup(p->arena, text, len), len };
	p->full = p->full || !one->label || !one->text;
	p->count += one->label && one->text;
}

enum kw_status kw_explain_candidate(const struct kw_op_env *env, const struct kw_op_explain_opts *o,
				    struct kw_op_explain *out, struct kw_error *err)
{
	struct kw_op_eval_opts eo = { .task = o->inputs[0],
				      .file = o->inputs[1],
				      .backend = o->backend,
				      .effort = KW_EFFORT_FULL,
				      .threads = o->threads,
				      .progress = o->progress,
				      .progress_arg = o->progress_arg };
	struct kw_explained_input *in = &out->all.inputs[0];
	struct profiles profiles = { .arena = &out->arena, .notes = &in->launches };
	struct kw_launches facts;
	struct kw_op_eval r;
	bool gpu, ran = false;
	enum kw_status s;

	in->file = o->inputs[1];
	kw_launches_init(&in->launches, &out->arena, in->file);
	in->launches.form = "a task and its candidate, judged here";
	if (!o->no_counters) {
		eo.profiled = on_profile;
		eo.profiled_arg = &profiles;
	}
	s = read_source(o->inputs[1], &in->kind, &facts, &out->arena, err);
	if (s == KW_OK)
		s = kw_op_eval(env, &eo, &r, err);
	if (s == KW_OK) {
		ran = true;
		gpu = kw_explain_on_gpu(&r.verdict);
		out->all.verdict_class =
			r.verdict.cls == KW_V_OK ? "ok" : kw_arena_printf(&out->arena, "%s", r.verdict.summary);
		for (size_t i = 0; s == KW_OK && i < r.verdict.case_count; i++)
			if (!kw_explain_add_case(&in->launches, &r.verdict.cases[i], gpu, &facts))
				s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		for (size_t i = 0; s == KW_OK && i < profiles.count; i++)
			if (!kw_explain_add_profile(&in->launches, profiles.list[i].label, profiles.list[i].text, profiles.list[i].len))
				profiles.full = true;
		if (s == KW_OK && profiles.full)
			s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
		if (in->launches.count == 0)
			in->launches = facts;
		out->all.count = 1;
	}
	if (s == KW_OK && !kw_explain_input(&out->set, in, NULL, &out->arena))
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (s == KW_OK && r.verdict.cls == KW_V_OK)
		s = falls_short(&r.verdict, out, err);
	if (ran)
		kw_op_eval_release(&r);
	if (s != KW_OK)
		kw_op_explain_release(out);
	return s;
}
