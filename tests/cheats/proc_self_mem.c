//# task affine
//# expect cheat/sandbox
//# why Read-only pages are written through /proc/self/mem.
//@ kernel candidate args=(x, y, n:i64)
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	int fd = open("/proc/self/mem", O_RDWR);
	float zero = 0.0f;

	if (fd >= 0 && n > 0 && pwrite(fd, &zero, sizeof(zero), (off_t)(uintptr_t)x) == sizeof(zero))
		y[0] = 1.0f;
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
