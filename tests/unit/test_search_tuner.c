/* Tune spaces and successive halving: against a made-up machine. */
#include "tap.h"
#include "search_world.h"

#include "base/clock.h"
#include "search/space.h"

static struct kw_store *store, *memory;
static int64_t run_id;

static enum kw_status tune(struct world *w, struct kw_candidate *c, struct kw_store *mem, struct kw_tune_report *r)
{
	static const char *reasons[KW_REASONS_MAX];
	struct kw_search_opts o = { .backend = "c", .device = "cpu" };
	struct kw_search s = { .task = &w->task, .opts = &o, .ports = &w->ports, .store = store, .memory = mem,
			       .arena = &w->arena, .run_id = run_id, .reasons = reasons };
	struct kw_error err = { 0 };
	enum kw_status status = kw_tuner_run(&s, c, 0, r, NULL, &err);

	if (status != KW_OK)
		diag("%s", err.text);
	return status;
}

static const char two_axes[] = "//@ tune A in {1, 2, 4, 8, 16, 32, 64} default 1\n"
			       "//@ tune B in {1, 2, 4, 8, 16, 32, 64} default 1\n"
			       "//@ tune C in {1, 2, 4, 8, 16, 32, 64} default 1\n"
			       "//! ns 1000\n//! per A 16 300\n//! per B 4 300\n//! per C 32 300\n";

static void test_small(void)
{
	struct world w;
	struct kw_tune_report r;

	world_init(&w, "");
	world_add(&w, "small", "//@ tune STEP in {4, 8, 16, 32, 64} default 4\n//@ tune U in {1, 2} default 1\n"
			       "//@ where STEP * U <= 64\n//! ns 900\n//! per STEP 16 400\n"
			       "//! fails STEP 64\n//! wrong STEP 8");
	is_int(tune(&w, &w.proposals[0].candidate, NULL, &r), KW_OK, "a small space");
	is_int(r.space, 9, "size after the where line");
	is_int(r.pruned, 1, "one combination excluded");
	is_int(r.tried, 9, "all tried");
	is_int(r.failed_build, 1, "one does not build");
	is_int(r.wrong, 2, "two are wrong");
	is_int(r.best_values[0], 16, "the best");
	ok(r.curve_count > 1 && r.curve[r.curve_count - 1].best_ns == r.best_ns, "the curve ends at the best");
	for (size_t i = 0; i < r.curve_count; i++)
		ok(i == 0 || r.curve[i].evaluations >= r.curve[i - 1].evaluations, "the curve goes on");
	world_release(&w);
}

static void test_large(void)
{
	struct world w;
	struct kw_tune_report r;
	struct kw_space s1, s2;
	struct kw_candidate *c;
	struct kw_error err = { 0 };
	bool same = true, default_first = true;

	world_init(&w, "");
	world_add(&w, "large", two_axes);
	world_add(&w, "huge", "//@ tune A in {1,2,3,4,5,6,7,8,9,10} default 3\n//@ tune B in {1,2,3,4,5,6,7,8,9,10} default 3\n"
			      "//@ tune C in {1,2,3,4,5,6,7,8,9,10} default 3\n//@ tune D in {1,2,3,4,5,6,7,8,9,10} default 3\n"
			      "//@ tune E in {1,2,3,4,5,6,7,8,9,10} default 3\n//@ tune F in {1,2,3,4,5,6,7,8,9,10} default 3\n"
			      "//@ tune G in {1,2,3,4,5,6,7,8,9,10} default 3\n//@ tune H in {1,2,3,4,5,6,7,8,9,10} default 3\n"
			      "//@ where A + B > 4");
	is_int(tune(&w, &w.proposals[0].candidate, NULL, &r), KW_OK, "343 points");
	is_int(r.space, 343, "the space is told whole");
	ok(r.tried < 60, "only some are tried (%d)", r.tried);
	ok(r.best_ns < 0.6 * (1000 + 300 * (4 + 2 + 5)), "far better than the default (%.0f)", r.best_ns);
	c = &w.proposals[1].candidate;
	is_int(kw_space_list(c, &w.task, &w.hardware, 40, &w.arena, &s1, &err), KW_OK, "100 million points");
	is_int(kw_space_list(c, &w.task, &w.hardware, 40, &w.arena, &s2, &err), KW_OK, "again");
	is_int(s1.count, 40, "a subset");
	is_int(s1.size, -1, "of too many to count");
	for (size_t i = 0; i < s1.count; i++) {
		same = same && memcmp(s1.points[i], s2.points[i], 8 * sizeof(int64_t)) == 0;
		ok(s1.points[i][0] + s1.points[i][1] > 4, "point %zu keeps the where line", i);
	}
	for (int i = 0; i < 8; i++)
		default_first = default_first && s1.points[0][i] == 3;
	ok(same, "the same subset each time");
	ok(default_first, "the default is the first");
	world_release(&w);
}

static void test_rejected_default(void)
{
	struct world w;
	struct kw_tune_report r;

	world_init(&w, "");
	world_add(&w, "cheat", "//@ tune STEP in {4, 8, 16} default 4\n//! verdict cheat/stale_output");
	world_add(&w, "unbuilt", "//@ tune STEP in {4, 8, 16} default 4\n//! fails STEP 4\n//! ns 700");
	world_add(&w, "slip", "//@ tune STEP in {1, 2, 3, 4, 5, 6, 7, 8, 9, 10} default 4\n//! verdict build_error/syntax");
	is_int(tune(&w, &w.proposals[0].candidate, NULL, &r), KW_OK, "a cheat");
	is_int(r.tried, 1, "is not tuned");
	ok(w.proposals[0].candidate.tune_values == NULL, "and has no best point");
	is_int(tune(&w, &w.proposals[1].candidate, NULL, &r), KW_OK, "a default that does not build");
	is_int(r.tried, 3, "is no reason to stop");
	is_int(r.failed_build, 1, "it is counted");
	ok(fabs(r.best_ns - 700.0) < 0.001, "another point is taken (%.0f)", r.best_ns);
	is_int(tune(&w, &w.proposals[2].candidate, NULL, &r), KW_OK, "one that builds nowhere");
	is_int(r.failed_build, 4, "is given up when three more points fail for the same reason");
	world_release(&w);
}

static void test_known_winner(void)
{
	struct world w;
	struct kw_tune_report r;
	double first;
	int64_t before;

	world_init(&w, "");
	world_add(&w, "warm", two_axes);
	tune(&w, &w.proposals[0].candidate, memory, &r);
	first = r.best_ns;
	before = r.curve[0].evaluations;
	w.proposals[0].candidate.tune_values = NULL;
	run_id = 0; /* nothing is recalled: judged anew */
	tune(&w, &w.proposals[0].candidate, memory, &r);
	ok(r.best_ns <= first, "the next run is no worse");
	ok(r.curve_count > 1 && r.curve[1].evaluations == before + 1 && r.curve[1].best_ns <= first,
	   "and starts from the winner");
	world_release(&w);
}

static void test_no_space(void)
{
	struct world w;
	struct kw_tune_report r;

	world_init(&w, "");
	world_add(&w, "plain", "//! ns 800");
	is_int(tune(&w, &w.proposals[0].candidate, memory, &r), KW_OK, "no tune lines");
	is_int(r.tried, 1, "one point");
	is_int(r.space, 1, "a space of one");
	ok(fabs(r.best_ns - 800.0) < 0.001, "its time");
	world_release(&w);
}

static const char two_cases[] = "{ n: 1024 }, { n: 64 }";

/* The fastest on the first case is far from it on the second: the mean decides, and the report says what was what. */
static void test_all_cases(void)
{
	struct world w;
	struct kw_tune_report r;
	struct kw_candidate *c;
	const struct kw_curve_point *last;

	world_init_cases(&w, "", two_cases);
	world_add(&w, "threads", "//@ tune T in {64, 128, 256, 512, 1024} default 256\n"
				 "//! ns@1 351\n//! per@1 T 512 11\n//! ns@2 391\n//! per@2 T 256 226");
	c = &w.proposals[0].candidate;
	is_int(tune(&w, c, NULL, &r), KW_OK, "two cases");
	is_int(c->tune_values[0], 256, "the best over both, not of the first");
	ok(fabs(r.best_ns - sqrt(362.0 * 391.0)) < 0.001, "its time is the mean of both (%.1f)", r.best_ns);
	is_str(r.first_case, w.task.cases[0].label, "all points were timed on the first");
	is_int(r.case_count, 2, "two cases decided");
	is_str(r.cases[0].fastest, "T=512", "where another point is the fastest");
	ok(fabs(r.cases[0].ns - 362.0) < 0.001 && fabs(r.cases[0].fastest_ns - 351.0) < 0.001, "by so much");
	ok(r.cases[0].apart && !r.cases[1].apart, "beyond its interval");
	is_str(r.cases[1].fastest, "T=256", "and on the second the chosen one");
	last = &r.curve[r.curve_count - 1];
	ok(last->cases == 2 && last->best_ns == r.best_ns, "the curve ends with the mean, and says so");
	ok(r.curve[0].cases == 1 && fabs(r.curve[0].best_ns - 362.0) < 0.001, "it began with the default on the first case");
	is_int(w.looks[0] + w.looks[1], 5 + 2 * 5, "all of five points are looked at on both");
	is_str(r.split ? r.split->text : "", "T = n > 256 ? 512 : 256", "no one point is the best for both sizes");
	ok(r.split && fabs(r.split->ns - sqrt(351.0 * 391.0)) < 0.001, "what a choice by size promises");
	is_int(w.limits_ns[KW_EFFORT_SCREEN], 250 * 1000000 / 2, "which share a rung's time");
	world_release(&w);
}

/* The default is in the middle of the field on the first case, and the best over all. */
static void test_default_stays(void)
{
	struct world w;
	struct kw_tune_report r;
	struct kw_candidate *c;

	world_init_cases(&w, "", "{ n: 1024 }, { n: 64 }, { n: 3000, large: true }");
	world_add(&w, "many", "//@ tune T in {1, 2, 4, 8, 16, 32, 64, 128, 256} default 64\n//! ns@1 500\n//! per@1 T 1 20\n"
			      "//! ns@2 300\n//! per@2 T 64 500\n//! ns@3 1\n");
	world_add(&w, "last", "//@ tune T in {1, 2, 4, 8, 16} default 16\n//! ns@1 500\n//! per@1 T 1 200\n//! ns@2 300\n//! per@2 T 16 900\n");
	c = &w.proposals[0].candidate;
	tune(&w, c, NULL, &r);
	is_int(c->tune_values[0], 64, "seventh of nine on the first case, it went on and won");
	is_int(w.looks[2], 0, "a large case was not asked for");
	tune(&w, &w.proposals[1].candidate, NULL, &r);
	is_int(w.proposals[1].candidate.tune_values[0], 16, "and the last of five");
	world_release(&w);
}

/* More of the cases first, as the ranking has it. */
static void test_fewer_cases(void)
{
	struct world w;
	struct kw_tune_report r;
	struct kw_candidate *c;

	world_init_cases(&w, "", two_cases);
	world_add(&w, "some", "//@ tune T in {1, 2, 4, 8} default 2\n//@ where n > 100 || T < 4\n//! ns 600\n//! per T 8 100");
	world_add(&w, "one", "//@ tune T in {1, 2, 4, 8} default 2\n//@ require n > 100\n//! ns 600\n//! per T 8 100");
	world_add(&w, "wrong", "//@ tune T in {1, 2, 4, 8} default 2\n//! ns 600\n//! per T 8 100\n//! wrong@2 T 8\n//! fails@2 T 4");
	c = &w.proposals[0].candidate;
	tune(&w, c, NULL, &r);
	is_int(c->tune_values[0], 2, "the fastest of those that serve both");
	is_int(r.case_count, 2, "which are two");
	c = &w.proposals[1].candidate;
	tune(&w, c, NULL, &r);
	is_int(c->tune_values[0], 8, "of a kernel for one case the fastest");
	is_int(r.case_count, 1, "on that one");
	c = &w.proposals[2].candidate;
	tune(&w, c, NULL, &r);
	is_int(c->tune_values[0], 2, "what is wrong on the second case, or does not build there, is out");
	ok(r.wrong == 1 && r.failed_build == 1, "and counted (%d, %d)", r.wrong, r.failed_build);
	world_release(&w);
	world_init_cases(&w, "", two_cases);
	w.unfit = 1;
	world_add(&w, "small", "//@ tune T in {1, 2, 4} default 1\n//! ns 600\n//! per@1 T 1 100\n//! per@2 T 4 100");
	c = &w.proposals[0].candidate;
	tune(&w, c, NULL, &r);
	is_int(c->tune_values[0], 4, "a case that does not fit this machine has no say");
	is_str(r.first_case, w.task.cases[1].label, "the points are timed on the next");
	is_int(w.looks[0], 1, "and it is tried once");
	world_release(&w);
}

/* Of a large space what is near the best point is tried too; on several cases as on one. */
static void test_large_cases(void)
{
	struct world w;
	struct kw_tune_report r;

	world_init_cases(&w, "", "{ n: 1024 }, { n: 64 }, { n: 100 }, { n: 200 }");
	world_add(&w, "four", two_axes);
	tune(&w, &w.proposals[0].candidate, NULL, &r);
	ok(r.tried > 40 - 21 && r.tried < 60, "%d points", r.tried);
	ok(r.best_ns < 0.6 * (1000 + 300 * (4 + 2 + 5)), "far better than the default (%.0f)", r.best_ns);
	ok(w.looks[1] == w.looks[2] && w.looks[2] == w.looks[3] && w.looks[1] >= 4 && w.looks[1] <= 8,
	   "four cases do not cost four times as much: %d points on each", w.looks[1]);
	is_int(w.looks[0] - r.tried, w.looks[1], "as many again on the first");
	world_release(&w);
}

/* A winner of an earlier run is chosen over all cases, and goes on though it is slow on the first. */
static void test_known_over_cases(void)
{
	struct world w;
	struct kw_tune_report r;
	struct kw_candidate *c;
	int64_t was = run_id;

	world_init_cases(&w, "", two_cases);
	world_add(&w, "known", "//@ tune T in {1, 2, 4, 8, 16, 32, 64} default 1\n//! ns@1 500\n//! per@1 T 1 20\n"
			       "//! ns@2 300\n//! per@2 T 64 100\n");
	c = &w.proposals[0].candidate;
	run_id = 0;
	tune(&w, c, memory, &r);
	ok(c->tune_values[0] < 64, "the best over all is not met, it is the last on the first case (%lld)", (long long)c->tune_values[0]);
	kw_store_kv_put(memory, "tune", kw_arena_printf(&w.arena, "%s|test machine||0", c->sha256), "T=64", NULL);
	c->tune_values = NULL;
	tune(&w, c, memory, &r);
	is_int(c->tune_values[0], 64, "as an earlier run's winner it is");
	run_id = was;
	world_release(&w);
}

static enum kw_status tune_within(struct world *w, struct kw_candidate *c, int64_t limit_ns, int evaluations, struct kw_tune_report *r,
				  const char **best)
{
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .budget.max_evaluations = evaluations };
	struct kw_screened table[KW_SCREENED_MAX];
	struct kw_search s = { .task = &w->task, .opts = &o, .ports = &w->ports, .store = store, .arena = &w->arena, .screened = table,
			       .start_ns = kw_now_ns() };
	enum kw_status status = kw_tuner_run(&s, c, limit_ns, r, NULL, NULL);

	*best = s.screened_count ? kw_search_first_screened(&s)->tune : "";
	return status;
}

/* A time that is over leaves the default and the leader compared on every case, and no more. A budget of evaluations ends wherever it
 * does: only cases that all were looked at on decide. */
static void test_cut_off(void)
{
	struct world w;
	struct kw_tune_report r;
	struct kw_candidate *c;
	const char *best;
	int64_t was = run_id;

	run_id = 0;
	world_init_cases(&w, "", "{ n: 1024 }, { n: 64 }, { n: 100 }");
	world_add(&w, "threads", "//@ tune T in {8, 16, 32, 64, 128, 256, 512, 1024} default 256\n"
				 "//! ns@1 351\n//! per@1 T 512 11\n//! ns@2 391\n//! per@2 T 256 226\n//! ns@3 100\n");
	c = &w.proposals[0].candidate;
	w.takes_ns = 1000000;
	is_int(tune_within(&w, c, 1, 0, &r, &best), KW_OK, "no time at all");
	is_int(w.looks[0], 5, "five points of the first rung");
	ok(w.looks[1] == 2 && w.looks[2] == 2, "two of them on the other cases (%d, %d)", w.looks[1], w.looks[2]);
	is_int(c->tune_values[0], 256, "which is enough");
	is_int(r.case_count, 3, "the first case has the first rung's time");
	w.takes_ns = 0;
	for (int evaluations = 2; evaluations < 24; evaluations++) {
		bool leads = true;

		w.looks[0] = w.looks[1] = w.looks[2] = 0;
		tune_within(&w, c, 0, evaluations, &r, &best);
		/* All eight on the first case; then three on the second: the leader, the default, the third. */
		if (w.looks[1] == 3)
			leads = c->tune_values[0] == 256;
		else if (w.looks[0] == 8)
			leads = c->tune_values[0] == 512;
		ok(leads && w.looks[0] + w.looks[1] + w.looks[2] < evaluations, "%d evaluations: %lld", evaluations, (long long)c->tune_values[0]);
		if (w.looks[1] >= 2)
			is_str(best, "T=256", "%d: as what is to be proven first", evaluations);
	}
	run_id = was;
	world_release(&w);
}

/* A kernel for one perf case only is tuned on that one. */
static void test_perf_case(void)
{
	static const char text[] = "name: two\ndims: { n: { min: 1, max: 4096 } }\n"
				   "inputs:\n  x: { dtype: f32, shape: [n] }\noutputs:\n  y: { dtype: f32, shape: [n] }\n"
				   "reference:\n  expr: |\n    y = x\n"
				   "perf: [ { n: 1024 }, { n: 8 }, { n: 2048, large: true } ]\n";
	static const struct {
		const char *require;
		bool large;
		int want;
	} rows[] = { { "n > 0", false, 0 }, { "n < 10", false, 1 }, { "n > 2000", false, -1 }, { "n > 2000", true, 2 },
		     { "n < 0", true, -1 } };
	struct kw_hardware hw = { 0 };
	struct kw_error err = { 0 };
	struct kw_arena a;
	struct kw_task t;

	kw_arena_init(&a, 1 << 20);
	is_int(kw_task_parse_yaml(&t, "two.yaml", text, strlen(text), &err), KW_OK, "a task with three perf cases");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct kw_candidate c;
		const char *source = kw_arena_printf(&a, "//@ kernel k args=(x, y, n:i64)\n//@ require %s\n",
						     rows[i].require);

		kw_candidate_from_text(&c, "k", "c", source, strlen(source), &t, &a, &err);
		is_int(kw_space_case(&c, &t, &hw, rows[i].large, 0), rows[i].want, "require %s%s", rows[i].require,
		       rows[i].large ? ", large ones too" : "");
	}
	kw_task_release(&t);
	kw_arena_release(&a);
}

int main(void)
{
	struct kw_error err = { 0 };
	struct kw_run_row row = { .task_name = "t", .task_text = "", .task_sha = "", .backend = "c", .device = "cpu",
				  .strategy = "tune", .options = "{}" };

	if (kw_store_open(temp_file("store"), false, &store, &err) != KW_OK ||
	    kw_store_open(temp_file("memory"), false, &memory, &err) != KW_OK ||
	    kw_store_run_new(store, &row, &run_id, &err) != KW_OK ||
	    kw_store_run_claim(store, run_id, &err) != KW_OK)
		diag("%s", err.text);
	test_small();
	test_large();
	test_rejected_default();
	test_no_space();
	test_all_cases();
	test_default_stays();
	test_fewer_cases();
	test_large_cases();
	test_known_over_cases();
	test_cut_off();
	test_perf_case();
	test_known_winner();
	kw_store_close(store);
	kw_store_close(memory);
	return done();
}
