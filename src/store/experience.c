/* Full-text experience, and small key-value rows. */
#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "store/db.h"

enum { QUERY_MAX_BYTES = 8192 };

enum kw_status kw_store_memory_add(struct kw_store *s, const struct kw_memory_row *r, int64_t *id,
				   struct kw_error *err)
{
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	status = kw_db_exec(s, err,
			    "INSERT INTO memory (kind, name, family, device, dtype, text, outcome,"
			    " speedup, when_ms) VALUES (?,?,?,?,?,?,?,?,?)", "zzzzzzzdi",
			    r->kind ? r->kind : "note", r->name ? r->name : "",
			    r->family ? r->family : "", r->device ? r->device : "",
			    r->dtype ? r->dtype : "", r->text ? r->text : "",
			    r->outcome ? r->outcome : "", r->speedup,
			    r->when_ms ? r->when_ms : kw_wall_ms());
	if (id)
		*id = sqlite3_last_insert_rowid(s->db);
	return kw_db_finish(s, status, err);
}

/* Each word as a quoted prefix, so that nothing the user types is FTS5 syntax. */
static void safe_query(const char *words, const char *between, struct kw_buf *out)
{
	const unsigned char *p = (const unsigned char *)words;

	while (*p) {
		const unsigned char *start;

		while (*p && !isalnum(*p) && *p < 0x80)
			p++;
		for (start = p; *p && (isalnum(*p) || *p >= 0x80); p++)
			;
		if (p > start)
			kw_buf_printf(out, "%s\"%.*s\"*", out->len ? between : "", (int)(p - start),
				      (const char *)start);
	}
}

#define MEMORY_COLUMNS \
	"SELECT m.id, m.kind, m.name, m.family, m.device, m.dtype, m.text, m.outcome, m.speedup," \
	" m.when_ms FROM memory m"

static bool read_memory(struct kw_query *q, struct kw_arena *a, struct kw_memory_row *r)
{
	r->id = kw_db_i64(q, 0);
	r->kind = kw_db_text(q, 1, a);
	r->name = kw_db_text(q, 2, a);
	r->family = kw_db_text(q, 3, a);
	r->device = kw_db_text(q, 4, a);
	r->dtype = kw_db_text(q, 5, a);
	r->text = kw_db_text(q, 6, a);
	r->outcome = kw_db_text(q, 7, a);
	r->speedup = kw_db_f64(q, 8);
	r->when_ms = kw_db_i64(q, 9);
	return r->kind && r->name && r->family && r->device && r->dtype && r->text && r->outcome;
}

static enum kw_status read_all(struct kw_query *q, struct kw_arena *a, struct kw_memory_row **out,
			       size_t *count, struct kw_error *err)
{
	struct kw_memory_row *rows = NULL;
	size_t n = 0;
	bool more = true;
	enum kw_status status = KW_OK;

	while (status == KW_OK) {
		status = kw_db_next(q, &more, err);
		if (status != KW_OK || !more)
			break;
		rows = kw_db_grow(a, rows, n, sizeof(*rows));
		if (!rows || !read_memory(q, a, &rows[n++]))
			status = kw_db_no_memory(err);
	}
	*out = rows;
	*count = n;
	return status;
}

static enum kw_status search_once(struct kw_store *s, const char *words, const char *between,
				  int64_t limit, struct kw_arena *a, struct kw_memory_row **out,
				  size_t *count, struct kw_error *err)
{
	struct kw_query q = { 0 };
	struct kw_buf match;
	enum kw_status status;

	kw_buf_init(&match, QUERY_MAX_BYTES);
	safe_query(words, between, &match);
	if (match.full)
		status = kw_fail(err, KW_ERR_USAGE, "", "too many words to search for");
	else if (match.len == 0)
		status = kw_db_query(s, &q, err, MEMORY_COLUMNS " ORDER BY m.id DESC LIMIT ?", "i",
				     limit);
	else
		status = kw_db_query(s, &q, err,
				     MEMORY_COLUMNS " JOIN memory_words ON memory_words.rowid = m.id"
				     " WHERE memory_words MATCH ? ORDER BY bm25(memory_words), m.id DESC"
				     " LIMIT ?", "zi", match.ptr, limit);
	if (status == KW_OK)
		status = read_all(&q, a, out, count, err);
	kw_db_end(&q);
	kw_buf_release(&match);
	return status;
}

enum kw_status kw_store_memory_search(struct kw_store *s, const char *words, int limit,
				      struct kw_arena *a, struct kw_memory_row **out, size_t *count,
				      struct kw_error *err)
{
	int64_t most = limit > 0 ? limit : -1;
	enum kw_status status;

	*out = NULL;
	*count = 0;
	status = search_once(s, words ? words : "", " ", most, a, out, count, err);
	/* Rows with every word; when there is none, rows with some. */
	if (status == KW_OK && *count == 0 && words && words[0])
		status = search_once(s, words, " OR ", most, a, out, count, err);
	return status;
}

enum kw_status kw_store_memory_get(struct kw_store *s, int64_t id, struct kw_arena *a,
				   struct kw_memory_row *out, struct kw_error *err)
{
	struct kw_query q;
	bool found = false;
	enum kw_status status = kw_db_query(s, &q, err, MEMORY_COLUMNS " WHERE m.id = ?", "i", id);

	if (status == KW_OK)
		status = kw_db_next(&q, &found, err);
	if (status == KW_OK && !found)
		status = kw_fail(err, KW_ERR_NOT_FOUND, s->path, "there is no memory %lld",
				 (long long)id);
	if (status == KW_OK && !read_memory(&q, a, out))
		status = kw_db_no_memory(err);
	kw_db_end(&q);
	return status;
}

enum kw_status kw_store_kv_put(struct kw_store *s, const char *table, const char *key,
			       const char *value, struct kw_error *err)
{
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	status = kw_db_exec(s, err, "INSERT OR REPLACE INTO kv VALUES (?,?,?,?)", "zzzi", table, key,
			    value, kw_wall_ms());
	return kw_db_finish(s, status, err);
}

enum kw_status kw_store_kv_get(struct kw_store *s, const char *table, const char *key,
			       struct kw_arena *a, const char **value, struct kw_error *err)
{
	struct kw_query q;
	bool found = false;
	enum kw_status status = kw_db_query(s, &q, err,
					    "SELECT value FROM kv WHERE kind = ? AND key = ?", "zz",
					    table, key);

	*value = NULL;
	if (status == KW_OK)
		status = kw_db_next(&q, &found, err);
	if (status == KW_OK && found && !(*value = kw_db_text(&q, 0, a)))
		status = kw_db_no_memory(err);
	kw_db_end(&q);
	return status;
}

enum { MAX_VALUE = 1 << 20 };

enum kw_status kw_store_kv_change(struct kw_store *s, const char *table, const char *key, struct kw_arena *a, kw_kv_change change, void *arg,
				  struct kw_error *err)
{
	struct kw_buf text;
	const char *old = NULL;
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	kw_buf_init(&text, MAX_VALUE);
	status = kw_store_kv_get(s, table, key, a, &old, err);
	if (status == KW_OK)
		status = change(arg, old, &text, err);
	if (status == KW_OK && (text.full || !text.ptr))
		status = kw_db_no_memory(err);
	if (status == KW_OK)
		status = kw_db_exec(s, err, "INSERT OR REPLACE INTO kv VALUES (?,?,?,?)", "zzzi", table, key, text.ptr, kw_wall_ms());
	kw_buf_release(&text);
	return kw_db_finish(s, status, err);
}

enum kw_status kw_store_memory_add_new(struct kw_store *s, const struct kw_memory_row *r, bool *added, struct kw_error *err)
{
	int64_t n = 0;
	bool found = false;
	enum kw_status status = kw_db_one_i64(s, err, &n, &found,
					      "SELECT id FROM memory WHERE kind = ? AND name = ? AND family = ? AND device = ?"
					      " AND dtype = ? AND text = ? AND outcome = ? LIMIT 1", "zzzzzzz", r->kind, r->name,
					      r->family, r->device, r->dtype, r->text, r->outcome);

	*added = status == KW_OK && !found;
	return *added ? kw_store_memory_add(s, r, NULL, err) : status;
}

enum kw_status kw_store_memory_forget(struct kw_store *s, int64_t id, struct kw_error *err)
{
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	status = kw_db_exec(s, err, "DELETE FROM memory WHERE id = ?", "i", id);
	if (status == KW_OK && sqlite3_changes(s->db) == 0)
		status = kw_fail(err, KW_ERR_NOT_FOUND, s->path, "there is no memory %lld", (long long)id);
	return kw_db_finish(s, status, err);
}
