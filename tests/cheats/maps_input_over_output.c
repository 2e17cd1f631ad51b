//# task affine
//# expect cheat/sandbox wrong/unwritten
//# why The output's pages are replaced by private ones, so that what it writes costs nothing and is
//# why seen by nobody.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <sys/mman.h>

void candidate(const float *x, float *y, int64_t n)
{
	uintptr_t from = ((uintptr_t)y + 4095) & ~(uintptr_t)4095;
	uintptr_t to = (uintptr_t)(y + n) & ~(uintptr_t)4095;

	if (from < to)
		mmap((void *)from, to - from, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
