/* Runs: rows, owners, rounds, results. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/db.h"
#include "store/owner.h"

enum { UNKNOWN_OWNER_MS = 10 * 60 * 1000 }; /* silence after which another host's run is free */

static const char *const state_names[] = {
#define X(e, text) #e,
	KW_RUN_STATE_LIST(X)
#undef X
};

static enum kw_run_state state_from(const char *name)
{
	for (int i = 0; i < KW_RUN_STATE_COUNT; i++)
		if (strcmp(name, state_names[i]) == 0)
			return (enum kw_run_state)i;
	return KW_RUN_FAILED;
}

enum kw_status kw_store_run_new(struct kw_store *s, const struct kw_run_row *r, int64_t *id,
				struct kw_error *err)
{
	struct kw_owner me;
	int64_t now = kw_wall_ms();
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	kw_owner_self(&me);
	status = kw_db_exec(s, err,
			    "INSERT INTO runs (task_name, task_text, task_sha, backend, device,"
			    " strategy, options, state, started_ms, pid, pid_start, host, boot, beat_ms,"
			    " parent, item)"
			    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,nullif(?,0),?)", "zzzzzzzziiizziiz",
			    r->task_name, r->task_text ? r->task_text : "",
			    r->task_sha ? r->task_sha : "", r->backend ? r->backend : "",
			    r->device ? r->device : "", r->strategy ? r->strategy : "",
			    r->options ? r->options : "{}", state_names[KW_RUN_RUNNING], now, me.pid,
			    me.pid_start, me.host, me.boot, now, r->parent,
			    r->item ? r->item : "");
	*id = sqlite3_last_insert_rowid(s->db);
	if (status == KW_OK && r->task_sha && r->task_text)
		status = kw_db_put_task(s, r->task_sha, r->task_name, r->task_text, err);
	return kw_db_finish(s, status, err);
}

static enum kw_status no_run(struct kw_store *s, int64_t id, struct kw_error *err)
{
	return kw_fail(err, KW_ERR_NOT_FOUND, s->path, "there is no run %lld", (long long)id);
}

static enum kw_status read_owner(struct kw_store *s, int64_t id, struct kw_owner *o,
				 int64_t *beat_ms, struct kw_error *err)
{
	struct kw_query q;
	struct kw_arena a;
	bool more = false;
	enum kw_status status;

	memset(o, 0, sizeof(*o));
	kw_arena_init(&a, 1 << 16);
	status = kw_db_query(s, &q, err,
			     "SELECT pid, pid_start, beat_ms, host, boot FROM runs WHERE id = ?", "i",
			     id);
	if (status == KW_OK)
		status = kw_db_next(&q, &more, err);
	if (status == KW_OK && more) {
		const char *host = kw_db_text(&q, 3, &a), *boot = kw_db_text(&q, 4, &a);

		o->pid = kw_db_i64(&q, 0);
		o->pid_start = kw_db_i64(&q, 1);
		*beat_ms = kw_db_i64(&q, 2);
		snprintf(o->host, sizeof(o->host), "%s", host ? host : "");
		snprintf(o->boot, sizeof(o->boot), "%s", boot ? boot : "");
	}
	kw_db_end(&q);
	kw_arena_release(&a);
	return status == KW_OK && !more ? no_run(s, id, err) : status;
}

/* KW_OK when the run is ours or free to take. */
enum kw_status kw_run_check_free(struct kw_store *s, int64_t id, struct kw_error *err)
{
	struct kw_owner owner, me;
	int64_t beat_ms = 0, silent_ms;
	enum kw_status status = read_owner(s, id, &owner, &beat_ms, err);

	if (status != KW_OK)
		return status;
	kw_owner_self(&me);
	switch (kw_owner_state(&owner, &me)) {
	case KW_OWNER_ALIVE:
		return kw_fail(err, KW_ERR_STORE, s->path, "run %lld is being run by process %lld",
			       (long long)id, (long long)owner.pid);
	case KW_OWNER_UNKNOWN:
		silent_ms = kw_wall_ms() - beat_ms;
		if (silent_ms >= UNKNOWN_OWNER_MS)
			return KW_OK;
		return kw_fail(err, KW_ERR_STORE, s->path,
			       "run %lld is being run by process %lld of %s, which gave a sign of life "
			       "%lld s ago; it is free after %d s of silence",
			       (long long)id, (long long)owner.pid, owner.host,
			       (long long)(silent_ms / 1000), UNKNOWN_OWNER_MS / 1000);
	default:
		return KW_OK;
	}
}

enum kw_status kw_store_run_claim(struct kw_store *s, int64_t id, struct kw_error *err)
{
	struct kw_owner me;
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	kw_owner_self(&me);
	status = kw_run_check_free(s, id, err);
	if (status == KW_OK)
		status = kw_db_exec(s, err,
				    "UPDATE runs SET pid = ?, pid_start = ?, host = ?, boot = ?,"
				    " beat_ms = ?, state = ?, ended_ms = 0 WHERE id = ?", "iizzizi",
				    me.pid, me.pid_start, me.host, me.boot, kw_wall_ms(),
				    state_names[KW_RUN_RUNNING], id);
	return kw_db_finish(s, status, err);
}

/* Inside a transaction, before anything is added to a run: it must be ours still. */
enum kw_status kw_run_check_owner(struct kw_store *s, int64_t id, struct kw_error *err)
{
	struct kw_owner owner, me;
	int64_t beat_ms;
	enum kw_status status = read_owner(s, id, &owner, &beat_ms, err);

	if (status != KW_OK)
		return status;
	kw_owner_self(&me);
	if (!kw_owner_is(&owner, &me))
		return kw_fail(err, KW_ERR_STORE, s->path,
			       "run %lld belongs to process %lld of %s now, not to this one",
			       (long long)id, (long long)owner.pid, owner.host);
	return kw_db_exec(s, err, "UPDATE runs SET beat_ms = ? WHERE id = ?", "ii", kw_wall_ms(), id);
}

enum kw_status kw_store_run_end(struct kw_store *s, int64_t id, enum kw_run_state state,
				const struct kw_result_list *result, struct kw_error *err)
{
	struct kw_buf text;
	json_t *j = result ? kw_result_list_to_json(result) : NULL;
	enum kw_status status = KW_OK;

	kw_buf_init(&text, 16 << 20);
	if (result)
		status = j ? kw_json_canonical(j, &text, err) : kw_db_no_memory(err);
	if (status == KW_OK)
		status = kw_db_begin(s, err);
	if (status == KW_OK) {
		status = kw_run_check_owner(s, id, err);
		if (status == KW_OK)
			status = kw_db_exec(s, err,
					    "UPDATE runs SET state = ?, ended_ms = ?, pid = 0,"
					    " pid_start = 0, host = '', boot = '', result = ?"
					    " WHERE id = ?", "zizi", state_names[state], kw_wall_ms(),
					    result ? text.ptr : NULL, id);
		status = kw_db_finish(s, status, err);
	}
	kw_buf_release(&text);
	json_decref(j);
	return status;
}

/* The best verdict of a run: right, by the most thorough effort that there is; of those that were proven the one that heads
 * the result, else the fastest. A point that was refused by any effort is none, and of a run that is over neither is one
 * that was only screened. A look at another case than the first ('@' in its label) has a time that is not to be compared. */
#define BEST(what) \
	"(SELECT v." what " FROM verdicts v JOIN runs r ON r.id = v.run_id" \
	" WHERE v.run_id = runs.id AND v.class = 'ok' AND v.median_ns > 0" \
	" AND (v.effort NOT LIKE 'screen%' OR r.state IN ('RUNNING', 'INTERRUPTED', 'FAILED'))" \
	" AND NOT EXISTS (SELECT 1 FROM verdicts w INDEXED BY verdicts_run WHERE w.run_id = v.run_id" \
	" AND w.candidate_sha = v.candidate_sha AND w.class NOT IN ('ok', 'not_applicable')" \
	" AND (w.tune = v.tune OR w.class = 'cheat'))" \
	" ORDER BY CASE v.effort WHEN 'final' THEN 0 WHEN 'full' THEN 1" \
	" ELSE 2 + (instr(v.effort, '@') > 0) END," \
	" ifnull(v.candidate_sha = json_extract(r.result, '$[0].candidate')" \
	" AND v.tune = json_extract(r.result, '$[0].tune'), 0) DESC, v.median_ns, v.id LIMIT 1)"
#define RUN_COLUMNS \
	"SELECT id, task_name, task_text, task_sha, backend, device, strategy, options, state," \
	" started_ms, ended_ms, pid, host," \
	" (SELECT count(*) FROM verdicts v WHERE v.run_id = runs.id" \
	" OR v.run_id IN (SELECT i.id FROM runs i WHERE i.parent = runs.id))," \
	" " BEST("id") ", " BEST("median_ns") ", " BEST("speedup") \
	", ifnull(parent, 0), item, pid_start, boot FROM runs"

static bool is_gone(struct kw_query *q, const struct kw_run_row *r, const char *boot)
{
	struct kw_owner owner = { .pid = r->pid, .pid_start = kw_db_i64(q, 19) }, me;
	enum kw_owner_state state;

	snprintf(owner.host, sizeof(owner.host), "%s", r->host);
	snprintf(owner.boot, sizeof(owner.boot), "%s", boot);
	kw_owner_self(&me);
	state = kw_owner_state(&owner, &me);
	return state == KW_OWNER_DEAD || state == KW_OWNER_NONE;
}

static bool read_run(struct kw_query *q, struct kw_arena *a, struct kw_run_row *r)
{
	const char *state = kw_db_text(q, 8, a), *boot = kw_db_text(q, 20, a);

	r->id = kw_db_i64(q, 0);
	r->task_name = kw_db_text(q, 1, a);
	r->task_text = kw_db_text(q, 2, a);
	r->task_sha = kw_db_text(q, 3, a);
	r->backend = kw_db_text(q, 4, a);
	r->device = kw_db_text(q, 5, a);
	r->strategy = kw_db_text(q, 6, a);
	r->options = kw_db_text(q, 7, a);
	r->started_ms = kw_db_i64(q, 9);
	r->ended_ms = kw_db_i64(q, 10);
	r->pid = kw_db_i64(q, 11);
	r->host = kw_db_text(q, 12, a);
	r->evaluations = (int)kw_db_i64(q, 13);
	r->best_verdict_id = kw_db_i64(q, 14);
	r->best_ns = kw_db_f64(q, 15);
	r->best_speedup = kw_db_f64(q, 16);
	r->parent = kw_db_i64(q, 17);
	r->item = kw_db_text(q, 18, a);
	if (!state || !r->task_name || !r->task_text || !r->task_sha || !r->backend || !r->device ||
	    !r->strategy || !r->options || !r->host || !r->item)
		return false;
	r->state = state_from(state);
	r->killed = r->state == KW_RUN_RUNNING && is_gone(q, r, boot ? boot : "");
	return true;
}

enum kw_status kw_store_run_get(struct kw_store *s, int64_t id, struct kw_arena *a,
				struct kw_run_row *out, struct kw_error *err)
{
	struct kw_query q;
	bool more = false;
	enum kw_status status = kw_db_query(s, &q, err, RUN_COLUMNS " WHERE id = ?", "i", id);

	if (status == KW_OK)
		status = kw_db_next(&q, &more, err);
	if (status == KW_OK && !more)
		status = no_run(s, id, err);
	if (status == KW_OK && !read_run(&q, a, out))
		status = kw_db_no_memory(err);
	kw_db_end(&q);
	return status;
}

static enum kw_status read_runs(struct kw_query *q, struct kw_arena *a, struct kw_run_row **out, size_t *count,
				struct kw_error *err)
{
	struct kw_run_row *rows = NULL;
	size_t n = 0;
	bool more = true;
	enum kw_status status = KW_OK;

	while (status == KW_OK) {
		status = kw_db_next(q, &more, err);
		if (status != KW_OK || !more)
			break;
		rows = kw_db_grow(a, rows, n, sizeof(*rows));
		if (!rows || !read_run(q, a, &rows[n++]))
			status = kw_db_no_memory(err);
	}
	*out = rows;
	*count = n;
	return status;
}

enum kw_status kw_store_run_list(struct kw_store *s, struct kw_arena *a, struct kw_run_row **out,
				 size_t *count, struct kw_error *err)
{
	struct kw_query q;
	enum kw_status status = kw_db_query(s, &q, err, RUN_COLUMNS " WHERE parent IS NULL ORDER BY id", "");

	*count = 0;
	if (status == KW_OK)
		status = read_runs(&q, a, out, count, err);
	kw_db_end(&q);
	return status;
}

enum kw_status kw_store_run_items(struct kw_store *s, int64_t parent, struct kw_arena *a, struct kw_run_row **out,
				  size_t *count, struct kw_error *err)
{
	struct kw_query q;
	enum kw_status status = kw_db_query(s, &q, err, RUN_COLUMNS " WHERE parent = ? ORDER BY id", "i", parent);

	*count = 0;
	if (status == KW_OK)
		status = read_runs(&q, a, out, count, err);
	kw_db_end(&q);
	return status;
}

enum kw_status kw_store_run_find(struct kw_store *s, const char *strategy, const char *task_sha, int64_t *id,
				 struct kw_error *err)
{
	bool found;

	*id = 0;
	return kw_db_one_i64(s, err, id, &found,
			     "SELECT id FROM runs WHERE strategy = ? AND task_sha = ? ORDER BY id DESC LIMIT 1", "zz",
			     strategy, task_sha);
}

enum kw_status kw_store_run_remove(struct kw_store *s, int64_t id, struct kw_error *err)
{
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	status = kw_run_check_free(s, id, err);
	if (status == KW_OK)
		status = kw_db_exec(s, err, "DELETE FROM runs WHERE id = ?", "i", id);
	/* Candidates that only this run knew. */
	if (status == KW_OK)
		status = kw_db_exec(s, err,
				    "DELETE FROM candidates WHERE sha NOT IN"
				    " (SELECT candidate_sha FROM verdicts)", "");
	if (status == KW_OK)
		status = kw_db_drop_texts(s, err);
	return kw_db_finish(s, status, err);
}

enum kw_status kw_store_run_result(struct kw_store *s, int64_t id, struct kw_arena *a,
				   struct kw_result_list *out, struct kw_error *err)
{
	struct kw_query q;
	bool more = false;
	json_t *j = NULL;
	const char *text = NULL;
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	status = kw_db_query(s, &q, err, "SELECT result FROM runs WHERE id = ?", "i", id);
	if (status == KW_OK)
		status = kw_db_next(&q, &more, err);
	if (status == KW_OK && !more)
		status = no_run(s, id, err);
	if (status == KW_OK && !(text = kw_db_text(&q, 0, a)))
		status = kw_db_no_memory(err);
	kw_db_end(&q);
	if (status == KW_OK && text[0]) {
		status = kw_json_parse(s->path, text, strlen(text), &j, err);
		if (status == KW_OK)
			status = kw_result_list_from_json(out, j, a, err);
		json_decref(j);
	}
	return status;
}

enum kw_status kw_store_round_put(struct kw_store *s, int64_t run_id, const struct kw_round *r,
				  struct kw_error *err)
{
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	status = kw_run_check_owner(s, run_id, err);
	if (status == KW_OK)
		status = kw_db_exec(s, err, "INSERT OR REPLACE INTO rounds VALUES (?,?,?,?,?,?,?,?)",
				    "iizidddd", run_id, (int64_t)r->index, r->step ? r->step : "",
				    (int64_t)r->evaluations, r->best_ns_before, r->best_ns_after, r->predicted,
				    r->measured_ns);
	return kw_db_finish(s, status, err);
}

enum kw_status kw_store_round_list(struct kw_store *s, int64_t run_id, struct kw_arena *a,
				   struct kw_round **out, size_t *count, struct kw_error *err)
{
	struct kw_query q;
	struct kw_round *rows = NULL;
	size_t n = 0;
	bool more = true;
	enum kw_status status = kw_db_query(s, &q, err,
					    "SELECT number, step, evaluations, best_ns_before,"
					    " best_ns_after, predicted, measured_ns FROM rounds WHERE run_id = ?"
					    " ORDER BY number", "i", run_id);

	while (status == KW_OK) {
		status = kw_db_next(&q, &more, err);
		if (status != KW_OK || !more)
			break;
		rows = kw_db_grow(a, rows, n, sizeof(*rows));
		if (!rows) {
			status = kw_db_no_memory(err);
			break;
		}
		rows[n].index = (int)kw_db_i64(&q, 0);
		rows[n].step = kw_db_text(&q, 1, a);
		rows[n].evaluations = (int)kw_db_i64(&q, 2);
		rows[n].best_ns_before = kw_db_f64(&q, 3);
		rows[n].best_ns_after = kw_db_f64(&q, 4);
		rows[n].predicted = kw_db_f64(&q, 5);
		rows[n].measured_ns = kw_db_f64(&q, 6);
		if (!rows[n++].step)
			status = kw_db_no_memory(err);
	}
	kw_db_end(&q);
	*out = rows;
	*count = n;
	return status;
}
