/* Strategies that ask models, with a recording, against a made-up machine. */
#include "tap.h"
#include "search_world.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "explain/rule.h"
#include "search/niche.h"
#include "search/write.h"

static struct kw_error err;

static struct kw_store *open_store(const char *name)
{
	struct kw_store *s = NULL;

	if (kw_store_open(temp_file(name), false, &s, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	return s;
}

/* A kernel as an answer: its name, and how it behaves. */
static const char *kernel(struct world *w, const char *name, const char *lines)
{
	return kw_arena_printf(&w->arena, "```c\n//@ kernel %s args=(x, y, n:i64)\n%s\nvoid %s(const float *x, float *y, int64_t n) {}\n```\n",
			       name, lines, name);
}

struct script {
	json_t *lines[1200];
	size_t count;
};

static void say(struct script *s, const char *role, const char *text)
{
	s->lines[s->count++] = json_pack("{s:s, s:s, s:s}", "role", role, "text", text, "model", "a-script");
}

static const char *write_script(struct script *s, struct world *w, const char *name)
{
	const char *path = kw_arena_strdup(&w->arena, temp_file(name));
	struct kw_buf text, line;

	kw_buf_init(&text, 64 << 20);
	for (size_t i = 0; i < s->count; i++) {
		kw_buf_init(&line, 1 << 20);
		kw_json_canonical(s->lines[i], &line, &err);
		kw_buf_printf(&text, "%s\n", line.ptr);
		kw_buf_release(&line);
		json_decref(s->lines[i]);
	}
	s->count = 0;
	kw_file_write(path, text.ptr, text.len, &err);
	kw_buf_release(&text);
	return kw_arena_printf(&w->arena, "replay:%s", path);
}

struct play {
	const char *strategy, *model;
	const char *record;
	int64_t wall_ns;
	int width, rounds, parallel;
	int64_t resume, tokens;
	struct kw_agent_sums sums;
};

static enum kw_status run(struct world *w, struct kw_store *store, struct play *p, struct kw_search_result *out)
{
	struct kw_search_opts o = { .backend = "c", .device = "cpu", .strategy = p->strategy, .resume_run = p->resume, .width = p->width,
				    .budget = { .max_rounds = p->rounds, .max_wall_ns = p->wall_ns } };
	struct kw_search_ports ports = w->ports;
	enum kw_status status;

	kw_agent_opts_default(&o.agent);
	o.agent.model = p->model;
	o.agent.parallel = p->parallel;
	o.agent.record = p->record;
	o.agent.budget_tokens = p->tokens;
	o.agent.timeout_ns = 60 * 1000000000ll;
	o.judge.seed = 5;
	*out = (struct kw_search_result){ 0 };
	status = kw_agent_new(&o.agent, &ports.agent, &err);
	if (status == KW_OK)
		status = kw_search_run_with(&ports, &w->task, NULL, &o, store, NULL, out, &err);
	if (ports.agent)
		p->sums = *kw_agent_sums(ports.agent);
	kw_agent_free(ports.agent);
	return status;
}

/* Everything that was asked and judged, in order, as one text. */
static const char *story(struct world *w, struct kw_store *s, int64_t run_id)
{
	struct kw_model_call *calls;
	struct kw_verdict_row *rows;
	size_t n, m;
	struct kw_buf b;
	const char *out;

	kw_buf_init(&b, 16 << 20);
	kw_store_model_call_list(s, run_id, &w->arena, &calls, &n, &err);
	kw_store_verdict_list(s, run_id, &w->arena, &rows, &m, &err);
	for (size_t i = 0; i < n; i++)
		kw_buf_printf(&b, "%s=%s ", calls[i].slot, calls[i].outcome);
	for (size_t i = 0; i < m; i++)
		kw_buf_printf(&b, "%s/%s/%s=%s ", rows[i].candidate_name, rows[i].effort, rows[i].tune, rows[i].cls);
	out = kw_arena_strdup(&w->arena, b.ptr ? b.ptr : "");
	kw_buf_release(&b);
	return out;
}

static void four_samples(struct world *w, struct script *s)
{
	say(s, "coder", kernel(w, "slow", "//! ns 3000"));
	say(s, "coder", kernel(w, "wrong", "//! verdict wrong/mismatch"));
	say(s, "coder", kernel(w, "fast", "//@ tune STEP in {8, 16} default 8\n//! ns 900\n//! per STEP 16 400"));
	say(s, "coder", "I'd rather not.");
	say(s, "coder", kernel(w, "late", "//! ns 2000"));
}

static void test_best_of(void)
{
	char *stories[2];

	for (int k = 0; k < 2; k++) {
		struct world w;
		struct script s = { .count = 0 };
		struct kw_search_result r;
		struct play p = { .strategy = "best_of", .parallel = k ? 8 : 1 };
		struct kw_store *store = open_store(k ? "many" : "one");

		world_init(&w, "");
		four_samples(&w, &s);
		p.model = write_script(&s, &w, "best_of.jsonl");
		is_int(run(&w, store, &p, &r), KW_OK, "four samples");
		is_str(r.has_best ? r.best.name : "", "r1-coder-3", "the fastest of them is handed over");
		is_int(r.best.tune_values ? r.best.tune_values[0] : 0, 16, "tuned");
		is_int(r.state, KW_RUN_ROUNDS, "after its one round");
		is_int(r.round_count, 1, "which is one");
		is_str(r.rounds[0].step, "4 samples", "and told as such");
		is_int(p.sums.calls, 5, "the one of no use was asked for again");
		is_int(p.sums.useless, 1, "and counted");
		stories[k] = strdup(story(&w, store, r.run_id));
		has_str(stories[k], "r1/coder/4=no_code r1/coder/4/again=source", "in its place");
		kw_search_result_release(&r);
		kw_store_close(store);
		world_release(&w);
	}
	is_str(stories[1], stories[0], "asked one by one or all at once, a run is the same");
	free(stories[0]);
	free(stories[1]);
}

static void test_beam(void)
{
	struct world w;
	struct script s = { .count = 0 };
	struct kw_search_result r;
	struct play p = { .strategy = "beam", .width = 2, .rounds = 2 };
	struct kw_store *store = open_store("beam");
	const char *told;

	world_init(&w, "");
	say(&s, "coder", kernel(&w, "a", "//! ns 3000"));
	say(&s, "coder", kernel(&w, "b", "//! ns 2000"));
	say(&s, "coder", kernel(&w, "b1", "//! ns 1500"));
	say(&s, "coder", kernel(&w, "b2", "//! ns 2500"));
	say(&s, "coder", kernel(&w, "a1", "//! ns 1000"));
	say(&s, "coder", kernel(&w, "a2", "//! verdict build_error/syntax"));
	p.model = write_script(&s, &w, "beam.jsonl");
	is_int(run(&w, store, &p, &r), KW_OK, "a beam of two");
	is_str(r.has_best ? r.best.name : "", "r2-coder-2.1", "the best child of the second wins");
	is_int(r.round_count, 2, "two rounds");
	told = story(&w, store, r.run_id);
	has_str(told, "r1/coder/2.1=source r2/coder/1.1=source r2/coder/1.2=source r2/coder/2.1=source r2/coder/2.2=source", "each has two children");
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
}

static void test_evolve(void)
{
	struct world w;
	struct script s = { .count = 0 };
	struct kw_search_result r;
	struct play p = { .strategy = "evolve", .width = 2, .rounds = 4 };
	struct kw_store *store = open_store("evolve");
	const char *told;

	world_init(&w, "");
	say(&s, "coder", kernel(&w, "a", "//! ns 3000"));
	say(&s, "coder", kernel(&w, "b", "//! ns 2000"));
	say(&s, "coder", "```c\n/* in other clothes */\n//@ kernel a args=(x, y, n:i64)\n//! ns 10\n  void a(const float *x, float *y, int64_t n)  {}\n```\n");
	for (int i = 0; i < 5; i++)
		say(&s, "coder", kernel(&w, "k", kw_arena_printf(&w.arena, "int v%d;\n//! ns %d", i, 1900 - 100 * i)));
	p.model = write_script(&s, &w, "evolve.jsonl");
	is_int(run(&w, store, &p, &r), KW_OK, "two islands");
	is_int(r.round_count, 4, "four generations");
	told = story(&w, store, r.run_id);
	has_str(told, "r2/coder/i1=source", "a kernel in other clothes is an answer");
	ok(!strstr(told, "r2-coder-i1/"), "but is not judged again: %s", told);
	is_str(r.has_best ? r.best.name : "", "r4-coder-i2", "the fastest wins");
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
}

/* Its end names the number of rounds that it waits for. */
static void test_evolve_ends(void)
{
	struct world w;
	struct script s = { .count = 0 };
	struct kw_search_result r;
	struct play p = { .strategy = "evolve", .width = 1 };
	struct kw_store *store = open_store("evolve_ends");

	world_init(&w, "");
	for (int i = 0; i < 8; i++)
		say(&s, "coder", kernel(&w, "k", kw_arena_printf(&w.arena, "int v%d;\n//! ns %d", i, i < 2 ? 2000 - 1000 * i : 1000 + i)));
	p.model = write_script(&s, &w, "evolve_ends.jsonl");
	is_int(run(&w, store, &p, &r), KW_OK, "one island, without gain from the third generation on");
	is_int(r.round_count, 6, "four rounds gained nothing");
	is_str(kw_run_state_text(r.state), "four rounds in a row gained under 5%", "and so it says");
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
}

/* A mailbox that nobody looks into: the run ends with its time, whatever of it was asked by then. */
static void test_late(void)
{
	struct world w;
	struct kw_search_result r;
	struct play p = { .strategy = "best_of", .width = 2, .wall_ns = 1000000000ll };
	struct kw_store *store = open_store("late");
	const char *box;
	bool told = false;

	world_init(&w, "");
	box = kw_arena_strdup(&w.arena, temp_file("nobody"));
	p.model = kw_arena_printf(&w.arena, "mailbox:%s", box);
	is_int(run(&w, store, &p, &r), KW_OK, "answers that never come");
	is_int(r.state, KW_RUN_BUDGET, "are waited for until the run's time is over");
	for (size_t i = 0; i < r.reason_count; i++)
		told = told || strstr(r.reasons[i], "the run's time was over before r1/coder/1 of mailbox:");
	/* On a machine that was busy for all of that time nothing was asked. */
	ok(told || !kw_path_exists(kw_path_join(&w.arena, box, "0001.prompt.md")), "and it says whose");
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
}

static void test_ladder(void)
{
	struct world w;
	struct script s = { .count = 0 };
	struct kw_search_result r;
	struct play p = { .strategy = "ladder", .width = 6 };
	struct kw_store *store = open_store("ladder");

	world_init(&w, "");
	for (int i = 0; i < 6; i++)
		say(&s, "coder", kernel(&w, "k", i == 4 ? "//! verdict wrong/nan" : kw_arena_printf(&w.arena, "int v%d;\n//! ns %d", i, 5000 - 500 * i)));
	say(&s, "coder", kernel(&w, "child", "//! ns 1000"));
	p.model = write_script(&s, &w, "ladder.jsonl");
	is_int(run(&w, store, &p, &r), KW_OK, "a ladder");
	is_str(r.has_best ? r.best.name : "", "rung2-coder-1", "the child of the fastest wins");
	is_int(w.screens, 7, "all have a quick look");
	ok(w.fulls <= 3, "few are judged in full: %d", w.fulls);
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
}

/* Answers the first prompt of a mailbox at once, the second only when something was judged. */
struct postman {
	const char *dir;
	_Atomic bool judged, stop;
};
static struct postman *postman;

static void *deliver(void *arg)
{
	struct postman *p = arg;

	while (!p->stop) {
		for (int n = 1; n <= 2; n++) {
			char prompt[600], answer[600], draft[600];
			struct kw_buf text;
			bool second;

			snprintf(prompt, sizeof(prompt), "%s/%04d.prompt.md", p->dir, n);
			snprintf(answer, sizeof(answer), "%s/%04d.answer.md", p->dir, n);
			snprintf(draft, sizeof(draft), "%s/draft", p->dir);
			kw_buf_init(&text, 1 << 20);
			if (kw_file_read(prompt, 1 << 20, &text, NULL) == KW_OK && !kw_path_exists(answer)) {
				second = strstr(text.ptr, "r1/coder/2 ") != NULL;
				if (!second || p->judged) {
					kw_buf_reset(&text);
					kw_buf_printf(&text, "```c\n//@ kernel k args=(x, y, n:i64)\n//! ns %d\nvoid k(const float *x, float *y, int64_t n) {}\n```\n",
						      second ? 500 : 1000);
					kw_file_write(draft, text.ptr, text.len, NULL);
					rename(draft, answer);
				}
			}
			kw_buf_release(&text);
		}
		kw_sleep_ns(5000000);
	}
	return NULL;
}

static enum kw_status evaluate_and_tell(void *arg, const struct kw_candidate *c, const struct kw_judge_opts *o, struct kw_verdict *v,
					struct kw_error *e)
{
	enum kw_status status = world_evaluate(arg, c, o, v, e);

	postman->judged = true;
	return status;
}

static void test_overlap(void)
{
	struct world w;
	struct kw_search_result r;
	struct play p = { .strategy = "best_of", .width = 2 };
	struct kw_store *store = open_store("overlap");
	struct postman post = { .dir = strdup(temp_file("box")) };
	pthread_t thread;

	world_init(&w, "");
	w.ports.evaluate = evaluate_and_tell;
	postman = &post;
	p.model = kw_arena_printf(&w.arena, "mailbox:%s", post.dir);
	pthread_create(&thread, NULL, deliver, &post);
	is_int(run(&w, store, &p, &r), KW_OK, "the second answer waits for the first verdict, and comes");
	is_str(r.has_best ? r.best.name : "", "r1-coder-2", "it is judged too");
	post.stop = true;
	pthread_join(thread, NULL);
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
	free((void *)(uintptr_t)post.dir);
}

static bool says(const struct kw_search_result *r, const char *text)
{
	for (size_t i = 0; i < r->reason_count; i++)
		if (strstr(r->reasons[i], text))
			return true;
	return false;
}

/* Whom nobody answers is not waited for when the run is over, by its goal or by a fault: then a resumed run asks the same again. */
static void test_nobody_waits(void)
{
	struct world w;
	struct kw_search_result r;
	struct play p = { .strategy = "best_of", .width = 2 };
	struct kw_store *store = open_store("closed");
	struct postman post = { .dir = strdup(temp_file("closed-box")) };
	pthread_t thread;

	world_init(&w, "goal: { speedup: 5 }\n");
	postman = &post;
	p.model = kw_arena_printf(&w.arena, "mailbox:%s", post.dir);
	pthread_create(&thread, NULL, deliver, &post);
	w.fail_at = 1;
	is_int(run(&w, store, &p, &r), KW_ERR_IO, "a machine that fails while a call is open ends the run");
	kw_search_result_release(&r);
	w.fail_at = 0;
	p.resume = 1;
	is_int(run(&w, store, &p, &r), KW_OK, "which is resumed");
	is_int(r.state, KW_RUN_GOAL, "and ends with its goal, though the other call has no answer");
	is_str(r.has_best ? r.best.name : "", "r1-coder-1", "by what was answered");
	ok(says(&r, "1 call of mailbox:") && says(&r, "was closed: the run was over before it was answered"), "which is told");
	ok(!kw_path_exists(kw_path_join(&w.arena, post.dir, "0003.prompt.md")), "nothing was asked a second time");
	post.stop = true;
	pthread_join(thread, NULL);
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
	free((void *)(uintptr_t)post.dir);
}

/* ---- what is paid is kept ---- */

/* A command that writes down which slot it was asked for, and answers it. */
static const char *writing_command(struct world *w, const char *asked)
{
	const char *script = kw_arena_strdup(&w->arena, temp_file("model.sh"));
	const char *text = kw_arena_printf(&w->arena, "echo \"$KWRIGHT_SLOT\" >> %s\nn=${KWRIGHT_SLOT##*/}\n"
					   "[ $n = 4 ] && echo 'I would rather not.' && exit\n[ $n = again ] && n=4\nprintf '```c\\n//@ kernel k args=(x, y, n:i64)\\n"
					   "//! ns %%d000\\nvoid k(const float *x, float *y, int64_t n) {}\\n```\\n' $n\n", asked);

	kw_file_write(script, text, strlen(text), &err);
	return kw_arena_printf(&w->arena, "exec:sh %s", script);
}

static int lines_of(const char *path)
{
	struct kw_buf b;
	int n = 0;

	kw_buf_init(&b, 1 << 20);
	kw_file_read(path, 1 << 20, &b, NULL);
	for (size_t i = 0; i < b.len; i++)
		n += b.ptr[i] == '\n';
	kw_buf_release(&b);
	return n;
}

static enum kw_status die(void *arg, const struct kw_candidate *c, const struct kw_judge_opts *o, struct kw_verdict *v, struct kw_error *e)
{
	(void)arg, (void)c, (void)o, (void)v, (void)e;
	raise(SIGKILL);
	return KW_ERR_BUG;
}

/* Killed while the first of three answers is judged: the other two were paid as well. */
static void test_kept_when_it_comes(void)
{
	struct world w;
	struct kw_search_result r;
	struct play p = { .strategy = "best_of", .width = 3, .parallel = 3 };
	const char *asked, *recording;
	struct kw_store *store;
	int status = 0;
	pid_t child;

	world_init(&w, "");
	asked = kw_arena_strdup(&w.arena, temp_file("asked"));
	recording = kw_arena_strdup(&w.arena, temp_file("kept.jsonl"));
	p.record = recording;
	p.model = writing_command(&w, asked);
	fflush(NULL);
	child = fork();
	if (child == 0) {
		w.ports.evaluate = die;
		run(&w, open_store("kept"), &p, &r);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status), "a run is killed while it judges");
	is_int(lines_of(asked), 3, "three were asked by then");
	store = open_store("kept");
	p.resume = 1;
	is_int(run(&w, store, &p, &r), KW_OK, "it goes on");
	is_int(p.sums.recalled, 3, "with all three answers");
	is_int(lines_of(asked), 3, "and nobody is asked twice");
	has_str(story(&w, store, 1), "r1/coder/1=source r1/coder/2=source r1/coder/3=source", "which have become kernels, in their order");
	is_str(r.has_best ? r.best.name : "", "r1-coder-1", "the best of them is handed over");
	is_int(lines_of(recording), 4, "its recording has each once, behind its first line");
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
}

/* Of six, so many at a time, a budget that the first one spends cuts off the rest, and prompts that are under way count: which are sent is known
 * before anybody answers. */
static void test_budget_in_a_batch(void)
{
	static const int at_once[] = { 1, 2, 6, 6, 3 };
	int64_t one = 0;

	for (size_t k = 0; k < sizeof(at_once) / sizeof(*at_once); k++) {
		struct world w;
		struct script s = { .count = 0 };
		struct kw_search_result r;
		struct play p = { .strategy = "best_of", .width = 6, .parallel = at_once[k], .tokens = k < 2 ? 10 : k == 2 ? 0 : 5 * one / 2 };
		struct kw_store *store;

		world_init(&w, "");
		store = open_store(kw_arena_printf(&w.arena, "budget%zu", k));
		for (int i = 0; i < 6; i++)
			say(&s, "coder", kernel(&w, "k", kw_arena_printf(&w.arena, "int v%d;\n//! ns %d", i, 5000 - 500 * i)));
		p.model = write_script(&s, &w, "budget.jsonl");
		is_int(run(&w, store, &p, &r), KW_OK, "a budget of %lld tokens, %d at once", (long long)p.tokens, p.parallel);
		is_int(p.sums.calls, k < 2 ? 1 : k == 2 ? 6 : 3, "is kept to within a round");
		ok((r.state == KW_RUN_TOKENS) == (k != 2), "and said to have ended the run");
		ok(r.has_best, "what was right by then is handed over");
		one = k == 2 ? p.sums.tokens_in / 6 : one;
		kw_search_result_release(&r);
		kw_store_close(store);
		world_release(&w);
	}
}

/* The rule of three holds within a round: of twelve, one at a time, no fourth is asked for. */
static void test_useless_in_a_batch(void)
{
	struct world w;
	struct script s = { .count = 0 };
	struct kw_search_result r;
	struct play p = { .strategy = "best_of", .width = 12, .parallel = 1 };
	struct kw_store *store = open_store("useless");

	world_init(&w, "");
	for (int i = 0; i < 12; i++)
		say(&s, "coder", "Once upon a time.");
	p.model = write_script(&s, &w, "useless.jsonl");
	is_int(run(&w, store, &p, &r), KW_OK, "twelve stories instead of kernels");
	is_int(r.state, KW_RUN_USELESS, "end the run by its rule");
	ok(p.sums.calls <= 4, "after three, and what is asked for again: %d", p.sums.calls);
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
}

/* ---- what is built and begun before its turn ---- */

static struct {
	struct kw_verdict verdicts[64];
	char names[64][40];
	int count, taken, dropped;
} many;

static void begin_ahead(void *arg, const struct kw_candidate *const *list, size_t count, const struct kw_judge_opts *o)
{
	for (size_t i = 0; i < count; i++) {
		kw_verdict_init(&many.verdicts[many.count]);
		world_evaluate(arg, list[i], o, &many.verdicts[many.count], NULL);
		snprintf(many.names[many.count], sizeof(many.names[0]), "%.30s%d", list[i]->sha256, (int)o->effort);
		many.count++;
	}
}

static enum kw_status take_begun(void *arg, const struct kw_candidate *c, const struct kw_judge_opts *o, struct kw_verdict *v, struct kw_error *e)
{
	char name[40];

	snprintf(name, sizeof(name), "%.30s%d", c->sha256, (int)o->effort);
	for (int i = 0; i < many.count; i++)
		if (strcmp(many.names[i], name) == 0) {
			kw_verdict_release(v);
			*v = many.verdicts[i];
			many.names[i][0] = '\0';
			many.taken++;
			return KW_OK;
		}
	return world_evaluate(arg, c, o, v, e);
}

static void drop_begun(void *arg, const char *sha)
{
	(void)arg;
	for (int i = 0; i < many.count; i++)
		if (many.names[i][0] && (!sha || strncmp(many.names[i], sha, 30) == 0)) {
			kw_verdict_release(&many.verdicts[i]);
			many.names[i][0] = '\0';
			many.dropped++;
		}
}

/* Six answers are there before the first is judged; the fourth is of no use until it is asked for again. */
static void test_ahead_of_its_turn(void)
{
	static const char *const names[] = { "one after the other", "built a few at once", "judged by several" };
	char *stories[3];

	for (int k = 0; k < 3; k++) {
		struct world w;
		struct kw_search_result r;
		struct play p = { .strategy = "best_of", .width = 6 };
		struct kw_store *store = open_store(names[k]);
		const char *asked = temp_file(k == 0 ? "asked0" : k == 1 ? "asked1" : "asked2");

		world_init(&w, "");
		memset(&many, 0, sizeof(many));
		if (k >= 1)
			w.ports.build_ahead = world_build_ahead;
		if (k == 2) {
			w.ports.judge_ahead = begin_ahead;
			w.ports.drop_ahead = drop_begun;
			w.ports.evaluate = take_begun;
			w.ports.evaluators = 3;
		}
		p.model = writing_command(&w, asked);
		is_int(run(&w, store, &p, &r), KW_OK, "%s", names[k]);
		stories[k] = strdup(story(&w, store, r.run_id));
		if (k == 0)
			has_str(stories[0], "r1/coder/4=no_code r1/coder/4/again=source", "one is asked for again");
		else
			is_str(stories[k], stories[0], "nothing else becomes of it");
		ok(k == 2 || w.ahead_count == (k ? 6 : 0), "so many are built before their turn: %d", w.ahead_count);
		ok(k != 1 || w.batches == 2, "in two batches: %d", w.batches);
		is_int(many.taken, k == 2 ? 6 : 0, "so many were begun before their turn");
		is_int(many.dropped + many.taken, many.count, "and none is left");
		kw_search_result_release(&r);
		kw_store_close(store);
		world_release(&w);
	}
	for (int k = 0; k < 3; k++)
		free(stories[k]);
}

static void refine_script(struct world *w, struct script *s)
{
	say(s, "coder", kernel(w, "first", "//! verdict wrong/mismatch"));
	say(s, "debugger", kernel(w, "repaired", "//! ns 2000"));
	say(s, "planner", "STEP: Do less. EXPECT: 0.7\nSTEP: Do it at once.\n");
	say(s, "coder", kernel(w, "less", "//! ns 1400"));
	say(s, "planner", "STEP: Use vectors.\n");
	say(s, "coder", kernel(w, "vectors", "//@ tune STEP in {8, 16} default 8\n//! ns 900\n//! per STEP 16 100"));
}

/* Stopped at each evaluation in turn, and resumed: the same story. */
static void test_resume(void)
{
	char *whole = NULL;
	int total = 0;

	for (int n = 0; n == 0 || n <= total; n++) {
		struct world w;
		struct script s = { .count = 0 };
		struct kw_search_result r;
		struct play p = { .strategy = "refine" };
		struct kw_store *store = open_store(n ? "stopped" : "whole");
		const char *told;

		world_init(&w, "");
		refine_script(&w, &s);
		p.model = write_script(&s, &w, "refine.jsonl");
		w.fail_at = n;
		if (n == 0) {
			is_int(run(&w, store, &p, &r), KW_OK, "a run that nobody stops");
			total = w.calls;
			is_str(r.has_best ? r.best.name : "", "r3-coder", "ends with the last kernel");
			whole = strdup(story(&w, store, r.run_id));
			has_str(whole, "r1/coder=source r1/debugger=source r2/planner=source r2/coder=source r3/planner=source r3/coder=source",
				"having asked six times");
		} else {
			is_int(run(&w, store, &p, &r), KW_ERR_IO, "stopped at evaluation %d", n);
			p.resume = r.run_id;
			kw_search_result_release(&r);
			w.fail_at = 0;
			is_int(run(&w, store, &p, &r), KW_OK, "goes on");
			told = story(&w, store, r.run_id);
			is_str(told, whole, "to the same end, asking and judging nothing twice");
		}
		kw_search_result_release(&r);
		kw_store_close(store);
		world_release(&w);
	}
	free(whole);
}

static void test_niches(void)
{
	char a[KW_SHA256_HEX], b[KW_SHA256_HEX];
	struct kw_candidate c = { .source = "#pragma omp simd\n" };

	kw_niche_shape("//@ kernel f\nint  a = 1; // why\n", a);
	kw_niche_shape("//@ kernel f\n/* what */ int a=1;", b);
	is_str(a, b, "comments and blanks do not make a kernel");
	kw_niche_shape("//@ kernel g\nint a = 1;", b);
	ok(strcmp(a, b) != 0, "plan lines do");
	kw_niche_shape("//@ kernel f\ninta = 1;", b);
	ok(strcmp(a, b) != 0, "a blank between words does");
	is_int(kw_niche_of(&c, NULL), 4 * 4, "vectors, one launch, bound by what is not known");
}

/* A thousand kernels in 200 MB. */
static void test_memory(void)
{
#if defined(__SANITIZE_ADDRESS__)
	skip(2, "memory of a sanitizer's build says nothing");
#else
	struct world w;
	struct script *s = kw_calloc(1, sizeof(*s));
	struct kw_search_result r;
	struct play p = { .strategy = "best_of", .width = 50, .rounds = 20 };
	struct kw_store *store = open_store("thousand");
	struct rusage before, after;

	world_init(&w, "goal: { speedup: 1000 }\n");
	for (int i = 0; i < 1000; i++)
		say(s, "coder", kernel(&w, "k", kw_arena_printf(&w.arena, "int v%d;\n//! ns %g", i, 1e6 / pow(1.01, i))));
	p.model = write_script(s, &w, "thousand.jsonl");
	getrusage(RUSAGE_SELF, &before);
	is_int(run(&w, store, &p, &r), KW_OK, "a thousand kernels");
	getrusage(RUSAGE_SELF, &after);
	ok(p.sums.calls == 1000 && w.fulls == 1000, "each asked for and judged: %d %d", p.sums.calls, w.fulls);
	is_str(r.has_best ? r.best.name : "", "r20-coder-50", "the last is the fastest");
	ok(after.ru_maxrss - before.ru_maxrss < 200 << 10, "%ld KiB", after.ru_maxrss - before.ru_maxrss);
	kw_search_result_release(&r);
	kw_store_close(store);
	world_release(&w);
	kw_free(s);
#endif
}

static void test_lines(void)
{
	struct kw_arena a;
	struct kw_search s = { .arena = &a };
	struct kw_writer w = { .s = &s };

	kw_arena_init(&a, 1 << 20);
	is_str(kw_writer_line(&w, "  short\ttext ", 40), "short text", "a line");
	is_str(kw_writer_line(&w, "use wider vectors for the loads", 20), "use wider vectors...", "a long one ends behind a word");
	is_str(kw_writer_line(&w, "use wider vectors for the loads", 22), "use wider vectors...", "and not in the middle of one");
	is_str(kw_writer_line(&w, "exactly twenty chars", 20), "exactly twenty chars", "what fits is whole");
	is_str(kw_writer_line(&w, "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 6), "\xc3\xa4...", "a character is never cut");
	kw_arena_release(&a);
}

static void test_refusals(void)
{
	struct kw_arena a;
	struct kw_search s = { .arena = &a };
	struct kw_writer w = { .s = &s };
	const char *text;

	kw_arena_init(&a, 64 << 20);
	s.refusal = (struct kw_refusal){ .candidate_sha = "x", .cls = KW_V_BUILD_ERROR, .subclass = KW_S_UNDEFINED,
					 .summary = "k:1:2: unknown type name 'bool'", .evidence = "k:1:2: error: unknown type name 'bool'" };
	text = kw_writer_failure(&w, "x");
	ok(strstr(text, "unknown type") && !strstr(strstr(text, "unknown type") + 1, "unknown type"), "a compiler's message is said once");
	s.refusal.evidence = "k:1:2: something else";
	text = kw_writer_failure(&w, "x");
	ok(strstr(text, "unknown type") && strstr(text, "something else"), "and is there when the evidence does not have it");
	ok(!strstr(text, "What is known"), "what no rule knows is said without one");
	s.refusal.evidence = "k.py:12:21: error: acc is not defined\nk.py:13:21: error: acc is not defined\nptxas error   : Entry function 'f' uses too much "
			     "shared data (0x10400 bytes, 0xc000 max)";
	text = kw_writer_failure(&w, "x");
	ok(strstr(text, "What is known of this:\n- a name that is not there on every path: ") && strstr(text, " Do: Give it a value"),
	   "what a rule knows of a refusal is told with it");
	ok(strstr(text, "66560") && !strstr(strstr(text, "- a name") + 1, "- a name"), "each rule once, with its numbers");
	ok(kw_writer_failure(&w, "y") == NULL, "another candidate's refusal is none");
	kw_rules_release(s.rules, s.rule_count);
	kw_arena_release(&a);
}

int main(void)
{
	test_lines();
	test_refusals();
	test_best_of();
	test_beam();
	test_evolve();
	test_evolve_ends();
	test_late();
	test_ladder();
	test_overlap();
	test_nobody_waits();
	test_kept_when_it_comes();
	test_budget_in_a_batch();
	test_useless_in_a_batch();
	test_ahead_of_its_turn();
	test_resume();
	test_niches();
	test_memory();
	return done();
}
