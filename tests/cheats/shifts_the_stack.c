//# task affine
//# expect wrong/unwritten cheat/forged_answer runtime_error/crash runtime_error/illegal_access
//# why It writes over the stack frames of its caller: whatever the player keeps there is the
//# why candidate's. No verdict may depend on it.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	volatile uint64_t *frame = __builtin_frame_address(0);

	(void)x;
	(void)y;
	(void)n;
	for (int i = 4; i < 64; i++)
		frame[i] = 0;
}
