/* Verdicts as JSON and back (docs/verdicts.md). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/fields.h"
#include "core/verdict.h"

enum { MAX_RECORD_BYTES = 64 << 20 };

static const struct kw_field stats_fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_compare_stats, key, kind, member)
	F("compared", I64, compared),
	F("mismatched", I64, mismatched),
	F("unwritten", I64, unwritten),
	F("nan_mismatched", I64, nan_mismatched),
	F("max_abs", F64, max_abs),
	F("max_rel", F64, max_rel),
	F("norm_ratio", F64, norm_ratio),
	F("rms_rel", F64, rms_rel),
	F("got", F64, worst_got),
	F("want", F64, worst_want),
	F("tolerance", F64, tolerance_at_worst),
	F("error", F64, worst_ratio),
#undef F
};
static const struct kw_field times_fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_times, key, kind, member)
	F("median_ns", F64, median_ns),
	F("min_ns", F64, min_ns),
	F("method", STR, method),
	F("cold", BOOL, cold),
	F("ci_reached", BOOL, ci_reached),
#undef F
};
static const struct kw_field case_fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_case_result, key, kind, member)
	F("case", STR, label),
	F("perf", BOOL, perf),
	F("unseen", BOOL, unseen),
	F("why", CHARS, why),
	F("trials", INT, trials),
	F("error", F64, error_ratio),
	F("output", STR, worst_output),
	F("bytes", F64, bytes),
	F("flops", F64, flops),
	F("ceiling_bytes_per_s", F64, ceiling_bytes_per_s),
	F("ceiling_flops_per_s", F64, ceiling_flops_per_s),
	F("sol", F64, sol),
	F("sol_bound", STR, sol_bound),
#undef F
};
static const struct kw_field verdict_fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_verdict, key, kind, member)
	F("summary", CHARS, summary),
	F("evidence", CHARS, evidence),
	F("case", STR, case_label),
	F("task", STR, task_name),
	F("task_sha256", CHARS, task_sha),
	F("candidate", CHARS, candidate_sha),
	F("plan_sha256", CHARS, plan_sha),
	F("artefact_sha256", CHARS, artefact_sha),
	F("tune", STR, tune),
	F("backend", STR, backend),
	F("device", STR, device),
	F("toolchain", STR, toolchain),
	F("sandbox", STR, sandbox_layers),
	F("speedup", F64, geomean_speedup),
	F("sol", F64, geomean_sol),
	F("build_ns", I64, build_ns),
	F("build_cached", BOOL, build_cached),
	F("judge_ns", I64, judge_ns),
	F("generate_ns", I64, generate_ns),
	F("compare_ns", I64, compare_ns),
	F("run_ns", I64, run_ns),
	F("total_ns", I64, total_ns),
	F("when_ms", I64, when_ms),
#undef F
};
static const struct kw_field baseline_fields[] = {
	KW_FIELD(struct kw_baseline_time, "name", STR, name),
	KW_FIELD(struct kw_baseline_time, "speedup", F64, speedup),
	KW_FIELD(struct kw_baseline_time, "wrong", BOOL, wrong),
	KW_FIELD(struct kw_baseline_time, "why", STR, why),
};
#define PUT(obj, fields, base) kw_fields_put(obj, fields, KW_FIELD_COUNT(fields), base)
#define GET(obj, what, fields, base) kw_fields_get(obj, what, fields, KW_FIELD_COUNT(fields), base, a, err)

static bool put_class(json_t *obj, enum kw_verdict_class cls, enum kw_subclass sub)
{
	return kw_field_set(obj, "verdict", json_string(kw_verdict_name(cls))) &&
	       kw_field_set(obj, "subclass", json_string(kw_subclass_name(sub)));
}

static bool put_pair(json_t *obj, const char *key, double low, double high)
{
	const double pair[2] = { low, high };

	return kw_field_set(obj, key, kw_field_reals(pair, 2));
}

static bool put_times(json_t *obj, const struct kw_times *t)
{
	return PUT(obj, times_fields, t) && put_pair(obj, "ci_ns", t->ci_low_ns, t->ci_high_ns) &&
	       kw_field_set(obj, "samples_ns", kw_field_reals(t->samples_ns, t->sample_count));
}

static bool put_baseline(json_t *obj, const void *item)
{
	const struct kw_baseline_time *b = item;

	return PUT(obj, baseline_fields, b) && put_pair(obj, "speedup_ci", b->speedup_low, b->speedup_high) &&
	       put_times(obj, &b->times);
}

const struct kw_baseline_time *kw_case_best_baseline(const struct kw_case_result *c)
{
	const struct kw_baseline_time *best = NULL;

	for (size_t i = 0; i < c->baseline_count; i++)
		if (c->baselines[i].times.median_ns > 0 && !(c->baselines[i].wrong && strstr(c->baselines[i].name, "TF32")) &&
		    (!best || c->baselines[i].times.median_ns < best->times.median_ns))
			best = &c->baselines[i];
	return best;
}

size_t kw_verdict_failed_baselines(const struct kw_verdict *v, const char **names, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < v->case_count; i++)
		for (size_t b = 0; b < v->cases[i].baseline_count; b++) {
			const struct kw_baseline_time *x = &v->cases[i].baselines[b];
			bool told = x->times.median_ns > 0;

			for (size_t k = 0; k < count && !told; k++)
				told = strcmp(names[k], x->name) == 0;
			if (!told && count < n)
				names[count++] = x->name;
		}
	return count;
}

bool kw_verdict_is_slower(const struct kw_verdict *v, const char **baseline)
{
	const char *name = NULL;
	double high = 0;
	int timed = 0;
	bool same = true;

	for (size_t i = 0; i < v->case_count; i++) {
		const struct kw_baseline_time *best = kw_case_best_baseline(&v->cases[i]);

		if (!best || !(best->speedup_high > 0))
			continue;
		same = same && (!name || strcmp(name, best->name) == 0);
		name = best->name;
		high += log(best->speedup_high);
		timed++;
	}
	if (baseline)
		*baseline = same ? name : NULL;
	return v->cls == KW_V_OK && timed > 0 && high < 0;
}

static json_t *stats_to_json(const struct kw_compare_stats *s)
{
	json_t *obj = json_object();

	if (PUT(obj, stats_fields, s) &&
	    kw_field_set(obj, "index", kw_field_ints(s->worst_index, (size_t)s->worst_rank)))
		return obj;
	json_decref(obj);
	return NULL;
}

static bool put_case(json_t *obj, const void *item)
{
	const struct kw_case_result *c = item;
	const struct kw_baseline_time *best = kw_case_best_baseline(c);
	bool judged = c->verdict != KW_V_OK || c->trials > 0; /* another case may have ended it before */
	bool all = PUT(obj, case_fields, c) && put_class(obj, c->verdict, c->subclass) &&
		   (judged || kw_field_set(obj, "verdict", json_null())) &&
		   kw_field_set(obj, "dims", kw_field_ints(c->dims, c->dim_count)) &&
		   kw_field_set(obj, "worst", stats_to_json(&c->worst));

	if (all && c->close_compared)
		all = kw_field_set(obj, "close_compared", json_integer(c->close_compared)) &&
		      kw_field_set(obj, "not_close", json_integer(c->not_close));
	if (all && c->has_times)
		all = put_times(obj, &c->times);
	if (all && best)
		all = kw_field_set(obj, "baseline", kw_field_text(best->name)) &&
		      kw_field_set(obj, "speedup", kw_field_real(best->speedup)) &&
		      put_pair(obj, "speedup_ci", best->speedup_low, best->speedup_high);
	return all && kw_field_set(obj, "baselines", kw_field_objects(c->baselines, sizeof(*c->baselines),
								      c->baseline_count, put_baseline));
}

json_t *kw_verdict_to_json(const struct kw_verdict *v)
{
	json_t *obj = json_object();
	char seed[32];

	/* A text: JSON numbers of most readers hold 53 bits. */
	snprintf(seed, sizeof(seed), "%016" PRIx64, v->seed);
	if (obj && put_class(obj, v->cls, v->subclass) && PUT(obj, verdict_fields, v) &&
	    kw_field_set(obj, "seed", json_string(seed)) &&
	    kw_field_set(obj, "flags", kw_field_texts(v->flags, v->flag_count)) &&
	    kw_field_set(obj, "cases", kw_field_objects(v->cases, sizeof(*v->cases), v->case_count, put_case)))
		return obj;
	json_decref(obj);
	return NULL;
}

static enum kw_status get_class(const json_t *obj, enum kw_verdict_class *cls, enum kw_subclass *sub,
				struct kw_error *err)
{
	const char *name = kw_json_get_str(obj, "verdict", ""), *part;

	if (!kw_verdict_parse(name, cls))
		return kw_fail(err, KW_ERR_INPUT, "", "'%.60s' is no verdict", name);
	part = kw_json_get_str(obj, "subclass", "");
	if (!kw_subclass_parse(*cls, part, sub))
		return kw_fail(err, KW_ERR_INPUT, "", "'%.60s' is no sub-class of '%s'", part, name);
	return KW_OK;
}

static enum kw_status get_pair(const json_t *obj, const char *key, double *low, double *high,
			       struct kw_arena *a, struct kw_error *err)
{
	double *pair;
	size_t count;
	enum kw_status s = kw_field_get_reals(obj, key, &pair, &count, a, err);

	if (s != KW_OK || count == 0)
		return s;
	if (count != 2)
		return kw_fail(err, KW_ERR_INPUT, "", "'%s' must hold two numbers", key);
	*low = pair[0];
	*high = pair[1];
	return KW_OK;
}

static enum kw_status get_times(const json_t *obj, struct kw_times *t, struct kw_arena *a,
				struct kw_error *err)
{
	enum kw_status s = GET(obj, "a time", times_fields, t);

	if (s == KW_OK)
		s = get_pair(obj, "ci_ns", &t->ci_low_ns, &t->ci_high_ns, a, err);
	if (s == KW_OK)
		s = kw_field_get_reals(obj, "samples_ns", &t->samples_ns, &t->sample_count, a, err);
	return s;
}

static enum kw_status get_baseline(const json_t *obj, struct kw_baseline_time *b, struct kw_arena *a,
				   struct kw_error *err)
{
	enum kw_status s = GET(obj, "a baseline", baseline_fields, b);

	if (s == KW_OK)
		s = get_pair(obj, "speedup_ci", &b->speedup_low, &b->speedup_high, a, err);
	return s == KW_OK ? get_times(obj, &b->times, a, err) : s;
}

static enum kw_status get_stats(const json_t *obj, struct kw_compare_stats *st, struct kw_arena *a,
				struct kw_error *err)
{
	int64_t *index;
	size_t rank;
	enum kw_status s;

	if (!obj)
		return KW_OK;
	s = GET(obj, "'worst'", stats_fields, st);
	if (s == KW_OK)
		s = kw_field_get_ints(obj, "index", &index, &rank, a, err);
	if (s != KW_OK)
		return s;
	if (rank > KW_MAX_RANK)
		return kw_fail(err, KW_ERR_INPUT, "", "'index' has more than %d numbers", KW_MAX_RANK);
	st->worst_rank = (int)rank;
	if (rank)
		memcpy(st->worst_index, index, rank * sizeof(*index));
	return KW_OK;
}

static enum kw_status get_case(const json_t *obj, struct kw_case_result *c, struct kw_arena *a,
			       struct kw_error *err)
{
	const json_t *list = json_object_get(obj, "baselines");
	enum kw_status s = GET(obj, "a case", case_fields, c);

	if (s == KW_OK && !json_is_null(json_object_get(obj, "verdict")))
		s = get_class(obj, &c->verdict, &c->subclass, err);
	if (s == KW_OK)
		s = kw_field_get_ints(obj, "dims", &c->dims, &c->dim_count, a, err);
	if (s == KW_OK)
		s = get_stats(json_object_get(obj, "worst"), &c->worst, a, err);
	c->close_compared = kw_json_get_i64(obj, "close_compared", 0);
	c->not_close = kw_json_get_i64(obj, "not_close", 0);
	c->has_times = json_object_get(obj, "median_ns") != NULL;
	if (s == KW_OK && c->has_times)
		s = get_times(obj, &c->times, a, err);
	c->baselines = kw_arena_calloc(a, json_array_size(list), sizeof(*c->baselines));
	if (s == KW_OK && !c->baselines)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; i < json_array_size(list) && s == KW_OK; i++, c->baseline_count++)
		s = get_baseline(json_array_get(list, i), &c->baselines[i], a, err);
	return s;
}

enum kw_status kw_verdict_from_json(struct kw_verdict *v, const json_t *j, struct kw_error *err)
{
	struct kw_arena *a = &v->arena;
	const json_t *list = json_object_get(j, "cases");
	const char *seed = kw_json_get_str(j, "seed", "0");
	enum kw_status s = GET(j, "a verdict", verdict_fields, v);
	char end;

	if (s == KW_OK)
		s = get_class(j, &v->cls, &v->subclass, err);
	if (s == KW_OK && sscanf(seed, "%" SCNx64 "%c", &v->seed, &end) != 1)
		s = kw_fail(err, KW_ERR_INPUT, "", "'seed' must be hexadecimal digits");
	if (s == KW_OK)
		s = kw_field_get_texts(j, "flags", &v->flags, &v->flag_count, a, err);
	v->cases = kw_arena_calloc(a, json_array_size(list), sizeof(*v->cases));
	if (s == KW_OK && !v->cases)
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; i < json_array_size(list) && s == KW_OK; i++, v->case_count++)
		s = get_case(json_array_get(list, i), &v->cases[i], a, err);
	return s;
}

json_t *kw_verdict_record(const struct kw_verdict *v, const char *prev_sha)
{
	json_t *record = kw_verdict_to_json(v);
	char sha[KW_SHA256_HEX];
	struct kw_buf text;
	bool all;

	kw_buf_init(&text, MAX_RECORD_BYTES);
	all = record && kw_field_set(record, "prev_sha", kw_field_text(prev_sha)) &&
	      kw_json_canonical(record, &text, NULL) == KW_OK;
	if (all) {
		kw_sha256_hex(text.ptr, text.len, sha);
		all = kw_field_set(record, "sha256", json_string(sha));
	}
	kw_buf_release(&text);
	if (all)
		return record;
	json_decref(record);
	return NULL;
}
