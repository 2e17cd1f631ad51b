//# task affine
//# expect cheat/forged_answer cheat/sandbox
//# why The same by sendmsg, in case the way to the judge is a socket.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

void candidate(const float *x, float *y, int64_t n)
{
	uint64_t words[16] = { 0 };

	(void)x;
	(void)y;
	(void)n;
	for (int fd = 0; fd < 256; fd++)
		send(fd, words, sizeof(words), MSG_NOSIGNAL | MSG_DONTWAIT);
}
