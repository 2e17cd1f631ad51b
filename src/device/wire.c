#include "device/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

bool kw_wire_receive(void *in, size_t bytes, int *fds, int max, int *got)
{
	char control[CMSG_SPACE(sizeof(int) * WIRE_MAPS_MAX)];
	struct iovec v = { in, bytes };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (max > 0) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
	}
	do
		n = recvmsg(WIRE_CONTROL, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	*got = 0;
	if (n < (ssize_t)sizeof(uint32_t))
		return false;
	for (c = max > 0 ? CMSG_FIRSTHDR(&m) : NULL; c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
			*got = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
			memcpy(fds, CMSG_DATA(c), (size_t)*got * sizeof(int));
		}
	return true;
}
