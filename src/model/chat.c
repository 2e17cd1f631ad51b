#include "model/chat.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "model/curl_api.h"
#include "model/http.h"
#include "model/retry.h"
#include "model/sse.h"

enum { RETRIES = 5, ADAPTS_MAX = 8, URL_MAX_BYTES = 1024, BODY_MAX_BYTES = 128 << 20, ERROR_TEXT = 500 };
static const int64_t timeout_default_ns = 300 * 1000000000ll;

struct chat {
	struct kw_arena arena;
	const struct kw_protocol *p;
	const char *model, *base;
	char *key;                        /* NULL: none */
	int64_t timeout_ns;
	int retries;
	pthread_mutex_t lock;             /* of the dialect */
	struct kw_dialect dialect;
};

/* ---- opening ---- */

/* Loopback: what is sent there leaves no machine. */
static bool is_local(const char *url)
{
	static const char *const hosts[] = { "http://127.", "http://localhost:", "http://localhost/", "http://[::1]" };

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
		if (strncasecmp(url, hosts[i], strlen(hosts[i])) == 0)
			return true;
	return strcasecmp(url, "http://localhost") == 0;
}

static enum kw_status check_url(const char *url, bool keyed, struct kw_error *err)
{
	const char *host = strstr(url, "://"), *slash = host ? strchr(host + 3, '/') : NULL, *at = strchr(url, '@');

	if (strncasecmp(url, "https://", 8) != 0 && strncasecmp(url, "http://", 7) != 0)
		return kw_fail(err, KW_ERR_USAGE, "", "--base-url takes http://... or https://..., not '%.200s'", url);
	if (strlen(url) >= URL_MAX_BYTES - 64 || !host[3] || host[3] == '/')
		return kw_fail(err, KW_ERR_USAGE, "", "--base-url '%.200s' names no server", url);
	for (const char *c = url; *c; c++)
		if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
			return kw_fail(err, KW_ERR_USAGE, "", "--base-url has a blank in it");
	if (at && (!slash || at < slash))
		return kw_fail(err, KW_ERR_USAGE, "", "--base-url must hold no password: it is stored with the run; use the key");
	if (keyed && strncasecmp(url, "http://", 7) == 0 && !is_local(url))
		return kw_fail(err, KW_ERR_USAGE, "", "a key would go unencrypted to %.200s; use https, or no key", url);
	return KW_OK;
}

/* What can stand in a header, and no more. */
static enum kw_status check_key(const char *key, const char *where, struct kw_error *err)
{
	for (const char *c = key; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
			return kw_fail(err, KW_ERR_INPUT, where, "the key has a character in it that no key has (a blank, a line's end)");
	return KW_OK;
}

static enum kw_status find_key(struct chat *c, const struct kw_provider_opts *o, struct kw_error *err)
{
	const char *key = o->key_file ? NULL : getenv(c->p->key_variable), *where = o->key_file ? o->key_file : c->p->key_variable;
	enum kw_status status = o->key_file ? kw_key_read(o->key_file, &c->arena, &key, err) : KW_OK;

	if (status == KW_OK && key && key[0]) {
		c->key = kw_strdup(key);
		if (o->key_file)
			explicit_bzero((char *)(uintptr_t)key, strlen(key));
		status = c->key ? check_key(c->key, where, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a key");
	} else if (status == KW_OK && !o->base_url) {
		status = kw_fail(err, KW_ERR_ENV, "", "%s:%.80s needs a key: set %s, or give --key-file FILE", c->p->name, c->model,
				 c->p->key_variable);
	}
	return status;
}

enum kw_status kw_chat_open(const struct kw_protocol *p, const char *model, const struct kw_provider_opts *o, void **state,
			    struct kw_error *err)
{
	struct chat *c = kw_calloc(1, sizeof(*c));
	enum kw_status status;

	if (!c)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a model");
	kw_arena_init(&c->arena, 1 << 20);
	pthread_mutex_init(&c->lock, NULL);
	c->p = p;
	c->model = kw_arena_strdup(&c->arena, model);
	c->base = kw_arena_strdup(&c->arena, o->base_url ? o->base_url : p->url);
	c->timeout_ns = o->timeout_ns ? o->timeout_ns : timeout_default_ns;
	c->retries = o->retries >= 0 ? o->retries : RETRIES;
	if (!c->model || !c->base)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a model");
	else
		status = find_key(c, o, err);
	if (status == KW_OK)
		status = check_url(c->base, c->key != NULL, err);
	if (status == KW_OK && !kw_curl_load(err))
		status = KW_ERR_ENV;
	c->dialect.completion_tokens = strstr(p->url, c->base) == p->url;
	if (status != KW_OK) {
		kw_chat_close(c);
		return status;
	}
	*state = c;
	return KW_OK;
}

void kw_chat_close(void *state)
{
	struct chat *c = state;

	if (c->key)
		explicit_bzero(c->key, strlen(c->key));
	kw_free(c->key);
	pthread_mutex_destroy(&c->lock);
	kw_arena_release(&c->arena);
	kw_free(c);
}

/* ---- one request ---- */

struct exchange {
	const struct chat *c;
	struct kw_reading reading;
	struct kw_sse sse;
	struct kw_buf whole;              /* of an answer that is no stream */
	bool begun, streamed;
	struct kw_http_response http;
	char url[URL_MAX_BYTES];
};

static bool on_event(void *arg, const char *event, const char *data, size_t len)
{
	struct exchange *x = arg;

	(void)event;
	kw_reading_data(&x->reading, x->c->p, data, len);
	return !x->reading.error_status && !x->reading.text.full && !x->reading.reasoning.full;
}

static bool on_data(void *arg, const char *bytes, size_t len)
{
	struct exchange *x = arg;

	if (!x->begun) {
		struct kw_str head = kw_str_trim((struct kw_str){ bytes, len });

		x->begun = head.len > 0;
		x->streamed = !(head.len && head.ptr[0] == '{') && !strstr(x->http.content_type, "application/json");
	}
	if (x->streamed)
		return kw_sse_feed(&x->sse, bytes, len);
	kw_buf_add(&x->whole, bytes, len);
	return !x->whole.full;
}

static void release(struct exchange *x)
{
	kw_reading_release(&x->reading);
	kw_sse_release(&x->sse);
	kw_buf_release(&x->whole);
	kw_http_response_release(&x->http);
}

static bool over(const void *ask)
{
	return kw_ask_over(ask);
}

static enum kw_status send(struct exchange *x, const struct kw_dialect *d, const struct kw_ask *a, struct kw_error *err)
{
	struct kw_http_request r = { .url = x->url, .timeout_ns = x->c->timeout_ns, .on_data = on_data, .arg = x, .over = over, .over_arg = a };
	const char *headers[5] = { NULL };
	struct kw_arena scratch;
	struct kw_buf text;
	json_t *body = x->c->p->body(d, x->c->model, a);
	enum kw_status status;

	kw_arena_init(&scratch, 1 << 16);
	kw_buf_init(&text, BODY_MAX_BYTES);
	status = body && x->c->p->headers(x->c->key, &scratch, headers) ? kw_json_canonical(body, &text, err)
								       : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a request");
	r.headers = headers;
	r.body = text.ptr;
	r.body_len = text.len;
	if (status == KW_OK && text.full)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a request");
	if (status == KW_OK)
		status = kw_http_post(&r, &x->http, err);
	if (status == KW_OK && x->http.end == KW_HTTP_DONE && x->http.status / 100 == 2) {
		if (x->streamed)
			kw_sse_end(&x->sse);
		else if (x->whole.len)
			kw_reading_data(&x->reading, x->c->p, x->whole.ptr, x->whole.len);
	}
	for (int i = 0; headers[i]; i++)
		if (x->c->key && strstr(headers[i], x->c->key))
			explicit_bzero((char *)(uintptr_t)headers[i], strlen(headers[i]));
	json_decref(body);
	kw_buf_release(&text);
	kw_arena_release(&scratch);
	return status;
}

/* ---- what a server says of a failure ---- */

/* A server may repeat the key that it refuses. */
static void hide_key(const char *key, char *text)
{
	size_t n = key ? strlen(key) : 0;

	for (char *p = text; n >= 4 && (p = strstr(p, key));)
		memset(p, '*', n);
}

/* Tags of a page away, blanks together. */
static void plain(struct kw_str body, char *out, size_t out_bytes)
{
	size_t n = 0;
	bool tag = false, blank = true;

	for (size_t i = 0; i < body.len && n + 1 < out_bytes; i++) {
		unsigned char c = (unsigned char)body.ptr[i];

		tag = c == '<' ? true : tag;
		if (!tag && (c > ' ' || !blank))
			out[n++] = c > ' ' ? (char)c : ' ';
		blank = tag ? blank : c <= ' ';
		if (c == '>')
			tag = false;
	}
	out[n] = '\0';
}

/* The sentence in the body of a refused request, and what status it stands for. */
static void read_error(struct exchange *x)
{
	struct kw_reading *r = &x->reading;
	json_t *j = NULL;
	const char *text;

	r->error_status = x->http.status;
	if (kw_json_parse("an error", x->http.error_body.ptr ? x->http.error_body.ptr : "", x->http.error_body.len, &j, NULL) == KW_OK &&
	    json_is_object(j)) {
		const json_t *error = json_object_get(j, "error");

		text = kw_json_get_str(j, "message", kw_json_get_str(j, "detail", NULL));
		if (error && !json_is_null(error)) {
			kw_reading_error(r, error, x->http.status);
			if (r->error_status != 402) /* the one that the status does not tell apart from a full queue */
				r->error_status = x->http.status;
		} else if (text) {
			snprintf(r->error, sizeof(r->error), "%.560s", text);
		}
	}
	json_decref(j);
	if (!r->error[0])
		plain(kw_buf_str(&x->http.error_body), r->error, ERROR_TEXT);
	hide_key(x->c->key, r->error);
}

static bool too_long(const struct kw_reading *r)
{
	static const char *const words[] = { "context_length_exceeded", "maximum context length", "prompt is too long",
					     "context size", "context window", "too many tokens", "exceed context limit" };

	if (r->error_status != 400 && r->error_status != 413 && r->error_status != 422)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(r->error, words[i]))
			return true;
	return r->error_status == 413;
}

/* What is final, as an error of ours. */
static enum kw_status give_up(const struct exchange *x, int attempts, struct kw_error *err)
{
	const struct kw_reading *r = &x->reading;
	const struct chat *c = x->c;
	int status = r->error_status;

	if (x->http.end == KW_HTTP_IMPOSSIBLE || x->http.end == KW_HTTP_BROKEN)
		return kw_fail(err, KW_ERR_ENV, x->url, "%s%s", x->http.why,
			       x->http.end == KW_HTTP_BROKEN && attempts > 1 ? " (tried several times)" : "");
	if (status == 401 || status == 403)
		return kw_fail(err, KW_ERR_ENV, x->url, "%s (status %d): %s", c->key ? "the key was refused" : "a key is wanted: none is "
			       "set", status, r->error);
	if (status == 404)
		return kw_fail(err, KW_ERR_ENV, x->url, "there is no model %.80s, or nothing at this address (status 404): %s", c->model,
			       r->error);
	if (status == 402)
		return kw_fail(err, KW_ERR_ENV, x->url, "the account has nothing left: %s", r->error);
	if (status)
		return kw_fail(err, KW_ERR_ENV, x->url, "the server says %d%s: %s", status, attempts > 1 ? ", again and again" : "",
			       r->error);
	return kw_fail(err, KW_ERR_ENV, x->url, "the answer ended in the middle%s", attempts > 1 ? ", again and again" : "");
}

/* ---- the loop ---- */

enum verdict { GOOD, AGAIN, OTHERWISE, FINAL };

static bool whole(const struct exchange *x)
{
	const struct kw_reading *r = &x->reading;

	return x->http.end == KW_HTTP_DONE && x->http.status / 100 == 2 && !r->error_status && !r->unreadable &&
	       (r->finished || r->done);
}

/* After a refusal: another address, or a request without what the server does not know. */
static bool otherwise(struct chat *c, struct exchange *x, struct kw_dialect *d, const struct kw_ask *a)
{
	struct kw_dialect next = *d;
	char url[URL_MAX_BYTES];
	bool better = false;

	if (x->reading.error_status == 404 && kw_chat_address(c->p, c->base, d->url_form + 1, url, sizeof(url))) {
		next.url_form++;
		better = true;
	} else if (x->reading.error_status == 400 || x->reading.error_status == 422) {
		better = c->p->adapt(&next, a, x->reading.error);
	}
	if (better) {
		pthread_mutex_lock(&c->lock);
		c->dialect = next;
		pthread_mutex_unlock(&c->lock);
	}
	return better;
}

static enum verdict judge(struct chat *c, struct exchange *x, struct kw_dialect *d, const struct kw_ask *a)
{
	struct kw_reading *r = &x->reading;

	if (x->http.end == KW_HTTP_IMPOSSIBLE)
		return FINAL;
	r->text.full = r->text.full || x->sse.full || x->whole.full;
	if (x->http.end == KW_HTTP_DONE && x->http.status / 100 != 2)
		read_error(x);
	hide_key(c->key, r->error);
	if (whole(x) || r->text.full || r->reasoning.full || too_long(r))
		return GOOD;
	if (r->error_status && otherwise(c, x, d, a))
		return OTHERWISE;
	return r->error_status && !kw_retry_status(r->error_status) ? FINAL : AGAIN;
}

static enum kw_status take(const struct exchange *x, struct kw_answer *out, struct kw_error *err)
{
	const struct kw_reading *r = &x->reading;
	const char *text = out->text;
	enum kw_status status;

	if (r->text.full || r->reasoning.full) {
		out->finish = KW_FINISH_OVERFLOW;
		return KW_OK;
	}
	if (r->error_status) {
		out->finish = KW_FINISH_TOO_LONG;
		out->counted = true; /* a refused prompt costs nothing */
		return KW_OK;
	}
	status = kw_answer_take_text(out, r->reasoning.ptr ? r->reasoning.ptr : "", r->reasoning.len, err);
	out->reasoning = out->text;
	out->text = text;
	if (status == KW_OK)
		status = kw_answer_take_text(out, r->text.ptr ? r->text.ptr : "", r->text.len, err);
	out->model = kw_arena_strdup(&out->arena, r->model[0] ? r->model : x->c->model);
	if (status == KW_OK && !out->model)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for an answer");
	out->finish = r->finish == KW_FINISH_TOOL && r->text.len ? KW_FINISH_STOP : r->finish;
	out->tokens_in = r->tokens_in;
	out->tokens_out = r->tokens_out;
	out->counted = r->counted;
	return status;
}

/* Nobody waits any more. What has come is paid, and kept. */
static enum kw_status cut(const struct exchange *x, struct kw_answer *out, struct kw_error *err)
{
	const struct kw_reading *r = &x->reading;
	enum kw_status status;

	if (r->error_status || (!r->text.len && !r->reasoning.len))
		return kw_fail(err, KW_NO, x->url, "the run's time was over before an answer came");
	status = take(x, out, err);
	out->finish = KW_FINISH_CUT;
	return status;
}

static enum kw_status pause_for(double seconds, const struct kw_ask *a, struct kw_error *err)
{
	int64_t until = kw_now_ns() + (int64_t)(seconds * 1e9);

	while (kw_now_ns() < until) {
		int64_t left = until - kw_now_ns();

		if (kw_interrupted())
			return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted while waiting to ask a model again");
		if (kw_ask_over(a))
			return kw_fail(err, KW_NO, "", "the run's time was over before the model could be asked again");
		kw_sleep_ns(left < 100000000 ? left : 100000000);
	}
	return KW_OK;
}

/* Waits before the n-th repetition; a server that wants to be left alone for too long ends it. */
static enum kw_status wait_for(const struct exchange *x, const struct kw_ask *a, int n, struct kw_error *err)
{
	double s = kw_retry_after_s(x->http.retry_after_ms[0] ? x->http.retry_after_ms : NULL, x->http.retry_after, kw_wall_ms());

	if (s > KW_RETRY_CAP_S)
		return kw_fail(err, KW_ERR_ENV, x->url, "the server says %d and wants to be asked again in %.0f s; resume the run then",
			       x->reading.error_status, s);
	return pause_for(s >= 0 ? s : kw_retry_backoff_s(n, kw_random_u64()), a, err);
}

enum kw_status kw_chat_ask(void *state, const struct kw_ask *a, struct kw_answer *out, struct kw_error *err)
{
	struct chat *c = state;
	int failures = 0, adapts = 0;

	for (out->attempts = 1;; out->attempts++) {
		struct exchange x = { .c = c };
		struct kw_dialect d;
		enum verdict v;
		enum kw_status status;

		pthread_mutex_lock(&c->lock);
		d = c->dialect;
		pthread_mutex_unlock(&c->lock);
		kw_reading_init(&x.reading);
		kw_sse_init(&x.sse, on_event, &x);
		kw_buf_init(&x.whole, 8 * KW_ANSWER_MAX_BYTES);
		kw_chat_address(c->p, c->base, d.url_form, x.url, sizeof(x.url));
		status = send(&x, &d, a, err);
		v = status == KW_OK ? judge(c, &x, &d, a) : FINAL;
		if (status == KW_OK && v == GOOD)
			status = take(&x, out, err);
		else if (status == KW_OK && kw_ask_over(a)) {
			status = cut(&x, out, err);
			v = GOOD;
		} else if (status == KW_OK && (v == FINAL || (v == AGAIN && failures >= c->retries) || adapts >= ADAPTS_MAX))
			status = give_up(&x, failures + 1, err);
		else if (status == KW_OK && v == AGAIN)
			status = wait_for(&x, a, ++failures, err);
		adapts += v == OTHERWISE;
		release(&x);
		if (status != KW_OK || v == GOOD)
			return status;
	}
}
