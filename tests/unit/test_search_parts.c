/* Strategy `parts` with a recording, against a made-up machine: division, several workers, budgets, a stop in the middle. */
#include "tap.h"
#include "temp.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "search/engine.h"

static struct kw_error err;
static struct kw_arena arena;
static struct kw_task task;
static struct kw_expr *expr;
static struct kw_hardware hardware;

static const char *const task_text =
	"name: three\ndims: { n: { min: 1, max: 64 } }\n"
	"inputs:\n  x: { dtype: f32, shape: [n, n] }\n  w: { dtype: f32, shape: [n, n] }\n  v: { dtype: f32, shape: [n, n] }\n"
	"outputs:\n  y: { dtype: f32, shape: [n, n] }\n"
	"reference:\n  expr: |\n    y = softmax(x @ w, axis=-1) @ v\nperf: [ { n: 16 } ]\ncheck: [ { n: 3 } ]\n";

/* ---- a machine: a source says how it behaves ----
 *     //! ns 1000          its time; of several parts the sum
 *     //! wrong            whatever it is with
 *     //! clash            wrong beside another that says so */
static _Atomic int judged, kill_at;
static unsigned delay_seed;
static int64_t takes_ns;           /* each judgement, which really sleeps */

static int lines_with(const char *source, const char *what)
{
	int n = 0;

	for (const char *p = strstr(source, what); p; p = strstr(p + 1, what))
		n++;
	return n;
}

static enum kw_status evaluate(void *arg, const struct kw_candidate *c, const struct kw_judge_opts *o, struct kw_verdict *v,
			       struct kw_error *e)
{
	const struct kw_task *t = arg;
	struct kw_case_result *r = kw_arena_calloc(&v->arena, 1, sizeof(*r));
	int number = ++judged;
	double ns = 0;

	(void)e;
	if (kill_at && number == kill_at)
		raise(SIGKILL);
	if (delay_seed) {
		unsigned h = delay_seed * 2654435761u + (unsigned char)c->sha256[0] * 40503u + (unsigned char)c->sha256[3] * 9973u;

		nanosleep(&(struct timespec){ .tv_nsec = (long)(h % 7) * 1000000 }, NULL);
	}
	if (takes_ns)
		nanosleep(&(struct timespec){ .tv_nsec = (long)takes_ns }, NULL);
	v->total_ns = takes_ns;
	for (const char *p = strstr(c->source, "//! ns "); p; p = strstr(p + 1, "//! ns "))
		ns += strtod(p + 7, NULL);
	ns += 500.0 * lines_with(c->source, "naive");
	v->task_name = t->name;
	v->backend = "c";
	v->device = "cpu";
	v->when_ms = 1;
	if (strstr(c->source, "//! wrong") || lines_with(c->source, "//! clash") > 1) {
		v->cls = KW_V_WRONG;
		v->subclass = KW_S_MISMATCH;
		snprintf(v->summary, sizeof(v->summary), "y[0] is 1 and should be 2");
		return KW_OK;
	}
	*r = (struct kw_case_result){ .label = t->cases[0].label, .perf = true, .has_times = true };
	r->dims = kw_arena_copy(&v->arena, t->cases[0].dims, sizeof(int64_t));
	r->dim_count = 1;
	r->times.median_ns = r->times.ci_low_ns = r->times.ci_high_ns = r->times.min_ns = ns > 0 ? ns : 1;
	r->times.method = "single";
	v->cases = r;
	v->case_count = 1;
	v->geomean_speedup = o->with_baselines ? 10000.0 / ns : 0.0;
	return KW_OK;
}

static enum kw_status propose(void *arg, struct kw_arena *a, struct kw_proposal **out, size_t *count, const char ***reasons,
			      size_t *reason_count, struct kw_error *e)
{
	static const char *why[] = { "none: there are no patterns here" };

	(void)arg;
	(void)a;
	(void)e;
	*out = NULL;
	*count = 0;
	*reasons = why;
	*reason_count = 1;
	return KW_OK;
}

static enum kw_status search_part(void *arg, const struct kw_part_job *job, struct kw_search_result *out, struct kw_error *e)
{
	struct kw_search_ports ports = { .arg = (void *)(uintptr_t)job->task, .evaluate = evaluate, .propose = propose,
					 .hardware = &hardware, .agent = job->agent };

	(void)arg;
	return kw_search_run_with(&ports, job->task, job->expr, job->opts, job->store, NULL, out, e);
}

/* ---- recordings ---- */

static struct kw_buf script;

static void say(const char *role, const char *slot, const char *text)
{
	json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i}", "role", role, "slot", slot, "text", text, "model", "a-script", "tokens_in",
			      100, "tokens_out", 50);

	kw_json_canonical(j, &script, &err);
	kw_buf_addc(&script, '\n');
	json_decref(j);
}

static const char *kernel(const char *args, const char *lines)
{
	return kw_arena_printf(&arena, "```c\n//@ kernel k args=(%s, n:i64)\n%s\nvoid k(void) {}\n```\n", args, lines);
}

static const char *const args_of[] = { "x, w, mid1", "mid1, mid2", "mid2, v, y" };

/* One kernel for each part; lines[i] says how the i-th behaves. */
static void three(const char *a, const char *b, const char *c)
{
	const char *lines[] = { a, b, c };

	for (int i = 0; i < 3; i++) {
		say("coder", kw_arena_printf(&arena, "part%d/r1/coder", i + 1), kernel(args_of[i], lines[i]));
		say("planner", kw_arena_printf(&arena, "part%d/r2/planner", i + 1), "NOTHING: it is at its roof");
	}
}

static const char *write_script(const char *name)
{
	const char *path = kw_arena_strdup(&arena, temp_file(name));

	kw_file_write(path, script.ptr, script.len, &err);
	kw_buf_reset(&script);
	return kw_arena_printf(&arena, "replay:%s", path);
}

struct play {
	const char *model;
	int evaluators, evaluations, parallel;
	int rounds;
	int64_t tokens, resume, wall_ns;
	struct kw_agent_sums sums;
};

static enum kw_status run(struct kw_store *store, struct play *p, struct kw_search_result *out)
{
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .strategy = "parts", .resume_run = p->resume };
	struct kw_search_ports ports = { .arg = &task, .evaluate = evaluate, .propose = propose, .hardware = &hardware,
					 .search_part = search_part, .evaluators = p->evaluators };
	enum kw_status status = KW_OK;

	kw_agent_opts_default(&o.agent);
	o.agent.model = p->model;
	o.agent.parallel = p->parallel;
	o.agent.budget_tokens = p->tokens;
	o.budget.max_evaluations = p->evaluations;
	o.budget.max_rounds = p->rounds;
	o.budget.max_wall_ns = p->wall_ns;
	o.judge.seed = 5;
	*out = (struct kw_search_result){ 0 };
	kw_error_reset(&err);
	if (p->model)
		status = kw_agent_new(&o.agent, &ports.agent, &err);
	if (status == KW_OK)
		status = kw_search_run_with(&ports, &task, expr, &o, store, NULL, out, &err);
	if (ports.agent)
		p->sums = *kw_agent_sums(ports.agent);
	kw_agent_free(ports.agent);
	return status;
}

static struct kw_store *open_store(const char *name)
{
	struct kw_store *s = NULL;

	if (kw_store_open(temp_file(name), false, &s, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	return s;
}

/* What was asked and judged in one run. */
static void story_of(struct kw_store *s, int64_t run_id, struct kw_buf *b)
{
	struct kw_model_call *calls;
	struct kw_verdict_row *rows;
	size_t n, m;

	kw_store_model_call_list(s, run_id, &arena, &calls, &n, &err);
	kw_store_verdict_list(s, run_id, &arena, &rows, &m, &err);
	for (size_t i = 0; i < n; i++)
		kw_buf_printf(b, "%s=%s ", calls[i].slot, calls[i].outcome);
	for (size_t i = 0; i < m; i++)
		kw_buf_printf(b, "%s/%s=%s ", rows[i].candidate_name, rows[i].effort, rows[i].cls);
}

/* Of a run and its parts, in the order of the parts. */
static const char *story(struct kw_store *s, const struct kw_search_result *r)
{
	struct kw_run_row *items;
	size_t n;
	struct kw_buf b;
	const char *out;

	kw_buf_init(&b, 1 << 20);
	story_of(s, r->run_id, &b);
	kw_store_run_items(s, r->run_id, &arena, &items, &n, &err);
	for (int k = 1; k < 10; k++)
		for (size_t i = 0; i < n; i++)
			if (strcmp(items[i].item, kw_arena_printf(&arena, "part%d", k)) == 0) {
				kw_buf_printf(&b, "| %s: ", items[i].item);
				story_of(s, items[i].id, &b);
			}
	if (r->has_best)
		kw_buf_printf(&b, "| best %s %.0f", r->best.name, kw_search_mean_ns(&r->verdict));
	out = kw_arena_strdup(&arena, b.ptr ? b.ptr : "");
	kw_buf_release(&b);
	return out;
}

/* Which parts have kernels of their own: "1 - 3". */
static const char *own_parts(struct kw_store *s, int64_t run_id)
{
	const char *out = "";
	json_t *all = NULL, *p;
	size_t i;

	kw_store_fact_get(s, run_id, "parts", &all, &err);
	json_array_foreach(json_object_get(all, "parts"), i, p)
		out = kw_arena_printf(&arena, "%s%s%s", out, i ? " " : "",
				      kw_json_get_bool(p, "own", false) ? kw_arena_printf(&arena, "%zu", i + 1) : "-");
	out = kw_arena_printf(&arena, "%s by %s", out, kw_json_get_str(all, "divided_by", "?"));
	json_decref(all);
	return out;
}

static bool says(const struct kw_search_result *r, const char *words)
{
	for (size_t i = 0; i < r->reason_count; i++)
		if (strstr(r->reasons[i], words))
			return true;
	for (size_t i = 0; i < r->reason_count; i++)
		diag("%s", r->reasons[i]);
	return false;
}

static void test_right(void)
{
	struct kw_store *s = open_store("right.db");
	struct kw_search_result r;
	struct play p = { .evaluators = 1 };

	say("manager", "manager", "PART: 1\nPART: 2\nPART: 3\nEach has its own way through memory.");
	three("//! ns 100", "//! ns 200", "//! ns 300");
	p.model = write_script("right.jsonl");
	is_int(run(s, &p, &r), KW_OK, "three parts: %s", err.text);
	ok(r.has_best, "are right together");
	is_int((int64_t)kw_search_mean_ns(&r.verdict), 600, "and take what they take");
	is_str(own_parts(s, r.run_id), "1 2 3 by a-script", "each has its own kernel");
	is_int(r.best.plan.kernel_count, 3, "three launches");
	is_int(r.best.plan.workspace_count, 2, "with what passes between them");
	is_int(p.sums.calls, 7, "all calls are counted");
	is_int(p.sums.tokens_in, 700, "and their tokens");
	is_str(story(s, &r), "manager=source parts/final=ok | part1: part1/r1/coder=source part1/r2/planner=source r1-coder/full=ok "
	       "| part2: part2/r1/coder=source part2/r2/planner=source r1-coder/full=ok "
	       "| part3: part3/r1/coder=source part3/r2/planner=source r1-coder/full=ok "
	       "| best parts 600", "only the whole has the final check, and nothing else");
	kw_search_result_release(&r);
	kw_store_close(s);
}

static void test_one_fails(void)
{
	struct kw_store *s = open_store("fails.db");
	struct kw_search_result r;
	struct play p = { .evaluators = 1 };

	say("manager", "manager", "PART: 1\nPART: 2\nPART: 3");
	three("//! ns 100", "//! wrong", "//! ns 300");
	p.model = write_script("fails.jsonl");
	is_int(run(s, &p, &r), KW_OK, "one part is never right");
	ok(r.has_best, "the whole is");
	is_str(own_parts(s, r.run_id), "1 - 3 by a-script", "with the baseline's kernel there");
	ok(says(&r, "part2 (mid2 = softmax(mid1, axis=-1)) keeps the baseline's kernel"), "which is said");
	ok(strstr(r.best.source, "naive_p2") != NULL, "and is in the source");
	kw_search_result_release(&r);
	kw_store_close(s);
}

static void test_clash(void)
{
	struct kw_store *s = open_store("clash.db");
	struct kw_search_result r;
	struct play p = { .evaluators = 1, .rounds = 1 }; /* of each part, and no limit of the whole */

	say("manager", "manager", "PART: 1\nPART: 2\nPART: 3");
	three("//! ns 100\n//! clash", "//! ns 200", "//! ns 300\n//! clash");
	p.model = write_script("clash.jsonl");
	is_int(run(s, &p, &r), KW_OK, "two kernels that do not go together");
	ok(r.has_best, "the whole is right in the end");
	is_str(own_parts(s, r.run_id), "1 2 - by a-script", "without the one that came last");
	ok(says(&r, "it is right by itself, and the whole is not with it"), "which is said");
	is_int(r.round_count, 5, "all, the plain ones, and one by one");
	kw_search_result_release(&r);
	kw_store_close(s);
}

static void test_nonsense(void)
{
	static const struct {
		const char *first, *second, *divided, *reason;
	} cases[] = {
		{ "I would merge everything.", "PART: 1 2\nPART: 3", "- - by a-script", NULL },
		{ "PART: 1\nPART: 2", "PART: 1 3\nPART: 2", "1 2 3 by rule", "needs a value that is made from its own" },
		{ "PART: 9", "PART: 1\nPART: 1 2 3", "1 2 3 by rule", "statement 1 is in two parts" },
		{ "PART: 99999999999999999999", "PART: 0", "1 2 3 by rule", "there is no statement 0" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kw_store *s = open_store(kw_arena_printf(&arena, "nonsense%zu.db", i));
		struct kw_search_result r;
		struct play p = { .evaluators = 1 };

		say("manager", "manager", cases[i].first);
		say("manager", "manager/again", cases[i].second);
		three("//! ns 100", "//! ns 200", "//! ns 300");
		p.model = write_script(kw_arena_printf(&arena, "nonsense%zu.jsonl", i));
		is_int(run(s, &p, &r), KW_OK, "answer %zu that divides badly", i);
		is_str(own_parts(s, r.run_id), cases[i].divided, "what is taken");
		ok(!cases[i].reason || says(&r, cases[i].reason), "why is said");
		ok(r.has_best, "the whole is right");
		kw_search_result_release(&r);
		kw_store_close(s);
	}
}

static void test_order(void)
{
	const char *first = NULL, *model;

	say("manager", "manager", "PART: 1\nPART: 2\nPART: 3");
	three("//! ns 100", "//! wrong", "//! ns 300\n//@ tune STEP in {1, 2, 4, 8} default 2");
	model = write_script("order.jsonl");
	for (unsigned i = 0; i < 6; i++) {
		struct kw_store *s = open_store(kw_arena_printf(&arena, "order%u.db", i));
		struct play p = { .model = model, .evaluators = i ? (int)i : 1, .parallel = (int)i };
		struct kw_search_result r;
		const char *now;

		delay_seed = 1 + 77 * i;
		is_int(run(s, &p, &r), KW_OK, "%d evaluators, whoever is first", p.evaluators);
		now = story(s, &r);
		if (first)
			is_str(now, first, "the same was asked and judged");
		first = first ? first : now;
		kw_search_result_release(&r);
		kw_store_close(s);
	}
	delay_seed = 0;
}

static void test_budgets(void)
{
	struct kw_store *s = open_store("budgets.db");
	struct kw_search_result r;
	struct play p = { .evaluators = 1, .evaluations = 4 };
	const char *model;

	say("manager", "manager", "PART: 1\nPART: 2\nPART: 3");
	three("//! ns 100\n//@ tune STEP in {1, 2, 4, 8} default 2", "//! ns 200", "//! ns 300");
	model = p.model = write_script("budgets.jsonl");
	is_int(run(s, &p, &r), KW_OK, "a budget of evaluations that ends in the parts");
	ok(r.evaluations <= 4 + 3 + 2, "it is kept to, but for final checks: %d", r.evaluations);
	ok(r.has_best, "the whole is there all the same");
	kw_search_result_release(&r);
	/* 150 are the manager's, and a part has 80% of the rest for three: its first kernel and no more. */
	p = (struct play){ .evaluators = 1, .model = model, .tokens = 600 };
	is_int(run(s, &p, &r), KW_OK, "a budget of tokens");
	ok(p.sums.tokens_in + p.sums.tokens_out <= 600 + 3 * 150, "is kept to, but for calls that had begun");
	ok(r.has_best, "the whole is there");
	kw_search_result_release(&r);
	p = (struct play){ .evaluators = 1, .model = model, .tokens = 100 };
	is_int(run(s, &p, &r), KW_OK, "a budget that is spent by the manager");
	ok(r.has_best, "the plain kernels are the answer");
	is_str(own_parts(s, r.run_id), "- - - by a-script", "each part says so");
	kw_search_result_release(&r);
	kw_store_close(s);
}

/* A part whose time is over before a judgement in full: what was seen of it is judged with the whole. */
static void test_time(void)
{
	struct kw_store *s = open_store("time.db");
	struct kw_search_result r;
	struct play p = { .evaluators = 1, .parallel = 1, .wall_ns = 400000000 };
	json_t *time = NULL;

	say("manager", "manager", "PART: 1\nPART: 2\nPART: 3");
	three("//! ns 100\n//@ tune STEP in {1, 2, 4, 8} default 2", "//! ns 200\n//@ tune STEP in {1, 2, 4, 8} default 2", "//! ns 300");
	p.model = write_script("time.jsonl");
	takes_ns = 150000000;
	is_int(run(s, &p, &r), KW_OK, "a budget of time that ends in the first part");
	takes_ns = 0;
	ok(r.has_best, "the whole is there all the same");
	ok(strncmp(own_parts(s, r.run_id), "1 ", 2) == 0, "with what was only screened of the first part");
	has_str(story(s, &r), "part1: part1/r1/coder=source r1-coder/screen=ok |", "once");
	kw_store_fact_get(s, r.run_id, "time", &time, &err);
	ok(kw_json_get_i64(time, "beyond_ns", 0) > 0, "what its end took beyond the budget is kept");
	json_decref(time);
	kw_search_result_release(&r);
	kw_store_close(s);
}

static void test_resume(void)
{
	struct kw_store *s = open_store("whole.db");
	struct kw_search_result r;
	struct play p = { .evaluators = 1 };
	const char *model, *unbroken;
	int all, calls;

	say("manager", "manager", "PART: 1\nPART: 2\nPART: 3");
	three("//! ns 100\n//@ tune STEP in {1, 2, 4} default 2", "//! wrong", "//! ns 300");
	model = p.model = write_script("resume.jsonl");
	judged = 0;
	run(s, &p, &r);
	all = judged;
	calls = p.sums.calls;
	unbroken = story(s, &r);
	kw_search_result_release(&r);
	kw_store_close(s);
	for (int at = 1; at <= all; at++) {
		struct kw_run_row *rows;
		size_t n = 0;
		int status = 0;
		const char *name = kw_arena_printf(&arena, "resume%d.db", at);
		pid_t child = fork();

		if (child == 0) {
			kill_at = at;
			judged = 0;
			s = open_store(name);
			p = (struct play){ .evaluators = 1, .model = model, .parallel = 1 };
			run(s, &p, &r);
			_exit(1);
		}
		waitpid(child, &status, 0);
		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "killed at judgement %d of %d", at, all);
		s = open_store(name);
		kw_store_run_list(s, &arena, &rows, &n, &err);
		is_int(n, 1, "its run is there");
		p = (struct play){ .evaluators = 1, .model = model, .parallel = 1, .resume = n ? rows[0].id : 0 };
		judged = 0;
		is_int(run(s, &p, &r), KW_OK, "it goes on");
		is_str(story(s, &r), unbroken, "and has asked and judged the same, each once");
		is_int(judged, all - at + 1, "nothing was judged twice");
		is_int(p.sums.calls, calls, "and every call is counted once");
		kw_search_result_release(&r);
		kw_store_close(s);
	}
}

int main(void)
{
	kw_arena_init(&arena, 512 << 20);
	kw_buf_init(&script, 1 << 20);
	snprintf(hardware.name, sizeof(hardware.name), "test machine");
	if (kw_task_parse_yaml(&task, "three.yaml", task_text, strlen(task_text), &err) != KW_OK ||
	    kw_expr_parse(&task, &arena, &expr, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	test_right();
	test_one_fails();
	test_clash();
	test_nonsense();
	test_order();
	test_budgets();
	test_time();
	test_resume();
	kw_buf_release(&script);
	kw_task_release(&task);
	kw_arena_release(&arena);
	return done();
}
