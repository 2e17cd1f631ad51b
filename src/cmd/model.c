/* Whom to ask: the options that optimize, prompt ask and task new share. */
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"

/* "coder=openai:gpt-5" */
static enum kw_status role_model(const char *text, struct kw_agent_opts *o, struct kw_error *err)
{
	const char *equals = strchr(text, '=');
	char name[32];
	enum kw_role role;
	enum kw_status status;

	if (!equals || !equals[1] || (size_t)(equals - text) >= sizeof(name))
		return kw_fail(err, KW_ERR_USAGE, "", "--role-model takes ROLE=PROVIDER:NAME, not '%.100s'", text);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	status = kw_role_parse(name, &role, err);
	if (status == KW_OK)
		o->role_model[role] = equals + 1;
	return status;
}

/* "coder=0.8" */
static enum kw_status role_temperature(const char *word, struct kw_agent_opts *o, struct kw_error *err)
{
	const char *equals = strchr(word, '=');
	enum kw_role role;
	char name[32];
	double t;
	enum kw_status status;

	if (!equals || !kw_str_to_f64(kw_str_from(equals + 1), &t) || !(t >= 0 && t <= 2))
		return kw_fail(err, KW_ERR_USAGE, "", "--role-temperature is ROLE=T, T from 0 to 2, not '%.60s'", word);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - word), word);
	status = kw_role_parse(name, &role, err);
	if (status != KW_OK)
		return status;
	o->role_temperature[role] = t;
	o->has_role_temperature[role] = true;
	return KW_OK;
}

enum kw_status kw_model_words(const struct kw_model_words *w, struct kw_agent_opts *o, struct kw_error *err)
{
	enum kw_status status = KW_OK;

	o->model = w->model;
	o->base_url = w->base_url;
	o->key_file = w->key_file;
	o->temperature = w->temperature;
	o->max_tokens = w->max_tokens;
	o->timeout_ns = w->timeout_ns;
	o->retries = w->retries;
	for (size_t i = 0; i < w->role_models.count && status == KW_OK; i++)
		status = role_model(w->role_models.text[i], o, err);
	for (size_t i = 0; i < w->role_temperatures.count && status == KW_OK; i++)
		status = role_temperature(w->role_temperatures.text[i], o, err);
	if (status == KW_OK && !w->model && w->role_temperatures.count)
		status = kw_fail(err, KW_ERR_USAGE, "", "--role-temperature goes with --model");
	if (status == KW_OK && !w->model && w->role_models.count)
		status = kw_fail(err, KW_ERR_USAGE, "", "--role-model goes with --model, which serves the other roles");
	return status;
}
