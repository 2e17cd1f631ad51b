#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "report/explain.h"
#include "report/report.h"

enum { METRICS_UP_TO = 64, ARENA_BYTES = 64 << 20 };

/* Takes value; false when something could not be made. */
static bool put(json_t *o, const char *key, json_t *value)
{
	return value && json_object_set_new(o, key, value) == 0;
}

/* Text of files may be of any encoding. */
static json_t *text(const char *s)
{
	struct kw_buf b;
	json_t *j;

	if (!s)
		return json_null();
	if (kw_utf8_valid(s, strlen(s)))
		return json_string(s);
	kw_buf_init(&b, 1 << 20);
	for (; *s; s++)
		kw_buf_addc(&b, (unsigned char)*s < 0x80 ? *s : '?');
	j = b.full || !b.ptr ? NULL : json_string(b.ptr);
	kw_buf_release(&b);
	return j;
}

static json_t *finding(const struct kw_explained_finding *f, const struct kw_launch *k)
{
	struct kw_finding core;
	json_t *j;

	kw_explained_core(f, k, &core);
	j = kw_finding_to_json(&core);
	if (!j)
		return NULL;
	/* Nothing was applied here. */
	if (put(json_object_get(j, "directive"), "measured_factor", json_null()) && put(j, "title", text(f->rule->title)) && put(j, "gain", kw_json_real(f->gain)) && put(j, "gain_bound", kw_json_real(f->bound)) &&
	    put(j, "check", text(f->check)) && put(j, "where", text(f->where)) && put(j, "class", text(f->rule->cls)) &&
	    put(j, "source", text(f->rule->source)) && put(j, "choice", text(f->against)) &&
	    put(j, "nothing_to_fix", json_boolean(f->rule->final)))
		return j;
	json_decref(j);
	return NULL;
}

static json_t *findings(const struct kw_explained *e)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < e->count; i++)
		if (json_array_append_new(list, finding(&e->findings[i], e->launch)) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *dropped(const struct kw_explained *e)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < e->dropped_count; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "rule", e->dropped[i].rule->name, "why",
						      e->dropped[i].why ? e->dropped[i].why : ""));
	return list;
}

static json_t *roofline(const struct kw_explained *e)
{
	static const char *const keys[KW_ROOF_UNITS] = { "dram_pct", "l2_pct", "l1_pct", "compute_pct",
							 "other_memory_pct" };
	json_t *o = json_object();

	for (size_t i = 0; i < KW_ROOF_UNITS; i++)
		put(o, keys[i], kw_json_real(e->unit[i].pct));
	put(o, "roof_pct", kw_json_real(e->roof_pct));
	put(o, "roof", text(e->roof_name));
	put(o, "dram_bytes", kw_json_real(e->launch->value[KW_M_DRAM_BYTES]));
	put(o, "dram_bytes_per_s", kw_json_real(e->launch->value[KW_M_DRAM_RATE]));
	put(o, "compulsory_bytes", kw_json_real(e->launch->value[KW_M_MIN_BYTES]));
	return o;
}

/* What an unknown metric may have been meant to be, by its name. */
static json_t *did_you_mean(const struct kw_launch *k)
{
	json_t *o = json_object();

	for (size_t i = 0; o && i < k->unknown_count; i++) {
		const char *near = kw_metric_nearest(k->unknown[i]);

		if (near && strcmp(near, k->unknown[i]) != 0 && kw_utf8_valid(k->unknown[i], strlen(k->unknown[i])))
			put(o, k->unknown[i], text(near));
	}
	return o;
}

/* Launches of one kernel, grid and block, the longest in all first. NULL: out of memory. */
static json_t *kernels(const struct kw_explained_input *in)
{
	struct kw_arena a;
	struct kw_explained_group *list;
	json_t *out = json_array();
	size_t n;

	kw_arena_init(&a, ARENA_BYTES);
	if (!out || !kw_explain_groups(in, &a, &list, &n)) {
		json_decref(out);
		kw_arena_release(&a);
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		const struct kw_explained *e = &in->explained[list[i].shown];
		json_t *o = json_object();

		put(o, "kernel", text(e->launch->kernel));
		put(o, "blocks", kw_json_real(e->launch->value[KW_M_GRID]));
		put(o, "launches", json_integer((json_int_t)list[i].count));
		put(o, "longest", json_integer((json_int_t)list[i].longest));
		put(o, "shown", json_integer((json_int_t)list[i].shown));
		put(o, "total_ns", kw_json_real(list[i].total_ns));
		put(o, "least_ns", kw_json_real(list[i].least_ns));
		put(o, "most_ns", kw_json_real(list[i].most_ns));
		put(o, "bottleneck", text(e->bottleneck));
		json_array_append_new(out, o);
	}
	kw_arena_release(&a);
	return out;
}

static json_t *metrics(const struct kw_launch *k)
{
	json_t *o = json_object();

	for (int m = 0; o && m < KW_M_COUNT; m++)
		if (kw_launch_has(k, m))
			put(o, kw_metric_name(m), kw_json_real(k->value[m]));
	return o;
}

static json_t *profiler_rules(const struct kw_launch *k)
{
	json_t *list = json_array();

	for (const struct kw_profiler_rule *r = k->rules; list && r; r = r->next) {
		json_t *o = json_object();

		put(o, "name", text(r->name));
		put(o, "type", text(r->type));
		put(o, "text", text(r->text));
		put(o, "estimate_kind", text(r->estimate_kind));
		put(o, "estimate_pct", kw_json_real(r->estimate_pct));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *triple(const int64_t v[3])
{
	return v[0] ? json_pack("[I, I, I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]) : json_null();
}

static json_t *launch(const struct kw_explained *e, bool all)
{
	const struct kw_launch *k = e->launch;
	json_t *o = json_object(), *missing = json_array();
	bool good = put(o, "kernel", text(k->kernel)) && put(o, "id", text(k->id)) &&
		    put(o, "line", json_integer(k->line)) && put(o, "grid", triple(k->grid)) &&
		    put(o, "block", triple(k->block)) &&
		    put(o, "duration_ns", kw_json_real(k->value[KW_M_DURATION_NS])) &&
		    put(o, "verdict", text(e->verdict)) && put(o, "bottleneck", text(e->bottleneck)) &&
		    put(o, "resources", text(e->resources)) && put(o, "roofline", roofline(e)) &&
		    put(o, "findings", findings(e)) && put(o, "dropped", dropped(e));

	for (size_t i = 0; missing && i < k->unknown_count; i++)
		json_array_append_new(missing, text(k->unknown[i]));
	good = put(o, "missing", missing) && put(o, "did_you_mean", did_you_mean(k)) && good;
	if (good && all)
		good = put(o, "metrics", metrics(k)) && put(o, "profiler_rules", profiler_rules(k));
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

static json_t *messages(const struct kw_explained_input *in)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < in->message_count; i++) {
		json_t *o = finding(&in->messages[i].finding, NULL);

		put(o, "line", json_integer(in->messages[i].line));
		put(o, "text", text(in->messages[i].text));
		put(o, "count", json_integer(in->messages[i].count));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *notes(const struct kw_launches *l)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < l->note_count; i++) {
		json_t *o = json_object();

		put(o, "line", l->notes[i].line ? json_integer(l->notes[i].line) : json_null());
		put(o, "text", text(l->notes[i].text));
		put(o, "count", json_integer(l->notes[i].count));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *input(const struct kw_explained_input *in)
{
	json_t *o = json_object(), *list = json_array(), *outcomes = json_array();
	bool good = list && outcomes && put(o, "file", text(in->file)) &&
		    put(o, "kind", text(kw_input_name(in->kind))) && put(o, "form", text(in->launches.form)) &&
		    put(o, "verdict", text(in->verdict)) && put(o, "bottleneck", text(in->bottleneck));

	for (size_t i = 0; good && i < in->launches.count; i++)
		good = json_array_append_new(list, launch(&in->explained[i], in->launches.count <= METRICS_UP_TO)) == 0;
	for (size_t i = 0; good && i < in->launches.outcome_count; i++)
		good = json_array_append_new(outcomes, text(kw_outcome_name(in->launches.outcomes[i]))) == 0;
	good = put(o, "launches", list) && good;
	good = good && put(o, "kernels", kernels(in));
	good = put(o, "outcomes", outcomes) && good;
	good = put(o, "messages", messages(in)) && good;
	good = put(o, "notes", notes(&in->launches)) && good;
	if (good)
		return o;
	json_decref(o);
	return NULL;
}

json_t *kw_report_shortfalls_json(const struct kw_falls_short *list, size_t count)
{
	json_t *out = json_array();

	for (size_t i = 0; out && i < count; i++) {
		const struct kw_falls_short *f = &list[i];

		if (json_array_append_new(out, json_pack("{s:s, s:s, s:f, s:f, s:o, s:s, s:s}", "case", f->label, "baseline", f->baseline, "ns", f->ns,
							 "baseline_ns", f->baseline_ns, "sol", kw_json_real(f->sol), "why", f->evidence, "missing", f->missing)) != 0) {
			json_decref(out);
			return NULL;
		}
	}
	return out;
}

json_t *kw_report_explain_json(const struct kw_explanation *x)
{
	const struct kw_explained_input *last = &x->inputs[x->count - 1];
	json_t *o = json_object(), *list = json_array(), *shorts = kw_report_shortfalls_json(x->falls_short, x->falls_short_count);
	bool good = list && shorts && put(o, "verdict", text(last->verdict)) &&
		    put(o, "bottleneck", text(last->bottleneck)) && put(o, "compared", json_boolean(x->compared)) &&
		    put(o, "candidate_verdict", text(x->verdict_class));

	for (size_t i = 0; good && i < x->count; i++)
		good = json_array_append_new(list, input(&x->inputs[i])) == 0;
	good = put(o, "inputs", list) && good;
	good = put(o, "falls_short", shorts) && good;
	if (good)
		return o;
	json_decref(o);
	return NULL;
}
