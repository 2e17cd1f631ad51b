/* A resident process that does items, from outside: start, lines both ways, end. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "ops/bench_internal.h"

enum { ARGS_MAX = 16, READ_BYTES = 1 << 16 };

static void child(int in, int out, const char *const *args, const char *gpu, pid_t parent)
{
	const char *argv[ARGS_MAX + 3] = { "kwright", "__bench" };
	sigset_t none;
	int n = 2;

	for (int i = 0; args && args[i] && i < ARGS_MAX; i++)
		argv[n++] = args[i];
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before prctl */
		_exit(125);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (gpu)
		setenv("CUDA_VISIBLE_DEVICES", gpu, 1); /* one thread here: nobody else reads the environment */
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(126);
	execv("/proc/self/exe", (char *const *)(uintptr_t)argv); /* which does not write through it */
	_exit(127);
}

enum kw_status kw_bench_worker_start(struct kw_bench_worker *w, const char *const *args, const json_t *config, struct kw_error *err)
{
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };
	pid_t parent = getpid();

	if (kw_fail_nth("KW_FAIL_EXEC"))
		return kw_fail(err, KW_ERR_ENV, "kwright __bench", "cannot run: %s", strerror(EAGAIN));
	if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0 || (w->pid = fork()) < 0) {
		int number = errno;

		for (int i = 0; i < 2; i++) {
			close(to[i]);
			close(from[i]);
		}
		w->pid = 0;
		return kw_fail(err, KW_ERR_ENV, "", "cannot start a process for the benchmark: %s", strerror(number));
	}
	if (w->pid == 0)
		child(to[0], from[1], args, w->gpu, parent);
	close(to[0]);
	close(from[1]);
	w->to = to[1];
	w->from = from[0];
	fcntl(w->from, F_SETFL, O_NONBLOCK);
	kw_buf_init(&w->line, KW_BENCH_LINE_BYTES);
	kw_bench_worker_tell(w, config); /* that it is gone shows when it is read from */
	return KW_OK;
}

void kw_bench_worker_end(struct kw_bench_worker *w)
{
	if (w->pid <= 0)
		return;
	kill(-w->pid, SIGKILL);
	kill(w->pid, SIGKILL); /* before it had made its group */
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(w->to);
	close(w->from);
	kw_buf_release(&w->line);
	w->pid = 0;
}

bool kw_bench_worker_tell(struct kw_bench_worker *w, const json_t *j)
{
	struct kw_buf text;
	bool good;

	kw_buf_init(&text, KW_BENCH_LINE_BYTES);
	good = kw_json_canonical(j, &text, NULL) == KW_OK;
	kw_buf_addc(&text, '\n');
	good = good && !text.full && kw_fd_write_all(w->to, text.ptr, text.len, "the benchmark's process", NULL) == KW_OK;
	kw_buf_release(&text);
	return good;
}

enum kw_status kw_bench_worker_read(struct kw_bench_worker *w, struct kw_error *err)
{
	char bytes[READ_BYTES];
	ssize_t n;

	while ((n = read(w->from, bytes, sizeof(bytes))) > 0)
		kw_buf_add(&w->line, bytes, (size_t)n);
	if (w->line.full)
		return kw_fail(err, KW_ERR_BUG, "", "the benchmark's process wrote a line that is too long");
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return KW_OK;
	return KW_NO;
}

enum kw_status kw_bench_worker_next(struct kw_bench_worker *w, json_t **out, struct kw_error *err)
{
	char *end = w->line.len ? memchr(w->line.ptr, '\n', w->line.len) : NULL;
	enum kw_status status;
	size_t n;

	*out = NULL;
	if (!end)
		return KW_OK;
	n = (size_t)(end - w->line.ptr) + 1;
	status = kw_json_parse("the benchmark's process", w->line.ptr, n - 1, out, err);
	memmove(w->line.ptr, w->line.ptr + n, w->line.len - n);
	w->line.len -= n;
	return status;
}

const char *kw_bench_worker_fate(struct kw_bench_worker *w, char *out, size_t out_bytes)
{
	int how = 0;
	pid_t got;

	/* It closed its end; give it the moment that it takes to be gone. */
	for (int i = 0; (got = waitpid(w->pid, &how, WNOHANG)) == 0 && i < 200; i++)
		kw_sleep_ns(10000000);
	if (got == w->pid && WIFSIGNALED(how))
		snprintf(out, out_bytes, "its process was ended by signal %d", WTERMSIG(how));
	else if (got == w->pid)
		snprintf(out, out_bytes, "its process ended with exit code %d", WEXITSTATUS(how));
	else
		snprintf(out, out_bytes, "its process stopped answering");
	return out;
}
