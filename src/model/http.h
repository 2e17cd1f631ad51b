/* http.h - one POST whose answer is read as it comes (libcurl, curl_api.h).
 *
 * Proxies are taken from the environment as libcurl does; certificates are verified against the system's list, or against
 * the file that KWRIGHT_CA_FILE names. Redirects are not followed. An interrupt ends a transfer within a second. */
#ifndef KW_MODEL_HTTP_H
#define KW_MODEL_HTTP_H

#include "base/error.h"
#include "base/str.h"

struct kw_http_request {
	const char *url;
	const char *const *headers;       /* "name: value"; NULL-terminated */
	const char *body;
	size_t body_len;
	int64_t timeout_ns;               /* without a byte */
	/* Bytes of the body of a 2xx answer as they come; false: no more is wanted. */
	bool (*on_data)(void *arg, const char *bytes, size_t len);
	void *arg;
	/* Asked about once a second: whether nobody wants the answer any more. NULL: never. */
	bool (*over)(const void *over_arg);
	const void *over_arg;
};
/* What became of it. */
enum kw_http_end {
	KW_HTTP_DONE,                     /* an answer came, whatever its status */
	KW_HTTP_STOPPED,                  /* on_data had enough */
	KW_HTTP_BROKEN,                   /* it can be tried again: no connection, cut off, silent */
	KW_HTTP_IMPOSSIBLE                /* it will not work: no such host, a certificate, a malformed URL */
};
struct kw_http_response {
	enum kw_http_end end;
	int status;                       /* 0: none came */
	char content_type[128], retry_after[128], retry_after_ms[64];
	struct kw_buf error_body;         /* of a status that is not 2xx, its beginning */
	char why[600];                    /* BROKEN and IMPOSSIBLE: a sentence */
};
/* Fills response whatever happens (release it); a status is for interrupts, memory and a missing libcurl. */
enum kw_status kw_http_post(const struct kw_http_request *r, struct kw_http_response *response, struct kw_error *err);
void kw_http_response_release(struct kw_http_response *r);

#endif
