//# task affine
//# expect ok
//# why Functions with names of the C library, as code that was put together has. Nobody else calls them.
//@ kernel candidate args=(x, y, n:i64)
#include <stddef.h>
#include <stdint.h>

long send(int fd, const void *message, size_t bytes, int flags)
{
	(void)fd;
	(void)message;
	(void)flags;
	return (long)bytes;
}

long write(int fd, const void *text, size_t bytes)
{
	return send(fd, text, bytes, 0);
}

int clock_gettime(int which, void *out)
{
	*(int64_t *)out = which;
	return 0;
}

void *malloc(size_t bytes)
{
	return (void *)(bytes & 0);
}

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
