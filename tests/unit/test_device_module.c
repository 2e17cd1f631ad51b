/* Players of modules that are started ahead, by the script itself (python/module_player.py) with neither PyTorch nor a GPU: a few lines stand in
 * for these two. One that is ready is known by the name that its context gives to its process. */
#include "device/module.h"

#include <sys/wait.h>

#include "base/alloc.h"
#include "base/file.h"
#include "python/python.h"
#include "tap.h"
#include "temp.h"

static const char stand_in[] =
	"class Any:\n"
	"    __version__ = 'none'\n"
	"    def __getattr__(self, name): return self\n"
	"    def __call__(self, *args, **kwargs): return self\n"
	"    def __add__(self, other): return self\n"
	"class Watched:\n"
	"    def __enter__(self): pass\n"
	"    def __exit__(self, *args): pass\n"
	"def prepare(driver, trusted):\n"
	"    global torch\n"
	"    torch = Any()\n"
	"def import_triton(interpreted):\n"
	"    if interpreted: os.kill(os.getpid(), 9)\n"
	"    libc.prctl(15, b'triton', 0, 0, 0)\n"
	"class Cuda:\n"
	"    def __init__(self, gpu):\n"
	"        if gpu == 7: raise RuntimeError('no such GPU')\n"
	"        libc.prctl(15, b'ahead-%d' % gpu, 0, 0, 0)\n"
	"    def wait(self): pass\n"
	"zygote()\n";

static struct kw_error err;
static struct kw_module_host host;

static bool load_host(struct kw_arena *a)
{
	static const char last[] = "if __name__ == \"__main__\":\n    zygote()\n";
	static struct kw_python_found found;
	char *text, *end;

	if (kw_python_find(0, &found, &err) != KW_OK || kw_python_folders(found.path, &host.read, &err) != KW_OK ||
	    kw_data_read("python/module_player.py", a, &text, NULL, &err) != KW_OK || !(end = strstr(text, last)))
		return false;
	*end = '\0';
	host.python = found.path;
	host.script = kw_arena_printf(a, "%s%s", text, stand_in);
	host.script_len = host.script ? strlen(host.script) : 0;
	return host.script != NULL;
}

/* A player for a session on that GPU: the name of its process. */
static const char *spawned(int gpu, struct kw_child *c)
{
	static char name[64];
	struct kw_module_play o = { .host = &host, .spec = "{}" };
	struct kw_module *m = NULL;
	char path[64];
	struct kw_buf text;

	kw_child_init(c);
	kw_buf_init(&text, sizeof(name) - 1);
	name[0] = '\0';
	if (kw_module_new_apart(&o, NULL, 1, &m, &err) == KW_OK && kw_module_spawn(m, gpu, c, &err) == KW_OK) {
		snprintf(path, sizeof(path), "/proc/%d/comm", (int)c->process.pid);
		if (kw_file_read(path, sizeof(name) - 1, &text, &err) == KW_OK)
			snprintf(name, sizeof(name), "%.*s", (int)strcspn(text.ptr, "\n"), text.ptr);
	}
	kw_buf_release(&text);
	kw_module_free(m);
	return name;
}

static bool is_ahead(int gpu, const char *name)
{
	struct kw_child c;
	const char *got = spawned(gpu, &c);
	bool right = got[0] && (strcmp(got, name) == 0) == (name[0] != '\0');

	if (!right)
		diag("a player named '%s' (%s)", got, err.text);
	kw_child_close(&c);
	return right && (name[0] || strncmp(got, "ahead", 5) != 0);
}

/* The same host, whose Python is ended while it starts: by its own hand, which looks the same. */
static void test_killed(struct kw_arena *a)
{
	const char *script = host.script;
	int before = (int)host.script_len - (int)strlen("zygote()\n");
	struct kw_child c;

	host.script = kw_arena_printf(a, "%.*sos.kill(os.getpid(), 9)\n", before, script);
	host.script_len = strlen(host.script);
	is_str(spawned(0, &c), "", "a Python that is killed each time it starts");
	has_str(err.text, "ended from outside by signal 9 (Killed) while it started, 3 times", "who is to blame");
	kw_child_close(&c);
	kw_error_reset(&err);
	host.script = kw_arena_printf(a, "%.*stry:\n\tos.close(os.open('%s', os.O_CREAT | os.O_EXCL))\n\tos.kill(os.getpid(), 9)\n"
				      "except FileExistsError:\n\tzygote()\n", before, script, temp_file("killed"));
	host.script_len = strlen(host.script);
	ok(spawned(0, &c)[0], "one that is killed once is started again: %s", err.text);
	kw_child_close(&c);
	host.script = script;
	host.script_len = strlen(script);
}

static void test_taken(void)
{
	struct kw_child first;

	kw_module_ahead(&host, 0, 2);
	kw_module_ahead(&host, 0, 2); /* they are there */
	kw_module_ahead_ready();
	is_str(spawned(0, &first), "ahead-0", "a session takes one that is ready");
	ok(is_ahead(0, "ahead-0"), "and the next session the other");
	ok(is_ahead(0, ""), "and then one is started, which has nothing yet");
	kw_child_close(&first);
	kw_module_ahead(&host, 0, 1);
	ok(is_ahead(0, "ahead-0"), "one that is still starting is waited for");
}

static void test_not_taken(void)
{
	struct kw_child c;

	kw_module_ahead(&host, 0, 1);
	kw_module_ahead_ready();
	ok(is_ahead(1, ""), "one for another GPU is not taken");
	ok(is_ahead(-1, ""), "nor one where there is no GPU");
	kw_module_ahead(&host, 1, 1);
	kw_module_ahead_ready();
	ok(is_ahead(0, ""), "and goes when players for another GPU are wanted");
	ok(is_ahead(1, "ahead-1"), "which are there then");
	kw_module_ahead(&host, 7, 3);
	kw_module_ahead_ready();
	ok(is_ahead(7, ""), "what could not start ahead is started anew");
	kw_module_ahead(&host, 2, 1);
	spawned(2, &c);
	kw_child_close(&c);
	kw_module_ahead(&host, 2, 1);
	kw_module_ahead_ready();
	is_str(spawned(2, &c), "ahead-2", "one is used once");
	kw_child_close(&c);
}

static void test_triton(void)
{
	struct kw_child c;

	host.triton = true;
	kw_module_expect(&host, true);
	host.triton = false;
	is_str(spawned(3, &c), "triton", "what modules with Triton will want is imported before they come");
	kw_child_close(&c);
	host.triton = true;
	kw_module_ahead(&host, 3, 1);
	host.triton = false;
	kw_module_ahead_ready();
	ok(is_ahead(3, ""), "one with Triton is not taken for who does not want it");
	kw_module_ahead(&host, 3, 1);
	kw_module_ahead_ready();
	host.triton = true;
	is_str(spawned(3, &c), "ahead-3", "for one with Triton it is");
	kw_child_close(&c);
	is_str(spawned(3, &c), "triton", "and the one without is not");
	kw_child_close(&c);
	host.interpreted = true;
	kw_module_expect(&host, true);
	host.triton = host.interpreted = false;
	is_str(spawned(3, &c), "ahead-3", "what Triton's import has ended does not end what waits");
	kw_child_close(&c);
	ok(spawned(3, &c)[0], "and modules without it are played: %s", err.text);
	kw_child_close(&c);
}

static void test_end(void)
{
	int left = 0;

	kw_module_ahead(&host, 4, 3);
	kw_module_dismiss();
	while (waitpid(-1, NULL, WNOHANG) > 0)
		left++;
	is_int(left, 0, "what waits is ended with the judge, and waited for");
}

int main(void)
{
	struct kw_arena a;

	kw_arena_init(&a, 8 << 20);
	if (!load_host(&a)) {
		printf("1..0 # SKIP no Python: %s\n", err.text);
		return 0;
	}
	test_killed(&a);
	test_taken();
	test_not_taken();
	test_triton();
	test_end();
	kw_arena_release(&a);
	return done();
}
