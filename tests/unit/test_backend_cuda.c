/* The CUDA backend, with a real NVRTC; skipped where there is none. No GPU is needed. */
#include "backend/backend.h"
#include "backend/cubin.h"
#include "backend/cuda.h"
#include "backend/sass.h"
#include "base/proc.h"

#include "tap.h"
#include "temp.h"

#include <sys/stat.h>

static const char task_text[] =
	"name: t\n"
	"dims: { rows: { min: 0, max: 1048576 }, cols: { min: 1, max: 131072 } }\n"
	"inputs: { x: { dtype: f16, shape: [rows, cols] } }\n"
	"params: { eps: 0.5 }\n"
	"outputs: { y: { dtype: f16, shape: [rows, cols] } }\n"
	"reference: { expr: y = x }\n"
	"perf: [ { rows: 128, cols: 1024 } ]\n";
static struct kw_task task;
static struct kw_arena arena;

/* A candidate bound to the one case and built; compiler, arch and the rest by o. */
static enum kw_status build_with(const char *text, const struct kw_build_opts *o,
				 struct kw_build_result *r, struct kw_error *err)
{
	struct kw_view views[2] = { { KW_F16, { 2, { 128, 1024 } }, { 1024, 1 }, (void *)4096 },
				    { KW_F16, { 2, { 128, 1024 } }, { 1024, 1 }, (void *)4096 } };
	struct kw_hardware h = { .arch = "sm_90a", .units = 132 };
	struct kw_intenv_var vars[8];
	struct kw_intenv facts;
	struct kw_bound_plan bound;
	struct kw_candidate c;
	enum kw_status s;

	*r = (struct kw_build_result){ .cls = KW_V_OK };
	kw_error_reset(err);
	kw_hardware_env(&h, vars, &facts);
	s = kw_candidate_from_text(&c, "mine.cu", NULL, text, strlen(text), &task, &arena, err);
	if (s == KW_OK)
		s = kw_plan_bind(&c.plan, &task, &task.cases[0], views, NULL, &facts, &arena,
				 &bound, err);
	return s == KW_OK ? kw_build(kw_backend_find("cuda"), &c, &bound, o, r, err) : s;
}

static enum kw_status build(const char *text, struct kw_build_result *r)
{
	static const struct kw_build_opts o = { .arch = "sm_90a" };
	struct kw_error err;
	enum kw_status s = build_with(text, &o, r, &err);

	if (s != KW_OK)
		diag("%s", err.text);
	else if (r->cls != KW_V_OK && r->artefact.log)
		diag("%.400s", r->artefact.log);
	return s;
}

/* ---- builds ---- */

static const char softmax[] =
	"//@ kernel softmax grid=(rows) block=(THREADS) args=(x, y, cols:i32, eps)\n"
	"//@ tune THREADS in {128, 256} default 256\n"
	"//@ flags -use_fast_math\n"
	"#include <cuda_fp16.h>\n"
	"#include <math.h>\n"
	"__device__ int calls;\n"
	"__device__ float table[4] = { 1, 2, 3, 4 };\n"
	"__constant__ float fixed[8];\n"
	"extern \"C\" __global__ void __launch_bounds__(THREADS)\n"
	"softmax(const __half *__restrict__ x, kw_f16 *__restrict__ y, int cols, float eps)\n"
	"{\n"
	"\t__shared__ float part[THREADS / 32];\n"
	"\tint64_t row = (int64_t)blockIdx.x * cols;\n"
	"\tfloat m = -KW_INF, s = 0;\n"
	"\tfor (int i = threadIdx.x; i < cols; i += THREADS)\n"
	"\t\tm = kw_maxf(m, KW_F32(x[row + i]));\n"
	"\tm = kw_warp_max(m);\n"
	"\tif (threadIdx.x % 32 == 0)\n"
	"\t\tpart[threadIdx.x / 32] = m;\n"
	"\t__syncthreads();\n"
	"\tfor (int i = 0; i < THREADS / 32; i++)\n"
	"\t\tm = kw_maxf(m, part[i]);\n"
	"\tfor (int i = 0; i < cols; i++)\n"
	"\t\ts += expf(KW_F32(x[row + i]) - m) + eps + fixed[i & 7];\n"
	"\tfor (int i = threadIdx.x; i < cols; i += THREADS)\n"
	"\t\tKW_STORE(&y[row + i], expf(KW_F32(x[row + i]) - m) / s * table[i & 3]);\n"
	"\tatomicAdd(&calls, 1);\n"
	"}\n";

static void test_build(void)
{
	struct kw_build_opts o = { .arch = "sm_90a" };
	struct kw_build_result r, again, other;
	struct kw_kernel_facts f;
	struct kw_error err;
	const json_t *globals;

	if (!is_int(build(softmax, &r), KW_OK, "builds") ||
	    !is_int(r.cls, KW_V_OK, "the object is good"))
		return;
	is_str(r.artefact.kind, "cubin", "its kind");
	ok(strncmp(r.artefact.toolchain, "NVRTC ", 6) == 0, "made by %s", r.artefact.toolchain);
	ok(!r.artefact.cached && r.artefact.build_ns > 0, "just now");
	is_str(kw_json_get_str(r.artefact.facts, "arch", ""), "sm_90a", "for the architecture");
	ok(kw_kernel_facts_get(r.artefact.facts, "softmax", &f), "facts of the kernel");
	ok(f.registers >= 16 && f.registers <= 255, "%d registers", f.registers);
	is_int(f.max_threads, 256, "launch bounds");
	is_int(f.static_smem_bytes, 32, "static shared memory");
	ok(f.spill_store_bytes == 0 && f.spill_load_bytes == 0 && f.stack_bytes == 0, "no spills");
	ok(f.param_count == 4 && f.param_bytes == 24, "parameters");
	is_str(f.symbol, "softmax", "its symbol");
	globals = json_object_get(r.artefact.facts, "writable_globals");
	is_int((int64_t)json_array_size(globals), 2, "globals that a kernel can write");
	is_int(kw_json_get_i64(r.artefact.facts, "writable_bytes", 0), 20, "their size");
	is_int(kw_json_get_i64(r.artefact.facts, "constant_bytes", 0), 32, "constants are apart");

	is_int(build(softmax, &again), KW_OK, "builds again");
	ok(again.artefact.cached && strcmp(again.artefact.kind, "cubin") == 0, "from the cache");
	ok(json_equal(r.artefact.facts, again.artefact.facts) &&
		   again.artefact.code_bytes == r.artefact.code_bytes &&
		   memcmp(again.artefact.code, r.artefact.code, r.artefact.code_bytes) == 0,
	   "the same");
	o.arch = "sm_80";
	is_int(build_with(softmax, &o, &other, &err), KW_OK, "for another device");
	ok(other.cls == KW_V_OK && !other.artefact.cached &&
		   strcmp(other.artefact.key, r.artefact.key) != 0,
	   "it is another object");
	is_str(kw_json_get_str(other.artefact.facts, "arch", ""), "sm_80", "for its architecture");
	kw_build_result_release(&r);
	kw_build_result_release(&again);
	kw_build_result_release(&other);
}

/* Static shared memory is the same number on every architecture, although objects hold it
 * differently. */
static void test_architectures(void)
{
	static const char text[] = "//@ kernel f grid=(rows) block=(128) args=(x, y)\n"
				   "__global__ void f(const __half *x, __half *y)\n"
				   "{\n"
				   "\t__shared__ __half s[200];\n"
				   "\ts[threadIdx.x] = x[threadIdx.x];\n"
				   "\t__syncthreads();\n"
				   "\ty[threadIdx.x] = s[127 - threadIdx.x];\n"
				   "}\n";
	static const char *const archs[] = { "sm_75",  "sm_80",	  "sm_89",
					     "sm_90a", "sm_100a", "sm_120a" };
	struct kw_cuda_toolkit kit;
	struct kw_error err;

	kw_error_reset(&err);
	kw_cuda_find(NULL, &kit, &err);
	for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
		struct kw_build_opts o = { .arch = archs[i] };
		struct kw_build_result r;
		struct kw_kernel_facts f;
		struct kw_cubin c;
		bool known = false;
		int sm = 0;

		sscanf(archs[i], "sm_%d", &sm);
		for (size_t k = 0; k < kit.arch_count; k++)
			known = known || kit.archs[k] == sm;
		if (!known) {
			skip(3, "this NVRTC does not build for it");
			continue;
		}
		is_int(build_with(text, &o, &r, &err), KW_OK, "%s: %s", archs[i], err.text);
		ok(kw_kernel_facts_get(r.artefact.facts, "f", &f) && f.static_smem_bytes == 400 &&
			   strncmp(f.symbol, "_Z1f", 4) == 0 && f.param_count == 2,
		   "%s: a C++ kernel by its plain name", archs[i]);
		ok(kw_cubin_open(&c, r.artefact.code, r.artefact.code_bytes) && c.sm == sm,
		   "%s: the object says %d", archs[i], c.sm);
		kw_build_result_release(&r);
	}
	{
		struct kw_build_opts o = { .arch = "sm_30" };
		struct kw_build_result r;

		is_int(build_with(text, &o, &r, &err), KW_ERR_ENV,
		       "a device too old for this compiler");
		has_str(err.text, "does not build for sm_30 (it does for sm_", "an older one");
		has_str(err.text, "install an older CUDA toolkit", "what to do");
		o.arch = "sm_999a"; /* as text it would come before sm_99 */
		is_int(build_with(softmax, &o, &r, &err), KW_ERR_ENV, "a newer one");
		has_str(err.text, "install a newer CUDA toolkit", "what to do");
		o.arch = "gfx942";
		is_int(build_with(text, &o, &r, &err), KW_ERR_USAGE, "a device of another vendor");
		o.arch = NULL;
		is_int(build_with(text, &o, &r, &err), KW_ERR_USAGE, "no device");
	}
}

#define WGMMA                                                                                      \
	"//@ kernel gemm grid=(cdiv(rows, 64)) block=(128) smem=16384 args=(map, y)\n"             \
	"//@ tensormap map x box=(64, 64) swizzle=128\n"                                           \
	"extern \"C\" __global__ void __launch_bounds__(128) gemm(const __grid_constant__ "        \
	"kw_tensormap map, __half *y)\n"                                                           \
	"{\n"                                                                                      \
	"\textern __shared__ __align__(1024) unsigned char tile[];\n"                              \
	"\t__shared__ unsigned long long bar;\n"                                                   \
	"\tunsigned s = (unsigned)__cvta_generic_to_shared(tile), b = "                            \
	"(unsigned)__cvta_generic_to_shared(&bar);\n"                                              \
	"\tunsigned long long d = ((unsigned long long)(s & 0x3ffff) >> 4) | (1ull << 16) | "      \
	"(64ull << 32) | (1ull << 62);\n"                                                          \
	"\tfloat acc[4] = { 0, 0, 0, 0 };\n"                                                       \
	"\tif (threadIdx.x == 0) {\n"                                                              \
	"\t\tasm volatile(\"mbarrier.init.shared.b64 [%0], 1;\" ::\"r\"(b));\n"                    \
	"\t\tasm "                                                                                 \
	"volatile(\"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "  \
	"[%0], [%1, {%2, %3}], \"\n"                                                               \
	"\t\t\t     \"[%4];\" ::\"r\"(s), \"l\"(&map), \"r\"(0), \"r\"(0), \"r\"(b) : "            \
	"\"memory\");\n"                                                                           \
	"\t}\n"                                                                                    \
	"\t__syncthreads();\n"                                                                     \
	"\tasm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"                          \
	"\tasm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, "    \
	"%4, %5, 1, 1, 1, 0, 0;\"\n"                                                               \
	"\t\t     : \"+f\"(acc[0]), \"+f\"(acc[1]), \"+f\"(acc[2]), \"+f\"(acc[3]) : \"l\"(d), "   \
	"\"l\"(d));\n"                                                                             \
	"\tasm volatile(\"wgmma.commit_group.sync.aligned;\\n wgmma.wait_group.sync.aligned 0;\" " \
	"::: \"memory\");\n"                                                                       \
	"\ty[threadIdx.x] = __float2half(acc[0] + acc[1] + acc[2] + acc[3]);\n"                    \
	"}\n"

static void test_hopper(void)
{
	struct kw_build_opts o = { .arch = "sm_90" };
	struct kw_build_result r;
	struct kw_kernel_facts f;
	struct kw_error err;

	is_int(build(WGMMA, &r), KW_OK, "TMA and wgmma for sm_90a");
	ok(r.cls == KW_V_OK && kw_kernel_facts_get(r.artefact.facts, "gemm", &f) &&
		   f.param_count == 2 && f.param_bytes >= 136,
	   "a tensor map by value");
	kw_build_result_release(&r);
	is_int(build_with(WGMMA, &o, &r, &err), KW_OK, "for plain sm_90");
	ok(r.cls == KW_V_BUILD_ERROR && r.subclass == KW_S_BUILD_ARCHITECTURE, "it is refused");
	ok(r.artefact.diagnostic_count &&
		   strstr(r.artefact.diagnostics[0].message, "'wgmma.fence' not supported on") &&
		   r.artefact.diagnostics[0].line == 16,
	   "with the instruction and its line %d",
	   r.artefact.diagnostic_count ? r.artefact.diagnostics[0].line : -1);
	kw_build_result_release(&r);
}

/* ---- what is refused ---- */

#define HEAD	  "//@ kernel k grid=(rows) block=(128) args=(x, y)\n"
#define SIGNATURE "extern \"C\" __global__ void k(const __half *x, __half *y)\n"

static void test_messages(void)
{
	static const struct {
		const char *name, *source, *message;
		enum kw_verdict_class cls;
		enum kw_subclass subclass;
		int line;
	} cases[] = {
		{ "syntax", HEAD SIGNATURE "{\n\ty[0] = x[0]\n}\n", "expected a \";\"",
		  KW_V_BUILD_ERROR, KW_S_SYNTAX, 5 },
		{ "undefined", HEAD SIGNATURE "{\n\ty[0] = nothing;\n}\n",
		  "\"nothing\" is undefined", KW_V_BUILD_ERROR, KW_S_UNDEFINED, 4 },
		{ "type", HEAD SIGNATURE "{\n\tint *p = x;\n\ty[0] = *p;\n}\n",
		  "cannot be used to initialize", KW_V_BUILD_ERROR, KW_S_TYPE, 4 },
		{ "a function that is not there",
		  HEAD "extern \"C\" __device__ float other(float);\n" SIGNATURE
		       "{\n\ty[0] = other(1);\n}\n",
		  "'other'", KW_V_BUILD_ERROR, KW_S_UNDEFINED, 2 },
		{ "include", HEAD "#include <nowhere.h>\n" SIGNATURE "{\n}\n", "nowhere.h",
		  KW_V_BUILD_ERROR, KW_S_INCLUDE, 2 },
		{ "include a file", HEAD "#include \"/etc/passwd\"\n" SIGNATURE "{\n}\n",
		  "no files", KW_V_BUILD_ERROR, KW_S_INCLUDE, 2 },
		{ "include a file by a macro",
		  HEAD "#define FILE_ \"/etc/passwd\"\n#include FILE_\n" SIGNATURE "{\n}\n",
		  "cannot open source file \"/etc/passwd\"", KW_V_BUILD_ERROR, KW_S_INCLUDE, 3 },
		{ "include this program",
		  HEAD "#define FILE_ \"/proc/self/environ\"\n#include FILE_\n" SIGNATURE "{\n}\n",
		  "cannot open source file", KW_V_BUILD_ERROR, KW_S_INCLUDE, 3 },
		{ "ask whether a file is there",
		  HEAD
		  "#if __has_include(\"/etc/passwd\")\n#error it can be read\n#else\n#error it "
		  "cannot\n#endif\n" SIGNATURE "{\n}\n",
		  "it cannot", KW_V_BUILD_ERROR, KW_S_SYNTAX, 5 },
		{ "endless templates",
		  HEAD "template <int N> struct A { static __device__ int f() { return A<N + "
		       "1>::f(); } };\n" SIGNATURE "{\n\ty[0] = A<0>::f();\n}\n",
		  "excessive recursion", KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 2 },
		{ "shared memory",
		  HEAD SIGNATURE
		  "{\n\t__shared__ float s[100000];\n\ts[threadIdx.x] = x[0];\n\t__syncthreads();\n"
		  "\ty[0] = s[y[1] > x[1]];\n}\n",
		  "declares 400000 bytes of shared memory", KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES,
		  1 },
		{ "constant memory",
		  HEAD "__constant__ float c[20000];\n" SIGNATURE
		       "{\n\ty[0] = c[threadIdx.x];\n}\n",
		  "constant", KW_V_BUILD_ERROR, KW_S_BUILD_RESOURCES, 0 },
		{ "assembly", HEAD SIGNATURE "{\n\tasm(\"nosuch.thing %%r1;\");\n}\n", "",
		  KW_V_BUILD_ERROR, KW_S_SYNTAX, 4 },
		{ "a launch",
		  HEAD SIGNATURE
		  "{\n}\nvoid f(const __half *x, __half *y)\n{\n\tk<<<1, 1>>>(x, y);\n}\n",
		  "no host code", KW_V_BUILD_ERROR, KW_S_SYNTAX, 7 },
		{ "main", HEAD SIGNATURE "{\n}\nint main(void)\n{\n}\n", "no host code",
		  KW_V_BUILD_ERROR, KW_S_SYNTAX, 5 },
		{ "a host function", HEAD SIGNATURE "{\n}\n__host__ void f()\n{\n}\n", "__host__",
		  KW_V_BUILD_ERROR, KW_S_SYNTAX, 5 },
		{ "printf",
		  HEAD "#include <stdio.h>\n" SIGNATURE "{\n\tprintf(\"%d\", threadIdx.x);\n}\n",
		  "printf: a judged kernel", KW_V_BUILD_ERROR, KW_S_UNDEFINED, 5 },
		{ "malloc", HEAD SIGNATURE "{\n\t*(void **)y = malloc(64);\n}\n", "malloc or new",
		  KW_V_BUILD_ERROR, KW_S_UNDEFINED, 4 },
		{ "another name",
		  "//@ kernel kk grid=(1) block=(1) args=(x, y)\n" SIGNATURE "{\n}\n",
		  "no kernel 'kk' is in the "
		  "object; there is: k. Name one of them in the plan, or declare it extern \"C\" __global__ kk(...)",
		  KW_V_LAUNCH_ERROR, KW_S_ENTRY, 1 },
		{ "names of C++",
		  HEAD "namespace ns {\ntemplate <int N> __global__ void tile(__half *y)\n{\n\ty[N] = y[0];\n}\n"
		       "template __global__ void tile<3>(__half *);\n__global__ void plain(int)\n{\n}\n}\n"
		       "__global__ void other(const __half *x, __half *y)\n{\n}\n",
		  "ns::tile<...>", KW_V_LAUNCH_ERROR, KW_S_ENTRY, 1 },
		{ "a template that nobody uses",
		  HEAD "template <int N> __global__ void k(const __half *x, __half *y)\n{\n}\n",
		  "there is none. Declare it extern \"C\" __global__; a template", KW_V_LAUNCH_ERROR, KW_S_ENTRY, 1 },
		{ "an overloaded name",
		  HEAD "__global__ void k(const __half *x, __half *y)\n{\n}\n"
		       "__global__ void k(const __half *x, __half *y, int n)\n{\n}\n",
		  "several kernels 'k'", KW_V_LAUNCH_ERROR, KW_S_ENTRY, 1 },
		{ "too few arguments",
		  "//@ kernel k grid=(1) block=(1) args=(x)\n" SIGNATURE "{\n}\n",
		  "kernel 'k' has 2 parameters "
		  "and the plan passes 1",
		  KW_V_BUILD_ERROR, KW_S_TYPE, 1 },
		{ "a narrower parameter",
		  "//@ kernel k grid=(1) block=(1) args=(x, y, cols * 2:i64)\n"
		  "extern \"C\" __global__ void k(const __half *x, __half *y, int n)\n{\n}\n",
		  "parameter 3 of 'k' has 4 bytes and the plan passes 'cols * 2:i64' of 8",
		  KW_V_BUILD_ERROR, KW_S_TYPE, 1 },
		{ "a wider parameter",
		  "//@ kernel k grid=(1) block=(1) args=(x, y, eps)\n"
		  "extern \"C\" __global__ void k(const __half *x, __half *y, double e)\n{\n}\n",
		  "parameter 3 of 'k' has 8 bytes and the plan passes 'eps:f32' of 4",
		  KW_V_BUILD_ERROR, KW_S_TYPE, 1 },
		{ "a map that is a pointer",
		  "//@ kernel k grid=(1) block=(1) args=(m, y)\n//@ tensormap m x box=(64, "
		  "64)\n" SIGNATURE "{\n}\n",
		  "is to be the tensor map 'm'; declare it `const __grid_constant__ CUtensorMap`",
		  KW_V_BUILD_ERROR, KW_S_TYPE, 1 },
		{ "no block", "\n//@ kernel k grid=(1) args=(x, y)\n" SIGNATURE "{\n}\n",
		  "kernel 'k' has no block=(...)", KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, 2 },
		{ "a flag", HEAD "//@ flags -use_fastmath\n" SIGNATURE "{\n}\n",
		  "did you mean '-use_fast_math'?", KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, 2 },
		{ "relocatable code", HEAD "//@ flags -rdc=true\n" SIGNATURE "{\n}\n",
		  "'-rdc=true' is not on the list", KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, 2 },
		{ "a folder", HEAD "//@ flags -I/etc\n" SIGNATURE "{\n}\n",
		  "'-I/etc' is not on the list", KW_V_BUILD_ERROR, KW_S_BUILD_PLAN, 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct kw_diagnostic *d = NULL;
		struct kw_build_opts o = { .arch = "sm_90a" };
		struct kw_build_result r;
		struct kw_error err;

		is_int(build_with(cases[i].source, &o, &r, &err), KW_OK, "%s: a result %s",
		       cases[i].name, err.text);
		for (size_t k = 0; k < r.artefact.diagnostic_count && !d; k++)
			if (r.artefact.diagnostics[k].severity == KW_ERROR)
				d = &r.artefact.diagnostics[k];
		ok(r.cls == cases[i].cls && r.subclass == cases[i].subclass, "%s: %s, %s",
		   cases[i].name, kw_verdict_name(r.cls), kw_subclass_name(r.subclass));
		ok(d && strstr(d->message, cases[i].message) && d->line == cases[i].line &&
			   strcmp(d->file, "mine.cu") == 0,
		   "%s: %s:%d: %s", cases[i].name, d ? d->file : "", d ? d->line : -1,
		   d ? d->message : "no message");
		ok(!r.artefact.log || !strstr(r.artefact.log, "root:"),
		   "%s: nobody's file is in it", cases[i].name);
		kw_build_result_release(&r);
	}
}

/* What NVRTC lacks and kernels include; and text that only looks like host code. */
static void test_headers(void)
{
	static const char *const names[] = { "stdint.h", "cstdint", "stddef.h",	      "cstddef",
					     "limits.h", "climits", "float.h",	      "cfloat",
					     "math.h",	 "cmath",   "string.h",	      "cstring",
					     "stdlib.h", "cstdlib", "stdio.h",	      "cstdio",
					     "assert.h", "cassert", "cuda_runtime.h", "cuda.h",
					     "mma.h",	 "kw.h" };
	struct kw_build_result r;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char text[400];

		snprintf(text, sizeof(text),
			 HEAD "#include <%s>\n" SIGNATURE "{\n\ty[0] = x[0];\n}\n", names[i]);
		is_int(build(text, &r), KW_OK, "%s", names[i]);
		is_int(r.cls, KW_V_OK, "%s is there", names[i]);
		kw_build_result_release(&r);
	}
	is_int(build("//@ kernel k grid=(1) block=(1) args=(m, y)\n//@ tensormap m x box=(64, 64)\n"
		     "#include <cuda.h>\n#include <limits>\n#include <type_traits>\n#include "
		     "<cstdint>\n#include <cassert>\n"
		     "// k<<<1, 1>>>(x); int main()\n/* <<< main( */\n"
		     "static_assert(std::numeric_limits<int>::max() == INT32_MAX && "
		     "std::is_same<int, int32_t>::value, \"\");\n"
		     "extern \"C\" __global__ void k(const __grid_constant__ CUtensorMap m, __half "
		     "*y)\n"
		     "{\n\tconst char *s = \"<<<\"; int domain = 1'000'000; std::uint8_t c = "
		     "'\"';\n\tassert(domain == 1);\n"
		     "\ty[0] = __float2half(s[0] + domain + c);\n}\n",
		     &r),
	       KW_OK, "a mixture");
	is_int(r.cls, KW_V_OK, "builds");
	kw_build_result_release(&r);
}

/* Every type of the builder header, alone and together. */
static void test_types(void)
{
	static const char *const types[] = { "kw_f16", "kw_bf16", "kw_f8e4m3", "kw_f8e5m2", "float", "double", "int8_t", "uint8_t",
					     "int16_t", "int32_t", "int64_t", "__nv_bfloat16", "__half" };
	struct kw_build_result r;
	char text[900];

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		snprintf(text, sizeof(text), HEAD "extern \"C\" __global__ void k(const %s *x, %s *y)\n{\n"
			 "\tKW_STORE(&y[0], KW_F32(x[0]) + 1);\n\tKW_STORE(&y[1], KW_F64(x[1]));\n\tKW_STORE(&y[2], 3);\n"
			 "\tKW_STORE((float *)y, kw_maxf(KW_F32(x[4]), KW_INF) + kw_geluf(kw_siluf(KW_F32(x[5]))));\n}\n",
			 types[i], types[i]);
		is_int(build(text, &r), KW_OK, "%s", types[i]);
		is_int(r.cls, KW_V_OK, "%s is read and written", types[i]);
		kw_build_result_release(&r);
	}
	is_int(build(HEAD "extern \"C\" __global__ void k(const kw_bf16 *x, kw_f8e4m3 *y)\n{\n"
		     "\tkw_f16 h = kw_f16_from_f32(kw_warp_sum(kw_bf16_to_f32(x[0])));\n\ty[0] = kw_f8e4m3_from_f32(KW_F32(h));\n"
		     "\tkw_bf16 b = kw_bf16_from_f32(KW_F32(y[1]));\n\tKW_STORE(&y[3], KW_F32(b));\n}\n", &r), KW_OK, "mixed");
	is_int(r.cls, KW_V_OK, "all of them together");
	kw_build_result_release(&r);
}

static void test_timeout(void)
{
	static const char text[] = HEAD
		"template <int N, long M> struct A { static constexpr long v = A<N - 1, 2 * M>::v "
		"+ A<N - "
		"1, 2 * M + 1>::v; };\n"
		"template <long M> struct A<0, M> { static constexpr long v = M; };\n" SIGNATURE
		"{\n\ty[0] = A<30, 1>::v;\n}\n";
	struct kw_build_opts o = { .arch = "sm_90a", .timeout_ms = 700 };
	struct kw_build_result r;
	struct kw_error err;

	is_int(build_with(text, &o, &r, &err), KW_OK, "a compiler that does not end: %s", err.text);
	ok(r.cls == KW_V_BUILD_ERROR && r.subclass == KW_S_BUILD_TIMEOUT, "is stopped");
	ok(r.artefact.log && strstr(r.artefact.log, "did not end within 0.7 s"), "and says so");
	kw_build_result_release(&r);
}

static void test_spills(void)
{
	static const char text[] =
		"//@ kernel k grid=(rows) block=(128) args=(x, y)\n//@ flags -maxrregcount=24\n"
		"extern \"C\" __global__ void k(const float4 *x, float4 *y)\n{\n\tfloat4 a[16];\n"
		"\tfor (int i = 0; i < 16; i++)\n\t\ta[i] = x[threadIdx.x + i * "
		"128];\n\t__syncthreads();\n"
		"\tfor (int i = 0; i < 16; i++)\n\t\ty[threadIdx.x + i * 128] = make_float4(a[15 - "
		"i].x * a[i].y, "
		"a[i].z, a[i].w, a[(i + 3) % 16].x);\n}\n";
	struct kw_build_result r;
	struct kw_kernel_facts f;

	is_int(build(text, &r), KW_OK, "few registers");
	ok(kw_kernel_facts_get(r.artefact.facts, "k", &f) && f.registers <= 24 &&
		   f.spill_store_bytes > 0 && f.spill_load_bytes > 0 && f.stack_bytes > 0,
	   "%d registers, %d bytes spilled", f.registers, (int)f.spill_store_bytes);
	kw_build_result_release(&r);
}

/* ---- where the toolkit is ---- */

/* A toolkit whose headers are there without those of CCCL, which they include: nothing of it is the candidate's fault. */
static void check_parts(const struct kw_cuda_toolkit *whole)
{
	struct kw_build_opts o = { .arch = "sm_90a", .no_cache = true };
	struct kw_build_result r;
	struct kw_error err;
	char dir[600], command[4000];
	const char *const copy[] = { "sh", "-c", command, NULL };
	struct kw_proc_opts po = { .timeout_ms = 60000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result done_ = { 0 };
	enum kw_status s;

	kw_error_reset(&err);
	if (!whole->include[1][0]) {
		skip(3, "this toolkit has CCCL among its own headers");
		return;
	}
	snprintf(dir, sizeof(dir), "%s/parts", temp_dir());
	snprintf(command, sizeof(command), "mkdir -p %s/lib64 %s/include && ln -s %s %s/lib64/libnvrtc.so.%d && cd %s && cp -rL *.h *.hpp crt "
		 "cooperative_groups %s/include", dir, dir, whole->nvrtc, dir, (int)strtol(whole->version + 6, NULL, 10),
		 whole->include[0], dir);
	is_int(kw_proc_run(copy, &po, &done_, &err), KW_OK, "a part of the toolkit: %s", err.text);
	kw_proc_result_release(&done_);
	setenv("KWRIGHT_CUDA", dir, 1);
	s = build_with(HEAD "#include <cooperative_groups.h>\n" SIGNATURE "{\n}\n", &o, &r, &err);
	is_int(s, KW_ERR_ENV, "headers without CCCL: %s", s == KW_OK ? kw_subclass_name(r.subclass) : "");
	has_str(err.text, "a header of CUDA lacks another one", "and what to install");
	unsetenv("KWRIGHT_CUDA");
}

/* A library that cannot be loaded beside an nvcc that works: nvcc builds. */
static void check_fallback(const struct kw_cuda_toolkit *whole)
{
	struct kw_build_opts o = { .arch = "sm_30" };
	struct kw_cuda_toolkit kit;
	struct kw_build_result r;
	struct kw_error err;
	char path[700];

	kw_error_reset(&err);
	if (!whole->nvcc[0]) {
		skip(4, "no nvcc here");
		return;
	}
	snprintf(path, sizeof(path), "%s/bin", temp_dir());
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/bin/nvcc", temp_dir());
	is_int(symlink(whole->nvcc, path), 0, "an nvcc");
	setenv("CUDA_PATH", "once more", 1); /* another question: what was found is kept */
	ok(kw_cuda_find(NULL, &kit, &err) == KW_OK && !kit.nvrtc[0] && strncmp(kit.version, "nvcc ", 5) == 0 && kit.arch_count > 0,
	   "%s, %zu architectures", kit.version, kit.arch_count);
	is_int(build_with(softmax, &o, &r, &err), KW_ERR_ENV, "what it does not build for is not the candidate's fault");
	has_str(err.text, "does not build for sm_30", "the sentence");
}

static void test_find(void)
{
	struct kw_cuda_toolkit kit, nothing;
	struct kw_build_opts o = { .arch = "sm_90a" };
	struct kw_build_result r;
	struct kw_error err;
	char path[700];

	kw_error_reset(&err);
	is_int(kw_cuda_find(NULL, &kit, &err), KW_OK, "found: %s", kit.version);
	setenv("KWRIGHT_CUDA", "/nowhere", 1);
	is_int(build_with(softmax, &o, &r, &err), KW_ERR_ENV, "a folder without a toolkit");
	ok(strstr(err.text, "KWRIGHT_CUDA"), "%s", err.text);
	/* The library alone, as distributions package it: the headers are the machine's fault, not
	 * the candidate's. */
	snprintf(path, sizeof(path), "%s/lib64", temp_dir());
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/lib64/libnvrtc.so.%d", temp_dir(),
		 (int)strtol(kit.version + 6, NULL, 10));
	is_int(symlink(kit.nvrtc, path), 0, "a library alone");
	setenv("KWRIGHT_CUDA", temp_dir(), 1);
	is_int(kw_cuda_find(NULL, &nothing, &err), KW_OK, "is found");
	ok(!nothing.include[0][0], "without headers");
	o.no_cache = true;
	is_int(build_with(softmax, &o, &r, &err), KW_ERR_ENV, "and cannot build");
	ok(strstr(err.text, "headers are missing"), "%s", err.text);
	check_parts(&kit);
	/* A file of that name that is no library. */
	setenv("KWRIGHT_CUDA", temp_dir(), 1);
	unlink(path);
	is_int(kw_file_write(path, "x", 1, &err), KW_OK, "a file that is none");
	setenv("CUDA_PATH", "again", 1);
	is_int(kw_cuda_find(NULL, &nothing, &err), KW_ERR_ENV, "is none");
	check_fallback(&kit);
	unsetenv("CUDA_PATH");
	unsetenv("KWRIGHT_CUDA");
}

static void test_nvcc(void)
{
	struct kw_cuda_toolkit kit;
	struct kw_build_opts o = { .arch = "sm_90a", .compiler = "nvcc" };
	struct kw_build_result r, by_nvrtc;
	struct kw_kernel_facts f, g;
	struct kw_error err;

	kw_error_reset(&err);
	if (kw_cuda_find("nvcc", &kit, &err) != KW_OK) {
		skip(8, "no nvcc here");
		return;
	}
	ok(!kit.nvrtc[0] && strncmp(kit.version, "nvcc ", 5) == 0, "%s", kit.version);
	is_int(build_with(softmax, &o, &r, &err), KW_OK, "nvcc builds: %s", err.text);
	is_int(r.cls, KW_V_OK, "the object is good");
	build(softmax, &by_nvrtc);
	ok(kw_kernel_facts_get(r.artefact.facts, "softmax", &f) &&
		   kw_kernel_facts_get(by_nvrtc.artefact.facts, "softmax", &g) &&
		   f.static_smem_bytes == g.static_smem_bytes && f.max_threads == g.max_threads &&
		   f.param_bytes == g.param_bytes,
	   "the facts are NVRTC's");
	kw_build_result_release(&r);
	kw_build_result_release(&by_nvrtc);
	is_int(build_with(HEAD SIGNATURE "{\n\ty[0] = nothing;\n}\n", &o, &r, &err), KW_OK,
	       "nvcc refuses: %s", err.text);
	ok(r.cls == KW_V_BUILD_ERROR && r.subclass == KW_S_UNDEFINED &&
		   r.artefact.diagnostics[0].line == 4,
	   "with the line");
	kw_build_result_release(&r);
	is_int(build_with(HEAD "#define FILE_ \"/etc/passwd\"\n#include FILE_\n" SIGNATURE "{\n}\n",
			  &o, &r, &err),
	       KW_OK, "nvcc and a file: %s", err.text);
	ok(r.cls == KW_V_BUILD_ERROR && !strstr(r.artefact.log, "root:"), "it cannot read it");
	kw_build_result_release(&r);
}

/* cuobjdump's opinion, where there is one. */
static void test_against_cuobjdump(void)
{
	const char *argv[] = { "cuobjdump", "--dump-resource-usage", NULL, NULL };
	struct kw_proc_opts o = { .timeout_ms = 20000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result p;
	struct kw_build_result r;
	struct kw_kernel_facts f;
	struct kw_error err;
	char path[512], want[64];
	const char *at;

	kw_error_reset(&err);
	if (!kw_proc_which("cuobjdump", path, sizeof(path))) {
		skip(3, "no cuobjdump here");
		return;
	}
	is_int(build(softmax, &r), KW_OK, "an object");
	argv[2] = temp_file("o.cubin");
	kw_file_write(argv[2], r.artefact.code, r.artefact.code_bytes, &err);
	is_int(kw_proc_run(argv, &o, &p, &err), KW_OK, "cuobjdump runs");
	kw_kernel_facts_get(r.artefact.facts, "softmax", &f);
	snprintf(want, sizeof(want), "REG:%d STACK:%d SHARED:%d ", f.registers, (int)f.stack_bytes,
		 (int)f.static_smem_bytes + 1024);
	at = p.out.len ? strstr(p.out.ptr, "REG:") : NULL;
	ok(at && strncmp(at, want, strlen(want)) == 0, "it agrees: %.40s", at ? at : "nothing");
	kw_proc_result_release(&p);
	kw_build_result_release(&r);
}

/* Of the kernel `k` in the text, from its machine code; -1: no nvdisasm. */
static int64_t code_count(const char *text, const char *key)
{
	struct kw_build_result r;
	struct kw_error err;
	json_t *j = NULL;
	int64_t n = -1;
	enum kw_status s;

	kw_error_reset(&err);
	is_int(build(text, &r), KW_OK, "it builds");
	s = kw_sass_count(r.artefact.code, r.artefact.code_bytes, &j, &err);
	if (s == KW_OK)
		n = kw_json_get_i64(json_object_get(j, "k"), key, -1);
	else if (s != KW_NO)
		diag("%s", err.text);
	json_decref(j);
	kw_build_result_release(&r);
	return n;
}

/* Case A01: an untyped zero makes a loop of floats compute in doubles. Case A10: divisions by what only the host knows. */
static void test_machine_code(void)
{
#define LOOP(zero)                                                                                          \
	"//@ kernel k grid=(rows) block=(128) args=(x, y, cols:i32)\n"                                      \
	"extern \"C\" __global__ void k(const float *x, float *y, int n)\n{\n\tfloat a = 0;\n"               \
	"\tfor (int i = threadIdx.x; i < n; i += 128)\n\t\ta += x[i] > 1 ? x[i] : " zero ";\n"             \
	"\ty[threadIdx.x] = a;\n}\n"
#define INDEX(of)                                                                                           \
	"//@ kernel k grid=(rows) block=(128) args=(x, y, cols:i32)\n"                                      \
	"extern \"C\" __global__ void k(const float *x, float *y, int cols)\n{\n"                          \
	"\tunsigned n = cols, i = blockIdx.x * 128 + threadIdx.x;\n\ty[i] = x[" of "];\n}\n"
	char path[512];

	if (code_count(LOOP("0.0"), "fp64") < 0 && !kw_proc_which("nvdisasm", path, sizeof(path))) {
		skip(4, "no nvdisasm here");
		return;
	}
	ok(code_count(LOOP("0.0"), "fp64") > 0, "doubles are in it");
	is_int(code_count(LOOP("0.0f"), "fp64"), 0, "none with a typed zero");
	is_int(code_count(INDEX("i / n + i % n"), "divisions"), 1, "quotient and remainder are one division");
	is_int(code_count(INDEX("(__umulhi(i, n) + i) >> 3"), "divisions"), 0, "none by a multiplication with the reciprocal");
#undef INDEX
#undef LOOP
}

/* Every single byte changed, and every length: nothing is read outside. */
static void test_broken_objects(void)
{
	struct kw_build_result r;
	struct kw_cubin c;
	struct kw_cubin_kernel k;
	bool several;
	unsigned char *copy;
	int opened = 0;
	int64_t bytes;

	build(softmax, &r);
	for (size_t n = 0; n < r.artefact.code_bytes; n += n < 5000 ? 1 : 7) {
		copy = kw_alloc(n ? n : 1);
		memcpy(copy, r.artefact.code, n);
		if (kw_cubin_open(&c, copy, n)) {
			opened++;
			kw_cubin_kernel(&c, "softmax", &k, &several);
			kw_cubin_undefined(&c, 0);
			kw_cubin_global(&c, 1, &bytes);
		}
		kw_free(copy);
	}
	ok(opened > 0, "%d cut objects", opened);
	copy = kw_alloc(r.artefact.code_bytes);
	opened = 0;
	for (size_t n = 0; n < r.artefact.code_bytes; n++) {
		memcpy(copy, r.artefact.code, r.artefact.code_bytes);
		copy[n] ^= 0xff;
		if (kw_cubin_open(&c, copy, r.artefact.code_bytes)) {
			opened++;
			kw_cubin_kernel(&c, "softmax", &k, &several);
			kw_cubin_undefined(&c, 0);
			kw_cubin_global(&c, 1, &bytes);
		}
	}
	ok(opened > 0, "%d altered objects", opened);
	kw_free(copy);
	kw_build_result_release(&r);
	ok(!kw_cubin_open(&c, "\177ELF", 4) && !kw_cubin_open(&c, NULL, 0), "no object at all");
}

int main(void)
{
	struct kw_cuda_toolkit kit;
	struct kw_error err;

	setenv("XDG_CACHE_HOME", temp_dir(), 1);
	kw_arena_init(&arena, 256 << 20);
	kw_error_reset(&err);
	if (!is_int(kw_task_parse_yaml(&task, "t.yaml", task_text, strlen(task_text), &err), KW_OK,
		    "the task %s", err.text))
		return done();
	if (kw_cuda_find(NULL, &kit, &err) != KW_OK || !kit.nvrtc[0] || !kit.include[0][0]) {
		ok(err.text[0] || kit.version[0], "what is missing is said: %s", err.text);
		skip(1, "no CUDA toolkit here");
		return done();
	}
	test_build();
	test_architectures();
	test_hopper();
	test_messages();
	test_headers();
	test_types();
	test_timeout();
	test_spills();
	test_find();
	test_nvcc();
	test_against_cuobjdump();
	test_machine_code();
	test_broken_objects();
	kw_task_release(&task);
	kw_arena_release(&arena);
	return done();
}
