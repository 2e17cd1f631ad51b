/* A resident Python process: started on the files of python/, asked, watched, and killed. */
#include "python/python.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/file.h"
#include "base/proc.h"
#include "device/importer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	CHANNEL = 3, LEASH = 4, KEPT = 5,        /* descriptors of the child; those from KEPT on are closed */
	SAID_BYTES = 64 << 10, ANSWER_BYTES = 256 << 20, ENV_MAX = 512,
	WATCH_MS = 20, START_MS = 60000, GRACE_MS = 2000
};
#define SLACK_BYTES (2LL << 30)           /* what Python and torch map before they do anything */

struct kw_python {
	struct kw_python_found found;
	pid_t pid;
	int pidfd, channel, leash, output;
	int64_t memory_bytes;
	char file[64];
	struct kw_python *next;           /* that waits too */
	struct kw_buf said, line;
	int status;                       /* of waitpid, once it has ended */
	bool ended;
};

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- starting ---- */

struct start {
	const struct kw_python_opts *o;
	const char *argv[8];
	char *env[ENV_MAX + 1];
	int channel, leash, output, null; /* the child's ends, all above KEPT */
	int fault[2];
	const char *boot;                 /* python/serve.py */
	struct rlimit data;
};

static int high(int fd)
{
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, KEPT + 4);

	if (fd >= 0)
		close(fd);
	return moved;
}

/* Between spawn and exec: only async-signal-safe calls. */
static int run_child(void *arg)
{
	const struct start *s = arg;
	sigset_t none;
	int fd;

	setsid();
	for (int n = 1; n < 65; n++)
		if (n != SIGKILL && n != SIGSTOP)
			signal(n, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(s->null, 0);
	dup2(s->output, 1);
	dup2(s->output, 2);
	dup2(s->channel, CHANNEL);
	dup2(s->leash, LEASH);
	/* Nobody writes to the leash: it moves only when its other end closes, because we stopped or died, however that came. Unlike
	 * PR_SET_PDEATHSIG that does not depend on the thread that started this process. */
	fcntl(LEASH, F_SETOWN, getpid());
	fcntl(LEASH, F_SETSIG, SIGKILL);
	fcntl(LEASH, F_SETFL, O_ASYNC | O_NONBLOCK);
	if (syscall(SYS_close_range, (unsigned)KEPT, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) != 0)
		for (fd = KEPT; fd < 65536; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (s->data.rlim_cur)
		setrlimit(RLIMIT_DATA, &s->data);
	/* Where the system runs out of memory, this one goes first. */
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "1000", 4) != 4)
		close(fd);
	if ((s->o->cwd && chdir(s->o->cwd) < 0) || (s->o->before_exec && s->o->before_exec(s->o->before_exec_arg) != 0))
		_exit(126);
	/* execve takes char *const *; it does not write through it. */
	execve(s->argv[0], (char *const *)(uintptr_t)s->argv, s->env);
	fd = errno;
	_exit(write(s->fault[1], &fd, sizeof(fd)) == (ssize_t)sizeof(fd) ? 127 : 125);
}

extern char **environ;

/* Ours with the user's in front: Python takes the first of a name. Nothing may make it write files or greet. */
static void make_env(struct start *s)
{
	static char plain[] = "PYTHONDONTWRITEBYTECODE=1", text[] = "PYTHONIOENCODING=utf-8:backslashreplace";
	size_t n = 0;

	for (const char *const *e = s->o->env; e && *e && n < ENV_MAX; e++)
		s->env[n++] = (char *)(uintptr_t)*e;
	s->env[n++] = plain;
	s->env[n++] = text;
	for (char **e = environ; *e && n < ENV_MAX; e++) {
		const char *equals = strchr(*e, '=');
		bool ours = strncmp(*e, "PYTHONSTARTUP=", 14) == 0 || strncmp(*e, "PYTHONINSPECT=", 14) == 0;

		for (size_t i = 0; equals && i < n && !ours; i++)
			ours = strncmp(s->env[i], *e, (size_t)(equals - *e) + 1) == 0;
		if (!ours)
			s->env[n++] = *e;
	}
	s->env[n] = NULL;
}

static enum kw_status open_ends(struct kw_python *p, struct start *s, struct kw_error *err)
{
	int pair[2] = { -1, -1 }, leash[2] = { -1, -1 }, out[2] = { -1, -1 };
	bool made = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 && pipe2(leash, O_CLOEXEC) == 0 &&
		    pipe2(out, O_CLOEXEC) == 0 && pipe2(s->fault, O_CLOEXEC) == 0;

	p->channel = pair[0];
	p->leash = leash[1];
	p->output = out[0];
	s->channel = high(pair[1]);
	s->leash = high(leash[0]);
	s->output = high(out[1]);
	s->null = high(open("/dev/null", O_RDONLY | O_CLOEXEC));
	if (!made || s->channel < 0 || s->leash < 0 || s->output < 0 || s->null < 0)
		return kw_fail(err, KW_ERR_IO, "", "cannot start Python: %s", strerror(errno));
	fcntl(p->channel, F_SETFL, O_NONBLOCK);
	fcntl(p->output, F_SETFL, O_NONBLOCK);
	fcntl(p->output, F_SETPIPE_SZ, 1 << 20);
	return KW_OK;
}

/* A copy of who has imported PyTorch, where it would do that too, with the limits of the other way. */
static bool copy_importer(struct kw_python *p, const struct start *s)
{
	struct kw_importer_copy o = { .python = p->found.path, .channel = s->channel, .script = s->boot, .script_len = strlen(s->boot),
				      .output = s->output, .env = (const char *const *)s->env, .cwd = s->o->cwd };
	char path[64];
	int fd;

	if (!(s->o->wants & KW_PYTHON_TORCH) || s->o->before_exec)
		return false;
	p->pid = kw_importer_copy(&o);
	if (p->pid < 0)
		return false;
	if (s->data.rlim_cur)
		prlimit(p->pid, RLIMIT_DATA, &s->data, NULL);
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)p->pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "1000", 4) != 4)
		kw_log(KW_LOG_DEBUG, "Python cannot be the first to go where memory runs out");
	if (fd >= 0)
		close(fd);
	return true;
}

static enum kw_status start_process(struct kw_python *p, struct start *s, struct kw_error *err)
{
	enum kw_status st = open_ends(p, s, err);
	int fault = 0;

	if (st == KW_OK && kw_fail_nth("KW_FAIL_EXEC"))
		st = kw_fail(err, KW_ERR_ENV, p->found.path, "cannot run: %s", strerror(EAGAIN));
	if (st == KW_OK && !copy_importer(p, s)) {
		p->pid = kw_proc_spawn(run_child, s);
		if (p->pid < 0)
			st = kw_fail(err, KW_ERR_ENV, p->found.path, "cannot start: %s", strerror(errno));
	}
	if (st == KW_OK)
		p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
	close_fd(&s->channel);
	close_fd(&s->leash);
	close_fd(&s->output);
	close_fd(&s->null);
	close_fd(&s->fault[1]);
	/* It closes at exec, so this waits no longer than that. */
	if (st == KW_OK && read(s->fault[0], &fault, sizeof(fault)) == (ssize_t)sizeof(fault))
		st = kw_fail(err, KW_ERR_ENV, p->found.path, "cannot run: %s", strerror(fault));
	close_fd(&s->fault[0]);
	return st;
}

/* {"load": NAME, "files": {NAME: TEXT, ...}}: what the process needs, so that it reads no file of ours. */
static enum kw_status first_request(const char *name, struct kw_arena *a, json_t **out, struct kw_error *err)
{
	json_t *files = json_object();
	char **paths, *text;
	size_t n = 0, len;
	enum kw_status s = kw_data_list("python/", ".py", a, &paths, &n, err);

	for (size_t i = 0; i < n && s == KW_OK; i++) {
		const char *base = kw_path_base(paths[i]);
		char module[64];

		s = kw_data_read(paths[i], a, &text, &len, err);
		snprintf(module, sizeof(module), "%.*s", (int)(strlen(base) - 3), base);
		if (s == KW_OK && json_object_set_new(files, module, json_stringn(text, len)) < 0)
			s = kw_fail(err, KW_ERR_INPUT, paths[i], "is no UTF-8 text");
	}
	if (s == KW_OK && !json_object_get(files, name))
		s = kw_fail(err, KW_ERR_BUG, name, "there is no such file in python/");
	if (s == KW_OK && !(*out = json_pack("{s:s, s:O}", "load", name, "files", files)))
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	json_decref(files);
	return s;
}

static enum kw_status load(struct kw_python *p, const struct kw_python_opts *o, json_t *request, struct kw_error *err)
{
	struct kw_python_answer a = { 0 };
	enum kw_status s = kw_python_ask(p, request, NULL, 0, o->timeout_ms > 0 ? o->timeout_ms : START_MS, &a, err);

	if (s == KW_OK && a.end != KW_PYTHON_ANSWERED)
		s = kw_fail(err, KW_ERR_ENV, p->found.path, "%s (while Python %s%s%s starts)%s%.400s", a.text, p->found.version,
			    p->found.torch[0] ? " with torch " : "", p->found.torch, p->said.len ? ": " : "",
			    p->said.len ? p->said.ptr : "");
	kw_python_answer_release(&a);
	return s;
}

enum kw_status kw_python_start(const struct kw_python_opts *o, struct kw_python **out, struct kw_error *err)
{
	struct start s = { .o = o, .channel = -1, .leash = -1, .output = -1, .null = -1, .fault = { -1, -1 } };
	struct kw_python *p = kw_calloc(1, sizeof(*p));
	struct kw_arena a;
	json_t *first = NULL;
	char *boot = NULL;
	enum kw_status st;

	*out = NULL;
	if (!p)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	*p = (struct kw_python){ .pid = -1, .pidfd = -1, .channel = -1, .leash = -1, .output = -1, .memory_bytes = o->memory_bytes };
	snprintf(p->file, sizeof(p->file), "%s", o->file);
	kw_buf_init(&p->said, SAID_BYTES);
	kw_buf_init(&p->line, ANSWER_BYTES);
	kw_arena_init(&a, 64 << 20);
	st = kw_python_find(o->wants, &p->found, err);
	if (st == KW_OK)
		st = kw_data_read("python/serve.py", &a, &boot, NULL, err);
	if (st == KW_OK)
		st = first_request(o->file, &a, &first, err);
	if (st == KW_OK) {
		const char *argv[] = { p->found.path, "-u", "-c", boot, NULL };

		memcpy(s.argv, argv, sizeof(argv));
		s.boot = boot;
		make_env(&s);
		if (o->memory_bytes > 0 && !o->device)
			s.data = (struct rlimit){ (rlim_t)(o->memory_bytes + SLACK_BYTES), RLIM_INFINITY };
		st = start_process(p, &s, err);
	}
	if (st == KW_OK) {
		st = load(p, o, first, err);
		first = NULL;
	}
	json_decref(first);
	kw_arena_release(&a);
	if (st != KW_OK) {
		kw_python_stop(p);
		return st;
	}
	*out = p;
	return KW_OK;
}

/* ---- ending ---- */

/* Reaped only by stop, so that its number names its group until then. */
static bool has_ended(struct kw_python *p)
{
	siginfo_t info = { 0 };

	if (!p->ended && waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == p->pid) {
		p->ended = true;
		p->status = info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
	}
	return p->ended;
}

static void end(struct kw_python *p)
{
	siginfo_t info = { 0 };

	if (p->pid <= 0)
		return;
	has_ended(p);
	kill(-p->pid, SIGKILL);
	kill(p->pid, SIGKILL);
	while (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	has_ended(p);
}

void kw_python_stop(struct kw_python *p)
{
	if (!p)
		return;
	end(p);
	while (p->pid > 0 && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close_fd(&p->channel);
	close_fd(&p->leash);
	close_fd(&p->output);
	close_fd(&p->pidfd);
	kw_buf_release(&p->said);
	kw_buf_release(&p->line);
	kw_free(p);
}

/* ---- lending ---- */

static pthread_mutex_t lending = PTHREAD_MUTEX_INITIALIZER;
static struct kw_python *waiting;
static pid_t lender;                      /* a fork of ours lends nothing of its parent's */

static struct kw_python *take_waiting(const char *file)
{
	struct kw_python **at, *p = NULL;

	pthread_mutex_lock(&lending);
	if (lender == getpid()) {
		for (at = &waiting; *at && strcmp((*at)->file, file) != 0; at = &(*at)->next)
			;
		p = *at;
		if (p)
			*at = p->next;
	}
	pthread_mutex_unlock(&lending);
	return p;
}

/* The limits of the next one who has it. */
static void limit(struct kw_python *p, const struct kw_python_opts *o)
{
	struct rlimit data = { RLIM_INFINITY, RLIM_INFINITY };

	p->memory_bytes = o->memory_bytes;
	if (o->memory_bytes > 0 && !o->device)
		data.rlim_cur = (rlim_t)(o->memory_bytes + SLACK_BYTES);
	prlimit(p->pid, RLIMIT_DATA, &data, NULL);
}

enum kw_status kw_python_borrow(const struct kw_python_opts *o, struct kw_python **out, struct kw_error *err)
{
	struct kw_python_found now;
	struct kw_python *p;

	while ((p = take_waiting(o->file))) {
		/* Another interpreter may be asked for by now. */
		if (!has_ended(p) && kw_python_find(o->wants, &now, err) == KW_OK && strcmp(now.path, p->found.path) == 0) {
			limit(p, o);
			*out = p;
			return KW_OK;
		}
		kw_python_stop(p);
	}
	return kw_python_start(o, out, err);
}

void kw_python_give_back(struct kw_python *p)
{
	if (!p || has_ended(p)) {
		kw_python_stop(p);
		return;
	}
	pthread_mutex_lock(&lending);
	if (lender != getpid())
		waiting = NULL;
	lender = getpid();
	p->next = waiting;
	waiting = p;
	pthread_mutex_unlock(&lending);
}

void kw_python_drop_waiting(void)
{
	struct kw_python *p, *next;

	pthread_mutex_lock(&lending);
	p = lender == getpid() ? waiting : NULL;
	waiting = NULL;
	pthread_mutex_unlock(&lending);
	for (; p; p = next) {
		next = p->next;
		kw_python_stop(p);
	}
}

const struct kw_python_found *kw_python_of(const struct kw_python *p)
{
	return &p->found;
}

pid_t kw_python_pid(const struct kw_python *p)
{
	return p->ended ? -1 : p->pid;
}

const char *kw_python_said(const struct kw_python *p)
{
	return p->said.len ? p->said.ptr : "";
}

/* ---- asking ---- */

/* What it prints; the last half of the room is kept when that is full. */
static void drain(struct kw_python *p)
{
	char chunk[16384];

	/* Bounded: a process that never stops printing must not keep us from its deadline. */
	for (int i = 0; i < 64 && p->output >= 0; i++) {
		ssize_t n = read(p->output, chunk, sizeof(chunk));

		if (n <= 0)
			return;
		if (p->said.len + (size_t)n >= SAID_BYTES) {
			size_t keep = p->said.len / 2;

			memmove(p->said.ptr, p->said.ptr + p->said.len - keep, keep);
			p->said.len = keep;
		}
		for (ssize_t k = 0; k < n; k++) /* a NUL would end the text for who shows it */
			chunk[k] = chunk[k] ? chunk[k] : ' ';
		kw_buf_add(&p->said, chunk, (size_t)n);
	}
}

static int64_t own_memory(pid_t pid)
{
	char name[64], text[4096];
	const char *at;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "RssAnon:");
	return at ? strtoll(at + 8, NULL, 10) * 1024 : 0;
}

/* One step of the talk: true to go on; else *end says why not. */
struct talk {
	struct kw_python *p;
	const char *out;              /* what is still to be sent */
	size_t left;
	const int *fds;
	size_t fd_count;
	int64_t deadline_ns;
	enum kw_python_end end;
	bool interrupted, gone;
};

/* The descriptors go along with the first bytes. */
static void push(struct talk *t)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * KW_PYTHON_FDS_MAX)];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec v = { (void *)(uintptr_t)t->out, t->left };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	ssize_t n;

	if (t->fd_count) {
		struct cmsghdr *c;

		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * t->fd_count);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * t->fd_count);
		memcpy(CMSG_DATA(c), t->fds, sizeof(int) * t->fd_count);
	}
	n = sendmsg(t->p->channel, &m, MSG_NOSIGNAL);
	if (n < 0)
		t->gone = errno != EAGAIN && errno != EINTR;
	else {
		t->out += n;
		t->left -= (size_t)n;
		t->fd_count = 0;
	}
}

/* True once a whole line is there. */
static bool pull(struct talk *t)
{
	char chunk[65536];

	for (;;) {
		ssize_t n = recv(t->p->channel, chunk, sizeof(chunk), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0) {
			t->gone = true;
			return false;
		}
		kw_buf_add(&t->p->line, chunk, (size_t)n);
		if (chunk[n - 1] == '\n')
			return true;
	}
}

static bool over_memory(struct talk *t)
{
	return t->p->memory_bytes > 0 && own_memory(t->p->pid) > t->p->memory_bytes;
}

static bool converse(struct talk *t)
{
	struct kw_python *p = t->p;

	for (;;) {
		struct pollfd f[3] = {
			{ .fd = p->channel, .events = (short)(POLLIN | (t->left ? POLLOUT : 0)) },
			{ .fd = p->output, .events = POLLIN },
			{ .fd = p->pidfd, .events = POLLIN },
		};
		int64_t left_ms = (t->deadline_ns - kw_now_ns() + 999999) / 1000000;

		if (left_ms <= 0) {
			t->end = KW_PYTHON_TIMEOUT;
			return false;
		}
		poll(f, 3, left_ms < WATCH_MS ? (int)left_ms : WATCH_MS);
		if (f[0].revents & POLLOUT)
			push(t);
		if ((f[0].revents & (POLLIN | POLLHUP)) && pull(t)) {
			drain(p);
			return true;
		}
		drain(p);
		t->interrupted = kw_interrupted();
		if (t->interrupted)
			return false;
		if (over_memory(t)) {
			t->end = KW_PYTHON_MEMORY;
			return false;
		}
		if (t->gone || has_ended(p)) {
			if (!has_ended(p) && t->gone) /* the channel goes a moment before the process */
				for (int i = 0; i < GRACE_MS && !has_ended(p); i++)
					kw_sleep_ns(1000000);
			drain(p);
			t->end = has_ended(p) && p->status >= 0 ? KW_PYTHON_EXITED : KW_PYTHON_KILLED;
			return false;
		}
	}
}

static void one_line(char *text)
{
	char *end = strchr(text, '\n');

	if (end)
		*end = '\0';
}

static void raised(struct kw_python_answer *a, const json_t *error)
{
	char text[700];

	a->end = KW_PYTHON_RAISED;
	snprintf(a->type, sizeof(a->type), "%s", kw_json_get_str(error, "type", "Exception"));
	snprintf(a->missing, sizeof(a->missing), "%s", kw_json_get_str(error, "missing", ""));
	snprintf(a->where, sizeof(a->where), "%s", kw_json_get_str(error, "where", ""));
	snprintf(text, sizeof(text), "%s", kw_json_get_str(error, "text", ""));
	one_line(text);
	snprintf(a->text, sizeof(a->text), "%s%s%s%s%s%s", a->type, text[0] ? ": " : "", text, a->where[0] ? " (" : "", a->where,
		 a->where[0] ? ")" : "");
}

static void ended(struct kw_python *p, struct kw_python_answer *a, enum kw_python_end how, int timeout_ms)
{
	char bytes[40];

	a->end = how;
	end(p);
	a->code = p->status < 0 ? -p->status : p->status;
	if (how == KW_PYTHON_TIMEOUT)
		snprintf(a->text, sizeof(a->text), "did not answer within %g s", timeout_ms / 1e3);
	else if (how == KW_PYTHON_MEMORY)
		snprintf(a->text, sizeof(a->text), "took more than the %s of memory that it may have",
			 kw_human_bytes((double)p->memory_bytes, bytes, sizeof(bytes)));
	else if (how == KW_PYTHON_EXITED)
		snprintf(a->text, sizeof(a->text), "ended its process with exit code %d", a->code);
	else
		snprintf(a->text, sizeof(a->text), "was ended by signal %d (%s)", a->code, strsignal(a->code));
}

static enum kw_status read_answer(struct kw_python *p, struct kw_python_answer *a, struct kw_error *err)
{
	struct kw_error why;
	json_t *j = NULL, *error;

	kw_error_reset(&why);
	if (p->line.full)
		return kw_fail(err, KW_ERR_LIMIT, p->file, "the answer of Python is over %d MB", ANSWER_BYTES >> 20);
	if (kw_json_parse("python", p->line.ptr, p->line.len, &j, &why) != KW_OK)
		return kw_fail(err, KW_ERR_IO, p->file, "the answer of Python cannot be read: %s", why.text);
	error = json_object_get(j, "error");
	if (error)
		raised(a, error);
	else
		a->json = json_incref(json_object_get(j, "answer"));
	json_decref(j);
	if (!error && !json_is_object(a->json))
		return kw_fail(err, KW_ERR_BUG, p->file, "the answer of Python is no object");
	return KW_OK;
}

enum kw_status kw_python_ask(struct kw_python *p, json_t *request, const int *fds, size_t fd_count, int timeout_ms,
			     struct kw_python_answer *a, struct kw_error *err)
{
	int64_t begin = kw_now_ns();
	struct talk t = { .p = p, .fds = fds, .fd_count = fd_count, .deadline_ns = begin + (int64_t)timeout_ms * 1000000 };
	struct kw_buf text;
	enum kw_status s;

	memset(a, 0, sizeof(*a));
	kw_buf_init(&text, ANSWER_BYTES);
	kw_buf_reset(&p->line);
	kw_buf_reset(&p->said);
	s = request ? kw_json_canonical(request, &text, err) : kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	kw_buf_addc(&text, '\n');
	if (s == KW_OK && text.full)
		s = kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	if (s == KW_OK && (fd_count > KW_PYTHON_FDS_MAX || p->ended))
		s = kw_fail(err, KW_ERR_BUG, p->file, "%s", p->ended ? "the Python process has ended" : "too many descriptors");
	t.out = text.ptr;
	t.left = text.len;
	if (s == KW_OK) {
		if (converse(&t))
			s = read_answer(p, a, err);
		else if (t.interrupted)
			s = kw_fail(err, KW_ERR_INTERRUPTED, "", "interrupted");
		else
			ended(p, a, t.end, timeout_ms);
	}
	a->wall_ns = kw_now_ns() - begin;
	kw_log(KW_LOG_DEBUG, "Python (%s): %.60s took %.2f s", p->file, text.ptr ? text.ptr : "", (double)a->wall_ns * 1e-9);
	json_decref(request);
	kw_buf_release(&text);
	return s;
}

void kw_python_answer_release(struct kw_python_answer *a)
{
	json_decref(a->json);
	a->json = NULL;
}
