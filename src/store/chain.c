/* The chain of records: each holds the hash of the one before, over the whole store. */
#include <string.h>

#include "store/db.h"

/* Whether a record's own hash is that of its canonical text without the hash. */
enum kw_status kw_record_check(const json_t *record, bool *good, struct kw_error *err)
{
	char sha[KW_SHA256_HEX];
	const char *claimed = kw_json_get_str(record, "sha256", "");
	struct kw_buf text;
	json_t *bare = json_copy((json_t *)(uintptr_t)record); /* shallow: only a reference is counted */
	enum kw_status status;

	*good = false;
	if (!bare)
		return kw_db_no_memory(err);
	json_object_del(bare, "sha256");
	kw_buf_init(&text, 64 << 20);
	status = kw_json_canonical(bare, &text, err);
	if (status == KW_OK) {
		kw_sha256_hex(text.ptr, text.len, sha);
		*good = strcmp(sha, claimed) == 0;
	}
	kw_buf_release(&text);
	json_decref(bare);
	return status;
}

static enum kw_status check_link(struct kw_store *s, struct kw_query *q, const char *before,
				 struct kw_arena *a, struct kw_chain_report *r, struct kw_error *err)
{
	const char *prev = kw_db_text(q, 1, a), *sha = kw_db_text(q, 2, a), *text = kw_db_text(q, 3, a);
	bool removed = sqlite3_column_type(q->st, 3) == SQLITE_NULL, good = true;
	json_t *record = NULL;
	enum kw_status status = KW_OK;

	if (!prev || !sha || !text)
		return kw_db_no_memory(err);
	r->links++;
	if (strcmp(prev, before) != 0)
		good = false;
	if (removed) {
		r->removed++;
	} else {
		struct kw_error ignored;

		kw_error_reset(&ignored);
		good = good && kw_json_parse(s->path, text, strlen(text), &record, &ignored) == KW_OK &&
		       strcmp(kw_json_get_str(record, "sha256", ""), sha) == 0 &&
		       strcmp(kw_json_get_str(record, "prev_sha", ""), prev) == 0;
		if (good)
			status = kw_record_check(record, &good, err);
		json_decref(record);
	}
	if (status == KW_OK && !good && r->first_bad == 0)
		r->first_bad = kw_db_i64(q, 0);
	return status;
}

enum kw_status kw_store_chain_check(struct kw_store *s, struct kw_chain_report *r,
				    struct kw_error *err)
{
	struct kw_query q;
	struct kw_arena a;
	char before[KW_SHA256_HEX] = "";
	bool more = true;
	enum kw_status status = kw_db_query(s, &q, err,
					    "SELECT chain.verdict_id, chain.prev_sha, chain.sha, v.record"
					    " FROM chain LEFT JOIN verdicts v ON v.id = chain.verdict_id"
					    " ORDER BY chain.seq", "");

	memset(r, 0, sizeof(*r));
	kw_arena_init(&a, 64 << 20);
	while (status == KW_OK) {
		status = kw_db_next(&q, &more, err);
		if (status != KW_OK || !more)
			break;
		status = check_link(s, &q, before, &a, r, err);
		before[0] = '\0';
		strncat(before, (const char *)sqlite3_column_text(q.st, 2), sizeof(before) - 1);
		kw_arena_reset(&a);
	}
	kw_db_end(&q);
	kw_arena_release(&a);
	return status;
}
