#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/db.h"

enum { BUSY_MS = 5000, READ_ARENA_BYTES = 1 << 16 };

static const char *override_dir; /* --store: experience goes there too */

void kw_store_set_dir(const char *dir)
{
	override_dir = dir;
}

/* Switching to WAL needs the file alone for a moment, and does not always ask the busy handler. */
static int set_wal(sqlite3 *db)
{
	int64_t until_ns = kw_now_ns() + BUSY_MS * (int64_t)1000000;
	int code;

	do {
		code = sqlite3_exec(db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if ((code & 0xff) != SQLITE_BUSY)
			return code;
		kw_sleep_ns(5000000);
	} while (kw_now_ns() < until_ns);
	return code;
}

/* A closed WAL database in a folder that we may not write has no -shm file and cannot get one; nobody
 * writes it either, so it is safe to read it as it is. */
static int open_immutable(struct kw_store *s)
{
	char *uri = sqlite3_mprintf("file:%s?immutable=1", s->path);
	int code = SQLITE_NOMEM;

	sqlite3_close(s->db);
	s->db = NULL;
	if (uri && !strpbrk(s->path, "?#%"))
		code = sqlite3_open_v2(uri, &s->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	sqlite3_free(uri);
	return code;
}

static int open_db(struct kw_store *s)
{
	int flags = s->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	int code = sqlite3_open_v2(s->path, &s->db, flags, NULL);

	if (code != SQLITE_OK)
		return code;
	sqlite3_busy_timeout(s->db, BUSY_MS);
	if (!s->read_only)
		return SQLITE_OK;
	code = sqlite3_exec(s->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
	if ((code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY)
		code = open_immutable(s);
	return code;
}

/* foreign_keys is per connection. synchronous NORMAL: a killed process loses nothing that was
 * committed; only a power cut may lose the last moments, never the store. */
static enum kw_status configure(struct kw_store *s, struct kw_error *err)
{
	int code = sqlite3_exec(s->db, "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL",
				NULL, NULL, NULL);

	if (code == SQLITE_OK && !s->read_only && sqlite3_db_readonly(s->db, "main") == 1)
		code = SQLITE_READONLY;
	if (code == SQLITE_OK && !s->read_only)
		code = set_wal(s->db);
	return code == SQLITE_OK ? KW_OK : kw_db_fail(s, code, err);
}

static enum kw_status make_dir(const char *dir, struct kw_error *err)
{
	enum kw_status status = kw_mkdirs(dir, err);

	if (status == KW_ERR_IO && err)
		err->status = status = KW_ERR_STORE;
	return status == KW_OK ? KW_OK : kw_error_while(err, "making the folder of the store");
}

static enum kw_status check_there(const char *dir, struct kw_store *s, struct kw_error *err)
{
	struct stat st;

	if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
		return kw_fail(err, KW_ERR_STORE, dir, "this is no folder, and a store is one");
	if (stat(s->path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return kw_fail(err, KW_ERR_STORE, s->path, "this is no file");
		return KW_OK;
	}
	if (errno != ENOENT && errno != ENOTDIR)
		return kw_fail(err, KW_ERR_STORE, s->path, "the store cannot be opened: %s",
			       strerror(errno));
	if (s->read_only)
		return kw_fail(err, KW_ERR_NOT_FOUND, s->path, "there is no store here yet");
	return make_dir(dir, err);
}

enum kw_status kw_store_open_at(const char *dir, bool read_only, int version, struct kw_store **out,
				struct kw_error *err)
{
	struct kw_store *s = kw_calloc(1, sizeof(*s));
	enum kw_status status;
	char path[PATH_MAX];
	int code;

	*out = NULL;
	if (!s)
		return kw_db_no_memory(err);
	if (snprintf(path, sizeof(path), "%s/store.db", dir) >= (int)sizeof(path)) {
		kw_free(s);
		return kw_fail(err, KW_ERR_INPUT, dir, "the path of the store is too long");
	}
	s->read_only = read_only;
	s->dir = kw_strdup(dir);
	s->path = kw_strdup(path);
	status = s->dir && s->path ? check_there(dir, s, err) : kw_db_no_memory(err);
	if (status == KW_OK) {
		code = open_db(s);
		status = code == SQLITE_OK ? configure(s, err) : kw_db_fail(s, code, err);
	}
	if (status == KW_OK)
		status = kw_schema_migrate(s, version, err);
	if (status != KW_OK) {
		kw_store_close(s);
		return status;
	}
	*out = s;
	return KW_OK;
}

enum kw_status kw_store_open(const char *dir, bool read_only, struct kw_store **out,
			     struct kw_error *err)
{
	return kw_store_open_at(dir, read_only, 0, out, err);
}

void kw_store_close(struct kw_store *s)
{
	if (!s)
		return;
	kw_memory_forget_recalled(s);
	kw_db_forget(s);
	sqlite3_close(s->db);
	kw_free(s->dir);
	kw_free(s->path);
	kw_free(s);
}

const char *kw_store_dir(const struct kw_store *s)
{
	return s->dir;
}

int kw_store_schema(void)
{
	return kw_schema_version();
}

enum kw_status kw_store_memory_open(struct kw_store **out, struct kw_error *err)
{
	struct kw_arena a;
	enum kw_status status;
	const char *dir = override_dir;

	kw_arena_init(&a, READ_ARENA_BYTES);
	if (!dir)
		dir = kw_path_data_home(&a);
	status = dir ? kw_store_open(dir, false, out, err)
		     : kw_fail(err, KW_ERR_ENV, "", "neither XDG_DATA_HOME nor HOME is set");
	kw_arena_release(&a);
	return status;
}
