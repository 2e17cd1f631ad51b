/* Opening: a new store, an older one, a newer one, what is no store, and a full disk. */
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/file.h"
#include "store/db.h"
#include "store_help.h"
#include "tap.h"
#include "temp.h"

static struct kw_error err;
static char line[2200];

static const char *error_line(void)
{
	return kw_error_line(&err, line, sizeof(line));
}

static void raw(const char *path, const char *sql)
{
	sqlite3 *db;

	sqlite3_open(path, &db);
	is_int(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "raw: %s", sql);
	sqlite3_close(db);
}

static void test_new(void)
{
	struct kw_store *s = NULL;
	const char *dir = temp_file("deep/new");

	is_int(kw_store_open(dir, true, &s, &err), KW_ERR_NOT_FOUND, "nothing to read yet");
	has_str(error_line(), "no store here yet", "says so");
	ok(!kw_path_exists(dir), "reading makes nothing");
	is_int(kw_store_open(dir, false, &s, &err), KW_OK, "made with its folders");
	is_str(kw_store_dir(s), dir, "knows its folder");
	ok(new_run(s) == 1, "takes a run");
	kw_store_close(s);
	is_int(kw_store_open(dir, true, &s, &err), KW_OK, "opens to read");
	ok(new_run(s) == -1, "and takes nothing then");
	is_int(kw_store_kv_put(s, "a", "b", "c", &err), KW_ERR_STORE, "a write to it fails");
	has_str(error_line(), "store.db: the store is read-only", "says why");
	kw_store_close(s);
	kw_store_close(NULL);
}

static void test_migration(void)
{
	struct kw_store *s = NULL;
	struct kw_run_row r;
	struct kw_arena a;
	struct kw_finding f = { .id = "f", .rule = "r", .sentence = "s",
				.directive = { .id = "d", .text = "t", .wrong_when = "w",
					       .prediction = { .metric = "time" } } };
	const char *dir = temp_file("old"), *name, *text;
	int64_t id = 0;

	kw_arena_init(&a, 1 << 20);
	is_int(kw_store_open_at(dir, false, 1, &s, &err), KW_OK, "a store of version 1");
	kw_db_exec(s, &err, "INSERT INTO runs (task_name, task_text, task_sha, backend, device, strategy,"
			    " options, state, started_ms) VALUES ('softmax', 'name: softmax', 't1', 'c',"
			    " 'cpu', 'tune', '{}', 'RUNNING', 1)", "");
	is_int(kw_store_run_claim(s, 1, &err), KW_OK, "its run");
	put(s, 1, "c1", "", "full", 10, &id, &err);
	ok(kw_store_finding_put(s, id, &f, &err) != KW_OK, "has no findings yet");
	kw_store_close(s);
	is_int(kw_store_open(dir, true, &s, &err), KW_ERR_STORE, "is not migrated by a reader");
	has_str(error_line(), "schema version 1 and must be brought to version 9", "which says so");
	is_int(kw_store_open(dir, false, &s, &err), KW_OK, "is migrated by a writer");
	is_int(kw_store_run_get(s, 1, &a, &r, &err), KW_OK, "its run is there");
	is_int(r.evaluations, 1, "with its verdict");
	is_int(kw_store_task_get(s, "t1", &a, &name, &text, &err), KW_OK, "its task is there by hash");
	is_int(kw_store_finding_put(s, id, &f, &err), KW_OK, "and it takes findings");
	kw_store_close(s);
	raw(temp_file("old/store.db"), "PRAGMA user_version = 77");
	is_int(kw_store_open(dir, false, &s, &err), KW_ERR_STORE, "a newer store is refused");
	has_str(error_line(), "schema version 77", "names its version");
	has_str(error_line(), "knows version 9", "and ours");
	is_int(kw_store_open(dir, true, &s, &err), KW_ERR_STORE, "by readers too");
	kw_arena_release(&a);
}

static void test_strangers(void)
{
	struct kw_store *s = NULL;
	const char *text = "this is a text file, long enough to be read as a database header ........"
			   "............................................................";

	kw_mkdirs(temp_file("garbage"), NULL);
	kw_file_write(temp_file("garbage/store.db"), text, strlen(text), NULL);
	is_int(kw_store_open(temp_file("garbage"), false, &s, &err), KW_ERR_STORE, "garbage");
	has_str(error_line(), "not a Kernelwright store", "says so");
	kw_mkdirs(temp_file("other"), NULL);
	raw(temp_file("other/store.db"), "CREATE TABLE t (x)");
	is_int(kw_store_open(temp_file("other"), false, &s, &err), KW_ERR_STORE, "another database");
	has_str(error_line(), "not a Kernelwright store", "says so");
	kw_mkdirs(temp_file("folder/store.db"), NULL);
	is_int(kw_store_open(temp_file("folder"), false, &s, &err), KW_ERR_STORE, "a folder");
	is_int(kw_store_open(temp_file("garbage/store.db/x"), false, &s, &err), KW_ERR_STORE,
	       "below a file");
	ok(s == NULL, "no handle");
}

static void test_full(void)
{
	struct kw_store *s = NULL;
	int64_t id = 0;

	setenv("KW_FAIL_WRITE", "2", 1);
	kw_fail_reload();
	is_int(kw_store_open(temp_file("full"), false, &s, &err), KW_OK, "opens");
	is_int(put(s, 0, "c", "", "full", 3, &id, &err), KW_ERR_STORE, "a full disk");
	has_str(error_line(), "the disk is full", "says so");
	is_int(put(s, 0, "c", "", "full", 3, &id, &err), KW_OK, "and goes on with room");
	unsetenv("KW_FAIL_WRITE");
	kw_fail_reload();
	kw_store_close(s);
}

/* A quota of SQLite's own: the same code as a full file system, in the middle of a transaction. */
static void test_really_full(void)
{
	struct kw_store *s = NULL;
	struct kw_arena a;
	struct kw_verdict_row *rows;
	struct kw_chain_report chain;
	size_t count = 0;
	int64_t id = 0, last = 0;
	enum kw_status status = KW_OK;

	kw_arena_init(&a, 16 << 20);
	kw_store_open(temp_file("quota"), false, &s, &err);
	sqlite3_exec(s->db, "PRAGMA max_page_count = 60", NULL, NULL, NULL);
	for (int i = 0; i < 1000 && status == KW_OK; i++) {
		status = put(s, 0, "c", "", "full", 3, &id, &err);
		last = status == KW_OK ? id : last;
	}
	is_int(status, KW_ERR_STORE, "runs full");
	has_str(error_line(), "the disk is full; nothing was written", "says so");
	is_int(kw_store_verdict_list(s, 0, &a, &rows, &count, &err), KW_OK, "can be read");
	ok(count > 3 && rows[count - 1].id == last, "holds what was told to be stored");
	is_int(kw_store_chain_check(s, &chain, &err), KW_OK, "its chain");
	ok(chain.links == (int64_t)count && chain.first_bad == 0, "is whole");
	kw_store_close(s);
	kw_arena_release(&a);
}

static int open_scenario(void *arg)
{
	struct kw_store *s = NULL;
	struct kw_arena a;
	struct kw_run_row *rows;
	size_t count;
	int64_t id;
	int failed;

	kw_arena_init(&a, 1 << 20);
	failed = kw_store_open(arg, false, &s, &err) != KW_OK || new_run(s) < 0 ||
		 put(s, 0, "c", "", "full", 3, &id, &err) != KW_OK ||
		 kw_store_run_list(s, &a, &rows, &count, &err) != KW_OK;
	kw_store_close(s);
	kw_arena_release(&a);
	return failed;
}

int main(void)
{
	char dir[PATH_MAX];

	test_new();
	test_migration();
	test_strangers();
	test_full();
	test_really_full();
	snprintf(dir, sizeof(dir), "%s", temp_file("alloc"));
	fails_cleanly("KW_FAIL_ALLOC", 2000, open_scenario, dir, "open");
	snprintf(dir, sizeof(dir), "%s", temp_file("write"));
	fails_cleanly("KW_FAIL_WRITE", 100, open_scenario, dir, "open");
	return done();
}
