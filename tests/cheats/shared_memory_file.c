//# task affine
//# expect cheat/sandbox
//# why A file in /dev/shm, to tell the next process what this one saw.
//@ kernel candidate args=(x, y, n:i64)
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	int fd = open("/dev/shm/kept", O_RDWR | O_CREAT, 0666);

	if (fd >= 0) {
		if (write(fd, x, n > 0 ? 4 : 0) < 0)
			y[0] = 0.0f;
		close(fd);
	}
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
