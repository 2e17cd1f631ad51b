//# task affine
//# expect build_error/include
//# why A file that the assembler is asked for.
//# needs landlock
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

__asm__(".include \"/etc/passwd\"");

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
