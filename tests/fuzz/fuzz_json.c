/* Any bytes: an error with a text, or a tree whose canonical text is read back as itself. */
#include "base/json.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kw_error err = { 0 };
	struct kw_buf first, second;
	json_t *j, *again = NULL;

	if (kw_json_parse("f", (const char *)data, size, &j, &err) != KW_OK) {
		must(!j && err.text[0]);
		return 0;
	}
	kw_buf_init(&first, 16 << 20);
	kw_buf_init(&second, 16 << 20);
	must(kw_json_canonical(j, &first, &err) == KW_OK);
	must(kw_json_parse("f", first.ptr, first.len, &again, &err) == KW_OK);
	must(json_equal(j, again));
	must(kw_json_canonical(again, &second, &err) == KW_OK);
	must(strcmp(first.ptr, second.ptr) == 0);
	kw_buf_release(&first);
	kw_buf_release(&second);
	json_decref(j);
	json_decref(again);
	return 0;
}
