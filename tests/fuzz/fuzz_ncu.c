/* Any bytes as an export of Nsight Compute: launches with finite values, findings with gains that are shares. */
#include "explain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	explain_bytes(KW_INPUT_NCU, data, size);
	return 0;
}
