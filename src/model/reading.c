/* Reading answers: what the protocols share. */
#include <stdio.h>
#include <string.h>

#include "model/chat.h"

void kw_reading_init(struct kw_reading *r)
{
	*r = (struct kw_reading){ .finish = KW_FINISH_STOP };
	kw_buf_init(&r->text, KW_ANSWER_MAX_BYTES);
	kw_buf_init(&r->reasoning, KW_ANSWER_MAX_BYTES);
}

void kw_reading_release(struct kw_reading *r)
{
	kw_buf_release(&r->text);
	kw_buf_release(&r->reasoning);
}

/* The status that a type of error stands for. */
static int status_of(const char *type)
{
	static const struct {
		const char *type;
		int status;
	} types[] = { { "overloaded_error", 529 }, { "rate_limit_error", 429 }, { "authentication_error", 401 },
		      { "permission_error", 403 }, { "not_found_error", 404 }, { "invalid_request_error", 400 },
		      { "request_too_large", 413 }, { "timeout_error", 504 }, { "billing_error", 402 },
		      { "insufficient_quota", 402 }, { "context_length_exceeded", 400 } };

	for (size_t i = 0; type && i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(type, types[i].type) == 0)
			return types[i].status;
	return 0;
}

void kw_reading_add(struct kw_buf *b, const json_t *text)
{
	if (json_is_string(text))
		kw_buf_add(b, json_string_value(text), json_string_length(text));
}

void kw_reading_error(struct kw_reading *r, const json_t *error, int fallback)
{
	const char *message = json_is_string(error) ? json_string_value(error) : kw_json_get_str(error, "message", NULL);
	int64_t code = kw_json_get_i64(error, "code", 0);
	int named = status_of(kw_json_get_str(error, "type", NULL));

	if (!named)
		named = status_of(kw_json_get_str(error, "code", NULL));
	r->error_status = code >= 400 && code <= 599 ? (int)code : named ? named : fallback;
	snprintf(r->error, sizeof(r->error), "%.560s", message ? message : "an error without a message");
}

void kw_reading_data(struct kw_reading *r, const struct kw_protocol *p, const char *data, size_t len)
{
	struct kw_str text = kw_str_trim((struct kw_str){ data, len });
	const json_t *error;
	json_t *j = NULL;

	if (kw_str_eqz(text, "[DONE]")) {
		r->done = true;
		return;
	}
	if (kw_json_parse("an event", text.ptr, text.len, &j, NULL) != KW_OK || !json_is_object(j)) {
		r->unreadable = true;
		json_decref(j);
		return;
	}
	/* Before anything else: a router sends choices along with an error. */
	error = json_object_get(j, "error");
	if (error && !json_is_null(error))
		kw_reading_error(r, error, 500);
	else
		p->event(r, j);
	json_decref(j);
}

static void trim(const char *base, char *out, size_t out_bytes)
{
	size_t n = strlen(base);

	while (n > 0 && base[n - 1] == '/')
		n--;
	snprintf(out, out_bytes, "%.*s", (int)n, base);
}

static bool is_version(const char *p, size_t len)
{
	size_t i = 1;

	if (len < 2 || p[0] != 'v' || p[1] < '0' || p[1] > '9')
		return false;
	while (i < len && p[i] >= '0' && p[i] <= '9')
		i++;
	return i == len || strncmp(p + i, "beta", len - i) == 0 || strncmp(p + i, "alpha", len - i) == 0;
}

/* The last part of the path is a version, or the one before it is. */
static bool ends_in_version(const char *url)
{
	const char *start = strstr(url, "://"), *end = url + strlen(url), *last;

	start = start ? strchr(start + 3, '/') : NULL;
	for (int i = 0; start && i < 2; i++) {
		last = end;
		while (last > start && last[-1] != '/')
			last--;
		if (last <= start)
			return false;
		if (is_version(last, (size_t)(end - last)))
			return true;
		end = last - 1;
	}
	return false;
}

bool kw_chat_address(const struct kw_protocol *p, const char *base, int form, char *out, size_t out_bytes)
{
	char trimmed[1024];
	size_t n, tail = strlen(p->path);

	trim(base, trimmed, sizeof(trimmed));
	n = strlen(trimmed);
	if (n > tail && strcmp(trimmed + n - tail, p->path) == 0) {
		snprintf(out, out_bytes, "%s", trimmed);
		return form == 0;
	}
	if (ends_in_version(trimmed)) {
		snprintf(out, out_bytes, "%s%s", trimmed, p->path);
		return form == 0;
	}
	snprintf(out, out_bytes, "%s%s%s", trimmed, form ? "" : "/v1", p->path);
	return form < p->bare_forms;
}
