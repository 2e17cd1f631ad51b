/* Copies of who has imported PyTorch, for which a package of that name stands in here: what they have in common, and what not. */
#include "device/importer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "device/sandbox.h"
#include "python/python.h"
#include "tap.h"
#include "temp.h"

/* Says on its channel what it has. What it looks for it knows backwards only, or it would find its own words. */
static const char looks[] =
	"import os, random, socket, sys, torch\n"
	"def tried(path):\n"
	"    try: open(path).close(); return 'yes'\n"
	"    except OSError: return 'no'\n"
	"def remembers(word):\n"
	"    with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as mem:\n"
	"        for line in maps:\n"
	"            ends, rights = line.split()[:2]\n"
	"            begin, end = (int(x, 16) for x in ends.split('-'))\n"
	"            if rights[0] != 'r' or '[v' in line: continue\n"
	"            mem.seek(begin)\n"
	"            if word in mem.read(end - begin)[::-1]: return 'yes'\n"
	"    return 'no'\n"
	"status = open('/proc/self/status').read() if tried('/proc/self/status') == 'yes' else ''\n"
	"said = dict(torch=torch.__version__, imports=torch.imports, files=','.join(sorted(fd for fd in os.listdir('/proc/self/fd')\n"
	"            if os.path.exists('/proc/self/fd/' + fd))) if status else '', word=os.environ.get('KW_TEST_WORD', ''),\n"
	"            privs='NoNewPrivs:\\t1' in status, here=os.getcwd(), reads=tried(FILE), drawn=random.random(), main=__name__,\n"
	"            remembers=remembers(b'terces-si-tset-wk') if status else '', path='' in sys.path)\n"
	"print('printed', flush=True)\n"
	"socket.socket(fileno=3).send('; '.join('%s=%s' % item for item in said.items()).encode())\n";
static const char package[] =
	"import os\n__version__ = 'stand-in'\nimports = %s\n"
	"class Any:\n"
	"    def __call__(self, *args): return self\n"
	"    def __getattr__(self, name): return self\n"
	"zeros = Any()\n"
	"class cuda:\n    is_initialized = staticmethod(lambda: False)\n%s\n";

static struct kw_error err;
static char script[8192], real[PATH_MAX], python[PATH_MAX];

static bool write_text(const char *name, const char *text)
{
	return kw_file_write(temp_file(name), text, strlen(text), &err) == KW_OK;
}

/* A package of that name; more: lines at its end. */
static bool pretend(const char *name, const char *more)
{
	char text[2048], path[256];
	static const char *const parts[] = { "nn/functional", "nn/__init__", "autograd/profiler", "autograd/__init__" };

	snprintf(path, sizeof(path), "%s/torch/nn", name);
	mkdir(temp_file(name), 0777);
	snprintf(path, sizeof(path), "%s/torch", name);
	mkdir(temp_file(path), 0777);
	snprintf(path, sizeof(path), "%s/torch/nn", name);
	mkdir(temp_file(path), 0777);
	snprintf(path, sizeof(path), "%s/torch/autograd", name);
	mkdir(temp_file(path), 0777);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(path, sizeof(path), "%s/torch/%s.py", name, parts[i]);
		if (!write_text(path, ""))
			return false;
	}
	snprintf(text, sizeof(text), package, "os.getpid()", more);
	snprintf(path, sizeof(path), "%s/torch/__init__.py", name);
	return write_text(path, text);
}

/* What the copy says; "": there was none. */
static const char *copy(struct kw_importer_copy o)
{
	static char said[4096];
	int pair[2];
	pid_t pid;
	ssize_t n;

	said[0] = '\0';
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return said;
	o.python = python;
	o.channel = pair[1];
	o.script = script;
	o.script_len = strlen(script);
	pid = kw_importer_copy(&o);
	close(pair[1]);
	n = pid > 0 ? recv(pair[0], said, sizeof(said) - 1, 0) : 0;
	said[n > 0 ? n : 0] = '\0';
	close(pair[0]);
	if (pid > 0 && waitpid(pid, NULL, 0) != pid)
		diag("the copy is no child of ours");
	return said;
}

static const char *value(const char *said, const char *key, char *out)
{
	const char *at = strstr(said, key);

	out[0] = '\0';
	if (at)
		snprintf(out, 64, "%.*s", (int)strcspn(at + strlen(key), ";"), at + strlen(key));
	return out;
}

static void test_copies(void)
{
	static const char *const told[] = { "KW_TEST_WORD=kw-test-is-secret", "HOME=/", NULL };
	char first[4096], a[64], b[64], printed[16] = "";
	const char *said;
	int out[2];

	snprintf(first, sizeof(first), "%s", copy((struct kw_importer_copy){ 0 }));
	has_str(first, "torch=stand-in", "a copy has what was imported");
	has_str(first, "word=;", "no more of our environment than an interpreter needs");
	has_str(first, "files=0,1,2,3;", "no files but its channel");
	has_str(first, "here=/;", "and is nowhere");
	has_str(first, "main=__main__", "it runs its script as Python does");
	has_str(first, "path=False", "without a search in the folder it is in");
	ok(pipe2(out, O_CLOEXEC) == 0, "a pipe");
	said = copy((struct kw_importer_copy){ .env = told, .cwd = temp_dir(), .output = out[1] });
	has_str(said, "word=kw-test-is-secret", "one is told something");
	has_str(said, "remembers=yes", "and has it in its memory");
	ok(read(out[0], printed, sizeof(printed) - 1) == 8 && strcmp(printed, "printed\n") == 0, "and heard");
	has_str(copy((struct kw_importer_copy){ 0 }), "remembers=no", "another has none of it in its memory");
	ok(strcmp(value(first, "imports=", a), value(copy((struct kw_importer_copy){ 0 }), "imports=", b)) == 0 && a[0],
	   "all are copies of the same process (%s)", b);
	ok(strcmp(value(first, "drawn=", a), value(copy((struct kw_importer_copy){ 0 }), "drawn=", b)) != 0, "and draw other numbers");
	close(out[0]);
	close(out[1]);
}

static void test_boxed(void)
{
	const char *const *read = NULL;
	struct kw_sandbox *box = NULL;

	has_str(copy((struct kw_importer_copy){ 0 }), "reads=yes", "without a box it reads what we read");
	if (kw_python_folders(python, &read, &err) != KW_OK || kw_sandbox_reader_new(read, &box, &err) != KW_OK) {
		ok(false, "a box: %s", err.text);
		return;
	}
	if (kw_landlock_abi())
		has_str(copy((struct kw_importer_copy){ .box = box }), "reads=no", "with one, its files only");
	else
		has_str(copy((struct kw_importer_copy){ .box = box }), "privs=True", "with one, no new privileges");
	kw_sandbox_free(box);
}

static void test_refused(void)
{
	static const char *const threads[] = { "HOME=/", "OMP_PLACES=cores", NULL }, *const home[] = { "TORCH_HOME=/", NULL };
	static const char *const more[][2] = {
		{ "threads", "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()" },
		{ "files", "kept = open('/dev/null')" },
		{ "memory", "import mmap\nkept = mmap.mmap(-1, 4096)" },
		{ "raises", "raise ImportError('broken')" },
	};

	is_str(copy((struct kw_importer_copy){ .env = threads }), "", "what an import would see needs an import of its own");
	has_str(copy((struct kw_importer_copy){ .env = home }), "torch=stand-in", "what is read later does not");
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		ok(pretend(more[i][0], more[i][1]), "a package with %s", more[i][0]);
		setenv("PYTHONPATH", temp_file(more[i][0]), 1);
		/* The same interpreter by another name: its importer is not the one that is there. */
		snprintf(python, sizeof(python), "%s/%s/python", temp_dir(), more[i][0]);
		ok(symlink(real, python) == 0, "imported anew");
		is_str(copy((struct kw_importer_copy){ 0 }), "", "of which no copies are made");
	}
}

int main(void)
{
	struct kw_python_found f;

	if (kw_python_find(0, &f, &err) != KW_OK) {
		skip(1, "no Python 3.9 or newer here");
		return done();
	}
	snprintf(real, sizeof(real), "%s", f.path);
	snprintf(python, sizeof(python), "%s", f.path);
	if (!pretend("plain", "") || !write_text("ours", "text\n"))
		return 2;
	setenv("PYTHONPATH", temp_file("plain"), 1);
	setenv("KW_TEST_WORD", "kw-test-is-secret", 1);
	snprintf(script, sizeof(script), "FILE = '%s'\n%s", temp_file("ours"), looks);
	test_copies();
	test_boxed();
	test_refused();
	return done();
}
