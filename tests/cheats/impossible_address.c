//# task affine
//# expect runtime_error/illegal_access
//# why A pointer that was overwritten with text: an address that this processor cannot have comes as the
//# why same fault as a vector access that is not aligned, and is something else.
//# needs sse2
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	*(volatile float *)0x4141414141414140 = y[0];
}
