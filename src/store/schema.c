/* The schema, as the steps that made it. A step that was released is never edited: append one. The
 * version of a store (PRAGMA user_version) is the number of steps it has taken. */
#include "store/db.h"

#define KW_APPLICATION_ID 0x4b575254 /* "KWRT": tells our file from another SQLite database */

static const char *const steps[] = {
	/* 1: runs, candidates, verdicts; experience.
	 * verdicts.candidate_sha has no foreign key: a verdict may hold baselines alone. chain keeps the
	 * link of a record whose run was removed, so that the rest can still be verified. */
	"CREATE TABLE runs ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  task_name TEXT NOT NULL, task_text TEXT NOT NULL, task_sha TEXT NOT NULL,"
	"  backend TEXT NOT NULL, device TEXT NOT NULL, strategy TEXT NOT NULL,"
	"  options TEXT NOT NULL, state TEXT NOT NULL,"
	"  started_ms INTEGER NOT NULL, ended_ms INTEGER NOT NULL DEFAULT 0,"
	"  pid INTEGER NOT NULL DEFAULT 0, pid_start INTEGER NOT NULL DEFAULT 0,"
	"  host TEXT NOT NULL DEFAULT '', boot TEXT NOT NULL DEFAULT '',"
	"  beat_ms INTEGER NOT NULL DEFAULT 0, result TEXT) STRICT;"
	"CREATE TABLE rounds ("
	"  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  number INTEGER NOT NULL, step TEXT NOT NULL, evaluations INTEGER NOT NULL,"
	"  best_ns_before REAL, best_ns_after REAL,"
	"  PRIMARY KEY (run_id, number)) STRICT;"
	"CREATE TABLE candidates ("
	"  sha TEXT PRIMARY KEY, name TEXT NOT NULL, backend TEXT NOT NULL,"
	"  origin TEXT NOT NULL, source BLOB NOT NULL) STRICT;"
	"CREATE TABLE verdicts ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  run_id INTEGER REFERENCES runs(id) ON DELETE CASCADE,"
	"  round INTEGER NOT NULL, effort TEXT NOT NULL,"
	"  task_name TEXT NOT NULL, candidate_sha TEXT NOT NULL, tune TEXT NOT NULL,"
	"  class TEXT NOT NULL, subclass TEXT NOT NULL, summary TEXT NOT NULL,"
	"  median_ns REAL, speedup REAL, sol REAL,"
	"  when_ms INTEGER NOT NULL, record TEXT NOT NULL, sha TEXT NOT NULL) STRICT;"
	"CREATE INDEX verdicts_run ON verdicts (run_id, candidate_sha, tune, effort);"
	"CREATE TABLE chain ("
	"  seq INTEGER PRIMARY KEY AUTOINCREMENT, verdict_id INTEGER NOT NULL UNIQUE,"
	"  prev_sha TEXT NOT NULL, sha TEXT NOT NULL) STRICT;"
	"CREATE TABLE memory ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  kind TEXT NOT NULL, name TEXT NOT NULL, family TEXT NOT NULL, device TEXT NOT NULL,"
	"  dtype TEXT NOT NULL, text TEXT NOT NULL, outcome TEXT NOT NULL,"
	"  speedup REAL, when_ms INTEGER NOT NULL) STRICT;"
	"CREATE VIRTUAL TABLE memory_words USING fts5 ("
	"  kind, name, family, device, dtype, text, outcome,"
	"  content='memory', content_rowid='id', tokenize='porter unicode61');"
	"CREATE TRIGGER memory_insert AFTER INSERT ON memory BEGIN"
	"  INSERT INTO memory_words (rowid, kind, name, family, device, dtype, text, outcome)"
	"  VALUES (new.id, new.kind, new.name, new.family, new.device, new.dtype, new.text,"
	"          new.outcome);"
	"END;"
	"CREATE TABLE kv ("
	"  kind TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, when_ms INTEGER NOT NULL,"
	"  PRIMARY KEY (kind, key)) STRICT, WITHOUT ROWID;",

	/* 2: what profilers and models will add. */
	"CREATE TABLE findings ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  verdict_id INTEGER NOT NULL REFERENCES verdicts(id) ON DELETE CASCADE,"
	"  finding TEXT NOT NULL, when_ms INTEGER NOT NULL) STRICT;"
	"CREATE INDEX findings_verdict ON findings (verdict_id);"
	"CREATE TABLE profiles ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  verdict_id INTEGER NOT NULL REFERENCES verdicts(id) ON DELETE CASCADE,"
	"  profile TEXT NOT NULL, when_ms INTEGER NOT NULL) STRICT;"
	"CREATE INDEX profiles_verdict ON profiles (verdict_id);"
	"CREATE TABLE model_calls ("
	"  id INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  model_call TEXT NOT NULL, when_ms INTEGER NOT NULL) STRICT;"
	"CREATE INDEX model_calls_run ON model_calls (run_id);",

	/* 3: tasks, so that a lone verdict can be repeated; facts of a run that only some have. */
	"CREATE TABLE tasks ("
	"  sha TEXT PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL) STRICT;"
	"INSERT INTO tasks SELECT task_sha, task_name, task_text FROM runs WHERE true"
	" ON CONFLICT DO NOTHING;"
	"CREATE TABLE facts ("
	"  run_id INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,"
	"  name TEXT NOT NULL, fact TEXT NOT NULL, PRIMARY KEY (run_id, name)) STRICT;",

	/* 4: what was asked and answered, once each by hash; the call of a run by its slot. */
	"CREATE TABLE texts (sha TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT, WITHOUT ROWID;"
	"ALTER TABLE model_calls ADD COLUMN slot TEXT NOT NULL DEFAULT '';"
	"CREATE INDEX model_calls_slot ON model_calls (run_id, slot);",

	/* 5: experience can be forgotten. */
	"CREATE TRIGGER memory_delete AFTER DELETE ON memory BEGIN"
	"  INSERT INTO memory_words (memory_words, rowid, kind, name, family, device, dtype, text, outcome)"
	"  VALUES ('delete', old.id, old.kind, old.name, old.family, old.device, old.dtype, old.text,"
	"          old.outcome);"
	"END;",

	/* 6: runs of a run: the items of a benchmark, one of a name. */
	"ALTER TABLE runs ADD COLUMN parent INTEGER REFERENCES runs(id) ON DELETE CASCADE;"
	"ALTER TABLE runs ADD COLUMN item TEXT NOT NULL DEFAULT '';"
	"CREATE UNIQUE INDEX runs_parent ON runs (parent, item) WHERE parent IS NOT NULL;",

	/* 7: what a round expected of the time, and what its kernels took. */
	("ALTER TABLE rounds ADD COLUMN predicted REAL;"
	 "ALTER TABLE rounds ADD COLUMN measured_ns REAL;"),

	/* 8: the kernels that won, without looking at all experience. */
	"CREATE INDEX memory_kernels ON memory (family, outcome) WHERE kind = 'kernel';",

	/* 9: what lists are made of, in their order, without the records and sources between which it stands: of 10,000 verdicts
	 * that is a tenth of the pages, and by verdicts_run they came in the order of hashes. */
	("CREATE INDEX verdicts_list ON verdicts (run_id, id, round, effort, task_name, candidate_sha, tune, class, subclass, summary,"
	 " median_ns, speedup, sol, when_ms);"
	 "CREATE INDEX candidates_names ON candidates (sha, name);"
	 "DROP INDEX verdicts_run;"
	 "CREATE INDEX verdicts_run ON verdicts (run_id, candidate_sha, tune, effort, class);"),
};

int kw_schema_version(void)
{
	return (int)(sizeof(steps) / sizeof(steps[0]));
}

static enum kw_status run_script(struct kw_store *s, const char *sql, struct kw_error *err)
{
	int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? KW_OK : kw_db_fail(s, code, err);
}

static enum kw_status set_version(struct kw_store *s, int version, struct kw_error *err)
{
	char sql[64];

	sqlite3_snprintf(sizeof(sql), sql, "PRAGMA user_version = %d", version);
	return run_script(s, sql, err);
}

/* Reads both marks; a file with tables but without ours belongs to someone else. */
static enum kw_status read_version(struct kw_store *s, int64_t *version, struct kw_error *err)
{
	int64_t id = 0, tables = 0;
	bool found;
	enum kw_status status;

	status = kw_db_one_i64(s, err, version, &found, "PRAGMA user_version", "");
	if (status == KW_OK)
		status = kw_db_one_i64(s, err, &id, &found, "PRAGMA application_id", "");
	if (status == KW_OK)
		status = kw_db_one_i64(s, err, &tables, &found,
				       "SELECT count(*) FROM sqlite_schema", "");
	if (status == KW_OK && id != KW_APPLICATION_ID && (tables || *version))
		return kw_db_fail(s, SQLITE_NOTADB, err);
	return status;
}

static enum kw_status refuse(struct kw_store *s, int64_t version, struct kw_error *err)
{
	if (version > kw_schema_version())
		return kw_fail(err, KW_ERR_STORE, s->path,
			       "the store has schema version %d, and kwright " KW_VERSION
			       " knows version %d: use a newer kwright",
			       (int)version, kw_schema_version());
	return kw_fail(err, KW_ERR_STORE, s->path,
		       "the store has schema version %d and must be brought to version %d, but it "
		       "is opened read-only here", (int)version, kw_schema_version());
}

enum kw_status kw_schema_migrate(struct kw_store *s, int to, struct kw_error *err)
{
	int64_t version;
	enum kw_status status = read_version(s, &version, err);

	if (to == 0)
		to = kw_schema_version();
	if (status != KW_OK)
		return status;
	if (version == to)
		return KW_OK;
	/* What is left of a store whose making was cut off (a full disk, kill -9): nothing is in it yet. */
	if (version == 0 && s->read_only)
		return kw_fail(err, KW_ERR_NOT_FOUND, s->path, "there is no store here yet");
	if (version > kw_schema_version() || s->read_only)
		return refuse(s, version, err);
	status = kw_db_begin(s, err);
	if (status != KW_OK)
		return status;
	/* Again, now that nobody else can migrate it. */
	status = read_version(s, &version, err);
	if (status == KW_OK && version == 0) {
		char sql[64];

		sqlite3_snprintf(sizeof(sql), sql, "PRAGMA application_id = %d", KW_APPLICATION_ID);
		status = run_script(s, sql, err);
	}
	for (; status == KW_OK && version < to; version++)
		status = run_script(s, steps[version], err);
	if (status == KW_OK)
		status = set_version(s, (int)version, err);
	return kw_db_finish(s, status, err);
}
