/* Runs: owners, counting, the best, results, removal; candidates, verdicts, experience. */
#include <signal.h>

#include "store/db.h"
#include "store_help.h"
#include "tap.h"
#include "temp.h"

static struct kw_error err;
static char line[2200];
static struct kw_arena a;
static struct kw_store *s;

static const char *error_line(void)
{
	return kw_error_line(&err, line, sizeof(line));
}

static void test_owner(void)
{
	int64_t id = new_run(s);
	int go[2], ready[2];
	char c = 0;
	pid_t pid;

	is_int(kw_store_run_claim(s, id, &err), KW_OK, "a second claim by the owner is fine");
	kw_db_exec(s, NULL, "UPDATE runs SET pid = 0", "");
	if (pipe(go) != 0 || pipe(ready) != 0)
		exit(2);
	pid = fork();
	if (pid == 0) {
		struct kw_store *mine;
		bool good = kw_store_open(kw_store_dir(s), false, &mine, &err) == KW_OK &&
			    kw_store_run_claim(mine, id, &err) == KW_OK;

		c = good ? 'y' : 'n';
		if (write(ready[1], &c, 1) == 1)
			good = read(go[0], &c, 1) == 1;
		_exit(0);
	}
	ok(read(ready[0], &c, 1) == 1 && c == 'y', "another process claims it");
	is_int(kw_store_run_claim(s, id, &err), KW_ERR_STORE, "we cannot");
	snprintf(line, sizeof(line), "run %lld is being run by process %d", (long long)id, (int)pid);
	has_str(err.text, line, "it names the process");
	is_int(kw_store_run_remove(s, id, &err), KW_ERR_STORE, "nor remove it");
	is_int(put(s, id, "c", "", "full", 1, &(int64_t){ 0 }, &err), KW_ERR_STORE, "nor add to it");
	is_int(kw_store_run_end(s, id, KW_RUN_GOAL, NULL, &err), KW_ERR_STORE, "nor end it");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(kw_store_run_claim(s, id, &err), KW_OK, "a dead owner is taken over");
	kw_db_exec(s, NULL, "UPDATE runs SET pid_start = pid_start + 1 WHERE id = ?", "i", id);
	is_int(kw_store_run_claim(s, id, &err), KW_OK, "the number of a dead one, used again");
	kw_db_exec(s, NULL, "UPDATE runs SET host = 'elsewhere' WHERE id = ?", "i", id);
	is_int(kw_store_run_claim(s, id, &err), KW_ERR_STORE, "an owner on another host");
	has_str(error_line(), "of elsewhere", "is named with its host");
	kw_db_exec(s, NULL, "UPDATE runs SET beat_ms = beat_ms - 700000 WHERE id = ?", "i", id);
	is_int(kw_store_run_claim(s, id, &err), KW_OK, "and taken over after ten silent minutes");
	is_int(kw_store_run_claim(s, 999, &err), KW_ERR_NOT_FOUND, "no such run");
	kw_store_run_end(s, id, KW_RUN_GOAL, NULL, &err);
}

static void test_counting(void)
{
	struct kw_run_row r;
	struct kw_verdict_row v, *rows;
	struct kw_round round = { .index = 1, .step = "pattern row_softmax", .evaluations = 3,
				  .best_ns_after = 20 }, *rounds;
	struct kw_result_entry entry = { .require = "rows > 3", .candidate_sha = "c1",
					 .tune = "T=2", .cases = "rows=4" };
	struct kw_result_list list = { .entries = &entry, .count = 1 }, back;
	int64_t run = new_run(s), ids[5] = { 0 }, other;
	size_t count;
	bool found;

	put(s, run, "c1", "T=1", "screen", 15, &ids[0], &err);
	put(s, run, "c1", "T=2", "screen", 0, &ids[1], &err);
	put(s, 0, "c9", "", "full", 7, &ids[2], &err); /* a gap in the numbers of this run */
	put(s, run, "c1", "T=3", "final", 25, &ids[3], &err);
	put(s, run, "c2", "T=3", "screen", 20, &ids[4], &err);
	other = new_run(s);
	put(s, other, "c1", "T=1", "screen.1@2", 2, &ids[1], &err);
	put(s, other, "c1", "T=1", "screen", 15, &ids[0], &err);
	put(s, other, "c1", "T=3", "screen.1", 14, &ids[4], &err);
	kw_store_run_get(s, other, &a, &r, &err);
	is_int(r.best_verdict_id, ids[4], "a look at another case than the first is no better for its time");
	is_int(kw_store_run_get(s, run, &a, &r, &err), KW_OK, "the run");
	is_int(r.evaluations, 4, "counts its own verdicts, not the highest number");
	is_int(r.best_verdict_id, ids[3], "the most thorough effort decides the best");
	ok(r.best_ns > 24.99 && r.best_ns < 25.01, "its time");
	is_int(r.state, KW_RUN_RUNNING, "it runs");
	is_int(r.pid, getpid(), "by us");
	kw_store_verdict_list(s, run, &a, &rows, &count, &err);
	is_int(count, 4, "its verdicts");
	is_str(rows[1].cls, "wrong", "the class");
	is_str(rows[1].subclass, "mismatch", "the sub-class");
	kw_store_verdict_find(s, run, "c1", "T=3", "final", &a, &v, &found, &err);
	ok(found && v.id == ids[3], "what was judged is found");
	kw_store_verdict_find(s, run, "c1", "T=3", "screen", &a, &v, &found, &err);
	ok(!found, "by its effort");
	kw_store_verdict_find(s, run, "c9", "", "full", &a, &v, &found, &err);
	ok(!found, "in its run");
	is_int(kw_store_verdict_get(s, 12345, &a, &v, &err), KW_ERR_NOT_FOUND, "no such verdict");
	is_int(kw_store_round_put(s, run, &round, &err), KW_OK, "a round");
	round.evaluations = 4;
	is_int(kw_store_round_put(s, run, &round, &err), KW_OK, "again");
	kw_store_round_list(s, run, &a, &rounds, &count, &err);
	ok(count == 1 && rounds[0].evaluations == 4, "is replaced");
	is_str(rounds[0].step, "pattern row_softmax", "its step");
	is_int(kw_store_run_end(s, run, KW_RUN_CONVERGED, &list, &err), KW_OK, "ends");
	kw_store_run_get(s, run, &a, &r, &err);
	ok(r.state == KW_RUN_CONVERGED && r.pid == 0 && r.ended_ms >= r.started_ms, "is over");
	is_int(kw_store_run_result(s, run, &a, &back, &err), KW_OK, "its result");
	ok(back.count == 1, "has one entry");
	if (back.count == 1)
		is_str(back.entries[0].tune, "T=2", "with its tune point");
	is_int(put(s, run, "c1", "", "full", 1, &ids[0], &err), KW_ERR_STORE, "takes no more");
}

static void test_removal(void)
{
	struct kw_candidate c = { .name = "k", .backend = "c", .source = "int x;", .source_len = 6,
				  .sha256 = "c77", .origin = "file:k.c" };
	struct kw_chain_report before, after;
	struct kw_run_row r;
	const char *source, *backend, *name;
	size_t len = 0;
	int64_t run = new_run(s), id = 0, next;

	is_int(kw_store_candidate_put(s, &c, &err), KW_OK, "a candidate");
	is_int(kw_store_candidate_put(s, &c, &err), KW_OK, "twice is once");
	put(s, run, "c77", "", "full", 3, &id, &err);
	is_int(kw_store_candidate_get(s, "c77", &a, &source, &len, &backend, &name, &err), KW_OK,
	       "is found");
	ok(len == 6 && strcmp(source, "int x;") == 0 && strcmp(name, "k") == 0, "as it was");
	kw_store_chain_check(s, &before, &err);
	is_int(kw_store_run_remove(s, run, &err), KW_OK, "the run is removed");
	is_int(kw_store_run_get(s, run, &a, &r, &err), KW_ERR_NOT_FOUND, "and gone");
	is_int(kw_store_candidate_get(s, "c77", &a, &source, &len, &backend, &name, &err),
	       KW_ERR_NOT_FOUND, "with its candidate");
	kw_store_chain_check(s, &after, &err);
	ok(after.links == before.links && after.removed == before.removed + 1 &&
	   after.first_bad == 0, "its link stays, so the chain still holds");
	next = new_run(s);
	ok(next > run, "its number is not used again");
}

/* Where nothing collects orphans a killed owner stays a zombie for ever: it runs nothing. */
static void test_zombie(void)
{
	int64_t id = new_run(s);
	siginfo_t how = { 0 };
	pid_t pid;

	kw_db_exec(s, NULL, "UPDATE runs SET pid = 0", "");
	pid = fork();
	if (pid == 0) {
		struct kw_store *mine;

		_exit(kw_store_open(kw_store_dir(s), false, &mine, &err) == KW_OK && kw_store_run_claim(mine, id, &err) == KW_OK ? 0 : 1);
	}
	waitid(P_PID, (id_t)pid, &how, WEXITED | WNOWAIT); /* ended, and left where it is */
	is_int(how.si_status, 0, "a process claims a run and ends");
	is_int(kw_store_run_claim(s, id, &err), KW_OK, "before it is collected the run is free");
	waitpid(pid, NULL, 0);
}

static void test_items(void)
{
	struct kw_run_row bench = { .task_name = "kernelbench", .task_sha = "b1", .strategy = "bench" }, row, *rows;
	struct kw_run_row item = { .task_name = "relu", .task_text = "name: relu\n", .task_sha = "t9", .strategy = "eval",
				   .item = "level1/19#0" };
	int64_t id = 0, found = 0, first = 0, second = 0, verdict = 0;
	size_t before = 0, count = 0;

	kw_store_run_list(s, &a, &rows, &before, &err);
	is_int(kw_store_run_new(s, &bench, &id, &err), KW_OK, "a benchmark is a run");
	item.parent = id;
	is_int(kw_store_run_new(s, &item, &first, &err), KW_OK, "with an item");
	ok(kw_store_run_new(s, &item, &second, &err) != KW_OK, "no item twice");
	item.item = "level1/20#0";
	is_int(kw_store_run_new(s, &item, &second, &err), KW_OK, "another item");
	put(s, second, "c9", "", "full", 5, &verdict, &err);
	kw_store_run_list(s, &a, &rows, &count, &err);
	is_int(count, before + 1, "the list shows runs of their own");
	is_int(kw_store_run_items(s, id, &a, &rows, &count, &err), KW_OK, "items of it");
	ok(count == 2 && rows[0].id == first && rows[1].id == second, "in order");
	ok(rows[1].parent == id && strcmp(rows[1].item, "level1/20#0") == 0, "know where they belong");
	kw_store_run_get(s, id, &a, &row, &err);
	ok(row.evaluations == 1 && row.parent == 0 && row.item[0] == '\0', "what items cost counts for it");
	kw_store_run_find(s, "bench", "b1", &found, &err);
	is_int(found, id, "it is found by what it is about");
	kw_store_run_find(s, "bench", "b2", &found, &err);
	is_int(found, 0, "another is not");
	is_int(kw_store_run_remove(s, id, &err), KW_OK, "removed");
	is_int(kw_store_run_get(s, second, &a, &row, &err), KW_ERR_NOT_FOUND, "with its items");
	is_int(kw_store_run_items(s, id, &a, &rows, &count, &err), KW_OK, "of which");
	is_int(count, 0, "none is left");
}

static void test_chain(void)
{
	struct kw_chain_report r;
	int64_t id = 0;

	put(s, 0, "c5", "", "full", 3, &id, &err);
	kw_store_chain_check(s, &r, &err);
	is_int(r.first_bad, 0, "the chain holds");
	kw_db_exec(s, NULL, "UPDATE verdicts SET record = replace(record, 'softmax', 'softmin')"
			    " WHERE id = ?", "i", id);
	kw_store_chain_check(s, &r, &err);
	is_int(r.first_bad, id, "a changed record is found");
}

static void test_memory(void)
{
	struct kw_memory_row row = { .kind = "verdict", .name = "softmax", .family = "row_reduce",
				     .device = "cpu", .dtype = "f32", .outcome = "ok", .speedup = 9,
				     .text = "online softmax with THREADS=8 vectorised" }, *rows;
	size_t count = 0;
	int64_t id = 0;
	const char *value;

	is_int(kw_store_memory_add(s, &row, &id, &err), KW_OK, "experience");
	row.text = "a matmul in tiles";
	row.name = "matmul";
	kw_store_memory_add(s, &row, NULL, &err);
	kw_store_memory_search(s, "softmax vector", 10, &a, &rows, &count, &err);
	ok(count == 1 && rows[0].id == id, "is found by the stems of its words");
	kw_store_memory_search(s, "tiles softmax", 10, &a, &rows, &count, &err);
	is_int(count, 2, "with no row of all words, rows of some");
	kw_store_memory_search(s, "\"AND ( NEAR* col: ' --", 10, &a, &rows, &count, &err);
	is_int(count, 0, "no word is query syntax");
	is_int(kw_store_memory_search(s, "", 1, &a, &rows, &count, &err), KW_OK, "no words");
	ok(count == 1 && strcmp(rows[0].name, "matmul") == 0, "is the newest");
	is_int(kw_store_memory_get(s, id, &a, rows, &err), KW_OK, "by its number");
	is_str(rows->text, "online softmax with THREADS=8 vectorised", "its text");
	is_int(kw_store_memory_get(s, 99, &a, rows, &err), KW_ERR_NOT_FOUND, "no such");
	kw_store_kv_get(s, "ceilings", "cpu", &a, &value, &err);
	ok(value == NULL, "no value");
	kw_store_kv_put(s, "ceilings", "cpu", "1", &err);
	kw_store_kv_put(s, "ceilings", "cpu", "2", &err);
	kw_store_kv_get(s, "ceilings", "cpu", &a, &value, &err);
	is_str(value, "2", "the last value");
}

static size_t recalled(const char *device, const char *bound, int64_t before_ms, struct kw_memory_row **rows)
{
	struct kw_memory_about about = { .family = "walrus", .device = device, .dtype = "f32", .bound = bound, .before_ms = before_ms };
	size_t count = 99;

	is_int(kw_store_memory_recall(s, &about, 10, &a, rows, &count, &err), KW_OK, "recall %s", device);
	return count;
}

static void test_recall(void)
{
	struct kw_memory_row row = { .kind = "verdict", .name = "r1-coder", .family = "walrus", .device = "cpu", .dtype = "f32", .outcome = "ok",
				     .text = "whole vectors", .when_ms = 100 }, *rows;
	struct kw_store *other = NULL;
	bool failed = false;
	size_t others;

	is_int(recalled("cpu", NULL, 0, &rows), 2, "what has the dtype, before anything of the family");
	kw_store_memory_add(s, &row, NULL, &err);
	ok(recalled("cpu", NULL, 0, &rows) == 3 && rows[0].when_ms == 100, "what was added is there at once, the family first");
	is_str(rows[0].text, "whole vectors", "whole");
	row.when_ms = 200;
	is_int(kw_store_open(kw_store_dir(s), false, &other, &err), KW_OK, "another handle");
	kw_store_memory_add(other, &row, NULL, &err);
	ok(recalled("cpu", NULL, 0, &rows) == 4 && rows[0].when_ms == 200, "what another added too, the newest first");
	kw_store_memory_forget(other, rows[0].id, &err);
	ok(recalled("cpu", NULL, 0, &rows) == 3 && rows[0].when_ms == 100, "and what it took away is not");
	kw_store_close(other);
	row.device = "gpu";
	kw_store_memory_add(s, &row, NULL, &err);
	row.text = "tiles; bound by compute";
	kw_store_memory_add(s, &row, NULL, &err);
	row.when_ms = 300;
	row.text = "loops; bound by memory";
	kw_store_memory_add(s, &row, NULL, &err);
	recalled("cpu", NULL, 0, &rows);
	is_str(rows[0].text, "whole vectors", "of one's own device before newer ones");
	recalled("gpu", "compute", 0, &rows);
	is_str(rows[0].text, "tiles; bound by compute", "of one's own bottleneck too");
	recalled("gpu", NULL, 0, &rows);
	is_str(rows[0].text, "loops; bound by memory", "without one the newest");
	recalled("gpu", NULL, 300, &rows);
	is_str(rows[0].text, "tiles; bound by compute", "of before a time");
	row.when_ms = 400;
	row.device = "cpu";
	row.outcome = "wrong: race";
	row.text = "lanes that race";
	kw_store_memory_add(s, &row, NULL, &err);
	recalled("cpu", NULL, 0, &rows);
	is_str(rows[0].text, "lanes that race", "a failure on one's own device is told");
	others = recalled("gpu", NULL, 0, &rows);
	for (size_t i = 0; i < others; i++)
		failed = failed || strcmp(rows[i].text, "lanes that race") == 0;
	ok(others > 0 && !failed, "and elsewhere is not");
	row.device = "gpu";
	row.outcome = "ok";
	row.kind = "kernel";
	row.text = "the kernel of a walrus";
	kw_store_memory_add(s, &row, NULL, &err);
	recalled("gpu", NULL, 0, &rows);
	is_str(rows[0].text, "loops; bound by memory", "kernels are apart");
	row.kind = "note";
	row.family = row.device = "";
	row.text = "a walrus wants whole rows";
	kw_store_memory_add(s, &row, NULL, &err);
	recalled("gpu", NULL, 100, &rows);
	is_str(rows[0].text, "a walrus wants whole rows", "and a note that fits is first, of any time");
	row.text = kw_arena_printf(&a, "%s%100000d", row.text, 7);
	kw_store_memory_add(s, &row, NULL, &err);
	recalled("gpu", NULL, 0, &rows);
	is_str(rows[0].text, "a walrus wants whole rows", "but for one that no prompt has room for");
}

static void test_winners(void)
{
	struct kw_memory_row row = { .kind = "kernel", .name = "first", .family = "seal", .device = "cpu", .dtype = "f32", .outcome = "c",
				     .text = "void first" }, got;
	bool found = true;

	is_int(kw_store_memory_kernel(s, "seal", "c", "f32", &a, &got, &found, &err), KW_OK, "a family without a kernel");
	ok(!found, "has none");
	kw_store_memory_add(s, &row, NULL, &err);
	row.name = "second";
	row.dtype = "f16";
	kw_store_memory_add(s, &row, NULL, &err);
	row.name = "cuda";
	row.outcome = "cuda";
	kw_store_memory_add(s, &row, NULL, &err);
	kw_store_memory_kernel(s, "seal", "c", "f32", &a, &got, &found, &err);
	is_str(found ? got.name : "", "first", "the one of this dtype");
	kw_store_memory_kernel(s, "seal", "c", "f64", &a, &got, &found, &err);
	is_str(found ? got.name : "", "second", "else the newest");
	kw_store_memory_kernel(s, "seal", "opencl", "f32", &a, &got, &found, &err);
	ok(!found, "none of another language");
}

static void test_add_all(void)
{
	struct kw_memory_row rows[3], *found;
	size_t added = 0, count = 0;

	for (int i = 0; i < 3; i++)
		rows[i] = (struct kw_memory_row){ .kind = "note", .name = "n", .family = "", .device = "", .dtype = "", .outcome = "",
						  .text = i == 1 ? "an otter" : "an otter swims" };
	is_int(kw_store_memory_add_all(s, rows, 3, &added, &err), KW_OK, "three rows of which two are equal");
	is_int(added, 2, "are two");
	rows[2].name = "an";
	rows[2].text = "otter swims";
	is_int(kw_store_memory_add_all(s, rows, 3, &added, &err), KW_OK, "two that are known and one");
	is_int(added, 1, "is one");
	setenv("KW_FAIL_WRITE", "1", 1);
	kw_fail_reload();
	rows[2].text = "an otter sleeps";
	ok(kw_store_memory_add_all(s, rows, 3, &added, &err) != KW_OK, "where nothing can be written");
	unsetenv("KW_FAIL_WRITE");
	kw_fail_reload();
	is_int(added, 0, "nothing is added");
	kw_store_memory_search(s, "otter", 0, &a, &found, &count, &err);
	is_int(count, 3, "three in all");
	is_int(kw_store_memory_add_all(s, rows, 3, &added, &err), KW_OK, "and afterwards");
	is_int(added, 1, "it can");
}

/* How many steps of SQLite's machine, and pages of the file, it takes to say what a run of n verdicts did. */
static void cost_of_run(int n, int *steps, int *pages)
{
	struct kw_store *own = NULL;
	struct kw_verdict_row *rows;
	struct kw_run_row r;
	char name[40];
	int64_t run = new_run(s), id;
	size_t count = 0;
	int unused;

	for (int i = 0; i < n; i++) {
		struct kw_verdict v;

		snprintf(name, sizeof(name), "%d-%d", (i * 7919) % n, n);
		make_verdict(&v, name, "", i % 3 ? 100 + i : 0);
		memset(v.evidence, 'e', sizeof(v.evidence) - 1);
		kw_store_verdict_put(s, run, 1, "full", &v, &id, NULL);
		kw_verdict_release(&v);
	}
	*steps = *pages = 0;
	if (kw_store_open(kw_store_dir(s), true, &own, &err) != KW_OK)
		return;
	kw_store_run_get(own, run, &a, &r, &err);
	kw_store_verdict_list(own, run, &a, &rows, &count, &err);
	for (size_t i = 0; i < KW_DB_KEPT; i++)
		*steps += own->kept[i].st ? sqlite3_stmt_status(own->kept[i].st, SQLITE_STMTSTATUS_VM_STEP, 0) : 0;
	sqlite3_db_status(own->db, SQLITE_DBSTATUS_CACHE_MISS, pages, &unused, 0);
	ok((int)count == n && r.evaluations == n && r.best_ns < 102.5, "a run of %d verdicts, and its best", n);
	ok(rows[n - 1].record[0] == '\0' && rows[n - 1].id == id, "in their order, without records");
	kw_store_close(own);
}

static void test_many(void)
{
	int few_steps, few_pages, steps, pages;

	cost_of_run(50, &few_steps, &few_pages);
	cost_of_run(500, &steps, &pages);
	ok(few_steps > 0 && steps < 15 * few_steps, "ten times as many take ten times as long: %d and %d steps", few_steps, steps);
	ok(pages > 0 && pages < 250, "what the 500 records stand in is not read: %d pages", pages);
}

int main(void)
{
	kw_arena_init(&a, 64 << 20);
	if (kw_store_open(temp_file("store"), false, &s, &err) != KW_OK)
		return 1;
	test_owner();
	test_zombie();
	test_counting();
	test_removal();
	test_items();
	test_chain();
	test_memory();
	test_recall();
	test_winners();
	test_add_all();
	test_many();
	kw_store_close(s);
	kw_arena_release(&a);
	return done();
}
