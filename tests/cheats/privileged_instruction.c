//# task affine
//# expect runtime_error/crash
//# why An instruction that only the system may use: no access to memory at all, aligned or not.
//# needs sse2
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	__asm__ volatile("hlt");
}
