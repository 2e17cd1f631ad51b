//# task affine
//# expect cheat/sandbox
//# why It cuts every file it has open to nothing, so that whoever reads the buffers dies of SIGBUS.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	(void)x;
	(void)y;
	(void)n;
	for (int fd = 0; fd < 256; fd++)
		if (ftruncate(fd, 0) != 0)
			continue;
}
