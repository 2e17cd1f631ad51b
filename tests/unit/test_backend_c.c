/* The C backend: objects that run, messages with the candidate's own lines, the cache. */
#include "backend/backend.h"
#include "backend/c.h"
#include "backend/cache.h"
#include "backend/diagnostics.h"
#include "backend/elf.h"
#include "backend/signature.h"
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

/* Variables that outlive a call, and nothing of the start files'. */
static void test_variables(void)
{
	static const struct {
		const char *name, *source;
		int64_t bytes;
	} cases[] = {
		{ "none", "void k(float *x)\n{\n\tx[0] = 1;\n}\n", 0 },
		{ "constants", "static const float t[4] = { 1, 2, 3, 4 };\nvoid k(float *x, int64_t n)\n{\n\tx[0] = t[n & 3];\n}\n", 0 },
		{ "a counter", "void k(float *x)\n{\n\tstatic int calls;\n\tx[0] = calls++;\n}\n", 4 },
		{ "a table and a pointer", "static double t[3] = { 1 };\nchar *p;\nvoid k(double *x)\n{\n\tx[0] = t[0]++ + !p;\n}\n", 32 },
		{ "one of a thread", "static _Thread_local int calls;\nvoid k(float *x)\n{\n\tx[0] = calls++;\n}\n", 4 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kw_build_result r;

		is_int(build(cases[i].source, &r), KW_OK, "variables: %s", cases[i].name);
		is_int(kw_json_get_i64(r.artefact.facts, "writable_bytes", -1), cases[i].bytes, "variables: %s: bytes", cases[i].name);
		kw_build_result_release(&r);
	}
}

#define TWO_WRONG "\t{ x[0] = nothing; }\n\t{ int *p = missing; }\n"
#define TEN_WRONG TWO_WRONG "\t{ q1(); }\n" "\t{ q2(); }\n" "\t{ q3(); }\n" "\t{ q4(); }\n" TWO_WRONG TWO_WRONG

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
		{ "more errors than gcc tells", "void k(float *x)\n{\n" TEN_WRONG TEN_WRONG TEN_WRONG "}\n", "nothing", KW_V_BUILD_ERROR,
		  KW_S_UNDEFINED, 3 },
		{ "a file that includes itself", "\n#include __FILE__\nvoid k(void) {}\n", "nested", KW_V_BUILD_ERROR, KW_S_INCLUDE, 2 },
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

/* k(x, h, m, y, w, n, eps): inputs of f32, f16 and bool, an output, a workspace of f64, two numbers. */
static enum kw_status build_kernel(const char *source, const char *compiler, struct kw_build_result *r, struct kw_error *err)
{
	static struct kw_plan_arg passed[] = { { .kind = KW_ARG_TENSOR, .name = "x" },    { .kind = KW_ARG_TENSOR, .name = "h" },
					       { .kind = KW_ARG_TENSOR, .name = "m" },    { .kind = KW_ARG_TENSOR, .name = "y" },
					       { .kind = KW_ARG_WORKSPACE, .name = "w" }, { .kind = KW_ARG_SCALAR, .name = "n" },
					       { .kind = KW_ARG_PARAM, .name = "eps" } };
	static struct kw_bound_arg args[] = { { .kind = KW_ARG_TENSOR, .dtype = KW_F32 },
					      { .kind = KW_ARG_TENSOR, .index = 1, .dtype = KW_F16 },
					      { .kind = KW_ARG_TENSOR, .index = 2, .dtype = KW_BOOL },
					      { .kind = KW_ARG_TENSOR, .index = 3, .dtype = KW_F32, .writable = true },
					      { .kind = KW_ARG_WORKSPACE, .dtype = KW_F64, .writable = true },
					      { .kind = KW_ARG_SCALAR, .dtype = KW_I64 },
					      { .kind = KW_ARG_PARAM, .dtype = KW_F32 } };
	/* A second one of output and workspace, where the source has it. */
	static struct kw_plan_kernel plan_lines[2] = { { .name = "k", .args = passed, .arg_count = 7, .line = 1 },
						       { .name = "l", .args = passed + 3, .arg_count = 2, .line = 1 } };
	static struct kw_bound_kernel kernels[2] = { { .name = "k", .args = args, .arg_count = 7 },
						     { .name = "l", .args = args + 3, .arg_count = 2 } };
	size_t count = strstr(source, "void l(") ? 2 : 1;
	struct kw_bound_plan bound = { .applicable = true, .kernels = kernels, .kernel_count = count };
	struct kw_candidate c = { .name = "mine.c", .backend = "c", .source = source, .source_len = strlen(source),
				  .plan = { .kernels = plan_lines, .kernel_count = count } };
	struct kw_build_opts o = { .compiler = compiler };

	return kw_build(kw_backend_find("c"), &c, &bound, &o, r, err);
}

static const struct signature {
	const char *before, *parameters;  /* "\n" and what stands before; then void k(parameters) */
	const char *message;              /* NULL: it fits */
} signatures[] = {
	{ "", "const float *x, const kw_f16 *h, const uint8_t *m, float *y, double *w, int64_t n, float eps", NULL },
	{ "", "float *a, kw_f16 *b, uint8_t *c, float *restrict d, double *__restrict e, long f, float g", NULL },
	{ "", "const float *const x, const uint16_t *h, const _Bool *m, float *y, double *w, long long n, const float eps", NULL },
	{ "", "const void *x, const void *h, const void *m, void *y, void *w, size_t n, float eps", NULL },
	{ "", "const uint32_t *x, const int16_t *h, const char *m, float y[], double w[static 1], int n, float eps", NULL },
	{ "typedef float real; typedef const kw_f16 *halves; enum e { A };",
	  "const real *x, halves h, const signed char *m, real *y, double *w, enum e n, real eps", NULL },
	{ "typedef struct { float v[4]; } four; typedef struct { int a; } half; typedef float eight __attribute__((vector_size(32)));",
	  "const four *x, const half *h, const uint8_t *m, eight *y, double (*w)[8], int64_t n, float eps", NULL },
	{ "#define const\n#define double float\n#define int64_t short",
	  "const float *x, const kw_f16 *h, const uint8_t *m, float *y, void *w, int64_t n, float eps", NULL },
	{ "#pragma GCC diagnostic ignored \"-Wincompatible-pointer-types\"",
	  "const float *x, const kw_f16 *h, const uint8_t *m, float *y, double *w, unsigned n, float eps", NULL },
	{ "", "", NULL }, /* no prototype: nothing is known */
	{ "void l(const float *y, const double *w) { }", /* what another kernel has written */
	  "const float *x, const kw_f16 *h, const uint8_t *m, float *y, const double *w, int64_t n, float eps", NULL },
	{ "void l(const float *y, const double *w) { }",
	  "const float *x, const kw_f16 *h, const uint8_t *m, const float *y, double *w, int64_t n, float eps",
	  "parameter 4 of 'k' is 'const float *', but the kernel line passes y, an output: expected 'float *', which can be" },
	{ "", "void", "'k' has 0 parameters, but its kernel line passes 7 arguments" },
	{ "", "const float *x", "'k' has 1 parameter, but its kernel line passes 7 arguments" },
	{ "", "const float *x, const kw_f16 *h, const uint8_t *m, float *y, double *w, int64_t n, float eps, int more", "8 parameters" },
	{ "", "const float *x, const kw_f16 *h, const uint8_t *m, const float *y, double *w, int64_t n, float eps",
	  "parameter 4 of 'k' is 'const float *', but the kernel line passes y, an output: expected 'float *', which can be" },
	{ "", "const float *x, const kw_f16 *h, const uint8_t *m, const void *y, double *w, int64_t n, float eps", "which can be written" },
	{ "typedef const double *doubles;", "doubles x, const kw_f16 *h, const uint8_t *m, float *y, double *w, int64_t n, float eps",
	  "parameter 1 of 'k' is 'doubles', but the kernel line passes x, an input: expected 'const float *', elements" },
	{ "", "const int *x, const kw_f16 *h, const uint8_t *m, float *y, double *w, int64_t n, float eps", "parameter 1" },
	{ "", "const float **x, const kw_f16 *h, const uint8_t *m, float *y, double *w, int64_t n, float eps", "parameter 1" },
	{ "", "const float *x, const kw_bf16 *h, const uint8_t *m, float *y, double *w, int64_t n, float eps", "parameter 2" },
	{ "", "const float *x, const float *h, const uint8_t *m, float *y, double *w, int64_t n, float eps", "parameter 2" },
	{ "", "const float *x, const kw_f16 *h, const int *m, float *y, double *w, int64_t n, float eps", "parameter 3" },
	{ "", "const float *x, const kw_f16 *h, const uint8_t *m, float *y, float *w, int64_t n, float eps",
	  "passes w, a workspace: expected 'double *'" },
	{ "", "const float *x, const kw_f16 *h, const uint8_t *m, float *y, double *w, float n, float eps",
	  "parameter 6 of 'k' is 'float', but the kernel line passes n: expected 'int64_t', a whole number" },
	{ "", "const float *x, const kw_f16 *h, const uint8_t *m, float *y, double *w, int64_t *n, float eps", "a number" },
	{ "", "const float *x, const kw_f16 *h, const uint8_t *m, float *y, double *w, int64_t n, double eps",
	  "parameter 7 of 'k' is 'double', but the kernel line passes eps: expected 'float'" },
	{ "", "const float *x, const kw_f16 *h, const uint8_t *m, float *y, double *w, int64_t n, int eps", "parameter 7" },
	{ "", "const float *x, const kw_f16 *h, uint8_t m, float *y, double *w, int64_t n, float eps", "a pointer" },
	{ "struct s { int a; };", "struct s x, const kw_f16 *h, uint8_t *m, float *y, double *w, int64_t n, float eps", "a pointer" },
};

/* Every step-th of them. */
static void test_signatures(const char *compiler, size_t step)
{
	char source[1000];

	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i += step) {
		const struct signature *s = &signatures[i];
		const struct kw_diagnostic *first;
		struct kw_build_result r;
		struct kw_error err = { 0 };

		snprintf(source, sizeof(source), "%s\nvoid k(%s)\n{\n}", s->before, s->parameters);
		if (!ok(build_kernel(source, compiler, &r, &err) == KW_OK, "%s", s->parameters))
			diag("%s", err.text);
		first = r.artefact.diagnostic_count ? &r.artefact.diagnostics[0] : NULL;
		if (!s->message) {
			if (!ok(r.cls == KW_V_OK, "(%s) fits", s->parameters))
				diag("%s", r.artefact.log);
			ok(!first, "and nothing is said about it");
		} else {
			is_str(kw_subclass_name(r.subclass), "type", "(%s) does not", s->parameters);
			has_str(first ? first->message : "", s->message, "its message");
			is_int(first ? first->line : 0, s->before[0] == '#' ? 4 : 2, "its line");
		}
		kw_build_result_release(&r);
	}
	for (int broken = 0; broken < 2; broken++) { /* the declaration of ours is not there when the source is to blame */
		struct kw_build_result r;
		struct kw_error err = { 0 };

		build_kernel(broken ? "void k(float *x)\n{\n\tx[0] = 1;\n" : "void other(void)\n{\n}\n", compiler, &r, &err);
		is_str(kw_subclass_name(r.subclass), broken ? "syntax" : "entry", "a fault of the source");
		for (size_t i = 0; i < r.artefact.diagnostic_count; i++)
			is_str(r.artefact.diagnostics[i].file, "mine.c", "at its own place");
		kw_build_result_release(&r);
	}
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

/* What compilers, assemblers and linkers print, as it was recorded; and what is read from it. */
static void test_texts(void)
{
	static const char source[] = "void helper(float);\nextern float hidden;\n__asm__(\".incbin \\\"/etc/x\\\"\");\n"
				     "void k(void)\n{\n\thelper(hidden);\n}\nvoid _init(void) {}\n";
	static const struct {
		const char *name, *text;
		enum kw_subclass cls;             /* of the first error */
		int line;                         /* of it */
		const char *message;
		size_t count;
	} texts[] = {
		{ "as: incbin", "[]\n{standard input}: Assembler messages:\n{standard input}:5: Error: file not found: /etc/x\n",
		  KW_S_INCLUDE, 3, "file not found: /etc/x", 1 },
		{ "as: include", "{standard input}: Assembler messages:\n"
				 "{standard input}:4: Error: can't open /etc/y for reading: No such file or directory\n",
		  KW_S_INCLUDE, 3, "can't open", 1 },
		{ "as: a temporary file", "/tmp/ccd.s: Assembler messages:\n/tmp/ccd.s:9: Error: symbol `k' is already defined\n",
		  KW_S_SYNTAX, 4, "already defined", 1 },
		{ "as: in a function", "/b/candidate.c: Assembler messages:\n/b/candidate.c:6: Error: no such instruction: `frob %eax'\n"
				       "/b/candidate.c:6: Warning: odd\n",
		  KW_S_BUILD_ARCHITECTURE, 6, "frob", 2 },
		{ "clang: incbin", "<inline asm>:2:17: error: Could not find incbin file '/etc/x'\n.incbin \"/etc/x\"\n   ^\n"
				   "1 error generated.\n",
		  KW_S_INCLUDE, 3, "/etc/x", 1 },
		{ "clang: no place", "error: symbol 'k' is already defined\n1 error generated.\n", KW_S_SYNTAX, 4, "symbol 'k'", 1 },
		{ "clang: instruction", "/b/candidate.c:6:28: error: invalid instruction mnemonic 'frob'\n"
					"<inline asm>:1:2: note: instantiated into assembly here\n",
		  KW_S_BUILD_ARCHITECTURE, 6, "frob", 2 },
		{ "cc1: memory", "\ncc1: out of memory allocating 8436363680 bytes after a total of 53579776 bytes\n",
		  KW_S_BUILD_RESOURCES, 0, "took more than it may: cc1: out of memory", 1 },
		{ "cc1: memory, older", "virtual memory exhausted: Cannot allocate memory\n", KW_S_BUILD_RESOURCES, 0, "exhausted", 1 },
		{ "gcc: killed", "gcc: fatal error: Killed signal terminated program cc1\ncompilation terminated.\n",
		  KW_S_BUILD_RESOURCES, 0, "Killed", 1 },
		{ "gcc: too large", "gcc: internal compiler error: File size limit exceeded signal terminated program as\n"
				    "Please submit a full bug report, with preprocessed source (by using -freport-bug).\n",
		  KW_S_BUILD_RESOURCES, 0, "took more than it may: File size limit exceeded", 1 },
		{ "clang: memory", "LLVM ERROR: out of memory\nAllocation failed\nStack dump:\n0.\tProgram arguments: clang\n"
				   "clang: error: unable to execute command: Aborted\n"
				   "clang: error: clang frontend command failed due to signal (use -v to see invocation)\n",
		  KW_S_BUILD_RESOURCES, 0, "LLVM ERROR: out of memory", 1 },
		{ "clang: ended", "clang: error: unable to execute command: Killed\n", KW_S_BUILD_RESOURCES, 0, "Killed", 1 },
		{ "ld: undefined", "/usr/bin/ld: /tmp/c.o: in function `k':\nc.c:(.text+0xa): undefined reference to `helper'\n"
				   "/usr/bin/ld: c.c:(.text+0x12): undefined reference to `helper'\n"
				   "collect2: error: ld returned 1 exit status\n",
		  KW_S_UNDEFINED, 1, "'helper'", 1 },
		{ "ld: hidden", "/usr/bin/ld: /tmp/c.o: relocation R_X86_64_PC32 against undefined hidden symbol `hidden' can not be "
				"used when making a shared object\n/usr/bin/ld: final link failed: bad value\n"
				"collect2: error: ld returned 1 exit status\n",
		  KW_S_UNDEFINED, 2, "'hidden'", 1 },
		{ "lld: undefined", "ld.lld: error: undefined symbol: helper\n>>> referenced by c.c\n"
				    "clang: error: linker command failed with exit code 1 (use -v to see invocation)\n",
		  KW_S_UNDEFINED, 1, "'helper'", 1 },
		{ "lld: hidden", "ld.lld: error: undefined hidden symbol: hidden\n", KW_S_UNDEFINED, 2, "'hidden'", 1 },
		{ "ld: twice", "/usr/bin/ld: /tmp/c.o: in function `_init':\nc.c:(.text+0x20): multiple definition of `_init'; "
			       "/usr/lib/crti.o:(.init+0x0): first defined here\ncollect2: error: ld returned 1 exit status\n",
		  KW_S_SYNTAX, 8, "'_init'", 1 },
		{ "lld: twice", "ld.lld: error: duplicate symbol: _init\n>>> defined at crti.o\n", KW_S_SYNTAX, 8, "'_init'", 1 },
		{ "ld: relocation", "/usr/bin/ld: /tmp/c.o: relocation R_X86_64_32 against symbol `data' can not be used when making a "
				    "shared object; recompile with -fPIC\n/usr/bin/ld: failed to set dynamic section sizes: bad value\n",
		  KW_S_TYPE, 0, "relocation", 1 },
		{ "the last words alone", "collect2: error: ld returned 1 exit status\n", KW_S_TYPE, 0, "ld returned", 1 },
		{ "gcc's JSON", "[{\"kind\": \"error\", \"message\": \"'q' undeclared\", \"locations\": [{\"caret\": {\"file\": "
				"\"/b/candidate.c\", \"line\": 7, \"display-column\": 3}}]}]\n",
		  KW_S_UNDEFINED, 7, "'q'", 1 },
		{ "clang's text", "/b/candidate.c:7:3: error: use of undeclared identifier 'q'\n1 error generated.\n", KW_S_UNDEFINED, 7,
		  "'q'", 1 },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct kw_diagnostics d;

		kw_diagnostics_init(&d, "/b/candidate.c", "mine.c");
		kw_diagnostics_parse(&d, texts[i].text, strlen(texts[i].text), source);
		is_str(kw_subclass_name(kw_diagnostics_class(&d)), kw_subclass_name(texts[i].cls), "%s: sub-class", texts[i].name);
		is_int(d.count, texts[i].count, "%s: messages", texts[i].name);
		if (d.count) {
			has_str(d.list[0].message, texts[i].message, "%s: the message", texts[i].name);
			is_int(d.list[0].line, texts[i].line, "%s: the line", texts[i].name);
		}
		kw_diagnostics_parse(&d, texts[i].text, strlen(texts[i].text), NULL);
		kw_diagnostics_release(&d);
	}
}

/* Messages of a file of ours are counted, not kept; nor are the notes after them. */
static void test_aside(void)
{
	static const char text[] = "kw-x:1:2: warning: odd\n/b/candidate.c:3:1: note: declared here\n/b/candidate.c:4:1: warning: real\n"
				   "/b/candidate.c:4:2: note: see here\nkw-x:2:2: error: bad\n";
	struct kw_diagnostics d;

	kw_diagnostics_init(&d, "/b/candidate.c", "mine.c");
	d.aside = "kw-x";
	kw_diagnostics_parse(&d, text, strlen(text), NULL);
	ok(d.aside_errors == 1 && d.aside_warnings == 1, "aside: counted");
	is_int(d.count, 2, "aside: the rest is kept");
	ok(d.log.ptr && !strstr(d.log.ptr, "kw-x") && !strstr(d.log.ptr, "declared"), "aside: not in the log");
	kw_diagnostics_release(&d);
}

/* Random bytes for the two parsers: they must only not fall over. */
static void test_garbage(void)
{
	static unsigned char bytes[4096];
	static struct kw_plan_arg names[2] = { { .name = "x" }, { .name = "y" } };
	static struct kw_plan_kernel line = { .name = "k", .args = names, .arg_count = 2 };
	static struct kw_bound_arg args[2];
	static struct kw_bound_kernel two = { .name = "k", .args = args, .arg_count = 2 };
	struct kw_signature_fault fault;
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
		/* What a compiler might say of the probe, with garbage in it. */
		for (int at = 0; at + 80 < (int)sizeof(bytes); at += 80)
			snprintf((char *)bytes + at, 80, "\nkw-signature:%d:1: error: incompatible type '%s", 1000 + at / 80,
				 at % 7 ? "' {aka '" : "const ");
		kw_signature_fits(&(struct kw_candidate){ .plan = { .kernels = &line, .kernel_count = 1 } },
				  &(struct kw_bound_plan){ .kernels = &two, .kernel_count = 1 }, "p",
				  (struct kw_str){ (const char *)bytes, sizeof(bytes) }, &fault);
	}
	ok(true, "garbage is survived");
}

int main(void)
{
	char path[512];

	unsetenv("KWRIGHT_CC");
	setenv("XDG_CACHE_HOME", temp_file("cache"), 1);
	test_builds();
	test_variables();
	test_messages();
	test_clang();
	test_flags();
	test_timeout();
	test_signatures(NULL, 1);
	if (kw_proc_which("clang", path, sizeof(path)))
		test_signatures("clang", 3);
	else
		skip(1, "no clang here");
	test_no_compiler();
	test_texts();
	test_aside();
	test_garbage();
	test_cache();
	test_tidy();
	return done();
}
