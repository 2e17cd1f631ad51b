/* curl_api.h - what we use of libcurl's C interface (curl.se/libcurl/c), declared here and loaded at run time: no header is
 * needed to build, and a machine without libcurl has everything but models behind HTTP. The numbers are libcurl's ABI, which has
 * not changed since version 7.16.
 *
 *     const struct kw_curl *c = kw_curl_load(err);
 *     void *h = c->easy_init();
 *     c->easy_setopt(h, KW_CURLOPT_URL, "https://...");
 *
 * Thread rule: kw_curl_load by any thread; a handle belongs to one. */
#ifndef KW_MODEL_CURL_API_H
#define KW_MODEL_CURL_API_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum {
	/* A number or a pointer: 0 long, 10000 pointer, 20000 function, 30000 64-bit number. */
	KW_CURLOPT_WRITEDATA = 10001,
	KW_CURLOPT_URL = 10002,
	KW_CURLOPT_ERRORBUFFER = 10010,
	KW_CURLOPT_WRITEFUNCTION = 20011,
	KW_CURLOPT_POSTFIELDS = 10015,
	KW_CURLOPT_USERAGENT = 10018,
	KW_CURLOPT_LOW_SPEED_LIMIT = 19,
	KW_CURLOPT_LOW_SPEED_TIME = 20,
	KW_CURLOPT_HTTPHEADER = 10023,
	KW_CURLOPT_HEADERDATA = 10029,
	KW_CURLOPT_NOPROGRESS = 43,
	KW_CURLOPT_XFERINFODATA = 10057,
	KW_CURLOPT_CAINFO = 10065,
	KW_CURLOPT_HEADERFUNCTION = 20079,
	KW_CURLOPT_NOSIGNAL = 99,
	KW_CURLOPT_POSTFIELDSIZE_LARGE = 30120,
	KW_CURLOPT_CONNECTTIMEOUT_MS = 156,
	KW_CURLOPT_PROTOCOLS = 181,
	KW_CURLOPT_XFERINFOFUNCTION = 20219,
	KW_CURL_PROTO_HTTP = 1,
	KW_CURL_PROTO_HTTPS = 2,
	KW_CURLINFO_RESPONSE_CODE = 0x200002,
	KW_CURL_ERROR_BYTES = 256,
	/* How a transfer ended. */
	KW_CURLE_OK = 0,
	KW_CURLE_URL_MALFORMAT = 3,
	KW_CURLE_RESOLVE_PROXY = 5,
	KW_CURLE_RESOLVE_HOST = 6,
	KW_CURLE_CONNECT = 7,
	KW_CURLE_PARTIAL_FILE = 18,
	KW_CURLE_WRITE_ERROR = 23,
	KW_CURLE_TIMED_OUT = 28,
	KW_CURLE_SSL_CONNECT = 35,
	KW_CURLE_ABORTED = 42,
	KW_CURLE_GOT_NOTHING = 52,
	KW_CURLE_SEND = 55,
	KW_CURLE_RECV = 56,
	KW_CURLE_CERTIFICATE = 60,
	KW_CURLE_CA_FILE = 77,
	KW_CURLE_HTTP2_STREAM = 92,
};

struct kw_curl {
	int (*global_init)(long flags);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *handle, int option, ...);
	int (*easy_perform)(void *handle);
	int (*easy_getinfo)(void *handle, int info, ...);
	void (*easy_cleanup)(void *handle);
	const char *(*easy_strerror)(int code);
	void *(*slist_append)(void *list, const char *text);
	void (*slist_free_all)(void *list);
};
/* NULL: err says what is missing. Loaded once and kept. */
const struct kw_curl *kw_curl_load(struct kw_error *err);

#endif
