/* The HIP backend: AMD code objects read from their bytes, and the way from a candidate to one. Where there is neither hiprtc
 * nor hipcc, a hipcc is made of a clang that knows AMD's processors: a real compiler and real objects, on a header of ours in
 * place of HIP's. */
#include "backend/backend.h"
#include "backend/hip_object.h"
#include "base/proc.h"

#include "tap.h"
#include "temp.h"

#include <sys/stat.h>

#define ARCH "gfx90a"
static struct kw_arena arena;
static struct kw_task task;
static struct kw_error err;

static const char task_text[] = "name: t\ndims: { n: { min: 1, max: 100000 } }\ninputs: { x: { dtype: f16, shape: [n] } }\n"
				"outputs: { y: { dtype: f16, shape: [n] } }\nreference:\n  expr: |\n    y = x\nperf: [ { n: 1000 } ]\n";
static const char kernel[] = "//@ kernel k grid=(cdiv(n, THREADS)) block=(THREADS) args=(x, y, n:i64)\n"
			     "//@ tune THREADS in {64, 128} default 64\n"
			     "extern \"C\" __global__ void k(const kw_f16 *x, kw_f16 *y, int64_t n)\n"
			     "{\n"
			     "\t__shared__ float part[THREADS];\n"
			     "\tint64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;\n"
			     "\tpart[threadIdx.x] = i < n ? KW_F32(x[i]) : 0;\n"
			     "\t__syncthreads();\n"
			     "\tif (i < n)\n"
			     "\t\tKW_STORE(&y[i], part[threadIdx.x ^ 1]);\n"
			     "}\n";

/* What our header asks of HIP's. */
static const char header[] =
	"#define __global__ __attribute__((global))\n"
	"#define __device__ __attribute__((device))\n"
	"#define __shared__ __attribute__((shared))\n"
	"#define __forceinline__ inline\n"
	"#define __launch_bounds__(n) __attribute__((launch_bounds(n)))\n"
	"struct place { struct { __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); } } x; };\n"
	"struct block { struct { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); } } x; };\n"
	"static __device__ const place threadIdx = {};\n"
	"static __device__ const block blockIdx = {};\n"
	"#define warpSize 64\n"
	"static __device__ inline void __syncthreads() { __builtin_amdgcn_s_barrier(); }\n"
	"static __device__ inline float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }\n"
	"static __device__ inline float fminf(float a, float b) { return __builtin_fminf(a, b); }\n"
	"static __device__ inline float fabsf(float a) { return __builtin_fabsf(a); }\n"
	"static __device__ inline float floorf(float a) { return __builtin_floorf(a); }\n"
	"static __device__ inline double floor(double a) { return __builtin_floor(a); }\n"
	"static __device__ inline float copysignf(float a, float b) { return __builtin_copysignf(a, b); }\n"
	"static __device__ inline double copysign(double a, double b) { return __builtin_copysign(a, b); }\n"
	"__device__ float fmodf(float, float);\n__device__ double fmod(double, double);\n"
	"__device__ float expf(float), logf(float), tanhf(float), erff(float), rsqrtf(float), __shfl_xor(float, int);\n";
static const char hipcc[] =
	"#!/bin/sh\n"
	"exec clang -x hip -nogpulib -nogpuinc -ffreestanding -nostdinc++ -I\"$(dirname \"$0\")/../include\" \"$@\"\n";

static enum kw_status build(const char *text, const char *arch, struct kw_build_result *r)
{
	struct kw_build_opts o = { .arch = arch, .no_cache = true };
	struct kw_view views[2];
	struct kw_intenv none = { 0 };
	struct kw_candidate c;
	struct kw_bound_plan plan;
	struct kw_shape shape = { .rank = 1, .dim = { 1000 } };

	kw_error_reset(&err);
	memset(r, 0, sizeof(*r));
	for (int i = 0; i < 2; i++) {
		views[i] = (struct kw_view){ .base = (void *)(uintptr_t)4096, .dtype = KW_F16, .shape = shape, .stride = { 1 } };
	}
	if (kw_candidate_from_text(&c, "k.hip", "hip", text, strlen(text), &task, &arena, &err) != KW_OK ||
	    kw_plan_bind(&c.plan, &task, &task.cases[0], views, NULL, &none, &arena, &plan, &err) != KW_OK)
		return KW_ERR_BUG;
	return kw_build(kw_backend_find("hip"), &c, &plan, &o, r, &err);
}

static void test_builds(void)
{
	struct kw_build_result r;
	struct kw_kernel_facts f;
	char text[2000], list_text[200];
	struct kw_buf list;
	bool several;

	if (!is_int(build(kernel, ARCH, &r), KW_OK, "a kernel: %s", err.text))
		return;
	ok(r.cls == KW_V_OK && strcmp(r.artefact.kind, "hsaco") == 0, "is built");
	ok(kw_kernel_facts_get(r.artefact.facts, "k", &f) && f.static_smem_bytes == 256, "with its shared memory: %lld",
	   (long long)f.static_smem_bytes);
	ok(f.registers >= 8 && f.registers <= 256 && f.registers % 8 == 0, "and %d registers", f.registers);
	ok(f.param_bytes >= 24, "and its arguments");
	kw_buf_init(&list, 4096);
	kw_hip_list_kernels(r.artefact.code, r.artefact.code_bytes, &list);
	snprintf(list_text, sizeof(list_text), "%s", list.len ? list.ptr : "");
	is_str(list_text, "k", "the kernels of the object");
	kw_buf_release(&list);
	/* Every cut of it is refused or read within its bounds. */
	for (size_t n = 0; n < r.artefact.code_bytes; n += 37) {
		char *part = kw_alloc(n + 1);

		memcpy(part, r.artefact.code, n);
		kw_hip_kernel(part, n, "k", ARCH, &f, &several);
		kw_free(part);
	}
	ok(!kw_hip_kernel("\177ELF", 4, "k", ARCH, &f, &several) && !kw_hip_kernel(NULL, 0, "k", ARCH, &f, &several), "no object at all");
	kw_build_result_release(&r);

	snprintf(text, sizeof(text), "%s", kernel);
	memcpy(strstr(text, "kernel k grid"), "kernel j grid", 13);
	is_int(build(text, ARCH, &r), KW_OK, "a kernel of another name");
	ok(r.cls == KW_V_LAUNCH_ERROR && r.subclass == KW_S_ENTRY && strstr(r.artefact.log, "no kernel 'j' is in the object; there is: k"),
	   "is not there, and the others are named");
	kw_build_result_release(&r);
	snprintf(text, sizeof(text), "%.*s\tfloat z = nothing;\n}\n", (int)strlen(kernel) - 2, kernel);
	is_int(build(text, ARCH, &r), KW_OK, "an undefined name");
	ok(r.cls == KW_V_BUILD_ERROR && r.subclass == KW_S_UNDEFINED && r.artefact.diagnostic_count &&
		   r.artefact.diagnostics[0].line == 11 && strcmp(r.artefact.diagnostics[0].file, "k.hip") == 0,
	   "with its line");
	kw_build_result_release(&r);
	snprintf(text, sizeof(text), "#define F \"/etc/passwd\"\n#include F\n%s", kernel);
	is_int(build(text, ARCH, &r), KW_OK, "a file of somebody's");
	ok(r.cls == KW_V_BUILD_ERROR && !strstr(r.artefact.log, "root:"), "is not read");
	kw_build_result_release(&r);
	is_int(build(kernel, "gfx99999", &r), KW_ERR_ENV, "an architecture that it does not know");
	has_str(err.text, "does not build for gfx99999: install a ROCm that does", "is not the candidate's fault");
}

static void test_bad(void)
{
	struct kw_build_result r;
	char text[128];

	is_int(build(kernel, "sm_90a", &r), KW_ERR_USAGE, "a device of another vendor");
	has_str(err.text, "builds for AMD devices (gfx...), not for 'sm_90a'", "is said");
	setenv("KWRIGHT_HIP", "/nonexistent", 1);
	is_int(build(kernel, ARCH, &r), KW_ERR_ENV, "no compiler");
	has_str(err.text, "there is no HIP compiler (named by KWRIGHT_HIP)", "what is missing");
	is_int(kw_backend_find("hip")->probe(text, sizeof(text), &err), KW_ERR_ENV, "nor when it is asked for");
}

static bool make_hipcc(void)
{
	const char *dir = temp_dir();
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/include/hip", dir);
	kw_mkdirs(path, &err);
	snprintf(path, sizeof(path), "%s/bin", dir);
	kw_mkdirs(path, &err);
	snprintf(path, sizeof(path), "%s/include/hip/hip_runtime.h", dir);
	kw_file_write(path, header, strlen(header), &err);
	snprintf(path, sizeof(path), "%s/bin/hipcc", dir);
	kw_file_write(path, hipcc, strlen(hipcc), &err);
	setenv("KWRIGHT_HIP", dir, 1);
	return chmod(path, 0755) == 0;
}

/* Whether clang makes an AMD object here: it needs the target and ld.lld. */
static bool has_amdgcn(void)
{
	const char *argv[] = { "sh", "-c", "echo '__attribute__((global)) void k() {}' | clang -x hip -nogpulib -nogpuinc -c --offload-arch=" ARCH
			       " --cuda-device-only --no-gpu-bundle-output -o /dev/null - 2>/dev/null", NULL };
	struct kw_proc_opts o = { .timeout_ms = 60000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result r = { 0 };
	bool good = kw_proc_run(argv, &o, &r, &err) == KW_OK && r.exit_code == 0;

	kw_proc_result_release(&r);
	return good;
}

int main(void)
{
	char text[700];

	kw_arena_init(&arena, 64 << 20);
	setenv("XDG_CACHE_HOME", temp_file("cache"), 1);
	if (!is_int(kw_task_parse_yaml(&task, "t.yaml", task_text, strlen(task_text), &err), KW_OK, "the task: %s", err.text))
		return done();
	if (kw_backend_find("hip")->probe(text, sizeof(text), &err) == KW_OK) {
		diag("%s", text);
		test_builds();
	} else {
		skip(1, "neither hiprtc nor hipcc here");
	}
	if (has_amdgcn() && make_hipcc())
		test_builds();
	else
		skip(1, "no clang here that makes AMD objects");
	test_bad();
	kw_task_release(&task);
	kw_arena_release(&arena);
	return done();
}
