/* A benchmark, read from the store. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/bench.h"
#include "report/report.h"

enum { BENCH_MAX_BYTES = 512 << 20, RECORD_BYTES = 64 << 20 };

static const char *text_of(struct kw_bench_report *r, const json_t *j, const char *key, const char *otherwise, bool *good)
{
	const char *out = kw_arena_strdup(&r->arena, kw_json_get_str(j, key, otherwise));

	*good = *good && out;
	return out;
}

static enum kw_status no_memory(struct kw_error *err)
{
	return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the benchmark's report");
}

/* What was asked for: the fact "bench". */
static enum kw_status read_plan(struct kw_bench_report *r, const json_t *j, struct kw_error *err)
{
	const json_t *items = json_object_get(j, "items"), *at;
	bool good = true;
	size_t i;

	r->suite = text_of(r, j, "suite", "", &good);
	r->title = text_of(r, j, "title", "", &good);
	r->path = text_of(r, j, "path", "", &good);
	r->rule = text_of(r, j, "rule", "", &good);
	r->proposer = text_of(r, j, "proposer", "", &good);
	r->close_wide = kw_json_get_f64(j, "close_wide", 0);
	r->close_narrow = kw_json_get_f64(j, "close_narrow", 0);
	r->count = json_array_size(items);
	r->items = kw_arena_calloc(&r->arena, r->count + 1, sizeof(*r->items));
	if (!r->items)
		return no_memory(err);
	json_array_foreach(items, i, at) {
		struct kw_bench_item *o = &r->items[i];

		o->key = text_of(r, at, "key", "", &good);
		o->problem = text_of(r, at, "problem", "", &good);
		o->group = text_of(r, at, "group", "", &good);
		o->name = text_of(r, at, "name", "", &good);
		o->file = kw_json_get_str(at, "file", NULL) ? text_of(r, at, "file", "", &good) : NULL;
		o->text = text_of(r, at, "text", "", &good);
		o->number = (int)kw_json_get_i64(at, "number", 0);
		o->sample = (int)kw_json_get_i64(at, "sample", 0);
		if (!kw_bench_state_parse(kw_json_get_str(at, "state", "waiting"), &o->state))
			o->state = KW_BENCH_WAITING;
	}
	return good ? KW_OK : no_memory(err);
}

/* The place of a baseline among the report's; -1: too many of them. */
static int baseline_of(struct kw_bench_report *r, const char *name)
{
	for (size_t b = 0; b < r->baseline_count; b++)
		if (strcmp(r->baselines[b], name) == 0)
			return (int)b;
	if (r->baseline_count == KW_BENCH_BASELINES)
		return -1;
	r->baselines[r->baseline_count] = kw_arena_strdup(&r->arena, name);
	return r->baselines[r->baseline_count] ? (int)r->baseline_count++ : -1;
}

/* Geometric means over the timed cases, a baseline at a time. A case without it leaves the baseline out: half a mean is none. */
static void read_speedups(struct kw_bench_report *r, struct kw_bench_item *o, const struct kw_verdict *v)
{
	double logs[KW_BENCH_BASELINES] = { 0 };
	int cases = 0, seen[KW_BENCH_BASELINES] = { 0 };

	for (size_t i = 0; i < v->case_count; i++) {
		const struct kw_case_result *c = &v->cases[i];

		if (!c->perf || !c->has_times || c->unseen)
			continue;
		cases++;
		for (size_t k = 0; k < c->baseline_count; k++) {
			int b = baseline_of(r, c->baselines[k].name);

			if (b < 0 || !(c->baselines[k].speedup > 0))
				continue;
			logs[b] += log(c->baselines[k].speedup);
			seen[b]++;
		}
	}
	for (size_t b = 0; b < r->baseline_count; b++)
		o->speedup[b] = cases && seen[b] == cases ? exp(logs[b] / cases) : 0;
	o->best_speedup = v->geomean_speedup;
	o->sol = v->geomean_sol;
}

/* Why the suite would say something else. */
static const char *disagreement(struct kw_bench_report *r, const struct kw_bench_item *o, const struct kw_suite_view *view)
{
	const char *sub = kw_subclass_name(o->subclass);

	if (!o->suite_known || o->suite_right == o->right)
		return NULL;
	if (r->close_wide <= 0)
		return kw_arena_printf(&r->arena, "it runs, which is enough there; here %s%s%s: %s", kw_verdict_name(o->cls), sub[0] ? "/" : "",
				       sub, o->text);
	if (o->suite_right)
		return kw_arena_printf(&r->arena, "all of %lld elements are within its tolerance; here %s%s%s: %s",
				       (long long)view->compared, kw_verdict_name(o->cls), sub[0] ? "/" : "", sub, o->text);
	return kw_arena_printf(&r->arena, "%lld of %lld elements are beyond its tolerance, and within what rounding explains",
			       (long long)view->far, (long long)view->compared);
}

static enum kw_status read_verdict(struct kw_bench_report *r, struct kw_bench_item *o, const struct kw_verdict_row *row,
				   const json_t *fact, struct kw_error *err)
{
	struct kw_suite_view view;
	struct kw_verdict v;
	enum kw_status status = kw_report_verdict_load(row, &v, err);

	if (status != KW_OK)
		return status;
	o->has_verdict = true;
	o->verdict_id = row->id;
	o->cls = v.cls;
	o->subclass = v.subclass;
	o->right = v.cls == KW_V_OK;
	o->median_ns = row->median_ns;
	read_speedups(r, o, &v);
	kw_suite_look(&v, r->close_wide, kw_json_get_i64(fact, "close_compared", 0), kw_json_get_i64(fact, "not_close", 0), &view);
	o->suite_known = view.known;
	o->suite_right = view.right;
	o->suite_speedup = view.speedup;
	if (view.baseline && !r->suite_baseline[0])
		r->suite_baseline = kw_arena_strdup(&r->arena, view.baseline);
	o->text = kw_arena_strdup(&r->arena, v.summary);
	kw_verdict_release(&v);
	if (!o->text || !r->suite_baseline)
		return no_memory(err);
	o->disagreement = disagreement(r, o, &view);
	return KW_OK;
}

static enum kw_status read_calls(struct kw_bench_report *r, struct kw_store *s, struct kw_bench_item *o, struct kw_error *err)
{
	struct kw_model_call *calls = NULL;
	struct kw_arena a;
	size_t n = 0;
	enum kw_status status;

	(void)r;
	kw_arena_init(&a, BENCH_MAX_BYTES);
	status = kw_store_model_call_list(s, o->run_id, &a, &calls, &n, err);
	for (size_t i = 0; status == KW_OK && i < n; i++) {
		o->calls++;
		o->tokens_in += calls[i].tokens_in;
		o->tokens_out += calls[i].tokens_out;
		o->cost_usd += calls[i].cost_usd;
		o->unpriced = o->unpriced || !calls[i].priced;
	}
	kw_arena_release(&a);
	return status;
}

/* How it ended: its fact "item", its verdict, its calls of models. */
static enum kw_status read_item(struct kw_bench_report *r, struct kw_store *s, struct kw_bench_item *o, const struct kw_run_row *run,
				struct kw_error *err)
{
	struct kw_verdict_row row;
	struct kw_arena a;
	json_t *fact = NULL;
	int64_t verdict = 0;
	enum kw_status status;

	kw_arena_init(&a, RECORD_BYTES);
	o->run_id = run->id;
	o->evaluations = run->evaluations;
	status = kw_store_fact_get(s, run->id, "item", &fact, err);
	if (status == KW_OK && fact) {
		if (!kw_bench_state_parse(kw_json_get_str(fact, "state", ""), &o->state))
			o->state = KW_BENCH_WAITING;
		o->text = kw_arena_strdup(&r->arena, kw_json_get_str(fact, "text", ""));
		o->wall_ns = kw_json_get_i64(fact, "wall_ns", 0);
		verdict = kw_json_get_i64(fact, "verdict", 0);
		if (!o->text)
			status = no_memory(err);
	}
	if (status == KW_OK && verdict)
		status = kw_store_verdict_get(s, verdict, &a, &row, err);
	if (status == KW_OK && verdict)
		status = read_verdict(r, o, &row, fact, err);
	if (status == KW_OK)
		status = read_calls(r, s, o, err);
	json_decref(fact);
	kw_arena_release(&a);
	return status;
}

static enum kw_status read_items(struct kw_bench_report *r, struct kw_store *s, struct kw_error *err)
{
	struct kw_run_row *runs = NULL;
	struct kw_arena a;
	size_t n = 0;
	enum kw_status status;

	kw_arena_init(&a, BENCH_MAX_BYTES);
	status = kw_store_run_items(s, r->run.id, &a, &runs, &n, err);
	for (size_t i = 0; status == KW_OK && i < r->count; i++)
		for (size_t k = 0; k < n; k++)
			if (strcmp(runs[k].item, r->items[i].key) == 0) {
				status = read_item(r, s, &r->items[i], &runs[k], err);
				break;
			}
	kw_arena_release(&a);
	return status;
}

enum kw_status kw_bench_report_load(struct kw_bench_report *r, struct kw_store *s, int64_t run_id, struct kw_error *err)
{
	struct kw_verdict_count *counts = NULL;
	size_t n = 0;
	json_t *plan = NULL;
	enum kw_status status;

	memset(r, 0, sizeof(*r));
	r->suite_baseline = "";
	kw_arena_init(&r->arena, BENCH_MAX_BYTES);
	status = kw_store_run_get(s, run_id, &r->arena, &r->run, err);
	if (status == KW_OK)
		status = kw_store_fact_get(s, run_id, "bench", &plan, err);
	if (status == KW_OK && !plan)
		status = kw_fail(err, KW_ERR_NOT_FOUND, kw_store_dir(s), "run %lld is no benchmark", (long long)run_id);
	if (status == KW_OK)
		status = read_plan(r, plan, err);
	if (status == KW_OK)
		status = read_items(r, s, err);
	if (status == KW_OK)
		status = kw_store_verdict_counts(s, run_id, &r->arena, &counts, &n, err);
	r->cheats = kw_arena_calloc(&r->arena, n + 1, sizeof(*r->cheats));
	if (status == KW_OK && !r->cheats)
		status = no_memory(err);
	for (size_t i = 0; status == KW_OK && i < n; i++)
		if (strcmp(counts[i].cls, "cheat") == 0)
			r->cheats[r->cheat_count++] = counts[i];
	if (status == KW_OK)
		status = kw_bench_report_score(r, err);
	json_decref(plan);
	if (status != KW_OK)
		kw_bench_report_release(r);
	return status;
}

void kw_bench_report_release(struct kw_bench_report *r)
{
	kw_arena_release(&r->arena);
	memset(r, 0, sizeof(*r));
}
