/* The resident process of a benchmark: loads problems, builds candidates ahead, judges or searches, and tells what came of it.
 * Everything that it did is in the store before it says so. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "ops/bench_server.h"
#include "search/ahead.h"

enum { BUILDERS_MAX = 64, TEXT_ARENA_BYTES = 64 << 20, CORES_OF_READER = 3, READ_AHEAD = 12 };

/* ---- what it says -------------------------------------------------------------------------------- */

static enum kw_status say(struct kw_bench_server *s, json_t *j)
{
	struct kw_buf text;
	enum kw_status status;

	kw_buf_init(&text, KW_BENCH_LINE_BYTES);
	status = j ? kw_json_canonical(j, &text, s->err) : kw_fail(s->err, KW_ERR_NOMEM, "", "out of memory");
	json_decref(j);
	kw_buf_addc(&text, '\n');
	if (status == KW_OK)
		status = kw_fd_write_all(s->out, text.ptr, text.len, "the benchmark", s->err);
	kw_buf_release(&text);
	return status;
}

static enum kw_status at(struct kw_bench_server *s, const char *step, const struct kw_bench_entry *e)
{
	kw_log(KW_LOG_DEBUG, "bench: %s %s", step, e ? e->key : "");
	return say(s, json_pack("{s:s, s:s}", "at", step, "key", e ? e->key : ""));
}

/* A fault of the machine is told, and is no result of the item. */
static bool is_machine(enum kw_status status)
{
	return status == KW_ERR_ENV || status == KW_ERR_IO || status == KW_ERR_STORE || status == KW_ERR_NOMEM || status == KW_ERR_BUG;
}

static enum kw_status end(struct kw_bench_server *s, struct kw_bench_entry *e, struct kw_bench_end *how)
{
	enum kw_status status;

	e->over = true;
	kw_log(KW_LOG_DEBUG, "bench: %s is over", e->key);
	how->problem_sha = e->problem_sha;
	how->candidate_sha = e->candidate_sha;
	how->again = e->again;
	how->wall_ns += e->load_ns + e->build_ns;
	status = kw_bench_item_end(s->store, s->parent, e->key, e->name, how, s->err);
	if (status != KW_OK)
		return status;
	return say(s, json_pack("{s:s, s:s, s:s}", "done", e->key, "state", kw_bench_state_name(how->state), "text",
				how->text ? how->text : ""));
}

/* What an error says of an item; a fault that will hit every item is the machine's. */
static enum kw_status end_by_error(struct kw_bench_server *s, struct kw_bench_entry *e, enum kw_bench_state state, const struct kw_error *why)
{
	char line[sizeof(why->where) + sizeof(why->text) + 4];
	struct kw_bench_end how = { .state = is_machine(why->status) ? KW_BENCH_MACHINE : state };

	how.text = kw_error_line(why, line, sizeof(line));
	return end(s, e, &how);
}

static enum kw_status say_unaudited(struct kw_bench_server *s, const struct kw_bench_entry *e, const struct kw_error *why)
{
	char line[sizeof(why->where) + sizeof(why->text) + 4];

	return say(s, json_pack("{s:s, s:s, s:s}", "done", e->key, "state", is_machine(why->status) ? kw_bench_state_name(KW_BENCH_MACHINE) : "",
				"text", kw_error_line(why, line, sizeof(line))));
}

/* ---- loading ------------------------------------------------------------------------------------- */

static void read_problem(void *arg, size_t i)
{
	struct kw_bench_server *s = arg;

	kw_bench_read_problem(s, &s->entry[i]);
}

static enum kw_status load_candidate(struct kw_bench_server *s, struct kw_bench_entry *e)
{
	struct kw_error why;

	kw_error_reset(&why);
	why.status = kw_bench_load_candidate(s, e, &why);
	return why.status == KW_OK ? KW_OK : end_by_error(s, e, KW_BENCH_UNUSABLE, &why);
}

static enum kw_status load(struct kw_bench_server *s, struct kw_bench_entry *e)
{
	int64_t start;
	enum kw_status status = at(s, "load", e);

	if (status != KW_OK)
		return status;
	if (s->readers)
		kw_bench_readers_wait(s->readers, (size_t)(e - s->entry));
	else
		read_problem(s, (size_t)(e - s->entry));
	if (!e->loaded && s->mode != KW_BENCH_MODE_AUDIT)
		return end_by_error(s, e, KW_BENCH_NO_PROBLEM, &e->why);
	if (!e->loaded) {
		e->over = true;
		return say_unaudited(s, e, &e->why);
	}
	start = kw_now_ns();
	if (s->mode == KW_BENCH_MODE_EVAL)
		status = load_candidate(s, e);
	e->load_ns += kw_now_ns() - start;
	return status;
}

/* ---- building ahead ------------------------------------------------------------------------------ */

enum { CANDIDATES, OWN, KINDS };

struct building {
	struct kw_bench_server *s;
	const struct kw_hardware *hw;
	size_t count;                     /* of s->entry, and KW_JUDGE_PARTS times as many of the judge's own */
	_Atomic size_t next;
	_Atomic int64_t over_ns[KINDS];   /* when the last of them was built */
};

static bool is_judged(const struct kw_bench_entry *e)
{
	return e->has_candidate && !e->over && !e->run_id;
}

/* Whether it will be judged as a module; nothing of it was before. */
static bool is_module(const struct kw_bench_entry *e)
{
	return is_judged(e) && strcmp(e->candidate.backend, "module") == 0;
}

/* What the judge builds of its own for a task is the first candidate's. */
static bool is_first_of_task(const struct kw_bench_server *s, const struct kw_bench_entry *e)
{
	if (!is_judged(e) || strcmp(s->judge_wanted, kw_bench_device_of(e->candidate.backend)) != 0)
		return false;
	for (const struct kw_bench_entry *k = s->entry; k < e; k++)
		if (is_judged(k) && strcmp(k->task.task.sha256, e->task.task.sha256) == 0)
			return false;
	return true;
}

static void *build_some(void *arg)
{
	struct building *b = arg;
	size_t i;

	while ((i = atomic_fetch_add(&b->next, 1)) < b->count * (1 + KW_JUDGE_PARTS)) {
		bool own = i >= b->count;
		struct kw_bench_entry *e = &b->s->entry[own ? (i - b->count) / KW_JUDGE_PARTS : i];
		int64_t start = kw_now_ns();

		if (own ? !is_first_of_task(b->s, e) : !is_judged(e))
			continue;
		if (own)
			kw_judge_build_ahead(b->s->judge, &e->task.task, e->task.expr, (int)((i - b->count) % KW_JUDGE_PARTS));
		else
			kw_ahead_build_one(&e->candidate, &e->task.task, -1, b->hw, b->s->search.large, NULL);
		if (!own)
			e->build_ns = kw_now_ns() - start;
		atomic_store(&b->over_ns[own ? OWN : CANDIDATES], kw_now_ns());
	}
	return NULL;
}

/* The judge's own builds run beside the candidates'. How much longer they take is shared by those that they were for. */
static void share_own(const struct building *b)
{
	struct kw_bench_server *s = b->s;
	int64_t longer = atomic_load(&b->over_ns[OWN]) - atomic_load(&b->over_ns[CANDIDATES]);
	int n = 0;

	for (size_t i = 0; i < b->count; i++)
		n += is_first_of_task(s, &s->entry[i]);
	for (size_t i = 0; longer > 0 && i < b->count; i++)
		if (is_first_of_task(s, &s->entry[i]))
			s->entry[i].build_ns += longer / n;
	if (longer > 0 && n)
		kw_log(KW_LOG_DEBUG, "bench: the judge's own kernels of %d tasks were built %.2f s after the candidates", n, (double)longer * 1e-9);
}

static void drop_judge(struct kw_bench_server *s)
{
	kw_judge_free(s->judge);
	s->judge = NULL;
	s->judge_wanted = s->judge_device = "";
}

/* Where the kind of device that a suite wants is none that works here, it is the backend's own. */
static enum kw_status new_judge(struct kw_bench_server *s, const char *backend, const char *device, const struct kw_backend *b, struct kw_error *err)
{
	enum kw_status status = KW_ERR_ENV;

	if (strcmp(device, b->device) != 0)
		status = kw_judge_new(device, &s->judge, NULL);
	if (status == KW_ERR_ENV)
		status = kw_op_judge_for(backend, &s->judge, err);
	return status;
}

static enum kw_status judge_for(struct kw_bench_server *s, const char *backend, struct kw_error *err)
{
	const struct kw_backend *b;
	const char *device = kw_bench_device_of(backend);
	enum kw_status status = kw_op_backend(backend, &b, err);

	if (status == KW_OK && s->judge && strcmp(s->judge_wanted, device) == 0)
		return KW_OK;
	drop_judge(s);
	if (status == KW_OK)
		status = new_judge(s, backend, device, b, err);
	if (status == KW_OK) {
		s->judge_wanted = device;
		s->judge_device = kw_judge_device(s->judge)->ops->name;
	}
	return status;
}

/* A search times, so that nothing stands in for its device; without one it says so itself. */
static void judge_to_search(struct kw_bench_server *s)
{
	const struct kw_backend *b = kw_backend_find(s->search.backend ? s->search.backend : "c");

	if (!b || (s->judge && strcmp(s->judge_wanted, b->device) == 0))
		return;
	drop_judge(s);
	if (kw_judge_new(b->device, &s->judge, NULL) == KW_OK)
		s->judge_wanted = s->judge_device = b->device;
}

/* Each has its share of what starting them took, beside the builds. */
static void wait_for_players(struct kw_bench_server *s, int modules, int64_t begun_ns)
{
	int64_t start = kw_now_ns();

	kw_judge_modules_ready(s->judge);
	for (size_t i = 0; i < s->count; i++)
		if (is_module(&s->entry[i]))
			s->entry[i].build_ns += (begun_ns + kw_now_ns() - start) / modules;
	if (modules)
		kw_log(KW_LOG_DEBUG, "bench: the players of %d modules are there, %.2f s after the builds", modules,
		       (double)(kw_now_ns() - start) * 1e-9);
}

/* References are checked while files are read and candidates built. What was there before it is known or not: asking twice is nothing. */
static void check_ahead(struct kw_bench_server *s, const struct kw_bench_entry *e)
{
	if (s->judge && s->mode == KW_BENCH_MODE_EVAL && e->has_candidate && !e->over && !e->run_id &&
	    strcmp(s->judge_wanted, kw_bench_device_of(e->candidate.backend)) == 0)
		kw_judge_check_ahead(s->judge, &e->task.task, e->task.expr, s->search.seed);
}

/* The check that is still under way is its problem's first candidate's, in its time and in what is said of it. */
static enum kw_status wait_for_check(struct kw_bench_server *s)
{
	const struct kw_task *t = kw_judge_check_last(s->judge);
	struct kw_bench_entry *e = NULL;
	int64_t start = kw_now_ns();
	enum kw_status status = KW_OK;

	for (size_t i = 0; t && i < s->count && !e; i++)
		if (&s->entry[i].task.task == t)
			e = &s->entry[i];
	if (e)
		status = at(s, "load", e);
	kw_judge_check_over(s->judge);
	if (e)
		e->build_ns += kw_now_ns() - start;
	return status;
}

/* On all cores while nothing is timed; the judge finds what came of it in the build cache. */
static enum kw_status build(struct kw_bench_server *s)
{
	struct building b = { .s = s, .count = s->count };
	pthread_t id[BUILDERS_MAX];
	int started = 0, modules = 0, triton = 0;
	size_t first = 0;
	int64_t start;
	enum kw_status status;

	while (first < s->count && (!s->entry[first].has_candidate || s->entry[first].over))
		first++;
	if (first == s->count || s->builders < 2 || judge_for(s, s->entry[first].candidate.backend, NULL) != KW_OK)
		return KW_OK; /* each will say for itself what is wrong */
	status = at(s, "build", NULL);
	for (const struct kw_bench_entry *e = s->entry; e < s->entry + s->count; e++) {
		modules += is_module(e);
		triton += is_module(e) && kw_bench_names_triton(e->candidate.source, e->candidate.source_len);
	}
	start = kw_now_ns();
	kw_judge_modules_ahead(s->judge, modules, triton);
	start = kw_now_ns() - start;
	for (size_t i = 0; i < s->count; i++)
		check_ahead(s, &s->entry[i]);
	b.hw = &kw_judge_device(s->judge)->hardware;
	for (int i = 0; i < KINDS; i++)
		atomic_store(&b.over_ns[i], kw_now_ns());
	while (status == KW_OK && started < s->builders - 1 && started < BUILDERS_MAX && (size_t)started + 1 < s->count * (1 + KW_JUDGE_PARTS) &&
	       pthread_create(&id[started], NULL, build_some, &b) == 0)
		started++;
	if (status == KW_OK)
		build_some(&b); /* this thread works too */
	for (int i = 0; i < started; i++)
		pthread_join(id[i], NULL);
	share_own(&b);
	wait_for_players(s, modules, start);
	return status == KW_OK ? wait_for_check(s) : status;
}

/* ---- items --------------------------------------------------------------------------------------- */

/* The run of a candidate's evaluation, ours from now on. */
static enum kw_status open_item(struct kw_bench_server *s, struct kw_bench_entry *e)
{
	struct kw_run_row row = { .task_name = e->task.task.name, .task_text = e->task.task.text, .task_sha = e->task.task.sha256,
				  .backend = e->candidate.backend, .device = s->judge_device, .strategy = KW_BENCH_EVAL,
				  .parent = s->parent, .item = e->key };

	if (e->run_id)
		return kw_store_run_claim(s->store, e->run_id, s->err);
	row.options = kw_arena_printf(&e->arena, "{\"candidate_sha\":\"%s\",\"problem_sha\":\"%s\"}", e->candidate_sha, e->problem_sha);
	if (!row.options)
		return kw_fail(s->err, KW_ERR_NOMEM, "", "out of memory");
	return kw_store_run_new(s->store, &row, &e->run_id, s->err);
}

/* A verdict that a killed process left behind. */
static enum kw_status find_verdict(struct kw_bench_server *s, const struct kw_bench_entry *e, struct kw_bench_end *how)
{
	struct kw_verdict_row *rows = NULL;
	struct kw_verdict v;
	struct kw_arena a;
	size_t n = 0;
	enum kw_status status;

	kw_arena_init(&a, 256 << 20);
	status = kw_store_verdict_list(s->store, e->run_id, &a, &rows, &n, s->err);
	if (status == KW_OK && n)
		status = kw_store_verdict_get(s->store, rows[n - 1].id, &a, &rows[n - 1], s->err);
	if (status == KW_OK && n) {
		status = kw_report_verdict_load(&rows[n - 1], &v, s->err);
		how->verdict_id = rows[n - 1].id;
		how->wall_ns = status == KW_OK ? v.total_ns : 0;
		if (status == KW_OK)
			kw_verdict_release(&v);
	}
	kw_arena_release(&a);
	return status;
}

/* The first perf case that is judged without --large; -1: none. */
static int first_perf(const struct kw_task *t, bool large)
{
	for (size_t i = 0; i < t->perf_count; i++)
		if (large || !t->cases[i].large)
			return (int)i;
	return -1;
}

/* A suite looks at its own sizes only. A candidate that is refused on another size was not looked at there: one trial says what
 * the suite's rule makes of it. No verdict, and nothing that is stored as one. */
static enum kw_status look_as_suite(struct kw_bench_server *s, struct kw_bench_entry *e, const struct kw_verdict *v, struct kw_bench_end *how)
{
	struct kw_judge_opts jo;
	struct kw_verdict own;
	struct kw_error why;
	int64_t compared = 0;
	enum kw_status status;

	for (size_t i = 0; i < v->case_count; i++)
		compared += v->cases[i].perf && !v->cases[i].unseen ? v->cases[i].close_compared : 0;
	if (compared || s->search.close.wide <= 0 || (v->cls != KW_V_WRONG && v->cls != KW_V_CHEAT))
		return KW_OK;
	kw_judge_opts_default(&jo, KW_EFFORT_SCREEN);
	jo.only_case = first_perf(&e->task.task, s->search.large);
	jo.threads = s->search.threads;
	jo.seed = s->search.seed;
	jo.large = s->search.large;
	jo.close = s->search.close;
	if (jo.only_case < 0)
		return KW_OK;
	kw_verdict_init(&own);
	kw_error_reset(&why);
	status = kw_judge_eval(s->judge, &e->task.task, e->task.expr, &e->candidate, &jo, &own, &why);
	for (size_t i = 0; status == KW_OK && i < own.case_count; i++) {
		how->close_compared += own.cases[i].close_compared;
		how->not_close += own.cases[i].not_close;
	}
	kw_verdict_release(&own);
	/* What could not be told stays not known; the verdict stands. */
	return status == KW_ERR_INTERRUPTED ? kw_fail(s->err, KW_ERR_INTERRUPTED, "", "%s", why.text) : KW_OK;
}

static enum kw_status judge_item(struct kw_bench_server *s, struct kw_bench_entry *e)
{
	struct kw_op_eval_opts o = { .ready_task = &e->task, .ready_candidate = &e->candidate, .effort = KW_EFFORT_FULL,
				     .threads = s->search.threads, .seed = s->search.seed, .large = s->search.large,
				     .baselines = s->search.baselines, .original = s->search.original, .timings = s->search.timings, .sanitize = s->search.sanitize,
				     .close = s->search.close };
	struct kw_bench_end how = { .state = KW_BENCH_JUDGED };
	int64_t start = kw_now_ns();
	struct kw_op_eval r;
	struct kw_error why;
	enum kw_status status;

	kw_error_reset(&why);
	why.status = judge_for(s, e->candidate.backend, &why);
	if (why.status != KW_OK)
		return end_by_error(s, e, KW_BENCH_UNUSABLE, &why);
	status = open_item(s, e);
	if (status == KW_OK && e->again)
		status = find_verdict(s, e, &how);
	if (status != KW_OK || how.verdict_id)
		return status == KW_OK ? end(s, e, &how) : status;
	o.judge = s->judge;
	o.run_id = e->run_id;
	why.status = kw_op_eval(s->env, &o, &r, &why);
	if (why.status == KW_ERR_INTERRUPTED)
		return kw_fail(s->err, KW_ERR_INTERRUPTED, "", "%s", why.text);
	if (why.status != KW_OK)
		return end_by_error(s, e, kw_bench_item_fault(&e->task.task, &why, KW_BENCH_UNUSABLE), &why);
	how.verdict_id = r.verdict_id;
	how.text = r.verdict.summary;
	how.wall_ns = kw_now_ns() - start; /* what a verdict takes: the suite's view is extra */
	status = look_as_suite(s, e, &r.verdict, &how);
	if (status == KW_OK)
		status = end(s, e, &how);
	kw_op_eval_release(&r);
	return status;
}

static enum kw_status search_item(struct kw_bench_server *s, struct kw_bench_entry *e)
{
	struct kw_op_search_opts o = s->search;
	struct kw_bench_end how = { .state = KW_BENCH_NO_KERNEL };
	int64_t start = kw_now_ns();
	struct kw_op_search r;
	struct kw_error why;
	enum kw_status status;

	kw_error_reset(&why);
	judge_to_search(s);
	o.ready_task = &e->task;
	o.judge = s->judge;
	o.parent_run = s->parent;
	o.item = e->key;
	o.resume_run = e->run_id;
	why.status = kw_op_optimize(s->env, &o, &r, &why);
	if (why.status == KW_ERR_INPUT && e->run_id && strstr(why.text, "another text")) {
		/* The problem has changed since that search began. */
		kw_op_search_release(&r);
		status = kw_op_run_remove(s->env, e->run_id, s->err);
		if (status != KW_OK)
			return status;
		e->run_id = o.resume_run = 0;
		kw_error_reset(&why);
		why.status = kw_op_optimize(s->env, &o, &r, &why);
	}
	how.wall_ns = kw_now_ns() - start;
	if (why.status == KW_ERR_INTERRUPTED) {
		status = kw_fail(s->err, KW_ERR_INTERRUPTED, "", "%s", why.text);
	} else if (why.status != KW_OK) {
		if (is_machine(why.status)) /* a device that failed is opened anew */
			drop_judge(s);
		status = end_by_error(s, e, kw_bench_item_fault(&e->task.task, &why, KW_BENCH_NO_KERNEL), &why);
	} else {
		how.verdict_id = r.report.proven ? r.report.best_row.id : 0;
		how.state = how.verdict_id ? KW_BENCH_JUDGED : KW_BENCH_NO_KERNEL;
		how.text = how.verdict_id ? r.report.best.summary : kw_run_state_text(r.report.run.state);
		status = end(s, e, &how);
	}
	kw_op_search_release(&r);
	return status;
}

static enum kw_status audit_item(struct kw_bench_server *s, struct kw_bench_entry *e)
{
	struct kw_arena a;
	const char **labels = NULL;
	json_t *list = json_array();
	struct kw_error why;
	size_t n = 0;
	enum kw_status status;

	kw_error_reset(&why);
	kw_arena_init(&a, 1 << 30);
	status = kw_op_task_audit(&e->task, &a, &labels, &n, &why);
	for (size_t i = 0; status == KW_OK && i < n; i++)
		json_array_append_new(list, json_string(labels[i]));
	if (status == KW_OK)
		status = say(s, json_pack("{s:s, s:O}", "done", e->key, "labels", list));
	else
		status = say_unaudited(s, e, &why);
	json_decref(list);
	kw_arena_release(&a);
	return status;
}

/* ---- batches ------------------------------------------------------------------------------------- */

static const char *text_of(struct kw_bench_server *s, struct kw_arena *a, const json_t *j, const char *key, enum kw_status *status)
{
	const char *out = kw_arena_strdup(a, kw_json_get_str(j, key, ""));

	if (!out && *status == KW_OK)
		*status = kw_fail(s->err, KW_ERR_NOMEM, "", "out of memory");
	return out;
}

static enum kw_status read_batch(struct kw_bench_server *s, const json_t *list)
{
	enum kw_status status = KW_OK;
	const json_t *j;
	size_t i;

	s->count = 0;
	json_array_foreach(list, i, j) {
		struct kw_bench_entry *e = &s->entry[s->count];

		if (s->count == KW_BENCH_BATCH)
			return kw_fail(s->err, KW_ERR_BUG, "", "a batch of more than %d items", KW_BENCH_BATCH);
		s->count++;
		*e = (struct kw_bench_entry){ 0 };
		kw_arena_init(&e->arena, TEXT_ARENA_BYTES);
		e->key = text_of(s, &e->arena, j, "key", &status);
		e->name = text_of(s, &e->arena, j, "name", &status);
		e->problem = text_of(s, &e->arena, j, "problem", &status);
		e->file = text_of(s, &e->arena, j, "file", &status);
		e->problem_sha = text_of(s, &e->arena, j, "problem_sha", &status);
		e->candidate_sha = text_of(s, &e->arena, j, "candidate_sha", &status);
		e->run_id = kw_json_get_i64(j, "run", 0);
		e->again = e->run_id != 0;
	}
	return status;
}

/* While the first problems are read, the device opens and the other processes import PyTorch too. */
static void expect(struct kw_bench_server *s)
{
	const struct kw_bench_entry *e = &s->entry[0];
	bool module = e->file[0] && kw_bench_is_python(e->file) && !kw_bench_says(e->file, "#@ kernel");
	const char *backend = s->search.backend ? s->search.backend : module ? "module" : e->file[0] ? kw_candidate_backend(e->file) : NULL;
	struct kw_error ignored;

	kw_error_reset(&ignored);
	if (s->expects || !s->count || !kw_bench_is_python(e->problem) || s->mode == KW_BENCH_MODE_AUDIT)
		return;
	s->expects = true;
	if (s->mode == KW_BENCH_MODE_OPTIMIZE)
		judge_to_search(s);
	else if (backend)
		judge_for(s, backend, &ignored);
	if (s->judge)
		kw_judge_expect(s->judge, backend && strcmp(backend, "module") == 0, s->triton);
}

static enum kw_status serve_batch(struct kw_bench_server *s, const json_t *list)
{
	enum kw_status status = read_batch(s, list);
	bool ahead = s->mode == KW_BENCH_MODE_OPTIMIZE;

	if (status == KW_OK)
		expect(s);

	/* Several searches come where they run on a GPU: its times do not mind who reads the next problems. */
	if (status == KW_OK && s->count > 1 && !s->suite->adapter)
		s->readers = kw_bench_readers_new((s->builders + 1) / CORES_OF_READER, s->count, READ_AHEAD, read_problem, s);
	for (size_t i = 0; status == KW_OK && i < s->count && !ahead; i++)
		if ((status = load(s, &s->entry[i])) == KW_OK)
			check_ahead(s, &s->entry[i]);
	if (status == KW_OK && s->mode == KW_BENCH_MODE_EVAL && (s->count > 1 || (s->count && kw_bench_is_python(s->entry[0].problem))))
		status = build(s);
	for (size_t i = 0; status == KW_OK && i < s->count; i++) {
		struct kw_bench_entry *e = &s->entry[i];

		if (ahead)
			status = load(s, e);
		if (status != KW_OK || e->over)
			continue;
		status = at(s, "judge", e);
		if (status == KW_OK)
			status = s->mode == KW_BENCH_MODE_EVAL ? judge_item(s, e) :
				 s->mode == KW_BENCH_MODE_OPTIMIZE ? search_item(s, e) : audit_item(s, e);
	}
	kw_bench_readers_free(s->readers);
	s->readers = NULL;
	if (s->judge)
		kw_judge_check_over(s->judge); /* it reads their tasks */
	for (size_t i = 0; i < s->count; i++) {
		if (s->entry[i].loaded)
			kw_op_task_release(&s->entry[i].task);
		kw_arena_release(&s->entry[i].arena);
	}
	return status == KW_OK ? say(s, json_pack("{s:s}", "batch", "done")) : status;
}

static enum kw_status configure(struct kw_bench_server *s, const json_t *j)
{
	struct kw_search_opts so;
	struct kw_buf text;
	enum kw_status status = KW_OK;

	kw_search_opts_default(&so);
	kw_buf_init(&text, KW_BENCH_LINE_BYTES);
	status = kw_suite_find(kw_json_get_str(j, "suite", ""), &s->suite, s->err);
	s->mode = (enum kw_bench_mode)kw_json_get_i64(j, "mode", 0);
	s->parent = kw_json_get_i64(j, "parent", 0);
	s->builders = (int)kw_json_get_i64(j, "builders", 1);
	s->triton = (int)kw_json_get_i64(j, "triton", 0);
	if (status == KW_OK && json_object_get(j, "search")) {
		status = kw_json_canonical(json_object_get(j, "search"), &text, s->err);
		if (status == KW_OK)
			status = kw_search_opts_read(&so, text.ptr, &s->arena, s->err);
	}
	s->search = (struct kw_op_search_opts){ .agent = so.agent, .width = so.width, .budget = so.budget, .seed = so.judge.seed,
						.threads = so.judge.threads, .large = so.judge.large,
						.baselines = so.judge.baselines, .original = so.judge.original, .timings = so.judge.timings,
						.sanitize = so.judge.sanitize == KW_SANITIZE_MUST };
	if (kw_json_get_str(j, "backend", NULL))
		s->search.backend = text_of(s, &s->arena, j, "backend", &status);
	if (kw_json_get_str(j, "strategy", NULL))
		s->search.strategy = text_of(s, &s->arena, j, "strategy", &status);
	s->search.close = (struct kw_close_rule){ kw_json_get_f64(j, "close_wide", 0), kw_json_get_f64(j, "close_narrow", 0) };
	kw_buf_release(&text);
	if (status == KW_OK && s->mode != KW_BENCH_MODE_AUDIT)
		status = kw_store_open(s->env->store_dir, false, &s->store, s->err);
	return status;
}

static enum kw_status one_line(struct kw_bench_server *s, const char *text, size_t len, bool *configured)
{
	json_t *j = NULL;
	enum kw_status status = kw_json_parse("the benchmark", text, len, &j, s->err);

	if (status == KW_OK)
		status = *configured ? serve_batch(s, json_object_get(j, "items")) : configure(s, j);
	*configured = true;
	json_decref(j);
	return status;
}

enum kw_status kw_op_bench_serve(const struct kw_op_env *env, int in, int out, struct kw_error *err)
{
	struct kw_bench_server *s = kw_calloc(1, sizeof(*s));
	struct kw_buf text;
	bool configured = false;
	char bytes[1 << 16];
	ssize_t n = 0;
	enum kw_status status = s ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");

	if (!s)
		return status;
	s->env = env;
	s->out = out;
	s->err = err;
	s->judge_wanted = s->judge_device = "";
	kw_arena_init(&s->arena, 16 << 20);
	kw_buf_init(&text, KW_BENCH_LINE_BYTES);
	while (status == KW_OK && ((n = read(in, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR && !kw_interrupted()))) {
		char *end;

		kw_buf_add(&text, bytes, n > 0 ? (size_t)n : 0);
		while (status == KW_OK && text.len && (end = memchr(text.ptr, '\n', text.len))) {
			size_t len = (size_t)(end - text.ptr);

			status = one_line(s, text.ptr, len, &configured);
			memmove(text.ptr, text.ptr + len + 1, text.len - len - 1);
			text.len -= len + 1;
		}
	}
	kw_buf_release(&text);
	kw_python_stop(s->python);
	kw_judge_free(s->judge);
	kw_python_drop_waiting();
	kw_store_close(s->store);
	kw_arena_release(&s->arena);
	kw_free(s);
	return status;
}
