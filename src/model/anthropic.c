/* Provider `anthropic`: the Messages interface. */
#include <stdio.h>
#include <string.h>

#include "model/chat.h"

enum { MAX_TOKENS = 16384, MAX_TOKENS_LEAST = 1024 };

/* This interface wants a limit in every request. */
static int64_t most_tokens(const struct kw_dialect *d, const struct kw_ask *a)
{
	return d->max_tokens ? d->max_tokens : a->max_tokens ? a->max_tokens : MAX_TOKENS;
}

static json_t *body(const struct kw_dialect *d, const char *model, const struct kw_ask *a)
{
	json_t *j = json_pack("{s:s, s:[{s:s, s:s}], s:b, s:I}", "model", model, "messages", "role", "user", "content", a->prompt,
			      "stream", 1, "max_tokens", (json_int_t)most_tokens(d, a));

	if (j && a->temperature >= 0 && !d->no_temperature)
		json_object_set_new(j, "temperature", kw_json_real(a->temperature));
	return j;
}

static bool headers(const char *key, struct kw_arena *a, const char *out[5])
{
	out[0] = "content-type: application/json";
	out[1] = "anthropic-version: 2023-06-01";
	out[2] = key ? kw_arena_printf(a, "x-api-key: %s", key) : NULL;
	return !key || out[2];
}

static void stop(struct kw_reading *r, const char *reason)
{
	if (!reason)
		return;
	r->finished = true;
	r->finish = strcmp(reason, "max_tokens") == 0 || strcmp(reason, "model_context_window_exceeded") == 0 ? KW_FINISH_LENGTH
		    : strcmp(reason, "refusal") == 0 ? KW_FINISH_REFUSED
		    : strcmp(reason, "tool_use") == 0 ? KW_FINISH_TOOL : KW_FINISH_STOP;
}

/* Tokens read from or written to the server's cache are tokens of the prompt. */
static void usage(struct kw_reading *r, const json_t *u)
{
	if (!json_is_object(u))
		return;
	if (json_object_get(u, "input_tokens"))
		r->tokens_in = kw_json_get_i64(u, "input_tokens", 0) + kw_json_get_i64(u, "cache_read_input_tokens", 0) +
			       kw_json_get_i64(u, "cache_creation_input_tokens", 0);
	r->tokens_out = kw_json_get_i64(u, "output_tokens", r->tokens_out);
	r->counted = true;
}

static void block(struct kw_reading *r, const json_t *b)
{
	kw_reading_add(&r->text, json_object_get(b, "text"));
	kw_reading_add(&r->reasoning, json_object_get(b, "thinking"));
}

/* A whole message: at the beginning of a stream without content, or an answer that is not streamed. */
static void message(struct kw_reading *r, const json_t *m)
{
	size_t i;
	json_t *b;

	snprintf(r->model, sizeof(r->model), "%.120s", kw_json_get_str(m, "model", r->model));
	usage(r, json_object_get(m, "usage"));
	json_array_foreach(json_object_get(m, "content"), i, b)
		block(r, b);
	stop(r, kw_json_get_str(m, "stop_reason", NULL));
}

static void event(struct kw_reading *r, const json_t *j)
{
	const char *type = kw_json_get_str(j, "type", "");

	if (strcmp(type, "message_start") == 0) {
		message(r, json_object_get(j, "message"));
	} else if (strcmp(type, "message") == 0) {
		message(r, j);
		r->done = true;
	} else if (strcmp(type, "content_block_start") == 0) {
		block(r, json_object_get(j, "content_block"));
	} else if (strcmp(type, "content_block_delta") == 0) {
		block(r, json_object_get(j, "delta"));
	} else if (strcmp(type, "message_delta") == 0) {
		usage(r, json_object_get(j, "usage"));
		stop(r, kw_json_get_str(json_object_get(j, "delta"), "stop_reason", NULL));
	} else if (strcmp(type, "message_stop") == 0) {
		r->done = true;
	}
}

static bool adapt(struct kw_dialect *d, const struct kw_ask *a, const char *text)
{
	int64_t most = most_tokens(d, a);

	if (strstr(text, "max_tokens") && most / 2 >= MAX_TOKENS_LEAST && !strstr(text, "prompt is too long"))
		d->max_tokens = most / 2;
	else if (strstr(text, "temperature") && !d->no_temperature && a->temperature >= 0)
		d->no_temperature = true;
	else
		return false;
	return true;
}

const struct kw_protocol kw_protocol_anthropic = {
	.name = "anthropic", .key_variable = "ANTHROPIC_API_KEY", .url = "https://api.anthropic.com", .path = "/messages",
	.bare_forms = 1, .body = body, .headers = headers, .event = event, .adapt = adapt,
};

static enum kw_status open_anthropic(const char *argument, const struct kw_provider_opts *o, void **state, struct kw_error *err)
{
	return kw_chat_open(&kw_protocol_anthropic, argument, o, state, err);
}

const struct kw_provider kw_provider_anthropic = {
	.name = "anthropic", .argument = "MODEL", .title = "Anthropic's Messages interface",
	.open = open_anthropic, .ask = kw_chat_ask, .close = kw_chat_close, .paid = KW_PAID_BY_NAME,
};
