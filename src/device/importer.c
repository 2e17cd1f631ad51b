#include "device/importer.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "device/child.h"
#include "device/sandbox.h"
#include "device/wire.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define SCRIPT "python/importer.py"
/* As in that file. */
enum { FLAG_OUTPUT = 1, FLAG_BOXED = 2, FLAG_RULES = 4, FLAG_ENVIRONMENT = 8 };
enum { IMPORT_TIMEOUT_MS = 120000, COPY_TIMEOUT_MS = 20000, SCRIPT_BYTES = 1 << 20 };

static struct importer {
	pthread_mutex_t lock;
	bool there, useless;           /* useless: of this interpreter no copies can be made */
	pid_t owner;                   /* a fork of ours has none */
	char python[PATH_MAX];
	struct kw_child child;
} importer = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* What libraries, Python or PyTorch read while they are loaded. */
static bool read_at_import(const char *name)
{
	static const char *const begin[] = { "LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES", "MALLOC_", "OMP_", "GOMP_", "KMP_", "MKL_", "DNNL_",
					     "ONEDNN_", "OPENBLAS_", "ATEN_", "TORCH_", "PYTORCH_", "PYTHON" };
	/* Read when they are needed, the same in the importer, or set to one value anyway. */
	static const char *const not_these[] = { "TORCH_HOME=", "TORCH_EXTENSIONS_DIR=", "TORCH_CUDA_ARCH_LIST=", "PYTHONPATH=", "PYTHONHOME=",
						 "PYTHONSTARTUP=", "PYTHONINSPECT=", "PYTHONDONTWRITEBYTECODE=", "PYTHONIOENCODING=",
						 "PYTHONUNBUFFERED=", "PYTHON_VERSION=", "PYTHON_PIP_VERSION=", "PYTHON_SHA256=",
						 "OMP_NUM_THREADS=", "MKL_NUM_THREADS=", "OPENBLAS_NUM_THREADS=" };

	for (size_t i = 0; i < sizeof(not_these) / sizeof(not_these[0]); i++)
		if (strncmp(name, not_these[i], strlen(not_these[i])) == 0)
			return false;
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (strncmp(name, begin[i], strlen(begin[i])) == 0)
			return true;
	return false;
}

static bool answered(struct kw_child *c, int timeout_ms, struct wire_reply *r, uint32_t wanted)
{
	int64_t when;

	if (kw_child_await(c, kw_now_ns() + (int64_t)timeout_ms * 1000000, r, sizeof(*r), &when) != KW_GOT_REPLY)
		return false;
	r->text[sizeof(r->text) - 1] = '\0';
	if (r->kind != wanted)
		kw_log(KW_LOG_DEBUG, "PyTorch is imported by each process for itself: %s", r->text);
	return r->kind == wanted;
}

static int memory_file(const char *name, const void *bytes, size_t len)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd >= 0 && ((len && write(fd, bytes, len) != (ssize_t)len) || lseek(fd, 0, SEEK_SET) != 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool start(const char *python)
{
	struct kw_spawn_python o = { .path = python, .script = -1 };
	struct wire_reply r = { .kind = 0 };
	struct kw_arena a;
	int pair[2];
	char *text;
	size_t len;
	bool done = false;

	kw_child_init(&importer.child);
	kw_arena_init(&a, SCRIPT_BYTES);
	if (kw_data_read(SCRIPT, &a, &text, &len, NULL) == KW_OK)
		o.script = memory_file("script", text, len);
	if (o.script >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		importer.child.control = pair[0];
		done = kw_spawn_python(pair[1], &o, &importer.child.process, NULL) == KW_OK;
		close(pair[1]);
	}
	if (o.script >= 0)
		close(o.script);
	kw_arena_release(&a);
	done = done && answered(&importer.child, IMPORT_TIMEOUT_MS, &r, WIRE_READY);
	if (!done)
		kw_child_close(&importer.child);
	importer.useless = !done && r.kind == WIRE_MACHINE;
	importer.there = done;
	importer.owner = getpid();
	snprintf(importer.python, sizeof(importer.python), "%s", python);
	return done;
}

static bool need(const char *python)
{
	bool same = importer.owner == getpid() && strcmp(importer.python, python) == 0;

	if (importer.owner != getpid())
		importer.there = false;
	if (importer.there && (!same || kw_child_has_ended(&importer.child))) {
		kw_child_close(&importer.child);
		importer.there = false;
	}
	return importer.there || (!(same && importer.useless) && start(python));
}

/* "FOLDER\0NAME=VALUE\0NAME=VALUE" */
static int environment(const struct kw_importer_copy *o)
{
	char folder[PATH_MAX];
	int fd = memfd_create("environment", MFD_CLOEXEC);
	bool good = fd >= 0 && (o->cwd || getcwd(folder, sizeof(folder)));
	const char *cwd = o->cwd ? o->cwd : folder;

	good = good && write(fd, cwd, strlen(cwd)) == (ssize_t)strlen(cwd);
	for (size_t i = 0; good && o->env[i]; i++)
		good = write(fd, "", 1) == 1 && write(fd, o->env[i], strlen(o->env[i])) == (ssize_t)strlen(o->env[i]);
	if (good && lseek(fd, 0, SEEK_SET) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static pid_t ask(const int *fds, int count, uint32_t flags)
{
	uint32_t op[2] = { WIRE_FORK, flags };
	struct wire_reply r;

	if (kw_child_send(&importer.child, op, sizeof(op), fds, count, NULL) == KW_OK &&
	    answered(&importer.child, COPY_TIMEOUT_MS, &r, WIRE_FORKED) && r.number > 0)
		return r.number;
	kw_child_close(&importer.child);
	importer.there = false;
	return -1;
}

pid_t kw_importer_copy(const struct kw_importer_copy *o)
{
	int fds[5] = { o->channel }, count = 1, script, env = -1;
	uint32_t flags = (o->output > 0 ? FLAG_OUTPUT : 0u) | (o->box ? FLAG_BOXED : 0u);
	pid_t pid = -1;

	for (size_t i = 0; o->env && o->env[i]; i++)
		if (read_at_import(o->env[i]))
			return -1;
	script = memory_file("script", o->script, o->script_len);
	fds[count++] = script;
	if (o->output > 0)
		fds[count++] = o->output;
	if (o->box && kw_sandbox_rules(o->box) >= 0) {
		flags |= FLAG_RULES;
		fds[count++] = kw_sandbox_rules(o->box);
	}
	if (o->env) {
		flags |= FLAG_ENVIRONMENT;
		env = environment(o);
		fds[count++] = env;
	}
	if (script >= 0 && (env >= 0 || !o->env)) {
		pthread_mutex_lock(&importer.lock);
		if (need(o->python))
			pid = ask(fds, count, flags);
		pthread_mutex_unlock(&importer.lock);
	}
	if (script >= 0)
		close(script);
	if (env >= 0)
		close(env);
	return pid;
}
