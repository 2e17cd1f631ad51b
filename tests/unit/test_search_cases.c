/* Reported cases that are about our own arithmetic and counting (tests/cases/B01, E09). */
#include "tap.h"
#include "search_world.h"

#include "base/json.h"

static const char *top(void)
{
	return getenv("KW_TOP") ? getenv("KW_TOP") : ".";
}

/* B01: [320, 2560, 3072]: the offset of the last matrix does not fit 32 bits. */
static void test_offsets(void)
{
	struct kw_view v = { .dtype = KW_F32, .shape = { 3, { 320, 2560, 3072 } } };
	struct kw_shape huge = { 4, { 1ll << 31, 1ll << 31, 2, 2 } };
	struct kw_intenv_var vars[] = { { "batch", 319 }, { "rows", 2560 }, { "cols", 3072 } };
	struct kw_intenv env = { vars, 3, NULL };
	struct kw_intexpr *e = NULL;
	struct kw_error err = { 0 };
	struct kw_arena a;
	int64_t value = 0, index[KW_MAX_RANK];

	kw_arena_init(&a, 1 << 20);
	kw_shape_contiguous(&v.shape, v.stride);
	is_int(v.stride[0], 7864320, "the stride of a matrix");
	is_int(319 * v.stride[0], 2508718080, "the offset of the last");
	is_int(kw_view_extent(&v), 320ll * 2560 * 3072, "the extent");
	kw_shape_unravel(&v.shape, 2508718080, index);
	ok(index[0] == 319 && index[1] == 0 && index[2] == 0, "back to coordinates");
	is_int(kw_shape_count(&huge), -1, "a count beyond 64 bits is told, not wrapped");
	is_int(kw_intexpr_parse(KW_STR("batch * rows * cols"), "plan", 1, 1, &a, &e, &err), KW_OK, "a plan expression");
	is_int(kw_intexpr_eval(e, &env, &value, &err), KW_OK, "evaluates");
	is_int(value, 2508718080, "in 64 bits");
	is_int(kw_intexpr_parse(KW_STR("batch * 9000000000000000000"), "plan", 1, 1, &a, &e, &err), KW_OK, "another");
	ok(kw_intexpr_eval(e, &env, &value, &err) != KW_OK, "overflow is an error");
	kw_arena_release(&a);
}

/* E09: records are replayed as verdicts; a round's number is spent by failed ones too. */
static int replay(struct kw_store *s, int64_t run, const json_t *state, struct kw_arena *a)
{
	const json_t *records = json_object_get(state, "records");
	struct kw_error err = { 0 };
	int stored = 0;

	for (size_t i = 0; i < json_array_size(records); i++) {
		const json_t *r = json_array_get(records, i);
		struct kw_round round = { .index = (int)kw_json_get_i64(r, "gen", 0), .step = "x" };
		struct kw_verdict v;
		int64_t id;

		kw_store_round_put(s, run, &round, &err);
		if (strcmp(kw_json_get_str(r, "status", ""), "done") != 0)
			continue;
		kw_verdict_init(&v);
		v.tune = kw_arena_printf(a, "STEP=%zu", i);
		memset(v.candidate_sha, 'a', KW_SHA256_HEX - 1);
		stored += kw_store_verdict_put(s, run, round.index, "screen", &v, &id, &err) == KW_OK;
		kw_verdict_release(&v);
	}
	return stored;
}

static void test_resume_counts(void)
{
	struct world w;
	struct kw_store *s = NULL;
	struct kw_error err = { 0 };
	struct kw_run_row row;
	struct kw_search_result r;
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .strategy = "tune" };
	json_t *state = NULL;
	char *text = NULL;
	size_t len = 0;
	char path[PATH_MAX];

	world_init(&w, "");
	snprintf(path, sizeof(path), "%s/tests/cases/E09-resume-counts-records/state.json", top());
	ok(kw_file_read_arena(path, 1 << 20, &w.arena, &text, &len, &err) == KW_OK &&
		   kw_json_parse(path, text, len, &state, &err) == KW_OK, "state.json is read");
	o.budget.max_evaluations = (int)kw_json_get_i64(state, "target", 0);
	is_int(o.budget.max_evaluations, 50, "50 are wanted");
	is_int(kw_store_open(temp_file("e09"), false, &s, &err), KW_OK, "a store");
	row = (struct kw_run_row){ .task_name = w.task.name, .task_text = w.task.text, .task_sha = w.task.sha256,
				   .backend = "c", .device = "cpu", .strategy = "tune", .options = "{}" };
	kw_store_run_new(s, &row, &o.resume_run, &err);
	is_int(kw_store_run_claim(s, o.resume_run, &err), KW_OK, "a run");
	is_int(replay(s, o.resume_run, state, &w.arena), 46, "46 are done");
	kw_store_run_get(s, o.resume_run, &w.arena, &row, &err);
	is_int(row.evaluations, 46, "and counted as 46, though the highest number is 49");
	world_add(&w, "a", "//@ tune STEP in {1, 2, 4, 8, 16, 32, 64, 128} default 1\n//! per STEP 16 100");
	is_int(kw_search_run_with(&w.ports, &w.task, NULL, &o, s, NULL, &r, &err), KW_OK, "resumed");
	is_int(w.calls, 4, "4 remain");
	is_int(r.state, KW_RUN_BUDGET, "then the budget is spent");
	kw_search_result_release(&r);
	kw_store_close(s);
	json_decref(state);
	world_release(&w);
}

int main(void)
{
	test_offsets();
	test_resume_counts();
	return done();
}
