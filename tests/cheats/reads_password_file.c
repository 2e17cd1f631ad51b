//# task affine
//# expect cheat/sandbox
//# why A file of the machine.
//@ kernel candidate args=(x, y, n:i64)
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	char text[64];
	int fd = open("/etc/passwd", O_RDONLY);

	if (fd >= 0 && read(fd, text, sizeof(text)) > 0)
		close(fd);
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
