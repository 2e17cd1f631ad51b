/* store.h - every query; the only SQL in the tree. SQLite, WAL, one file (design 12).
 *
 * Where: `.kernelwright/store.db` of the working folder, or --store DIR. Verdicts are committed as they come, so kill -9
 * at any moment loses none that was reported. Several processes may use one store (busy timeout 5 s). The schema has a
 * version; an older store is migrated in one transaction, a newer one is refused with both versions named. A killed process
 * loses nothing that was committed; a power cut may lose the last moments, never the store. A store opened to read that is
 * not there is KW_ERR_NOT_FOUND. KW_FAIL_WRITE=n makes the n-th write to a store fail like a full disk.
 * A handle is for one thread. Strings returned live in the caller's arena. */
#ifndef KW_STORE_STORE_H
#define KW_STORE_STORE_H

#include "base/json.h"
#include "core/candidate.h"
#include "core/finding.h"
#include "core/run.h"
#include "core/verdict.h"

struct kw_store;
enum kw_status kw_store_open(const char *dir, bool read_only, struct kw_store **out, struct kw_error *err);
void kw_store_close(struct kw_store *s);
const char *kw_store_dir(const struct kw_store *s);
/* --store: experience goes to this folder too. Borrowed; NULL resets. Call before any thread starts. */
void kw_store_set_dir(const char *dir);
int kw_store_schema(void);               /* version that this program writes */

struct kw_run_row {
	int64_t id;
	const char *task_name, *task_text, *task_sha, *backend, *device, *strategy, *options; /* options: JSON */
	enum kw_run_state state;
	int64_t started_ms, ended_ms;
	int64_t pid;                      /* of the process that runs it now, or was killed while it did; 0: none */
	bool killed;                      /* RUNNING, and that process is gone; one of another host or container cannot be asked */
	const char *host;
	int evaluations;                  /* completed verdicts, its items' included; counted, never the highest id (case E09) */
	double best_ns, best_speedup;
	int64_t best_verdict_id;
	int64_t parent;                   /* the benchmark that this run is an item of; 0: a run of its own */
	const char *item;                 /* which one; "" */
};
struct kw_verdict_row {
	int64_t id, run_id;
	int round;
	const char *candidate_sha, *candidate_name, *tune, *cls, *subclass, *summary, *record; /* record: JSON */
	const char *effort, *task_name, *sha; /* sha: of the record; both are "" in a list */
	double median_ns, speedup, sol;   /* geometric means over the timed perf cases; 0: none */
	int64_t when_ms;
};
/* Runs. A new run belongs to the calling process. Claiming sets pid/host; a second claim of a run whose process lives is
 * KW_ERR_STORE "run 3 is being run by process 1234"; a dead owner is taken over. An owner that cannot be asked (another host,
 * another container) is taken over after 10 minutes without a sign of life in the store. Only the owner may add verdicts,
 * rounds and model calls to a run, or end it; ending gives it up. */
enum kw_status kw_store_run_new(struct kw_store *s, const struct kw_run_row *r, int64_t *id, struct kw_error *err);
enum kw_status kw_store_run_claim(struct kw_store *s, int64_t id, struct kw_error *err);
enum kw_status kw_store_run_end(struct kw_store *s, int64_t id, enum kw_run_state state, const struct kw_result_list *result,
				struct kw_error *err);
enum kw_status kw_store_run_get(struct kw_store *s, int64_t id, struct kw_arena *a, struct kw_run_row *out,
				struct kw_error *err);
/* Runs of their own; and the items of one, in order of arrival. */
enum kw_status kw_store_run_list(struct kw_store *s, struct kw_arena *a, struct kw_run_row **out, size_t *count,
				 struct kw_error *err);
enum kw_status kw_store_run_items(struct kw_store *s, int64_t parent, struct kw_arena *a, struct kw_run_row **out,
				  size_t *count, struct kw_error *err);
/* The newest run with this strategy and hash of its task; *id 0: there is none. */
enum kw_status kw_store_run_find(struct kw_store *s, const char *strategy, const char *task_sha, int64_t *id,
				 struct kw_error *err);
enum kw_status kw_store_run_remove(struct kw_store *s, int64_t id, struct kw_error *err);
enum kw_status kw_store_run_result(struct kw_store *s, int64_t id, struct kw_arena *a, struct kw_result_list *out,
				   struct kw_error *err);
/* What only some runs have (the tuner's report, files that were written), as JSON by name; replaced when put again.
 * *fact NULL when absent. */
enum kw_status kw_store_fact_put(struct kw_store *s, int64_t run_id, const char *name, const json_t *fact,
				 struct kw_error *err);
enum kw_status kw_store_fact_get(struct kw_store *s, int64_t run_id, const char *name, json_t **fact,
				 struct kw_error *err);
/* Tasks, stored once by hash; a new run puts its own. KW_ERR_NOT_FOUND. */
enum kw_status kw_store_task_put(struct kw_store *s, const char *sha256, const char *name, const char *text,
				 struct kw_error *err);
enum kw_status kw_store_task_get(struct kw_store *s, const char *sha256, struct kw_arena *a, const char **name,
				 const char **text, struct kw_error *err);
/* Candidates are stored once by hash. */
enum kw_status kw_store_candidate_put(struct kw_store *s, const struct kw_candidate *c, struct kw_error *err);
enum kw_status kw_store_candidate_get(struct kw_store *s, const char *sha256, struct kw_arena *a, const char **source,
				      size_t *len, const char **backend, const char **name, struct kw_error *err);
/* A verdict with its record (hash chained to the one before in this store); run_id 0: a lone eval. effort: "screen",
 * "full", "final". */
enum kw_status kw_store_verdict_put(struct kw_store *s, int64_t run_id, int round, const char *effort,
				    const struct kw_verdict *v, int64_t *id, struct kw_error *err);
/* In their order, without their records: those may be a hundred times as much as all else. */
enum kw_status kw_store_verdict_list(struct kw_store *s, int64_t run_id, struct kw_arena *a, struct kw_verdict_row **out,
				     size_t *count, struct kw_error *err);
enum kw_status kw_store_verdict_get(struct kw_store *s, int64_t id, struct kw_arena *a, struct kw_verdict_row *out,
				    struct kw_error *err);
/* Resume: has this (candidate, tune point, effort) been judged in this run already? */
enum kw_status kw_store_verdict_find(struct kw_store *s, int64_t run_id, const char *candidate_sha, const char *tune,
				     const char *effort, struct kw_arena *a, struct kw_verdict_row *out, bool *found,
				     struct kw_error *err);
/* How many verdicts of each kind a run and its items have, the most frequent first. */
struct kw_verdict_count {
	const char *cls, *subclass;
	int64_t count;
};
enum kw_status kw_store_verdict_counts(struct kw_store *s, int64_t run_id, struct kw_arena *a, struct kw_verdict_count **out,
				       size_t *count, struct kw_error *err);
enum kw_status kw_store_round_put(struct kw_store *s, int64_t run_id, const struct kw_round *r, struct kw_error *err);
enum kw_status kw_store_round_list(struct kw_store *s, int64_t run_id, struct kw_arena *a, struct kw_round **out,
				   size_t *count, struct kw_error *err);
enum kw_status kw_store_finding_put(struct kw_store *s, int64_t verdict_id, const struct kw_finding *f, struct kw_error *err);
/* A call of a model with its texts, in one transaction; c's hashes are set from them (its own are not looked at). */
struct kw_call_texts {
	const char *prompt, *answer, *reasoning; /* reasoning may be "" */
};
enum kw_status kw_store_model_call_put(struct kw_store *s, int64_t run_id, const struct kw_model_call *c,
				       const struct kw_call_texts *texts, struct kw_error *err);
/* What the run made of a call that was put when its answer arrived. The calls of a run are listed in the order in which they were settled,
 * whichever answer arrived first; those that nobody settled yet stand where they arrived. */
enum kw_status kw_store_model_call_settle(struct kw_store *s, int64_t run_id, const char *slot, const char *outcome, struct kw_error *err);
/* Resume: the call that this slot of a run had. prompt may be NULL in *texts: it is not read. */
enum kw_status kw_store_model_call_find(struct kw_store *s, int64_t run_id, const char *slot, struct kw_arena *a,
					struct kw_model_call *out, struct kw_call_texts *texts, bool *found,
					struct kw_error *err);
/* All calls of a run. */
enum kw_status kw_store_model_call_list(struct kw_store *s, int64_t run_id, struct kw_arena *a, struct kw_model_call **out,
					size_t *count, struct kw_error *err);
enum kw_status kw_store_text_get(struct kw_store *s, const char *sha, struct kw_arena *a, const char **text,
				 struct kw_error *err);
enum kw_status kw_store_profile_put(struct kw_store *s, int64_t verdict_id, const json_t *profile, struct kw_error *err);
/* Their JSON texts, in order of arrival. owner: the verdict, or the run for model calls. */
enum kw_store_text { KW_TEXT_FINDINGS, KW_TEXT_PROFILES, KW_TEXT_MODEL_CALLS };
enum kw_status kw_store_texts(struct kw_store *s, enum kw_store_text what, int64_t owner, struct kw_arena *a,
			      const char ***out, size_t *count, struct kw_error *err);

/* Whether every record still has its hash and hangs on the one before. Records of removed runs leave their link. */
struct kw_chain_report {
	int64_t links, removed;
	int64_t first_bad;                /* verdict id; 0: none */
};
enum kw_status kw_store_chain_check(struct kw_store *s, struct kw_chain_report *out, struct kw_error *err);
/* One record alone: is its sha256 that of its canonical text without it? */
enum kw_status kw_record_check(const json_t *record, bool *good, struct kw_error *err);

/* Experience: full-text memory over verdicts, in the user's data home (one store for all folders). Faults of the machine
 * never get here. words: FTS5 query made safe; empty = all. */
#define KW_MEMORY_KINDS "kernel", "note", "verdict"
struct kw_memory_row {
	int64_t id;
	const char *kind, *name, *family, *device, *dtype, *text, *outcome; /* kind: of KW_MEMORY_KINDS */
	double speedup;
	int64_t when_ms;
};
enum kw_status kw_store_memory_open(struct kw_store **out, struct kw_error *err); /* $XDG_DATA_HOME/kernelwright */
enum kw_status kw_store_memory_add(struct kw_store *s, const struct kw_memory_row *r, int64_t *id, struct kw_error *err);
/* The same, unless there is a row that is equal but for its time; *added says which. */
enum kw_status kw_store_memory_add_new(struct kw_store *s, const struct kw_memory_row *r, bool *added, struct kw_error *err);
/* Likewise of many: all of them, or none where one cannot be added. */
enum kw_status kw_store_memory_add_all(struct kw_store *s, const struct kw_memory_row *rows, size_t count, size_t *added, struct kw_error *err);
/* KW_ERR_NOT_FOUND when there is none. */
enum kw_status kw_store_memory_forget(struct kw_store *s, int64_t id, struct kw_error *err);
enum kw_status kw_store_memory_search(struct kw_store *s, const char *words, int limit, struct kw_arena *a,
				      struct kw_memory_row **out, size_t *count, struct kw_error *err);
/* What was learnt about the like of a task, kernels apart: notes that fit first, then its family; of these what shares device, dtype and
 * bottleneck, then the newest. Failures on other devices are left out: most were of another language. What is asked again while nothing was
 * added is answered from before: looking through the experience of many runs takes longer than a prompt may. */
struct kw_memory_about {
	const char *family, *device, *dtype; /* "" when not known */
	const char *bound;                /* "memory", "cache", "compute"; NULL: not known */
	int64_t before_ms;                /* of then, notes of any time; 0: of any time */
};
#define KW_MEMORY_BOUND "bound by "       /* what a text says of the bottleneck */
enum kw_status kw_store_memory_recall(struct kw_store *s, const struct kw_memory_about *about, int limit, struct kw_arena *a,
				      struct kw_memory_row **out, size_t *count, struct kw_error *err);
/* The kernel that won on a task of a family, in a backend's language: one of this dtype where there is one, of several the newest. */
enum kw_status kw_store_memory_kernel(struct kw_store *s, const char *family, const char *backend, const char *dtype, struct kw_arena *a,
				      struct kw_memory_row *out, bool *found, struct kw_error *err);
enum kw_status kw_store_memory_get(struct kw_store *s, int64_t id, struct kw_arena *a, struct kw_memory_row *out,
				   struct kw_error *err);
/* Tuning winners and ceilings: small key-value rows in the same place. */
enum kw_status kw_store_kv_put(struct kw_store *s, const char *table, const char *key, const char *value, struct kw_error *err);
enum kw_status kw_store_kv_get(struct kw_store *s, const char *table, const char *key, struct kw_arena *a, const char **value,
			       struct kw_error *err); /* *value NULL when absent */
/* Replaces a value by what `change` makes of it (old NULL: absent), with the store's lock held from the reading to the writing: what other
 * processes put meanwhile is not lost. What change writes is a text; when it fails nothing is put. */
typedef enum kw_status (*kw_kv_change)(void *arg, const char *old, struct kw_buf *text, struct kw_error *err);
enum kw_status kw_store_kv_change(struct kw_store *s, const char *table, const char *key, struct kw_arena *a, kw_kv_change change, void *arg,
				  struct kw_error *err);

#endif
