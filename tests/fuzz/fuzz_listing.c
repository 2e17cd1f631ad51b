/* Any bytes as a listing, a log, counters or a table: the first chooses; and what the content alone says. */
#include "explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum kw_input_kind kinds[] = { KW_INPUT_PTX,   KW_INPUT_SASS,  KW_INPUT_LOG,
						    KW_INPUT_TABLE, KW_INPUT_CUBIN, KW_INPUT_PERF_STAT, KW_INPUT_ROCPROF,
						    KW_INPUT_TRACE, KW_INPUT_TORCH_TABLE, KW_INPUT_NSYS };
	char text[4097];

	if (!size || size > sizeof(text))
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	must(kw_input_name(kw_input_recognise("f.txt", text, size - 1))[0]);
	explain_bytes(kinds[data[0] % 10], data + 1, size - 1);
	return 0;
}
