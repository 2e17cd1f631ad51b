#include "model/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/curl_api.h"

enum { ERROR_BODY_BYTES = 64 << 10, CONNECT_TIMEOUT_MS = 30000, HEADERS_MAX = 16 };

struct transfer {
	const struct kw_http_request *r;
	struct kw_http_response *out;
	bool stopped;
};

static size_t on_body(char *bytes, size_t one, size_t count, void *arg)
{
	struct transfer *t = arg;
	size_t len = one * count;

	if (t->out->status < 200 || t->out->status > 299) {
		kw_buf_add(&t->out->error_body, bytes, len);
		return len;
	}
	if (t->r->on_data(t->r->arg, bytes, len))
		return len;
	t->stopped = true;
	return 0;
}

static void take(const char *line, size_t len, const char *name, char *out, size_t out_bytes)
{
	size_t n = strlen(name);
	struct kw_str value;

	if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
		return;
	value = kw_str_trim((struct kw_str){ line + n + 1, len - n - 1 });
	snprintf(out, out_bytes, KW_STR_FMT, (int)(value.len < out_bytes ? value.len : out_bytes - 1), value.ptr);
}

/* The status line of each answer (there may be a 100 or a proxy's before), and the headers that matter. */
static size_t on_header(char *line, size_t one, size_t count, void *arg)
{
	struct transfer *t = arg;
	struct kw_http_response *r = t->out;
	size_t len = one * count;

	if (len > 9 && strncmp(line, "HTTP/", 5) == 0) {
		const char *space = memchr(line, ' ', len);

		r->status = space && (size_t)(space - line) + 4 <= len ? (int)strtol(space + 1, NULL, 10) : 0;
		r->content_type[0] = r->retry_after[0] = r->retry_after_ms[0] = '\0';
	}
	take(line, len, "content-type", r->content_type, sizeof(r->content_type));
	take(line, len, "retry-after", r->retry_after, sizeof(r->retry_after));
	take(line, len, "retry-after-ms", r->retry_after_ms, sizeof(r->retry_after_ms));
	return len;
}

static int on_progress(void *arg, int64_t down_total, int64_t down, int64_t up_total, int64_t up)
{
	const struct transfer *t = arg;

	(void)down_total;
	(void)down;
	(void)up_total;
	(void)up;
	return kw_interrupted() || (t->r->over && t->r->over(t->r->over_arg));
}

/* What libcurl's code means for us. */
static void explain(struct transfer *t, int code, const char *detail, const char *text)
{
	struct kw_http_response *r = t->out;
	const char *hint = "";

	r->end = KW_HTTP_BROKEN;
	switch (code) {
	case KW_CURLE_RESOLVE_HOST:
	case KW_CURLE_RESOLVE_PROXY:
	case KW_CURLE_CONNECT:
		hint = "; is the network there, and the address right?";
		break;
	case KW_CURLE_CERTIFICATE:
		r->end = KW_HTTP_IMPOSSIBLE;
		hint = "; if you trust this server, name its certificate by KWRIGHT_CA_FILE";
		break;
	case KW_CURLE_CA_FILE:
		r->end = KW_HTTP_IMPOSSIBLE;
		hint = "; KWRIGHT_CA_FILE should name a file with certificates";
		break;
	case KW_CURLE_URL_MALFORMAT:
		r->end = KW_HTTP_IMPOSSIBLE;
		break;
	case KW_CURLE_TIMED_OUT:
		hint = "; no byte came for too long";
		break;
	default:
		break;
	}
	snprintf(r->why, sizeof(r->why), "%s%s", detail[0] ? detail : text, hint);
}

static void set_up(const struct kw_curl *c, void *h, struct transfer *t, void *headers, char *detail)
{
	const struct kw_http_request *r = t->r;
	const char *ca = getenv("KWRIGHT_CA_FILE");
	long silent_s = (long)((r->timeout_ns + 999999999) / 1000000000);

	c->easy_setopt(h, KW_CURLOPT_URL, r->url);
	c->easy_setopt(h, KW_CURLOPT_PROTOCOLS, (long)(KW_CURL_PROTO_HTTP | KW_CURL_PROTO_HTTPS));
	c->easy_setopt(h, KW_CURLOPT_NOSIGNAL, 1L);
	c->easy_setopt(h, KW_CURLOPT_POSTFIELDS, r->body);
	c->easy_setopt(h, KW_CURLOPT_POSTFIELDSIZE_LARGE, (int64_t)r->body_len);
	c->easy_setopt(h, KW_CURLOPT_HTTPHEADER, headers);
	c->easy_setopt(h, KW_CURLOPT_USERAGENT, "kwright/" KW_VERSION);
	c->easy_setopt(h, KW_CURLOPT_WRITEFUNCTION, on_body);
	c->easy_setopt(h, KW_CURLOPT_WRITEDATA, t);
	c->easy_setopt(h, KW_CURLOPT_HEADERFUNCTION, on_header);
	c->easy_setopt(h, KW_CURLOPT_HEADERDATA, t);
	c->easy_setopt(h, KW_CURLOPT_NOPROGRESS, 0L);
	c->easy_setopt(h, KW_CURLOPT_XFERINFOFUNCTION, on_progress);
	c->easy_setopt(h, KW_CURLOPT_XFERINFODATA, t);
	c->easy_setopt(h, KW_CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	c->easy_setopt(h, KW_CURLOPT_LOW_SPEED_LIMIT, 1L);
	c->easy_setopt(h, KW_CURLOPT_LOW_SPEED_TIME, silent_s > 0 ? silent_s : 1L);
	c->easy_setopt(h, KW_CURLOPT_ERRORBUFFER, detail);
	if (ca && ca[0])
		c->easy_setopt(h, KW_CURLOPT_CAINFO, ca);
}

static enum kw_status perform(const struct kw_curl *c, void *h, struct transfer *t, void *headers, struct kw_error *err)
{
	char detail[KW_CURL_ERROR_BYTES] = "";
	int code;

	set_up(c, h, t, headers, detail);
	code = c->easy_perform(h);
	if (kw_interrupted())
		return kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted while a model was asked");
	if (t->stopped)
		t->out->end = KW_HTTP_STOPPED;
	else if (code != KW_CURLE_OK)
		explain(t, code, detail, c->easy_strerror(code));
	return KW_OK;
}

enum kw_status kw_http_post(const struct kw_http_request *r, struct kw_http_response *response, struct kw_error *err)
{
	struct transfer t = { .r = r, .out = response };
	const struct kw_curl *c = kw_curl_load(err);
	void *h = NULL, *headers = NULL;
	enum kw_status status = KW_OK;

	*response = (struct kw_http_response){ .end = KW_HTTP_DONE };
	kw_buf_init(&response->error_body, ERROR_BODY_BYTES);
	if (!c)
		return KW_ERR_ENV;
	h = c->easy_init();
	for (int i = 0; r->headers[i] && status == KW_OK; i++) {
		void *longer = c->slist_append(headers, r->headers[i]);

		headers = longer ? longer : headers;
		status = longer ? KW_OK : kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a request");
	}
	if (!h)
		status = kw_fail(err, KW_ERR_NOMEM, "", "out of memory for a request");
	if (status == KW_OK)
		status = perform(c, h, &t, headers, err);
	if (headers)
		c->slist_free_all(headers);
	if (h)
		c->easy_cleanup(h);
	return status;
}

void kw_http_response_release(struct kw_http_response *r)
{
	kw_buf_release(&r->error_body);
}
