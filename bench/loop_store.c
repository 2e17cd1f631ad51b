/* loop_store.c - DIR N: a store with one run of N candidates, each an answer of a model and a verdict with three cases, for bench/loop.
 * Every fifth is wrong, every seventh does not build. The rows are put as a search puts them. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE_BYTES = 3000, PROMPT_BYTES = 12000, KERNELS_A_ROUND = 8 };
static char source[SOURCE_BYTES + 1], prompt[PROMPT_BYTES + 1];

static void fill(char *text, size_t n, int i)
{
	int used = snprintf(text, n, "//@ kernel candidate args=(x, y, rows:i64, cols:i64)\n/* number %d */\n", i);

	for (size_t k = (size_t)used; k < n; k++)
		text[k] = k % 80 == 79 ? '\n' : (char)('a' + (k * 7 + (size_t)i) % 26);
	text[n] = '\0';
}

static void fill_verdict(struct kw_verdict *v, const char *task_sha, const struct kw_candidate *c, int i)
{
	static double samples[20];
	struct kw_case_result *r;

	kw_verdict_init(v);
	r = kw_arena_calloc(&v->arena, 3, sizeof(*r));
	v->task_name = "softmax";
	v->backend = "c";
	v->device = "a processor";
	memcpy(v->task_sha, task_sha, sizeof(v->task_sha));
	memcpy(v->candidate_sha, c->sha256, sizeof(v->candidate_sha));
	memcpy(v->plan_sha, c->sha256, sizeof(v->plan_sha));
	v->when_ms = kw_wall_ms();
	v->tune = kw_arena_printf(&v->arena, "THREADS=%d", 1 << (i % 8));
	v->cls = i % 5 == 4 ? KW_V_WRONG : i % 7 == 6 ? KW_V_BUILD_ERROR : KW_V_OK;
	v->subclass = v->cls == KW_V_WRONG ? KW_S_MISMATCH : v->cls == KW_V_BUILD_ERROR ? KW_S_SYNTAX : KW_S_NONE;
	snprintf(v->summary, sizeof(v->summary), "%s", v->cls == KW_V_OK ? "right in 3 cases, 40 trials" : "12 of 4096 elements of y are wrong");
	v->cases = r;
	v->case_count = v->cls == KW_V_BUILD_ERROR ? 0 : 3;
	v->geomean_speedup = v->cls == KW_V_OK ? 1 + i % 100 / 10.0 : 0;
	v->geomean_sol = v->cls == KW_V_OK ? 0.5 : 0;
	for (int k = 0; r && k < 3; k++) {
		r[k] = (struct kw_case_result){ .label = k ? "rows=3 cols=100" : "rows=4096 cols=4096", .perf = k == 0, .trials = 13, .verdict = v->cls,
						.subclass = v->subclass, .has_times = k == 0 && v->cls == KW_V_OK, .bytes = 1.3e8, .flops = 8e7, .sol = 0.5 };
		r[k].times = (struct kw_times){ .samples_ns = samples, .sample_count = 20, .method = "batch-minus-empty", .cold = true, .median_ns = 1e6 + i,
						 .ci_low_ns = 9e5, .ci_high_ns = 1.1e6, .min_ns = 9e5 };
	}
}

static enum kw_status put(struct kw_store *s, int64_t run, const char *task_sha, int i, struct kw_error *err)
{
	char name[40], slot[40];
	struct kw_candidate c = { .backend = "c", .name = name, .source = source, .source_len = SOURCE_BYTES };
	struct kw_model_call call = { .provider = "replay", .model = "a model", .role = "coder", .tokens_in = 3000, .tokens_out = 800,
				      .latency_ns = 20000000000, .cost_usd = 0.02, .outcome = "source", .slot = slot, .reasoning_sha = "",
				      .finish = "stop", .note = "", .round = i / KERNELS_A_ROUND + 1, .attempts = 1, .counted = true,
				      .priced = true };
	struct kw_call_texts texts = { prompt, source, "" };
	struct kw_verdict v;
	int64_t id;
	enum kw_status st;

	snprintf(name, sizeof(name), "r%d-coder-%d.c", i / KERNELS_A_ROUND + 1, i % KERNELS_A_ROUND);
	snprintf(slot, sizeof(slot), "r%d/coder/%d", i / KERNELS_A_ROUND + 1, i % KERNELS_A_ROUND);
	fill(source, SOURCE_BYTES, i);
	fill(prompt, PROMPT_BYTES, i);
	kw_sha256_hex(source, SOURCE_BYTES, c.sha256);
	fill_verdict(&v, task_sha, &c, i);
	st = kw_store_model_call_put(s, run, &call, &texts, err);
	if (st == KW_OK)
		st = kw_store_candidate_put(s, &c, err);
	if (st == KW_OK)
		st = kw_store_verdict_put(s, run, call.round, "full", &v, &id, err);
	if (st == KW_OK && i % KERNELS_A_ROUND == KERNELS_A_ROUND - 1)
		st = kw_store_round_put(s, run, &(struct kw_round){ call.round, "another idea", KERNELS_A_ROUND, 1.1e6, 1e6, 0.9, 1e6 }, err);
	kw_verdict_release(&v);
	return st;
}

int main(int argc, char **argv)
{
	struct kw_run_row row = { .task_name = "softmax", .task_text = "name: softmax\n", .backend = "c", .device = "a processor", .strategy = "beam",
				  .options = "{}" };
	char task_sha[KW_SHA256_HEX];
	struct kw_store *s = NULL;
	struct kw_error err = { 0 };
	int64_t run, n = 0;
	enum kw_status st = argc == 3 && kw_str_to_i64(kw_str_from(argv[2]), &n) ? KW_OK : KW_ERR_USAGE;

	kw_sha256_hex(row.task_text, strlen(row.task_text), task_sha);
	row.task_sha = task_sha;
	if (st == KW_OK)
		st = kw_store_open(argv[1], false, &s, &err);
	if (st == KW_OK)
		st = kw_store_task_put(s, task_sha, row.task_name, row.task_text, &err);
	if (st == KW_OK)
		st = kw_store_run_new(s, &row, &run, &err);
	for (int i = 0; st == KW_OK && i < n; i++)
		st = put(s, run, task_sha, i, &err);
	if (st == KW_OK)
		st = kw_store_run_end(s, run, KW_RUN_DONE, NULL, &err);
	if (st != KW_OK)
		fprintf(stderr, "loop_store: %s\n", err.text[0] ? err.text : "DIR N");
	kw_store_close(s);
	return st != KW_OK;
}
