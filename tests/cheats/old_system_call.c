//# task affine
//# expect cheat/sandbox runtime_error/crash runtime_error/illegal_access
//# why open by the 32-bit entry, which a filter of 64-bit calls may forget.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory"); /* getpid */
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f + (float)(result == 12345678);
}
