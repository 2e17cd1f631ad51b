/* search_world.h - a made-up machine for the tests of src/search: candidates whose times and verdicts are formulas.
 *
 * The source of a candidate says how it behaves, in lines the plan parser does not look at:
 *     //! ns 1000            time of the perf case at the default point
 *     //! per STEP 16 500    this much more for every factor of two that STEP is away from 16
 *     //! fails STEP 64      does not build there             //! wrong STEP 8   wrong there
 *     //! spread 0.02        the share of the time to each side of an interval after 50 ms; of longer looks less
 *     //! by_size 60         this much slower, or this verdict, once its values are chosen by size
 *     //! verdict CLASS/SUB  at every effort                  //! final CLASS/SUB  at the final one only
 * Each may be of one perf case of several: `//! per@2 STEP 16 500` is about the second. */
#ifndef KW_TESTS_SEARCH_WORLD_H
#define KW_TESTS_SEARCH_WORLD_H

#include <math.h>
#include <signal.h>
#include <time.h>

#include "search/engine.h"
#include "temp.h"

static const char world_task_text[] =
	"name: world\n"
	"dims: { n: { min: 1, max: 4096 } }\n"
	"inputs:\n  x: { dtype: f32, shape: [n] }\n"
	"outputs:\n  y: { dtype: f32, shape: [n] }\n"
	"reference:\n  expr: |\n    y = x\n"
	"check: [ { n: 3 } ]\n";

struct world {
	struct kw_task task;
	struct kw_arena arena;
	struct kw_hardware hardware;
	struct kw_search_ports ports;
	struct kw_proposal proposals[16];
	size_t count;
	int calls, screens, fulls, finals; /* judged, not recalled */
	int interrupt_at;                  /* raise SIGINT when calls gets there */
	int fail_at;                       /* the machine fails there */
	int64_t takes_ns;                  /* an evaluation; it really sleeps */
	int64_t limits_ns[3];              /* how long the last one of an effort was allowed to time a case */
	int looks[4];                      /* screened on the first perf cases */
	int unfit;                         /* that perf case, from 1, does not fit this machine; 0: all do */
	const char *ahead[256];            /* what was built ahead: "name tune case 0" */
	int ahead_count, batches;
	bool no_cache;                     /* nothing that was built is found again */
};

/* Of a tune or define line, in this case. */
static int64_t bound_value(const struct kw_bound_plan *b, const char *name)
{
	for (size_t i = 0; i < b->define_count; i++)
		if (strcmp(b->defines[i].name, name) == 0)
			return b->defines[i].value;
	return 0;
}

static void set_class(struct kw_verdict *v, const char *word)
{
	for (int s = 1; s < KW_S_COUNT; s++) {
		char name[80];
		enum kw_verdict_class cls = kw_subclass_class((enum kw_subclass)s);

		snprintf(name, sizeof(name), "%s/%s", kw_verdict_name(cls), kw_subclass_name((enum kw_subclass)s));
		if (strcmp(name, word) == 0) {
			v->cls = cls;
			v->subclass = (enum kw_subclass)s;
		}
	}
}

/* A line without its "@2"; false: it is about another case. */
static bool about_case(char *text, size_t k)
{
	size_t word = strncmp(text, "//! ", 4) == 0 ? 4 + strcspn(text + 4, " @") : 0;
	char *end;

	if (!word || text[word] != '@')
		return true;
	if (strtoul(text + word + 1, &end, 10) != k + 1)
		return false;
	memmove(text + word, end, strlen(end) + 1);
	return true;
}

/* Reads the //! lines; the time at this point. */
static double behave(const struct kw_candidate *c, const struct kw_bound_plan *b, enum kw_judge_effort effort, size_t k, struct kw_verdict *v)
{
	struct kw_str rest = { c->source, c->source_len }, line;
	double ns = 1000.0;

	while (kw_str_split(&rest, '\n', &line)) {
		char text[200], name[64], word[64];
		long long value;
		double number;

		snprintf(text, sizeof(text), KW_STR_FMT, KW_STR_ARG(line));
		if (!about_case(text, k))
			continue;
		if (sscanf(text, "//! ns %lf", &number) == 1)
			ns = number;
		if (sscanf(text, "//! per %63s %lld %lf", name, &value, &number) == 3)
			ns += number * fabs(log2((double)bound_value(b, name) / (double)value));
		if (sscanf(text, "//! fails %63s %lld", name, &value) == 2 && bound_value(b, name) == value)
			set_class(v, "build_error/resources");
		if (sscanf(text, "//! wrong %63s %lld", name, &value) == 2 && bound_value(b, name) == value)
			set_class(v, "wrong/mismatch");
		/* Once the tuner's values are chosen by size: so much slower, or this verdict. */
		if (strstr(c->name, "_by_size") && sscanf(text, "//! by_size %lf", &number) == 1)
			ns += number;
		else if (strstr(c->name, "_by_size") && sscanf(text, "//! by_size %63s", word) == 1)
			set_class(v, word);
		if (sscanf(text, "//! verdict %63s", word) == 1)
			set_class(v, word);
		if (effort == KW_EFFORT_FINAL && sscanf(text, "//! final %63s", word) == 1)
			set_class(v, word);
	}
	return ns;
}

static const char *world_point(struct world *w, const struct kw_candidate *c, int perf_case)
{
	return kw_arena_printf(&w->arena, "%s %s case %d", c->name, kw_plan_tune_text(&c->plan, c->tune_values, &w->arena),
			       perf_case < 0 ? 0 : perf_case);
}

__attribute__((unused)) static void world_build_ahead(void *arg, const struct kw_candidate *const *list, size_t count, int perf_case)
{
	struct world *w = arg;

	w->batches++;
	for (size_t i = 0; i < count && w->ahead_count < 256; i++)
		w->ahead[w->ahead_count++] = world_point(w, list[i], perf_case);
}

static bool world_built(struct world *w, const struct kw_candidate *c, int perf_case)
{
	const char *point = world_point(w, c, perf_case);

	for (int i = 0; i < w->ahead_count; i++)
		if (strcmp(w->ahead[i], point) == 0)
			return true;
	return false;
}

/* One perf case; false: it is no plan. */
static bool world_case(struct world *w, const struct kw_candidate *c, const struct kw_judge_opts *o, size_t k, struct kw_verdict *v)
{
	const struct kw_case *at = &w->task.cases[k];
	struct kw_case_result *r = &v->cases[v->case_count];
	struct kw_tune_point point = { c->tune_values, c->plan.tune_count };
	struct kw_bound_plan bound;
	int64_t base[4] = { 0 };
	struct kw_view views[2] = { { .dtype = KW_F32, .shape = { 1, { at->dims[0] } }, .stride = { 1 }, .base = base },
				    { .dtype = KW_F32, .shape = { 1, { at->dims[0] } }, .stride = { 1 }, .base = base } };
	double ns;

	if (kw_plan_bind(&c->plan, &w->task, at, views, &point, NULL, &w->arena, &bound, NULL) != KW_OK)
		return false;
	*r = (struct kw_case_result){ .label = at->label, .perf = true, .verdict = KW_V_NOT_APPLICABLE };
	v->case_count++;
	if (!bound.applicable || w->unfit == (int)k + 1)
		return true;
	ns = behave(c, &bound, o->effort, k, v);
	r->verdict = KW_V_OK;
	r->has_times = true;
	r->dims = kw_arena_copy(&v->arena, at->dims, sizeof(int64_t));
	r->dim_count = 1;
	r->times.median_ns = r->times.ci_low_ns = r->times.ci_high_ns = r->times.min_ns = ns;
	if (strstr(c->source, "//! spread ") && o->time_limit_ns > 0) {
		double spread = strtod(strstr(c->source, "//! spread ") + 11, NULL) * 50e6 / (double)o->time_limit_ns;

		r->times.ci_low_ns = ns * (1 - spread);
		r->times.ci_high_ns = ns * (1 + spread);
	}
	r->times.method = "single";
	return true;
}

static enum kw_status world_evaluate(void *arg, const struct kw_candidate *c, const struct kw_judge_opts *o,
				     struct kw_verdict *v, struct kw_error *err)
{
	struct world *w = arg;
	size_t first = o->only_case < 0 ? 0 : (size_t)o->only_case, count = o->only_case < 0 ? w->task.perf_count : first + 1;
	bool any = false;
	double ns;

	if (o->effort == KW_EFFORT_SCREEN && o->only_case < 0)
		count = 1;
	w->calls++;
	w->screens += o->effort == KW_EFFORT_SCREEN;
	w->looks[first < 4 ? first : 3] += o->effort == KW_EFFORT_SCREEN;
	w->fulls += o->effort == KW_EFFORT_FULL;
	w->finals += o->effort == KW_EFFORT_FINAL;
	w->limits_ns[o->effort] = o->time_limit_ns;
	if (w->fail_at == w->calls)
		return kw_fail(err, KW_ERR_IO, "", "the machine failed");
	if (w->interrupt_at == w->calls)
		raise(SIGINT);
	if (w->takes_ns)
		nanosleep(&(struct timespec){ .tv_nsec = (long)w->takes_ns }, NULL);
	v->total_ns = w->takes_ns;
	v->build_cached = !w->no_cache && world_built(w, c, o->only_case);
	v->task_name = w->task.name;
	v->backend = "c";
	v->device = "cpu";
	v->when_ms = 1;
	v->cases = kw_arena_calloc(&v->arena, w->task.perf_count, sizeof(*v->cases));
	for (size_t k = first; k < count; k++)
		if (!world_case(w, c, o, k, v))
			return KW_ERR_BUG;
	for (size_t k = 0; k < v->case_count; k++)
		any = any || v->cases[k].verdict == KW_V_OK;
	if (!any && v->cls == KW_V_OK)
		v->cls = KW_V_NOT_APPLICABLE;
	if (v->cls != KW_V_OK) {
		v->case_count = 0;
		return KW_OK;
	}
	ns = kw_search_mean_ns(v);
	v->geomean_speedup = o->with_baselines ? 10000.0 / ns : 0.0;
	v->geomean_sol = 100.0 / ns;
	return KW_OK;
}

static enum kw_status world_propose(void *arg, struct kw_arena *a, struct kw_proposal **out, size_t *count,
				    const char ***reasons, size_t *reason_count, struct kw_error *err)
{
	struct world *w = arg;
	static const char *why[] = { "other: serves matmul only" };

	(void)a;
	(void)err;
	*out = w->proposals;
	*count = w->count;
	*reasons = why;
	*reason_count = 1;
	return KW_OK;
}

/* cases: the sizes of its perf cases, as the task file has them. */
static void world_init_cases(struct world *w, const char *goal, const char *cases)
{
	char text[1000];
	struct kw_error err = { 0 };

	memset(w, 0, sizeof(*w));
	kw_arena_init(&w->arena, 64 << 20);
	snprintf(w->hardware.name, sizeof(w->hardware.name), "test machine");
	w->ports = (struct kw_search_ports){ .arg = w, .evaluate = world_evaluate, .propose = world_propose,
					     .hardware = &w->hardware };
	snprintf(text, sizeof(text), "%sperf: [ %s ]\n%s", world_task_text, cases, goal);
	if (kw_task_parse_yaml(&w->task, "world.yaml", text, strlen(text), &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
}

__attribute__((unused)) static void world_init(struct world *w, const char *goal)
{
	world_init_cases(w, goal, "{ n: 1024 }");
}

__attribute__((unused)) static void world_add(struct world *w, const char *name, const char *lines)
{
	struct kw_error err = { 0 };
	struct kw_proposal *p = &w->proposals[w->count++];
	const char *text = kw_arena_printf(&w->arena, "//@ kernel %s args=(x, y, n:i64)\n%s\n", name, lines);

	p->pattern = name;
	p->why = "";
	if (kw_candidate_from_text(&p->candidate, name, "c", text, strlen(text), &w->task, &w->arena, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
}

static void world_release(struct world *w)
{
	kw_task_release(&w->task);
	kw_arena_release(&w->arena);
}

#endif
