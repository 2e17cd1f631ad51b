/* Budgets: a run that is cut off anywhere proves the best that it knows, or has no best; resumed, it ends as it would have
 * ended. Against a made-up machine. */
#include "tap.h"
#include "search_world.h"

#include "base/clock.h"

static const int64_t MS = 1000000;

static int serial;

static struct kw_store *open_store(void)
{
	struct kw_store *s = NULL;
	struct kw_error err = { 0 };
	char name[32];

	snprintf(name, sizeof(name), "store%d", ++serial);
	if (kw_store_open(temp_file(name), false, &s, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	return s;
}

static enum kw_status run(struct world *w, struct kw_store *store, int64_t resume, struct kw_budget b,
			  struct kw_search_result *out, struct kw_error *err)
{
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .strategy = "tune", .resume_run = resume, .budget = b };

	w->calls = w->screens = w->fulls = w->finals = 0;
	return kw_search_run_with(&w->ports, &w->task, NULL, &o, store, NULL, out, err);
}

/* Three kernels: the fastest at its default is wrong at its best point, and the last one wins once it is tuned. */
static void add_three(struct world *w)
{
	world_add(w, "plain", "//! ns 2000");
	world_add(w, "first", "//@ tune STEP in {4, 8, 16, 32} default 4\n//! ns 900\n//! per STEP 16 400\n//! wrong STEP 8");
	world_add(w, "last", "//@ tune STEP in {2, 4, 8, 16} default 2\n//! ns 700\n//! per STEP 8 600");
}

static const char two_cases[] = "{ n: 1024 }, { n: 64 }";

/* Two whose best points over both cases are not those of the first. */
static void add_two(struct world *w)
{
	world_add(w, "first", "//@ tune STEP in {4, 8, 16, 32} default 4\n//! ns 900\n//! per@1 STEP 16 100\n//! per@2 STEP 8 300");
	world_add(w, "last", "//@ tune STEP in {2, 4, 8, 16, 32} default 2\n//! ns 700\n//! per@1 STEP 32 60\n//! per@2 STEP 2 90\n"
			     "//! wrong@2 STEP 16");
}

static void init_for(struct world *w, bool several)
{
	world_init_cases(w, "", several ? two_cases : "{ n: 1024 }");
	if (several)
		add_two(w);
	else
		add_three(w);
}

/* The best verdict of the store, which reports show. */
static bool stored_best(struct kw_store *s, int64_t run_id, struct kw_verdict_row *v)
{
	static struct kw_arena a;
	struct kw_run_row row;
	struct kw_error err = { 0 };

	kw_arena_release(&a);
	kw_arena_init(&a, 16 << 20);
	return kw_store_run_get(s, run_id, &a, &row, &err) == KW_OK && row.best_verdict_id &&
	       kw_store_verdict_get(s, row.best_verdict_id, &a, v, &err) == KW_OK;
}

/* Whatever the budget: the best is proven, and it is the best of the store too. */
static void is_proven(const struct world *w, struct kw_store *s, const struct kw_search_result *r, const char *what)
{
	struct kw_verdict_row v = { 0 };
	bool found = stored_best(s, r->run_id, &v);

	ok(r->has_best == found, "%s: the store has a best if the run has one", what);
	if (r->has_best)
		ok(found && strcmp(v.effort, "final") == 0 && strcmp(v.candidate_sha, r->best.sha256) == 0 && w->finals > 0,
		   "%s: it is proven (%s, %s)", what, r->best.name, found ? v.effort : "none");
	ok(r->list.count >= 1 && r->has_best == (r->list.entries[0].candidate_sha[0] != '\0'),
	   "%s: so is the head of the list", what);
}

static void test_evaluations(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	double before = 1e9;

	world_init(&w, "");
	add_three(&w);
	for (int n = 1; n <= 16; n++) {
		struct kw_store *s = open_store();
		char what[64];

		snprintf(what, sizeof(what), "%d evaluations", n);
		is_int(run(&w, s, 0, (struct kw_budget){ .max_evaluations = n }, &r, &err), KW_OK, "%s", what);
		is_proven(&w, s, &r, what);
		ok(r.has_best, "%s: there is a best", what);
		ok(r.evaluations <= (n > 1 ? n : 2), "%s: not one more (%d)", what, r.evaluations);
		ok(kw_search_mean_ns(&r.verdict) <= before, "%s: more budget is no worse (%.0f)", what,
		   kw_search_mean_ns(&r.verdict));
		before = kw_search_mean_ns(&r.verdict);
		kw_search_result_release(&r);
		kw_store_close(s);
	}
	ok(before < 701.0, "sixteen find the fastest point");
	world_release(&w);
}

/* A budget that is spent while nothing was right yet proves nothing, and says so. */
static void test_nothing_right(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };

	world_init(&w, "");
	world_add(&w, "bad", "//! verdict wrong/nan");
	world_add(&w, "worse", "//! verdict runtime_error/crash");
	world_add(&w, "good", "//! ns 900");
	for (int n = 1; n <= 4; n++) {
		struct kw_store *s = open_store();

		run(&w, s, 0, (struct kw_budget){ .max_evaluations = n }, &r, &err);
		is_proven(&w, s, &r, "two wrong ones first");
		ok(r.has_best == (n > 2), "%d evaluations: the third is the first to be right", n);
		is_int(r.state, KW_RUN_BUDGET, "the budget is spent");
		kw_search_result_release(&r);
		kw_store_close(s);
	}
	world_release(&w);
}

/* What the final check refuses is no best, and the next one is checked, whatever the budget says. */
static void test_refused(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };

	world_init(&w, "");
	world_add(&w, "liar", "//@ tune STEP in {4, 8, 16, 32} default 4\n//! ns 500\n//! per STEP 16 100\n"
			      "//! final cheat/hard_coded");
	world_add(&w, "fails", "//! ns 600\n//! final wrong/nan");
	world_add(&w, "honest", "//! ns 800");
	for (int n = 1; n <= 12; n++) {
		struct kw_store *s = open_store();
		char what[64];

		snprintf(what, sizeof(what), "%d, two that are refused", n);
		run(&w, s, 0, (struct kw_budget){ .max_evaluations = n }, &r, &err);
		is_proven(&w, s, &r, what);
		ok(!r.has_best || strcmp(r.best.name, "honest") == 0, "%s: not handed over", what);
		ok(n < 4 || r.has_best, "%s: the third is, once it was screened", what);
		ok(r.has_best || r.reason_count > 1, "%s: or the reasons are told", what);
		kw_search_result_release(&r);
		kw_store_close(s);
	}
	world_release(&w);
}

static void test_time(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };

	world_init(&w, "");
	add_three(&w);
	w.takes_ns = 2 * MS;
	for (int ms = 1; ms <= 64; ms *= 2) {
		struct kw_store *s = open_store();
		char what[64];

		snprintf(what, sizeof(what), "%d ms", ms);
		is_int(run(&w, s, 0, (struct kw_budget){ .max_wall_ns = (int64_t)ms * MS }, &r, &err), KW_OK, "%s", what);
		is_proven(&w, s, &r, what);
		ok(r.has_best || w.screens == 0, "%s: what was right is proven (%d screened)", what, w.screens);
		ok(r.state == KW_RUN_BUDGET || r.state == KW_RUN_EXHAUSTED || r.state == KW_RUN_CONVERGED,
		   "%s: ends by its budget, or is done (%s)", what, kw_run_state_text(r.state));
		kw_search_result_release(&r);
		kw_store_close(s);
	}
	world_release(&w);
}

/* How much of a budget of time is kept for its end, how long its judgements may time, and what is said where it was not kept to. */
static void test_end(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store();
	json_t *time = NULL;

	is_int(kw_search_proof_room_ns(60000 * MS, 0), 10000 * MS, "nobody knows how long the final check will take: 10 s");
	is_int(kw_search_proof_room_ns(6000 * MS, 0), 3000 * MS, "and half of a short budget");
	is_int(kw_search_proof_room_ns(60000 * MS, 2000 * MS), 4000 * MS, "then twice a judgement in full");
	is_int(kw_search_proof_room_ns(6000 * MS, 5000 * MS), 3000 * MS, "at most half");
	world_init(&w, "");
	add_three(&w);
	run(&w, s, 0, (struct kw_budget){ 0 }, &r, &err);
	ok(w.finals && w.limits_ns[KW_EFFORT_FULL] == 0 && w.limits_ns[KW_EFFORT_FINAL] == 0, "no budget: timing takes what it wants");
	kw_store_fact_get(s, r.run_id, "time", &time, &err);
	ok(time && !json_object_get(time, "beyond_ns"), "and goes beyond nothing");
	json_decref(time);
	kw_search_result_release(&r);
	run(&w, s, 0, (struct kw_budget){ .max_wall_ns = 60000 * MS }, &r, &err);
	ok(w.fulls && w.limits_ns[KW_EFFORT_FULL] == 0 && w.limits_ns[KW_EFFORT_FINAL] == 0, "nor does a long one say how long");
	kw_search_result_release(&r);
	run(&w, s, 0, (struct kw_budget){ .max_wall_ns = 12000 * MS }, &r, &err);
	is_int(w.limits_ns[KW_EFFORT_FULL], 750 * MS, "a short one: a sixteenth for a judgement in full");
	is_int(w.limits_ns[KW_EFFORT_FINAL], 1500 * MS, "an eighth for the final check");
	kw_search_result_release(&r);
	w.takes_ns = 15 * MS;
	run(&w, s, 0, (struct kw_budget){ .max_wall_ns = 20 * MS }, &r, &err);
	time = NULL;
	kw_store_fact_get(s, r.run_id, "time", &time, &err);
	ok(r.has_best && r.state == KW_RUN_BUDGET, "20 ms are enough for one look and its proof");
	is_int(kw_json_get_i64(time, "budget_ns", 0), 20 * MS, "which were not kept to");
	ok(kw_json_get_i64(time, "beyond_ns", 0) >= 10 * MS, "by what the proof took longer");
	json_decref(time);
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

/* Rounds are a budget too. */
static void test_rounds(void)
{
	struct world w;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store();

	world_init(&w, "");
	add_three(&w);
	run(&w, s, 0, (struct kw_budget){ .max_rounds = 1 }, &r, &err);
	is_proven(&w, s, &r, "one round");
	is_int(r.round_count, 1, "is one");
	kw_search_result_release(&r);
	kw_store_close(s);
	world_release(&w);
}

/* For each budget, a fault of the machine at each evaluation in turn, also in the final check: the resumed run has judged as
 * much and ends as the one that ran through. */
static void test_resumed(bool several)
{
	struct world w;
	struct kw_search_result whole, r;
	struct kw_error err = { 0 };

	init_for(&w, several);
	for (int n = 1; n <= (several ? 30 : 12); n++) {
		struct kw_budget b = { .max_evaluations = n };
		struct kw_store *s = open_store();
		int64_t id;
		int calls, same = 0;

		run(&w, s, 0, b, &whole, &err);
		calls = w.calls;
		kw_store_close(s);
		for (int at = 1; at <= calls; at++) {
			s = open_store();
			w.fail_at = at;
			run(&w, s, 0, b, &r, &err);
			id = r.run_id;
			kw_search_result_release(&r);
			w.fail_at = 0;
			/* Twice: a run that is over stays what it is. */
			for (int again = 0; again < 2; again++) {
				bool good = run(&w, s, id, b, &r, &err) == KW_OK && r.state == whole.state &&
					    w.calls == (again ? 0 : calls - at + 1) && r.evaluations == calls &&
					    r.has_best == whole.has_best && r.round_count == whole.round_count &&
					    strcmp(r.best.sha256, whole.best.sha256) == 0 &&
					    strcmp(r.list.entries[0].tune, whole.list.entries[0].tune) == 0;

				same += good;
				if (!good)
					diag("failed at %d, again %d: %d of %d calls, %s, best %s %s", at, again, w.calls, calls,
					     kw_run_state_text(r.state), r.best.name, r.list.entries[0].tune);
				kw_search_result_release(&r);
			}
			kw_store_close(s);
		}
		is_int(same, 2 * calls, "budget of %d: resumed after a fault at each of %d evaluations, the same end", n, calls);
		kw_search_result_release(&whole);
	}
	world_release(&w);
}

/* Another budget for a run that spent its own: it ends as if it had had that one from the start. */
static void test_more(void)
{
	struct world w;
	struct kw_search_result whole, r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store();
	int64_t id;

	world_init(&w, "");
	add_three(&w);
	run(&w, s, 0, (struct kw_budget){ 0 }, &whole, &err);
	run(&w, s, 0, (struct kw_budget){ .max_evaluations = 5 }, &r, &err);
	id = r.run_id;
	ok(strcmp(r.best.name, whole.best.name) != 0 || strcmp(r.list.entries[0].tune, whole.list.entries[0].tune) != 0,
	   "a small budget finds something else");
	kw_search_result_release(&r);
	is_int(run(&w, s, id, (struct kw_budget){ .max_evaluations = 100 }, &r, &err), KW_OK, "resumed with a larger one");
	is_str(r.best.name, whole.best.name, "finds the same kernel");
	is_str(r.list.entries[0].tune, whole.list.entries[0].tune, "at the same point");
	is_int(r.state, whole.state, "and ends alike");
	kw_search_result_release(&r);
	kw_search_result_release(&whole);
	kw_store_close(s);
	world_release(&w);
}

/* In a child: the flag of an interrupt stays for the life of a process. */
static void interrupted_child(const char *store_dir, int at, bool several)
{
	struct world w;
	struct kw_store *s = NULL;
	struct kw_search_result r;
	struct kw_error err = { 0 };
	bool good;

	kw_interrupt_install();
	init_for(&w, several);
	w.interrupt_at = at;
	good = kw_store_open(store_dir, false, &s, &err) == KW_OK &&
	       run(&w, s, 0, (struct kw_budget){ 0 }, &r, &err) == KW_ERR_INTERRUPTED && r.run_id == 1 &&
	       r.evaluations == at && !r.has_best;
	kw_search_result_release(&r);
	kw_store_close(s);
	_exit(good ? 0 : 1);
}

static void test_interrupted(bool several)
{
	struct world w;
	struct kw_search_result whole, r;
	struct kw_error err = { 0 };
	struct kw_store *s = open_store();
	int calls, same = 0, kept = 0;

	init_for(&w, several);
	run(&w, s, 0, (struct kw_budget){ 0 }, &whole, &err);
	calls = w.calls;
	kw_store_close(s);
	for (int at = 1; at < calls; at++) {
		char name[32];
		const char *dir;
		int status = 0;
		pid_t pid;

		snprintf(name, sizeof(name), "int%d-%d", several, at);
		dir = temp_file(name);
		fflush(stdout);
		pid = fork();
		if (pid == 0)
			interrupted_child(dir, at, several);
		waitpid(pid, &status, 0);
		kept += WIFEXITED(status) && WEXITSTATUS(status) == 0;
		if (kw_store_open(dir, false, &s, &err) != KW_OK)
			diag("%s", err.text);
		same += run(&w, s, 1, (struct kw_budget){ 0 }, &r, &err) == KW_OK && w.calls == calls - at &&
			r.state == whole.state && strcmp(r.best.sha256, whole.best.sha256) == 0 &&
			strcmp(r.list.entries[0].tune, whole.list.entries[0].tune) == 0;
		kw_search_result_release(&r);
		kw_store_close(s);
	}
	is_int(kept, calls - 1, "interrupted after each verdict: it is kept");
	is_int(same, calls - 1, "resumed, it ends as if nothing had been");
	kw_search_result_release(&whole);
	world_release(&w);
}

/* The tuner alone: its last word is the judgement in full. */
static void test_tune_alone(void)
{
	struct world w;
	struct kw_error err = { 0 };

	world_init(&w, "");
	world_add(&w, "k", "//@ tune STEP in {4, 8, 16, 32, 64} default 4\n//! ns 900\n//! per STEP 16 400\n//! wrong STEP 8");
	world_add(&w, "bad", "//@ tune STEP in {4, 8} default 4\n//! verdict wrong/nan");
	world_add(&w, "plain", "//! verdict wrong/nan");
	for (int n = 0; n <= 9; n++) {
		struct kw_store *s = open_store();
		struct kw_search_opts o = { .backend = "c", .device = "cpu", .budget.max_evaluations = n };
		struct kw_run_row row = { .task_name = "t", .strategy = "tune FILE", .options = "{}" };
		struct kw_tune_result r;
		struct kw_verdict_row v = { 0 };
		int64_t id = 0;

		w.calls = w.fulls = 0;
		kw_store_run_new(s, &row, &id, &err);
		is_int(kw_tune_run_with(&w.ports, &w.task, NULL, &w.proposals[0].candidate, &o, s, id, &w.arena, &r, &err), KW_OK,
		       "tuned alone, %d evaluations", n);
		ok(r.right && w.fulls == 1, "%d: the best point is judged in full", n);
		ok(n == 0 || w.calls <= (n > 1 ? n : 2), "%d: not one more (%d)", n, w.calls);
		is_int(r.state, n == 0 || n > 8 ? KW_RUN_EXHAUSTED : KW_RUN_BUDGET, "%d: why it ended", n);
		kw_store_run_end(s, id, r.state, NULL, &err);
		ok(stored_best(s, id, &v) && strcmp(v.effort, "full") == 0, "%d: and is the best of the store", n);
		w.calls = 0;
		kw_store_run_new(s, &row, &id, &err);
		kw_tune_run_with(&w.ports, &w.task, NULL, &w.proposals[1 + n % 2].candidate, &o, s, id, &w.arena, &r, &err);
		ok(!r.right && r.state == (n == 1 && w.calls == 1 ? KW_RUN_BUDGET : KW_RUN_NO_CORRECT),
		   "%d: a wrong one has no best (%s)", n, kw_run_state_text(r.state));
		kw_store_run_end(s, id, r.state, NULL, &err);
		ok(!stored_best(s, id, &v), "%d: neither in the store", n);
		kw_store_close(s);
	}
	world_release(&w);
}

int main(void)
{
	test_evaluations();
	test_nothing_right();
	test_refused();
	test_time();
	test_end();
	test_rounds();
	test_resumed(false);
	test_resumed(true);
	test_more();
	test_interrupted(false);
	test_interrupted(true);
	test_tune_alone();
	return done();
}
