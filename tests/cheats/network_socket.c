//# task affine
//# expect cheat/sandbox
//# why It asks another machine.
//@ kernel candidate args=(x, y, n:i64)
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

void candidate(const float *x, float *y, int64_t n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(80) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(0x7f000001);
	if (fd >= 0) {
		connect(fd, (struct sockaddr *)&to, sizeof(to));
		close(fd);
	}
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0f * x[i] + 1.0f;
}
