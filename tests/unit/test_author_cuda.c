/* What the author makes of every task with the CUDA patterns: it applies to every case, it builds,
 * and no point that is the default keeps values in memory for want of registers. Needs a toolkit,
 * but no GPU. */
#include "tap.h"

#include "author/author.h"
#include "backend/backend.h"
#include "backend/cuda.h"
#include "base/file.h"
#include "core/launch.h"
#include "memory/memory.h"

static struct kw_cuda_toolkit kit;
static struct kw_error err;

struct job {
	struct kw_arena arena;
	struct kw_task task;
	struct kw_expr *expr;
	struct kw_proposal *p;
	size_t count;
	struct kw_hardware h200;
	struct kw_intenv_var vars[8];
	struct kw_intenv facts;
};

static bool start(struct job *j, const char *name)
{
	const char **reasons;
	size_t n;

	*j = (struct job){ 0 };
	kw_arena_init(&j->arena, 256u << 20);
	if (kw_task_load(&j->task, name, &err) != KW_OK || kw_expr_complete_task(&j->task, &err) != KW_OK ||
	    kw_expr_parse(&j->task, &j->arena, &j->expr, &err) != KW_OK ||
	    kw_hardware_load("h200", &j->arena, &j->h200, &err) != KW_OK ||
	    kw_author_propose(&j->task, j->expr, "cuda", &j->arena, &j->p, &j->count, &reasons, &n,
			      &err) != KW_OK)
		return ok(false, "%s: %s %s", name, err.where, err.text);
	kw_hardware_env(&j->h200, j->vars, &j->facts);
	return true;
}

static void end(struct job *j)
{
	kw_task_release(&j->task);
	kw_arena_release(&j->arena);
}

/* Contiguous tensors at a fake address, off by `off` elements. */
static bool bind_case(struct job *j, const struct kw_candidate *c, const struct kw_case *k,
		      size_t off, struct kw_bound_plan *out)
{
	struct kw_view v[32] = { 0 };
	size_t n = j->task.input_count;
	struct kw_intenv env;

	if (kw_case_env(&j->task, k, &j->arena, &env, &err) != KW_OK)
		return false;
	for (size_t i = 0; i < n + j->task.output_count; i++) {
		const struct kw_tensor_decl *d =
			i < n ? &j->task.inputs[i] : &j->task.outputs[i - n];

		if (kw_tensor_shape(d, &env, &v[i].shape, &err) != KW_OK)
			return false;
		v[i].dtype = d->dtype;
		v[i].base = (void *)(uintptr_t)(0x100000 + off * kw_dtype_bytes(d->dtype));
		kw_shape_contiguous(&v[i].shape, v[i].stride);
	}
	return kw_plan_bind(&c->plan, &j->task, k, v, &(struct kw_tune_point){ 0 }, &j->facts,
			    &j->arena, out, &err) == KW_OK;
}

/* Every kernel of the plan: registers that suffice, and a launch that the device can do. */
static void check_facts(const struct job *j, const struct kw_proposal *p,
			const struct kw_bound_plan *b, const json_t *facts)
{
	char why[500] = "";
	bool spills = false, launches = true;
	struct kw_kernel_facts f;
	enum kw_subclass sub;

	for (size_t i = 0; i < b->kernel_count; i++) {
		if (!kw_kernel_facts_get(facts, b->kernels[i].name, &f)) {
			ok(false, "%s is in the object", b->kernels[i].name);
			continue;
		}
		/* A call of a division's slow path may save a register or two around itself. */
		spills = spills || f.spill_store_bytes > 16 || f.spill_load_bytes > 16;
		launches = launches &&
			   kw_launch_check(&b->kernels[i], &f, &j->h200, &sub, why, sizeof(why));
	}
	ok(!spills, "%s by %s spills nothing at its default point", j->task.name, p->pattern);
	if (!ok(launches, "%s by %s can be launched", j->task.name, p->pattern))
		diag("%s", why);
}

static bool builds(struct job *j, const struct kw_proposal *p, const struct kw_bound_plan *b,
		   const char *arch, const char *what, bool facts)
{
	struct kw_build_opts o = { .arch = arch };
	struct kw_build_result r = { 0 };
	bool good = kw_build(kw_backend_find("cuda"), &p->candidate, b, &o, &r, &err) == KW_OK &&
		    r.cls == KW_V_OK;

	if (!ok(good, "%s by %s builds for %s, %s", j->task.name, p->pattern, arch, what))
		diag("%.1500s", r.artefact.log ? r.artefact.log : err.text);
	else if (facts)
		check_facts(j, p, b, r.artefact.facts);
	kw_build_result_release(&r);
	return good;
}

static bool knows(int arch)
{
	for (size_t i = 0; i < kit.arch_count; i++)
		if (kit.archs[i] == arch)
			return true;
	return false;
}

/* What a CPU alone can say about other GPUs: it builds for them. */
static void builds_elsewhere(struct job *j, const struct kw_proposal *p, const struct kw_bound_plan *b, const char *what)
{
	static const struct {
		const char *name;
		int sm;
	} others[] = { { "sm_80", 80 }, { "sm_100", 100 } };

	for (size_t i = 0; i < 2; i++) {
		if (knows(others[i].sm))
			builds(j, p, b, others[i].name, what, false);
		else
			skip(1, "the toolkit does not know this target");
	}
}

/* The first perf case that it applies to, and the same one element off: vectors of one element. False: there is none. */
static bool check_proposal(struct job *j, const struct kw_proposal *p, bool everywhere)
{
	struct kw_bound_plan b = { 0 }, off;

	for (size_t i = 0; i < j->task.perf_count && !b.applicable; i++)
		if (!bind_case(j, &p->candidate, &j->task.cases[i], 0, &b))
			ok(false, "%s by %s binds: %s", j->task.name, p->pattern, err.text);
	if (!b.applicable)
		return false; /* made for other sizes: the tune space begins elsewhere */
	if (!builds(j, p, &b, "sm_90a", "a perf case", true))
		return true;
	if (everywhere)
		builds_elsewhere(j, p, &b, "a perf case");
	if (bind_case(j, &p->candidate, &j->task.cases[0], 1, &off) && off.applicable)
		builds(j, p, &off, "sm_90a", "one element off", false);
	return true;
}

/* Something for every case. */
static void check_cases(struct job *j)
{
	for (size_t i = 0; i < j->task.case_count; i++) {
		struct kw_bound_plan b;
		int n = 0;

		for (size_t k = 0; k < j->count; k++)
			n += bind_case(j, &j->p[k].candidate, &j->task.cases[i], 0, &b) &&
			     b.applicable;
		if (!n)
			ok(false, "something applies to %s, %s", j->task.name,
			   j->task.cases[i].label);
	}
}

/* A pattern is a kernel as it stands. */
static void stands_alone(const struct kw_pattern *p)
{
	static const char text[] =
		"name: t\n"
		"dims: { rows: { max: 65536 }, segs: { max: 1048576 }, cols: { max: 1048576 }, "
		"batches: { max: 64 }, m: { max: 4096 }, n: { max: 4096 }, k: { max: 4096 } }\n"
		"inputs: { x: { dtype: f32, shape: [rows, segs, cols] }, a: { dtype: f32, shape: "
		"[batches, m, k] },"
		" b: { dtype: f32, shape: [batches, k, n] } }\n"
		"outputs: { y: { dtype: f32, shape: [rows, segs, cols] } }\n"
		"reference: { expr: y = x }\n"
		"perf: [ { rows: 64, segs: 256, cols: 16384, batches: 1, m: 512, n: 512, k: 512 } "
		"]\n";
	struct job j = { 0 };
	struct kw_bound_plan b;
	struct kw_candidate c = { 0 };
	struct kw_proposal alone = { .pattern = p->name };
	bool good;

	kw_arena_init(&j.arena, 64u << 20);
	good = kw_task_parse_yaml(&j.task, "t.yaml", text, strlen(text), &err) == KW_OK &&
	       kw_hardware_load("h200", &j.arena, &j.h200, &err) == KW_OK;
	kw_hardware_env(&j.h200, j.vars, &j.facts);
	good = good &&
	       kw_candidate_from_text(&c, p->name, "cuda", p->text, p->len, &j.task, &j.arena,
				      &err) == KW_OK &&
	       bind_case(&j, &c, &j.task.cases[0], 0, &b);
	alone.candidate = c;
	if (!good)
		ok(false, "%s binds as it stands: %s", p->name, err.text);
	else if (p->len)
		builds(&j, &alone, &b, "sm_90a", "as it stands", true);
	end(&j);
}

static bool is_among(const char *const *seen, size_t count, const char *pattern)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(seen[i], pattern) == 0)
			return true;
	return false;
}

/* "tasks/softmax.yaml" -> "softmax" */
static const char *task_name(struct kw_arena *a, const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return kw_arena_printf(a, "%.*s", (int)strcspn(base, "."), base);
}

int main(void)
{
	char **paths;
	const char *seen[64];
	size_t count, seen_count = 0, filled = 0;
	struct kw_pattern *patterns;
	struct kw_arena a;
	size_t pattern_count;

	if (kw_cuda_find(NULL, &kit, &err) != KW_OK) {
		skip(1, "no CUDA toolkit here");
		return done();
	}
	kw_arena_init(&a, 64 << 20);
	if (!ok(kw_data_list("tasks/", ".yaml", &a, &paths, &count, &err) == KW_OK && count > 0,
		"the library"))
		return done();
	for (size_t i = 0; i < count; i++) {
		struct job j;

		if (start(&j, task_name(&a, paths[i])) && j.count) {
			filled++;
			check_cases(&j);
			for (size_t k = 0; k < j.count; k++) {
				const char *name = kw_arena_strdup(&a, j.p[k].pattern);
				bool first = !is_among(seen, seen_count, name);

				if (check_proposal(&j, &j.p[k], first) && first)
					seen[seen_count++] = name;
			}
		}
		end(&j);
	}
	ok(filled >= 40, "%zu tasks have a pattern", filled);
	ok(kw_memory_patterns("cuda", &a, &patterns, &pattern_count, &err) == KW_OK,
	   "the patterns");
	for (size_t i = 0; i < pattern_count; i++)
		stands_alone(&patterns[i]);
	is_int((int64_t)seen_count, (int64_t)pattern_count,
	       "every pattern fits a task of the library, and was built for each target");
	kw_arena_release(&a);
	return done();
}
