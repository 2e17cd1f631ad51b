/* Full-text experience, and small key-value rows. */
#include <ctype.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "store/db.h"

enum { QUERY_MAX_BYTES = 8192 };

/* Inside a transaction. */
static enum kw_status insert(struct kw_store *s, const struct kw_memory_row *r, struct kw_error *err)
{
	return kw_db_exec(s, err,
			  "INSERT INTO memory (kind, name, family, device, dtype, text, outcome,"
			  " speedup, when_ms) VALUES (?,?,?,?,?,?,?,?,?)", "zzzzzzzdi",
			  r->kind ? r->kind : "note", r->name ? r->name : "",
			  r->family ? r->family : "", r->device ? r->device : "",
			  r->dtype ? r->dtype : "", r->text ? r->text : "",
			  r->outcome ? r->outcome : "", r->speedup,
			  r->when_ms ? r->when_ms : kw_wall_ms());
}

enum kw_status kw_store_memory_add(struct kw_store *s, const struct kw_memory_row *r, int64_t *id,
				   struct kw_error *err)
{
	enum kw_status status = kw_db_begin(s, err);

	if (status != KW_OK)
		return status;
	status = insert(s, r, err);
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

/* ---- the last answers ---- */

/* TOLD_MAX: characters of a text; a longer one has no room in any prompt. */
enum { RECALLED_MAX = 4, RECALLED_MAX_BYTES = 64 << 20, TOLD_MAX = 64 << 10 };

struct kw_recalled {
	int64_t version, changes;         /* of the database, when they were found: other handles' writes, and this one's */
	struct answer {
		struct kw_arena arena;
		const char *question;     /* NULL: there is none */
		struct kw_memory_row *rows;
		size_t count;
	} answers[RECALLED_MAX];
	size_t next;                      /* whose place the next new one takes */
};

static void drop_answers(struct kw_recalled *r)
{
	for (size_t i = 0; i < RECALLED_MAX; i++) {
		kw_arena_release(&r->answers[i].arena);
		r->answers[i] = (struct answer){ .question = NULL };
		kw_arena_init(&r->answers[i].arena, RECALLED_MAX_BYTES);
	}
}

void kw_memory_forget_recalled(struct kw_store *s)
{
	if (s->recalled)
		drop_answers(s->recalled);
	kw_free(s->recalled);
	s->recalled = NULL;
}

/* Answers from before a change are dropped. */
static enum kw_status fresh_answers(struct kw_store *s, struct kw_error *err)
{
	int64_t version = 0, changes = sqlite3_total_changes(s->db);
	bool found;
	enum kw_status status = kw_db_one_i64(s, err, &version, &found, "PRAGMA data_version", "");

	if (status == KW_OK && !s->recalled && !(s->recalled = kw_calloc(1, sizeof(*s->recalled))))
		return kw_db_no_memory(err);
	if (status != KW_OK || (s->recalled->version == version && s->recalled->changes == changes))
		return status;
	drop_answers(s->recalled);
	s->recalled->version = version;
	s->recalled->changes = changes;
	return KW_OK;
}

static struct answer *find_answer(struct kw_recalled *r, const char *question)
{
	for (struct answer *n = r->answers; n < r->answers + RECALLED_MAX; n++)
		if (n->question && strcmp(n->question, question) == 0)
			return n;
	return NULL;
}

static bool copy_row(struct kw_arena *a, const struct kw_memory_row *from, struct kw_memory_row *to)
{
	*to = *from;
	to->kind = kw_arena_strdup(a, from->kind);
	to->name = kw_arena_strdup(a, from->name);
	to->family = kw_arena_strdup(a, from->family);
	to->device = kw_arena_strdup(a, from->device);
	to->dtype = kw_arena_strdup(a, from->dtype);
	to->text = kw_arena_strdup(a, from->text);
	to->outcome = kw_arena_strdup(a, from->outcome);
	return to->kind && to->name && to->family && to->device && to->dtype && to->text && to->outcome;
}

static enum kw_status copy_rows(struct kw_arena *a, const struct answer *n, struct kw_memory_row **out, size_t *count, struct kw_error *err)
{
	*count = 0;
	*out = kw_arena_calloc(a, n->count + 1, sizeof(**out));
	for (size_t i = 0; *out && i < n->count; i++, (*count)++)
		if (!copy_row(a, &n->rows[i], &(*out)[i]))
			break;
	return *out && *count == n->count ? KW_OK : kw_db_no_memory(err);
}

/* A note is of the user, who may write it while a run goes on: one that fits comes first. Then this family, and of it what is nearest. */
static enum kw_status find_like(struct kw_store *s, const struct kw_memory_about *about, const char *words, int64_t limit, struct answer *n,
				struct kw_error *err)
{
	const char *bound = kw_arena_printf(&n->arena, KW_MEMORY_BOUND "%s", about->bound ? about->bound : "?");
	struct kw_query q = { 0 };
	struct kw_buf match;
	enum kw_status status = KW_OK;

	n->rows = NULL;
	n->count = 0;
	kw_buf_init(&match, QUERY_MAX_BYTES);
	safe_query(words, " OR ", &match);
	if (!bound || match.full)
		status = kw_db_no_memory(err);
	else if (match.len)
		status = kw_db_query(s, &q, err, MEMORY_COLUMNS " JOIN memory_words ON memory_words.rowid = m.id WHERE memory_words MATCH ?"
				     " AND m.kind <> 'kernel' AND (m.when_ms < ? OR m.kind = 'note') AND length(m.text) <= ?"
				     " AND (m.device = ? OR m.outcome = 'ok' OR m.kind = 'note')"
				     " ORDER BY m.kind = 'note' AND m.family IN ('', ?) DESC, m.family = ? DESC,"
				     " (m.device = ?) + (m.dtype = ?) + (instr(m.text, ?) > 0) DESC, m.id DESC LIMIT ?", "ziizzzzzzi", match.ptr,
				     about->before_ms ? about->before_ms : INT64_MAX, (int64_t)TOLD_MAX, about->device, about->family, about->family, about->device, about->dtype, bound,
				     limit);
	if (status == KW_OK && match.len)
		status = read_all(&q, &n->arena, &n->rows, &n->count, err);
	kw_db_end(&q);
	kw_buf_release(&match);
	return status;
}

static enum kw_status ask_anew(struct kw_store *s, const struct kw_memory_about *about, const char *question, int limit, struct answer **out,
			       struct kw_error *err)
{
	struct answer *n = &s->recalled->answers[s->recalled->next];
	const char *words;
	enum kw_status status;

	s->recalled->next = (s->recalled->next + 1) % RECALLED_MAX;
	kw_arena_reset(&n->arena);
	n->question = NULL;
	words = kw_arena_printf(&n->arena, "%s %s", about->family, about->dtype);
	status = words ? find_like(s, about, words, limit, n, err) : kw_db_no_memory(err);
	if (status == KW_OK && !(n->question = kw_arena_strdup(&n->arena, question)))
		status = kw_db_no_memory(err);
	*out = n;
	return status;
}

enum kw_status kw_store_memory_recall(struct kw_store *s, const struct kw_memory_about *about, int limit, struct kw_arena *a,
				      struct kw_memory_row **out, size_t *count, struct kw_error *err)
{
	const char *question = kw_arena_printf(a, "%s\n%s\n%s\n%s\n%lld %d", about->family, about->device, about->dtype,
					       about->bound ? about->bound : "", (long long)about->before_ms, limit);
	struct answer *n;
	enum kw_status status = question ? fresh_answers(s, err) : kw_db_no_memory(err);

	*out = NULL;
	*count = 0;
	if (status != KW_OK)
		return status;
	n = find_answer(s->recalled, question);
	if (!n)
		status = ask_anew(s, about, question, limit, &n, err);
	return status == KW_OK ? copy_rows(a, n, out, count, err) : status;
}

enum kw_status kw_store_memory_kernel(struct kw_store *s, const char *family, const char *backend, const char *dtype, struct kw_arena *a,
				      struct kw_memory_row *out, bool *found, struct kw_error *err)
{
	struct kw_query q;
	enum kw_status status = kw_db_query(s, &q, err, MEMORY_COLUMNS " WHERE m.kind = 'kernel' AND m.family = ? AND m.outcome = ?"
					    " ORDER BY m.dtype = ? DESC, m.id DESC LIMIT 1", "zzz", family, backend, dtype);

	*found = false;
	if (status == KW_OK)
		status = kw_db_next(&q, found, err);
	if (status == KW_OK && *found && !read_memory(&q, a, out))
		status = kw_db_no_memory(err);
	kw_db_end(&q);
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

/* What makes two rows equal. */
static bool row_sha(const struct kw_memory_row *r, char sha[KW_SHA256_HEX])
{
	struct kw_hasher h;

	if (kw_hasher_init(&h) != 0)
		return false;
	kw_hasher_addz(&h, "kind", r->kind);
	kw_hasher_addz(&h, "name", r->name);
	kw_hasher_addz(&h, "family", r->family);
	kw_hasher_addz(&h, "device", r->device);
	kw_hasher_addz(&h, "dtype", r->dtype);
	kw_hasher_addz(&h, "text", r->text);
	kw_hasher_addz(&h, "outcome", r->outcome);
	kw_hasher_final(&h, sha);
	return sha[0] != '\0';
}

/* Into the table of known rows; fresh: it was not there. */
static enum kw_status note_known(struct kw_store *s, const struct kw_memory_row *r, bool *fresh, struct kw_error *err)
{
	char sha[KW_SHA256_HEX];
	enum kw_status status = row_sha(r, sha) ? kw_db_exec(s, err, "INSERT INTO temp.known VALUES (?) ON CONFLICT DO NOTHING", "z", sha)
						: kw_db_no_memory(err);

	*fresh = status == KW_OK && sqlite3_changes(s->db) == 1;
	return status;
}

static enum kw_status note_all(struct kw_store *s, struct kw_error *err)
{
	struct kw_memory_row r;
	struct kw_query q;
	struct kw_arena a;
	bool more = true, fresh;
	enum kw_status status = kw_db_query(s, &q, err, MEMORY_COLUMNS, "");

	kw_arena_init(&a, 256 << 20);
	while (status == KW_OK) {
		status = kw_db_next(&q, &more, err);
		if (status != KW_OK || !more)
			break;
		status = read_memory(&q, &a, &r) ? note_known(s, &r, &fresh, err) : kw_db_no_memory(err);
		kw_arena_reset(&a);
	}
	kw_arena_release(&a);
	kw_db_end(&q);
	return status;
}

/* What is known is looked up by hash: looking through all rows for each would take time that grows with its square. */
enum kw_status kw_store_memory_add_all(struct kw_store *s, const struct kw_memory_row *rows, size_t count, size_t *added, struct kw_error *err)
{
	bool fresh;
	enum kw_status status = kw_db_begin(s, err);

	*added = 0;
	if (status != KW_OK)
		return status;
	status = kw_db_exec(s, err, "CREATE TEMP TABLE known (sha TEXT PRIMARY KEY) WITHOUT ROWID", "");
	if (status == KW_OK)
		status = note_all(s, err);
	for (size_t i = 0; status == KW_OK && i < count; i++) {
		status = note_known(s, &rows[i], &fresh, err);
		if (status == KW_OK && fresh)
			status = insert(s, &rows[i], err);
		*added += status == KW_OK && fresh;
	}
	if (status == KW_OK)
		status = kw_db_exec(s, err, "DROP TABLE temp.known", "");
	return kw_db_finish(s, status, err);
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
