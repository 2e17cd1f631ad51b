/* retry.h - how long to wait before a request is sent again. Pure functions. */
#ifndef KW_MODEL_RETRY_H
#define KW_MODEL_RETRY_H

#include <stdbool.h>
#include <stdint.h>

/* A server that wants longer than this is told of, not waited for. */
#define KW_RETRY_CAP_S 120.0

/* Seconds that a server asks for; negative: it does not say. ms: header retry-after-ms, after: retry-after, as a number of
 * seconds, an HTTP date or seconds since 1970 (RFC 9110, 10.2.3, and what servers really send); either may be NULL or "". */
double kw_retry_after_s(const char *ms, const char *after, int64_t now_ms);
/* Before the n-th repetition (from 1) where the server does not say: 1 s, 2 s, 4 s ... 30 s, of which up to a quarter is
 * taken off by `random`, so that many clients do not come back at once. */
double kw_retry_backoff_s(int n, uint64_t random);
/* Whether a status is worth another try: the server is busy or broken, not the request. */
bool kw_retry_status(int status);

#endif
