/* Reports: what is read from the store, as text and as JSON; tables. */
#include "report/report.h"
#include "report/table.h"
#include "store_help.h"
#include "tap.h"
#include "temp.h"

static struct kw_error err;
static struct kw_store *s;

static const char *text_of(const struct kw_report *r)
{
	static struct kw_buf b;

	if (b.max_bytes == 0)
		kw_buf_init(&b, 1 << 20);
	kw_buf_reset(&b);
	kw_report_text(r, &b);
	return b.ptr;
}

/* As put() of store_help.h, with a baseline, an interval and a bound. */
static void put_timed(int64_t run, const char *tune, const char *effort, double ns)
{
	struct kw_baseline_time base = { .name = "naive -O3", .speedup = 2, .speedup_low = 1.5,
					 .speedup_high = 2.5 };
	struct kw_verdict v;
	int64_t id;

	make_verdict(&v, "c1", tune, ns);
	base.times.median_ns = 2 * ns;
	base.times.method = "single";
	v.cases[0].trials = 5;
	v.cases[0].times.ci_low_ns = 0.9 * ns;
	v.cases[0].times.ci_high_ns = 1.1 * ns;
	v.cases[0].times.cold = true;
	v.cases[0].baselines = &base;
	v.cases[0].baseline_count = 1;
	v.cases[0].bytes = 1000;
	v.cases[0].ceiling_bytes_per_s = 2000 / (ns * 1e-9);
	v.cases[0].sol = 0.5;
	v.geomean_sol = 0.5;
	v.geomean_speedup = 2;
	kw_store_verdict_put(s, run, 1, effort, &v, &id, &err);
	kw_verdict_release(&v);
}

static void test_table(void)
{
	struct kw_arena a;
	struct kw_table t;
	struct kw_buf b;

	kw_arena_init(&a, 1 << 20);
	kw_buf_init(&b, 4096);
	kw_table_init(&t, &a, "<><");
	kw_table_row(&t, "a", "time", NULL);
	kw_table_row(&t, "b\xc3\xa9t", "1", "x");
	kw_table_write(&t, "  ", &b);
	is_str(b.ptr, "  a    time\n  b\xc3\xa9t     1  x\n", "columns line up, by characters; no blanks at the end");
	kw_buf_release(&b);
	kw_arena_release(&a);
}

static void test_run(void)
{
	struct kw_candidate c = { .name = "row_softmax", .backend = "c", .source = "int x;", .source_len = 6,
				  .sha256 = "c1", .origin = "pattern:row_softmax" };
	struct kw_round round = { .index = 1, .step = "row_softmax", .evaluations = 3, .best_ns_after = 5e6 };
	json_t *tune = json_pack("[{s:s, s:i, s:i, s:[{s:i, s:f}, {s:i, s:f}]}, {s:s, s:f, s:s, s:[{s:i, s:i, s:f}, {s:i, s:i, s:f}],"
				 " s:[{s:s, s:f, s:s, s:f, s:b}, {s:s, s:f, s:s, s:f, s:b}, {s:s, s:f, s:s, s:f, s:b}], s:{s:s, s:f}}]", "candidate", "row_softmax", "space",
				 6, "tried", 2, "curve", "evaluations", 1, "best_ns", 7e6, "evaluations", 2, "best_ns",
				 9e6, "candidate", "other", "best_ns", 6e6, "first_case", "n=1", "curve", "evaluations", 1, "cases", 1,
				 "best_ns", 7e6, "evaluations", 2, "cases", 3, "best_ns", 6e6, "cases",
				 "case", "n=1", "ns", 9e6, "fastest", "T=2", "fastest_ns", 7e6, "apart", true,
				 "case", "n=2", "ns", 3e6, "fastest", "T=3", "fastest_ns", 2.9e6, "apart", true,
				 "case", "n=3", "ns", 8e6, "fastest", "T=4", "fastest_ns", 5e6, "apart", false,
				 "split", "define", "T = n > 1 ? 3 : 2", "ns", 5.7e6);
	struct kw_report r;
	const char *text;
	int64_t run = new_run(s), id;
	json_t *j;

	kw_store_candidate_put(s, &c, &err);
	put(s, run, "c1", "T=1", "screen", 7e6, &id, &err);
	put(s, run, "c1", "T=2", "screen", 0, &id, &err);
	is_int(kw_report_load(&r, s, run, &err), KW_OK, "a run that is not over");
	has_str(text_of(&r), "only screened and not proven", "claims nothing");
	kw_report_release(&r);
	put_timed(run, "T=1", "full", 5e6);
	put_timed(run, "T=1", "final", 6e6);
	kw_store_round_put(s, run, &round, &err);
	kw_store_fact_put(s, run, "tune", tune, &err);
	kw_store_run_end(s, run, KW_RUN_CONVERGED, NULL, &err);
	is_int(kw_report_load(&r, s, run, &err), KW_OK, "a run that is over");
	r.run.started_ms += 2 * 3600 * (int64_t)1000;
	has_str(text_of(&r), "in a time that is not known (the clock was set back), begun", "that began after its end");
	r.run.started_ms -= 2 * 3600 * (int64_t)1000;
	text = text_of(&r);
	has_str(text, "run 1: softmax by tune (c, cpu)", "its head");
	has_str(text, "two rounds in a row gained under 5%; 4 evaluations", "why it ended");
	has_str(text, "best: row_softmax: ok", "the best, with its name");
	has_str(text, "naive -O3", "a baseline");
	has_str(text, "[1.5, 2.5]", "the speedup's interval");
	has_str(text, "[5.40 ms, 6.60 ms]", "the time's interval");
	has_str(text, "50% (memory:", "the speed of light with its bound");
	has_str(text, "tuner: row_softmax: space 6, tried 2", "the tuner");
	has_str(text, "best after 1: 7 ms\n", "its curve only falls");
	has_str(text, "pruned); on n=1 best after 1: 7 ms\n  chosen by its mean over 3 cases, 6 ms: n=1 9 ms, n=2 3 ms, n=3 8 ms\n",
		"of several cases: whose times those are, and what decided");
	has_str(text, "  n=1 is fastest with T=2 (7 ms, not 9 ms), n=2 is fastest with T=3 (2.90 ms, not 3 ms); no one point is best for all: "
		      "`define T = n > 1 ? 3 : 2` promises 0.950x of the mean\n",
		"those beyond doubt, and what would have both");
	has_str(text, "verdicts: 3 ok, 1 wrong mismatch", "the counts by class");
	is_int(r.curve_count, 0 + 1, "one better full verdict");
	j = kw_report_json(&r);
	is_str(kw_json_get_str(j, "state", ""), "two rounds in a row gained under 5%", "JSON: the state");
	is_int(kw_json_get_i64(j, "evaluations", 0), 4, "the evaluations");
	is_str(kw_json_get_str(json_object_get(j, "best"), "name", ""), "row_softmax", "the best");
	is_int(json_array_size(json_object_get(j, "verdicts")), 4, "every verdict");
	is_int(json_array_size(json_object_get(j, "rounds")), 1, "the round");
	json_decref(j);
	json_decref(tune);
	kw_report_release(&r);
	is_int(kw_report_load(&r, s, 99, &err), KW_ERR_NOT_FOUND, "no such run");
}

static void test_diff(void)
{
	struct kw_report a, b;
	struct kw_buf out;
	int64_t first = new_run(s), second = new_run(s), third = new_run(s);

	put_timed(first, "", "final", 5e6);
	put_timed(second, "", "final", 5.2e6);
	put_timed(third, "", "final", 10e6);
	kw_buf_init(&out, 1 << 20);
	kw_report_load(&a, s, first, &err);
	kw_report_load(&b, s, second, &err);
	kw_report_diff_text(&a, &b, &out);
	has_str(out.ptr, "no difference", "within the intervals");
	kw_report_release(&b);
	kw_report_load(&b, s, third, &err);
	kw_buf_reset(&out);
	kw_report_diff_text(&a, &b, &out);
	has_str(out.ptr, "2x slower", "beyond them");
	b.best.cases[0].times.cold = false;
	kw_buf_reset(&out);
	kw_report_diff_text(&a, &b, &out);
	has_str(out.ptr, "not comparable", "cold and warm are not compared");
	kw_report_release(&a);
	kw_report_release(&b);
	kw_buf_release(&out);
}

/* With no memory to spare a report fails or is whole; it never lies by leaving something out of JSON. */
static int scenario(void *arg)
{
	struct kw_report r;
	json_t *j = NULL;
	int failed = kw_report_load(&r, s, *(int64_t *)arg, &err) != KW_OK;

	if (failed)
		return 1;
	j = kw_report_json(&r);
	failed = !j;
	json_decref(j);
	kw_report_release(&r);
	return failed;
}

int main(void)
{
	int64_t run = 1;

	if (kw_store_open(temp_file("store"), false, &s, &err) != KW_OK)
		return 1;
	test_table();
	test_run();
	test_diff();
	fails_cleanly("KW_FAIL_ALLOC", 3000, scenario, &run, "report");
	kw_store_close(s);
	return done();
}
