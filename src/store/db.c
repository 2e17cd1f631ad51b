#include "store/db.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

enum kw_status kw_db_no_memory(struct kw_error *err)
{
	return kw_fail(err, KW_ERR_NOMEM, "", "out of memory while reading the store");
}

enum kw_status kw_db_fail(struct kw_store *s, int code, struct kw_error *err)
{
	static const char read_only[] = "the store is read-only; use --store DIR for another place";
	int errno_now = s->db ? sqlite3_system_errno(s->db) : 0;
	const char *text;

	switch (code & 0xff) {
	case SQLITE_NOMEM:
		return kw_fail(err, KW_ERR_NOMEM, s->path, "out of memory in the store");
	case SQLITE_FULL:
		text = "the disk is full; nothing was written";
		break;
	case SQLITE_READONLY:
		text = read_only;
		break;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		text = "the store has been locked by another process for over 5 s";
		break;
	case SQLITE_NOTADB:
		text = "this is not a Kernelwright store";
		break;
	case SQLITE_CORRUPT:
		text = "the store is damaged; move it away, or restore a copy";
		break;
	case SQLITE_CANTOPEN:
		/* Its -wal file cannot be made: that is what a read-only folder looks like. */
		if (!s->read_only && access(s->path, F_OK) == 0 && access(s->dir, W_OK) != 0) {
			text = read_only;
			break;
		}
		return kw_fail(err, KW_ERR_STORE, s->path, "the store cannot be opened: %s",
			       errno_now ? strerror(errno_now) : sqlite3_errstr(code));
	case SQLITE_IOERR:
		return kw_fail(err, KW_ERR_STORE, s->path, "the store cannot be read or written: %s",
			       errno_now ? strerror(errno_now) : sqlite3_errstr(code));
	default:
		return kw_fail(err, KW_ERR_STORE, s->path, "%s",
			       s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code));
	}
	return kw_fail(err, KW_ERR_STORE, s->path, "%s", text);
}

static int bind_all(sqlite3_stmt *st, const char *format, va_list ap)
{
	int code = SQLITE_OK;

	for (int i = 1; format[i - 1] && code == SQLITE_OK; i++) {
		const void *p;
		double d;

		switch (format[i - 1]) {
		case 'i':
			code = sqlite3_bind_int64(st, i, va_arg(ap, int64_t));
			break;
		case 'd':
			d = va_arg(ap, double);
			code = isfinite(d) ? sqlite3_bind_double(st, i, d)
					   : sqlite3_bind_null(st, i);
			break;
		case 'z':
			code = sqlite3_bind_text(st, i, va_arg(ap, const char *), -1,
						 SQLITE_STATIC);
			break;
		case 'b':
			p = va_arg(ap, const void *);
			code = sqlite3_bind_blob64(st, i, p, va_arg(ap, size_t), SQLITE_STATIC);
			break;
		default:
			code = SQLITE_MISUSE;
		}
	}
	return code;
}

/* A kept statement of this text that nobody uses now; else a new one, which is kept where there is a place. */
static int compile(struct kw_store *s, const char *sql, sqlite3_stmt **out)
{
	int code;

	for (size_t i = 0; i < KW_DB_KEPT; i++)
		if (s->kept[i].st && !s->kept[i].used && strcmp(sqlite3_sql(s->kept[i].st), sql) == 0) {
			s->kept[i].used = true;
			*out = s->kept[i].st;
			return SQLITE_OK;
		}
	code = sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
	if (code != SQLITE_OK || !*out || s->kept[s->next_kept].used)
		return code;
	sqlite3_finalize(s->kept[s->next_kept].st);
	s->kept[s->next_kept].st = *out;
	s->kept[s->next_kept].used = true;
	s->next_kept = (s->next_kept + 1) % KW_DB_KEPT;
	return code;
}

void kw_db_forget(struct kw_store *s)
{
	for (size_t i = 0; i < KW_DB_KEPT; i++) {
		sqlite3_finalize(s->kept[i].st);
		s->kept[i].st = NULL;
		s->kept[i].used = false;
	}
}

static enum kw_status query_v(struct kw_store *s, struct kw_query *q, struct kw_error *err,
			      const char *sql, const char *format, va_list ap)
{
	int code;

	q->s = s;
	q->st = NULL;
	code = compile(s, sql, &q->st);
	if (code == SQLITE_OK)
		code = bind_all(q->st, format, ap);
	if (code == SQLITE_OK)
		return KW_OK;
	kw_db_fail(s, code, err);
	kw_db_end(q);
	return err ? err->status : KW_ERR_STORE;
}

enum kw_status kw_db_query(struct kw_store *s, struct kw_query *q, struct kw_error *err,
			   const char *sql, const char *format, ...)
{
	enum kw_status status;
	va_list ap;

	va_start(ap, format);
	status = query_v(s, q, err, sql, format, ap);
	va_end(ap);
	return status;
}

enum kw_status kw_db_next(struct kw_query *q, bool *more, struct kw_error *err)
{
	int code = sqlite3_step(q->st);

	*more = code == SQLITE_ROW;
	if (code == SQLITE_ROW || code == SQLITE_DONE)
		return KW_OK;
	return kw_db_fail(q->s, code, err);
}

void kw_db_end(struct kw_query *q)
{
	sqlite3_stmt *st = q->st;

	q->st = NULL;
	for (size_t i = 0; st && i < KW_DB_KEPT; i++)
		if (q->s->kept[i].st == st) {
			sqlite3_reset(st);
			sqlite3_clear_bindings(st);
			q->s->kept[i].used = false;
			return;
		}
	sqlite3_finalize(st);
}

int64_t kw_db_i64(struct kw_query *q, int column)
{
	return sqlite3_column_int64(q->st, column);
}

double kw_db_f64(struct kw_query *q, int column)
{
	return sqlite3_column_double(q->st, column);
}

const char *kw_db_text(struct kw_query *q, int column, struct kw_arena *a)
{
	const void *p = sqlite3_column_blob(q->st, column);
	int n = sqlite3_column_bytes(q->st, column);

	return kw_arena_strndup(a, p ? p : "", n > 0 ? (size_t)n : 0);
}

enum kw_status kw_db_exec(struct kw_store *s, struct kw_error *err, const char *sql,
			  const char *format, ...)
{
	struct kw_query q;
	enum kw_status status;
	bool more = true;
	va_list ap;

	va_start(ap, format);
	status = query_v(s, &q, err, sql, format, ap);
	va_end(ap);
	while (status == KW_OK && more)
		status = kw_db_next(&q, &more, err);
	kw_db_end(&q);
	return status;
}

enum kw_status kw_db_one_i64(struct kw_store *s, struct kw_error *err, int64_t *value, bool *found,
			     const char *sql, const char *format, ...)
{
	struct kw_query q;
	enum kw_status status;
	va_list ap;

	*found = false;
	va_start(ap, format);
	status = query_v(s, &q, err, sql, format, ap);
	va_end(ap);
	if (status == KW_OK)
		status = kw_db_next(&q, found, err);
	if (status == KW_OK && *found)
		*value = kw_db_i64(&q, 0);
	kw_db_end(&q);
	return status;
}

enum kw_status kw_db_begin(struct kw_store *s, struct kw_error *err)
{
	int moved = 0;

	if (s->read_only)
		return kw_db_fail(s, SQLITE_READONLY, err);
	/* SQLite would go on writing into a file that nobody finds any more. */
	if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved)
		return kw_fail(err, KW_ERR_IO, s->path, "the store was moved or removed while it was used; nothing more is written");
	if (kw_fail_nth("KW_FAIL_WRITE"))
		return kw_db_fail(s, SQLITE_FULL, err);
	return kw_db_exec(s, err, "BEGIN IMMEDIATE", "");
}

enum kw_status kw_db_finish(struct kw_store *s, enum kw_status status, struct kw_error *err)
{
	if (status == KW_OK)
		status = kw_db_exec(s, err, "COMMIT", "");
	if (status != KW_OK && !sqlite3_get_autocommit(s->db))
		kw_db_exec(s, NULL, "ROLLBACK", "");
	return status;
}

void *kw_db_grow(struct kw_arena *a, void *items, size_t count, size_t bytes)
{
	void *bigger;

	/* Doubles at powers of two, from 8; the old array is left to the arena. */
	if (count && (count < 8 || (count & (count - 1)) != 0))
		return items;
	bigger = kw_arena_calloc(a, count ? 2 * count : 8, bytes);
	if (bigger && count)
		memcpy(bigger, items, count * bytes);
	return bigger;
}
