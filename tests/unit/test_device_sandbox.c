/* The compiler's box: gcc works in it, and what a source can ask the compiler to read or a plugin to do does not. */
#include "device/sandbox.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/proc.h"
#include "tap.h"
#include "temp.h"

static struct kw_error err;
static struct kw_proc_result r;
static struct kw_sandbox *box;

static int run(const char *const *argv)
{
	char tmp[PATH_MAX + 16];
	const char *env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", tmp, NULL };
	struct kw_proc_opts o = { .env = env, .timeout_ms = 60000, .max_out_bytes = 1 << 16, .cwd = temp_dir(),
				  .before_exec = kw_sandbox_enter, .before_exec_arg = box };

	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", temp_dir());
	kw_proc_result_release(&r);
	if (kw_proc_run(argv, &o, &r, &err) != KW_OK) {
		diag("%s", err.text);
		return -1;
	}
	return r.exit_code;
}

static int sh(const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	return run(argv);
}

static int compile(const char *text, const char *out)
{
	const char *argv[] = { "gcc", "-O2", "-shared", "-fPIC", "-fopenmp", "-o", out, "in.c", "-lm", NULL };

	if (kw_file_write(temp_file("in.c"), text, strlen(text), &err) != KW_OK)
		return -1;
	return run(argv);
}

static void test_compiler(void)
{
	is_int(compile("#include <math.h>\n#include <omp.h>\ndouble f(double x) { return exp(x) + omp_get_num_threads(); }\n",
		       "out.so"), 0, "gcc compiles and links");
	if (r.exit_code)
		diag("%s", r.err.ptr);
	ok(kw_path_exists(temp_file("out.so")), "and writes its folder");
	ok(compile("int x = ;\n", "out.so") > 0, "an error is an error");
	has_str(r.err.ptr, "expected expression", "with the compiler's text");
	ok(compile("#include \"/etc/passwd\"\n", "out.so") > 0, "no file of the machine can be included");
	has_str(r.err.ptr, "/etc/passwd", "it is named");
	ok(!strstr(r.err.ptr, "root:"), "and not shown");
	ok(compile("__asm__(\".incbin \\\"/etc/hostname\\\"\");\n", "out.so") > 0, "nor by the assembler");
	ok(compile("int x;\n", "/tmp/kw-out-of-the-box.so") > 0, "nothing is written elsewhere");
	ok(!kw_path_exists("/tmp/kw-out-of-the-box.so"), "really not");
}

static void test_rest(void)
{
	const char *limits[] = { "sh", "-c", "ulimit -c; ulimit -t", NULL };

	is_int(sh("cat /etc/passwd"), 1, "cat fares no better");
	ok(sh("echo > /tmp/kw-out-of-the-box") != 0, "nor the shell");
	is_int(sh("echo x > /dev/null; ls /usr/include > /dev/null"), 0, "the usual places can be read");
	ok(sh("ls /root") != 0 && sh("ls /proc/1") != 0, "other folders and processes cannot");
	is_int(run(limits), 0, "limits");
	has_str(r.out.ptr, "0\n120\n", "are set");
	is_int(sh("mkdir d && echo 1 > d/f && mv d/f g && rm -r d"), 0, "its own folder is free");
	has_str(kw_sandbox_layers(box), "rlimits", "layers: %s", kw_sandbox_layers(box));
}

/* By open alone: no name is written. */
static const char names[] = "if (exec 3<>/proc/$$/comm) 2>/dev/null; then printf own; fi; if (exec 3<>/proc/$PPID/comm) 2>/dev/null; then printf ' other'; fi";

static int enter_files(void *narrow)
{
	if (kw_sandbox_enter_files(box) != 0)
		return -1;
	return *(const bool *)narrow && !kw_sandbox_own_proc(temp_dir()) ? -1 : 0;
}

static void test_names(void)
{
	const char *read[] = { "/proc", NULL }, *argv[] = { "sh", "-c", names, NULL };
	bool narrow;
	struct kw_proc_opts o = { .timeout_ms = 60000, .max_out_bytes = 1 << 16, .before_exec = enter_files, .before_exec_arg = &narrow };
	static const char *const wanted[] = { "", "own other", "own" };

	kw_sandbox_free(box);
	if (!ok(kw_sandbox_compiler_new(temp_dir(), read, &box, &err) == KW_OK, "a box that reads /proc"))
		return;
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			kw_sandbox_for_names(box);
		narrow = i == 2;
		kw_proc_result_release(&r);
		is_int(kw_proc_run(argv, &o, &r, &err) == KW_OK ? r.exit_code : -1, 0, "names of threads, %d", i);
		is_str(r.out.len ? r.out.ptr : "", wanted[i], "may be given to: %s", *wanted[i] ? wanted[i] : "none");
	}
}

int main(void)
{
	if (!ok(kw_sandbox_compiler_new(temp_dir(), NULL, &box, &err) == KW_OK, "a box"))
		return done();
	if (kw_landlock_abi() > 0) {
		test_compiler();
		test_rest();
		test_names();
	} else {
		skip(1, "no Landlock in this kernel");
	}
	kw_sandbox_free(box);
	kw_proc_result_release(&r);
	return done();
}
