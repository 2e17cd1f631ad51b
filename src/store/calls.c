/* Calls of models: what was asked, what was answered, what it cost. */
#include <string.h>

#include "base/clock.h"
#include "store/db.h"

enum { CALL_MAX_BYTES = 1 << 20 };

static enum kw_status put_text(struct kw_store *s, const char *text, char sha[KW_SHA256_HEX], struct kw_error *err)
{
	kw_sha256_hex(text, strlen(text), sha);
	return kw_db_exec(s, err, "INSERT INTO texts VALUES (?,?) ON CONFLICT DO NOTHING", "zz", sha, text);
}

static enum kw_status put_texts(struct kw_store *s, struct kw_model_call *c, const struct kw_call_texts *t,
				char sha[3][KW_SHA256_HEX], struct kw_error *err)
{
	enum kw_status status = put_text(s, t->prompt ? t->prompt : "", sha[0], err);

	if (status == KW_OK)
		status = put_text(s, t->answer ? t->answer : "", sha[1], err);
	if (status == KW_OK && t->reasoning && t->reasoning[0])
		status = put_text(s, t->reasoning, sha[2], err);
	c->prompt_sha = sha[0];
	c->answer_sha = sha[1];
	c->reasoning_sha = sha[2];
	return status;
}

static enum kw_status put_call(struct kw_store *s, int64_t run_id, const struct kw_model_call *c, struct kw_error *err)
{
	json_t *j = kw_model_call_to_json(c);
	struct kw_buf text;
	enum kw_status status;

	kw_buf_init(&text, CALL_MAX_BYTES);
	status = j ? kw_json_canonical(j, &text, err) : kw_db_no_memory(err);
	if (status == KW_OK)
		status = kw_db_exec(s, err, "INSERT INTO model_calls (run_id, slot, model_call, when_ms) VALUES (?,?,?,?)",
				    "izzi", run_id, c->slot ? c->slot : "", text.ptr, kw_wall_ms());
	json_decref(j);
	kw_buf_release(&text);
	return status;
}

enum kw_status kw_store_model_call_put(struct kw_store *s, int64_t run_id, const struct kw_model_call *c,
				       const struct kw_call_texts *texts, struct kw_error *err)
{
	struct kw_model_call own = *c;
	char sha[3][KW_SHA256_HEX] = { "" };
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	status = kw_run_check_owner(s, run_id, err);
	if (status == KW_OK)
		status = put_texts(s, &own, texts, sha, err);
	if (status == KW_OK)
		status = put_call(s, run_id, &own, err);
	return kw_db_finish(s, status, err);
}

enum kw_status kw_store_model_call_settle(struct kw_store *s, int64_t run_id, const char *slot, const char *outcome, struct kw_error *err)
{
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	status = kw_run_check_owner(s, run_id, err);
	if (status == KW_OK)
		status = kw_db_exec(s, err, "UPDATE model_calls SET id = (SELECT max(id) FROM model_calls) + 1,"
				    " model_call = json_set(model_call, '$.outcome', ?) WHERE run_id = ? AND slot = ?", "ziz", outcome, run_id,
				    slot);
	return kw_db_finish(s, status, err);
}

static enum kw_status read_call(struct kw_query *q, struct kw_arena *a, struct kw_model_call *out, struct kw_error *err)
{
	const char *text = kw_db_text(q, 0, a);
	json_t *j = NULL;
	enum kw_status status;

	if (!text)
		return kw_db_no_memory(err);
	status = kw_json_parse("a stored model call", text, strlen(text), &j, err);
	if (status == KW_OK)
		status = kw_model_call_from_json(out, j, a, err);
	json_decref(j);
	return status;
}

enum kw_status kw_store_text_get(struct kw_store *s, const char *sha, struct kw_arena *a, const char **text,
				 struct kw_error *err)
{
	struct kw_query q;
	bool found = false;
	enum kw_status status = kw_db_query(s, &q, err, "SELECT text FROM texts WHERE sha = ?", "z", sha);

	*text = "";
	if (status == KW_OK)
		status = kw_db_next(&q, &found, err);
	if (status == KW_OK && !found)
		status = kw_fail(err, KW_ERR_NOT_FOUND, s->path, "there is no text %.12s", sha);
	if (status == KW_OK && !(*text = kw_db_text(&q, 0, a)))
		status = kw_db_no_memory(err);
	kw_db_end(&q);
	return status;
}

enum kw_status kw_store_model_call_find(struct kw_store *s, int64_t run_id, const char *slot, struct kw_arena *a,
					struct kw_model_call *out, struct kw_call_texts *texts, bool *found,
					struct kw_error *err)
{
	struct kw_query q;
	enum kw_status status = kw_db_query(s, &q, err, "SELECT model_call FROM model_calls WHERE run_id = ? AND slot = ?"
					    " ORDER BY id LIMIT 1", "iz", run_id, slot);

	*found = false;
	*texts = (struct kw_call_texts){ NULL, "", "" };
	if (status == KW_OK)
		status = kw_db_next(&q, found, err);
	if (status == KW_OK && *found)
		status = read_call(&q, a, out, err);
	kw_db_end(&q);
	if (status == KW_OK && *found)
		status = kw_store_text_get(s, out->answer_sha, a, &texts->answer, err);
	if (status == KW_OK && *found && out->reasoning_sha[0])
		status = kw_store_text_get(s, out->reasoning_sha, a, &texts->reasoning, err);
	return status;
}

enum kw_status kw_store_model_call_list(struct kw_store *s, int64_t run_id, struct kw_arena *a, struct kw_model_call **out,
					size_t *count, struct kw_error *err)
{
	struct kw_query q;
	struct kw_model_call *rows = NULL;
	size_t n = 0;
	bool more = true;
	enum kw_status status = kw_db_query(s, &q, err, "SELECT model_call FROM model_calls WHERE run_id = ? ORDER BY id", "i",
					    run_id);

	while (status == KW_OK) {
		status = kw_db_next(&q, &more, err);
		if (status != KW_OK || !more)
			break;
		rows = kw_db_grow(a, rows, n, sizeof(*rows));
		status = rows ? read_call(&q, a, &rows[n++], err) : kw_db_no_memory(err);
	}
	kw_db_end(&q);
	*out = rows;
	*count = n;
	return status;
}

enum kw_status kw_db_drop_texts(struct kw_store *s, struct kw_error *err)
{
	return kw_db_exec(s, err, "DELETE FROM texts WHERE sha NOT IN"
			  " (SELECT json_extract(model_call, '$.prompt_sha256') FROM model_calls UNION"
			  "  SELECT json_extract(model_call, '$.answer_sha256') FROM model_calls UNION"
			  "  SELECT json_extract(model_call, '$.reasoning_sha256') FROM model_calls)", "");
}
