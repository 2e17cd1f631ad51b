/* The options of an agent, there and back. No key is among them: it comes from the environment or a file each time. */
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"

void kw_agent_opts_default(struct kw_agent_opts *o)
{
	*o = (struct kw_agent_opts){ .temperature = -1.0, .retries = -1 };
}

static bool put_text(json_t *j, const char *key, const char *text)
{
	return !text || json_object_set_new(j, key, json_string(text)) == 0;
}

static const char *temperature_key(enum kw_role r, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%s_temperature", kw_role_name(r));
	return out;
}

json_t *kw_agent_opts_json(const struct kw_agent_opts *o)
{
	char key[64];
	json_t *j = json_pack("{s:f, s:I, s:I, s:i, s:I, s:I, s:f, s:i, s:b}", "temperature", o->temperature, "max_tokens",
			      (json_int_t)o->max_tokens, "timeout_ns", (json_int_t)o->timeout_ns, "retries", o->retries, "prompt_bytes",
			      (json_int_t)o->prompt_bytes, "budget_tokens", (json_int_t)o->budget_tokens, "budget_usd",
			      o->budget_usd, "parallel", o->parallel, "review", o->review);
	bool good = j && put_text(j, "model", o->model) && put_text(j, "base_url", o->base_url) &&
		    put_text(j, "key_file", o->key_file) && put_text(j, "record", o->record);

	for (int i = 0; good && i < KW_ROLE_COUNT; i++)
		good = put_text(j, kw_role_name((enum kw_role)i), o->role_model[i]);
	for (int i = 0; good && i < KW_ROLE_COUNT; i++)
		good = !o->has_role_temperature[i] ||
		       json_object_set_new(j, temperature_key((enum kw_role)i, key, sizeof(key)), json_real(o->role_temperature[i])) == 0;
	if (good)
		return j;
	json_decref(j);
	return NULL;
}

static const char *get_text(const json_t *j, const char *key, struct kw_arena *a, bool *good)
{
	const char *text = kw_json_get_str(j, key, NULL), *out = text ? kw_arena_strdup(a, text) : NULL;

	*good = *good && (!text || out);
	return out;
}

enum kw_status kw_agent_opts_read(struct kw_agent_opts *o, const json_t *j, struct kw_arena *a, struct kw_error *err)
{
	bool good = true;

	kw_agent_opts_default(o);
	if (!j)
		return KW_OK;
	o->model = get_text(j, "model", a, &good);
	o->base_url = get_text(j, "base_url", a, &good);
	o->key_file = get_text(j, "key_file", a, &good);
	o->record = get_text(j, "record", a, &good);
	for (int i = 0; i < KW_ROLE_COUNT; i++)
		o->role_model[i] = get_text(j, kw_role_name((enum kw_role)i), a, &good);
	for (int i = 0; i < KW_ROLE_COUNT; i++) {
		char key[64];

		o->has_role_temperature[i] = json_object_get(j, temperature_key((enum kw_role)i, key, sizeof(key))) != NULL;
		o->role_temperature[i] = kw_json_get_f64(j, key, 0.0);
	}
	o->temperature = kw_json_get_f64(j, "temperature", -1.0);
	o->max_tokens = kw_json_get_i64(j, "max_tokens", 0);
	o->timeout_ns = kw_json_get_i64(j, "timeout_ns", 0);
	o->retries = (int)kw_json_get_i64(j, "retries", -1);
	o->prompt_bytes = (size_t)kw_json_get_i64(j, "prompt_bytes", 0);
	o->budget_tokens = kw_json_get_i64(j, "budget_tokens", 0);
	o->budget_usd = kw_json_get_f64(j, "budget_usd", 0.0);
	o->parallel = (int)kw_json_get_i64(j, "parallel", 0);
	o->review = kw_json_get_bool(j, "review", false);
	return good ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the options of a run");
}
