#include "explain/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "explain/rule.h"

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

		if (predicted > 0) {
			out->predicted = predicted;
			out->measured = measured;
			kept[n++] = measured / predicted;
		}
	}
	out->promised = (int)n;
	out->kept = 1;
	if (n == 0)
		return;
	qsort(kept, n, sizeof(kept[0]), by_value);
	out->kept = n % 2 ? kept[n / 2] : (kept[n / 2 - 1] + kept[n / 2]) / 2;
}

enum kw_status kw_ledger_read(struct kw_store *memory, const struct kw_rule *rules, size_t rule_count, struct kw_arena *a,
			      struct kw_rule_record **out, size_t *count, struct kw_error *err)
{
	enum kw_status s = KW_OK;

	*count = 0;
	*out = kw_arena_calloc(a, rule_count + 1, sizeof(**out));
	if (!*out)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; s == KW_OK && i < rule_count; i++) {
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
	return s;
}

struct application {
	const char *rule;
	double predicted, measured;
};

/* One more at the end of the list. */
static enum kw_status append(void *arg, const char *old, struct kw_buf *text, struct kw_error *err)
{
	const struct application *x = arg;
	json_t *j = NULL, *one = json_object();
	enum kw_status s = old ? kw_json_parse(x->rule, old, strlen(old), &j, err) : KW_OK;

	if (s == KW_OK && !j)
		j = json_pack("{s:[]}", "tries");
	if (s == KW_OK && j && one && json_object_set_new(one, "predicted", kw_json_real(x->predicted)) == 0 &&
	    json_object_set_new(one, "measured", kw_json_real(x->measured)) == 0 &&
	    json_array_append(json_object_get(j, "tries"), one) == 0)
		s = kw_json_canonical(j, text, err);
	else if (s == KW_OK)
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	json_decref(one);
	json_decref(j);
	return s;
}

enum kw_status kw_ledger_add(struct kw_store *memory, const char *rule, double predicted, double measured, struct kw_arena *a,
			     struct kw_error *err)
{
	struct application x = { rule, predicted, measured };

	return kw_store_kv_change(memory, "rule", rule, a, append, &x, err);
}
