/* A run for programs. */
#include <string.h>

#include "core/fields.h"
#include "judge/clock.h"
#include "report/report.h"

/* Adds what is there; false when out of memory. */
static bool set(json_t *o, const char *key, json_t *value)
{
	return json_object_set_new(o, key, value) == 0;
}

static json_t *text(const char *z)
{
	return json_string(z ? z : "");
}

json_t *kw_report_run_json(const struct kw_run_row *r)
{
	json_t *o = json_object();
	bool good = o && set(o, "run", json_integer(r->id)) && set(o, "task", text(r->task_name)) &&
		    set(o, "state", text(kw_run_state_text(r->state))) &&
		    set(o, "killed", json_boolean(r->killed)) && set(o, "backend", text(r->backend)) && set(o, "device", text(r->device)) &&
		    set(o, "strategy", text(r->strategy)) &&
		    set(o, "started_ms", json_integer(r->started_ms)) &&
		    set(o, "ended_ms", r->ended_ms ? json_integer(r->ended_ms) : json_null()) &&
		    set(o, "pid", r->pid ? json_integer(r->pid) : json_null()) &&
		    set(o, "evaluations", json_integer(r->evaluations)) &&
		    set(o, "best_ns", r->best_ns > 0 ? kw_json_real(r->best_ns) : json_null()) &&
		    set(o, "speedup",
			r->best_speedup > 0 ? kw_json_real(r->best_speedup) : json_null());

	if (good)
		return o;
	json_decref(o);
	return NULL;
}

/* A list of the report's items, each made by its function. */
static json_t *list_of(const struct kw_report *r, size_t count, json_t *(*make)(const struct kw_report *r, size_t i))
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		if (json_array_append_new(list, make(r, i)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *count_json(const struct kw_report *r, size_t i)
{
	const struct kw_report_count *c = &r->counts[i];

	return json_pack("{s:s, s:s, s:i}", "verdict", c->cls, "subclass", c->subclass, "count", c->count);
}

static json_t *round_json(const struct kw_report *r, size_t i)
{
	return kw_round_to_json(&r->rounds[i]);
}

static json_t *point_json(const struct kw_report *r, size_t i)
{
	return json_pack("{s:i, s:o}", "evaluations", r->curve[i].evaluations, "best_ns",
			 kw_json_real(r->curve[i].best_ns));
}

static json_t *eval_json(const struct kw_report *r, size_t i)
{
	const struct kw_verdict_row *v = &r->verdicts[i];

	return json_pack("{s:I, s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "id", (json_int_t)v->id, "round", v->round,
			 "effort", v->effort, "candidate", v->candidate_name, "tune", v->tune, "verdict", v->cls,
			 "subclass", v->subclass, "summary", v->summary, "median_ns",
			 v->median_ns > 0 ? kw_json_real(v->median_ns) : json_null());
}

static json_t *or_null(json_t *j)
{
	return j ? json_incref(j) : json_null();
}

json_t *kw_report_verdict_json(const struct kw_verdict *v, const char *name, int64_t id, const char *record_sha)
{
	json_t *o = kw_verdict_to_json(v);
	const char *failed[KW_REPORT_BASELINES];
	size_t n = kw_verdict_failed_baselines(v, failed, KW_REPORT_BASELINES);

	if (o && set(o, "slower", json_boolean(kw_verdict_is_slower(v, NULL))) && set(o, "baselines_failed", kw_field_texts(failed, n)) &&
	    set(o, "name", text(name)) && set(o, "verdict_id", json_integer(id)) &&
	    set(o, "record", text(record_sha)) && set(o, "findings", json_array()))
		return o;
	json_decref(o);
	return NULL;
}

static json_t *call_json(const struct kw_report *r, size_t i)
{
	return kw_model_call_to_json(&r->calls[i]);
}

json_t *kw_report_json(const struct kw_report *r)
{
	const struct kw_verdict_row *b = &r->best_row;
	json_t *o = kw_report_run_json(&r->run);
	json_t *best = r->has_best ? kw_report_verdict_json(&r->best, b->candidate_name, b->id, b->sha) : json_null();
	bool good = o && best;

	/* What is not proven is never called the best. */
	good = good && json_object_set(o, r->proven ? "best" : "best_so_far", best) == 0 &&
	       set(o, r->proven ? "best_so_far" : "best", json_null()) && set(o, "falls_short", kw_report_shortfalls_json(r->falls_short, r->falls_short_count)) && set(o, "rounds", list_of(r, r->round_count, round_json)) &&
	       set(o, "counts", list_of(r, r->count_count, count_json)) &&
	       set(o, "curve", list_of(r, r->curve_count, point_json)) &&
	       set(o, "result", kw_result_list_to_json(&r->result)) &&
	       set(o, "tune", or_null(r->tune)) && set(o, "files", or_null(r->files)) &&
	       set(o, "reasons", or_null(r->reasons)) && set(o, "parts", or_null(r->parts)) && set(o, "time", or_null(r->time)) &&
	       set(o, "calls", list_of(r, r->call_count, call_json)) && set(o, "verdicts", list_of(r, r->verdict_count, eval_json));
	json_decref(best);
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *case_pair(const struct kw_case_result *x, const struct kw_verdict *b)
{
	json_t *o = json_object();
	bool good = o && set(o, "case", text(x->label)) &&
		    set(o, "a_ns", kw_json_real(x->times.median_ns));

	for (size_t i = 0; good && i < b->case_count; i++) {
		const struct kw_case_result *y = &b->cases[i];
		bool apart;

		if (!y->has_times || strcmp(x->label, y->label) != 0)
			continue;
		apart = kw_times_differ(&x->times, &y->times);
		good = set(o, "b_ns", kw_json_real(y->times.median_ns)) &&
		       set(o, "differ", json_boolean(apart));
	}
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

json_t *kw_report_diff_json(const struct kw_report *a, const struct kw_report *b)
{
	const bool same_task = strcmp(a->run.task_sha, b->run.task_sha) == 0;
	json_t *o = json_object(), *cases = json_array();
	bool good = o && cases && set(o, "a", kw_report_run_json(&a->run)) &&
		    set(o, "b", kw_report_run_json(&b->run)) &&
		    set(o, "same_task", json_boolean(same_task));

	for (size_t i = 0; good && same_task && a->has_best && b->has_best && i < a->best.case_count; i++)
		if (a->best.cases[i].has_times)
			good = json_array_append_new(cases, case_pair(&a->best.cases[i], &b->best)) == 0;
	good = good && json_object_set(o, "cases", cases) == 0;
	json_decref(cases);
	if (good)
		return o;
	json_decref(o);
	return NULL;
}
