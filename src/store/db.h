/* db.h - the inside of store/: a handle, statements and transactions over SQLite. Nothing outside
 * src/store includes it.
 *
 *     struct kw_query q;
 *     kw_db_query(s, &q, err, "SELECT name FROM runs WHERE id = ?", "i", id);
 *     while (kw_db_next(&q, &more, err) == KW_OK && more)
 *             name = kw_db_text(&q, 0, arena);
 *     kw_db_end(&q);
 *
 * Bind formats, one letter a question mark: i int64_t, d double (NaN and Inf become NULL), z text
 * (NULL becomes NULL), b bytes (pointer, size_t). Every write is inside kw_db_begin and
 * kw_db_commit; begin takes the write lock at once, so that two writers wait for each other instead
 * of failing half-way. KW_FAIL_WRITE=n makes the n-th begin fail as a full disk does. */
#ifndef KW_STORE_DB_H
#define KW_STORE_DB_H

#include <sqlite3.h>

#include "store/store.h"

enum { KW_DB_KEPT = 32 };
struct kw_recalled;
struct kw_store {
	sqlite3 *db;
	/* Statements that were compiled, for the next time: compiling one takes longer than most of them run. */
	struct {
		sqlite3_stmt *st;
		bool used;
	} kept[KW_DB_KEPT];
	size_t next_kept;                 /* whose place the next new one takes */
	struct kw_recalled *recalled;     /* the last answers of kw_store_memory_recall (experience.c) */
	char *dir, *path;
	bool read_only;
};
struct kw_query {
	struct kw_store *s;
	sqlite3_stmt *st;
};

enum kw_status kw_db_query(struct kw_store *s, struct kw_query *q, struct kw_error *err,
			   const char *sql, const char *format, ...);
enum kw_status kw_db_next(struct kw_query *q, bool *more, struct kw_error *err);
void kw_db_end(struct kw_query *q);
/* Before the handle is closed: what is kept for the next time. */
void kw_db_forget(struct kw_store *s);
/* Column readers. Text is "" for NULL, and NULL only when the arena is full (kw_db_arena_ok says). */
int64_t kw_db_i64(struct kw_query *q, int column);
double kw_db_f64(struct kw_query *q, int column);
const char *kw_db_text(struct kw_query *q, int column, struct kw_arena *a);
/* One statement without rows. */
enum kw_status kw_db_exec(struct kw_store *s, struct kw_error *err, const char *sql,
			  const char *format, ...);
/* One statement with one integer; *found false without a row (value untouched). */
enum kw_status kw_db_one_i64(struct kw_store *s, struct kw_error *err, int64_t *value, bool *found,
			     const char *sql, const char *format, ...);
enum kw_status kw_db_begin(struct kw_store *s, struct kw_error *err);
/* Commits when status is KW_OK, else rolls back; returns the first failure. */
enum kw_status kw_db_finish(struct kw_store *s, enum kw_status status, struct kw_error *err);
/* What SQLite's last call says, as one sentence about the store. */
enum kw_status kw_db_fail(struct kw_store *s, int code, struct kw_error *err);
enum kw_status kw_db_no_memory(struct kw_error *err);

/* Growing array in an arena: room for one more element of `bytes` behind *count. */
void *kw_db_grow(struct kw_arena *a, void *items, size_t count, size_t bytes);

/* schema.c: brings a fresh or older database to `to` (0: the newest) in one transaction. */
enum kw_status kw_schema_migrate(struct kw_store *s, int to, struct kw_error *err);
int kw_schema_version(void);
/* As kw_store_open, but stops at an older schema: for the tests of migration. */
enum kw_status kw_store_open_at(const char *dir, bool read_only, int version, struct kw_store **out,
				struct kw_error *err);
/* KW_OK when the run is ours; notes a sign of life (runs.c). */
enum kw_status kw_run_check_owner(struct kw_store *s, int64_t run_id, struct kw_error *err);
/* KW_OK when the run is ours or free to take. */
enum kw_status kw_run_check_free(struct kw_store *s, int64_t run_id, struct kw_error *err);
/* Before the handle is closed (experience.c). */
void kw_memory_forget_recalled(struct kw_store *s);
/* Inside a transaction: texts that no call of a model has (calls.c). */
enum kw_status kw_db_drop_texts(struct kw_store *s, struct kw_error *err);
/* Inside a transaction (facts.c). */
enum kw_status kw_db_put_task(struct kw_store *s, const char *sha, const char *name, const char *text,
			      struct kw_error *err);

#endif
