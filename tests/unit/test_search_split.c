/* Split by size: what is found, how the source is rewritten, and what a run makes of it. */
#include "tap.h"
#include "search_world.h"

#include "explain/rule.h"
#include "search/split.h"

static const char two_dims[] = "name: rows\ndims: { rows: { min: 1, max: 65536 }, cols: { min: 1, max: 65536 } }\n"
			       "inputs:\n  x: { dtype: f32, shape: [rows, cols] }\noutputs:\n  y: { dtype: f32, shape: [rows, cols] }\n"
			       "reference:\n  expr: |\n    y = x\n"
			       "perf: [ { rows: 4096, cols: 4096 }, { rows: 16384, cols: 1024 }, { rows: 16384, cols: 9000 } ]\n";

struct times {
	int64_t values[2];
	double ns[3];
};

/* Intervals of one percent to each side. */
static const struct kw_tune_split *find(const struct kw_task *t, struct kw_candidate *c, const char *source, const struct times *times,
					size_t count, struct kw_arena *a)
{
	struct kw_split_point points[8];
	const struct kw_tune_split *split = NULL;
	struct kw_error err = { 0 };

	if (kw_candidate_from_text(c, "k", "cuda", source, strlen(source), t, a, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	for (size_t i = 0; i < count; i++) {
		double *low = kw_arena_calloc(a, 3, sizeof(*low)), *high = kw_arena_calloc(a, 3, sizeof(*high));

		for (int k = 0; k < 3; k++) {
			low[k] = 0.99 * times[i].ns[k];
			high[k] = 1.01 * times[i].ns[k];
		}
		points[i] = (struct kw_split_point){ times[i].values, times[i].ns, low, high };
	}
	is_int(kw_split_find(c, t, points, count, a, &split, &err), KW_OK, "looked for");
	return split;
}

static const char rows_kernel[] = "// A kernel.\n//@ kernel k grid=(rows) block=(THREADS) args=(x, y, cols:i64)\n"
				  "  //@ define HELD = cdiv(cols, THREADS)\n//@ tune UNROLL in {1, 2} default 1\n"
				  "//@ tune THREADS in {128, 256, 512} default 256\n#define X THREADS\n";

static void test_find(const struct kw_task *t, struct kw_arena *a)
{
	static const struct times two[] = { { { 1, 256 }, { 36, 36, 0 } }, { { 1, 512 }, { 35, 40, 0 } }, { { 1, 128 }, { 40, 34, 0 } } };
	static const struct times close[] = { { { 1, 256 }, { 36, 36, 0 } }, { { 1, 512 }, { 35.7, 40, 0 } }, { { 1, 128 }, { 40, 35.7, 0 } } };
	static const struct times three[] = { { { 1, 256 }, { 50, 50, 50 } }, { { 2, 512 }, { 40, 70, 51 } }, { { 2, 128 }, { 60, 40, 40 } } };
	static const struct times chain[] = { { { 1, 256 }, { 36, 36, 36 } }, { { 1, 512 }, { 30, 36, 38 } }, { { 2, 256 }, { 0, 20, 0 } } };
	struct kw_candidate c;
	const struct kw_tune_split *s = find(t, &c, rows_kernel, two, 3, a);

	is_str(s ? s->text : "", "THREADS = cols > 2048 ? 512 : 128", "by the dim that the threads have to do with, though rows fit as well");
	ok(s && fabs(s->ns - sqrt(35.0 * 34.0)) < 1e-9, "with what it promises");
	ok(s && !s->lines[0] && s->values[0] == 1, "what does not differ stays");
	ok(!find(t, &c, rows_kernel, close, 3, a), "an interval that holds the other time is no difference");
	ok(!find(t, &c, rows_kernel, two, 1, a), "nor is one point");
	/* cols 1024, 4096, 9000: the middle one is the odd one; rows tell it from both others. */
	s = find(t, &c, rows_kernel, three, 3, a);
	is_str(s ? s->text : "", "THREADS = rows > 8192 ? 128 : 512", "the fewest of the best ranges: both points have UNROLL=2");
	ok(s && s->values[0] == 2, "which becomes the value of the line that stays");
	s = find(t, &c, rows_kernel, chain, 3, a);
	is_str(s ? s->text : "", "UNROLL = cols > 2048 ? 1 : 2; THREADS = cols > 4096 ? 256 : cols > 2048 ? 512 : 256",
	       "three ranges, where rows would miss a time; equal neighbours are one");
}

static void test_apply(const struct kw_task *t, struct kw_arena *a)
{
	static const struct times two[] = { { { 1, 256 }, { 36, 36, 0 } }, { { 2, 512 }, { 35, 40, 0 } }, { { 2, 128 }, { 40, 34, 0 } } };
	static const char only_narrow[] = "//@ kernel k grid=(rows) block=(THREADS) args=(x, y, cols:i64)\n//@ tune UNROLL in {1, 2} default 1\n"
					  "//@ tune THREADS in {128, 256, 512} default 256\n//@ require cols < 4096 || THREADS < 512\n";
	struct kw_hardware hw = { 0 };
	struct kw_error err = { 0 };
	struct kw_candidate c, by_size;
	const struct kw_tune_split *s = find(t, &c, rows_kernel, two, 3, a);

	c.tune_values = (int64_t[]){ 1, 256 };
	is_int(s ? kw_split_apply(&c, t, &hw, s, a, &by_size, &err) : KW_NO, KW_OK, "the kernel that chooses");
	is_str(by_size.source, "// A kernel.\n//@ kernel k grid=(rows) block=(THREADS) args=(x, y, cols:i64)\n"
			       "  // Split by size: of the values that were timed, each was the fastest on the cases of its range.\n"
			       "  //@ define THREADS = cols > 2048 ? 512 : 128\n"
			       "  //@ define HELD = cdiv(cols, THREADS)\n//@ tune UNROLL in {1, 2} default 1\n#define X THREADS\n",
	       "has the define above those that know it, and no tune line for it");
	is_str(by_size.name, "k_by_size", "its name");
	is_str(kw_plan_tune_text(&by_size.plan, by_size.tune_values, a), "UNROLL=2", "and the point that is left open");
	ok(strcmp(by_size.sha256, c.sha256) != 0, "it is another kernel");
	s = find(t, &c, only_narrow, two, 3, a);
	c.tune_values = (int64_t[]){ 1, 256 };
	is_int(s ? kw_split_apply(&c, t, &hw, s, a, &by_size, &err) : KW_OK, KW_NO, "one that serves fewer cases is none");
}

static void test_python(const struct kw_task *t, struct kw_arena *a)
{
	static const char source[] = "#@ kernel k grid=(rows) args=(x, y)\r\n#@ tune BLOCK in {128, 256, 512} default 256\r\n"
				     "#@ tune num_warps in {4, 8} default 4\r\ndef k(x, y, BLOCK):\r\n    pass\r\n";
	static const struct times two[] = { { { 256, 4 }, { 36, 36, 0 } }, { { 512, 8 }, { 30, 40, 0 } }, { { 128, 4 }, { 40, 30, 0 } } };
	struct kw_hardware hw = { 0 };
	struct kw_error err = { 0 };
	struct kw_candidate c, by_size = { 0 };
	const struct kw_tune_split *s = find(t, &c, source, two, 3, a);

	is_int(s ? kw_split_apply(&c, t, &hw, s, a, &by_size, &err) : KW_NO, KW_OK, "in Python, with CR");
	has_str(by_size.source, "\r\n# Split by size: ", "a comment of the language");
	has_str(by_size.source, "\n#@ define BLOCK = cols > 2048 ? 512 : 128\n#@ define num_warps = cols > 2048 ? 8 : 4\ndef k(", "its markers");
	is_int(by_size.plan.tune_count, 0, "nothing is left to tune");
}

/* What models are told of a kernel that was tuned, in the words of the rule. */
static void test_finding(struct kw_store *store, struct kw_arena *a)
{
	struct kw_tune_split split = { .text = "T = n > 2048 ? 512 : 128", .ns = 180 };
	struct kw_tune_case cases[] = { { .label = "n=4096", .ns = 200, .fastest_ns = 180, .fastest = "T=512" },
					{ .label = "n=1024", .ns = 200, .fastest_ns = 180, .fastest = "T=128" } };
	struct kw_tune_report r = { .best_ns = 200, .cases = cases, .case_count = 2, .split = &split };
	struct kw_error err = { 0 };
	struct kw_finding f = { 0 };
	struct kw_rule *rules = NULL;
	size_t count = 0;
	bool found;

	is_int(kw_rules_load(a, &rules, &count, &err), KW_OK, "the rules");
	kw_split_finding(store, "k", rules, count, 0, a, &f, &found, &err);
	ok(!found, "nothing is remembered");
	is_int(kw_split_remember(store, "k", &r, a, &err), KW_OK, "what the tuner found");
	is_int(kw_split_finding(store, "k", rules, count, 400, a, &f, &found, &err), KW_OK, "is a finding");
	ok(found, "it is there");
	is_str(f.id, "one_value_for_all_sizes", "of the rule");
	has_str(f.sentence, "200 ns (geometric mean), with the best one for each 180 ns. n=4096 is fastest with T=512 (180 ns), n=1024 with T=128 (180 ns).",
		"its evidence");
	has_str(f.directive.text, "Here: `define T = n > 2048 ? 512 : 128`.", "what to do");
	ok(fabs(f.gain_ns - 40) < 1e-9, "a tenth of the time that it has now");
	ok(fabs(f.directive.prediction.factor_low - 0.9) < 1e-9 && f.directive.prediction.factor_high > 0.9, "as a share of the mean");
	split.ns = 199.9;
	kw_split_remember(store, "k", &r, a, &err);
	kw_split_finding(store, "k", rules, count, 0, a, &f, &found, &err);
	ok(!found, "next to nothing is none");
	split.ns = 180;
	kw_split_remember(store, "k", &r, a, &err);
	kw_split_remember(store, "k", NULL, a, &err);
	kw_split_finding(store, "k", rules, count, 0, a, &f, &found, &err);
	ok(!found, "nor what is taken back");
	kw_rules_release(rules, count);
}

/* ---- in a run ----------------------------------------------------------------------------------- */

static const char two_cases[] = "{ n: 1024 }, { n: 64 }";

static enum kw_status run(struct world *w, struct kw_store *store, int64_t resume, int evaluations, struct kw_search_result *out)
{
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .strategy = "tune", .resume_run = resume,
				    .budget.max_evaluations = evaluations };
	struct kw_error err = { 0 };
	enum kw_status status = kw_search_run_with(&w->ports, &w->task, NULL, &o, store, NULL, out, &err);

	if (status != KW_OK)
		diag("%s", err.text);
	return status;
}

static const char *all_reasons(struct world *w, const struct kw_search_result *r)
{
	const char *text = "";

	for (size_t i = 0; i < r->reason_count; i++)
		text = kw_arena_printf(&w->arena, "%s%s\n", text, r->reasons[i]);
	return text;
}

static void test_run(struct kw_store *store)
{
	struct world w;
	struct kw_search_result r, again;
	int calls;

	world_init_cases(&w, "", two_cases);
	world_add(&w, "threads", "//@ tune T in {64, 128, 256, 512, 1024} default 256\n"
				 "//! ns@1 351\n//! per@1 T 512 11\n//! ns@2 391\n//! per@2 T 128 50");
	is_int(run(&w, store, 0, 0, &r), KW_OK, "a run");
	is_str(r.best.name, "threads_by_size", "ends with the kernel that chooses by size");
	ok(fabs(kw_search_mean_ns(&r.verdict) - sqrt(351.0 * 391.0)) < 1e-6, "which is at both sizes at its best");
	is_str(r.rounds[0].step, "threads; split by size: T = n > 256 ? 512 : 128", "the steps name it");
	ok(fabs(r.rounds[0].measured_ns - sqrt(351.0 * 391.0)) < 1e-6, "with its time");
	has_str(all_reasons(&w, &r), "threads: split by size (T = n > 256 ? 512 : 128): 370 ns, before 382 ns", "and it is told");
	is_int(w.fulls, 2, "both were judged in full");
	is_int(w.finals, 1, "the better one proven");
	calls = w.calls;
	is_int(run(&w, store, r.run_id, 0, &again), KW_OK, "resumed");
	is_str(again.best.name, "threads_by_size", "it has the same end");
	is_int(w.calls, calls, "and judges nothing twice");
	kw_search_result_release(&again);
	kw_search_result_release(&r);
	is_int(run(&w, store, 0, 16, &r), KW_OK, "a budget that ends before it");
	is_str(r.best.name, "threads", "leaves the best point");
	kw_search_result_release(&r);
	world_release(&w);
}

/* Right at each of its points by itself, and wrong at one in full; and one whose promise does not come true. */
static void test_not_kept(struct kw_store *store)
{
	struct world w;
	struct kw_search_result r;

	world_init_cases(&w, "", two_cases);
	world_add(&w, "other", "//@ tune T in {64, 128, 256} default 128\n//! ns@1 351\n//! per@1 T 256 40\n//! ns@2 391\n//! per@2 T 64 40\n"
			       "//! by_size 60\n");
	is_int(run(&w, store, 0, 0, &r), KW_OK, "a split that is slower than it should be");
	is_str(r.best.name, "other", "is not handed over");
	is_str(r.rounds[0].step, "other", "nor named among the steps");
	has_str(all_reasons(&w, &r), "split by size (T = n > 256 ? 256 : 64): 431 ns, not kept, without it 407 ns", "but it is told");
	kw_search_result_release(&r);
	world_release(&w);
	world_init_cases(&w, "", two_cases);
	world_add(&w, "wrong", "//@ tune T in {64, 128, 256} default 128\n//! ns@1 351\n//! per@1 T 256 40\n//! ns@2 391\n//! per@2 T 64 40\n"
			       "//! by_size wrong/mismatch\n");
	is_int(run(&w, store, 0, 0, &r), KW_OK, "one that is wrong");
	is_str(r.best.name, "wrong", "is not either");
	has_str(all_reasons(&w, &r), "wrong_by_size: wrong/mismatch", "and is refused like any other");
	kw_search_result_release(&r);
	world_release(&w);
}

/* 2.4% apart: a look of the second rung is sure to 2.4% to each side, one of the third to 0.75%. */
static void test_too_short(struct kw_store *store)
{
	struct world w;
	struct kw_search_result r;

	world_init_cases(&w, "", two_cases);
	world_add(&w, "close", "//@ tune T in {64, 128, 256} default 128\n//! ns@1 1000\n//! per@1 T 256 12\n//! ns@2 1000\n//! per@2 T 64 3000\n"
			       "//! spread 0.06\n");
	run(&w, store, 0, 0, &r);
	is_str(r.best.name, "close_by_size", "what the second rung cannot tell the third can");
	is_str(r.rounds[0].step, "close; split by size: T = n > 256 ? 256 : 64", "and so there is a split");
	is_int(w.looks[0] + w.looks[1], 1 + 3 + 3 * 2 + 2 * 2, "two points were looked at again on both cases");
	kw_search_result_release(&r);
	world_release(&w);
	world_init_cases(&w, "", two_cases);
	world_add(&w, "noise", "//@ tune T in {64, 128, 256} default 128\n//! ns@1 1000\n//! per@1 T 256 12\n//! ns@2 1000\n//! per@2 T 64 3000\n"
			       "//! spread 0.5\n");
	run(&w, store, 0, 0, &r);
	is_str(r.best.name, "noise", "what neither can is none");
	is_int(w.fulls, 1, "and nothing more is judged");
	kw_search_result_release(&r);
	world_release(&w);
}

/* What would be behind the best even if it kept its promise is not judged. */
static void test_not_tried(struct kw_store *store)
{
	struct world w;
	struct kw_search_result r;

	world_init_cases(&w, "", two_cases);
	world_add(&w, "fast", "//! ns 300\n");
	world_add(&w, "behind", "//@ tune T in {64, 128, 256} default 128\n//! ns@1 351\n//! per@1 T 256 40\n//! ns@2 391\n//! per@2 T 64 40\n");
	run(&w, store, 0, 0, &r);
	is_str(r.best.name, "fast", "another kernel is ahead of all that it promises");
	is_int(w.fulls, 2, "so it is not tried");
	kw_search_result_release(&r);
	world_release(&w);
}

int main(void)
{
	struct kw_store *store = NULL;
	struct kw_error err = { 0 };
	struct kw_arena a;
	struct kw_task t;

	kw_arena_init(&a, 16 << 20);
	if (kw_task_parse_yaml(&t, "rows.yaml", two_dims, strlen(two_dims), &err) != KW_OK ||
	    kw_store_open(temp_file("store"), false, &store, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	test_find(&t, &a);
	test_apply(&t, &a);
	test_python(&t, &a);
	test_finding(store, &a);
	test_run(store);
	test_not_kept(store);
	test_too_short(store);
	test_not_tried(store);
	kw_store_close(store);
	kw_task_release(&t);
	kw_arena_release(&a);
	return done();
}
