/* The nvidia device without a GPU: what it says where the driver or the GPU is not as it should be. The driver is
 * fake_cuda.c, built here; each way to fail is a run of this program of its own, since a driver is loaded once. */
#include "core/launch.h"
#include "device/device.h"

#include "base/file.h"
#include "base/proc.h"
#include "fake_cuda.h"
#include "tap.h"
#include "temp.h"

enum { BYTES = 4096, TIMEOUT_MS = 20000 };

static struct kw_error err;

/* ---- the other end: opens the device, runs a kernel, prints what came of it ---- */

static struct kw_bound_arg args[] = {
	{ .kind = KW_ARG_TENSOR, .index = 0 },
	{ .kind = KW_ARG_TENSOR, .index = 1, .writable = true },
	{ .kind = KW_ARG_SCALAR, .dtype = KW_I64, .i = BYTES },
};
static struct kw_bound_kernel kernel = { .name = "copy", .grid = { 4, 1, 1 }, .block = { 256, 1, 1 }, .cluster = { 1, 1, 1 },
					 .args = args, .arg_count = 3 };
static struct kw_bound_map map = { .kind = KW_ARG_TENSOR, .dtype = KW_F16, .rank = 2, .dim = { 64, 32 },
				   .stride_bytes = { 64, 2 }, .box = { 8, 8 } };
static struct kw_bound_plan plan = { .applicable = true, .kernels = &kernel, .kernel_count = 1 };

/* What the mode asks of the plan, beside what the driver does. */
static void change_plan(const char *mode)
{
	if (strcmp(mode, "no tensor map") == 0) {
		plan.tensormaps = &map;
		plan.tensormap_count = 1;
	}
	if (strcmp(mode, "no shared memory") == 0)
		kernel.smem_bytes = 64 << 10;
	if (strcmp(mode, "much shared memory") == 0)
		kernel.smem_bytes = 240000;
	if (strcmp(mode, "many registers") == 0)
		kernel.block[0] = 512;
	if (strcmp(mode, "high grid") == 0)
		kernel.grid[1] = 65536;
	if (strcmp(mode, "wide grid") == 0)
		kernel.grid[0] = (int64_t)1 << 32; /* what 32 bits hold of it is 0 */
	if (strcmp(mode, "empty grid") == 0)
		kernel.grid[0] = 0;
	if (strcmp(mode, "strays") == 0 || strcmp(mode, "missing") == 0)
		kernel.name = mode;
}

static int tell(enum kw_status s)
{
	char line[2100];

	printf("%s: %s\n", kw_status_name(s), kw_error_line(&err, line, sizeof(line)));
	return 0;
}

static int tell_play(const struct kw_play_result *r)
{
	printf("end %d %s: %s\n", (int)r->end, kw_subclass_name(r->fault), r->detail);
	return 0;
}

/* What there is. */
static int close_all(struct kw_device *d, struct kw_session *s, struct kw_player *p, json_t *facts)
{
	if (p)
		d->ops->player_stop(p);
	if (s)
		d->ops->session_free(s);
	kw_device_close(d);
	json_decref(facts);
	return 0;
}

/* By the size that each was measured at. */
static int tell_ceilings(struct kw_device *d)
{
	static const int64_t sizes[] = { 1 << 20, (1 << 20) + 8192, (1 << 20) + 16384, 1 << 19 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct kw_ceiling c = { 0 };
		enum kw_status st = d->ops->ceiling(d, KW_CEILING_COPY, sizes[i], KW_MEASURE_ONCE, &c, &err);

		if (st != KW_OK)
			return tell(st);
		printf("%s%lld", i ? ", " : "", (long long)c.bytes);
	}
	printf("\n");
	kw_device_close(d);
	return 0;
}

static int work(const char *mode)
{
	struct kw_buffer_spec buffers[] = { { .name = "x", .bytes = BYTES, .align_bytes = 64, .read_only = true },
					    { .name = "y", .bytes = BYTES, .align_bytes = 64 } };
	struct kw_session_opts so = { .buffers = buffers, .buffer_count = 2, .tensor_count = 2, .slots = 2,
				      .placement = KW_PLACE_ALTERNATE };
	struct kw_player_opts po = { .threads = 1 };
	char object[] = "an object";
	struct kw_artefact code = { .kind = "cubin", .code = object, .code_bytes = sizeof(object), .toolchain = "NVRTC 13.0" };
	struct kw_play_result r = { .buffer = -1 };
	struct kw_device *d;
	struct kw_session *s = NULL;
	struct kw_player *p = NULL;
	enum kw_status st = kw_device_open("nvidia", &d, &err);
	int order[] = { 0, 1 };
	bool copied = true;

	if (st != KW_OK)
		return tell(st);
	if (d->note[0])
		printf("note: %s\n", d->note);
	if (strcmp(mode, "never ready") == 0) {
		close_all(d, NULL, NULL, NULL);
		printf("closed\n");
		return 0;
	}
	if (strcmp(mode, "ceilings") == 0)
		return tell_ceilings(d);
	change_plan(mode);
	if (strcmp(mode, "little memory") == 0) {
		buffers[1].bytes = 64u << 20;
		printf("%lld bytes are free\n", (long long)kw_device_memory_available(d));
	}
	code.facts = json_pack("{s:{s:{s:s,s:i}}}", "kernels", kernel.name, "symbol", kernel.name, "registers",
			       strcmp(mode, "many registers") == 0 ? 162 : 32);
	if ((st = d->ops->session_new(d, &so, &s, &err)) != KW_OK || (st = d->ops->player_start(s, &po, &p, &err)) != KW_OK) {
		tell(st);
		return close_all(d, s, p, code.facts);
	}
	if (p->killed)
		printf("after signal %d, ", p->killed);
	for (int i = 0; i < 2; i++) {
		memset(kw_session_room(s, i, 0), 'a' + i, BYTES);
		kw_session_push(s, i, 0, &err);
	}
	st = d->ops->load(p, &code, &plan, TIMEOUT_MS, &r, &err);
	if (st == KW_OK && r.end == KW_PLAY_DONE)
		st = d->ops->run(p, order, 2, TIMEOUT_MS, &r, &err);
	if (st != KW_OK)
		tell(st);
	else if (r.end != KW_PLAY_DONE)
		tell_play(&r);
	if (st != KW_OK || r.end != KW_PLAY_DONE)
		return close_all(d, s, p, code.facts);
	for (int i = 0; i < 2; i++) {
		const char *y = kw_session_ptr(s, i, 1);

		for (int k = 0; k < BYTES; k++)
			copied = copied && y[k] == 'a' + i;
	}
	printf("done, %s\n", copied ? "copied" : "not copied");
	return close_all(d, s, p, code.facts);
}

/* ---- this end ---- */

static void check(const char *dir, const char *mode, const char *want)
{
	const char *argv[] = { "/proc/self/exe", mode, NULL };
	struct kw_proc_opts o = { .timeout_ms = 60000, .max_out_bytes = 1 << 16 };
	struct kw_proc_result r;

	fake_cuda_mode(dir, mode);
	setenv("LD_LIBRARY_PATH", dir, 1);
	if (!is_int(kw_proc_run(argv, &o, &r, &err), KW_OK, "%s: run", mode))
		return;
	has_str(r.out.len ? r.out.ptr : "", want, "%s", mode);
	if (r.err.len)
		diag("%s", r.err.ptr);
	kw_proc_result_release(&r);
}

/* What doctor says of it, once per kind of thing: the program, since the facts are made there. */
static void check_doctor(const char *dir, const char *mode, bool nvml, const char *const *wanted)
{
	const char *top = getenv("KW_TOP"), *program = getenv("KWRIGHT");
	char built[PATH_MAX];
	const char *argv[] = { program ? program : built, "doctor", NULL };
	struct kw_proc_opts o = { .timeout_ms = 120000, .max_out_bytes = 1 << 18 };
	struct kw_proc_result r;

	snprintf(built, sizeof(built), "%s/build/kwright", top ? top : ".");
	if (nvml && !ok(fake_nvml_build(dir), "a management library"))
		return;
	fake_cuda_mode(dir, mode);
	setenv("LD_LIBRARY_PATH", dir, 1);
	setenv("XDG_DATA_HOME", temp_file("data"), 1);
	if (!is_int(kw_proc_run(argv, &o, &r, &err), KW_OK, "doctor, %s", mode))
		return;
	for (size_t i = 0; wanted[i]; i++)
		has_str(r.out.len ? r.out.ptr : "", wanted[i], "doctor, %s", mode);
	kw_proc_result_release(&r);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *mode, *want;
	} cases[] = {
		{ "well", "done, copied" },
		{ "empty grid", "done, not copied" },
		{ "ceilings", "1048576, 1048576, 1064960, 524288\n" }, /* one serves sizes within a hundredth of its own */
		/* the driver */
		{ "no device", "KW_ERR_ENV: there is no NVIDIA GPU here; build for one that is elsewhere" },
		{ "no devices", "KW_ERR_ENV: there is no NVIDIA GPU here" },
		{ "stub", "KW_ERR_ENV: libcuda.so.1 is a toolkit's stub and no driver" },
		{ "versions", "KW_ERR_ENV: the driver's library and its kernel module are of different versions" },
		{ "old driver", "KW_ERR_ENV: the driver is for CUDA 12.2 and does not load what NVRTC 13.0 made" },
		{ "no descriptors", "KW_ERR_ENV: this GPU or its driver cannot share memory by file descriptor" },
		/* the GPU and who else has it */
		{ "exclusive", "KW_ERR_ENV: the GPU is in exclusive-process mode, which lets one program in" },
		{ "prohibited", "KW_ERR_ENV: the GPU is in prohibited compute mode" },
		{ "taken", "KW_ERR_ENV: the GPU is busy or unavailable: another program has it for itself" },
		{ "taken for the player", "KW_ERR_ENV: the player did not start: cuDevicePrimaryCtxRetain" },
		{ "full", "KW_ERR_ENV: the GPU is full: there is no memory left for a context" },
		{ "full for the player", "KW_ERR_NOMEM: the player did not start: cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY" },
		/* players that somebody else ends while they start */
		{ "killed at first", "after signal 9, done, copied" },
		{ "killed each time", "KW_ERR_ENV: a player was ended from outside by signal 9 (Killed) while it started, 3 times" },
		{ "never ready", "closed" }, /* a context that nobody wants any more is not waited for */
		{ "little memory", "3145728 bytes are free\nKW_ERR_LIMIT: needs 128 MiB of device memory, and 3 MiB are free" },
		{ "no room", "KW_ERR_NOMEM: cuMemCreate failed: CUDA_ERROR_OUT_OF_MEMORY (2): words" },
		/* launches: refused by their limit, before the driver */
		{ "high grid", "configuration: copy: the grid is 65536 blocks along y; NVIDIA H200 allows 65535" },
		{ "wide grid", "configuration: copy: the grid is 4294967296 blocks along x; NVIDIA H200 allows 2147483647" },
		{ "much shared memory", "resources: copy: the block takes 240000 bytes of shared memory (0 declared in the kernel, "
					"smem=240000); NVIDIA H200 allows 232448" },
		{ "many registers", "resources: copy: 162 registers a thread and 512 threads take 86016 registers; NVIDIA H200 allows "
				    "65536 in a block: 384 threads at most" },
		/* and what only the driver knows */
		{ "no shared memory", "resources: kernel copy asks for 65536 bytes of dynamic shared memory" },
		{ "no tensor map", "configuration: the hardware refuses tensor map" },
		{ "refuses", "configuration: the launch of copy is refused" },
		{ "missing", "end 4 : missing" },
		{ "strays", "misaligned: a vector access to an address that is not aligned to its size" },
	};
	char dir[PATH_MAX], old[PATH_MAX];

	if (argc == 2)
		return work(argv[1]);
	snprintf(dir, sizeof(dir), "%.4000s/driver", temp_dir());
	snprintf(old, sizeof(old), "%.4000s/old", temp_dir());
	if (!ok(fake_cuda_build(dir, "-DFAKE") && fake_cuda_build(old, "-DTOO_OLD"), "a driver"))
		return done();
	setenv("CUDA_MPS_PIPE_DIRECTORY", temp_dir(), 1);
	setenv("XDG_DATA_HOME", temp_file("data"), 1); /* no ceilings of this machine */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check(dir, cases[i].mode, cases[i].want);
	check(old, "old", "KW_ERR_ENV: libcuda.so.1: the driver is too old: it has no cuTensorMapEncodeTiled; CUDA 12.0 (driver 525)");
	kw_file_write(temp_file("control"), "", 0, &err);
	check(dir, "exclusive", "note: an MPS server is here: a kernel that faults ends the context of every client of it");
	check(dir, "exclusive", "done, copied");
	unlink(temp_file("control"));
	check_doctor(dir, "well", false, (const char *const[]){ "NVIDIA H200 (sm_90a), 132 units", "nvidia player", "67 TFLOP/s by the data "
								"sheet, not measured", "not measured yet (--measure)", NULL });
	check_doctor(dir, "well", true, (const char *const[]){ "driver 580.12.34, now at 1755 MHz, memory at 3201 MHz; power or heat keeps it "
							       "from its clock", "shared: 1 other program computes on it", NULL });
	check_doctor(dir, "exclusive", true, (const char *const[]){ "the GPU is in exclusive-process mode", NULL });
	return done();
}
