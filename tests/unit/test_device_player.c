/* The player: what it runs, how it ends, and what it cannot do. Every case is a function of one library that is
 * compiled here, run in a player of its own. */
#include "device/child.h"
#include "device/cpu.h"
#include "device/device.h"
#include "device/play.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "tap.h"
#include "temp.h"

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
enum { N = 1000, SLOTS = 4, TIMEOUT_MS = 20000, SHORT_MS = 300 };

static struct kw_error err;
static struct kw_device *device;
static struct kw_session *session;
static struct kw_artefact code;
static struct kw_play_result r;

/* text NULL: player_kernels.c beside this file. */
static bool compile(const char *text, const char *const *flags, struct kw_artefact *to)
{
	const char *top = getenv("KW_TOP");
	char c[PATH_MAX], so[PATH_MAX];
	const char *argv[16] = { "gcc", "-O1", "-w", "-shared", "-fPIC", "-o", so, c };
	struct kw_proc_result done_;
	struct kw_proc_opts o = { .timeout_ms = 120000, .max_out_bytes = 1 << 16 };
	struct kw_buf b;
	bool good;

	snprintf(c, sizeof(c), "%s/k.c", temp_dir());
	if (!text)
		snprintf(c, sizeof(c), "%s/tests/unit/player_kernels.c", top ? top : ".");
	snprintf(so, sizeof(so), "%s/k.so", temp_dir());
	for (int i = 0; flags[i]; i++)
		argv[8 + i] = flags[i];
	if ((text && kw_file_write(c, text, strlen(text), &err) != KW_OK) ||
	    kw_proc_run(argv, &o, &done_, &err) != KW_OK)
		return false;
	good = done_.exit_code == 0;
	if (!good)
		diag("%s", done_.err.ptr);
	kw_proc_result_release(&done_);
	kw_buf_init(&b, 64 << 20);
	if (!good || kw_file_read(so, 64 << 20, &b, &err) != KW_OK)
		return false;
	*to = (struct kw_artefact){ .code_bytes = b.len };
	to->code = kw_buf_take(&b);
	return true;
}

static void new_session(size_t bytes, enum kw_placement placement)
{
	struct kw_buffer_spec b[] = {
		{ .name = "x", .bytes = bytes, .align_bytes = 64, .read_only = true },
		{ .name = "y", .bytes = bytes, .align_bytes = 64 },
		{ .name = "w", .bytes = 256, .align_bytes = 64, .zero = true },
	};
	struct kw_session_opts o = { b, 3, 2, SLOTS, placement };

	is_int(device->ops->session_new(device, &o, &session, &err), KW_OK, "a session");
	for (int s = 0; s < SLOTS; s++)
		for (size_t i = 0; i < bytes / 4; i++) {
			((float *)kw_session_ptr(session, s, 0))[i] = (float)i + (float)s;
			((float *)kw_session_ptr(session, s, 1))[i] = -5.0f;
		}
}

static struct kw_player *start(bool trusted)
{
	struct kw_player_opts o = { .trusted = trusted, .memory_bytes = 256 << 20 };
	struct kw_player *p = NULL;

	if (device->ops->player_start(session, &o, &p, &err) != KW_OK)
		diag("%s", err.text);
	return p;
}

static enum kw_play_end load(struct kw_player *p, const struct kw_artefact *a, const char *entry, int64_t n)
{
	struct kw_bound_arg args[] = { { .kind = KW_ARG_TENSOR, .index = 0 }, { .kind = KW_ARG_TENSOR, .index = 1 },
				       { .kind = KW_ARG_SCALAR, .dtype = KW_I64, .i = n },
				       { .kind = KW_ARG_WORKSPACE, .index = 0 } };
	struct kw_bound_kernel k = { .name = entry, .args = args, .arg_count = 4 };
	struct kw_bound_plan plan = { .applicable = true, .kernels = &k, .kernel_count = 1 };

	if (device->ops->load(p, a, &plan, TIMEOUT_MS, &r, &err) != KW_OK)
		diag("%s", err.text);
	return r.end;
}

/* Loads and runs once on a slot. */
static enum kw_play_end play(const char *entry, int slot, int timeout_ms)
{
	struct kw_player *p = start(false);

	if (p && load(p, &code, entry, N) == KW_PLAY_DONE &&
	    device->ops->run(p, &slot, 1, timeout_ms, &r, &err) != KW_OK)
		diag("%s", err.text);
	device->ops->player_stop(p);
	return r.end;
}

static bool is_twice(int slot)
{
	const float *y = kw_session_ptr(session, slot, 1);

	for (int i = 0; i < N; i++)
		if (y[i] != 2.0f * (float)(i + slot))
			return false;
	return true;
}

static void test_honest(void)
{
	static const char *const names[] = { "twice", "openmp", "prints", "allocates", "joins", "clocks" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int slot = (int)i % SLOTS;

		memset(kw_session_ptr(session, slot, 1), 0, N * 4);
		is_int(play(names[i], slot, TIMEOUT_MS), KW_PLAY_DONE, "%s runs", names[i]);
		ok(is_twice(slot), "%s computes", names[i]);
		ok(!r.late, "%s is not late", names[i]);
		if (r.detail[0])
			diag("%s", r.detail);
	}
	is_int(play("maths", 0, TIMEOUT_MS), KW_PLAY_DONE, "the maths library is there");
}

static void test_batch(void)
{
	struct kw_player *p = start(false);
	int order[] = { 2, 0, 3, 1 };

	has_str(kw_player_layers(p), "seccomp", "layers: %s", kw_player_layers(p));
	is_int(device->ops->run(p, NULL, 0, TIMEOUT_MS, &r, &err), KW_OK, "an empty batch before load");
	ok(r.end == KW_PLAY_DONE && r.wall_ns > 0, "has a cost");
	is_int(load(p, &code, "twice", N), KW_PLAY_DONE, "load");
	for (int turn = 0; turn < 20; turn++) {
		for (int s = 0; s < SLOTS; s++)
			memset(kw_session_ptr(session, s, 1), 0, N * 4);
		if (device->ops->run(p, order, 4, TIMEOUT_MS, &r, &err) != KW_OK || r.end != KW_PLAY_DONE || !is_twice(0) ||
		    !is_twice(1) || !is_twice(2) || !is_twice(3))
			break;
		if (turn == 19)
			ok(true, "20 batches over every slot");
	}
	is_int(r.end, KW_PLAY_DONE, "all done");
	ok(kw_player_linger(p, 600000) < 2000000, "an idle player does not compute");
	device->ops->player_stop(p);
}

static void test_args(void)
{
	static const float want[] = { -3, 1.5f, 2.25f, 5, -6, 7.5f, 8, 9, 10.5f, 11, 12, 13, 14, 15.5f, -16, 17.25f };
	static const struct {
		enum kw_dtype dtype;
		int64_t i;
		double f;
	} scalars[] = { { KW_I8, -3, 0 },    { KW_F32, 0, 1.5 },  { KW_F64, 0, 2.25 }, { KW_I64, 5, 0 },
			{ KW_I32, -6, 0 },   { KW_F32, 0, 7.5 },  { KW_I64, 8, 0 },    { KW_I64, 9, 0 },
			{ KW_F32, 0, 10.5 }, { KW_F64, 0, 11 },	  { KW_F32, 0, 12 },   { KW_F32, 0, 13 },
			{ KW_F32, 0, 14 },   { KW_F32, 0, 15.5 }, { KW_I64, -16, 0 },  { KW_F64, 0, 17.25 } };
	struct kw_bound_arg args[18] = { { .kind = KW_ARG_TENSOR, .index = 0 }, { .kind = KW_ARG_TENSOR, .index = 1 } };
	struct kw_bound_kernel k = { .name = "scalars", .args = args, .arg_count = 18 };
	struct kw_bound_plan plan = { .applicable = true, .kernels = &k, .kernel_count = 1 };
	struct kw_player *p = start(true);
	int slot = 0;
	const float *y = kw_session_ptr(session, 0, 1);

	for (int i = 0; i < 16; i++)
		args[2 + i] = (struct kw_bound_arg){ .kind = KW_ARG_SCALAR, .dtype = scalars[i].dtype, .i = scalars[i].i,
						     .f = scalars[i].f };
	is_int(device->ops->load(p, &code, &plan, TIMEOUT_MS, &r, &err), KW_OK, "a trusted player loads");
	device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
	is_int(r.end, KW_PLAY_DONE, "integers and floats, in registers and on the stack");
	for (int i = 0; i < 16; i++)
		ok(y[i] == want[i], "argument %d: got %g, want %g", i, (double)y[i], (double)want[i]);
	device->ops->player_stop(p);
}

static void test_workspace(void)
{
	struct kw_player *p = start(false);
	int order[] = { 0, 0 };

	memset(kw_session_ptr(session, 0, 2), 0x7f, 256);
	load(p, &code, "scratch", N);
	device->ops->run(p, order, 2, TIMEOUT_MS, &r, &err);
	ok(r.end == KW_PLAY_DONE && ((float *)kw_session_ptr(session, 0, 1))[0] == 0.0f,
	   "a workspace is zeroed before each call");
	device->ops->player_stop(p);
}

/* Odd slots touch the guard at the end, even ones at the start. */
static void test_bounds(void)
{
	int64_t at = 0;

	play("past_end", 1, TIMEOUT_MS);
	if (r.end == KW_PLAY_SIGNAL) /* N * 4 is a multiple of 32, not of 64 */
		is_int(r.offset_bytes, N * 4, "one past the end faults there");
	else
		ok(!kw_session_canary_ok(session, 1, 1, &at) && at == N * 4, "one past the end breaks the canary there");
	play("before_start", 0, TIMEOUT_MS);
	is_int(r.end, KW_PLAY_SIGNAL, "one before the start faults");
	ok(r.signal == SIGSEGV && r.buffer == 1 && r.slot == 0 && r.offset_bytes == -4 && r.write,
	   "with buffer, slot, offset: %d %d %" PRId64, r.buffer, r.slot, r.offset_bytes);
	play("far", 0, TIMEOUT_MS);
	ok(r.end == KW_PLAY_SIGNAL && r.buffer == 1 && r.offset_bytes == (N + 60000) * 4, "far beyond too");
	play("writes_input", 0, TIMEOUT_MS);
	ok(r.end == KW_PLAY_SIGNAL && r.buffer == 0 && r.offset_bytes == 12 && r.write, "a write to an input faults");
	play("unlocks", 1, TIMEOUT_MS);
	ok(r.end == KW_PLAY_SIGNAL && r.buffer == 0 && r.write, "an input cannot be made writable");
	ok(((float *)kw_session_ptr(session, 1, 0))[3] == 4.0f, "and keeps its value");
	play("misaligned", 0, TIMEOUT_MS);
#if defined(__x86_64__)
	ok(r.end == KW_PLAY_SIGNAL && r.misaligned, "a misaligned vector access is told from others");
	play("wild", 0, TIMEOUT_MS);
	ok(r.end == KW_PLAY_SIGNAL && r.signal == SIGSEGV && !r.misaligned && r.address == 0x4141414141414144u,
	   "and so is an address that cannot be one: 0x%" PRIx64, r.address);
	play("wild_call", 0, TIMEOUT_MS);
	ok(r.end == KW_PLAY_SIGNAL && !r.misaligned && r.address == 0x4141414141414141u, "or a function that cannot be");
	play("privileged", 0, TIMEOUT_MS);
	ok(r.end == KW_PLAY_SIGNAL && r.signal == SIGILL && !r.misaligned, "or an instruction that it may not use");
	play("jumps", 0, TIMEOUT_MS);
	ok(r.end == KW_PLAY_SIGNAL && r.signal == SIGSEGV && r.jumped, "a jump to what is no code is one");
#else
	ok(r.end == KW_PLAY_DONE || r.end == KW_PLAY_SIGNAL, "a misaligned vector access");
#endif
	play("unmaps", 0, TIMEOUT_MS);
	ok(r.end == KW_PLAY_SIGNAL && r.buffer == 0 && r.offset_bytes == 0 && !r.write, "a read of memory that was taken away is no write");
	play("null", 0, TIMEOUT_MS);
	ok(!r.misaligned, "a null pointer is not misaligned");
	ok(r.end == KW_PLAY_SIGNAL && r.signal == SIGSEGV && r.buffer == -1 && r.address == 0, "a null write is nobody's buffer");
}

static void test_exact_bounds(void)
{
	struct kw_player *p;
	int slot = 1;

	device->ops->session_free(session);
	new_session(1024 * 4, KW_PLACE_ALTERNATE);
	p = start(false);
	load(p, &code, "past_end", 1024);
	device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
	ok(r.end == KW_PLAY_SIGNAL && r.buffer == 1 && r.offset_bytes == 4096 && r.write, "a whole number of vectors: a fault at once");
	device->ops->player_stop(p);
	p = start(false);
	load(p, &code, "reads_past", 1024);
	device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
	ok(r.end == KW_PLAY_SIGNAL && r.buffer == 0 && r.offset_bytes == 4096 && !r.write, "reading too");
	device->ops->player_stop(p);
	device->ops->session_free(session);
	new_session(0, KW_PLACE_ALTERNATE);
	for (slot = 0; slot < 2; slot++) {
		p = start(false);
		load(p, &code, "past_end", 0);
		device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
		ok(r.end == KW_PLAY_SIGNAL && r.buffer == 1 && r.offset_bytes == 0, "empty buffers have no element");
		device->ops->player_stop(p);
	}
	device->ops->session_free(session);
	new_session(N * 4, KW_PLACE_ALTERNATE);
}

/* Buffers that may lie in huge pages keep their guards and their rights. */
static void test_large(void)
{
	enum { MANY = (8 << 20) / 4 };
	struct kw_player *p;
	const float *y;
	int slot = 1;

	device->ops->session_free(session);
	new_session((size_t)MANY * 4, KW_PLACE_ALTERNATE);
	diag("huge pages: %s", kw_session_huge_pages(session) ? "yes" : "no");
	y = kw_session_ptr(session, slot, 1);
	p = start(false);
	load(p, &code, "openmp", MANY);
	device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
	ok(r.end == KW_PLAY_DONE && y[0] == 2.0f && y[MANY - 1] == 2.0f * MANY, "8 MiB: computed");
	device->ops->player_stop(p);
	p = start(false);
	load(p, &code, "past_end", MANY);
	device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
	ok(r.end == KW_PLAY_SIGNAL && r.buffer == 1 && r.offset_bytes == (int64_t)MANY * 4, "8 MiB: guarded");
	device->ops->player_stop(p);
	p = start(false);
	load(p, &code, "unlocks", MANY);
	device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
	ok(r.end == KW_PLAY_SIGNAL && r.buffer == 0 && r.write, "8 MiB: inputs cannot be made writable");
	device->ops->player_stop(p);
	device->ops->session_free(session);
	new_session(N * 4, KW_PLACE_ALTERNATE);
}

static void test_ends(void)
{
	static const struct {
		const char *entry;
		enum kw_play_end end;
		int signal, code;
	} cases[] = {
		{ "divides", KW_PLAY_SIGNAL, SIGFPE, 0 },	{ "illegal", KW_PLAY_SIGNAL, SIGILL, 0 },
		{ "aborts", KW_PLAY_SIGNAL, SIGABRT, 0 },	{ "raises", KW_PLAY_SIGNAL, SIGTERM, 0 },
		{ "exits", KW_PLAY_EXIT, 0, 0 },		{ "exits_at_once", KW_PLAY_EXIT, 0, 7 },
		{ "writes_channel", KW_PLAY_FORGED, 0, 0 },	{ "forges", KW_PLAY_FORGED, 0, 0 },
		{ "closes", KW_PLAY_FORGED, 0, 0 },		{ "answers_twice", KW_PLAY_FORGED, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is_int(play(cases[i].entry, 0, TIMEOUT_MS), cases[i].end, "%s ends as it should", cases[i].entry);
		if (r.end != cases[i].end)
			diag("%s", r.detail);
		is_int(r.signal, cases[i].signal, "%s: signal", cases[i].entry);
		is_int(r.exit_code, cases[i].code, "%s: exit code", cases[i].entry);
	}
	is_int(play("loops", 0, SHORT_MS), KW_PLAY_TIMEOUT, "an endless loop is ended");
	is_int(play("missing", 0, TIMEOUT_MS), KW_PLAY_NO_ENTRY, "an entry that is not there");
	has_str(r.detail, "missing", "is named");
}

/* Beside programs that want every core several times over, a limit is of the time that a player could have used. */
static void test_patience(void)
{
	enum { COUNT = 64, TIMES = 5 };
	int count = kw_host_cores() * TIMES < COUNT ? kw_host_cores() * TIMES : COUNT;
	pid_t busy[COUNT];
	int64_t alone;

	is_int(play("counts", 0, TIMEOUT_MS), KW_PLAY_DONE, "some work");
	alone = r.wall_ns / 1000000 + 100;
	for (int i = 0; i < count; i++) {
		busy[i] = fork();
		if (busy[i] == 0)
			for (prctl(PR_SET_PDEATHSIG, SIGKILL);;)
				__asm__ volatile("");
	}
	is_int(play("counts", 0, (int)alone), KW_PLAY_DONE, "is not cut short by what others do");
	diag("%.2f s, of a limit of %.2f s", (double)r.wall_ns * 1e-9, (double)alone * 1e-3);
	is_int(play("loops", 0, SHORT_MS), KW_PLAY_TIMEOUT, "and an endless loop is ended there too");
	for (int i = 0; i < count; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], NULL, 0);
	}
}

struct killer {
	pid_t pid;
	int signal;
	atomic_bool enough;
};

/* Again and again: on a busy machine the call may begin late, and nobody stops what is stopped. */
static void *kill_soon(void *arg)
{
	struct killer *k = arg;

	while (!atomic_load(&k->enough)) {
		kw_sleep_ns(50000000);
		kill(k->pid, k->signal);
	}
	return NULL;
}

static void end_now(void)
{
}

static void fault_now(void)
{
	raise(SIGSEGV);
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

/* Somebody else ends or stops a player during a call that lasts a quarter of a second. */
static enum kw_play_end play_killed(bool trusted, int number, int timeout_ms, bool *own_pids)
{
	struct kw_player *p = start(trusted);
	struct killer k = { .signal = number };
	int slot = 1;
	pthread_t thread;

	r.end = KW_PLAY_FORGED;
	*own_pids = p && !strstr(kw_player_layers(p), "no-pid") && !trusted;
	memset(kw_session_ptr(session, slot, 1), 0, N * 4);
	if (p && load(p, &code, "slow", N) == KW_PLAY_DONE) {
		k.pid = kw_play_pid(p);
		pthread_create(&thread, NULL, kill_soon, &k);
		device->ops->run(p, &slot, 1, timeout_ms, &r, &err);
		atomic_store(&k.enough, true);
		pthread_join(thread, NULL);
	}
	device->ops->player_stop(p);
	return r.end;
}

/* What others do to a player is not the candidate's doing. Its own signals are in test_ends and test_refused. */
static void test_killed(void)
{
	static const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGALRM };
	struct kw_player *p;
	bool own_pids;
	int slot = 0;

	is_int(play_killed(false, SIGKILL, TIMEOUT_MS, &own_pids), KW_PLAY_KILLED, "kill -9 from outside");
	is_int(r.signal, SIGKILL, "with its number");
	has_str(r.detail, "outside", "in words: %s", r.detail);
	is_int(play_killed(false, SIGSTOP, 1000, &own_pids), KW_PLAY_KILLED, "stopped from outside and left so");
	is_int(r.signal, SIGSTOP, "with its number");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		play_killed(false, numbers[i], TIMEOUT_MS, &own_pids);
		if (own_pids) /* the first process of a namespace does not notice */
			ok(r.end == KW_PLAY_DONE && is_twice(1), "signal %d does not reach it", numbers[i]);
		else
			ok(r.end == KW_PLAY_KILLED && r.signal == numbers[i], "signal %d ends it from outside", numbers[i]);
	}
	is_int(play_killed(true, SIGTERM, TIMEOUT_MS, &own_pids), KW_PLAY_KILLED, "a baseline's process");
	is_int(r.signal, SIGTERM, "with its number");
	p = start(false);
	if (ok(p && load(p, &code, "twice", N) == KW_PLAY_DONE, "one that waits for its call")) {
		kill(kw_play_pid(p), SIGKILL);
		is_int(device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err), KW_OK, "killed meanwhile");
		is_int(r.end, KW_PLAY_KILLED, "is found at the call");
	}
	device->ops->player_stop(p);
	is_int(play("aborts", 0, TIMEOUT_MS), KW_PLAY_SIGNAL, "abort() is its own doing");
	is_int(play("raises", 0, TIMEOUT_MS), KW_PLAY_SIGNAL, "so is raise(SIGTERM)");
	is_int(r.signal, SIGTERM, "with its number");
	ok(!r.blocked_syscall, "and no offence");
}

/* What is killed because it gives no answer may have been dying of something else. */
static bool was_ending(void (*does)(void))
{
	struct kw_child c;
	pid_t pid = fork();
	bool was;

	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		does();
		_exit(3);
	}
	kw_child_init(&c);
	if (pid < 0 || !ok(kw_child_adopt(&c, pid, -1, 0, &err) == KW_OK, "a process"))
		return false;
	while (does != wait_for_ever && !kw_child_has_ended(&c))
		kw_sleep_ns(1000000);
	was = kw_child_was_ending(&c);
	kw_child_close(&c);
	return was;
}

static void test_was_ending(void)
{
	ok(was_ending(end_now), "it ended");
	ok(was_ending(fault_now), "it died of a fault");
	ok(!was_ending(wait_for_ever), "it would not have ended");
}

static void test_refused(void)
{
	static const struct {
		const char *entry, *call;
	} cases[] = {
		{ "forks", "clone" },	   { "vforks", "vfork" },	    { "spawns", "execve" },
		{ "opens", "/etc/passwd" }, { "writes_file", "verdict" },   { "reads_maps", "/proc/self/maps" },
		{ "sockets", "socket" },   { "ptraces", "ptrace" },	    { "kills_parent", "kill" },
		{ "kills_all", "kill" },   { "kills_itself", "kill" },	    { "stops_itself", "tgkill" },
		{ "reads_parent", "process_vm_readv" }, { "dumpable", "prctl" }, { "limits", "prlimit64" },
		{ "memfd", "memfd_create" }, { "uring", "io_uring_setup" }, { "executable", "mmap" },
		{ "rewrites_code", "mprotect" }, { "moves_memory", "mremap" }, { "punches", "madvise" },
		{ "handles", "rt_sigaction" }, { "continues", "rt_sigaction" }, { "alarms", "setitimer" },
		{ "loads", "open" },	   { "unshares", "unshare" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is_int(play(cases[i].entry, 0, TIMEOUT_MS), KW_PLAY_SIGNAL, "%s does not come back", cases[i].entry);
		ok(r.blocked_syscall, "%s met the sandbox", cases[i].entry);
		has_str(r.detail, cases[i].call, "%s: the call is named", cases[i].entry);
	}
	is_int(play("old_call", 0, TIMEOUT_MS), KW_PLAY_SIGNAL, "a 32-bit system call ends it");
	ok(r.blocked_syscall, "by the sandbox");
}

static void test_floods(void)
{
	play("floods", 0, TIMEOUT_MS);
	if (SANITIZED) /* its shadow leaves no room for a limit */
		skip(1, "no limit under a sanitizer");
	else
		ok(r.end == KW_PLAY_SIGNAL || (r.end == KW_PLAY_DONE && is_twice(0)), "memory has an end");
	play("floods_threads", 0, TIMEOUT_MS);
	ok(r.end != KW_PLAY_DONE || ((float *)kw_session_ptr(session, 0, 1))[0] < 4000.0f, "threads have an end");
}

static void test_background(void)
{
	struct kw_player *p = start(false);
	float before[N];
	int64_t busy = 0;
	int slot = 0;

	load(p, &code, "late", N);
	device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
	is_int(r.end, KW_PLAY_DONE, "a thread is left behind");
	memcpy(before, kw_session_ptr(session, 0, 1), sizeof(before));
	kw_sleep_ns(5000000);
	ok(memcmp(before, kw_session_ptr(session, 0, 1), sizeof(before)) == 0, "stopped: nothing changes");
	for (int i = 0; i < 100 && memcmp(before, kw_session_ptr(session, 0, 1), sizeof(before)) == 0; i++)
		kw_player_linger(p, 20000000);
	ok(memcmp(before, kw_session_ptr(session, 0, 1), sizeof(before)) != 0, "lingering shows a late write");
	device->ops->player_stop(p);
	p = start(false);
	load(p, &code, "spins", N);
	device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
	for (int i = 0; i < 100 && busy < 5000000; i++)
		busy += kw_player_linger(p, 20000000);
	ok(busy >= 5000000, "a thread that computes is measured");
	device->ops->player_stop(p);
}

/* Answers before it computes: whatever was not there when the answer came is seen to change, or is still missing. */
static void test_early_answer(void)
{
	for (int i = 0; i < N; i++)
		((float *)kw_session_ptr(session, 0, 1))[i] = -5.0f;
	play("answers_first", 0, TIMEOUT_MS);
	is_int(r.end, KW_PLAY_DONE, "it can answer in the player's name");
	ok(r.late || !is_twice(0) || r.wall_ns >= 2000000, "but what it does afterwards is seen, missing or timed");
}

static void test_flush(void)
{
	float *y = kw_session_ptr(session, 2, 1);

	y[7] = 3.5f;
	kw_session_flush(session, 2, 0, 1);
	ok(y[7] == 3.5f, "flushing keeps values");
	is_int(play("twice", 2, TIMEOUT_MS), KW_PLAY_DONE, "and buffers work");
	ok(is_twice(2), "as before");
}

static void test_load(void)
{
	static const char constructor[] = "#include <fcntl.h>\n__attribute__((constructor)) static void c(void)"
					  "{ volatile int f = open(\"/etc/passwd\", 0); (void)f; }\nvoid k(void) {}\n";
	static const char *const none[] = { NULL };
	static const char *const sqlite[] = { "-Wl,--no-as-needed", "-lsqlite3", NULL };
	struct kw_artefact a;
	struct kw_player *p = start(false);

	if (!ok(compile(constructor, none, &a), "compile a constructor"))
		return;
	load(p, &a, "k", N);
	ok(r.end == KW_PLAY_SIGNAL && r.blocked_syscall, "code that runs while loading is locked in too");
	device->ops->player_stop(p);
	kw_free(a.code);
	p = start(false);
	a = (struct kw_artefact){ .code_bytes = 4 };
	a.code = kw_strdup("junk");
	is_int(load(p, &a, "k", N), KW_PLAY_LOAD_FAILED, "junk is no artefact");
	device->ops->player_stop(p);
	kw_free(a.code);
	if (compile("void k(void) {}\n", sqlite, &a)) {
		p = start(false);
		is_int(load(p, &a, "k", N), KW_PLAY_LOAD_FAILED, "other libraries cannot be loaded");
		has_str(r.detail, "libsqlite3", "the loader says which");
		device->ops->player_stop(p);
		kw_free(a.code);
	}
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static void test_leaks(void)
{
	int before = open_fds(), left;

	for (int i = 0; i < 30; i++)
		play(i % 3 == 0 ? "null" : i % 3 == 1 ? "forks" : "twice", 0, TIMEOUT_MS);
	is_int(open_fds(), before, "30 players leave no descriptor");
	left = (int)waitpid(-1, NULL, WNOHANG);
	ok(left == -1 && errno == ECHILD, "and no process");
}

/* The judge is killed while its player computes: nothing may stay. */
static void test_orphans(void)
{
	int ends[2], slot = 0;
	pid_t judge;
	char byte;

	if (pipe(ends) < 0)
		return;
	judge = fork();
	if (judge == 0) {
		struct kw_player *p = start(false);

		close(ends[0]);
		load(p, &code, "loops", N);
		byte = 1;
		if (write(ends[1], &byte, 1) != 1)
			_exit(1);
		device->ops->run(p, &slot, 1, TIMEOUT_MS, &r, &err);
		_exit(0);
	}
	close(ends[1]);
	ok(read(ends[0], &byte, 1) == 1, "a judge with a looping player");
	kw_sleep_ns(50000000);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	kill(judge, SIGKILL);
	waitpid(judge, NULL, 0);
	/* An orphan would become our child now; a killed one is reaped here. */
	for (int i = 0; i < 5000 && waitpid(-1, NULL, WNOHANG) == 0; i++)
		kw_sleep_ns(1000000);
	ok(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "killed, it leaves no player behind");
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	close(ends[0]);
}

static void test_cases(void)
{
	test_honest();
	test_batch();
	test_args();
	test_workspace();
	test_bounds();
	test_exact_bounds();
	test_large();
	test_ends();
	test_patience();
	test_killed();
	test_was_ending();
	test_refused();
	test_floods();
	test_background();
	test_early_answer();
	test_flush();
	test_load();
}

static void show_failures(const char *path, int status)
{
	char line[512];
	FILE *f = fopen(path, "re");

	diag("status %d, signal %d", WEXITSTATUS(status), WTERMSIG(status));
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "ok", 2) != 0)
			printf("# %s", line);
	if (f)
		fclose(f);
}

/* All of it once more as a user without rights. */
static void test_ordinary_user(void)
{
	int status = 0;
	pid_t pid;

	if (geteuid() != 0) {
		skip(1, "already an ordinary user");
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		char dir[PATH_MAX];

		tap_count = tap_failed = 0;
		if (!freopen(temp_file("user.log"), "w", stdout))
			_exit(99);
		snprintf(dir, sizeof(dir), "%s", temp_dir());
		if (chmod(dir, 0777) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
			_exit(99);
		test_cases();
		test_leaks();
		fflush(stdout);
		_exit(tap_failed ? 1 : 0);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 99)
		skip(1, "root without the right to become another user");
	else if (!ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "everything as an ordinary user"))
		show_failures(temp_file("user.log"), status);
}

static void test_too_large(void)
{
	struct kw_buffer_spec b = { .name = "x", .bytes = (size_t)1 << 46, .align_bytes = 64 };
	struct kw_session_opts o = { &b, 1, 1, 2, KW_PLACE_START };
	struct kw_session *s = NULL;

	is_int(device->ops->session_new(device, &o, &s, &err), KW_ERR_LIMIT, "more than the machine has");
	has_str(err.text, "memory are free", "is said: %s", err.text);
}

int main(void)
{
	static const char *const flags[] = { "-fopenmp", "-lm", "-lpthread", NULL };

	if (kw_device_open("cpu", &device, &err) != KW_OK || !ok(compile(NULL, flags, &code), "compile the kernels"))
		return done();
	new_session(N * 4, KW_PLACE_ALTERNATE);
	test_cases();
	test_leaks();
	test_too_large();
	test_ordinary_user();
	test_orphans();
	device->ops->session_free(session);
	kw_free(code.code);
	kw_device_close(device);
	is_int(kw_device_open("cpuu", &device, &err), KW_ERR_USAGE, "no such device");
	has_str(err.text, "did you mean cpu?", "the nearest is named");
	return done();
}
