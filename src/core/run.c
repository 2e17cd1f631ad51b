#include "core/run.h"

#include "core/fields.h"

const char *kw_run_state_text(enum kw_run_state s)
{
	static const char *const texts[] = {
#define X(e, text) text,
		KW_RUN_STATE_LIST(X)
#undef X
	};

	return (unsigned)s < KW_RUN_STATE_COUNT ? texts[s] : "unknown";
}

bool kw_run_state_open(enum kw_run_state s)
{
	return s == KW_RUN_RUNNING || s == KW_RUN_INTERRUPTED || s == KW_RUN_FAILED;
}

bool kw_run_state_spent(enum kw_run_state s)
{
	return s == KW_RUN_BUDGET || s == KW_RUN_ROUNDS || s == KW_RUN_TOKENS || s == KW_RUN_MONEY;
}

static json_t *make(const struct kw_field *fields, size_t count, const void *base)
{
	json_t *obj = json_object();

	if (kw_fields_put(obj, fields, count, base))
		return obj;
	json_decref(obj);
	return NULL;
}

static const struct kw_field call_fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_model_call, key, kind, member)
	F("provider", STR, provider),
	F("model", STR, model),
	F("role", STR, role),
	F("tokens_in", I64, tokens_in),
	F("tokens_out", I64, tokens_out),
	F("latency_ns", I64, latency_ns),
	F("cost_usd", F64, cost_usd),
	F("prompt_sha256", STR, prompt_sha),
	F("answer_sha256", STR, answer_sha),
	F("outcome", STR, outcome),
	F("slot", STR, slot),
	F("reasoning_sha256", STR, reasoning_sha),
	F("finish", STR, finish),
	F("note", STR, note),
	F("round", INT, round),
	F("attempts", INT, attempts),
	F("counted", BOOL, counted),
	F("priced", BOOL, priced),
	F("left_out", STR, left_out),
#undef F
};

json_t *kw_model_call_to_json(const struct kw_model_call *c)
{
	return make(call_fields, KW_FIELD_COUNT(call_fields), c);
}

enum kw_status kw_model_call_from_json(struct kw_model_call *c, const json_t *j, struct kw_arena *a, struct kw_error *err)
{
	*c = (struct kw_model_call){ .provider = "", .model = "", .role = "", .prompt_sha = "", .answer_sha = "", .outcome = "", .slot = "",
				     .reasoning_sha = "", .finish = "", .note = "", .left_out = "", .attempts = 1 };
	return kw_fields_get(j, "a model call", call_fields, KW_FIELD_COUNT(call_fields), c, a, err);
}

json_t *kw_round_to_json(const struct kw_round *r)
{
	static const struct kw_field fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_round, key, kind, member)
		F("round", INT, index),
		F("step", STR, step),
		F("evaluations", INT, evaluations),
		F("best_ns_before", F64, best_ns_before),
		F("best_ns_after", F64, best_ns_after),
		F("predicted", F64, predicted),
		F("measured_ns", F64, measured_ns),
#undef F
	};

	return make(fields, KW_FIELD_COUNT(fields), r);
}

static const struct kw_field entry_fields[] = {
#define F(key, kind, member) KW_FIELD(struct kw_result_entry, key, kind, member)
	F("require", STR, require),
	F("candidate", STR, candidate_sha),
	F("tune", STR, tune),
	F("cases", STR, cases),
#undef F
};

json_t *kw_result_list_to_json(const struct kw_result_list *l)
{
	json_t *list = json_array();
	bool all = list != NULL;

	for (size_t i = 0; i < l->count && all; i++)
		all = json_array_append_new(list, make(entry_fields, KW_FIELD_COUNT(entry_fields),
						       &l->entries[i])) == 0;
	if (all)
		return list;
	json_decref(list);
	return NULL;
}

enum kw_status kw_result_list_from_json(struct kw_result_list *l, const json_t *j, struct kw_arena *a,
					struct kw_error *err)
{
	size_t count = json_array_size(j);
	enum kw_status s = KW_OK;

	*l = (struct kw_result_list){ 0 };
	if (!json_is_array(j))
		return kw_fail(err, KW_ERR_INPUT, "", "a result must be a list");
	l->entries = kw_arena_calloc(a, count, sizeof(*l->entries));
	if (!l->entries)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (; l->count < count && s == KW_OK; l->count++) {
		struct kw_result_entry *e = &l->entries[l->count];

		*e = (struct kw_result_entry){ "", "", "", "" };
		s = kw_fields_get(json_array_get(j, l->count), "an entry of a result", entry_fields,
				  KW_FIELD_COUNT(entry_fields), e, a, err);
	}
	return s;
}
