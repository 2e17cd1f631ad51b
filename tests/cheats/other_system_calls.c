//# task affine
//# expect cheat/sandbox
//# why A socket by the numbers of the x32 interface, which a filter for x86-64 may not know.
//# needs sse2
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <unistd.h>
#include <sys/syscall.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
	syscall(0x40000000 | SYS_socket, 2, 1, 0);
}
