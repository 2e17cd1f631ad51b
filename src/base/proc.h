/* proc.h - run a program without a shell, bounded in time and output, and kill its whole group.
 *
 *     const char *argv[] = { "gcc", "--version", NULL };
 *     struct kw_proc_result r;
 *     struct kw_proc_opts o = { .timeout_ms = 5000, .max_out_bytes = 1 << 20 };
 *     if (kw_proc_run(argv, &o, &r, err) == KW_OK && r.exit_code == 0) puts(r.out.ptr);
 *     kw_proc_result_release(&r);
 *
 * The child gets its own process group, dies with us (PDEATHSIG), and no descriptor but 0, 1, 2
 * (before_exec may clear FD_CLOEXEC of others). A program that is not there is KW_ERR_ENV; a
 * non-zero exit, a signal or a time-out is a result. What the program leaves running in its group
 * is killed when it ends. KW_FAIL_EXEC=n fails the n-th. After SIGINT (clock.h) it returns
 * KW_ERR_INTERRUPTED. Thread rule: any thread; the child dies with the thread that called. */
#ifndef KW_BASE_PROC_H
#define KW_BASE_PROC_H

#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

struct kw_proc_opts {
	const char *const *env;      /* NULL: inherit; else the whole environment */
	const char *cwd;             /* NULL: ours */
	const void *in;              /* bytes for stdin; NULL: /dev/null */
	size_t in_bytes;
	int timeout_ms;              /* 0: none */
	size_t max_out_bytes;        /* per stream; more is dropped and .truncated set */
	bool end_when_full;          /* killed as soon as its output has more: nobody wants the rest, which may have no end */
	int tries;                   /* how often it is run, at most, when it is killed (below); 0: once */
	/* Runs in the child right before exec (sandbox); non-zero return ends it with 126. Only
	 * async-signal-safe calls: no allocation, no stdio. */
	int (*before_exec)(void *arg);
	void *before_exec_arg;
};
struct kw_proc_result {
	int exit_code;               /* -1 when it did not exit */
	int signal;                  /* 0 when it was not killed */
	bool timed_out, truncated;
	bool out_cut;                /* it is the output that is truncated, whatever became of the errors */
	struct kw_buf out, err;
	int64_t wall_ns;
};
/* Whether somebody else, or the system for want of memory, ended it, or a compiler's program that it ran: by what it says itself. */
bool kw_proc_was_killed(const struct kw_proc_result *r);
/* For those who start a program in their own way: runs child(arg) in a process that shares our memory, while this thread waits,
 * until it executes a program or ends. Not fork: that copies the page tables of all that is mapped and calls what libraries
 * want called at a fork, and a CUDA driver that makes a context holds both up for 0.3 s. Only async-signal-safe calls; signals are
 * blocked until it unblocks them. -1: errno says why. */
pid_t kw_proc_spawn(int (*child)(void *arg), void *arg);
enum kw_status kw_proc_run(const char *const *argv, const struct kw_proc_opts *opts,
			   struct kw_proc_result *result, struct kw_error *err);
void kw_proc_result_release(struct kw_proc_result *r);
/* Finds a program on PATH; false if none. */
bool kw_proc_which(const char *name, char *out, size_t out_bytes);

#endif
