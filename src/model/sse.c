#include "model/sse.h"

#include <stdio.h>
#include <string.h>

void kw_sse_init(struct kw_sse *s, bool (*fn)(void *arg, const char *event, const char *data, size_t len), void *arg)
{
	*s = (struct kw_sse){ .fn = fn, .arg = arg };
	kw_buf_init(&s->line, KW_SSE_EVENT_MAX_BYTES);
	kw_buf_init(&s->data, KW_SSE_EVENT_MAX_BYTES);
}

void kw_sse_release(struct kw_sse *s)
{
	kw_buf_release(&s->line);
	kw_buf_release(&s->data);
}

static bool dispatch(struct kw_sse *s)
{
	bool more = true;

	if (s->data.full)
		s->full = true;
	else if (s->has_data && s->data.len)
		more = s->fn(s->arg, s->event, s->data.ptr, s->data.len);
	kw_buf_reset(&s->data);
	s->has_data = false;
	s->event[0] = '\0';
	return more && !s->full;
}

static void field(struct kw_sse *s, struct kw_str name, struct kw_str value)
{
	if (value.len && value.ptr[0] == ' ')
		value = (struct kw_str){ value.ptr + 1, value.len - 1 };
	if (kw_str_eqz(name, "data")) {
		if (s->has_data)
			kw_buf_addc(&s->data, '\n');
		kw_buf_add(&s->data, value.ptr, value.len);
		s->has_data = true;
	} else if (kw_str_eqz(name, "event")) {
		snprintf(s->event, sizeof(s->event), KW_STR_FMT, (int)(value.len < 60 ? value.len : 60), value.ptr);
	}
}

static bool end_line(struct kw_sse *s)
{
	struct kw_str line = kw_buf_str(&s->line);
	const char *colon;
	bool more = true;

	if (!s->began && line.len >= 3 && memcmp(line.ptr, "\xef\xbb\xbf", 3) == 0)
		line = (struct kw_str){ line.ptr + 3, line.len - 3 };
	s->began = true;
	if (s->line.full)
		s->full = true;
	if (line.len == 0) {
		more = dispatch(s);
	} else if (line.ptr[0] != ':') {
		colon = memchr(line.ptr, ':', line.len);
		if (colon)
			field(s, (struct kw_str){ line.ptr, (size_t)(colon - line.ptr) },
			      (struct kw_str){ colon + 1, (size_t)(line.ptr + line.len - colon - 1) });
		else
			field(s, line, (struct kw_str){ "", 0 });
	}
	kw_buf_reset(&s->line);
	return more && !s->full;
}

bool kw_sse_feed(struct kw_sse *s, const char *bytes, size_t len)
{
	size_t start = 0;

	for (size_t i = 0; i < len; i++) {
		bool lf = bytes[i] == '\n', cr = bytes[i] == '\r';

		if (!lf && !cr) {
			s->after_cr = false;
			continue;
		}
		kw_buf_add(&s->line, bytes + start, i - start);
		start = i + 1;
		if (lf && s->after_cr) { /* the second half of CRLF */
			s->after_cr = false;
			continue;
		}
		s->after_cr = cr;
		if (!end_line(s))
			return false;
	}
	kw_buf_add(&s->line, bytes + start, len - start);
	return true;
}

bool kw_sse_end(struct kw_sse *s)
{
	bool more = s->line.len == 0 || end_line(s);

	return more && dispatch(s);
}
