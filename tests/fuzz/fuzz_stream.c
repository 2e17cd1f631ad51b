/* Any bytes as a stream of events: in one piece or byte by byte, they say the same. */
#include "model/chat.h"
#include "model/sse.h"

#include "fuzz.h"

static bool on_event(void *arg, const char *event, const char *data, size_t len)
{
	(void)event;
	kw_reading_data(arg, &kw_protocol_openai, data, len);
	return true;
}

static void feed(const uint8_t *data, size_t size, size_t step, struct kw_reading *r)
{
	struct kw_sse s;

	kw_reading_init(r);
	kw_sse_init(&s, on_event, r);
	for (size_t i = 0; i < size; i += step)
		kw_sse_feed(&s, (const char *)data + i, size - i < step ? size - i : step);
	kw_sse_end(&s);
	kw_sse_release(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kw_reading whole, split;

	feed(data, size, size + 1, &whole);
	feed(data, size, 1, &split);
	must(whole.text.len == split.text.len && whole.error_status == split.error_status && whole.done == split.done &&
	     whole.unreadable == split.unreadable);
	must(whole.text.len == 0 || memcmp(whole.text.ptr, split.text.ptr, whole.text.len) == 0);
	kw_reading_release(&whole);
	kw_reading_release(&split);
	return 0;
}
