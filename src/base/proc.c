#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/shadow.h"

extern char **environ;

enum { POLL_SLICE_MS = 100, POLL_BLIND_MS = 10, PATH_BYTES = 4096, SPAWN_STACK_BYTES = 64 << 10 };

/* Everything of one child; every descriptor is -1 when it is not open. */
struct child {
	char program[PATH_BYTES];
	pid_t pid;
	int in, out[2], err[2], fault[2]; /* fault carries errno of a failed exec */
	int pidfd;
};

enum fault_step { FAULT_CWD = 1, FAULT_EXEC };
struct fault {
	int step, number;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static bool is_program(const char *path)
{
	return access(path, X_OK) == 0;
}

static bool find_on(const char *path, const char *name, char *out, size_t out_bytes)
{
	struct kw_str rest = kw_str_from(path), dir;

	while (kw_str_split(&rest, ':', &dir)) {
		int n = snprintf(out, out_bytes, "%.*s/%s", dir.len ? (int)dir.len : 1,
				 dir.len ? dir.ptr : ".", name);

		if (n > 0 && (size_t)n < out_bytes && is_program(out))
			return true;
	}
	return false;
}

bool kw_proc_which(const char *name, char *out, size_t out_bytes)
{
	const char *path = getenv("PATH");

	if (name[0] == '\0')
		return false;
	if (strchr(name, '/'))
		return (size_t)snprintf(out, out_bytes, "%s", name) < out_bytes && is_program(out);
	return find_on(path ? path : "/usr/local/bin:/usr/bin:/bin", name, out, out_bytes);
}

static bool pipe_high(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC) < 0) {
		fds[0] = fds[1] = -1;
		return false;
	}
	/* Above 2, so that dup2 in the child never meets its own target. */
	for (int i = 0; i < 2; i++) {
		int high = fds[i] > 2 ? fds[i] : fcntl(fds[i], F_DUPFD_CLOEXEC, 3);

		if (high < 0)
			return false;
		if (high != fds[i]) {
			close(fds[i]);
			fds[i] = high;
		}
	}
	return true;
}

/* stdin is a file in memory: no pipe to feed, so no deadlock and no SIGPIPE. */
static bool open_input(struct child *c, const struct kw_proc_opts *o, struct kw_error *err)
{
	int fd = o->in ? memfd_create("stdin", MFD_CLOEXEC) : open("/dev/null", O_RDONLY | O_CLOEXEC);

	c->in = fd < 0 || fd > 2 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0 && fd != c->in)
		close(fd);
	if (c->in < 0)
		return false;
	return !o->in || (kw_fd_write_all(c->in, o->in, o->in_bytes, "stdin", err) == KW_OK &&
			  lseek(c->in, 0, SEEK_SET) == 0);
}

static void mark_others_cloexec(void)
{
	if (syscall(SYS_close_range, 3U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) == 0)
		return;
	for (int fd = 3; fd < 65536; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags >= 0)
			fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
	}
}

static void default_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGPIPE, SIGHUP, SIGQUIT, SIGCHLD, SIGXFSZ };
	sigset_t none;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		signal(numbers[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void die(const struct child *c, enum fault_step step)
{
	struct fault f = { .step = (int)step, .number = errno };
	ssize_t n = write(c->fault[1], &f, sizeof(f));

	_exit(n == (ssize_t)sizeof(f) ? 127 : 125);
}

/* Between spawn and exec: only async-signal-safe calls. */
struct request {
	const struct child *c;
	const char *const *argv;
	const struct kw_proc_opts *o;
	pid_t parent;
};

static int run_child(void *arg)
{
	const struct request *r = arg;
	const struct child *c = r->c;
	const struct kw_proc_opts *o = r->o;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != r->parent) /* it died before prctl */
		_exit(125);
	default_signals();
	dup2(c->in, 0);
	dup2(c->out[1], 1);
	dup2(c->err[1], 2);
	mark_others_cloexec();
	if (o->cwd && chdir(o->cwd) < 0)
		die(c, FAULT_CWD);
	if (o->before_exec && o->before_exec(o->before_exec_arg) != 0)
		_exit(126);
	/* execve takes char *const *; it does not write through it. */
	execve(c->program, (char *const *)(uintptr_t)r->argv,
	       o->env ? (char *const *)(uintptr_t)o->env : environ);
	die(c, FAULT_EXEC);
}

pid_t kw_proc_spawn(int (*child)(void *arg), void *arg)
{
	sigset_t all, before;
	pid_t pid;
	int number;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* a handler of ours would run in the child, on our memory */
#ifdef KW_SHADOW /* it would keep what the child did to its stack */
	pid = fork();
	if (pid == 0)
		_exit(child(arg));
#else
	_Alignas(16) char stack[SPAWN_STACK_BYTES];

	pid = clone(child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, arg);
#endif
	number = errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = number;
	return pid;
}

/* Asked after the child ended. Not a blocking read: before_exec may have forked a process that
 * lives on and holds the other end. */
static enum kw_status exec_outcome(const struct child *c, const struct kw_proc_opts *o,
				   struct kw_error *err)
{
	struct fault f;

	if (read(c->fault[0], &f, sizeof(f)) != (ssize_t)sizeof(f))
		return KW_OK;
	if (f.step == FAULT_CWD)
		return kw_fail(err, KW_ERR_IO, o->cwd, "cannot enter the folder: %s",
			       strerror(f.number));
	return kw_fail(err, KW_ERR_ENV, c->program, "cannot run: %s", strerror(f.number));
}

static enum kw_status start(struct child *c, const char *const *argv, const struct kw_proc_opts *o,
			    struct kw_error *err)
{
	struct request r = { .c = c, .argv = argv, .o = o, .parent = getpid() };

	if (kw_fail_nth("KW_FAIL_EXEC"))
		return kw_fail(err, KW_ERR_ENV, argv[0], "cannot run: %s", strerror(EAGAIN));
	if (!kw_proc_which(argv[0], c->program, sizeof(c->program)))
		return kw_fail(err, KW_ERR_ENV, argv[0], "no such program%s",
			       strchr(argv[0], '/') ? "" : " on PATH");
	if (!open_input(c, o, err) || !pipe_high(c->out) || !pipe_high(c->err) ||
	    !pipe_high(c->fault))
		return kw_fail(err, KW_ERR_IO, argv[0], "cannot start: %s", strerror(errno));
	fcntl(c->out[0], F_SETFL, O_NONBLOCK);
	fcntl(c->err[0], F_SETFL, O_NONBLOCK);
	fcntl(c->fault[0], F_SETFL, O_NONBLOCK);
	c->pid = kw_proc_spawn(run_child, &r);
	if (c->pid < 0)
		return kw_fail(err, KW_ERR_ENV, argv[0], "cannot start: %s", strerror(errno));
	setpgid(c->pid, c->pid); /* whoever is first; the loser's call fails */
	close_fd(&c->in);
	close_fd(&c->out[1]);
	close_fd(&c->err[1]);
	close_fd(&c->fault[1]);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return KW_OK;
}

/* Reads what is there; closes at the end of file. */
static void drain(int *fd, struct kw_buf *to, bool *truncated)
{
	char chunk[16384];

	/* Bounded: a child that never stops writing must not keep us from its deadline. */
	for (int i = 0; i < 64 && *fd >= 0; i++) {
		ssize_t n = read(*fd, chunk, sizeof(chunk));
		size_t room = to->max_bytes - to->len, take;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close_fd(fd);
			return;
		}
		take = (size_t)n < room ? (size_t)n : room;
		kw_buf_add(to, chunk, take);
		if (take < (size_t)n || to->full)
			*truncated = true;
	}
}

static void drain_both(struct child *c, struct kw_proc_result *r)
{
	drain(&c->out[0], &r->out, &r->out_cut);
	drain(&c->err[0], &r->err, &r->truncated);
	r->truncated = r->truncated || r->out_cut;
}

/* True once the leader has ended; it is not reaped, so its number still names its group. */
static bool has_ended(const struct child *c)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == c->pid;
}

static int slice_ms(const struct child *c, int64_t deadline_ns)
{
	int ms = c->pidfd >= 0 ? POLL_SLICE_MS : POLL_BLIND_MS;
	int64_t left = deadline_ns ? (deadline_ns - kw_now_ns() + 999999) / 1000000 : ms;

	return left < 0 ? 0 : left < ms ? (int)left : ms;
}

/* Collects output until the leader ends, the deadline passes or we are interrupted. */
static void follow(struct child *c, const struct kw_proc_opts *o, int64_t deadline_ns, struct kw_proc_result *r,
		   bool *interrupted)
{
	while (!has_ended(c)) {
		struct pollfd p[3] = {
			{ .fd = c->out[0], .events = POLLIN },
			{ .fd = c->err[0], .events = POLLIN },
			{ .fd = c->pidfd, .events = POLLIN },
		};

		poll(p, 3, slice_ms(c, deadline_ns));
		drain_both(c, r);
		*interrupted = kw_interrupted();
		r->timed_out = deadline_ns && kw_now_ns() >= deadline_ns && !has_ended(c);
		if (r->timed_out || *interrupted || (o->end_when_full && r->out_cut))
			return;
	}
}

static void reap(struct child *c, struct kw_proc_result *r)
{
	int status = 0;

	kill(-c->pid, SIGKILL); /* children left behind; the leader too unless it ended */
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = -1;
	if (WIFEXITED(status))
		r->exit_code = WEXITSTATUS(status);
	else if (WIFSIGNALED(status))
		r->signal = WTERMSIG(status);
	/* Not to the end of file: somebody who left the group may hold the pipe for ever. */
	drain_both(c, r);
}

bool kw_proc_was_killed(const struct kw_proc_result *r)
{
	static const int others[] = { SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2 };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && !r->timed_out; i++) {
		char said[80]; /* gcc's words */

		snprintf(said, sizeof(said), "%s signal terminated program", strsignal(others[i]));
		if (r->signal == others[i] || (r->exit_code > 0 && r->err.ptr && strstr(r->err.ptr, said)))
			return true;
	}
	return false;
}

static enum kw_status run_once(const char *const *argv, const struct kw_proc_opts *opts,
			       struct kw_proc_result *result, struct kw_error *err)
{
	struct child c = {
		.pid = -1, .in = -1, .out = { -1, -1 }, .err = { -1, -1 }, .fault = { -1, -1 },
		.pidfd = -1,
	};
	int64_t begin = kw_now_ns();
	int64_t deadline = opts->timeout_ms > 0 ? begin + (int64_t)opts->timeout_ms * 1000000 : 0;
	bool interrupted = false;
	enum kw_status s;

	*result = (struct kw_proc_result){ .exit_code = -1 };
	kw_buf_init(&result->out, opts->max_out_bytes);
	kw_buf_init(&result->err, opts->max_out_bytes);
	s = start(&c, argv, opts, err);
	if (s == KW_OK) {
		follow(&c, opts, deadline, result, &interrupted);
		reap(&c, result);
		kw_buf_add(&result->out, "", 0); /* never NULL, if memory allows */
		kw_buf_add(&result->err, "", 0);
		result->wall_ns = kw_now_ns() - begin;
		s = exec_outcome(&c, opts, err);
		if (s == KW_OK && interrupted)
			s = kw_fail(err, KW_ERR_INTERRUPTED, argv[0], "interrupted");
	}
	close_fd(&c.in);
	for (int i = 0; i < 2; i++) {
		close_fd(&c.out[i]);
		close_fd(&c.err[i]);
		close_fd(&c.fault[i]);
	}
	close_fd(&c.pidfd);
	return s;
}

enum kw_status kw_proc_run(const char *const *argv, const struct kw_proc_opts *opts,
			   struct kw_proc_result *result, struct kw_error *err)
{
	enum kw_status s = run_once(argv, opts, result, err);

	for (int i = 1; i < opts->tries && s == KW_OK && kw_proc_was_killed(result); i++) {
		kw_proc_result_release(result);
		s = run_once(argv, opts, result, err);
	}
	return s;
}

void kw_proc_result_release(struct kw_proc_result *r)
{
	kw_buf_release(&r->out);
	kw_buf_release(&r->err);
}
