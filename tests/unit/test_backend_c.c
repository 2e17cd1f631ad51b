/* The C backend: objects that run, messages with the candidate's own lines, the cache. */
#include "backend/backend.h"
#include "backend/c.h"
#include "backend/cache.h"
#include "backend/diagnostics.h"
#include "backend/elf.h"
#include "base/proc.h"

#include "tap.h"
#include "temp.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

static struct kw_bound_kernel kernel = { .name = "k" };
static struct kw_bound_plan plan = { .applicable = true, .kernels = &kernel, .kernel_count = 1 };

static enum kw_status build_with(const char *source, const struct kw_build_opts *o, const char *const *flags, size_t flag_count,
				 struct kw_build_result *r, struct kw_error *err)
{
	static const char *list[8];
	struct kw_candidate c = { .name = "mine.c", .backend = "c", .source = source, .source_len = strlen(source) };

	for (size_t i = 0; i < flag_count; i++)
		list[i] = flags[i];
	c.plan.flags = list;
	c.plan.flag_count = flag_count;
	return kw_build(kw_backend_find("c"), &c, &plan, o, r, err);
}

static enum kw_status build(const char *source, struct kw_build_result *r)
{
	struct kw_error err = { 0 };
	enum kw_status s = build_with(source, NULL, NULL, 0, r, &err);

	if (s != KW_OK)
		diag("%s", err.text);
	return s;
}

/* The function, loaded from memory; the handle is kept open. */
static void *load(const struct kw_build_result *r, const char *name)
{
	int fd = memfd_create("object", 0);
	char path[64];
	void *handle;

	if (fd < 0 || write(fd, r->artefact.code, r->artefact.code_bytes) != (ssize_t)r->artefact.code_bytes)
		return NULL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	close(fd);
	return handle ? dlsym(handle, name) : NULL;
}

static void test_builds(void)
{
	static const char source[] = "void k(const float *x, float *y, int64_t n)\n{\n"
				     "\t#pragma omp parallel for simd\n"
				     "\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = kw_expf(x[i]) + FACTOR;\n}\n";
	struct kw_intenv_var two = { "FACTOR", 2 }, three = { "FACTOR", 3 };
	struct kw_build_result r, again, other;
	void (*k)(const float *, float *, int64_t) = NULL;
	float x[3] = { 0, 1, -1 }, y[3] = { 0 };
	void *symbol;

	plan.defines = &two;
	plan.define_count = 1;
	is_int(build(source, &r), KW_OK, "builds");
	is_int(r.cls, KW_V_OK, "the object is good");
	if (r.cls != KW_V_OK && r.artefact.log)
		diag("%s", r.artefact.log);
	is_str(r.artefact.kind, "elf-so", "its kind");
	ok(strncmp(r.artefact.toolchain, "gcc ", 4) == 0 || strncmp(r.artefact.toolchain, "clang ", 6) == 0, "made by %s",
	   r.artefact.toolchain);
	is_int(r.artefact.cached, false, "not from the cache");
	ok(r.artefact.build_ns > 0, "the time is told");
	symbol = load(&r, "k");
	if (ok(symbol != NULL, "it loads")) {
		memcpy(&k, &symbol, sizeof(symbol));
		k(x, y, 3);
		ok(y[0] == 3.0f && y[1] > 4.71f && y[1] < 4.72f, "it computes (%g %g)", (double)y[0], (double)y[1]);
	}
	is_int(build(source, &again), KW_OK, "builds again");
	is_int(again.artefact.cached, true, "from the cache");
	ok(again.artefact.code_bytes == r.artefact.code_bytes &&
		   memcmp(again.artefact.code, r.artefact.code, r.artefact.code_bytes) == 0, "the same bytes");
	is_str(again.artefact.toolchain, r.artefact.toolchain, "by the same compiler");
	is_str(again.artefact.key, r.artefact.key, "under the same key");
	plan.defines = &three;
	is_int(build(source, &other), KW_OK, "builds with another define");
	is_int(other.artefact.cached, false, "which is another object");
	kw_build_result_release(&r);
	kw_build_result_release(&again);
	kw_build_result_release(&other);
	plan.defines = NULL;
	plan.define_count = 0;
}

static void test_messages(void)
{
	static const struct {
		const char *name, *source, *message;
		enum kw_verdict_class cls;
		enum kw_subclass subclass;
		int line;
	} cases[] = {
		{ "syntax", "void k(float *x)\n{\n\tx[0] = 1\n}\n", "expected ';'", KW_V_BUILD_ERROR, KW_S_SYNTAX, 3 },
		{ "undeclared", "void k(float *x)\n{\n\n\tx[0] = nothing;\n}\n", "nothing", KW_V_BUILD_ERROR, KW_S_UNDEFINED, 4 },
		{ "no such function", "void k(float *x)\n{\n\tx[0] = foo(1);\n}\n", "foo", KW_V_BUILD_ERROR, KW_S_UNDEFINED, 3 },
		{ "no such symbol", "float foo(int);\nvoid k(float *x)\n{\n\tx[0] = foo(1);\n}\n", "'foo'", KW_V_BUILD_ERROR,
		  KW_S_UNDEFINED, 1 },
		{ "no such type", "void k(half *x)\n{\n}\n", "half", KW_V_BUILD_ERROR, KW_S_UNDEFINED, 1 },
		{ "include", "#include <nowhere.h>\nvoid k(void)\n{\n}\n", "nowhere.h", KW_V_BUILD_ERROR, KW_S_INCLUDE, 1 },
		{ "include a file", "\n#include \"/etc/passwd\"\nvoid k(void)\n{\n}\n", "/etc/passwd", KW_V_BUILD_ERROR,
		  KW_S_INCLUDE, 2 },
		{ "include from above", "#  include <../../etc/passwd>\nvoid k(void) {}\n", "system headers", KW_V_BUILD_ERROR,
		  KW_S_INCLUDE, 1 },
		{ "member", "void k(float *x)\n{\n\tstruct { int a; } s = { 1 };\n\tx[0] = s.b;\n}\n", "b", KW_V_BUILD_ERROR,
		  KW_S_TYPE, 4 },
		{ "arguments", "void k(float *x)\n{\n\tx[0] = kw_expf();\n}\n", "argument", KW_V_BUILD_ERROR, KW_S_TYPE, 3 },
		{ "bits are no number", "void k(kw_f16 *x)\n{\n\tx[0] = x[1] * 2;\n}\n", "", KW_V_BUILD_ERROR, KW_S_TYPE, 3 },
		{ "entry", "void other(float *x)\n{\n\tx[0] = 1;\n}\nstatic void k(void)\n{\n}\nvoid *p = k;\n", "other",
		  KW_V_LAUNCH_ERROR, KW_S_ENTRY, 0 },
		{ "nothing", "", "there is none", KW_V_LAUNCH_ERROR, KW_S_ENTRY, 0 },
		{ "too large", "char t[0x7fffffffffffffff];\nchar u[9];\nvoid k(void)\n{\n}\nint v[0x3fffffffffffffff];\n", "",
		  KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 6 },
#if defined(__x86_64__)
		{ "architecture", "#include <immintrin.h>\nvoid k(__m128i *x)\n{\n\tx[0] = _mm_sha256msg1_epu32(x[0], x[1]);\n"
				  "\t__asm__(\"enqcmd (%rax), %rbx\");\n}\n__attribute__((target(\"no-avx\"))) void l(__m256 *y)\n{\n"
				  "\t*y = _mm256_add_ps(*y, *y);\n}\n", "", KW_V_BUILD_ERROR, KW_S_BUILD_ARCHITECTURE, -1 },
#endif
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kw_build_result r;
		const struct kw_diagnostic *first = NULL;

		is_int(build(cases[i].source, &r), KW_OK, "%s: a result, no error", cases[i].name);
		is_int(r.cls, cases[i].cls, "%s: class", cases[i].name);
		is_str(kw_subclass_name(r.subclass), kw_subclass_name(cases[i].subclass), "%s: sub-class", cases[i].name);
		for (size_t k = 0; k < r.artefact.diagnostic_count && !first; k++)
			if (r.artefact.diagnostics[k].severity == KW_ERROR)
				first = &r.artefact.diagnostics[k];
		if (ok(first != NULL, "%s: has a message", cases[i].name)) {
			has_str(first->message, cases[i].message, "%s: the message", cases[i].name);
			if (cases[i].line >= 0)
				is_int(first->line, cases[i].line, "%s: the line", cases[i].name);
			is_str(first->file, "mine.c", "%s: the file", cases[i].name);
		}
		kw_build_result_release(&r);
	}
}

static void test_clang(void)
{
	struct kw_build_opts o = { .compiler = "clang" };
	struct kw_build_result r;
	struct kw_error err = { 0 };
	char path[512];

	if (!kw_proc_which("clang", path, sizeof(path))) {
		skip(5, "no clang here");
		return;
	}
	is_int(build_with("void k(float *x)\n{\n\tx[0] = nothing;\n}\n", &o, NULL, 0, &r, &err), KW_OK, "clang runs");
	is_str(kw_subclass_name(r.subclass), "undefined", "clang: sub-class");
	is_int(r.artefact.diagnostic_count > 0 ? r.artefact.diagnostics[0].line : 0, 3, "clang: line");
	is_str(r.artefact.diagnostic_count > 0 ? r.artefact.diagnostics[0].file : NULL, "mine.c", "clang: file");
	kw_build_result_release(&r);
	build_with("void k(float *x)\n{\n\tx[0] = 1;\n}\n", &o, NULL, 0, &r, &err);
	is_int(r.cls, KW_V_OK, "clang builds");
	kw_build_result_release(&r);
}

static void test_flags(void)
{
	const char *fast = "-ffast-math", *plugin = "-fplugin=/tmp/evil.so", *typo = "-ffastmath";
	static const char subnormal[] = "void k(const float *x, float *y)\n{\n\ty[0] = x[0] * 0.5f;\n}\n";
	struct kw_build_result r;
	struct kw_error err = { 0 };
	volatile float tiny = 1e-39f;
	void *symbol;

	is_int(build_with(subnormal, NULL, &fast, 1, &r, &err), KW_OK, "-ffast-math is allowed");
	is_int(r.cls, KW_V_OK, "and builds");
	symbol = load(&r, "k");
	ok(symbol && tiny * 0.5f > 0, "loading it leaves the process's subnormals alone");
	kw_build_result_release(&r);
	build_with(subnormal, NULL, &plugin, 1, &r, &err);
	is_str(kw_subclass_name(r.subclass), "plan", "a plug-in is not");
	is_int(r.cls, KW_V_BUILD_ERROR, "which is a failed build");
	kw_build_result_release(&r);
	build_with(subnormal, NULL, &typo, 1, &r, &err);
	has_str(r.artefact.diagnostic_count ? r.artefact.diagnostics[0].message : NULL, "'-ffast-math'", "a typo gets a hint");
	kw_build_result_release(&r);
	ok(kw_flag_allowed("-mprefer-vector-width=512"), "a flag with a value");
	ok(!kw_flag_allowed("-mprefer-vector-width="), "but not without");
	ok(!kw_flag_allowed("-mtune=x/../../y"), "nor with a path");
	ok(!kw_flag_allowed("-lopenblas") && !kw_flag_allowed("@file") && !kw_flag_allowed("-o") &&
		   !kw_flag_allowed("-wrapper") && !kw_flag_allowed("-include"), "no libraries, files or programs");
}

static void test_timeout(void)
{
	static const char slow[] = "#define E0(x) x x x x x x x x x x\n#define E1(x) E0(E0(x))\n#define E2(x) E1(E1(x))\n"
				   "#define E3(x) E2(E2(x))\nstatic volatile int v;\nvoid k(void)\n{\n\tE3(v++;)\n}\n";
	struct kw_build_opts o = { .timeout_ms = 400 };
	struct kw_build_result r;
	struct kw_error err = { 0 };

	is_int(build_with(slow, &o, NULL, 0, &r, &err), KW_OK, "a compiler that does not end is a result");
	is_str(kw_subclass_name(r.subclass), "timeout", "timeout");
	kw_build_result_release(&r);
}

static size_t count_entries(const char *dir, struct kw_arena *a, char ***names)
{
	size_t n = 0;

	return kw_dir_list(dir, ".kwb", a, names, &n, NULL) == KW_OK ? n : 0;
}

/* Damaged entries, locks left behind, a cache that cannot be written (case E11, cheat 33). */
static void test_cache(void)
{
	static const char source[] = "void k(float *x)\n{\n\tx[0] = 7;\n}\n";
	char dir[PATH_MAX + 64], path[PATH_MAX + 256];
	struct kw_build_result r;
	struct kw_build_opts no_cache = { .no_cache = true };
	struct kw_error err = { 0 };
	struct kw_arena a;
	char **names;
	FILE *f;
	size_t n;

	kw_arena_init(&a, 1 << 20);
	snprintf(dir, sizeof(dir), "%s/cache/kernelwright/build", temp_dir());
	build(source, &r);
	snprintf(path, sizeof(path), "%s/%s.kwb", dir, r.artefact.key);
	ok(kw_path_exists(path), "an entry is where its key says");
	kw_build_result_release(&r);

	f = fopen(path, "r+");
	if (ok(f != NULL, "damage it")) {
		fseek(f, -100, SEEK_END);
		fputs("damaged", f);
		fclose(f);
	}
	build(source, &r);
	ok(r.cls == KW_V_OK && !r.artefact.cached, "a damaged entry is built anew");
	kw_build_result_release(&r);
	if (truncate(path, 60) != 0)
		diag("truncate failed");
	build(source, &r);
	ok(r.cls == KW_V_OK && !r.artefact.cached, "so is half an entry");
	kw_build_result_release(&r);
	build(source, &r);
	ok(r.artefact.cached, "and is there again");
	kw_build_result_release(&r);

	snprintf(path, sizeof(path), "%s/lock", dir);
	f = fopen(path, "w");
	if (f)
		fclose(f);
	build("void k(float *x)\n{\n\tx[0] = 8;\n}\n", &r);
	is_int(r.cls, KW_V_OK, "a lock file that somebody left is nobody's lock");
	kw_build_result_release(&r);
	build_with(source, &no_cache, NULL, 0, &r, &err);
	ok(r.cls == KW_V_OK && !r.artefact.cached, "no_cache does not read it");
	kw_build_result_release(&r);

	n = count_entries(dir, &a, &names);
	ok(n > 2, "%zu entries", n);
	kw_cache_trim(1);
	is_int(count_entries(dir, &a, &names), 0, "trimmed to nothing");
	setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
	build(source, &r);
	is_int(r.cls, KW_V_OK, "a cache that cannot be is no error");
	kw_build_result_release(&r);
	setenv("XDG_CACHE_HOME", temp_file("cache"), 1);
	kw_arena_release(&a);
}

static void test_no_compiler(void)
{
	struct kw_build_result r;
	struct kw_error err = { 0 };
	char *path = strdup(getenv("PATH") ? getenv("PATH") : "");
	char text[200];

	setenv("KWRIGHT_CC", "/nowhere/cc", 1);
	is_int(build_with("void k(void) {}\n", NULL, NULL, 0, &r, &err), KW_ERR_ENV, "a compiler that is not there");
	has_str(err.text, "/nowhere/cc", "it is named");
	has_str(err.text, "KWRIGHT_CC", "and who named it");
	setenv("KWRIGHT_CC", "/bin/false", 1);
	is_int(build_with("void k(void) {}\n", NULL, NULL, 0, &r, &err), KW_ERR_ENV, "a compiler that is none");
	unsetenv("KWRIGHT_CC");
	setenv("PATH", "/nowhere", 1);
	is_int(build_with("void k(void) {}\n", NULL, NULL, 0, &r, &err), KW_ERR_ENV, "no compiler at all");
	has_str(err.text, "apt-get install gcc", "what to install");
	setenv("PATH", path, 1);
	is_int(kw_backend_find("c")->probe(text, sizeof(text), &err), KW_OK, "the probe: %s", text);
	ok(kw_backend_find("nothing") == NULL && kw_backend_find(NULL) == NULL, "unknown backends");
	free(path);
}

/* A build leaves no folder behind, whether it works or not. */
static void test_tidy(void)
{
	struct kw_build_result r;
	struct kw_arena a;
	char **names = NULL;
	size_t n = 0, left = 0;

	setenv("TMPDIR", temp_dir(), 1);
	build("void k(float *x)\n{\n\tx[0] = 9;\n}\n", &r);
	is_int(r.cls, KW_V_OK, "builds in $TMPDIR");
	kw_build_result_release(&r);
	build("void k(float *x)\n{\n\tx[0] = ;\n}\n", &r);
	is_int(r.cls, KW_V_BUILD_ERROR, "fails there");
	kw_build_result_release(&r);
	kw_arena_init(&a, 1 << 20);
	if (kw_dir_list(temp_dir(), NULL, &a, &names, &n, NULL) == KW_OK)
		for (size_t i = 0; i < n; i++)
			left += strncmp(names[i], "kw-build-", 9) == 0;
	is_int(left, 0, "no folder is left");
	kw_arena_release(&a);
}

/* Random bytes for the two parsers: they must only not fall over. */
static void test_garbage(void)
{
	static unsigned char bytes[4096];
	uint64_t state = 1;
	struct kw_elf_facts facts;
	struct kw_diagnostics d;
	struct kw_buf out;

	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			bytes[i] = (unsigned char)(round % 2 ? (state >> 56) : (unsigned char)"[]{}\":, \nerror: 1\x7f"[(state >> 56) % 18]);
		}
		memcpy(bytes, "\177ELF\2\1\1", 7);
		kw_buf_init(&out, 1 << 16);
		kw_elf_facts(bytes, sizeof(bytes), &facts);
		kw_elf_has_function(bytes, sizeof(bytes), "k");
		kw_elf_list_functions(bytes, sizeof(bytes), &out);
		kw_buf_release(&out);
		kw_diagnostics_init(&d, "p", "n");
		kw_diagnostics_parse(&d, (const char *)bytes + 7, sizeof(bytes) - 7, "source");
		kw_diagnostics_release(&d);
	}
	ok(true, "garbage is survived");
}

int main(void)
{
	unsetenv("KWRIGHT_CC");
	setenv("XDG_CACHE_HOME", temp_file("cache"), 1);
	test_builds();
	test_messages();
	test_clang();
	test_flags();
	test_timeout();
	test_no_compiler();
	test_garbage();
	test_cache();
	test_tidy();
	return done();
}
