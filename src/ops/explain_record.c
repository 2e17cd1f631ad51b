/* What came of a rule's directive: predicted against measured, kept in the user's store under "rule". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/explain_internal.h"

enum { MAX_TRIES = 200 };

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return a < b ? -1 : a > b;
}

/* { "tries": [ { "predicted": 0.3, "measured": 0.25 }, … ] } */
static void sum_up(const json_t *j, struct kw_rule_record *out)
{
	const json_t *tries = json_object_get(j, "tries");
	double kept[MAX_TRIES];
	size_t n = 0;

	out->tried = (int)json_array_size(tries);
	for (size_t i = 0; i < json_array_size(tries) && n < MAX_TRIES; i++) {
		double predicted = kw_json_get_f64(json_array_get(tries, i), "predicted", 0);
		double measured = kw_json_get_f64(json_array_get(tries, i), "measured", 0);

		if (predicted > 0)
			kept[n++] = measured / predicted;
	}
	out->kept = 1;
	if (n == 0)
		return;
	qsort(kept, n, sizeof(kept[0]), by_value);
	out->kept = n % 2 ? kept[n / 2] : (kept[n / 2 - 1] + kept[n / 2]) / 2;
}

enum kw_status kw_op_rule_records(struct kw_store *memory, struct kw_arena *a, struct kw_rule_record **out,
				  size_t *count, struct kw_error *err)
{
	struct kw_rule *rules;
	size_t n;
	enum kw_status s = kw_rules_load(a, &rules, &n, err);

	*count = 0;
	if (s != KW_OK)
		return s;
	*out = kw_arena_calloc(a, n + 1, sizeof(**out));
	if (!*out)
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; s == KW_OK && i < n; i++) {
		const char *text = NULL;
		json_t *j = NULL;

		s = kw_store_kv_get(memory, "rule", rules[i].name, a, &text, err);
		if (s == KW_OK && text)
			s = kw_json_parse(rules[i].name, text, strlen(text), &j, err);
		if (s == KW_OK && j) {
			(*out)[*count].rule = rules[i].name;
			sum_up(j, &(*out)[(*count)++]);
		}
		json_decref(j);
	}
	kw_rules_release(rules, n);
	return s;
}

static enum kw_status add_try(struct kw_store *memory, const char *rule, double predicted, double measured,
			      struct kw_arena *a, struct kw_error *err)
{
	const char *text = NULL;
	json_t *j = NULL, *one = json_object();
	struct kw_buf b;
	enum kw_status s = kw_store_kv_get(memory, "rule", rule, a, &text, err);

	if (s == KW_OK && text)
		s = kw_json_parse(rule, text, strlen(text), &j, err);
	if (s == KW_OK && !j)
		j = json_pack("{s:[]}", "tries");
	kw_buf_init(&b, 1 << 20);
	if (s == KW_OK && j && one && json_object_set_new(one, "predicted", kw_json_real(predicted)) == 0 &&
	    json_object_set_new(one, "measured", kw_json_real(measured)) == 0 &&
	    json_array_append(json_object_get(j, "tries"), one) == 0)
		s = kw_json_canonical(j, &b, err);
	else if (s == KW_OK)
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (s == KW_OK)
		s = kw_store_kv_put(memory, "rule", rule, b.ptr, err);
	kw_buf_release(&b);
	json_decref(one);
	json_decref(j);
	return s;
}

static const struct kw_explained_finding *finding_of(const struct kw_explained_input *in, const char *rule)
{
	for (size_t i = 0; i < in->launches.count; i++)
		for (size_t k = 0; k < in->explained[i].count; k++)
			if (strcmp(in->explained[i].findings[k].rule->name, rule) == 0 ||
			    strcmp(in->explained[i].findings[k].rule->directive_id, rule) == 0)
				return &in->explained[i].findings[k];
	return NULL;
}

enum kw_status kw_op_rule_applied(struct kw_op_explain *r, const char *rule, struct kw_error *err)
{
	const struct kw_explained_finding *f;
	struct kw_store *memory;
	double before, after, measured;
	enum kw_status s;

	if (!r->all.compared)
		return kw_fail(err, KW_ERR_USAGE, "", "--applied goes with --compare BEFORE AFTER");
	f = finding_of(&r->all.inputs[0], rule);
	before = r->all.inputs[0].total_ns;
	after = r->all.inputs[1].total_ns;
	if (!f)
		return kw_fail(err, KW_ERR_INPUT, r->all.inputs[0].file, "no finding of the first input is '%.60s'",
			       rule);
	if (isnan(before) || isnan(after))
		return kw_fail(err, KW_ERR_INPUT, "", "both inputs must have times, to say what came of '%.60s'", rule);
	measured = 1 - after / before;
	s = kw_store_memory_open(&memory, err);
	if (s != KW_OK)
		return s;
	s = add_try(memory, f->rule->name, isnan(f->gain) ? 0 : f->gain, measured, &r->arena, err);
	kw_store_close(memory);
	r->recorded = kw_arena_printf(&r->arena, "kept: %s gave %.0f%% of the time back%s", f->rule->name,
				      100 * measured, isnan(f->gain) ? "; nothing was predicted" : "");
	if (s == KW_OK && !isnan(f->gain))
		r->recorded = kw_arena_printf(&r->arena,
					      "kept: %s gave %.0f%% of the time back; at most %.0f%% was predicted",
					      f->rule->name, 100 * measured, 100 * f->gain);
	return s;
}
