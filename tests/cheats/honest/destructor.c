//# task affine
//# expect ok
//# why A destructor that would print something; the player is ended without running it, and no harm is
//# why done.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <stdio.h>

__attribute__((destructor)) static void bye(void)
{
	puts("{\"verdict\": \"ok\"}");
}

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
