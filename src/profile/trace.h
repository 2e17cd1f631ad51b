/* trace.h - a trace of PyTorch's profiler (export_chrome_trace) to launches (launches.h).
 *
 *     struct kw_trace t;
 *     kw_trace_init(&t, &launches);
 *     while (next bytes)
 *             kw_trace_add(&t, bytes, n);
 *     kw_trace_finish(&t);
 *
 * Most events of a trace are of the host. Only those of the device are parsed, each by itself, so memory holds one event, a span of time for
 * each, and what is found. Any thread. */
#ifndef KW_PROFILE_TRACE_H
#define KW_PROFILE_TRACE_H

#include "base/json.h"
#include "profile/device_events.h"

enum kw_trace_part { KW_TRACE_BETWEEN, KW_TRACE_DEVICES, KW_TRACE_EVENT };
struct kw_trace {
	struct kw_device_events events;
	json_t *devices;
	bool seen, odd;                   /* seen: the list of events began; odd: it holds what is no event */
	/* where in the text */
	struct kw_buf text;               /* of the part that is being read */
	enum kw_trace_part part;
	size_t depth, key_len;
	int line, part_line;
	bool in_string, escaped, in_events;
	char key[20];                     /* the last string of the outermost object */
};
void kw_trace_init(struct kw_trace *t, struct kw_launches *out);
void kw_trace_add(struct kw_trace *t, const char *text, size_t len);
/* Notes what was missing, adds how busy the device was, and frees what the reader held. */
void kw_trace_finish(struct kw_trace *t);

#endif
