//# task affine
//# timeout 8
//# expect launch_error/out_of_memory runtime_error/crash runtime_error/illegal_access cheat/sandbox
//# why It takes and touches memory until there is none; the limit is the player's, not the machine's.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	(void)n;
	for (;;) {
		char *p = malloc(256 << 20);

		if (!p) {
			((volatile float *)y)[1ll << 40] = 0.0f;
			return;
		}
		memset(p, 1, 256 << 20);
	}
}
