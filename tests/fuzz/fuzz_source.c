/* Any bytes as source: the first chooses the language. */
#include "explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum kw_input_kind kinds[] = { KW_INPUT_CUDA, KW_INPUT_OPENCL, KW_INPUT_C, KW_INPUT_PYTHON };

	if (size)
		explain_bytes(kinds[data[0] % 4], data + 1, size - 1);
	return 0;
}
