/* The module backend: what its builds are kept by. Its Python has records of packages only, as none is imported to read a candidate. */
#include "backend/backend.h"
#include "base/file.h"
#include "base/proc.h"
#include "python/python.h"

#include "tap.h"
#include "temp.h"

#include <sys/stat.h>
#include <sys/wait.h>

static const char plain[] = "class ModelNew:\n    def __call__(self, x):\n        return 2 * x\n";
static const char with_inline[] = "# load_inline is not called here\nclass ModelNew:\n    def __call__(self, x):\n        return 2 * x\n";

static bool write_text(const char *path, const char *text)
{
	return kw_file_write(path, text, strlen(text), NULL) == KW_OK;
}

/* A Python of our own, with what pip would have written of these versions. */
static bool make_python(const char *torch, const char *triton)
{
	char script[PATH_MAX * 2];
	const char *argv[] = { "/bin/sh", "-c", script, NULL };
	struct kw_proc_opts o = { .timeout_ms = 120000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result r = { 0 };
	bool done;

	snprintf(script, sizeof(script), "cd %s && { test -d v || python3 -m venv --without-pip v; } && cd v/lib/python3*/site-packages && "
		 "rm -rf *.dist-info && for p in torch-%s triton-%s; do mkdir $p.dist-info && "
		 "printf 'Metadata-Version: 2.1\\nName: %%s\\nVersion: %%s\\n' ${p%%-*} ${p#*-} > $p.dist-info/METADATA; done", temp_dir(), torch,
		 triton);
	done = kw_proc_run(argv, &o, &r, NULL) == KW_OK && r.exit_code == 0;
	kw_proc_result_release(&r);
	return done;
}

/* 1: from the cache, 0: built, -1: neither. */
static int build(const char *source)
{
	struct kw_bound_kernel kernel = { .name = "k" };
	struct kw_bound_plan plan = { .applicable = true, .kernels = &kernel, .kernel_count = 1 };
	struct kw_candidate c = { .name = "mine.py", .backend = "module", .source = source, .source_len = strlen(source) };
	struct kw_build_result r = { 0 };
	struct kw_error err = { 0 };
	int said = -1;

	if (kw_build(kw_backend_find("module"), &c, &plan, &(struct kw_build_opts){ 0 }, &r, &err) == KW_OK && r.cls == KW_V_OK)
		said = r.artefact.cached;
	else
		diag("%s %s", err.where, err.text);
	kw_build_result_release(&r);
	return said;
}

static enum kw_subclass refused_as(const char *source)
{
	struct kw_bound_kernel kernel = { .name = "k" };
	struct kw_bound_plan plan = { .applicable = true, .kernels = &kernel, .kernel_count = 1 };
	struct kw_candidate c = { .name = "mine.py", .backend = "module", .source = source, .source_len = strlen(source) };
	struct kw_build_result r = { 0 };
	struct kw_error err = { 0 };
	enum kw_subclass said = KW_S_COUNT;

	if (kw_build(kw_backend_find("module"), &c, &plan, &(struct kw_build_opts){ 0 }, &r, &err) != KW_OK)
		diag("%s %s", err.where, err.text);
	else if (r.cls == KW_V_BUILD_ERROR && r.artefact.diagnostic_count == 1)
		said = r.subclass;
	kw_build_result_release(&r);
	return said;
}

/* Who names load_inline is read by the process that would compile it, and refused as anyone. */
static void test_refused(void)
{
	is_int(refused_as("load_inline\nclass ModelNew(:\n"), KW_S_SYNTAX, "what Python cannot read");
	is_int(refused_as("load_inline\n"), KW_S_UNDEFINED, "no class");
	is_int(refused_as("load_inline\nclass ModelNew: pass\nModelNew = 1\n"), KW_S_BUILD_PLAN, "two");
	is_int(refused_as("# load_inline \xff\nclass ModelNew: pass\n"), KW_S_SYNTAX, "no UTF-8");
	is_int(refused_as("# \xff\nclass ModelNew: pass\n"), KW_S_SYNTAX, "neither without it");
}

static void test_compilers(void)
{
	char path[PATH_MAX * 2], folder[PATH_MAX];

	is_int(build(plain), 1, "what was kept of them is there");
	is_int(build(with_inline), 0, "one with load_inline");
	is_int(build(with_inline), 1, "is kept too");
	snprintf(folder, sizeof(folder), "%s", temp_file("bin"));
	kw_mkdirs(folder, NULL);
	snprintf(path, sizeof(path), "%s/g++", folder);
	ok(write_text(path, "#!/bin/sh\nexec /usr/bin/g++ \"$@\"\n") && chmod(path, 0755) == 0, "another g++");
	snprintf(path, sizeof(path), "%s:%s", folder, getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	setenv("PATH", path, 1);
	is_int(build(with_inline), 0, "is another compiler");
	is_int(build(plain), 1, "for who compiles something");
	snprintf(folder, sizeof(folder), "%s", temp_file("cuda/bin"));
	kw_mkdirs(folder, NULL);
	snprintf(path, sizeof(path), "%s/nvcc", folder);
	ok(write_text(path, "#!/bin/sh\n") && chmod(path, 0755) == 0, "a CUDA of one's own");
	setenv("CUDA_HOME", temp_file("cuda"), 1);
	is_int(build(with_inline), 0, "has another nvcc");
	is_int(build(with_inline), 1, "which stays the same");
	ok(write_text(path, "#!/bin/sh\n# a newer one\n"), "it is updated");
	is_int(build(with_inline), 0, "and is another again");
}

/* In a process of its own, as what was found of a Python is remembered. */
static int build_apart(const char *source)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(build(source) + 1);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) - 1 : -1;
}

static void test_packages(void)
{
	ok(make_python("2.11.0", "3.7.0"), "a newer Triton");
	is_int(build_apart(plain), 0, "may compile otherwise");
	ok(make_python("2.12.0", "3.7.0"), "a newer PyTorch");
	is_int(build_apart(plain), 0, "too");
	is_int(build_apart(plain), 1, "and is kept");
	ok(make_python("2.11.0", "3.6.0"), "those that were there before");
}

int main(void)
{
	char cache[PATH_MAX], python[PATH_MAX];

	snprintf(cache, sizeof(cache), "%s", temp_file("cache"));
	snprintf(python, sizeof(python), "%s", temp_file("v/bin/python3"));
	setenv("XDG_CACHE_HOME", cache, 1);
	unsetenv("CUDA_HOME");
	unsetenv("CUDA_PATH");
	kw_python_use(python);
	if (!make_python("2.11.0", "3.6.0")) {
		printf("1..0 # SKIP no python3 that makes environments\n");
		return 0;
	}
	is_int(build_apart(plain), 0, "a module is read");
	test_packages();
	test_refused();
	test_compilers();
	return done();
}
