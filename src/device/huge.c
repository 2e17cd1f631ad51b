#include "device/huge.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* /sys/kernel/mm/transparent_hugepage/shmem_enabled rules over memfds and is "never" nearly everywhere; a tmpfs has an option
 * of its own. So maps are made 100 times faster, and kernels see the pages that a large malloc would give them. Mounting
 * needs rights: root has them, and anybody has them in a user namespace, which a short-lived child enters for us. */
static int mount_fd = -1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int mount_tmpfs(void)
{
#ifdef SYS_fsopen
	enum { OPEN_CLOEXEC = 1, SET_STRING = 1, CREATE = 6, MOUNT_CLOEXEC = 1 };
	int fs = (int)syscall(SYS_fsopen, "tmpfs", OPEN_CLOEXEC), fd = -1;

	if (fs < 0)
		return -1;
	if (syscall(SYS_fsconfig, fs, SET_STRING, "huge", "within_size", 0) == 0 &&
	    syscall(SYS_fsconfig, fs, SET_STRING, "size", "100%", 0) == 0 &&
	    syscall(SYS_fsconfig, fs, CREATE, NULL, NULL, 0) == 0)
		fd = (int)syscall(SYS_fsmount, fs, MOUNT_CLOEXEC, 0);
	close(fs);
	return fd;
#else
	return -1;
#endif
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		errno = 0; /* the mount then fails and says so */
	close(fd);
}

static int pass(int to, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .bytes = { 0 } };
	char byte = 0;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	return sendmsg(to, &m, MSG_NOSIGNAL) == 1 ? 0 : 1;
}

/* Between fork and exit: only system calls. */
static int child(int to, const char *uid_map, const char *gid_map)
{
	int fd;

	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else /proc/self belongs to root */
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return 1;
	write_text("/proc/self/uid_map", uid_map);
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/gid_map", gid_map);
	fd = mount_tmpfs();
	return fd < 0 ? 1 : pass(to, fd);
}

static int receive(int from)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

static int mount_by_child(void)
{
	char uid_map[48], gid_map[48];
	int pair[2], fd;
	pid_t pid;

	snprintf(uid_map, sizeof(uid_map), "0 %u 1\n", (unsigned)geteuid());
	snprintf(gid_map, sizeof(gid_map), "0 %u 1\n", (unsigned)getegid());
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		_exit(child(pair[1], uid_map, gid_map));
	close(pair[1]);
	fd = pid > 0 ? receive(pair[0]) : -1;
	close(pair[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return fd;
}

static void open_mount(void)
{
	mount_fd = mount_tmpfs();
	if (mount_fd < 0)
		mount_fd = mount_by_child();
}

int kw_huge_file(void)
{
	pthread_once(&once, open_mount);
	return mount_fd < 0 ? -1 : openat(mount_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}
