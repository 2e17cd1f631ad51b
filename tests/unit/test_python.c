#include "python/python.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/proc.h"
#include "tap.h"
#include "temp.h"

/* A file of python/ that does what it is told to. */
static const char puppet[] =
	"import json, os, sys, time\n"
	"from kwright import helper\n"
	"kept = []\n"
	"def answer(request, fds):\n"
	"    do = request['do']\n"
	"    if do == 'add': return {'sum': helper.add(request['a'], request['b'])}\n"
	"    if do == 'fd':\n"
	"        os.write(fds[0], b'from python')\n"
	"        for fd in fds: os.close(fd)\n"
	"        return {'count': len(fds)}\n"
	"    if do == 'print':\n"
	"        print('plain words'); print('{\"answer\": {}}', file=sys.stderr); os.system('echo of a child')\n"
	"        return {}\n"
	"    if do == 'flood':\n"
	"        while True: print('x' * 1000)\n"
	"    if do == 'raise': raise ValueError('no such axis\\nsecond line')\n"
	"    if do == 'user':\n"
	"        sys.path.insert(0, request['folder'])\n"
	"        import users_problem\n"
	"    if do == 'missing': import no_such_package_at_all\n"
	"    if do == 'exit': sys.exit(3)\n"
	"    if do == 'vanish': os._exit(7)\n"
	"    if do == 'loop':\n"
	"        while True: pass\n"
	"    if do == 'crash': os.kill(os.getpid(), 11)\n"
	"    if do == 'grow':\n"
	"        while True:\n"
	"            kept.append(bytearray(8 << 20))\n"
	"            time.sleep(0.002)\n"
	"    if do == 'gulp': kept.append(bytearray(1 << 40))\n"
	"    if do == 'nan': return {'x': float('nan')}\n"
	"    if do == 'long': return {'x': 'y' * 3000000, 'got': len(request['x'])}\n"
	"    if do == 'env': return {'value': os.environ.get('KW_TEST_WORD', '')}\n"
	"    if do == 'where': return {'here': os.getcwd(), 'path': sys.path}\n"
	"    return {}\n";

static struct kw_error err;
static struct kw_python_answer a;

static bool write_text(const char *name, const char *text)
{
	return kw_file_write(temp_file(name), text, strlen(text), &err) == KW_OK;
}

static struct kw_python *start(struct kw_python_opts o)
{
	struct kw_python *p = NULL;

	o.file = o.file ? o.file : "puppet";
	kw_error_reset(&err);
	if (kw_python_start(&o, &p, &err) != KW_OK)
		diag("%s: %s", err.where, err.text);
	return p;
}

static enum kw_python_end ask(struct kw_python *p, json_t *request, int timeout_ms)
{
	kw_python_answer_release(&a);
	if (kw_python_ask(p, request, NULL, 0, timeout_ms, &a, &err) != KW_OK) {
		diag("%s", err.text);
		return (enum kw_python_end) -1;
	}
	return a.end;
}

static enum kw_python_end told(struct kw_python *p, const char *what)
{
	return ask(p, json_pack("{s:s}", "do", what), 20000);
}

static void test_talk(void)
{
	struct kw_python *p = start((struct kw_python_opts){ 0 });
	json_t *big = json_object();
	char text[2000001];
	int fds[2];

	if (!ok(p != NULL, "a process with a file that imports another"))
		return;
	is_int(ask(p, json_pack("{s:s, s:i, s:i}", "do", "add", "a", 2, "b", 3), 20000), KW_PYTHON_ANSWERED, "is asked");
	is_int(kw_json_get_i64(a.json, "sum", 0), 5, "and answers");
	ok(a.wall_ns > 0, "with the time that it took");
	fds[0] = memfd_create("one", MFD_CLOEXEC);
	fds[1] = memfd_create("two", MFD_CLOEXEC);
	kw_python_answer_release(&a);
	is_int(kw_python_ask(p, json_pack("{s:s}", "do", "fd"), fds, 2, 20000, &a, &err), KW_OK, "descriptors go along");
	is_int(kw_json_get_i64(a.json, "count", 0), 2, "all of them");
	ok(pread(fds[0], text, 11, 0) == 11 && memcmp(text, "from python", 11) == 0, "and are the same files");
	close(fds[0]);
	close(fds[1]);
	is_int(told(p, "print"), KW_PYTHON_ANSWERED, "what the code prints is not the protocol");
	has_str(kw_python_said(p), "plain words", "but kept");
	has_str(kw_python_said(p), "{\"answer\": {}}", "on both streams");
	has_str(kw_python_said(p), "of a child", "and of what it starts");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	json_object_set_new(big, "do", json_string("long"));
	json_object_set_new(big, "x", json_string(text));
	is_int(ask(p, big, 20000), KW_PYTHON_ANSWERED, "long lines");
	is_int(kw_json_get_i64(a.json, "got", 0), 2000000, "there");
	is_int(strlen(kw_json_get_str(a.json, "x", "")), 3000000, "and back");
	is_int(told(p, "where"), KW_PYTHON_ANSWERED, "the folder that we are in is not searched for modules");
	ok(json_string_length(json_array_get(json_object_get(a.json, "path"), 0)) > 0, "first");
	kw_python_stop(p);
	p = start((struct kw_python_opts){ .env = (const char *const[]){ "KW_TEST_WORD=said", NULL }, .cwd = temp_dir() });
	is_int(p ? told(p, "env") : 9, KW_PYTHON_ANSWERED, "an environment");
	is_str(kw_json_get_str(a.json, "value", ""), "said", "with a word of the caller's");
	kw_python_stop(p);
}

static void test_raising(void)
{
	struct kw_python *p = start((struct kw_python_opts){ 0 });

	if (!ok(p != NULL, "a process"))
		return;
	is_int(told(p, "raise"), KW_PYTHON_RAISED, "an exception is a result");
	is_str(a.text, "ValueError: no such axis", "in one line");
	is_str(a.type, "ValueError", "with its type");
	is_int(told(p, "missing"), KW_PYTHON_RAISED, "a missing package");
	is_str(a.missing, "no_such_package_at_all", "is named");
	ok(write_text("users_problem.py", "x = 1\ny = x / 0\n"), "a user's file");
	is_int(ask(p, json_pack("{s:s, s:s}", "do", "user", "folder", temp_dir()), 20000), KW_PYTHON_RAISED, "that raises");
	has_str(a.text, "ZeroDivisionError: division by zero (", "says what");
	has_str(a.where, "users_problem.py:2", "and where");
	is_int(told(p, "exit"), KW_PYTHON_RAISED, "exit() is an exception");
	has_str(a.text, "SystemExit: it called exit(3)", "that is told");
	is_int(told(p, "nan"), KW_PYTHON_RAISED, "an answer that is no JSON");
	is_int(told(p, "other"), KW_PYTHON_ANSWERED, "it lives on after all of them");
	kw_python_stop(p);
}

static void ends(const char *what, enum kw_python_end end, int timeout_ms, const char *text)
{
	struct kw_python *p = start((struct kw_python_opts){ .memory_bytes = 256 << 20 });
	pid_t pid = p ? kw_python_pid(p) : -1;

	is_int(p ? ask(p, json_pack("{s:s}", "do", what), timeout_ms) : 99, end, "%s", what);
	has_str(a.text, text, "%s", text);
	if (p && end != KW_PYTHON_RAISED) {
		is_int(kw_python_pid(p), -1, "it is gone");
		is_int(kw_python_ask(p, json_object(), NULL, 0, 1000, &a, &err), KW_ERR_BUG, "and cannot be asked again");
	}
	kw_python_stop(p);
	ok(pid > 0 && kill(pid, 0) < 0, "nothing is left of it");
}

static void test_ends(void)
{
	ends("vanish", KW_PYTHON_EXITED, 20000, "ended its process with exit code 7");
	ends("crash", KW_PYTHON_KILLED, 20000, "was ended by signal 11");
	ends("loop", KW_PYTHON_TIMEOUT, 300, "did not answer within 0.3 s");
	ends("flood", KW_PYTHON_TIMEOUT, 500, "did not answer within 0.5 s");
	ends("grow", KW_PYTHON_MEMORY, 60000, "took more than the 256 MiB of memory");
	ends("gulp", KW_PYTHON_RAISED, 20000, "MemoryError");
}

/* Whoever kills us kills it too, whichever thread started it. */
static void test_leash(void)
{
	pid_t pid, python = -1;
	int fds[2];

	if (pipe(fds) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		struct kw_python *p = start((struct kw_python_opts){ 0 });

		python = p ? kw_python_pid(p) : -1;
		if (write(fds[1], &python, sizeof(python)) < 0)
			_exit(1);
		if (p)
			ask(p, json_pack("{s:s}", "do", "loop"), 60000);
		_exit(0);
	}
	if (read(fds[0], &python, sizeof(python)) != (ssize_t)sizeof(python))
		python = -1;
	kw_sleep_ns(200000000);
	ok(python > 0 && kill(python, 0) == 0, "a process that is busy");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 500 && python > 0; i++) {
		char name[64], state[512] = "";
		FILE *f;

		/* Nobody may have reaped it here: a zombie has ended as well. */
		snprintf(name, sizeof(name), "/proc/%d/stat", (int)python);
		f = fopen(name, "r");
		if (!f || !fgets(state, sizeof(state), f) || strstr(state, ") Z"))
			python = 0;
		if (f)
			fclose(f);
		kw_sleep_ns(10000000);
	}
	is_int(python, 0, "dies with a parent that is killed");
	close(fds[0]);
	close(fds[1]);
}

/* One that waits is lent again; one that is gone, or is of another file, is not. */
static void test_lending(void)
{
	struct kw_python_opts o = { .file = "puppet", .memory_bytes = 1 << 30 };
	struct kw_python *p = NULL, *other = NULL;
	pid_t first;

	is_int(kw_python_borrow(&o, &p, &err), KW_OK, "the first is started");
	first = p ? kw_python_pid(p) : -1;
	is_int(kw_python_borrow(&o, &other, &err), KW_OK, "while it is away another is started");
	ok(other && kw_python_pid(other) != first, "which is not the same");
	kw_python_stop(other);
	kw_python_give_back(p);
	p = NULL;
	is_int(kw_python_borrow(&o, &p, &err), KW_OK, "one that waits is lent");
	is_int(p ? kw_python_pid(p) : 0, first, "and is the same");
	is_int(p ? (int)ask(p, json_pack("{s:s, s:i, s:i}", "do", "add", "a", 2, "b", 3), 20000) : -1, KW_PYTHON_ANSWERED, "and answers");
	o.memory_bytes = 256 << 20;
	kw_python_give_back(p);
	p = NULL;
	is_int(kw_python_borrow(&o, &p, &err), KW_OK, "with another limit");
	is_int(p ? (int)ask(p, json_pack("{s:s}", "do", "grow"), 60000) : -1, KW_PYTHON_MEMORY, "which holds for it");
	kw_python_give_back(p);
	p = NULL;
	is_int(kw_python_borrow(&o, &p, &err), KW_OK, "one that is gone");
	ok(p && kw_python_pid(p) > 0 && kw_python_pid(p) != first, "is not lent");
	first = p ? kw_python_pid(p) : -1;
	kw_python_give_back(p);
	kw_python_drop_waiting();
	ok(first > 0 && kill(first, 0) < 0, "those that wait are ended");
	kw_python_give_back(NULL);
}

static void test_start(void)
{
	struct kw_python_opts o = { .file = "broken" };
	struct kw_python *p = NULL;

	is_int(kw_python_start(&o, &p, &err), KW_ERR_ENV, "a file that cannot be loaded");
	has_str(err.text, "SyntaxError", "says why");
	o.file = "never";
	is_int(kw_python_start(&o, &p, &err), KW_ERR_BUG, "a file that is not there");
	o = (struct kw_python_opts){ .file = "sleepy", .timeout_ms = 200 };
	is_int(kw_python_start(&o, &p, &err), KW_ERR_ENV, "a file that takes too long");
	has_str(err.text, "did not answer within 0.2 s", "is given up");
	ok(p == NULL, "and leaves nothing");
}

static int scenario(void *arg)
{
	struct kw_python_opts o = { .file = "puppet" };
	struct kw_python_answer got = { 0 };
	struct kw_python *p = NULL;
	struct kw_error e;
	enum kw_status s = kw_python_start(&o, &p, &e);

	if (s == KW_OK)
		s = kw_python_ask(p, json_pack("{s:s}", "do", "x"), NULL, 0, 20000, &got, &e);
	if (s == KW_OK && got.end != KW_PYTHON_ANSWERED)
		s = KW_ERR_BUG;
	kw_python_answer_release(&got);
	kw_python_stop(p);
	return s == KW_OK ? 0 : e.text[0] ? 1 : (int)(intptr_t)arg;
}

static bool shell(const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };
	struct kw_proc_opts o = { .timeout_ms = 60000, .max_out_bytes = 4096, .cwd = temp_dir() };
	struct kw_proc_result r;
	bool good = kw_proc_run(argv, &o, &r, &err) == KW_OK && r.exit_code == 0;

	kw_proc_result_release(&r);
	return good;
}

/* A Python whose records say what we like: a package is a folder NAME-VERSION.dist-info. */
static bool pretend(const char *name, const char *torch, const char *triton)
{
	char script[1024];

	snprintf(script, sizeof(script),
		 "python3 -m venv --without-pip %s && cd %s/lib/python3*/site-packages && for p in %s %s; do n=${p%%-*}; mkdir "
		 "$p.dist-info && printf 'Metadata-Version: 2.1\\nName: %%s\\nVersion: %%s\\n' $n ${p#*-} > $p.dist-info/METADATA; done",
		 name, name, torch, triton);
	return shell(script);
}

static void test_find(const char *real)
{
	struct kw_python_found f;
	char path[PATH_MAX];

	kw_python_use(real);
	is_int(kw_python_find(0, &f, &err), KW_OK, "a Python by --python");
	is_str(f.from, "--python", "says so");
	ok(strchr(f.version, '.') != NULL, "its version %s", f.version);
	kw_python_use("/nonexistent/python3");
	is_int(kw_python_find(0, &f, &err), KW_ERR_ENV, "one that is not there");
	has_str(err.text, "named by --python", "says who named it");
	kw_python_use("/bin/true");
	is_int(kw_python_find(0, &f, &err), KW_ERR_ENV, "a program that is no Python");
	has_str(err.text, "is no Python 3.9 or newer", "says so");
	ok(shell("printf '#!/bin/sh\\nkill -9 $$\\n' > killed && chmod +x killed"), "a Python that somebody ends");
	snprintf(path, sizeof(path), "%s/killed", temp_dir());
	kw_python_use(path);
	is_int(kw_python_find(0, &f, &err), KW_ERR_ENV, "is none");
	has_str(err.text, "was ended from outside by signal 9, 3 times", "and not for what it is");
	/* As pyenv has them. */
	setenv("REAL", real, 1);
	ok(shell("printf '#!/bin/sh\\nexec %s \"$@\"\\n' \"$REAL\" > between && chmod +x between"), "a script that starts a Python");
	snprintf(path, sizeof(path), "%s/between", temp_dir());
	kw_python_use(path);
	is_int(kw_python_find(0, &f, &err), KW_OK, "is one");
	ok(f.path[0] == '/' && !strstr(f.path, "between"), "and the interpreter itself is what is run: %s", f.path);
	kw_python_use(NULL);
	ok(chdir(temp_dir()) == 0, "where no .venv is"); /* a checkout may have one */
	if (!ok(pretend("none", "", "") && pretend("old", "torch-1.13.1", "") && pretend("new", "torch-2.11.0+cu130", "triton-3.6.0"),
		"virtual environments"))
		return;
	snprintf(path, sizeof(path), "%s/none", temp_dir());
	setenv("VIRTUAL_ENV", path, 1);
	setenv("PATH", "/nonexistent", 1);
	is_int(kw_python_find(0, &f, &err), KW_OK, "any Python will do");
	is_str(f.from, "$VIRTUAL_ENV", "the environment's");
	is_int(kw_python_find(KW_PYTHON_TORCH, &f, &err), KW_ERR_ENV, "not for torch");
	has_str(err.text, "without torch", "says why");
	has_str(err.text, "pip install torch", "and what to do");
	snprintf(path, sizeof(path), "%s/old", temp_dir());
	setenv("VIRTUAL_ENV", path, 1);
	is_int(kw_python_find(KW_PYTHON_TORCH, &f, &err), KW_ERR_ENV, "an old torch");
	has_str(err.text, "torch 1.13.1 is too old (2.1 or newer is needed)", "says its version");
	snprintf(path, sizeof(path), "%s/new/bin", temp_dir());
	setenv("PATH", path, 1);
	is_int(kw_python_find(KW_PYTHON_TORCH | KW_PYTHON_TRITON, &f, &err), KW_OK, "the next place is tried");
	is_str(f.from, "PATH", "and named");
	is_str(f.torch, "2.11.0+cu130", "torch");
	is_str(f.triton, "3.6.0", "and triton");
	snprintf(path, sizeof(path), "%s/none/bin/python3", temp_dir());
	setenv("KWRIGHT_PYTHON", path, 1);
	is_int(kw_python_find(KW_PYTHON_TORCH, &f, &err), KW_ERR_ENV, "a named one is taken at its word");
	has_str(err.text, "none/bin/python3 by $KWRIGHT_PYTHON", "and told");
}

int main(void)
{
	struct kw_python_found f;
	char real[PATH_MAX];

	unsetenv("KWRIGHT_PYTHON");
	unsetenv("VIRTUAL_ENV");
	if (kw_python_find(0, &f, &err) != KW_OK) {
		skip(1, "no Python 3.9 or newer here");
		return done();
	}
	snprintf(real, sizeof(real), "%s", f.path);
	if (mkdir(temp_file("python"), 0777) < 0 || !write_text("python/puppet.py", puppet) ||
	    !write_text("python/helper.py", "def add(a, b): return a + b\n") || !write_text("python/broken.py", "def x(:\n") ||
	    !write_text("python/sleepy.py", "import time\ntime.sleep(60)\n"))
		return 2;
	kw_data_set_dir(temp_dir());
	test_talk();
	test_raising();
	test_ends();
	test_leash();
	test_lending();
	test_start();
	fails_cleanly("KW_FAIL_ALLOC", 200, scenario, (void *)2, "a process");
	fails_cleanly("KW_FAIL_EXEC", 20, scenario, (void *)2, "a process");
	kw_python_answer_release(&a);
	test_find(real);
	return done();
}
