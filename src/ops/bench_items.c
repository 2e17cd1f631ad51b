/* The items of a benchmark in the store: each is a run of that run, with a fact that says how it ended. */
#include <string.h>

#include "ops/bench_internal.h"

enum kw_status kw_bench_item_find(struct kw_store *s, int64_t parent, const char *key, struct kw_arena *a, int64_t *id,
				  struct kw_error *err)
{
	struct kw_run_row *rows = NULL;
	size_t n = 0;
	enum kw_status status = kw_store_run_items(s, parent, a, &rows, &n, err);

	*id = 0;
	for (size_t i = 0; status == KW_OK && i < n; i++)
		if (strcmp(rows[i].item, key) == 0)
			*id = rows[i].id;
	return status;
}

static bool is_at(const struct kw_error *why, const char *file)
{
	size_t n = file ? strlen(file) : 0;

	return n && strncmp(why->where, file, n) == 0 && (why->where[n] == '\0' || why->where[n] == ':');
}

enum kw_bench_state kw_bench_item_fault(const struct kw_task *t, const struct kw_error *why, enum kw_bench_state other)
{
	bool its = why->status == KW_ERR_INPUT && (is_at(why, t->file) || is_at(why, t->reference_torch) || is_at(why, t->reference_c));

	return its ? KW_BENCH_NO_PROBLEM : other;
}

static json_t *end_json(const struct kw_bench_end *e)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:s, s:s, s:b, s:I, s:I}", "state", kw_bench_state_name(e->state), "text", e->text ? e->text : "",
			 "verdict", (json_int_t)e->verdict_id, "wall_ns", (json_int_t)e->wall_ns, "problem_sha",
			 e->problem_sha ? e->problem_sha : "", "candidate_sha", e->candidate_sha ? e->candidate_sha : "", "again", e->again,
			 "close_compared", (json_int_t)e->close_compared, "not_close", (json_int_t)e->not_close);
}

enum kw_status kw_bench_item_end(struct kw_store *s, int64_t parent, const char *key, const char *name, const struct kw_bench_end *e,
				 struct kw_error *err)
{
	struct kw_run_row row = { .task_name = name, .strategy = KW_BENCH_EVAL, .parent = parent, .item = key };
	struct kw_arena a;
	json_t *fact = end_json(e);
	int64_t id = 0;
	enum kw_status status;

	kw_arena_init(&a, 512 << 20);
	status = fact ? kw_bench_item_find(s, parent, key, &a, &id, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (status == KW_OK && !id)
		status = kw_store_run_new(s, &row, &id, err);
	if (status == KW_OK)
		status = kw_store_run_get(s, id, &a, &row, err);
	if (status == KW_OK)
		status = kw_store_fact_put(s, id, "item", fact, err);
	/* A search has ended its run, and says better how; one that was cut off has not. */
	if (status == KW_OK && kw_run_state_open(row.state)) {
		status = kw_store_run_claim(s, id, err);
		if (status == KW_OK)
			status = kw_store_run_end(s, id, e->state == KW_BENCH_MACHINE ? KW_RUN_FAILED : KW_RUN_DONE, NULL, err);
	}
	json_decref(fact);
	kw_arena_release(&a);
	return status;
}

bool kw_bench_names_triton(const char *text, size_t len)
{
	return len && memmem(text, len, "triton", strlen("triton"));
}
