#include "base/proc.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "tap.h"
#include "temp.h"

static struct kw_error err;
static struct kw_proc_result r;

static enum kw_status sh(const char *script, struct kw_proc_opts o)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	kw_proc_result_release(&r);
	if (!o.max_out_bytes)
		o.max_out_bytes = 1 << 16;
	if (!o.timeout_ms)
		o.timeout_ms = 60000;
	return kw_proc_run(argv, &o, &r, &err);
}

static void test_results(void)
{
	struct kw_proc_opts none = { 0 };

	is_int(sh("echo out; echo err >&2; exit 3", none), KW_OK, "a program that fails is a result");
	is_int(r.exit_code, 3, "its exit code");
	is_str(r.out.ptr, "out\n", "its output");
	is_str(r.err.ptr, "err\n", "its complaints");
	ok(r.wall_ns > 0, "its time");
	is_int(sh("kill -9 $$", none), KW_OK, "a signal is a result");
	is_int(r.signal, 9, "its number");
	is_int(r.exit_code, -1, "and no exit code");
	is_int(sh("true", none), KW_OK, "a silent one");
	is_str(r.out.ptr, "", "has the empty text");
}

/* Killed by somebody else, or for want of memory: it may be run again. */
static void test_tries(void)
{
	static const char *const script = "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n; ";
	struct kw_proc_opts o = { .cwd = temp_dir(), .tries = 3 };
	char text[200], counter[PATH_MAX];

	snprintf(counter, sizeof(counter), "%s/n", temp_dir());
	snprintf(text, sizeof(text), "%s[ $n -ge 2 ] || kill -9 $$; echo $n", script);
	is_int(sh(text, o), KW_OK, "killed twice");
	ok(r.exit_code == 0 && strcmp(r.out.ptr, "2\n") == 0, "the third time counts");
	unlink(counter);
	snprintf(text, sizeof(text), "%skill -TERM $$", script);
	is_int(sh(text, o), KW_OK, "killed each time");
	is_int(r.signal, SIGTERM, "is a result");
	ok(kw_proc_was_killed(&r), "that says so");
	is_int(sh("cat n", o), KW_OK, "how often");
	is_str(r.out.ptr, "3\n", "three times");
	unlink(counter);
	snprintf(text, sizeof(text), "%secho 'gcc: fatal error: Killed signal terminated program cc1' >&2; exit 1", script);
	sh(text, o);
	ok(kw_proc_was_killed(&r), "a part of gcc was");
	unlink(counter);
	snprintf(text, sizeof(text), "%skill -SEGV $$", script);
	sh(text, o);
	ok(r.signal == SIGSEGV && !kw_proc_was_killed(&r), "a fault of its own is not such an end");
	sh("cat n", o);
	is_str(r.out.ptr, "1\n", "and is not tried again");
	unlink(counter);
	o.timeout_ms = 200;
	sh("sleep 10", o);
	ok(r.timed_out && !kw_proc_was_killed(&r), "nor is a time-out");
}

static void test_surroundings(void)
{
	static const char *const env[] = { "ONLY=this", NULL };
	struct kw_proc_opts o = { .cwd = temp_dir(), .env = env, .in = "typed", .in_bytes = 5 };
	char want[PATH_MAX];
	int fd = open("/dev/null", O_RDONLY); /* without O_CLOEXEC, on purpose */

	is_int(sh("pwd -P; echo $ONLY$HOME; cat; ls /proc/self/fd | wc -l", o), KW_OK, "set up");
	if (!realpath(temp_dir(), want))
		want[0] = '\0';
	/* ls itself opens the folder: 0, 1, 2 and that one. */
	snprintf(want + strlen(want), sizeof(want) - strlen(want), "\nthis\ntyped4\n");
	is_str(r.out.ptr, want, "folder, environment, input, no other descriptor");
	close(fd);
	is_int(sh("cat", (struct kw_proc_opts){ 0 }), KW_OK, "no input is /dev/null");
	is_int(r.out.len, 0, "and empty");
	o = (struct kw_proc_opts){ .cwd = "/nonexistent" };
	is_int(sh("true", o), KW_ERR_IO, "no such folder");
	is_str(err.where, "/nonexistent", "is named");
}

static void test_missing(void)
{
	const char *none[] = { "kw-no-such-program", NULL };
	const char *script[] = { NULL, NULL };
	struct kw_proc_opts o = { .max_out_bytes = 100, .timeout_ms = 60000 };
	char found[PATH_MAX], path[PATH_MAX];

	kw_proc_result_release(&r);
	is_int(kw_proc_run(none, &o, &r, &err), KW_ERR_ENV, "no such program");
	is_str(err.text, "no such program on PATH", "says so");
	kw_proc_result_release(&r);
	snprintf(path, sizeof(path), "%s", temp_file("broken"));
	kw_file_write(path, "#!/no/such/interpreter\n", 23, &err);
	chmod(path, 0755);
	script[0] = path;
	is_int(kw_proc_run(script, &o, &r, &err), KW_ERR_ENV, "a script whose interpreter is gone");
	ok(kw_proc_which("sh", found, sizeof(found)), "which finds sh");
	ok(!kw_proc_which("kw-no-such-program", found, sizeof(found)), "and not what is not there");
	ok(!kw_proc_which("sh", found, 3), "nor what does not fit");
	setenv("KW_FAIL_EXEC", "1", 1);
	kw_fail_reload();
	is_int(sh("true", (struct kw_proc_opts){ 0 }), KW_ERR_ENV, "KW_FAIL_EXEC");
	unsetenv("KW_FAIL_EXEC");
	kw_fail_reload();
}

static bool is_gone(pid_t pid)
{
	/* It is somebody else's child now and may be a zombie for a moment. */
	for (int i = 0; i < 1000; i++) {
		char path[64], line[256] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		f = fopen(path, "r");
		if (!f)
			return true;
		if (!fgets(line, sizeof(line), f))
			line[0] = '\0';
		fclose(f);
		if (strstr(line, ") Z ") || strstr(line, ") X "))
			return true;
		kw_sleep_ns(10000000);
	}
	return false;
}

static void test_bounds(void)
{
	struct kw_proc_opts o = { .timeout_ms = 300 };

	is_int(sh("sleep 100 & echo $!; wait", o), KW_OK, "a time-out is a result");
	ok(r.timed_out, "and marked");
	is_int(r.signal, SIGKILL, "it was killed");
	ok(r.out.ptr && is_gone((pid_t)strtol(r.out.ptr, NULL, 10)), "with its whole group");
	o = (struct kw_proc_opts){ .timeout_ms = 1000, .max_out_bytes = 1000 };
	is_int(sh("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done", o), KW_OK, "a flood");
	ok(r.timed_out && r.truncated, "ends and is cut");
	is_int(r.out.len, 1000, "at the maximum");
	o = (struct kw_proc_opts){ 0 };
	is_int(sh("sleep 100 & echo $!", o), KW_OK, "a child left behind");
	ok(!r.timed_out && r.exit_code == 0, "does not hold us up");
	ok(r.out.ptr && is_gone((pid_t)strtol(r.out.ptr, NULL, 10)), "and is killed");
	o = (struct kw_proc_opts){ .max_out_bytes = 4 };
	is_int(sh("printf 0123456789", o), KW_OK, "more output than wanted");
	is_str(r.out.ptr, "0123", "is cut");
	ok(r.truncated, "and marked");
	o = (struct kw_proc_opts){ .in = "x", .in_bytes = 1 };
	is_int(sh("exit 0", o), KW_OK, "input that nobody reads");
}

static int refuse(void *arg)
{
	(void)arg;
	return -1;
}

static int announce(void *arg)
{
	return write(1, arg, 3) == 3 ? 0 : -1;
}

static void test_before_exec(void)
{
	struct kw_proc_opts o = { .before_exec = refuse };

	is_int(sh("true", o), KW_OK, "a refusing hook is a result");
	is_int(r.exit_code, 126, "with exit code 126");
	o = (struct kw_proc_opts){ .before_exec = announce, .before_exec_arg = (char[]){ "hey" } };
	is_int(sh("printf ' you'", o), KW_OK, "a hook");
	is_str(r.out.ptr, "hey you", "runs in the child, before the program");
}

static int scenario(void *unused)
{
	const char *argv[] = { "sh", "-c", "cat; seq 2000", NULL };
	struct kw_proc_opts o = { .in = "input", .in_bytes = 5, .max_out_bytes = 1 << 16,
				  .timeout_ms = 60000 };
	struct kw_proc_result mine;
	struct kw_error e = { 0 };
	enum kw_status s = kw_proc_run(argv, &o, &mine, &e);
	bool whole = s == KW_OK && !mine.truncated;

	(void)unused;
	kw_proc_result_release(&mine);
	if (s != KW_OK)
		return e.text[0] ? 1 : 2;
	return whole ? 0 : 1; /* lost output is marked */
}

int main(void)
{
	test_results();
	test_tries();
	test_surroundings();
	test_missing();
	test_bounds();
	test_before_exec();
	kw_proc_result_release(&r);
	fails_cleanly("KW_FAIL_ALLOC", 60, scenario, NULL, "a program");
	fails_cleanly("KW_FAIL_EXEC", 10, scenario, NULL, "a program");
	fails_cleanly("KW_FAIL_WRITE", 10, scenario, NULL, "a program");
	return done();
}
