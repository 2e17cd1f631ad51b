/* A benchmark: what is asked for, what the store has of it, the rest over the devices, and its report. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "ops/bench_internal.h"

enum { ITEMS_MAX = 1 << 20, DEVICES_MAX = 8, PROBLEM_MAX_BYTES = 64 << 20, SAMPLES_MAX = 10000 };
#define EVAL_LIMIT_NS (10ll * 60 * 1000000000)
#define SEARCH_LIMIT_NS (60ll * 60 * 1000000000)

struct item {
	struct kw_bench_job job;
	const struct kw_problem *problem;
	int sample;
	const char *file;                 /* NULL: a proposer; or there is none */
	const char *device;
	bool missing;                     /* no candidate */
	char problem_sha[KW_SHA256_HEX], candidate_sha[KW_SHA256_HEX];
	int64_t run_id;                   /* one that goes on */
	bool has;                         /* the store has it */
};
struct bench {
	const struct kw_op_env *env;
	const struct kw_op_bench_opts *o;
	struct kw_op_bench *out;
	struct kw_arena arena;
	const struct kw_suite *suite;
	struct kw_problem_list all, some;
	struct kw_suite_files files;
	struct item *items;
	size_t count, done;
	struct kw_store *store;
	int64_t run_id;
	int triton;                       /* candidates that name it */
	json_t *search;                   /* the options of each search, and of judging */
	int faults;                       /* of the machine, in a row */
	struct kw_error fault;            /* the last one */
	struct kw_error *err;
};

static enum kw_status no_memory(struct bench *b)
{
	return kw_fail(b->err, KW_ERR_NOMEM, "", "out of memory for the benchmark");
}

/* ---- items --------------------------------------------------------------------------------------- */

static void hash_file(const char *path, size_t most, char out[KW_SHA256_HEX], int *triton)
{
	struct kw_buf text;

	kw_buf_init(&text, most + 1);
	if (kw_file_read(path, most, &text, NULL) == KW_OK) {
		kw_sha256_hex(text.len ? text.ptr : "", text.len, out);
		*triton += kw_bench_names_triton(text.ptr, text.len);
	}
	kw_buf_release(&text);
}

static enum kw_status add_item(struct bench *b, const struct kw_problem *p, int sample, const char *file, bool missing)
{
	const char *backend = b->o->search.backend;
	struct item *i = &b->items[b->count];
	int ignored = 0;

	if (b->count == ITEMS_MAX)
		return kw_fail(b->err, KW_ERR_LIMIT, "", "more than %d items", ITEMS_MAX);
	if (!backend && b->o->candidates)
		backend = kw_candidate_backend(file ? file : "x.c");
	*i = (struct item){ .problem = p, .sample = sample, .file = file, .missing = missing, .device = kw_bench_device_of(backend) };
	i->job.name = p->name;
	i->job.key = kw_arena_printf(&b->arena, "%s#%d", p->key, sample);
	i->job.of = i;
	b->count++;
	if (!i->job.key)
		return no_memory(b);
	/* One that cannot be read is told when its problem is loaded. */
	hash_file(p->path, PROBLEM_MAX_BYTES, i->problem_sha, &ignored);
	if (file)
		hash_file(file, KW_CANDIDATE_MAX_BYTES, i->candidate_sha, &b->triton);
	return KW_OK;
}

static enum kw_status plan_items(struct bench *b)
{
	int samples = b->o->samples > 0 ? b->o->samples : 1;
	size_t room = b->o->candidates ? b->files.count + b->some.count : b->some.count * (size_t)samples, f = 0;
	enum kw_status status = KW_OK;

	b->items = room > ITEMS_MAX ? NULL : kw_arena_calloc(&b->arena, room + 1, sizeof(*b->items));
	if (!b->items)
		return no_memory(b);
	for (size_t i = 0; status == KW_OK && i < b->some.count; i++) {
		const struct kw_problem *p = &b->some.items[i];
		size_t first = f;

		for (int k = 0; status == KW_OK && !b->o->candidates && k < samples; k++)
			status = add_item(b, p, k, NULL, false);
		/* Files stand in the order of all problems, of which these are a part. */
		for (; status == KW_OK && f < b->files.count && strcmp(b->files.items[f].problem->key, p->key) == 0; f++)
			status = add_item(b, p, b->files.items[f].sample, b->files.items[f].path, false);
		if (status == KW_OK && b->o->candidates && f == first)
			status = add_item(b, p, 0, NULL, true);
	}
	return status;
}

/* ---- the run ------------------------------------------------------------------------------------- */

static const char *proposer(const struct bench *b)
{
	if (b->o->candidates)
		return "files";
	return kw_op_has_model(&b->o->search.agent) ? b->o->search.agent.model : "the built-in author";
}

static const char *whole_path(struct bench *b, const char *path)
{
	char whole[PATH_MAX];

	return kw_arena_strdup(&b->arena, realpath(path, whole) ? whole : path);
}

/* What makes two calls the same benchmark: all but the selection, the number of samples and how long a problem may take. */
static json_t *identity(struct bench *b)
{
	const char *path = whole_path(b, b->o->path), *files = b->o->candidates ? whole_path(b, b->o->candidates) : "";

	if (!path || !files)
		return NULL;
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:O}", "suite", b->suite->name, "path", path, "candidates", files, "backend",
			 b->o->search.backend ? b->o->search.backend : "", "strategy",
			 b->o->search.strategy ? b->o->search.strategy : "", "search", b->search);
}

static json_t *plan_json(struct bench *b)
{
	json_t *list = json_array();
	bool good = list != NULL;

	for (size_t i = 0; good && i < b->count; i++) {
		const struct item *it = &b->items[i];
		json_t *j = json_pack("{s:s, s:s, s:s, s:i, s:s, s:i}", "key", it->job.key, "problem", it->problem->key, "group",
				      it->problem->group, "number", it->problem->number, "name", it->problem->name, "sample", it->sample);

		if (j && it->file)
			json_object_set_new(j, "file", json_string(it->file));
		if (j && it->missing)
			json_object_set_new(j, "state", json_string(kw_bench_state_name(KW_BENCH_NO_CANDIDATE)));
		good = json_array_append_new(list, j) == 0;
	}
	if (!good) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:o}", "suite", b->suite->name, "title", b->suite->title, "path", b->o->path,
			 "rule", b->suite->rule, "proposer", proposer(b), "close_wide", b->suite->close.wide, "close_narrow",
			 b->suite->close.narrow, "items", list);
}

static enum kw_status open_run(struct bench *b)
{
	json_t *who = identity(b), *plan = plan_json(b);
	char sha[KW_SHA256_HEX] = "";
	struct kw_buf text;
	struct kw_run_row row = { .task_name = b->suite->name, .task_sha = sha, .strategy = KW_BENCH_STRATEGY };
	enum kw_status status = who && plan ? KW_OK : no_memory(b);

	kw_buf_init(&text, 16 << 20);
	if (status == KW_OK)
		status = kw_json_canonical(who, &text, b->err);
	if (status == KW_OK) {
		kw_sha256_hex(text.ptr, text.len, sha);
		row.options = text.ptr;
		row.backend = b->o->search.backend;
		if (!b->o->fresh)
			status = kw_store_run_find(b->store, KW_BENCH_STRATEGY, sha, &b->run_id, b->err);
	}
	if (status == KW_OK)
		status = b->run_id ? kw_store_run_claim(b->store, b->run_id, b->err) : kw_store_run_new(b->store, &row, &b->run_id, b->err);
	if (status == KW_OK)
		status = kw_store_fact_put(b->store, b->run_id, "bench", plan, b->err);
	json_decref(who);
	json_decref(plan);
	kw_buf_release(&text);
	return status;
}

/* Whether a run is about these texts: its fact says so, or, where it was cut off before that, its options. A search says itself when
 * its problem has changed. */
static bool is_about(const struct item *it, const json_t *fact, const struct kw_run_row *row)
{
	json_t *options = NULL;
	const json_t *from = fact;
	bool same;

	if (!fact && strcmp(row->strategy, KW_BENCH_EVAL) != 0)
		return true;
	if (!fact && kw_json_parse("options", row->options, strlen(row->options), &options, NULL) == KW_OK)
		from = options;
	same = strcmp(kw_json_get_str(from, "problem_sha", ""), it->problem_sha) == 0 &&
	       strcmp(kw_json_get_str(from, "candidate_sha", ""), it->candidate_sha) == 0;
	json_decref(options);
	return same;
}

/* What the store has of an item: nothing, a part that goes on, or all of it. What is about another text goes. */
static enum kw_status look_up(struct bench *b, struct item *it, const struct kw_run_row *row)
{
	json_t *fact = NULL;
	enum kw_bench_state state = KW_BENCH_WAITING;
	bool same, again;
	enum kw_status status = kw_store_fact_get(b->store, row->id, "item", &fact, b->err);

	if (status != KW_OK)
		return status;
	same = is_about(it, fact, row);
	kw_bench_state_parse(kw_json_get_str(fact, "state", ""), &state);
	json_decref(fact);
	again = b->o->retry && (state == KW_BENCH_NO_PROBLEM || state == KW_BENCH_UNUSABLE || state == KW_BENCH_TIME_LIMIT);
	if (!same || again)
		return kw_op_run_remove(b->env, row->id, b->err);
	it->has = state != KW_BENCH_WAITING && state != KW_BENCH_MACHINE;
	if (!it->has)
		it->run_id = row->id;
	return KW_OK;
}

static enum kw_status look_up_all(struct bench *b)
{
	struct kw_run_row *rows = NULL;
	struct kw_arena a;
	size_t n = 0;
	enum kw_status status;

	kw_arena_init(&a, 512 << 20);
	status = kw_store_run_items(b->store, b->run_id, &a, &rows, &n, b->err);
	for (size_t i = 0; status == KW_OK && i < b->count; i++) {
		for (size_t k = 0; status == KW_OK && k < n; k++)
			if (strcmp(rows[k].item, b->items[i].job.key) == 0) {
				status = look_up(b, &b->items[i], &rows[k]);
				break;
			}
		b->out->reused += b->items[i].has;
		b->done += b->items[i].has || b->items[i].missing;
	}
	kw_arena_release(&a);
	return status;
}

/* ---- the work ------------------------------------------------------------------------------------ */

static void show(struct bench *b, const struct item *it, const char *what)
{
	char line[400];

	if (!b->o->progress)
		return;
	if (it)
		snprintf(line, sizeof(line), "%zu of %zu  %s %s: %s", b->done, b->count, it->job.key, it->problem->name, what);
	else
		snprintf(line, sizeof(line), "%zu of %zu  %s", b->done, b->count, what);
	b->o->progress(b->o->progress_arg, line);
}

static void step(void *arg, struct kw_bench_job *job, const char *at)
{
	static const char *const words[][2] = { { "load", "reading the problem" }, { "build", "building ahead" }, { "judge", "judging" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(at, words[i][0]) == 0)
			show(arg, job ? job->of : NULL, words[i][1]);
}

/* Whoever did it is gone: it is written down here. */
static enum kw_status end_here(struct bench *b, struct item *it, const char *fate)
{
	struct kw_bench_end how = { .state = fate ? KW_BENCH_MACHINE : KW_BENCH_TIME_LIMIT, .problem_sha = it->problem_sha,
				    .candidate_sha = it->candidate_sha, .again = it->run_id != 0 };
	char limit[32], text[160];

	snprintf(text, sizeof(text), "%s%s", fate ? fate : "not done within ",
		 fate ? "" : kw_human_ns((double)b->o->limit_ns, limit, sizeof(limit)));
	how.text = text;
	how.wall_ns = fate ? 0 : b->o->limit_ns;
	return kw_bench_item_end(b->store, b->run_id, it->job.key, it->problem->name, &how, b->err);
}

static enum kw_status done(void *arg, struct kw_bench_job *job, const json_t *message, const char *fate, struct kw_error *err)
{
	struct bench *b = arg;
	struct item *it = job->of;
	const char *state = kw_json_get_str(message, "state", ""), *text = kw_json_get_str(message, "text", fate ? fate : "time limit");
	bool fault = message ? strcmp(state, kw_bench_state_name(KW_BENCH_MACHINE)) == 0 : fate != NULL;
	enum kw_status status = message ? KW_OK : end_here(b, it, fate);

	b->done++;
	show(b, it, text);
	if (status != KW_OK)
		return status;
	b->faults = fault ? b->faults + 1 : 0;
	if (fault)
		kw_fail(&b->fault, KW_ERR_ENV, "", "%s: %s", job->key, text);
	if (b->faults >= KW_BENCH_FAULTS_IN_A_ROW)
		return kw_fail(err, KW_ERR_ENV, "", "%d faults of this machine in a row: %s", b->faults, text);
	return KW_OK;
}

static json_t *job_json(struct item *it)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I}", "key", it->job.key, "name", it->problem->name, "problem", it->problem->path,
			 "file", it->file ? it->file : "", "problem_sha", it->problem_sha, "candidate_sha", it->candidate_sha, "run",
			 (json_int_t)it->run_id);
}

static json_t *config_json(const struct bench *b, int processes)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	json_t *j = json_pack("{s:s, s:i, s:i, s:I, s:i, s:O, s:f, s:f}", "suite", b->suite->name, "triton", b->triton, "mode",
			      b->o->candidates ? KW_BENCH_MODE_EVAL : KW_BENCH_MODE_OPTIMIZE, "parent", (json_int_t)b->run_id, "builders",
			      (int)(cores / processes > 1 ? cores / processes : 1), "search", b->search, "close_wide", b->suite->close.wide,
			      "close_narrow", b->suite->close.narrow);

	if (j && b->o->search.backend)
		json_object_set_new(j, "backend", json_string(b->o->search.backend));
	if (j && b->o->search.strategy)
		json_object_set_new(j, "strategy", json_string(b->o->search.strategy));
	return j;
}

/* Everything of one kind of device: kinds take turns, as one would disturb the other's times. */
static enum kw_status work_on(struct bench *b, const char *device)
{
	struct kw_bench_pool p = { .arg = b, .args = b->o->worker_args, .step = step, .done = done, .limit_ns = b->o->limit_ns,
				   .batch = b->o->candidates ? KW_BENCH_BATCH_CANDIDATES : strcmp(device, "nvidia") != 0 ? 1 : KW_BENCH_BATCH };
	json_t *config = NULL;
	enum kw_status status = KW_OK;

	p.jobs = kw_arena_calloc(&b->arena, b->count + 1, sizeof(*p.jobs));
	if (!p.jobs)
		return no_memory(b);
	for (size_t i = 0; status == KW_OK && i < b->count; i++) {
		struct item *it = &b->items[i];

		if (it->has || it->missing || strcmp(it->device, device) != 0)
			continue;
		it->job.item = job_json(it);
		p.jobs[p.count++] = it->job;
		if (!it->job.item)
			status = no_memory(b);
	}
	if (status == KW_OK && p.count)
		status = kw_bench_gpus(device, b->o->devices, &b->arena, &p.gpus, &p.gpu_count, b->err);
	config = config_json(b, p.gpu_count ? (int)p.gpu_count : 1);
	p.config = config;
	if (status == KW_OK && !config)
		status = no_memory(b);
	if (status == KW_OK && p.count)
		status = kw_bench_pool_run(&p, b->err);
	for (size_t i = 0; i < p.count; i++)
		json_decref(p.jobs[i].item);
	json_decref(config);
	return status;
}

static enum kw_status work(struct bench *b)
{
	const char *devices[DEVICES_MAX];
	size_t n = 0;
	enum kw_status status = KW_OK;

	for (size_t i = 0; i < b->count; i++) {
		bool known = false;

		for (size_t k = 0; k < n; k++)
			known = known || strcmp(devices[k], b->items[i].device) == 0;
		if (!known && n < DEVICES_MAX)
			devices[n++] = b->items[i].device;
	}
	for (size_t k = 0; status == KW_OK && k < n; k++) {
		b->faults = 0;
		status = work_on(b, devices[k]);
	}
	return status;
}

static enum kw_status read_suite(struct bench *b)
{
	enum kw_status status = kw_suite_find(b->o->suite, &b->suite, b->err);

	if (status == KW_OK)
		status = kw_suite_read(b->suite, b->o->path, &b->arena, &b->all, b->err);
	if (status == KW_OK)
		status = kw_suite_select(b->suite, &b->all, b->o->select, b->o->select_count, &b->arena, &b->some, b->err);
	if (status == KW_OK && b->o->candidates)
		status = kw_suite_candidates(b->suite, &b->all, &b->some, b->o->candidates, &b->arena, &b->files, b->err);
	return status == KW_OK ? plan_items(b) : status;
}

/* A model that nobody can ask would make a whole suite's problems count as ones without a kernel. */
static enum kw_status check_model(const struct bench *b)
{
	struct kw_agent *agent = NULL;
	enum kw_status status = kw_op_has_model(&b->o->search.agent) ? kw_agent_new(&b->o->search.agent, &agent, b->err) : KW_OK;

	kw_agent_free(agent);
	return status;
}

/* What would fail for every item is said before the first: a backend or strategy that is none, a device that is not here, a model. */
static enum kw_status check(struct bench *b)
{
	const struct kw_backend *backend;
	const char *name = b->o->search.backend;
	enum kw_status status = KW_OK;

	if (b->o->samples > SAMPLES_MAX)
		return kw_fail(b->err, KW_ERR_USAGE, "", "--samples: at most %d", SAMPLES_MAX);
	if (name || !b->o->candidates)
		status = kw_op_backend(name ? name : "c", &backend, b->err);
	if (status == KW_OK && (name || !b->o->candidates))
		status = kw_op_has_device(backend, b->err);
	return status == KW_OK ? check_model(b) : status;
}

static enum kw_status finish(struct bench *b, enum kw_status status)
{
	enum kw_run_state state = status == KW_ERR_INTERRUPTED ? KW_RUN_INTERRUPTED :
				  status != KW_OK || b->fault.status != KW_OK ? KW_RUN_FAILED : KW_RUN_DONE;
	struct kw_error other;
	enum kw_status ended;

	kw_error_reset(&other);
	ended = kw_store_run_end(b->store, b->run_id, state, NULL, status == KW_OK ? b->err : &other);
	if (status == KW_OK)
		status = ended;
	if (status == KW_OK)
		status = kw_bench_report_load(&b->out->report, b->store, b->run_id, b->err);
	return status;
}

static enum kw_status copy_unknown(struct bench *b)
{
	struct kw_arena *a = &b->out->report.arena;

	b->out->unknown = kw_arena_calloc(a, b->files.unknown_count + 1, sizeof(*b->out->unknown));
	for (size_t i = 0; b->out->unknown && i < b->files.unknown_count; i++) {
		b->out->unknown[i] = kw_arena_strdup(a, b->files.unknown[i]);
		if (!b->out->unknown[i])
			return no_memory(b);
		b->out->unknown_count++;
	}
	return b->out->unknown ? KW_OK : no_memory(b);
}

enum kw_status kw_op_bench(const struct kw_op_env *env, const struct kw_op_bench_opts *o, struct kw_op_bench *out,
			   struct kw_error *err)
{
	struct kw_op_bench_opts mine = *o;
	struct bench b = { .env = env, .o = &mine, .out = out, .err = err };
	struct kw_search_opts so;
	enum kw_status status;

	memset(out, 0, sizeof(*out));
	kw_error_reset(&b.fault);
	b.fault.status = KW_OK;
	kw_arena_init(&b.arena, 1 << 30);
	if (mine.limit_ns <= 0)
		mine.limit_ns = o->candidates ? EVAL_LIMIT_NS : SEARCH_LIMIT_NS;
	kw_op_search_defaults(&so, &o->search);
	if (!kw_op_has_model(&o->search.agent))
		so.agent.model = NULL;
	b.search = kw_search_opts_json(&so);
	status = b.search ? check(&b) : no_memory(&b);
	if (status == KW_OK)
		status = read_suite(&b);
	if (status == KW_OK)
		status = kw_store_open(env->store_dir, false, &b.store, err);
	if (status == KW_OK)
		status = open_run(&b);
	if (status == KW_OK) {
		out->run_id = b.run_id;
		status = look_up_all(&b);
		if (status == KW_OK)
			status = work(&b);
		status = finish(&b, status);
	}
	if (status == KW_OK)
		status = copy_unknown(&b);
	/* The table is whole as far as it goes; the fault is told with it. */
	if (status == KW_OK && b.fault.status != KW_OK)
		out->fault = b.fault;
	json_decref(b.search);
	kw_store_close(b.store);
	kw_arena_release(&b.arena);
	return status;
}

void kw_op_bench_release(struct kw_op_bench *b)
{
	kw_bench_report_release(&b->report);
	memset(b, 0, sizeof(*b));
}
