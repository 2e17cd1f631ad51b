/* The naive CUDA and the references of every task of the library build for an H100 with a real compiler; skipped where there
 * is none. No GPU is needed. */
#include "backend/cuda.h"
#include "naive_tasks.h"
#include "temp.h"

static const char *const form_names[] = { "baseline", "f64 reference", "f32 reference" };

static void contiguous(const struct kw_task *t, const struct kw_intenv *env, enum kw_naive_form form, struct kw_view *views)
{
	for (size_t i = 0; i < t->input_count + t->output_count; i++) {
		bool input = i < t->input_count;
		const struct kw_tensor_decl *d = input ? &t->inputs[i] : &t->outputs[i - t->input_count];
		views[i] = (struct kw_view){ .dtype = input || form == KW_NAIVE_BASELINE ? d->dtype : KW_F64,
					     .base = (void *)4096 };
		kw_tensor_shape(d, env, &views[i].shape, NULL);
		kw_shape_contiguous(&views[i].shape, views[i].stride);
	}
}

static void build(struct entry *en, enum kw_naive_form form)
{
	const struct kw_build_opts o = { .arch = "sm_90a", .trusted = true };
	struct kw_build_result r = { .cls = KW_V_OK };
	struct kw_view views[64];
	struct kw_intenv env, facts = { 0 };
	struct kw_bound_plan bound;
	struct kw_candidate c;
	struct kw_error err = { 0 };
	struct kw_buf text;
	bool good;

	kw_buf_init(&text, 1 << 20);
	good = kw_expr_emit_naive_gpu(en->e, "cuda", form, &text, NULL, &err) == KW_OK &&
	       kw_candidate_from_text(&c, "naive.cu", NULL, text.ptr, text.len, &en->task, &en->a, &err) == KW_OK &&
	       kw_case_env(&en->task, &en->task.cases[0], &en->a, &env, &err) == KW_OK;
	if (good) {
		contiguous(&en->task, &env, form, views);
		good = kw_plan_bind(&c.plan, &en->task, &en->task.cases[0], views, NULL, &facts, &en->a, &bound, &err) == KW_OK &&
		       kw_build(kw_backend_find("cuda"), &c, &bound, &o, &r, &err) == KW_OK && r.cls == KW_V_OK;
	}
	if (!ok(good, "%s: the %s builds", en->name, form_names[form]))
		diag("%s%.1000s", err.text, r.artefact.log ? r.artefact.log : "");
	kw_build_result_release(&r);
	kw_buf_release(&text);
}

static void build_forms(struct entry *en)
{
	for (int form = 0; form < 3; form++)
		build(en, (enum kw_naive_form)form);
}

int main(void)
{
	struct kw_cuda_toolkit kit;
	struct kw_error err = { 0 };

	setenv("XDG_CACHE_HOME", temp_dir(), 1);
	if (kw_cuda_find(NULL, &kit, &err) != KW_OK || !kit.include[0][0]) {
		skip(1, "no CUDA toolkit here");
		return done();
	}
	load_entries(build_forms, false);
	release_entries();
	return done();
}
