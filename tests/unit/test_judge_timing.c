/* Times on a busy machine: what a batch costs that does nothing may have waited for a core when it was measured. */
#include "tap.h"
#include "temp.h"

#include "judge/judge.h"

static const char task_text[] = "name: affine\n"
				"dims: { n: { min: 0, max: 4096 } }\n"
				"inputs:\n  x: { dtype: f32, shape: [n], dist: normal }\n"
				"outputs:\n  y: { dtype: f32, shape: [n] }\n"
				"reference:\n  expr: |\n    y = 2.0 * x + 1.0\n"
				"perf: [ { n: 256 } ]\n";
static const char source[] = "//@ kernel k args=(x, y, n:i64)\n"
			     "void k(const float *x, float *y, int64_t n)\n{\n"
			     "\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = 2.0f * x[i] + 1.0f;\n}\n";

enum { WAITED_NS = 300000000, EARLY_NS = 20000000, CALL_NS = 25000000 };
static const struct kw_device_ops *real;
static int first_calls, early;

/* Empty batches that all waited, and first calls that did. */
static enum kw_status run(struct kw_player *p, const int *order, int n, int timeout_ms, struct kw_play_result *r, struct kw_error *err)
{
	enum kw_status st = real->run(p, order, n, timeout_ms, r, err);

	if (n == 0)
		r->wall_ns += WAITED_NS;
	if (n == 1 && first_calls-- > 0)
		r->wall_ns += 2 * WAITED_NS;
	return st;
}

/* Long calls, and empty batches of which the first waited: nearly as long as a call takes. */
static enum kw_status run_early(struct kw_player *p, const int *order, int n, int timeout_ms, struct kw_play_result *r, struct kw_error *err)
{
	enum kw_status st = real->run(p, order, n, timeout_ms, r, err);

	r->wall_ns += n == 0 && early-- > 0 ? EARLY_NS : (int64_t)n * CALL_NS;
	return st;
}

static void test_early_waits(struct kw_judge *j, const struct kw_task *t, const struct kw_expr *e, const struct kw_candidate *c,
			     const struct kw_judge_opts *o)
{
	struct kw_device_ops ops = *real;
	struct kw_error err = { 0 };
	struct kw_verdict v;
	double least = 0;

	kw_verdict_init(&v);
	ops.run = run_early;
	early = 7;
	kw_judge_device(j)->ops = &ops;
	is_int(kw_judge_eval(j, t, e, c, o, &v, &err), KW_OK, "it is judged beside others");
	if (ok(v.case_count == 1 && v.cases[0].has_times && v.cases[0].times.sample_count > 0, "with times again")) {
		least = v.cases[0].times.samples_ns[0];
		for (size_t i = 0; i < v.cases[0].times.sample_count; i++)
			least = v.cases[0].times.samples_ns[i] < least ? v.cases[0].times.samples_ns[i] : least;
	}
	ok(early < 0 && least > 0.5 * CALL_NS, "what the first empty batches waited is not taken off: %.0f ns", least);
	kw_judge_device(j)->ops = real;
	kw_verdict_release(&v);
}

int main(void)
{
	struct kw_judge *j = NULL;
	struct kw_judge_opts o;
	struct kw_device_ops ops;
	struct kw_candidate c;
	struct kw_verdict v;
	struct kw_task t;
	struct kw_expr *e;
	struct kw_arena a;
	struct kw_error err = { 0 };
	const struct kw_case_result *r;
	bool times = true;

	setenv("XDG_CACHE_HOME", temp_file("cache"), 1);
	setenv("TMPDIR", temp_dir(), 1);
	kw_arena_init(&a, 16 << 20);
	kw_verdict_init(&v);
	kw_judge_opts_default(&o, KW_EFFORT_FULL);
	o.time_limit_ns = 300000000;
	if (!ok(kw_task_parse_yaml(&t, "affine.yaml", task_text, strlen(task_text), &err) == KW_OK &&
			kw_expr_parse(&t, &a, &e, &err) == KW_OK && kw_judge_new("cpu", &j, &err) == KW_OK &&
			kw_candidate_from_text(&c, "k.c", "c", source, strlen(source), &t, &a, &err) == KW_OK, "a judge and a task")) {
		diag("%s", err.text);
		return done();
	}
	real = kw_judge_device(j)->ops;
	ops = *real;
	ops.run = run;
	first_calls = 3;
	kw_judge_device(j)->ops = &ops;
	is_int(kw_judge_eval(j, &t, e, &c, &o, &v, &err), KW_OK, "it is judged");
	is_str(kw_verdict_name(v.cls), "ok", "and right: %s", v.summary);
	if (ok(v.case_count == 1 && v.cases[0].has_times && v.cases[0].baseline_count == 2, "with times")) {
		r = &v.cases[0];
		ok(r->times.median_ns > 1 && r->baselines[0].times.median_ns > 1, "no time is nothing: %.0f ns and %.0f ns",
		   r->times.median_ns, r->baselines[0].times.median_ns);
		for (size_t i = 0; i < r->times.sample_count; i++)
			times = times && r->times.samples_ns[i] < WAITED_NS;
		ok(times, "and none is what was waited");
		is_str(r->times.method, "batch-minus-empty", "a short call stays a short one when the first waited");
	}
	kw_judge_device(j)->ops = real;
	test_early_waits(j, &t, e, &c, &o);
	kw_judge_free(j);
	kw_verdict_release(&v);
	kw_task_release(&t);
	kw_arena_release(&a);
	return done();
}
