/* A player as a process: who has begun to end is waited for, who only closed its channel is not; a wait that does not sleep. */
#include "device/child.h"

#include "base/clock.h"
#include "device/device.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tap.h"

enum { SLOW_NS = 700000000, CODE = 7 }; /* beyond what is waited for one that is not ending */

static struct kw_error err;

static void *last(void *arg)
{
	kw_sleep_ns(SLOW_NS);
	_exit(CODE);
	return arg;
}

/* Its first thread is gone, as of one whose end takes long: a driver gives memory back in it. */
static _Noreturn void end_slowly(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, last, NULL) == 0)
		syscall(SYS_exit, 0);
	_exit(1);
}

static bool begin(struct kw_child *c, void (*what)(int fd))
{
	int pair[2];
	pid_t pid;

	kw_child_init(c);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 || (pid = fork()) < 0)
		return false;
	if (pid == 0) {
		close(pair[0]);
		what(pair[1]);
		_exit(0);
	}
	close(pair[1]);
	return kw_child_adopt(c, pid, pair[0], 0, &err) == KW_OK;
}

static void close_and_end(int fd)
{
	close(fd);
	end_slowly();
}

static void close_only(int fd)
{
	close(fd);
	for (;;)
		pause();
}

static void answer_late(int fd)
{
	kw_sleep_ns(30000000);
	if (write(fd, "word", 4) == 4)
		pause();
}

static void test_ends(void)
{
	char reply[4];
	int64_t when;
	struct kw_child c;

	if (!ok(begin(&c, close_and_end), "a process that ends slowly"))
		return;
	is_int(kw_child_await(&c, kw_now_ns() + 5000000000, reply, sizeof(reply), &when), KW_GOT_END, "its channel is closed before it has ended");
	ok(kw_child_ends(&c), "it is waited for");
	is_int(c.end.si_code == CLD_EXITED ? c.end.si_status : -1, CODE, "and how it ended is known");
	kw_child_close(&c);

	if (!ok(begin(&c, close_only), "one that closes its channel"))
		return;
	is_int(kw_child_await(&c, kw_now_ns() + 5000000000, reply, sizeof(reply), &when), KW_GOT_END, "which is closed");
	ok(!kw_child_ends(&c), "it does not end");
	kw_child_close(&c);
}

static void test_awake(void)
{
	static const int64_t awake[] = { 0, 5000000, 1000000000 };

	for (int i = 0; i < 3; i++) {
		char reply[4] = "";
		int64_t when, start = kw_now_ns();
		struct kw_child c;

		if (!ok(begin(&c, answer_late), "one that answers late"))
			return;
		c.awake_ns = awake[i];
		is_int(kw_child_await(&c, start + 5000000000, reply, sizeof(reply), &when), KW_GOT_REPLY, "awake for %lld ms: the answer",
		       (long long)(awake[i] / 1000000));
		ok(memcmp(reply, "word", 4) == 0 && when - start > 20000000, "as it was sent");
		is_int(kw_child_await(&c, kw_now_ns() + 50000000, reply, sizeof(reply), &when), KW_GOT_TIMEOUT, "and no other one");
		kw_child_close(&c);
	}
	ok(kw_host_idle_cores() >= 0 && kw_host_idle_cores() < kw_host_cores(), "one core at least is not idle: this one");
}

int main(void)
{
	test_ends();
	test_awake();
	return done();
}
