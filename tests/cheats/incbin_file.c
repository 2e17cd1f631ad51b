//# task affine
//# expect build_error/include
//# why The assembler is asked to put a file of the machine into the program.
//# needs landlock
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

__asm__(".section .rodata\nstolen: .incbin \"/etc/passwd\"\n.byte 0\n.previous\n");

extern const char stolen[];

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f + (float)(stolen[0] == 1);
}
