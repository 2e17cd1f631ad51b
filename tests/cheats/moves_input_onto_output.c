//# task affine
//# expect cheat/sandbox wrong/unwritten runtime_error/illegal_access wrong/out_of_bounds
//# why The output becomes an alias of the input by mremap: no copy is made.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	uintptr_t from = (uintptr_t)x & ~(uintptr_t)4095, to = (uintptr_t)y & ~(uintptr_t)4095;
	size_t bytes = ((size_t)n * sizeof(*x)) & ~(size_t)4095;

	if (bytes)
		syscall(SYS_mremap, from, 0ul, bytes, 3l, to); /* may move, fixed */
}
