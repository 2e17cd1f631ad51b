/* What compilers say of a source that `explain` was given. They run in the compiler's box; a source that they cannot
 * compile (host code, headers that are not here) is explained by its text alone, and that is noted. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/c.h"
#include "backend/cuda.h"
#include "backend/job.h"
#include "backend/sass.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/proc.h"
#include "device/sandbox.h"
#include "ops/explain_internal.h"

enum { COMPILE_MS = 60000, MAX_USAGE = 128, MAX_LOOPS = 512, REPORT_BYTES = 8 << 20 };

static struct kw_launch *launch_named(struct kw_launches *l, const char *symbol)
{
	char plain[128];

	kw_plain_name(symbol, plain, sizeof(plain));
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->list[i]->kernel, plain) == 0 || strcmp(l->list[i]->kernel, symbol) == 0)
			return l->list[i];
	return NULL;
}

/* ---- opcodes ---- */

static int64_t opcode(const json_t *kernel, const char *name)
{
	return kw_json_get_i64(json_object_get(kernel, "opcodes"), name, 0);
}

static void put_counts(struct kw_launch *k, const json_t *kernel)
{
	const json_t *loads = json_object_get(kernel, "global_loads"),
		     *stores = json_object_get(kernel, "global_stores");

	kw_launch_set(k, KW_M_CODE_INST, (double)kw_json_get_i64(kernel, "instructions", 0));
	kw_launch_set(k, KW_M_CODE_FP64, (double)kw_json_get_i64(kernel, "fp64", 0));
	k->value[KW_M_CODE_MATRIX] = (double)kw_json_get_i64(kernel, "matrix", 0);
	kw_launch_set(k, KW_M_CODE_LOCAL, (double)kw_json_get_i64(kernel, "local", 0));
	kw_launch_set(k, KW_M_CODE_LD, (double)opcode(kernel, "LDG"));
	kw_launch_set(k, KW_M_CODE_ST, (double)opcode(kernel, "STG"));
	kw_launch_set(k, KW_M_CODE_FMA, (double)opcode(kernel, "FFMA"));
	kw_launch_set(k, KW_M_CODE_FADD_FMUL, (double)(opcode(kernel, "FADD") + opcode(kernel, "FMUL")));
	kw_launch_set(k, KW_M_CODE_LD_WIDE,
		      (double)(kw_json_get_i64(loads, "128", 0) + kw_json_get_i64(loads, "256", 0)));
	kw_launch_set(k, KW_M_CODE_LD_NARROW,
		      (double)(kw_json_get_i64(loads, "8", 0) + kw_json_get_i64(loads, "16", 0)));
	kw_launch_set(k, KW_M_CODE_ST_WIDE,
		      (double)(kw_json_get_i64(stores, "128", 0) + kw_json_get_i64(stores, "256", 0)));
	kw_launch_set(k, KW_M_CODE_ASYNC,
		      (double)(opcode(kernel, "LDGSTS") + opcode(kernel, "UTMALDG") + opcode(kernel, "UBLKCP")));
}

/* KW_NO: there is no disassembler here. */
static enum kw_status disassemble(const void *cubin, size_t bytes, struct kw_launches *l, struct kw_error *err)
{
	json_t *counts = NULL, *kernel;
	const char *symbol;
	enum kw_status s = kw_sass_count(cubin, bytes, &counts, err);

	if (s != KW_OK)
		return s;
	json_object_foreach (counts, symbol, kernel) {
		struct kw_launch *k = launch_named(l, symbol);

		if (k)
			put_counts(k, kernel);
	}
	json_decref(counts);
	return KW_OK;
}

void kw_explain_disassemble(const void *cubin, size_t bytes, struct kw_launches *l)
{
	struct kw_error err;

	kw_error_reset(&err);
	if (disassemble(cubin, bytes, l, &err) != KW_OK)
		kw_launches_note(l, 0, "no opcodes: %.200s", err.text);
}

/* ---- CUDA ---- */

static void merge(struct kw_launches *l, const void *cubin, size_t bytes, const struct kw_cuda_usage *usage,
		  size_t usage_count)
{
	struct kw_launches object;

	kw_launches_init(&object, l->arena, l->file);
	kw_read_cubin(cubin, bytes, &object);
	for (size_t i = 0; i < object.count; i++) {
		struct kw_launch *k = launch_named(l, object.list[i]->kernel);

		for (int m = 0; k && m < KW_M_COUNT; m++)
			if (kw_launch_has(object.list[i], m) && !kw_launch_has(k, m))
				k->value[m] = object.list[i]->value[m];
	}
	for (size_t i = 0; i < usage_count; i++) {
		struct kw_launch *k = launch_named(l, usage[i].symbol);

		if (!k)
			continue;
		kw_launch_set(k, KW_M_SPILL_STORE, (double)usage[i].spill_store_bytes);
		kw_launch_set(k, KW_M_SPILL_LOAD, (double)usage[i].spill_load_bytes);
		kw_launch_set(k, KW_M_STACK, (double)usage[i].stack_bytes);
	}
}

/* Without a disassembler the PTX of the same source tells widths and opcodes; what the assembler made of it is not known. */
static void read_ptx(struct kw_cuda_input in, struct kw_launches *l)
{
	static const int told[] = { KW_M_CODE_FP64,    KW_M_CODE_FP64_CONVERT, KW_M_CODE_LOCAL, KW_M_CODE_LD, KW_M_CODE_LD_WIDE, KW_M_CODE_LD_NARROW,
				    KW_M_CODE_ST,      KW_M_CODE_ST_WIDE };
	struct kw_cuda_output out = { 0 };
	struct kw_launches object;
	struct kw_error err;

	kw_error_reset(&err);
	in.rtc = &kw_rtc_nvrtc_ptx;
	if (kw_nvrtc_compile(&in, &out, &err) != KW_OK || !out.good) {
		kw_launches_note(l, 0, "no opcodes: there is no nvdisasm here");
		kw_cuda_output_release(&out);
		return;
	}
	kw_launches_init(&object, l->arena, l->file);
	kw_read_ptx(out.cubin, strnlen(out.cubin, out.cubin_bytes), &object);
	for (size_t i = 0; i < object.count; i++) {
		struct kw_launch *k = launch_named(l, object.list[i]->kernel);

		for (size_t m = 0; k && m < sizeof(told) / sizeof(told[0]); m++)
			if (kw_launch_has(object.list[i], told[m]))
				kw_launch_set(k, told[m], object.list[i]->value[told[m]]);
	}
	kw_launches_note(l, 0, "opcodes and widths are those of its PTX: there is no nvdisasm here");
	kw_cuda_output_release(&out);
}

/* What nvcc has from the C library, in the words of CCCL's headers, which may come too. */
static const char c_types[] = "typedef signed char int8_t; typedef signed short int16_t; typedef signed int int32_t; typedef signed long long int64_t;\n"
			      "typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long long uint64_t;\n";
static const char c_limits[] = "#pragma nv_diag_suppress 47\n"
			       "#ifndef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n#endif\n"
			       "#ifndef NAN\n#define NAN __int_as_float(0x7fffffff)\n#endif\n"
			       "#ifndef FLT_MAX\n#define FLT_MAX 3.402823466e+38f\n#define FLT_MIN 1.175494351e-38f\n#define FLT_EPSILON 1.192092896e-07f\n#endif\n"
			       "#ifndef INT_MAX\n#define INT_MAX 0x7fffffff\n#define INT_MIN (-INT_MAX - 1)\n#endif\n";

/* A candidate has the builder header in front of it; other sources might have names of their own that are in it. */
static const char *builder_header(const char *text, size_t len, struct kw_arena *a)
{
	struct kw_error ignored;
	bool types = memmem(text, len, "stdint", 6) || memmem(text, len, "inttypes.h", 10);
	char *header;
	size_t header_len;

	kw_error_reset(&ignored);
	if (memmem(text, len, "//@ kernel", 10) && kw_build_header("src/backend/builtin/kw_cuda.h", a, &header, &header_len, &ignored) == KW_OK)
		return header;
	header = kw_arena_printf(a, "%s%s", types ? c_types : "", c_limits);
	return header ? header : c_limits;
}

void kw_explain_compile_cuda(const char *text, size_t len, struct kw_launches *l)
{
	struct kw_cuda_usage usage[MAX_USAGE];
	struct kw_cuda_toolkit kit;
	struct kw_cuda_output out = { 0 };
	struct kw_cuda_input in;
	struct kw_diagnostics d;
	struct kw_error err;
	char include[2][KW_CUDA_PATH + 4];
	const char *options[12] = { "--gpu-architecture=sm_90a", "-std=c++17", "-default-device", "-device-int128", "-lineinfo",
				    "--ptxas-options=-v", "-include=kw.h", "-DKW_USES_BF16", "-DKW_USES_F8" };
	size_t n = 9, used;
	char *device = kw_tokens_device_only(text, len, l->arena);

	kw_error_reset(&err);
	if (!device)
		return;
	if (kw_cuda_find(NULL, &kit, &err) != KW_OK) {
		kw_launches_note(l, 0, "facts are of the text alone: there is no CUDA compiler here");
		return;
	}
	for (size_t i = 0; i < 2; i++)
		if (kit.include[i][0]) {
			snprintf(include[i], sizeof(include[i]), "-I%s", kit.include[i]);
			options[n++] = include[i];
		}
	if (!kit.nvrtc[0]) {
		kw_launches_note(l, 0, "facts are of the text alone: there is no NVRTC here");
		return;
	}
	in = (struct kw_cuda_input){ .kit = &kit, .source = device, .source_len = len, .header = builder_header(text, len, l->arena), .options = options,
				     .timeout_ms = COMPILE_MS };
	if (kw_nvrtc_compile(&in, &out, &err) != KW_OK) {
		kw_launches_note(l, 0, "facts are of the text alone: %.200s", err.text);
		return;
	}
	kw_diagnostics_init(&d, KW_CUDA_FILE, l->file);
	used = kw_cuda_log_parse(&d, out.log, text, &kit, usage, MAX_USAGE);
	if (out.good) {
		merge(l, out.cubin, out.cubin_bytes, usage, used);
		if (disassemble(out.cubin, out.cubin_bytes, l, &err) != KW_OK)
			read_ptx(in, l);
	} else {
		kw_launches_note(l, d.count ? d.list[0].line : 0,
				 "facts are of the text alone: it does not compile by itself (%.200s)",
				 d.count ? d.list[0].message : out.what);
	}
	kw_diagnostics_release(&d);
	kw_cuda_output_release(&out);
}

/* ---- C ---- */

static bool make_folder(char dir[PATH_MAX], const char *text, size_t len, struct kw_arena *a)
{
	const char *base = getenv("TMPDIR");
	struct kw_error ignored;
	char *header, *source, *target;
	size_t header_len;
	bool good;

	snprintf(dir, PATH_MAX, "%s/kw-explain-XXXXXX", base && base[0] == '/' ? base : "/tmp");
	if (!mkdtemp(dir))
		return false;
	source = kw_path_join(a, dir, "candidate.c");
	target = kw_path_join(a, dir, "kw.h");
	kw_error_reset(&ignored);
	good = source && target && kw_file_write_scratch(source, text, len, &ignored) == KW_OK &&
	       kw_build_header("src/backend/builtin/kw.h", a, &header, &header_len, &ignored) == KW_OK &&
	       kw_file_write_scratch(target, header, header_len, &ignored) == KW_OK;
	if (!good)
		kw_rmtree(dir, NULL);
	return good;
}

static bool ask(const struct kw_toolchain *cc, const char *dir, struct kw_proc_result *r, struct kw_error *err)
{
	char tmp[PATH_MAX + 16];
	const char *argv[] = { cc->path,
			       "-std=gnu17",
			       "-O3",
			       "-march=native",
			       "-ffp-contract=fast",
			       "-fopenmp",
			       "-I.",
			       "-include",
			       "kw.h",
			       "-w",
			       "-fopt-info-vec-optimized-missed",
			       "-S",
			       "-o",
			       "candidate.s",
			       "candidate.c",
			       NULL };
	const char *env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", tmp, NULL };
	struct kw_proc_opts o = { .env = env, .cwd = dir, .timeout_ms = COMPILE_MS, .max_out_bytes = REPORT_BYTES };
	struct kw_sandbox *box = NULL;
	enum kw_status s = kw_sandbox_compiler_new(dir, NULL, &box, err);

	if (s != KW_OK)
		return false;
	snprintf(tmp, sizeof(tmp), "TMPDIR=%s", dir);
	o.before_exec = kw_sandbox_enter;
	o.before_exec_arg = box;
	s = kw_proc_run(argv, &o, r, err);
	kw_sandbox_free(box);
	return s == KW_OK;
}

/* The function whose lines hold this one. */
static struct kw_launch *function_at(struct kw_launches *l, int line)
{
	struct kw_launch *best = NULL;

	for (size_t i = 0; i < l->count; i++)
		if (l->list[i]->line <= line && (!best || l->list[i]->line > best->line))
			best = l->list[i];
	return best;
}

/* The innermost loop that holds this line; NULL: it is an outer loop's, which is never vectorised where an inner one is. */
static const struct kw_place *inner_loop_at(const struct kw_launch *k, int line)
{
	for (const struct kw_place *p = k->places; p; p = p->next)
		if (p->metric == KW_M_C_LOOPS && p->line <= line && line <= p->last)
			return p;
	return NULL;
}

/* Whether the reason, which is told on the line behind, is one of this loop. The compiler gives an outer loop the place of an inner one that
 * became a call of memset, or that it split. */
static bool is_own_reason(const struct kw_place *inner, struct kw_str reason)
{
	static const char nested[] = "not vectorized: multiple nested loops", branches[] = "not vectorized: control flow in loop";

	if (memmem(reason.ptr, reason.len, nested, sizeof(nested) - 1))
		return false;
	return inner->text || !memmem(reason.ptr, reason.len, branches, sizeof(branches) - 1);
}

/* A loop of the text. The compiler reports each attempt at it, each copy of it (inlined, unrolled, split off for threads, a remainder) and
 * each width of vectors: they are one loop, and it is vectorised where any attempt took it. */
struct text_loop {
	struct kw_launch *k;
	int line;
	bool vectorised;
};

static struct kw_str line_of(struct kw_str text)
{
	struct kw_str line = { "", 0 };

	if (text.ptr)
		kw_str_split(&text, '\n', &line);
	return line;
}

static void count_loop(struct text_loop *list, size_t *n, struct kw_launch *k, int line, bool vectorised)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i].k == k && list[i].line == line) {
			list[i].vectorised = list[i].vectorised || vectorised;
			return;
		}
	if (*n < MAX_LOOPS)
		list[(*n)++] = (struct text_loop){ k, line, vectorised };
}

static void put_report(struct kw_launches *l, const char *text, size_t len)
{
	struct kw_str rest = { text, len }, line;
	struct text_loop *loops = kw_arena_calloc(l->arena, MAX_LOOPS, sizeof(*loops));
	size_t n = 0;

	if (!loops)
		return;
	while (rest.ptr && kw_str_split(&rest, '\n', &line)) {
		struct kw_launch *k;
		const struct kw_place *inner;
		bool vectorised;
		int at;

		if (!kw_str_starts(line, "candidate.c:") || !kw_read_vector_line(line, &at, &vectorised) || !(k = function_at(l, at)))
			continue;
		inner = inner_loop_at(k, at);
		if (vectorised || (inner && is_own_reason(inner, line_of(rest))))
			count_loop(loops, &n, k, inner ? inner->line : at, vectorised);
	}
	for (size_t i = 0; i < l->count; i++)
		l->list[i]->value[KW_M_LOOPS_VECTOR] = l->list[i]->value[KW_M_LOOPS_SCALAR] = 0;
	for (size_t i = 0; i < n; i++) {
		kw_launch_add_count(loops[i].k, loops[i].vectorised ? KW_M_LOOPS_VECTOR : KW_M_LOOPS_SCALAR, 1);
		if (!loops[i].vectorised)
			kw_launch_place(loops[i].k, KW_M_LOOPS_SCALAR, loops[i].line, KW_STR(""));
	}
}

void kw_explain_compile_c(const char *text, size_t len, struct kw_launches *l)
{
	struct kw_toolchain cc;
	struct kw_proc_result r = { 0 };
	struct kw_error err;
	char dir[PATH_MAX];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	for (size_t i = 0; i < l->count && cores > 0; i++)
		kw_launch_set(l->list[i], KW_M_CORES, (double)cores);
	kw_error_reset(&err);
	if (kw_toolchain_find("gcc", &cc, &err) != KW_OK || cc.clang) {
		kw_launches_note(l, 0, "facts are of the text alone: gcc, which tells what it vectorises, is not here");
		return;
	}
	if (!make_folder(dir, text, len, l->arena)) {
		kw_launches_note(l, 0, "facts are of the text alone: no folder to compile in");
		return;
	}
	if (!ask(&cc, dir, &r, &err))
		kw_launches_note(l, 0, "facts are of the text alone: %.200s", err.text);
	else if (r.exit_code != 0)
		kw_launches_note(l, 0, "facts are of the text alone: it does not compile by itself");
	else
		put_report(l, r.err.ptr ? r.err.ptr : "", r.err.len);
	kw_proc_result_release(&r);
	kw_rmtree(dir, NULL);
}
