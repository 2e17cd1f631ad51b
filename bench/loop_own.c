/* loop_own.c - DIR N: what the loop around a model costs for each candidate, as a function of how many came before it, for bench/loop.
 *
 * A run of N kernels by `evolve`, whose judge is made up and takes no time: one in three is right, one wrong, one does not build. Everything
 * else is the program's own: prompts, a recording's answers, both stores, memory. Prints "UPTO<TAB>MILLISECONDS" for each stretch of N: the time of a
 * processor that the main thread took for a candidate of it. It reads no clock of the wall, so other programs disturb it little. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "memory/memory.h"
#include "search/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 64, STRETCHES_MAX = 16 };
static const double faster = 1.5; /* each round than the one before */
static const int stretches[] = { 100, 300, 600, 1200, 2400 };
static const char task_text[] = "name: relu_small\n"
				"dims: { n: { min: 1, max: 65536 } }\n"
				"inputs:\n  x: { dtype: f32, shape: [n], dist: normal }\n"
				"outputs:\n  y: { dtype: f32, shape: [n] }\n"
				"reference:\n  expr: |\n    y = relu(x)\n"
				"perf: [ { n: 2048 } ]\n";

struct world {
	struct kw_task task;
	struct kw_expr *expr;
	struct kw_arena arena;
	struct kw_hardware hardware;
	struct kw_store *memory;
	int judged;
	double began_ms[STRETCHES_MAX];
};

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void fill_right(struct kw_verdict *v, const struct kw_task *t, double ns)
{
	struct kw_case_result *r = kw_arena_calloc(&v->arena, 1, sizeof(*r));

	if (!r)
		return;
	*r = (struct kw_case_result){ .label = t->cases[0].label, .perf = true, .trials = 13, .verdict = KW_V_OK, .has_times = true, .bytes = 16384,
				      .flops = 2048, .sol = 0.5, .sol_bound = "memory" };
	r->dims = kw_arena_copy(&v->arena, t->cases[0].dims, sizeof(int64_t));
	r->dim_count = r->dims ? 1 : 0;
	r->times = (struct kw_times){ .method = "batch-minus-empty", .cold = true, .median_ns = ns, .ci_low_ns = 0.99 * ns, .ci_high_ns = 1.01 * ns,
				      .min_ns = 0.98 * ns };
	v->cases = r;
	v->case_count = 1;
	v->geomean_speedup = 1e6 / ns;
	v->geomean_sol = 0.5;
}

static enum kw_status evaluate(void *arg, const struct kw_candidate *c, const struct kw_judge_opts *o, struct kw_verdict *v, struct kw_error *err)
{
	struct world *w = arg;
	int i = w->judged++;

	(void)c;
	(void)o;
	(void)err;
	for (size_t k = 0; k < sizeof(stretches) / sizeof(*stretches); k++)
		if (i == stretches[k])
			w->began_ms[k] = cpu_ms();
	v->task_name = w->task.name;
	v->backend = "c";
	v->device = "a processor";
	v->when_ms = kw_wall_ms();
	v->cls = i % 3 == 1 ? KW_V_WRONG : i % 3 == 2 ? KW_V_BUILD_ERROR : KW_V_OK;
	v->subclass = i % 3 == 1 ? KW_S_MISMATCH : i % 3 == 2 ? KW_S_SYNTAX : KW_S_NONE;
	snprintf(v->summary, sizeof(v->summary), "%s", i % 3 == 0 ? "right in 7 cases, 40 trials" : i % 3 == 1 ? "1 of 2048 elements of y is wrong" :
						       "candidate:11:1: expected ';' before '}' token");
	if (v->cls == KW_V_OK)
		fill_right(v, &w->task, 1e12 / pow(faster, i / WIDTH) + i);
	return KW_OK;
}

static enum kw_status learn(void *arg, const struct kw_candidate *c, const struct kw_verdict *v, struct kw_error *err)
{
	struct world *w = arg;

	return kw_memory_learn(w->memory, &w->task, w->expr, c, v, err);
}

static const char *write_answers(struct world *w, const char *dir, int count, struct kw_error *err)
{
	const char *path = kw_path_join(&w->arena, dir, "answers.jsonl");
	struct kw_buf all;
	enum kw_status status;

	kw_buf_init(&all, 64 << 20);
	kw_buf_addz(&all, "{\"recording\": 1, \"note\": \"scripted\"}\n");
	for (int i = 0; i < count; i++) {
		const char *text = kw_arena_printf(&w->arena, "```c\n//@ kernel candidate args=(x, y, n:i64)\n#include <stdint.h>\nenum { ANSWER = %d };\n"
						   "void candidate(const float *x, float *y, int64_t n)\n{\n\tfor (int64_t i = 0; i < n; i++)\n"
						   "\t\ty[i] = x[i] > 0 ? x[i] : 0;\n}\n```\n", i);
		json_t *j = json_pack("{s:s, s:o, s:s}", "role", "coder", "slot", json_sprintf("r%d/coder/i%d", i / WIDTH + 1, i % WIDTH + 1), "text",
				      text);

		kw_json_canonical(j, &all, err);
		kw_buf_addz(&all, "\n");
		json_decref(j);
	}
	status = kw_file_write(path, all.ptr, all.len, err);
	kw_buf_release(&all);
	return status == KW_OK ? kw_arena_printf(&w->arena, "replay:%s", path) : NULL;
}

static enum kw_status play(struct world *w, const char *dir, int count, struct kw_search_result *out, struct kw_error *err)
{
	struct kw_search_ports ports = { .arg = w, .evaluate = evaluate, .learn = learn, .hardware = &w->hardware };
	struct kw_search_opts o;
	struct kw_store *store = NULL;
	enum kw_status status = kw_store_open(kw_path_join(&w->arena, dir, "run"), false, &store, err);

	kw_search_opts_default(&o);
	o.strategy = "evolve";
	o.width = WIDTH;
	o.budget.max_rounds = (count + WIDTH - 1) / WIDTH;
	o.agent.model = write_answers(w, dir, count, err);
	if (status == KW_OK)
		status = o.agent.model ? kw_agent_new(&o.agent, &ports.agent, err) : err->status;
	if (status == KW_OK)
		status = kw_search_run_with(&ports, &w->task, w->expr, &o, store, w->memory, out, err);
	kw_agent_free(ports.agent);
	kw_store_close(store);
	return status;
}

static void print(const struct world *w, double end_ms)
{
	double from_ms = 0;
	int from = 0;

	for (size_t k = 0; k < sizeof(stretches) / sizeof(*stretches) && from < w->judged; k++) {
		int upto = stretches[k] < w->judged ? stretches[k] : w->judged;
		double upto_ms = stretches[k] < w->judged ? w->began_ms[k] : end_ms;

		printf("%d\t%.3f\n", upto, (upto_ms - from_ms) / (upto - from));
		from = upto;
		from_ms = upto_ms;
	}
}

int main(int argc, char **argv)
{
	struct world w = { .hardware = { .units = 2 } };
	struct kw_search_result result = { 0 };
	struct kw_error err = { 0 };
	int64_t n = 0;
	enum kw_status st = argc == 3 && kw_str_to_i64(kw_str_from(argv[2]), &n) && n > 0 ? KW_OK : KW_ERR_USAGE;

	kw_arena_init(&w.arena, 256 << 20);
	snprintf(w.hardware.name, sizeof(w.hardware.name), "a processor");
	if (st == KW_OK)
		st = kw_task_parse_yaml(&w.task, "relu_small.yaml", task_text, strlen(task_text), &err);
	if (st == KW_OK)
		st = kw_expr_parse(&w.task, &w.arena, &w.expr, &err);
	if (st == KW_OK)
		st = kw_store_open(kw_path_join(&w.arena, argv[1], "memory"), false, &w.memory, &err);
	if (st == KW_OK)
		st = play(&w, argv[1], (int)n, &result, &err);
	if (st == KW_OK)
		print(&w, cpu_ms());
	else
		fprintf(stderr, "loop_own: %s\n", err.text[0] ? err.text : "DIR N");
	kw_search_result_release(&result);
	kw_store_close(w.memory);
	kw_task_release(&w.task);
	kw_arena_release(&w.arena);
	return st != KW_OK;
}
