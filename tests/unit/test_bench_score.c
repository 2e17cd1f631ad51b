/* The formulas of a benchmark: exact values, and what is counted how. */
#include <math.h>

#include "report/bench.h"
#include "tap.h"

static struct kw_error err;

static bool near(double got, double want)
{
	return fabs(got - want) < 1e-12;
}

static void test_pass(void)
{
	ok(near(kw_pass_at_k(1, 1, 1), 1), "one of one");
	ok(near(kw_pass_at_k(1, 0, 1), 0), "none of one");
	ok(near(kw_pass_at_k(10, 3, 1), 0.3), "k = 1: the share that is right");
	ok(near(kw_pass_at_k(10, 3, 5), 1 - 21.0 / 252), "1 - C(7, 5) / C(10, 5)");
	ok(near(kw_pass_at_k(4, 2, 2), 1 - 1.0 / 6), "1 - C(2, 2) / C(4, 2)");
	ok(near(kw_pass_at_k(5, 3, 3), 1), "fewer wrong ones than k: one is right for certain");
	ok(near(kw_pass_at_k(10, 0, 10), 0), "0 right");
	ok(near(kw_pass_at_k(10, 10, 1), 1), "all right");
	ok(near(kw_pass_at_k(200, 1, 100), 0.5), "no overflow: half of them drawn");
	ok(isnan(kw_pass_at_k(3, 1, 4)), "k > n says nothing");
	ok(isnan(kw_pass_at_k(0, 0, 1)), "no sample says nothing");
	ok(isnan(kw_pass_at_k(3, 4, 1)) && isnan(kw_pass_at_k(3, -1, 1)) && isnan(kw_pass_at_k(3, 1, 0)), "impossible counts");
}

static void test_fast(void)
{
	ok(kw_is_fast(true, 1.5, 1), "right and faster");
	ok(!kw_is_fast(true, 1, 1), "as fast is not faster");
	ok(!kw_is_fast(false, 9, 0), "wrong is never fast");
	ok(kw_is_fast(true, 0, 0), "fast_0 is being right, timed or not");
	ok(!kw_is_fast(true, 0, 0.5), "not timed is not fast");
}

static void test_mean(void)
{
	const double v[] = { 1, 4, 0, INFINITY }, none[] = { 0, -1 };

	ok(near(kw_geometric_mean(v, 4), 2), "of 1 and 4; what has no value is left out");
	ok(kw_geometric_mean(none, 2) == 0 && kw_geometric_mean(v, 0) == 0, "of nothing: none");
}

static struct kw_bench_item item(const char *problem, const char *group, int sample, bool right, double speedup)
{
	struct kw_bench_item i = { .key = problem, .problem = problem, .group = group, .name = problem, .text = "", .sample = sample,
				   .state = KW_BENCH_JUDGED, .has_verdict = true, .right = right, .suite_known = true,
				   .suite_right = right, .suite_speedup = speedup };

	i.speedup[0] = speedup;
	i.wall_ns = 10;
	return i;
}

/* Two problems with two samples, one of which is wrong; one with a sample that is fast; one that could not be loaded; one that
 * waits. */
static void test_scores(void)
{
	struct kw_bench_item items[7];
	struct kw_bench_report r = { .items = items, .count = 7, .baselines = { "eager" }, .baseline_count = 1, .suite_baseline = "eager",
				     .title = "a suite", .rule = "a rule", .proposer = "files", .suite = "s", .path = "p" };
	struct kw_bench_group *g;
	struct kw_buf text;
	json_t *j;

	kw_arena_init(&r.arena, 1 << 20);
	items[0] = item("a/1", "a", 0, true, 3);
	items[1] = item("a/1", "a", 1, false, 0);
	items[2] = item("a/2", "a", 0, true, 0.6);
	items[3] = item("a/2", "a", 1, true, 1.2);
	items[4] = item("b/1", "b", 0, true, 1.6);
	items[5] = item("b/2", "b", 0, false, 0);
	items[5].state = KW_BENCH_NO_PROBLEM;
	items[5].has_verdict = items[5].suite_known = false;
	items[6] = item("b/3", "b", 0, false, 0);
	items[6].state = KW_BENCH_WAITING;
	items[1].suite_right = true;
	items[1].disagreement = "all elements are within its tolerance";
	is_int(kw_bench_report_score(&r, &err), KW_OK, "scores");
	g = &r.groups[0];
	is_int(r.group_count, 3, "all, a and b");
	ok(!r.complete, "one waits");
	ok(g->problems == 5 && g->counted == 4 && g->samples == 6 && g->right == 4, "what waits counts for nothing, what cannot be loaded does");
	ok(near(g->correct, (0.5 + 1 + 1 + 0) / 4), "correct: a problem weighs the same, however many samples it has");
	ok(near(g->fast[0][0], g->correct), "fast_0 is correct");
	ok(near(g->fast[0][1], (0.5 + 1 + 1) / 4), "fast_0.5");
	ok(near(g->fast[0][2], (0.5 + 0.5 + 1) / 4), "fast_0.8");
	ok(near(g->fast[0][3], (0.5 + 0.5 + 1) / 4), "fast_1");
	ok(near(g->fast[0][4], (0.5 + 0 + 1) / 4), "fast_1.5");
	ok(near(g->fast[0][5], 0.5 / 4), "fast_2");
	ok(near(g->geomean[0], pow(3 * 0.6 * 1.2 * 1.6, 0.25)) && g->timed[0] == 4, "geometric mean of the right ones");
	ok(near(g->pass[0], (0.5 + 1 + 1 + 0) / 4) && g->pass_problems[0] == 4, "pass@1");
	ok(near(g->pass[1], 1) && g->pass_problems[1] == 2, "pass@2 of the problems that have two samples");
	ok(isnan(g->pass[2]), "pass@3 of none");
	ok(near(g->suite_correct, (1 + 1 + 1 + 0) / 4.0) && g->disagreements == 1 && g->suite_untimed == 1, "as the suite would score it");
	is_int(g->wall_ns, 70, "time");
	ok(near(r.groups[2].correct, 0.5) && r.groups[2].problems == 3 && r.groups[2].states[KW_BENCH_NO_PROBLEM] == 1, "a group of its own");
	kw_buf_init(&text, 1 << 20);
	kw_bench_report_text(&r, true, &text);
	has_str(text.ptr, "right: 4 of 6; waiting: 1; no_problem: 1", "the table says so");
	has_str(text.ptr, "pass@1 0.625, pass@2 1.000 (of 2 problems)", "and pass@k");
	has_str(text.ptr, "a/1 a/1: right there; all elements", "and disagreements");
	kw_buf_release(&text);
	j = kw_bench_report_json(&r);
	ok(j && json_array_size(json_object_get(j, "items")) == 7, "JSON");
	ok(near(json_real_value(json_object_get(json_object_get(json_object_get(json_object_get(
			json_array_get(json_object_get(j, "scores"), 0), "against"), "eager"), "fast_p"), "1.5")), 1.5 / 4), "with the same scores");
	json_decref(j);
	kw_arena_release(&r.arena);
}

static void test_nothing(void)
{
	struct kw_bench_report r = { .suite_baseline = "", .title = "a suite", .rule = "a rule", .proposer = "files", .suite = "s", .path = "p" };
	struct kw_buf text;
	json_t *j;

	kw_arena_init(&r.arena, 1 << 20);
	is_int(kw_bench_report_score(&r, &err), KW_OK, "nothing at all");
	ok(r.complete && r.groups[0].correct == 0 && isnan(r.groups[0].pass[0]), "has no score");
	kw_buf_init(&text, 1 << 20);
	kw_bench_report_text(&r, true, &text);
	ok(!text.full && text.len, "and a report");
	kw_buf_release(&text);
	j = kw_bench_report_json(&r);
	ok(j != NULL, "in JSON too");
	json_decref(j);
	kw_arena_release(&r.arena);
}

/* The suite's own view of a verdict. */
static void test_view(void)
{
	double fast[] = { 1, 1, 4 }, slow[] = { 8, 8, 2 };
	struct kw_baseline_time eager = { .name = "eager", .times = { .samples_ns = slow, .sample_count = 3, .median_ns = 8 }, .speedup = 8 };
	struct kw_case_result c[2] = { { .label = "n=4", .perf = true, .has_times = true, .close_compared = 100,
					 .times = { .samples_ns = fast, .sample_count = 3, .median_ns = 1 }, .baselines = &eager, .baseline_count = 1 },
				       { .label = "n=3", .close_compared = 5, .not_close = 5 } };
	struct kw_verdict v = { .cls = KW_V_OK, .cases = c, .case_count = 2 };
	struct kw_suite_view view;

	kw_suite_look(&v, 1e-4, 0, 0, &view);
	ok(view.known && view.right, "close on the perf case: right; other cases are not the suite's");
	ok(near(view.speedup, 3), "by means, not medians");
	is_str(view.baseline, "eager", "against what");
	c[0].not_close = 1;
	kw_suite_look(&v, 1e-4, 0, 0, &view);
	ok(view.known && !view.right, "one element beyond: wrong");
	c[0].close_compared = c[0].not_close = 0;
	kw_suite_look(&v, 1e-4, 0, 0, &view);
	ok(!view.known && !view.right, "not looked at: not known");
	kw_suite_look(&v, 1e-4, 64, 0, &view);
	ok(view.known && view.right, "looked at beside the verdict");
	v.cls = KW_V_WRONG;
	v.subclass = KW_S_SHAPE;
	kw_suite_look(&v, 1e-4, 64, 0, &view);
	ok(view.known && !view.right, "another shape is wrong everywhere");
	v.cls = KW_V_BUILD_ERROR;
	kw_suite_look(&v, 0, 0, 0, &view);
	ok(view.known && !view.right, "what is not built does not run");
	v.subclass = KW_S_BUILD_ARCHITECTURE;
	kw_suite_look(&v, 1e-4, 0, 0, &view);
	ok(!view.known && !view.right, "what is for another device may do so there");
	v.cls = KW_V_NOT_APPLICABLE;
	v.subclass = KW_S_NONE;
	kw_suite_look(&v, 1e-4, 0, 0, &view);
	ok(!view.known && !view.right, "and what this machine has no room for");
	v.cls = KW_V_WRONG;
	v.subclass = KW_S_MISMATCH;
	kw_suite_look(&v, 0, 0, 0, &view);
	ok(view.known && view.right, "where running is enough, wrong values are right");
}

int main(void)
{
	test_pass();
	test_fast();
	test_mean();
	test_scores();
	test_nothing();
	test_view();
	return done();
}
