/* A benchmark for programs. Its "path" and files are as they were given. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/bench.h"

/* Sets a key and owns the value; false when out of memory. */
static bool set(json_t *o, const char *key, json_t *value)
{
	return json_object_set_new(o, key, value) == 0;
}

static json_t *positive(double v)
{
	return v > 0 ? kw_json_real(v) : json_null();
}

static json_t *fast_json(const double fast[KW_FAST_COUNT])
{
	json_t *o = json_object();

	for (int p = 0; o && p < KW_FAST_COUNT; p++) {
		char key[32];

		snprintf(key, sizeof(key), "%g", kw_fast_p_values[p]);
		if (!set(o, key, kw_json_real(fast[p]))) {
			json_decref(o);
			return NULL;
		}
	}
	return o;
}

static json_t *pass_json(const struct kw_bench_group *g)
{
	json_t *o = json_object();
	bool good = o != NULL;

	for (int k = 0; good && k < KW_PASS_COUNT; k++) {
		char key[32];

		snprintf(key, sizeof(key), "%d", kw_pass_k_values[k]);
		if (!isnan(g->pass[k]))
			good = set(o, key, json_pack("{s:o, s:I}", "value", kw_json_real(g->pass[k]), "problems",
						     (json_int_t)g->pass_problems[k]));
	}
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *baselines_json(const struct kw_bench_report *r, const struct kw_bench_group *g)
{
	json_t *o = json_object();
	bool good = o != NULL;

	for (size_t b = 0; good && b < r->baseline_count; b++)
		good = set(o, r->baselines[b], json_pack("{s:o, s:o, s:I}", "fast_p", fast_json(g->fast[b]), "geomean_speedup",
							 positive(g->geomean[b]), "timed", (json_int_t)g->timed[b]));
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *states_json(const struct kw_bench_group *g)
{
	json_t *o = json_object();
	bool good = o != NULL;

	for (int s = 0; good && s < KW_BENCH_STATE_COUNT; s++)
		good = set(o, kw_bench_state_name((enum kw_bench_state)s), json_integer((json_int_t)g->states[s]));
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *verdicts_json(const struct kw_bench_group *g)
{
	json_t *o = json_object();

	for (int v = 0; v < KW_V_COUNT && o; v++)
		if (g->verdicts[v] && !set(o, kw_verdict_name((enum kw_verdict_class)v), json_integer((json_int_t)g->verdicts[v]))) {
			json_decref(o);
			return NULL;
		}
	return o;
}

static json_t *group_json(const struct kw_bench_report *r, const struct kw_bench_group *g)
{
	json_t *o = json_object();
	bool good = o && set(o, "group", json_string(g->name)) && set(o, "problems", json_integer((json_int_t)g->problems)) &&
		    set(o, "counted", json_integer((json_int_t)g->counted)) && set(o, "samples", json_integer((json_int_t)g->samples)) &&
		    set(o, "right", json_integer((json_int_t)g->right)) && set(o, "correct", kw_json_real(g->correct)) &&
		    set(o, "states", states_json(g)) && set(o, "verdicts", verdicts_json(g)) && set(o, "against", baselines_json(r, g)) &&
		    set(o, "pass_at_k", pass_json(g)) &&
		    set(o, "sol", positive(g->sol)) && set(o, "wall_ns", json_integer(g->wall_ns)) &&
		    set(o, "wall_ns_per_candidate", g->took ? kw_json_real((double)g->wall_ns / (double)g->took) : json_null()) &&
		    set(o, "tokens_in", json_integer(g->tokens_in)) && set(o, "tokens_out", json_integer(g->tokens_out)) &&
		    set(o, "cost_usd", g->unpriced ? json_null() : kw_json_real(g->cost_usd)) &&
		    set(o, "as_the_suite", json_pack("{s:f, s:o, s:o, s:I, s:I, s:I, s:I}", "correct", g->suite_correct, "fast_p",
						     fast_json(g->suite_fast), "geomean_speedup", positive(g->suite_geomean), "known",
						     (json_int_t)g->suite_known, "right", (json_int_t)g->suite_right, "untimed",
						     (json_int_t)g->suite_untimed, "disagreements", (json_int_t)g->disagreements));

	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *speedups_json(const struct kw_bench_report *r, const struct kw_bench_item *i)
{
	json_t *o = json_object();
	bool good = o != NULL;

	for (size_t b = 0; good && b < r->baseline_count; b++)
		if (i->speedup[b] > 0)
			good = set(o, r->baselines[b], kw_json_real(i->speedup[b]));
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *item_json(const struct kw_bench_report *r, const struct kw_bench_item *i)
{
	json_t *o = json_object();
	bool good = o && set(o, "item", json_string(i->key)) && set(o, "problem", json_string(i->problem)) &&
		    set(o, "group", json_string(i->group)) && set(o, "number", i->number ? json_integer(i->number) : json_null()) &&
		    set(o, "name", json_string(i->name)) && set(o, "sample", json_integer(i->sample)) &&
		    set(o, "file", i->file ? json_string(i->file) : json_null()) &&
		    set(o, "state", json_string(kw_bench_state_name(i->state))) && set(o, "text", json_string(i->text)) &&
		    set(o, "run", i->run_id ? json_integer(i->run_id) : json_null()) &&
		    set(o, "verdict_id", i->verdict_id ? json_integer(i->verdict_id) : json_null()) &&
		    set(o, "verdict", i->has_verdict ? json_string(kw_verdict_name(i->cls)) : json_null()) &&
		    set(o, "subclass", json_string(i->has_verdict ? kw_subclass_name(i->subclass) : "")) &&
		    set(o, "right", json_boolean(i->right)) && set(o, "median_ns", positive(i->median_ns)) &&
		    set(o, "speedup", positive(i->best_speedup)) && set(o, "speedups", speedups_json(r, i)) && set(o, "sol", positive(i->sol)) &&
		    set(o, "wall_ns", json_integer(i->wall_ns)) && set(o, "evaluations", json_integer(i->evaluations)) &&
		    set(o, "tokens_in", json_integer(i->tokens_in)) && set(o, "tokens_out", json_integer(i->tokens_out)) &&
		    set(o, "cost_usd", i->unpriced ? json_null() : kw_json_real(i->cost_usd)) &&
		    set(o, "suite_right", i->suite_known ? json_boolean(i->suite_right) : json_null()) &&
		    set(o, "suite_speedup", positive(i->suite_speedup));

	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *disagreement_json(const struct kw_bench_item *i)
{
	return json_pack("{s:s, s:s, s:b, s:b, s:s}", "item", i->key, "name", i->name, "right", i->right, "suite_right", i->suite_right,
			 "why", i->disagreement);
}

json_t *kw_bench_report_json(const struct kw_bench_report *r)
{
	json_t *o = json_object(), *items = json_array(), *groups = json_array(), *cheats = json_object(), *others = json_array(),
	       *names = json_array();
	bool good = o && items && groups && cheats && others && names;

	for (size_t i = 0; good && i < r->count; i++) {
		good = json_array_append_new(items, item_json(r, &r->items[i])) == 0;
		if (good && r->items[i].disagreement)
			good = json_array_append_new(others, disagreement_json(&r->items[i])) == 0;
	}
	for (size_t g = 0; good && g < r->group_count; g++)
		good = json_array_append_new(groups, group_json(r, &r->groups[g])) == 0;
	for (size_t i = 0; good && i < r->cheat_count; i++)
		good = set(cheats, r->cheats[i].subclass, json_integer(r->cheats[i].count));
	for (size_t b = 0; good && b < r->baseline_count; b++)
		good = json_array_append_new(names, json_string(r->baselines[b])) == 0;
	good = good && set(o, "run", json_integer(r->run.id)) && set(o, "suite", json_string(r->suite)) &&
	       set(o, "path", json_string(r->path)) && set(o, "proposer", json_string(r->proposer)) &&
	       set(o, "complete", json_boolean(r->complete)) && set(o, "suite_rule", json_string(r->rule)) &&
	       set(o, "suite_baseline", r->suite_baseline[0] ? json_string(r->suite_baseline) : json_null()) &&
	       json_object_set(o, "baselines", names) == 0 && json_object_set(o, "scores", groups) == 0 &&
	       json_object_set(o, "cheats", cheats) == 0 && json_object_set(o, "disagreements", others) == 0 &&
	       json_object_set(o, "items", items) == 0;
	json_decref(items);
	json_decref(groups);
	json_decref(cheats);
	json_decref(others);
	json_decref(names);
	if (good)
		return o;
	json_decref(o);
	return NULL;
}
