#include "device/child.h"

#include "base/clock.h"
#include "device/device.h"
#include "device/threads.h"
#include "device/wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRACE_NS = 200000000 };
#define ENDING_NS 20000000000 /* that an exit may take: a driver gives a context's memory back in it */
#define ENDING 4u             /* PF_EXITING of the kernel */

void kw_child_init(struct kw_child *c)
{
	*c = (struct kw_child){ .control = -1, .process = { .pid = -1, .pidfd = -1 } };
}

enum kw_status kw_child_start(struct kw_child *c, bool isolate, int threads, struct kw_error *err)
{
	enum kw_status st;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return kw_fail(err, KW_ERR_ENV, "", "cannot make a socket: %s", strerror(errno));
	c->control = pair[0];
	st = kw_spawn_player(pair[1], isolate, threads, &c->process, err);
	close(pair[1]);
	if (st == KW_OK)
		c->has_clock = clock_getcpuclockid(c->process.pid, &c->cpu_clock) == 0;
	return st;
}

enum kw_status kw_child_adopt(struct kw_child *c, pid_t pid, int control, unsigned layers, struct kw_error *err)
{
	c->control = control;
	c->process = (struct kw_spawned){ .pid = pid, .layers = layers };
	c->process.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (c->process.pidfd < 0)
		return kw_fail(err, KW_ERR_ENV, "", "cannot watch a player: %s", strerror(errno));
	c->has_clock = clock_getcpuclockid(pid, &c->cpu_clock) == 0;
	return KW_OK;
}

void kw_child_close(struct kw_child *c)
{
	if (c->process.pid > 0) {
		kw_child_kill(c);
		while (waitpid(c->process.pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (c->process.pidfd >= 0)
		close(c->process.pidfd);
	if (c->control >= 0)
		close(c->control);
	kw_child_init(c);
}

static void signal_child(struct kw_child *c, int number)
{
	if (syscall(SYS_pidfd_send_signal, c->process.pidfd, number, NULL, 0) < 0)
		kill(c->process.pid, number);
}

int64_t kw_child_cpu_ns(const struct kw_child *c)
{
	struct timespec t;

	if (!c->has_clock || clock_gettime(c->cpu_clock, &t) < 0)
		return -1;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t kw_child_cpu_since(const struct kw_child *c, int64_t before)
{
	int64_t now = kw_child_cpu_ns(c);

	return before < 0 || now < before ? 0 : now - before;
}

void kw_patience_begin(struct kw_patience *p, const struct kw_child *c, int64_t limit_ns)
{
	*p = (struct kw_patience){ .limit_ns = limit_ns, .cpu_ns = kw_child_cpu_ns(c), .waited_ns = kw_threads_waited_ns(c->process.pid) };
}

int64_t kw_patience_ask(struct kw_patience *p, const struct kw_child *c)
{
	int64_t waited = kw_threads_waited_ns(c->process.pid) - p->waited_ns, most = (KW_PATIENCE - 1) * p->limit_ns, more;

	if (kw_child_cpu_since(c, p->cpu_ns) >= p->limit_ns * kw_host_cores() * 9 / 10)
		return 0;
	more = (waited < most ? waited : most) - p->given_ns;
	if (more < p->limit_ns / 20)
		return 0;
	p->given_ns += more;
	return more;
}

bool kw_child_has_ended(struct kw_child *c)
{
	siginfo_t info = { 0 };
	struct rusage used = { 0 };

	if (c->dead)
		return true;
	/* The system call itself also tells what was used. */
	if (syscall(SYS_waitid, P_PID, c->process.pid, &info, WEXITED | WNOHANG | WNOWAIT, &used) == 0 && info.si_pid != 0) {
		c->dead = true;
		c->end = info;
		c->peak_bytes = (int64_t)used.ru_maxrss * 1024;
	}
	return c->dead;
}

/* The kernel takes its files and memory away, and it does not come back. */
static bool is_ending(pid_t pid)
{
	char path[40], text[512], *end;
	unsigned flags = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!(f = fopen(path, "re")))
		return false;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	end = strrchr(text, ')'); /* its name may hold anything */
	return end && sscanf(end, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && (flags & ENDING);
}

bool kw_child_ends(struct kw_child *c)
{
	int64_t begin = kw_now_ns(), now = begin;

	while (!kw_child_has_ended(c) && (now < begin + GRACE_NS || (now < begin + ENDING_NS && is_ending(c->process.pid)))) {
		kw_sleep_ns(1000000);
		now = kw_now_ns();
	}
	return c->dead;
}

int kw_child_ended_by(struct kw_child *c)
{
	/* What a fault or abort() raises, refused system calls, file and time limits. */
	static const int own[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS, SIGXFSZ, SIGXCPU };

	if (!kw_child_has_ended(c) || (c->end.si_code != CLD_KILLED && c->end.si_code != CLD_DUMPED))
		return 0;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (c->end.si_status == own[i])
			return 0;
	return c->end.si_status < 32 ? c->end.si_status : 0; /* those of the thread library may be sent */
}

int kw_child_killed_early(struct kw_child *c)
{
	return c->process.pid > 0 && kw_child_ends(c) ? kw_child_ended_by(c) : 0;
}

enum kw_status kw_child_killed_each_time(int number, struct kw_error *err)
{
	if (err)
		kw_error_reset(err);
	return kw_fail(err, KW_ERR_ENV, "", "a player was ended from outside by signal %d (%s) while it started, %d times; look for who "
		       "does that, or for a system that runs out of memory", number, strsignal(number), KW_START_TRIES);
}

bool kw_child_is_held(const struct kw_child *c)
{
	siginfo_t info = { 0 };

	return !c->dead && !c->stopped && waitid(P_PID, (id_t)c->process.pid, &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid != 0 && info.si_code == CLD_STOPPED;
}

void kw_child_stop(struct kw_child *c)
{
	if (c->dead || c->stopped)
		return;
	signal_child(c, SIGSTOP);
	for (;;) {
		siginfo_t info = { 0 };

		if (waitid(P_PID, (id_t)c->process.pid, &info, WSTOPPED | WEXITED | WNOWAIT) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (info.si_code == CLD_STOPPED) {
			waitid(P_PID, (id_t)c->process.pid, &info, WSTOPPED | WNOHANG);
			break;
		}
		kw_child_has_ended(c);
		return;
	}
	c->stopped = true;
}

void kw_child_go(struct kw_child *c)
{
	c->stopped = false;
	signal_child(c, SIGCONT);
}

void kw_child_kill(struct kw_child *c)
{
	siginfo_t info = { 0 };

	if (c->process.pid <= 0)
		return;
	kw_child_has_ended(c); /* of whatever it died before */
	signal_child(c, SIGKILL);
	while (waitid(P_PID, (id_t)c->process.pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	c->dead = true;
	if (!c->end.si_pid)
		c->end = info;
}

/* Who ends already does so of what came first. */
bool kw_child_was_ending(struct kw_child *c)
{
	kw_child_kill(c);
	return c->dead && (c->end.si_code == CLD_EXITED || c->end.si_status != SIGKILL);
}

void kw_child_doom(struct kw_child *c)
{
	if (c->process.pid > 0)
		signal_child(c, SIGKILL);
}

/* ---- those that are ending ---- */

enum { LEAVING = 4 };
static struct leaving {
	struct kw_child child;
	pthread_t thread;
	bool there;
} leaving[LEAVING];
static pthread_mutex_t leaving_lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t leaving_owner;

static void *close_it(void *arg)
{
	kw_child_close(arg);
	return NULL;
}

static void own_leaving(void)
{
	for (int i = 0; i < LEAVING && leaving_owner != getpid(); i++)
		leaving[i].there = false; /* of the process that this is a fork of */
	leaving_owner = getpid();
}

void kw_child_leave(struct kw_child *c)
{
	struct leaving *l = NULL;

	kw_child_doom(c);
	pthread_mutex_lock(&leaving_lock);
	own_leaving();
	for (int i = 0; i < LEAVING && !l; i++)
		if (!leaving[i].there)
			l = &leaving[i];
	if (l) {
		l->child = *c;
		l->there = pthread_create(&l->thread, NULL, close_it, &l->child) == 0;
	}
	if (l && l->there)
		kw_child_init(c);
	pthread_mutex_unlock(&leaving_lock);
	kw_child_close(c);
}

void kw_children_gone(void)
{
	pthread_mutex_lock(&leaving_lock);
	own_leaving();
	for (int i = 0; i < LEAVING; i++)
		if (leaving[i].there) {
			pthread_join(leaving[i].thread, NULL);
			leaving[i].there = false;
		}
	pthread_mutex_unlock(&leaving_lock);
}

enum kw_status kw_child_send(struct kw_child *child, const void *bytes, size_t len, const int *fds, int count,
			     struct kw_error *err)
{
	char control[CMSG_SPACE(sizeof(int) * WIRE_MAPS_MAX)] = { 0 };
	struct iovec v = { (void *)(uintptr_t)bytes, len };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (count > 0) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)count);
	}
	while (sendmsg(child->control, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR) {
			if (errno == EPIPE || errno == ECONNRESET)
				return KW_OK; /* it has ended: the caller finds out by its end */
			return kw_fail(err, KW_ERR_IO, "", "cannot speak to the player: %s", strerror(errno));
		}
	return KW_OK;
}

enum kw_got kw_child_take(struct kw_child *c, void *reply, size_t len)
{
	char bytes[1024];
	ssize_t n = recv(c->control, bytes, sizeof(bytes), MSG_DONTWAIT);

	/* It ended with a command unread, which is told once; what it had said before is still there. */
	if (n < 0 && errno == ECONNRESET)
		n = recv(c->control, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (n < 0)
		return errno == ECONNRESET ? KW_GOT_END : KW_GOT_TIMEOUT;
	if (n == 0)
		return KW_GOT_END;
	if (n != (ssize_t)len)
		return KW_GOT_FORGED;
	memcpy(reply, bytes, len);
	return KW_GOT_REPLY;
}

enum kw_got kw_child_await(struct kw_child *c, int64_t deadline_ns, void *reply, size_t len, int64_t *when)
{
	int64_t awake = c->awake_ns ? kw_now_ns() + c->awake_ns : 0;

	for (;;) {
		struct pollfd f[2] = { { .fd = c->control, .events = POLLIN }, { .fd = c->process.pidfd, .events = POLLIN } };
		int64_t now = kw_now_ns(), left = deadline_ns - now, sleep = now < awake ? 0 : left;
		struct timespec t = { sleep / 1000000000, sleep % 1000000000 };
		enum kw_got g;
		int n;

		if (left <= 0)
			return KW_GOT_TIMEOUT;
		n = ppoll(f, c->process.pidfd >= 0 ? 2 : 1, &t, NULL);
		*when = kw_now_ns();
		if (kw_interrupted())
			return KW_GOT_INTERRUPTED;
		if (n <= 0)
			continue;
		g = f[0].revents ? kw_child_take(c, reply, len) : KW_GOT_TIMEOUT;
		if (g != KW_GOT_TIMEOUT)
			return g;
		if (f[1].revents && kw_child_has_ended(c))
			return KW_GOT_END;
	}
}
