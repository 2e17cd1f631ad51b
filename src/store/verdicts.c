/* Candidates, verdicts with their chained records, and what hangs on them. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "store/db.h"

enum { RECORD_MAX_BYTES = 64 << 20 };

enum kw_status kw_store_candidate_put(struct kw_store *s, const struct kw_candidate *c,
				      struct kw_error *err)
{
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	status = kw_db_exec(s, err,
			    "INSERT INTO candidates (sha, name, backend, origin, source)"
			    " VALUES (?,?,?,?,?) ON CONFLICT DO NOTHING", "zzzzb", c->sha256,
			    c->name ? c->name : "", c->backend ? c->backend : "",
			    c->origin ? c->origin : "", c->source_len ? c->source : "", c->source_len);
	return kw_db_finish(s, status, err);
}

enum kw_status kw_store_candidate_get(struct kw_store *s, const char *sha256, struct kw_arena *a,
				      const char **source, size_t *len, const char **backend,
				      const char **name, struct kw_error *err)
{
	struct kw_query q;
	bool more = false;
	enum kw_status status = kw_db_query(s, &q, err,
					    "SELECT source, backend, name FROM candidates"
					    " WHERE sha = ?", "z", sha256);

	if (status == KW_OK)
		status = kw_db_next(&q, &more, err);
	if (status == KW_OK && !more)
		status = kw_fail(err, KW_ERR_NOT_FOUND, s->path, "there is no candidate %.12s",
				 sha256);
	if (status == KW_OK) {
		*source = kw_db_text(&q, 0, a);
		*len = (size_t)sqlite3_column_bytes(q.st, 0);
		*backend = kw_db_text(&q, 1, a);
		*name = kw_db_text(&q, 2, a);
		if (!*source || !*backend || !*name)
			status = kw_db_no_memory(err);
	}
	kw_db_end(&q);
	return status;
}

/* Geometric mean of the medians of the timed cases; 0 when none was timed. */
static double mean_ns(const struct kw_verdict *v)
{
	double logs = 0, last = 0;
	int n = 0;

	for (size_t i = 0; i < v->case_count; i++) {
		const struct kw_case_result *c = &v->cases[i];

		if (!c->perf || !c->has_times || !(c->times.median_ns > 0))
			continue;
		last = c->times.median_ns;
		logs += log(last);
		n++;
	}
	return n > 1 ? exp(logs / n) : last; /* one case: to the last bit */
}

static enum kw_status last_link(struct kw_store *s, char sha[KW_SHA256_HEX], struct kw_error *err)
{
	struct kw_query q;
	bool more = false;
	enum kw_status status = kw_db_query(s, &q, err,
					    "SELECT sha FROM chain ORDER BY seq DESC LIMIT 1", "");

	sha[0] = '\0';
	if (status == KW_OK)
		status = kw_db_next(&q, &more, err);
	if (status == KW_OK && more && sqlite3_column_bytes(q.st, 0) == KW_SHA256_HEX - 1)
		memcpy(sha, sqlite3_column_text(q.st, 0), KW_SHA256_HEX);
	kw_db_end(&q);
	return status;
}

static enum kw_status insert_verdict(struct kw_store *s, int64_t run_id, int round,
				     const char *effort, const struct kw_verdict *v,
				     const char *record, const char *sha, int64_t *id,
				     struct kw_error *err)
{
	enum kw_status status;

	status = kw_db_exec(s, err,
			    "INSERT INTO verdicts (run_id, round, effort, task_name, candidate_sha,"
			    " tune, class, subclass, summary, median_ns, speedup, sol, when_ms, record,"
			    " sha) VALUES (nullif(?,0),?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
			    "iizzzzzzzdddizz", run_id, (int64_t)round, effort ? effort : "",
			    v->task_name ? v->task_name : "", v->candidate_sha, v->tune ? v->tune : "",
			    kw_verdict_name(v->cls), kw_subclass_name(v->subclass), v->summary,
			    mean_ns(v), v->geomean_speedup, v->geomean_sol,
			    v->when_ms ? v->when_ms : kw_wall_ms(), record, sha);
	*id = sqlite3_last_insert_rowid(s->db);
	return status;
}

enum kw_status kw_store_verdict_put(struct kw_store *s, int64_t run_id, int round,
				    const char *effort, const struct kw_verdict *v, int64_t *id,
				    struct kw_error *err)
{
	char prev[KW_SHA256_HEX];
	const char *sha;
	struct kw_buf text;
	json_t *record = NULL;
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	kw_buf_init(&text, RECORD_MAX_BYTES);
	if (run_id)
		status = kw_run_check_owner(s, run_id, err);
	if (status == KW_OK)
		status = last_link(s, prev, err);
	if (status == KW_OK && !(record = kw_verdict_record(v, prev)))
		status = kw_db_no_memory(err);
	if (status == KW_OK)
		status = kw_json_canonical(record, &text, err);
	sha = kw_json_get_str(record, "sha256", "");
	if (status == KW_OK)
		status = insert_verdict(s, run_id, round, effort, v, text.ptr, sha, id, err);
	if (status == KW_OK)
		status = kw_db_exec(s, err,
				    "INSERT INTO chain (verdict_id, prev_sha, sha) VALUES (?,?,?)",
				    "izz", *id, prev, sha);
	status = kw_db_finish(s, status, err);
	json_decref(record);
	kw_buf_release(&text);
	return status;
}

/* record, sha: columns, or "''": what stands behind a record is on other pages of the file, which a list has no need to read. */
#define VERDICT_COLUMNS(record, sha) \
	"SELECT v.id, ifnull(v.run_id, 0), v.round, v.candidate_sha, ifnull(c.name, ''), v.tune," \
	" v.class, v.subclass, v.summary, v.median_ns, v.speedup, v.sol, v.when_ms," \
	" v.effort, v.task_name, " record ", " sha " FROM verdicts v"
#define AND_CANDIDATE " LEFT JOIN candidates c INDEXED BY candidates_names ON c.sha = v.candidate_sha"
#define WHOLE_VERDICT VERDICT_COLUMNS("v.record", "v.sha")

static bool read_verdict(struct kw_query *q, struct kw_arena *a, struct kw_verdict_row *r)
{
	r->id = kw_db_i64(q, 0);
	r->run_id = kw_db_i64(q, 1);
	r->round = (int)kw_db_i64(q, 2);
	r->candidate_sha = kw_db_text(q, 3, a);
	r->candidate_name = kw_db_text(q, 4, a);
	r->tune = kw_db_text(q, 5, a);
	r->cls = kw_db_text(q, 6, a);
	r->subclass = kw_db_text(q, 7, a);
	r->summary = kw_db_text(q, 8, a);
	r->median_ns = kw_db_f64(q, 9);
	r->speedup = kw_db_f64(q, 10);
	r->sol = kw_db_f64(q, 11);
	r->when_ms = kw_db_i64(q, 12);
	r->effort = kw_db_text(q, 13, a);
	r->task_name = kw_db_text(q, 14, a);
	r->record = kw_db_text(q, 15, a);
	r->sha = kw_db_text(q, 16, a);
	return r->candidate_sha && r->candidate_name && r->tune && r->cls && r->subclass &&
	       r->summary && r->record && r->effort && r->task_name && r->sha;
}

enum kw_status kw_store_verdict_list(struct kw_store *s, int64_t run_id, struct kw_arena *a,
				     struct kw_verdict_row **out, size_t *count,
				     struct kw_error *err)
{
	struct kw_query q;
	struct kw_verdict_row *rows = NULL;
	size_t n = 0;
	bool more = true;
	enum kw_status status = kw_db_query(s, &q, err,
					    VERDICT_COLUMNS("''", "''") AND_CANDIDATE " WHERE v.run_id IS nullif(?, 0)"
							    " ORDER BY v.id", "i", run_id);

	while (status == KW_OK) {
		status = kw_db_next(&q, &more, err);
		if (status != KW_OK || !more)
			break;
		rows = kw_db_grow(a, rows, n, sizeof(*rows));
		if (!rows || !read_verdict(&q, a, &rows[n++]))
			status = kw_db_no_memory(err);
	}
	kw_db_end(&q);
	*out = rows;
	*count = n;
	return status;
}

/* The first row of a bound query; ends it. */
static enum kw_status first_verdict(struct kw_query *q, struct kw_arena *a,
				    struct kw_verdict_row *out, bool *found, struct kw_error *err)
{
	enum kw_status status = kw_db_next(q, found, err);

	if (status == KW_OK && *found && !read_verdict(q, a, out))
		status = kw_db_no_memory(err);
	kw_db_end(q);
	return status;
}

enum kw_status kw_store_verdict_get(struct kw_store *s, int64_t id, struct kw_arena *a,
				    struct kw_verdict_row *out, struct kw_error *err)
{
	struct kw_query q;
	bool found = false;
	enum kw_status status = kw_db_query(s, &q, err, WHOLE_VERDICT AND_CANDIDATE " WHERE v.id = ?", "i", id);

	if (status == KW_OK)
		status = first_verdict(&q, a, out, &found, err);
	if (status == KW_OK && !found)
		status = kw_fail(err, KW_ERR_NOT_FOUND, s->path, "there is no verdict %lld",
				 (long long)id);
	return status;
}

enum kw_status kw_store_verdict_find(struct kw_store *s, int64_t run_id, const char *candidate_sha,
				     const char *tune, const char *effort, struct kw_arena *a,
				     struct kw_verdict_row *out, bool *found, struct kw_error *err)
{
	struct kw_query q;
	enum kw_status status = kw_db_query(s, &q, err,
					    WHOLE_VERDICT " INDEXED BY verdicts_run" AND_CANDIDATE " WHERE v.run_id IS nullif(?, 0)"
					    " AND v.candidate_sha = ? AND v.tune = ? AND v.effort = ?"
					    " ORDER BY v.id DESC LIMIT 1", "izzz", run_id,
					    candidate_sha, tune ? tune : "", effort);

	*found = false;
	return status == KW_OK ? first_verdict(&q, a, out, found, err) : status;
}

enum kw_status kw_store_verdict_counts(struct kw_store *s, int64_t run_id, struct kw_arena *a, struct kw_verdict_count **out,
				       size_t *count, struct kw_error *err)
{
	struct kw_query q;
	struct kw_verdict_count *rows = NULL;
	size_t n = 0;
	bool more = true;
	enum kw_status status = kw_db_query(s, &q, err,
					    "SELECT class, subclass, count(*) FROM verdicts WHERE run_id = ?"
					    " OR run_id IN (SELECT id FROM runs WHERE parent = ?)"
					    " GROUP BY class, subclass ORDER BY count(*) DESC, class, subclass", "ii", run_id, run_id);

	while (status == KW_OK) {
		status = kw_db_next(&q, &more, err);
		if (status != KW_OK || !more)
			break;
		rows = kw_db_grow(a, rows, n, sizeof(*rows));
		if (!rows) {
			status = kw_db_no_memory(err);
			break;
		}
		rows[n] = (struct kw_verdict_count){ kw_db_text(&q, 0, a), kw_db_text(&q, 1, a), kw_db_i64(&q, 2) };
		if (!rows[n].cls || !rows[n].subclass)
			status = kw_db_no_memory(err);
		n++;
	}
	kw_db_end(&q);
	*out = rows;
	*count = n;
	return status;
}

/* One JSON text into a table whose first column is its owner. */
static enum kw_status put_json(struct kw_store *s, const char *sql, int64_t owner,
			       const json_t *j, struct kw_error *err)
{
	struct kw_buf text;
	enum kw_status status = KW_OK;

	kw_buf_init(&text, RECORD_MAX_BYTES);
	status = j ? kw_json_canonical(j, &text, err) : kw_db_no_memory(err);
	if (status == KW_OK)
		status = kw_db_begin(s, err);
	if (status == KW_OK) {
		status = kw_db_exec(s, err, sql, "izi", owner, text.ptr, kw_wall_ms());
		status = kw_db_finish(s, status, err);
	}
	kw_buf_release(&text);
	return status;
}

enum kw_status kw_store_finding_put(struct kw_store *s, int64_t verdict_id,
				    const struct kw_finding *f, struct kw_error *err)
{
	json_t *j = kw_finding_to_json(f);
	enum kw_status status = put_json(s, "INSERT INTO findings (verdict_id, finding, when_ms)"
					    " VALUES (?,?,?)", verdict_id, j, err);

	json_decref(j);
	return status;
}

enum kw_status kw_store_profile_put(struct kw_store *s, int64_t verdict_id, const json_t *profile,
				    struct kw_error *err)
{
	return put_json(s, "INSERT INTO profiles (verdict_id, profile, when_ms) VALUES (?,?,?)",
			verdict_id, profile, err);
}

enum kw_status kw_store_texts(struct kw_store *s, enum kw_store_text what, int64_t owner,
			      struct kw_arena *a, const char ***out, size_t *count,
			      struct kw_error *err)
{
	static const char *const sql[] = {
		[KW_TEXT_FINDINGS] = "SELECT finding FROM findings WHERE verdict_id = ? ORDER BY id",
		[KW_TEXT_PROFILES] = "SELECT profile FROM profiles WHERE verdict_id = ? ORDER BY id",
		[KW_TEXT_MODEL_CALLS] = "SELECT model_call FROM model_calls WHERE run_id = ? ORDER BY id",
	};
	struct kw_query q;
	const char **rows = NULL;
	size_t n = 0;
	bool more = true;
	enum kw_status status = kw_db_query(s, &q, err, sql[what], "i", owner);

	while (status == KW_OK) {
		status = kw_db_next(&q, &more, err);
		if (status != KW_OK || !more)
			break;
		rows = kw_db_grow(a, rows, n, sizeof(*rows));
		if (!rows || !(rows[n++] = kw_db_text(&q, 0, a)))
			status = kw_db_no_memory(err);
	}
	kw_db_end(&q);
	*out = rows;
	*count = n;
	return status;
}
