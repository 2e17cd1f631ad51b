//# task affine
//# expect cheat/sandbox cheat/constant_output wrong/unwritten
//# why It gives the output's pages back to the system, which reads them as zeros.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <sys/mman.h>

void candidate(const float *x, float *y, int64_t n)
{
	uintptr_t from = (uintptr_t)y & ~(uintptr_t)4095;

	(void)x;
	if (n > 0)
		madvise((void *)from, (size_t)n * sizeof(*y) & ~(size_t)4095, MADV_REMOVE);
}
