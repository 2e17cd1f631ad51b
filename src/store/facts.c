/* Tasks by hash, and the facts of runs. */
#include <string.h>

#include "store/db.h"

enum { FACT_MAX_BYTES = 16 << 20 };

enum kw_status kw_db_put_task(struct kw_store *s, const char *sha, const char *name, const char *text,
			      struct kw_error *err)
{
	return kw_db_exec(s, err, "INSERT INTO tasks VALUES (?,?,?) ON CONFLICT DO NOTHING", "zzz", sha,
			  name ? name : "", text);
}

enum kw_status kw_store_task_put(struct kw_store *s, const char *sha256, const char *name,
				 const char *text, struct kw_error *err)
{
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	return kw_db_finish(s, kw_db_put_task(s, sha256, name, text, err), err);
}

enum kw_status kw_store_task_get(struct kw_store *s, const char *sha256, struct kw_arena *a,
				 const char **name, const char **text, struct kw_error *err)
{
	struct kw_query q;
	bool more = false;
	enum kw_status status = kw_db_query(s, &q, err, "SELECT name, text FROM tasks WHERE sha = ?",
					    "z", sha256);

	if (status == KW_OK)
		status = kw_db_next(&q, &more, err);
	if (status == KW_OK && !more)
		status = kw_fail(err, KW_ERR_NOT_FOUND, s->path, "there is no task %.12s", sha256);
	if (status == KW_OK) {
		*name = kw_db_text(&q, 0, a);
		*text = kw_db_text(&q, 1, a);
		if (!*name || !*text)
			status = kw_db_no_memory(err);
	}
	kw_db_end(&q);
	return status;
}

enum kw_status kw_store_fact_put(struct kw_store *s, int64_t run_id, const char *name,
				 const json_t *fact, struct kw_error *err)
{
	struct kw_buf text;
	enum kw_status status;

	kw_buf_init(&text, FACT_MAX_BYTES);
	status = fact ? kw_json_canonical(fact, &text, err) : kw_db_no_memory(err);
	if (status == KW_OK)
		status = kw_db_begin(s, err);
	if (status == KW_OK) {
		status = kw_run_check_free(s, run_id, err);
		if (status == KW_OK)
			status = kw_db_exec(s, err, "INSERT OR REPLACE INTO facts VALUES (?,?,?)",
					    "izz", run_id, name, text.ptr);
		status = kw_db_finish(s, status, err);
	}
	kw_buf_release(&text);
	return status;
}

enum kw_status kw_store_fact_get(struct kw_store *s, int64_t run_id, const char *name, json_t **fact,
				 struct kw_error *err)
{
	struct kw_query q;
	bool more = false;
	enum kw_status status = kw_db_query(s, &q, err,
					    "SELECT fact FROM facts WHERE run_id = ? AND name = ?",
					    "iz", run_id, name);

	*fact = NULL;
	if (status == KW_OK)
		status = kw_db_next(&q, &more, err);
	if (status == KW_OK && more)
		status = kw_json_parse(s->path, (const char *)sqlite3_column_text(q.st, 0),
				       (size_t)sqlite3_column_bytes(q.st, 0), fact, err);
	kw_db_end(&q);
	return status;
}
