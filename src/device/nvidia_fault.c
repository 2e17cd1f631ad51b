/* What an error of the driver says of the kernel that was stopped by it. */
#include "device/nvidia.h"

#include <stdio.h>

void kw_nvidia_describe_fault(int number, struct kw_play_result *r, const char *words)
{
	static const struct {
		int number;
		enum kw_subclass sub;
		const char *text;
	} known[] = {
		{ CUDA_ILLEGAL_ADDRESS, KW_S_ILLEGAL_ACCESS, "it touched device memory that is in none of its buffers, or wrote to an "
							     "input, which is read-only" },
		{ CUDA_MISALIGNED, KW_S_MISALIGNED, "a vector access to an address that is not aligned to its size" },
		{ CUDA_ILLEGAL_INSTRUCTION, KW_S_CRASH, "an illegal instruction or a trap" },
		{ CUDA_INVALID_PC, KW_S_CRASH, "a jump to an address that holds no code" },
		{ CUDA_INVALID_ADDRESS_SPACE, KW_S_ILLEGAL_ACCESS, "an access to an address of another memory space" },
		{ CUDA_STACK_ERROR, KW_S_CRASH, "its stack overflowed or was corrupted" },
		{ CUDA_ASSERT, KW_S_CRASH, "an assertion in the kernel failed" },
		{ CUDA_LAUNCH_TIMEOUT, KW_S_TIMEOUT, "the system's watchdog ended it" },
		{ CUDA_LAUNCH_RESOURCES, KW_S_LAUNCH_RESOURCES, "a launch needs more registers or shared memory than there are" },
		{ CUDA_OUT_OF_MEMORY, KW_S_OUT_OF_MEMORY, "the device has no memory left for it" },
	};

	r->end = KW_PLAY_FAULT;
	r->fault = KW_S_CRASH;
	snprintf(r->detail, sizeof(r->detail), "the device stopped it: %.120s", words);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].number == number) {
			r->fault = known[i].sub;
			snprintf(r->detail, sizeof(r->detail), "%s (%.60s)", known[i].text, words);
		}
}
