/* Builds a candidate for a device that is not here, and says what that device could launch. */
#include "ops/internal.h"

#include <stdio.h>
#include <string.h>

#include "backend/sass.h"
#include "judge/layout.h"

enum { ARENA_BYTES = 256 << 20 };

struct worker {
	const struct kw_op_build_opts *o;
	struct kw_op_build *out;
	struct kw_op_task t;
	const struct kw_backend *backend;
	struct kw_intenv_var fact_vars[8];
	struct kw_intenv facts;
	struct kw_error *err;
};

static enum kw_status nomem(const struct worker *w)
{
	return kw_fail(w->err, KW_ERR_NOMEM, "", "out of memory");
}

/* Keeps the first thing that is not fine as the whole answer. */
static enum kw_status decide(struct worker *w, enum kw_verdict_class cls, enum kw_subclass subclass,
			     const char *summary, const char *evidence)
{
	struct kw_op_build *b = w->out;

	if (b->cls != KW_V_OK)
		return KW_OK;
	b->cls = cls;
	b->subclass = subclass;
	b->summary = kw_arena_strdup(&b->arena, summary);
	b->evidence = kw_arena_strdup(&b->arena, evidence ? evidence : "");
	return b->summary && b->evidence ? KW_OK : nomem(w);
}

static enum kw_status bind_case(struct worker *w, const struct kw_case *k,
				struct kw_bound_plan *plan)
{
	const struct kw_task *t = &w->t.task;
	struct kw_arena *a = &w->out->arena;
	size_t n = t->input_count + t->output_count;
	struct kw_view *views = kw_arena_calloc(a, n + 1, sizeof(*views));
	struct kw_buffer_spec *specs = kw_arena_calloc(a, n + 1, sizeof(*specs));
	struct kw_intenv env;
	struct kw_bound *bound;
	enum kw_status s;

	if (!views || !specs)
		return nomem(w);
	s = kw_expr_bind(w->t.expr, k, a, &bound, w->err);
	if (s == KW_OK)
		s = kw_case_env(t, k, a, &env, w->err);
	if (s == KW_OK)
		s = kw_layout_views(t, k, &env, bound, views, specs, w->err);
	if (s == KW_OK)
		s = kw_plan_bind(&w->out->candidate.plan, t, k, views, NULL, &w->facts, a, plan,
				 w->err);
	return s;
}

static const char *defines_text(const struct kw_bound_plan *plan, struct kw_arena *a)
{
	const char *text = "";

	for (size_t i = 0; i < plan->define_count && text; i++)
		text = kw_arena_printf(a, "%s%s%s=%lld", text, i ? " " : "", plan->defines[i].name,
				       (long long)plan->defines[i].value);
	return text;
}

static const char *variant_text(const struct kw_backend *b, const struct kw_bound_plan *plan, struct kw_arena *a)
{
	struct kw_buf text;
	const char *kept;

	kw_buf_init(&text, 1 << 16);
	kw_build_variant(b, plan, &text);
	kept = text.full ? NULL : kw_arena_strndup(a, text.ptr ? text.ptr : "", text.len);
	kw_buf_release(&text);
	return kept;
}

static enum kw_status explain_build(struct worker *w, const struct kw_build_result *r)
{
	const struct kw_artefact *f = &r->artefact;
	char summary[700], place[200];

	for (size_t i = 0; i < f->diagnostic_count; i++) {
		const struct kw_diagnostic *d = &f->diagnostics[i];

		if (d->severity != KW_ERROR)
			continue;
		snprintf(summary, sizeof(summary), "%s: %s", kw_diagnostic_place(d, place, sizeof(place)),
			 d->message);
		return decide(w, r->cls, r->subclass, summary, f->log);
	}
	return decide(w, r->cls, r->subclass, kw_subclass_meaning(r->subclass), f->log);
}

/* Of every object in the artefact: kernels may have one each. A gain where there is a disassembler; nothing depends on it. */
static void count_opcodes(struct kw_op_build_one *one, const struct kw_bound_plan *plan)
{
	const struct kw_artefact *code = &one->result.artefact;
	int64_t last = -1;

	for (size_t i = 0; i < plan->kernel_count; i++) {
		struct kw_kernel_facts f;
		json_t *counts = NULL;

		if (!kw_kernel_facts_get(code->facts, plan->kernels[i].name, &f) || f.code_offset <= last ||
		    f.code_offset >= (int64_t)code->code_bytes)
			continue;
		last = f.code_offset;
		if (kw_sass_count((const char *)code->code + last, code->code_bytes - (size_t)last, &counts, NULL) != KW_OK)
			continue;
		if (!one->sass)
			one->sass = json_object();
		json_object_update(one->sass, counts);
		json_decref(counts);
	}
}

/* The build of a case: one for each distinct set of defines, and whatever else this backend compiles for. */
static enum kw_status find_build(struct worker *w, const struct kw_bound_plan *plan, int *index)
{
	struct kw_op_build *b = w->out;
	struct kw_build_opts o = { .arch = b->device.arch };
	struct kw_op_build_one *one;
	const char *defines = defines_text(plan, &b->arena), *variant = variant_text(w->backend, plan, &b->arena);
	enum kw_status s;

	if (!defines || !variant)
		return nomem(w);
	for (*index = 0; *index < (int)b->build_count; (*index)++)
		if (strcmp(b->builds[*index].defines, defines) == 0 && strcmp(b->builds[*index].variant, variant) == 0)
			return KW_OK;
	one = &b->builds[b->build_count];
	one->defines = defines;
	one->variant = variant;
	s = kw_build(w->backend, &b->candidate, plan, &o, &one->result, w->err);
	if (s != KW_OK)
		return s;
	b->build_count++;
	if (one->result.cls == KW_V_OK)
		count_opcodes(one, plan);
	return one->result.cls == KW_V_OK ? KW_OK : explain_build(w, &one->result);
}

static enum kw_status check_launches(struct worker *w, const struct kw_bound_plan *plan,
				     const json_t *facts, struct kw_op_build_case *c)
{
	struct kw_op_build *b = w->out;
	char why[500], summary[700];

	c->launches = kw_arena_calloc(&b->arena, plan->kernel_count, sizeof(*c->launches));
	if (!c->launches)
		return nomem(w);
	for (size_t i = 0; i < plan->kernel_count; i++) {
		struct kw_op_launch *l = &c->launches[c->launch_count++];

		kw_kernel_facts_get(facts, plan->kernels[i].name, &l->facts);
		l->actual = kw_launch_actual(&plan->kernels[i], &l->facts);
		l->kernel = &l->actual;
		kw_launch_cluster(l->kernel, &l->facts, l->cluster);
		l->occupancy = kw_launch_occupancy(l->kernel, &l->facts, &b->device);
		if (c->cls != KW_V_OK || kw_launch_check(l->kernel, &l->facts, &b->device,
							 &c->subclass, why, sizeof(why)))
			continue;
		c->cls = KW_V_LAUNCH_ERROR;
		c->why = kw_arena_strdup(&b->arena, why);
		snprintf(summary, sizeof(summary), "%.150s: %s", c->label, why);
		if (!c->why || decide(w, c->cls, c->subclass, summary, NULL) != KW_OK)
			return nomem(w);
	}
	return KW_OK;
}

static enum kw_status one_case(struct worker *w, const struct kw_case *k, bool perf,
			       struct kw_op_build_case *c)
{
	struct kw_bound_plan plan;
	enum kw_status s = bind_case(w, k, &plan);

	*c = (struct kw_op_build_case){ .label = kw_arena_strdup(&w->out->arena, k->label),
					.perf = perf,
					.build = -1 };
	if (s != KW_OK)
		return s;
	if (!plan.applicable) {
		c->cls = KW_V_NOT_APPLICABLE;
		c->why = plan.why_not;
		return c->label ? KW_OK : nomem(w);
	}
	s = find_build(w, &plan, &c->build);
	if (s != KW_OK || w->out->builds[c->build].result.cls != KW_V_OK)
		return s;
	return check_launches(w, &plan, w->out->builds[c->build].result.artefact.facts, c);
}

static enum kw_status all_cases(struct worker *w)
{
	const struct kw_task *t = &w->t.task;
	struct kw_op_build *b = w->out;
	bool any = false;
	int only;
	enum kw_status s = kw_op_find_case(t, w->o->case_name, &only, w->err);

	if (s != KW_OK)
		return s;
	b->cases = kw_arena_calloc(&b->arena, t->case_count + 1, sizeof(*b->cases));
	b->builds = kw_arena_calloc(&b->arena, t->case_count + 1, sizeof(*b->builds));
	if (!b->cases || !b->builds)
		return nomem(w);
	for (size_t i = 0; i < t->case_count && s == KW_OK; i++) {
		struct kw_op_build_case *c = &b->cases[b->case_count];

		if ((only >= 0 && (int)i != only) ||
		    (only < 0 && t->cases[i].large && !w->o->large))
			continue;
		s = one_case(w, &t->cases[i], i < t->perf_count, c);
		b->case_count += s == KW_OK;
		any = any || c->cls != KW_V_NOT_APPLICABLE;
		if (b->cls == KW_V_BUILD_ERROR) /* the other cases have the same source */
			break;
	}
	if (s == KW_OK && !any)
		s = decide(w, KW_V_NOT_APPLICABLE, KW_S_NONE,
			   b->case_count ? b->cases[0].why : "the task has no case", NULL);
	return s;
}

static enum kw_status open_device(struct worker *w)
{
	enum kw_status s = kw_hardware_load(w->o->device, &w->out->arena, &w->out->device, w->err);

	if (s == KW_OK)
		s = kw_op_backend(w->out->candidate.backend, &w->backend, w->err);
	if (s == KW_OK && strcmp(w->backend->device, "cpu") == 0)
		return kw_fail(w->err, KW_ERR_USAGE, "",
			       "the backend '%s' builds for the processor that is here; leave out "
			       "--device",
			       w->backend->name);
	kw_hardware_env(&w->out->device, w->fact_vars, &w->facts);
	return s;
}

enum kw_status kw_op_build(const struct kw_op_build_opts *o, struct kw_op_build *out,
			   struct kw_error *err)
{
	struct worker w = { .o = o, .out = out, .err = err };
	enum kw_status s;

	memset(out, 0, sizeof(*out));
	kw_arena_init(&out->arena, ARENA_BYTES);
	out->summary = out->evidence = "";
	s = kw_op_task_load(o->task, o->inputs, o->input_count, &w.t, err);
	if (s == KW_OK)
		s = kw_candidate_load(&out->candidate, o->file, o->backend, &w.t.task, &out->arena,
				      err);
	if (s == KW_OK)
		s = open_device(&w);
	if (s == KW_OK) {
		out->task_name = kw_arena_strdup(&out->arena, w.t.task.name);
		s = out->task_name ? all_cases(&w) : nomem(&w);
	}
	kw_op_task_release(&w.t);
	if (s != KW_OK)
		kw_op_build_release(out);
	return s;
}

void kw_op_build_release(struct kw_op_build *b)
{
	for (size_t i = 0; i < b->build_count; i++) {
		kw_build_result_release(&b->builds[i].result);
		json_decref(b->builds[i].sass);
	}
	kw_arena_release(&b->arena);
	memset(b, 0, sizeof(*b));
}
