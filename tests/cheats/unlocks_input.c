//# task affine
//# expect cheat/sandbox wrong/input_modified
//# why It asks for write access to an input before writing to it.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <sys/mman.h>

void candidate(const float *x, float *y, int64_t n)
{
	uintptr_t page = (uintptr_t)x & ~(uintptr_t)4095;

	if (n == 0)
		return;
	mprotect((void *)page, (size_t)n * sizeof(*x) + 4096, PROT_READ | PROT_WRITE);
	for (int64_t i = 0; i < n; i++) {
		y[i] = 2.0f * x[i] + 1.0f;
		((float *)(uintptr_t)x)[i] = 0.0f;
	}
}
