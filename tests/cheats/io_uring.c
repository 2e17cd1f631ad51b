//# task affine
//# expect cheat/sandbox
//# why System calls through a ring, past a filter.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	char params[256];

	memset(params, 0, sizeof(params));
	syscall(SYS_io_uring_setup, 8, params);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
