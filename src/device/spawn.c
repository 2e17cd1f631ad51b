#include "device/spawn.h"

#include "base/clock.h"
#include "device/device.h"
#include "device/sandbox.h"
#include "device/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAMESPACES = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWUTS, ENV_MAX = 24, ENV_BYTES = 4096 };

struct plan {
	int control, null, program;
	const struct kw_spawn_python *python; /* instead of this program */
	bool userns;
	char uid_map[48], gid_map[48];
	char env[ENV_MAX][ENV_BYTES];
	char *envp[ENV_MAX + 1];
};

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	/* Not granted: the player then lacks the mount layer and says so. */
	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		close(fd);
}

/* Ids 0 inside, so that execve keeps the capabilities that the empty root needs. */
static void write_id_maps(const struct plan *p)
{
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else /proc/self belongs to the real root */
	write_text("/proc/self/uid_map", p->uid_map);
	write_text("/proc/self/setgroups", "deny");
	write_text("/proc/self/gid_map", p->gid_map);
}

/* The script is read from its descriptor: in the child there is no path to it. */
static _Noreturn void become_python(const struct plan *p)
{
	static char flags[] = "-c", boot[] = "exec(compile(open(4, 'rb').read(), 'module_player.py', 'exec'))";
	char *argv[] = { (char *)(uintptr_t)p->python->path, flags, boot, NULL };

	if (!p->python->box || kw_sandbox_enter_files(p->python->box) == 0)
		execve(p->python->path, argv, p->python->trusted ? environ : (char **)(uintptr_t)p->envp);
	_exit(125);
}

/* Between clone and exec: only system calls. */
static _Noreturn void child(const struct plan *p)
{
	static char name[] = "kwright", word[] = "__player";
	char *argv[] = { name, word, NULL };
	sigset_t none;
	int first = p->python ? WIRE_CODE + 1 : WIRE_CODE;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (p->userns)
		write_id_maps(p);
	for (int s = 1; s < 65; s++)
		if (s != SIGKILL && s != SIGSTOP)
			signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(p->null, 0);
	dup2(p->null, 1);
	dup2(p->null, 2);
	if (p->python && chdir("/") < 0)
		_exit(125);
	/* The three are above WIRE_CODE (see spawn), so nothing is overwritten. */
	dup2(p->control, WIRE_CONTROL);
	if (p->python)
		dup2(p->python->script, WIRE_CODE);
	if (syscall(SYS_close_range, first, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) != 0)
		for (int fd = first; fd < 65536; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (p->python)
		become_python(p);
	syscall(SYS_execveat, p->program, "", argv, p->envp, 0x1000 /* AT_EMPTY_PATH */);
	_exit(125);
}

static long clone_with(int flags, int *pidfd)
{
	return syscall(SYS_clone, (unsigned long)(unsigned)flags | CLONE_PIDFD | SIGCHLD, NULL, pidfd, NULL, NULL);
}

static void env_add(struct plan *p, int *n, const char *name, const char *value)
{
	if (!value || *n >= ENV_MAX)
		return;
	if (snprintf(p->env[*n], ENV_BYTES, "%s=%s", name, value) < ENV_BYTES) {
		p->envp[*n] = p->env[*n];
		(*n)++;
	}
	p->envp[*n] = NULL;
}

static void make_env(struct plan *p, bool isolate, int threads)
{
	char count[16], perturb[48];
	int n = 0;

	snprintf(count, sizeof(count), "%d", threads);
	env_add(p, &n, "OMP_NUM_THREADS", count);
	/* Threads that spin after a parallel region would look like work between calls, and slow the judge down. */
	env_add(p, &n, "OMP_WAIT_POLICY", "passive");
	env_add(p, &n, "OMP_DYNAMIC", "false");
	/* There is nothing to offload to, and libgomp would look for its plugins: `omp target` runs here. */
	env_add(p, &n, "OMP_TARGET_OFFLOAD", "DISABLED");
	/* Fresh memory looks like zeros by chance only: a kernel that reads what it never wrote must show, and differently
	 * in each process. */
	snprintf(perturb, sizeof(perturb), "glibc.malloc.perturb=%u", 1 + (unsigned)(kw_random_u64() % 254));
	if (isolate)
		env_add(p, &n, "GLIBC_TUNABLES", perturb);
	/* LLVM's OpenMP; nothing here may bind threads to cores. */
	env_add(p, &n, "KMP_AFFINITY", "disabled");
	/* Where an OpenCL loader looks for runtimes. */
	env_add(p, &n, "OCL_ICD_VENDORS", getenv("OCL_ICD_VENDORS"));
	env_add(p, &n, "OCL_ICD_FILENAMES", getenv("OCL_ICD_FILENAMES"));
	/* Which GPUs there are, and in which order: the judge's numbers of them are the player's. */
	env_add(p, &n, "CUDA_VISIBLE_DEVICES", getenv("CUDA_VISIBLE_DEVICES"));
	env_add(p, &n, "CUDA_DEVICE_ORDER", getenv("CUDA_DEVICE_ORDER"));
	/* This program's own libraries; the player forgets it before anything else. */
	env_add(p, &n, "LD_LIBRARY_PATH", getenv("LD_LIBRARY_PATH"));
	/* Its own check at exit asks for system calls that a player does not get. */
	env_add(p, &n, "ASAN_OPTIONS", getenv("ASAN_OPTIONS") ? "detect_leaks=0:allocator_may_return_null=1" : NULL);
}

/* No more of the user's environment than an interpreter needs: keys and tokens are in it too. */
static void make_python_env(struct plan *p)
{
	static const char *const passed[] = { "PATH", "HOME", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "CUDA_HOME",
					      "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "LC_ALL" };
	int n = 0;

	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		env_add(p, &n, passed[i], getenv(passed[i]));
	env_add(p, &n, "USER", "kwright"); /* or names of users are looked up */
	env_add(p, &n, "PYTHONDONTWRITEBYTECODE", "1");
	env_add(p, &n, "OPENBLAS_NUM_THREADS", "1"); /* or it starts threads at once, and no copy could be made */
	/* Whether there is a GPU is asked of NVML: a driver that was started cannot be used in copies of the process. */
	env_add(p, &n, "PYTORCH_NVML_BASED_CUDA_CHECK", "1");
	env_add(p, &n, "OMP_WAIT_POLICY", "passive");
	env_add(p, &n, "OMP_DYNAMIC", "false");
	env_add(p, &n, "KMP_AFFINITY", "disabled");
}

static int above_code(int fd)
{
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, WIRE_CODE + 1);

	if (fd >= 0)
		close(fd);
	return high;
}

/* Most layers first; what a container forbids is tried again with less. */
static long try_clone(struct plan *p, bool isolate, int *pidfd, unsigned *layers)
{
	static const struct {
		int flags;
		unsigned layers;
	} attempts[] = {
		{ NAMESPACES, LAYER_PID | LAYER_NET | LAYER_IPC | LAYER_UTS },
		{ NAMESPACES | CLONE_NEWUSER, LAYER_PID | LAYER_NET | LAYER_IPC | LAYER_UTS | LAYER_USERNS },
		{ NAMESPACES & ~CLONE_NEWNET, LAYER_PID | LAYER_IPC | LAYER_UTS },
		{ (NAMESPACES & ~CLONE_NEWNET) | CLONE_NEWUSER, LAYER_PID | LAYER_IPC | LAYER_UTS | LAYER_USERNS },
		{ 0, 0 },
	};
	long pid = -1;

	for (size_t i = isolate ? 0 : 4; i < 5 && pid < 0; i++) {
		p->userns = (attempts[i].flags & CLONE_NEWUSER) != 0;
		pid = clone_with(attempts[i].flags, pidfd);
		if (pid == 0)
			child(p);
		if (pid > 0)
			*layers = attempts[i].layers;
	}
	return pid;
}

/* The kernel ties "die with the parent" to the thread that made the child. So one thread makes them all and lives as
 * long as this process; any thread may ask it. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool running, busy, done;
	struct plan *plan;
	bool isolate;
	struct kw_spawned *out;
	int error;
} spawner = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *spawner_run(void *arg)
{
	sigset_t every;

	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, &every, NULL);
	pthread_mutex_lock(&spawner.lock);
	for (;;) {
		struct kw_spawned *out;

		while (!spawner.plan)
			pthread_cond_wait(&spawner.changed, &spawner.lock);
		out = spawner.out;
		out->pid = (pid_t)try_clone(spawner.plan, spawner.isolate, &out->pidfd, &out->layers);
		spawner.error = errno;
		spawner.plan = NULL;
		spawner.done = true;
		pthread_cond_broadcast(&spawner.changed);
	}
	return arg;
}

static bool start_spawner(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (spawner.running)
		return true;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	spawner.running = pthread_create(&thread, &attr, spawner_run, NULL) == 0;
	pthread_attr_destroy(&attr);
	return spawner.running;
}

static void ask_spawner(struct plan *p, bool isolate, struct kw_spawned *out)
{
	pthread_mutex_lock(&spawner.lock);
	while (spawner.busy)
		pthread_cond_wait(&spawner.changed, &spawner.lock);
	if (!start_spawner()) {
		errno = EAGAIN;
	} else {
		spawner.busy = true;
		spawner.done = false;
		spawner.isolate = isolate;
		spawner.out = out;
		spawner.plan = p;
		pthread_cond_broadcast(&spawner.changed);
		while (!spawner.done)
			pthread_cond_wait(&spawner.changed, &spawner.lock);
		spawner.busy = false;
		errno = spawner.error;
		pthread_cond_broadcast(&spawner.changed);
	}
	pthread_mutex_unlock(&spawner.lock);
}

/* A fork of ours (the tests do that) has no such thread. */
static void forget_spawner(void)
{
	pthread_mutex_init(&spawner.lock, NULL);
	pthread_cond_init(&spawner.changed, NULL);
	spawner.running = spawner.busy = false;
	spawner.plan = NULL;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_spawner);
}

static enum kw_status spawn(struct plan *p, int control, bool isolate, struct kw_spawned *out, struct kw_error *err)
{
	enum kw_status s = KW_OK;

	*out = (struct kw_spawned){ .pid = -1, .pidfd = -1 };
	snprintf(p->uid_map, sizeof(p->uid_map), "0 %u 1\n", (unsigned)geteuid());
	snprintf(p->gid_map, sizeof(p->gid_map), "0 %u 1\n", (unsigned)getegid());
	p->null = above_code(open("/dev/null", O_RDWR | O_CLOEXEC));
	p->program = above_code(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	p->control = above_code(dup(control));
	if (p->null < 0 || p->program < 0 || p->control < 0) {
		s = kw_fail(err, KW_ERR_ENV, p->null < 0 ? "/dev/null" : "/proc/self/exe",
			    "cannot start a player: %s", strerror(errno));
	} else {
		ask_spawner(p, isolate, out);
		if (out->pid < 0)
			s = kw_fail(err, KW_ERR_ENV, "", "cannot start a player: %s", strerror(errno));
	}
	if (p->null >= 0)
		close(p->null);
	if (p->program >= 0)
		close(p->program);
	if (p->control >= 0)
		close(p->control);
	return s;
}

enum kw_status kw_spawn_player(int control, bool isolate, int threads, struct kw_spawned *out, struct kw_error *err)
{
	struct plan p = { .null = -1, .program = -1, .control = -1 };

	make_env(&p, isolate, threads);
	return spawn(&p, control, isolate, out, err);
}

enum kw_status kw_spawn_python(int control, const struct kw_spawn_python *o, struct kw_spawned *out, struct kw_error *err)
{
	struct kw_spawn_python python = *o;
	struct plan p = { .null = -1, .program = -1, .control = -1, .python = &python };
	enum kw_status s;

	python.script = above_code(dup(o->script));
	if (python.script < 0)
		return kw_fail(err, KW_ERR_ENV, "", "cannot start a player: %s", strerror(errno));
	make_python_env(&p);
	s = spawn(&p, control, false, out, err);
	close(python.script);
	return s;
}

/* Before main: every program that can be a judge can be its own player (tests included), and none can by mistake run
 * its own main as a player, which would start players in turn. Here, so that whoever can start one has it linked. */
__attribute__((constructor)) static void become_player(int argc, char **argv)
{
	if (argc >= 2 && strcmp(argv[1], "__player") == 0)
		kw_player_main(argc, argv);
}
