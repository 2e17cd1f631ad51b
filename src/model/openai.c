/* Provider `openai`: chat completions, as OpenAI, vLLM, llama.cpp, Ollama, OpenRouter and many others serve them. */
#include <stdio.h>
#include <string.h>

#include "model/chat.h"

static json_t *body(const struct kw_dialect *d, const char *model, const struct kw_ask *a)
{
	int64_t most = d->max_tokens ? d->max_tokens : a->max_tokens;
	json_t *j = json_pack("{s:s, s:[{s:s, s:s}], s:b}", "model", model, "messages", "role", "user", "content", a->prompt,
			      "stream", 1);

	if (j && !d->no_usage)
		json_object_set_new(j, "stream_options", json_pack("{s:b}", "include_usage", 1));
	if (j && most)
		json_object_set_new(j, d->completion_tokens ? "max_completion_tokens" : "max_tokens", json_integer(most));
	if (j && a->temperature >= 0 && !d->no_temperature)
		json_object_set_new(j, "temperature", kw_json_real(a->temperature));
	return j;
}

static bool headers(const char *key, struct kw_arena *a, const char *out[5])
{
	out[0] = "content-type: application/json";
	out[1] = key ? kw_arena_printf(a, "authorization: Bearer %s", key) : NULL;
	return !key || out[1];
}

static enum kw_finish finish_of(const char *reason)
{
	return strcmp(reason, "length") == 0 ? KW_FINISH_LENGTH
	       : strcmp(reason, "content_filter") == 0 ? KW_FINISH_REFUSED
	       : strcmp(reason, "tool_calls") == 0 || strcmp(reason, "function_call") == 0 ? KW_FINISH_TOOL : KW_FINISH_STOP;
}

/* Text is a string, or a list of parts with texts. */
static void add_content(struct kw_reading *r, const json_t *content)
{
	size_t i;
	json_t *part;

	kw_reading_add(&r->text, content);
	json_array_foreach(content, i, part)
		kw_reading_add(&r->text, json_object_get(part, "text"));
}

static void event(struct kw_reading *r, const json_t *j)
{
	const json_t *choice = json_array_get(json_object_get(j, "choices"), 0);
	const json_t *said = json_object_get(choice, "delta"), *usage = json_object_get(j, "usage");
	const char *reason = kw_json_get_str(choice, "finish_reason", NULL), *model = kw_json_get_str(j, "model", NULL);

	if (!said)
		said = json_object_get(choice, "message");
	add_content(r, json_object_get(said, "content"));
	/* Two names for the same; a server sends one of them. */
	kw_reading_add(&r->reasoning, json_is_string(json_object_get(said, "reasoning_content")) ? json_object_get(said, "reasoning_content")
										       : json_object_get(said, "reasoning"));
	if (json_is_string(json_object_get(said, "refusal"))) {
		kw_reading_add(&r->text, json_object_get(said, "refusal"));
		r->finish = KW_FINISH_REFUSED;
	}
	if (model && model[0])
		snprintf(r->model, sizeof(r->model), "%.120s", model);
	if (json_is_object(usage)) {
		r->tokens_in = kw_json_get_i64(usage, "prompt_tokens", r->tokens_in);
		r->tokens_out = kw_json_get_i64(usage, "completion_tokens", r->tokens_out);
		r->counted = true;
	}
	if (!reason)
		return;
	r->finished = true;
	if (strcmp(reason, "error") == 0)
		kw_reading_error(r, json_object_get(choice, "error"), 500);
	else if (r->finish != KW_FINISH_REFUSED)
		r->finish = finish_of(reason);
}

static bool adapt(struct kw_dialect *d, const struct kw_ask *a, const char *message)
{
	if (strstr(message, "max_completion_tokens") && !d->completion_tokens)
		d->completion_tokens = true;
	else if (strstr(message, "max_completion_tokens") && !strstr(message, "'max_tokens'"))
		d->completion_tokens = false;
	else if (strstr(message, "stream_options") && !d->no_usage)
		d->no_usage = true;
	else if (strstr(message, "temperature") && !d->no_temperature && a->temperature >= 0)
		d->no_temperature = true;
	else
		return false;
	return true;
}

const struct kw_protocol kw_protocol_openai = {
	.name = "openai", .key_variable = "OPENAI_API_KEY", .url = "https://api.openai.com/v1", .path = "/chat/completions",
	.bare_forms = 2, /* most servers have a version, some have none */
	.body = body, .headers = headers, .event = event, .adapt = adapt,
};

static enum kw_status open_openai(const char *argument, const struct kw_provider_opts *o, void **state, struct kw_error *err)
{
	return kw_chat_open(&kw_protocol_openai, argument, o, state, err);
}

const struct kw_provider kw_provider_openai = {
	.name = "openai", .argument = "MODEL", .title = "chat completions; --base-url for vLLM, llama.cpp, Ollama, OpenRouter, ...",
	.open = open_openai, .ask = kw_chat_ask, .close = kw_chat_close, .paid = KW_PAID_BY_NAME,
};
