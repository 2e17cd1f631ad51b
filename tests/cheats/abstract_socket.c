//# task affine
//# expect cheat/sandbox
//# why A socket without a file, to reach another process of the same machine.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(to.sun_path + 1, "kernelwright", 12);
	if (fd >= 0) {
		connect(fd, (struct sockaddr *)&to, sizeof(to));
		close(fd);
	}
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
