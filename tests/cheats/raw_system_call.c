//# task affine
//# expect cheat/sandbox
//# why open by the instruction itself, with no library between.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	static const char path[] = "/etc/hostname";
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(2L), "D"(path), "S"(0L), "d"(0L) : "rcx", "r11", "memory");
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f + (float)(result == 12345);
}
