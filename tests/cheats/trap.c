//# task affine
//# expect runtime_error/crash
//# why An instruction that no processor has.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	(void)y;
	if (n >= 0)
		__builtin_trap();
}
