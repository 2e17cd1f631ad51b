/* Building ahead: what the judge will build, once, and never what a resumed run has judged. */
#include "tap.h"
#include "search_world.h"

#include "judge/judge.h"
#include "search/ahead.h"

static enum kw_status run(struct world *w, struct kw_store *store, int64_t resume, int evaluations,
			  struct kw_search_result *out)
{
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .strategy = "tune", .resume_run = resume,
				    .budget.max_evaluations = evaluations };
	struct kw_error err = { 0 };

	w->calls = w->ahead_count = w->batches = 0;
	return kw_search_run_with(&w->ports, &w->task, NULL, &o, store, NULL, out, &err);
}

static void init(struct world *w)
{
	world_init(w, "");
	w->ports.build_ahead = world_build_ahead;
	w->hardware.units = 2;
	world_add(w, "slow", "//! ns 3000");
	world_add(w, "good", "//@ tune STEP in {1, 2, 4, 8, 16, 32, 64, 128} default 1\n//! ns 900\n//! per STEP 16 50");
}

static bool all_once(const struct world *w)
{
	for (int i = 0; i < w->ahead_count; i++)
		for (int k = 0; k < i; k++)
			if (strcmp(w->ahead[i], w->ahead[k]) == 0)
				return false;
	return true;
}

static struct kw_store *open_store(const char *name)
{
	struct kw_store *s = NULL;
	struct kw_error err = { 0 };

	if (kw_store_open(temp_file(name), false, &s, &err) != KW_OK)
		diag("%s", err.text);
	return s;
}

static void test_whole_run(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_store *s = open_store("whole");

	init(&w);
	is_int(run(&w, s, 0, 0, &r), KW_OK, "a run");
	is_int(w.ahead_count, 2 + 7, "both defaults, then every other point");
	is_int(w.batches, 1 + 2, "in batches of four");
	ok(all_once(&w), "each once");
	kw_search_result_release(&r);
	w.no_cache = true;
	is_int(run(&w, s, 0, 0, &r), KW_OK, "a run without a build cache");
	is_int(w.batches, 2, "sees that nothing is found again, and stops building ahead");
	is_int(r.tunes[0].tried, 8, "and tries every point");
	kw_search_result_release(&r);
	w.no_cache = false;
	is_int(run(&w, s, 0, 4, &r), KW_OK, "four evaluations");
	is_int(w.ahead_count, 2 + 2, "no more is built than the budget can judge");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

/* What goes on is built for each further case, whose defines may be other ones; for the first it was. */
static void test_several_cases(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_store *s = open_store("several");

	world_init_cases(&w, "", "{ n: 1024 }, { n: 64 }, { n: 8 }");
	w.ports.build_ahead = world_build_ahead;
	w.hardware.units = 2;
	world_add(&w, "good", "//@ tune STEP in {1, 2, 4, 8, 16, 32, 64, 128} default 1\n//! ns 900\n//! per STEP 16 50");
	is_int(run(&w, s, 0, 0, &r), KW_OK, "a run over three cases");
	is_int(w.ahead_count, 7 + 2 * 3, "every point but the default, then three for each further case");
	ok(all_once(&w), "each once");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

static void test_resumed(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_store *s = open_store("resumed");
	int64_t id;

	init(&w);
	w.fail_at = 5;
	run(&w, s, 0, 0, &r);
	id = r.run_id;
	kw_search_result_release(&r);
	w.fail_at = 0;
	is_int(run(&w, s, id, 0, &r), KW_OK, "resumed after four verdicts");
	is_int(w.ahead_count, 5, "builds the other five ahead");
	ok(all_once(&w), "each once");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

/* The key of the cache is the judge's: what was built ahead it does not build again. */
static void test_judge_finds_it(void)
{
	static const char source[] = "//@ kernel k args=(x, y, n:i64)\n//@ tune STEP in {1, 2, 3} default 1\n"
				     "//@ define VEC = x.align >= 128 ? 2 : 1\n//@ define WIDE = n % 8 == 0 ? 8 : 1\n"
				     "void k(const float *x, float *y, int64_t n)\n{\n"
				     "\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = x[i] + 0 * (VEC + WIDE + STEP);\n}\n";
	static int64_t values[3] = { 1, 2, 3 };
	const struct kw_candidate *list[2];
	struct kw_candidate c[3];
	struct kw_judge *judge = NULL;
	struct kw_judge_opts o;
	struct kw_hardware hw;
	struct kw_expr *e = NULL;
	struct kw_error err = { 0 };
	struct world w;

	world_init(&w, "");
	setenv("XDG_CACHE_HOME", temp_file("cache"), 1);
	for (int i = 0; i < 3; i++) {
		if (kw_candidate_from_text(&c[i], "k.c", "c", source, strlen(source), &w.task, &w.arena, &err) != KW_OK)
			diag("%s", err.text);
		c[i].tune_values = &values[i];
	}
	list[0] = &c[0];
	list[1] = &c[1];
	if (kw_expr_parse(&w.task, &w.arena, &e, &err) != KW_OK || kw_judge_new("cpu", &judge, &err) != KW_OK)
		diag("%s", err.text);
	hw = kw_judge_device(judge)->hardware;
	hw.units = 2; /* with one nothing is built ahead */
	kw_ahead_build(list, 2, &w.task, -1, &hw, false, NULL);
	kw_judge_opts_default(&o, KW_EFFORT_SCREEN);
	for (int i = 0; i < 3; i++) {
		struct kw_verdict v;

		kw_verdict_init(&v);
		is_int(kw_judge_eval(judge, &w.task, e, &c[i], &o, &v, &err), KW_OK, "STEP=%d is judged", i + 1);
		is_int(v.cls, KW_V_OK, "it is right");
		is_int(v.build_cached, i < 2, "STEP=%d: %s", i + 1, i < 2 ? "found" : "not built ahead, so not found");
		kw_verdict_release(&v);
	}
	kw_judge_free(judge);
	world_release(&w);
}

int main(void)
{
	test_whole_run();
	test_several_cases();
	test_resumed();
	test_judge_finds_it();
	return done();
}
