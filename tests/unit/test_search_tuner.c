/* Tune spaces and successive halving: against a made-up machine. */
#include "tap.h"
#include "search_world.h"

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
	test_perf_case();
	test_known_winner();
	kw_store_close(store);
	kw_store_close(memory);
	return done();
}
