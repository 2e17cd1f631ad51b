//# task affine
//# expect cheat/sandbox
//# why It opens a file while it is loaded, before the first call.
//@ kernel candidate args=(x, y, n:i64)
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

static int fd = -1;

__attribute__((constructor)) static void early(void)
{
	fd = open("/etc/hostname", O_RDONLY);
}

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f + (float)(fd == 12345);
}
