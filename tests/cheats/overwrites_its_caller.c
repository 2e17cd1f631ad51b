//# task affine
//# expect cheat/sandbox
//# why It makes the code that called it writable and replaces it.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

void candidate(const float *x, float *y, int64_t n)
{
	uintptr_t caller = (uintptr_t)__builtin_return_address(0), page = caller & ~(uintptr_t)4095;

	(void)x;
	(void)y;
	(void)n;
	if (mprotect((void *)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0)
		memset((void *)caller, 0xc3, 16);
}
