/* Any answer of a model: a reply with a reason, or a source; with and without a parent, whole and cut off. Some of the bytes are
 * the parent, so that edits fit now and then. */
#include "agent/reply.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kw_arena a;
	struct kw_reply r;
	struct kw_reply_want want = { .marker = "//@" };
	size_t half = size / 2;
	char *text, *parent;

	kw_arena_init(&a, 64 << 20);
	text = kw_arena_strndup(&a, (const char *)data, size);
	parent = kw_arena_strndup(&a, (const char *)data + half, size - half);
	for (int i = 0; i < 6; i++) {
		want.parent = i & 1 ? parent : NULL;
		want.any_block = (i & 2) != 0;
		want.entry = i & 4 ? "reference:" : NULL;
		kw_reply_read(&want, text, strlen(text), i & 2 ? KW_FINISH_LENGTH : KW_FINISH_STOP, &a, &r);
		must((unsigned)r.kind < KW_REPLY_COUNT);
		must(r.kind == KW_REPLY_SOURCE ? r.source && strlen(r.source) == r.len : r.why[0] != '\0');
	}
	kw_arena_release(&a);
	return 0;
}
