/* python.h - the user's Python: which one it is, and resident processes of it that answer requests.
 *
 *     struct kw_python_found f;
 *     if (kw_python_find(KW_PYTHON_TORCH, &f, err) == KW_OK) puts(f.torch);
 *
 *     struct kw_python_opts o = { .file = "describe", .wants = KW_PYTHON_TORCH, .memory_bytes = 4LL << 30 };
 *     struct kw_python *p = NULL;
 *     struct kw_python_answer a = { 0 };
 *     kw_python_start(&o, &p, err);
 *     kw_python_ask(p, json_pack("{s:s}", "path", "problem.py"), NULL, 0, 30000, &a, err);
 *     if (a.end == KW_PYTHON_ANSWERED) use(a.json); else puts(a.text);
 *     kw_python_answer_release(&a);
 *     kw_python_stop(p);
 *
 * The file is python/NAME.py of the data that is built in (--data overrides). It defines
 *
 *     def answer(request, fds): return { ... }        # JSON, without NaN; the descriptors are its own to close
 *
 * and may import the other files of that folder: `from kwright import describe`. Nothing of them lies on the disk. What the code
 * prints goes to .said of the answer and never into the protocol. A request that raises, loops, exits or takes too much memory is a
 * result (.end), told in one sentence that names the user's line; after all but ANSWERED and RAISED the process is gone. It dies with
 * this program, also when that is killed. It is no sandbox: before_exec may add one. Thread rule: one thread at a time per process. */
#ifndef KW_PYTHON_PYTHON_H
#define KW_PYTHON_PYTHON_H

#include <limits.h>

#include "base/json.h"

enum { KW_PYTHON_TORCH = 1, KW_PYTHON_TRITON = 2 };   /* what is wanted, besides Python itself */

struct kw_python_found {
	char path[PATH_MAX];           /* of the interpreter, as it is started */
	char from[32];                 /* "--python", "$KWRIGHT_PYTHON", "$VIRTUAL_ENV", ".venv", "PATH" */
	char version[32];              /* "3.12.3" */
	char torch[64], triton[64];    /* as their packages say, without importing them; "": not there */
};
/* --python; borrowed; NULL resets. It and $KWRIGHT_PYTHON are taken at their word: no other is looked for when they lack something. */
void kw_python_use(const char *path);
/* The first of --python, $KWRIGHT_PYTHON, $VIRTUAL_ENV, .venv (here, then beside the program's folder) and python3 on PATH that has
 * what is wanted. KW_ERR_ENV: none; says what each lacks and what to install. Remembered for the life of this process. */
enum kw_status kw_python_find(unsigned wants, struct kw_python_found *out, struct kw_error *err);

/* Files and folders that an interpreter needs to read, its packages among them, NULL at the end: for boxes. One interpreter at a
 * time; the list stays. */
enum kw_status kw_python_folders(const char *path, const char *const **out, struct kw_error *err);

/* How long the user's own code may take for one answer: what is usual, or the seconds of $KWRIGHT_PYTHON_TIMEOUT. */
int kw_python_patience_ms(int usual);

struct kw_python;
struct kw_python_opts {
	const char *file;              /* "describe": python/describe.py */
	unsigned wants;
	const char *const *env;        /* "NAME=VALUE" besides this process's environment, NULL at the end; or NULL */
	const char *cwd;               /* NULL: ours */
	int64_t memory_bytes;          /* of its own, without what is shared with it; 0: no limit */
	bool device;                   /* it uses a GPU: address space that is only reserved does not count */
	int timeout_ms;                /* for the start and the import of the file; 0: 60 s */
	/* In the child right before exec; non-zero ends it. Only async-signal-safe calls. */
	int (*before_exec)(void *arg);
	void *before_exec_arg;
};
/* Starts it and loads the file, whose own imports are part of the start. What goes wrong there is an error: KW_ERR_ENV. */
enum kw_status kw_python_start(const struct kw_python_opts *o, struct kw_python **out, struct kw_error *err);
void kw_python_stop(struct kw_python *p);                      /* kills it, with its children; NULL is fine */
/* The same for what is wanted again and again: one of this file that waits, which has imported what it needs, else a new one; and back.
 * Whoever has one has it alone. One that is gone, NULL too, is fine to give back. drop: those that wait end. Any thread. */
enum kw_status kw_python_borrow(const struct kw_python_opts *o, struct kw_python **out, struct kw_error *err);
void kw_python_give_back(struct kw_python *p);
void kw_python_drop_waiting(void);
const struct kw_python_found *kw_python_of(const struct kw_python *p);
/* For who watches it from outside: its process, -1 when it is gone; what it printed last, "" if nothing. */
pid_t kw_python_pid(const struct kw_python *p);
const char *kw_python_said(const struct kw_python *p);

enum kw_python_end {
	KW_PYTHON_ANSWERED,
	KW_PYTHON_RAISED,              /* an exception, SystemExit too; the process lives on */
	KW_PYTHON_TIMEOUT, KW_PYTHON_MEMORY, KW_PYTHON_EXITED, KW_PYTHON_KILLED
};
struct kw_python_answer {
	enum kw_python_end end;
	json_t *json;                  /* ANSWERED: an object */
	char text[1024];               /* else: "ValueError: no such axis (problem.py:12)", "did not answer within 5 s", ... */
	char type[64];                 /* RAISED: "ValueError" */
	char missing[128];             /* RAISED for want of a module: its name */
	char where[256];               /* RAISED: "problem.py:12", the user's innermost line; may be "" */
	int code;                      /* EXITED: exit code; KILLED: signal */
	int64_t wall_ns;
};
enum { KW_PYTHON_FDS_MAX = 64 };
/* Takes the request. Errors are ours only (KW_ERR_INTERRUPTED, KW_ERR_NOMEM, a dead process asked again). *a is the caller's to release
 * in any case. */
enum kw_status kw_python_ask(struct kw_python *p, json_t *request, const int *fds, size_t fd_count, int timeout_ms,
			     struct kw_python_answer *a, struct kw_error *err);
void kw_python_answer_release(struct kw_python_answer *a);

#endif
