/* sse.h - a stream of server-sent events (WHATWG HTML, 9.2), byte by byte.
 *
 *     struct kw_sse s;
 *     kw_sse_init(&s, on_event, arg);
 *     kw_sse_feed(&s, bytes, n);                // as they come, cut anywhere
 *     kw_sse_end(&s);                           // an event without its blank line counts too
 *     kw_sse_release(&s);
 *
 * Lines end in LF, CRLF or CR; comments and fields that are not known are skipped; data lines of one event are joined by LF; an
 * event without data is none. Bytes are not decoded: a character that is cut between two chunks is whole in its event. */
#ifndef KW_MODEL_SSE_H
#define KW_MODEL_SSE_H

#include "base/str.h"

#define KW_SSE_EVENT_MAX_BYTES ((size_t)16 << 20)

struct kw_sse {
	struct kw_buf line, data;
	char event[64];
	bool after_cr, has_data, began;
	bool full;                        /* an event was longer than is read */
	/* False: no more is wanted. */
	bool (*fn)(void *arg, const char *event, const char *data, size_t len);
	void *arg;
};
void kw_sse_init(struct kw_sse *s, bool (*fn)(void *arg, const char *event, const char *data, size_t len), void *arg);
void kw_sse_release(struct kw_sse *s);
bool kw_sse_feed(struct kw_sse *s, const char *bytes, size_t len);
bool kw_sse_end(struct kw_sse *s);

#endif
