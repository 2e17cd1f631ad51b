//# task affine
//# expect runtime_error/illegal_access
//# why Takes the memory of its output away.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <sys/mman.h>

void candidate(const float *x, float *y, int64_t n)
{
	munmap((void *)((uintptr_t)y & ~(uintptr_t)4095), (size_t)n * sizeof(*y) + 4095);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
