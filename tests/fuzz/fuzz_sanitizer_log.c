/* Reports of compute-sanitizer: the program under it writes into the same text. */
#include "judge/sanitizer_log.h"

#include "base/alloc.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kw_sanitizer_log *l = kw_alloc(sizeof(*l));
	char *text = kw_alloc(size + 1);

	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	kw_sanitizer_parse(text, l);
	must(l->count <= KW_SANITIZER_HITS && strlen(l->trouble) < sizeof(l->trouble));
	for (size_t i = 0; i < l->count; i++) {
		must(kw_subclass_class(l->hits[i].subclass) != KW_V_OK && l->hits[i].times > 0);
		must(strlen(l->hits[i].kernel) < sizeof(l->hits[i].kernel) && strlen(l->hits[i].at.file) < sizeof(l->hits[i].at.file));
	}
	kw_free(text);
	kw_free(l);
	return 0;
}
