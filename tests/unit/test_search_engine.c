/* Rounds, stop rules, resume, hand-over: against a made-up machine. */
#include "tap.h"
#include "search_world.h"

#include "base/clock.h"

static struct kw_store *open_store(const char *name)
{
	struct kw_store *s = NULL;
	struct kw_error err = { 0 };

	if (kw_store_open(temp_file(name), false, &s, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	return s;
}

static enum kw_status run(struct world *w, struct kw_store *store, int64_t resume, const struct kw_budget *b,
			  struct kw_search_result *out, struct kw_error *err)
{
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .strategy = "tune", .resume_run = resume };

	if (b)
		o.budget = *b;
	return kw_search_run_with(&w->ports, &w->task, NULL, &o, store, NULL, out, err);
}

static void test_best(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("best");
	struct kw_run_row row;

	world_init(&w, "");
	world_add(&w, "slow", "//! ns 3000");
	world_add(&w, "good", "//@ tune STEP in {4, 8, 16, 32} default 4\n//! ns 900\n//! per STEP 16 400");
	world_add(&w, "bad", "//! verdict wrong/nan");
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "the run ends well");
	is_int(r.state, KW_RUN_EXHAUSTED, "nothing left");
	ok(r.has_best, "there is a best");
	is_str(r.best.name, "good", "the fastest is the best");
	is_int(r.best.tune_values ? r.best.tune_values[0] : 0, 16, "at its best point");
	is_int(r.list.count, 2, "the list: it and the baseline");
	is_str(r.list.entries[0].tune, "STEP=16", "the point is in the list");
	is_str(r.list.entries[1].candidate_sha, "", "the baseline is the last");
	is_int(r.round_count, 2, "two rounds: the wrong one is screened out");
	is_str(r.rounds[0].step, "good", "the faster default first");
	is_int(r.tune_count, 1, "one was tuned");
	is_int(r.tunes[0].space, 4, "its space");
	is_int(r.tunes[0].tried, 4, "all points tried");
	ok(r.tunes[0].curve_count >= 2, "a curve");
	is_int(r.reason_count, 2, "reasons: the author's and the wrong one");
	has_str(r.reasons[1], "bad: wrong/nan", "says why");
	is_int(w.finals, 1, "one final check");
	is_int(kw_store_run_get(s, r.run_id, &w.arena, &row, &err), KW_OK, "the store has the run");
	is_int(row.state, KW_RUN_EXHAUSTED, "and its state");
	is_int(row.evaluations, r.evaluations, "and all verdicts");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

static void test_states(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("states");
	struct kw_budget b = { .max_evaluations = 5 };

	world_init(&w, "");
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "no proposals");
	is_int(r.state, KW_RUN_NO_PATTERN, "is no pattern");
	is_int(r.list.count, 1, "the list is the baseline");
	kw_search_result_release(&r);
	world_add(&w, "bad", "//! verdict runtime_error/crash");
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "only a wrong one");
	is_int(r.state, KW_RUN_NO_CORRECT, "none was right");
	ok(!r.has_best, "no best");
	kw_search_result_release(&r);
	world_add(&w, "good", "//@ tune STEP in {1, 2, 4, 8, 16, 32} default 4\n//! per STEP 16 400");
	is_int(run(&w, s, 0, &b, &r, &err), KW_OK, "five evaluations");
	is_int(r.state, KW_RUN_BUDGET, "budget spent");
	is_int(r.evaluations, 5, "not one more");
	ok(r.has_best && w.finals == 1, "the last of them is the final check");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

static void test_goal_and_convergence(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("goal");

	world_init(&w, "goal: { speedup: 5 }\n");
	world_add(&w, "a", "//! ns 1000");
	world_add(&w, "b", "//! ns 1010");
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "a goal");
	is_int(r.state, KW_RUN_GOAL, "is met");
	is_int(r.round_count, 1, "in the first round");
	kw_search_result_release(&r);
	world_release(&w);
	world_init(&w, "goal: { speedup: 50 }\n");
	world_add(&w, "a", "//! ns 1000");
	world_add(&w, "b", "//! ns 1010");
	world_add(&w, "c", "//! ns 1020");
	world_add(&w, "d", "//! ns 1030");
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "a goal too high");
	is_int(r.state, KW_RUN_CONVERGED, "two rounds in a row gained nothing");
	is_int(r.round_count, 3, "the first gains, two do not");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

/* The order of the patterns, and which are hopeless, is decided by all cases too. */
static void test_patterns_over_cases(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("cases");

	world_init_cases(&w, "", "{ n: 1024 }, { n: 8 }");
	world_add(&w, "narrow", "//! ns@1 100000\n//! ns@2 900");
	world_add(&w, "even", "//! ns@1 110000\n//! ns@2 100");
	world_add(&w, "far", "//! ns@1 900000\n//! ns@2 1");
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "three patterns, two cases");
	is_str(r.rounds[0].step, "even", "the best over both is the first");
	is_str(r.best.name, "even", "and wins");
	is_int(r.round_count, 2, "the next is not hopeless for being slow where the best is slow as well");
	is_int(w.looks[1], 2, "what is far behind on the first case is not looked at on the other");
	has_str(r.reasons[1], "far: not tuned, its default point takes 8.2 times as long", "and is hopeless by that case");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

static void test_fallback(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("fallback");

	world_init(&w, "");
	world_add(&w, "liar", "//! ns 500\n//! final cheat/hard_coded");
	world_add(&w, "honest", "//! ns 800");
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "the fastest is refused at the end");
	is_str(r.best.name, "honest", "the next best is handed over");
	is_int(w.finals, 2, "two final checks");
	has_str(r.reasons[r.reason_count - 1], "cheat/hard_coded", "the reason names it");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

/* A proposal that is there for want of others is looked at where they are all wrong, and only there. */
static void test_last(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("last");

	world_init(&w, "");
	world_add(&w, "made_for_it", "//! ns 900");
	world_add(&w, "any", "//! ns 500");
	w.proposals[1].last = true;
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "one is made for it");
	is_str(r.best.name, "made_for_it", "the other is not looked at");
	is_int(w.screens, 1, "nor screened");
	kw_search_result_release(&r);
	world_release(&w);
	world_init(&w, "");
	world_add(&w, "made_for_it", "//! verdict wrong/mismatch");
	world_add(&w, "any", "//! ns 500");
	w.proposals[1].last = true;
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "the one that is made for it is wrong");
	is_str(r.best.name, "any", "then it is what there is");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

static void test_require(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("require");

	world_init(&w, "");
	world_add(&w, "narrow", "//@ require n % 8 == 0\n//@ require n > 16\n//! ns 500");
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "a kernel with require lines");
	is_str(r.list.entries[0].require, "(n % 8 == 0) && (n > 16)", "they are in the list");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

/* A fault of the machine at the n-th evaluation, then a resume: what was judged is not judged again. */
static void test_resume(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	int whole;

	world_init(&w, "");
	world_add(&w, "a", "//@ tune STEP in {4, 8, 16, 32} default 4\n//! ns 900\n//! per STEP 16 400");
	world_add(&w, "b", "//! ns 1500");
	struct kw_store *s = open_store("whole");
	is_int(run(&w, s, 0, NULL, &r, &err), KW_OK, "the whole run");
	whole = w.calls;
	kw_search_result_release(&r);
	kw_store_close(s);
	for (int at = 1; at <= whole; at++) {
		char name[32];
		int64_t id;

		snprintf(name, sizeof(name), "resume%d", at);
		s = open_store(name);
		w.calls = 0;
		w.fail_at = at;
		if (run(&w, s, 0, NULL, &r, &err) != KW_ERR_IO)
			ok(false, "the fault at %d is told", at);
		id = r.run_id;
		kw_search_result_release(&r);
		w.fail_at = 0;
		w.calls = 0;
		enum kw_status status = run(&w, s, id, NULL, &r, &err);
		ok(status == KW_OK && w.calls == whole - at + 1 && r.evaluations == whole && r.has_best &&
			   strcmp(r.best.name, "a") == 0 && r.best.tune_values[0] == 16,
		   "failed at %d of %d, resumed: %d more", at, whole, w.calls);
		if (status != KW_OK)
			diag("%s", err.text);
		kw_search_result_release(&r);
		kw_store_close(s);
	}
	world_release(&w);
}

static void test_resume_refused(void)
{
	struct world w, other;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("refused");
	int64_t id;

	world_init(&w, "");
	world_init(&other, "goal: { sol: 0.5 }\n");
	world_add(&w, "a", "//! ns 900");
	run(&w, s, 0, NULL, &r, &err);
	id = r.run_id;
	kw_search_result_release(&r);
	is_int(run(&other, s, id, NULL, &r, &err), KW_ERR_INPUT, "another task's text");
	has_str(err.text, "another text of task world", "is named");
	kw_search_result_release(&r);
	is_int(run(&w, s, 999, NULL, &r, &err), KW_ERR_NOT_FOUND, "no such run");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
	world_release(&other);
}

/* In a child: the flag of an interrupt stays for the life of a process. */
static int interrupted_child(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("interrupt");
	struct kw_run_row row;
	bool good;

	kw_interrupt_install();
	world_init(&w, "");
	world_add(&w, "a", "//@ tune STEP in {4, 8, 16, 32} default 4\n//! ns 900\n//! per STEP 16 400");
	w.interrupt_at = 3;
	good = run(&w, s, 0, NULL, &r, &err) == KW_ERR_INTERRUPTED && r.state == KW_RUN_INTERRUPTED && w.calls == 3 &&
	       kw_store_run_get(s, r.run_id, &w.arena, &row, &err) == KW_OK && row.state == KW_RUN_INTERRUPTED &&
	       row.evaluations == 3;
	return good ? 0 : 1;
}

static void test_interrupt(void)
{
	int status = 0;
	pid_t pid;

	temp_dir();
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(interrupted_child());
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "an interrupt: three verdicts kept, state interrupted");
}

static void count_lines(void *arg, const struct kw_progress *p)
{
	int *lines = arg;

	lines[0]++;
	if (p->left_ns > 0 && p->rate_per_s > 0.0)
		lines[1]++;
	if (p->evaluation > p->planned)
		lines[2]++;
}

static void test_progress(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store("progress");
	int lines[3] = { 0 };
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .strategy = "tune", .progress = count_lines,
				    .progress_arg = lines };

	world_init(&w, "");
	world_add(&w, "a", "//@ tune STEP in {4, 8, 16, 32} default 4\n//! ns 900\n//! per STEP 16 400");
	is_int(kw_search_run_with(&w.ports, &w.task, NULL, &o, s, NULL, &r, &err), KW_OK, "with progress");
	ok(lines[0] >= 2 * r.evaluations, "two lines an evaluation");
	ok(lines[1] > 0, "with rate and time left");
	is_int(lines[2], 0, "never past what was planned");
	kw_search_result_release(&r);
	o.strategy = "magic";
	is_int(kw_search_run_with(&w.ports, &w.task, NULL, &o, s, NULL, &r, &err), KW_ERR_USAGE, "unknown strategy");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

int main(void)
{
	test_best();
	test_states();
	test_goal_and_convergence();
	test_patterns_over_cases();
	test_fallback();
	test_last();
	test_require();
	test_resume();
	test_resume_refused();
	test_interrupt();
	test_progress();
	return done();
}
