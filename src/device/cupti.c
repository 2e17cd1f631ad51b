#include "device/cupti.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { RANGES = 64, MOST_METRICS = 128, NO_PRIVILEGE = 35, NO_PRIVILEGE_HERE = 40, BUSY = 26 };
#define PCT ".avg.pct_of_peak_sustained_elapsed"
#define ACTIVE ".avg.pct_of_peak_sustained_active"
#define STALL(reason) "smsp__average_warps_issue_stalled_" reason "_per_issue_active.ratio"

/* What the rules look at (knowledge/rules), by names of several chips; those that this one does not have are left out. */
static const char *const wanted[] = {
	"gpu__time_duration.sum", "sm__throughput" PCT, "gpu__compute_memory_throughput" PCT, "gpu__dram_throughput" PCT, "lts__throughput" PCT,
	"l1tex__throughput" ACTIVE, "gpc__cycles_elapsed.max", "sm__cycles_active.avg", "sm__cycles_active.max", "dram__bytes_read.sum",
	"dram__bytes_write.sum", "l1tex__t_sector_hit_rate.pct", "lts__t_sector_hit_rate.pct",
	"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
	"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
	"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio",
	"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
	"l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
	"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
	"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
	"smsp__inst_executed_op_shared_atom.sum", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
	"smsp__inst_executed_op_local_ld.sum", "smsp__inst_executed_op_local_st.sum", "sm__warps_active" ACTIVE,
	"smsp__issue_active" ACTIVE, "sm__inst_issued" ACTIVE, "smsp__inst_executed.sum", "smsp__thread_inst_executed_per_inst_executed.ratio",
	"smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", "sm__inst_executed_pipe_alu" ACTIVE, "sm__pipe_alu_cycles_active" ACTIVE,
	"sm__pipe_fma_cycles_active" ACTIVE, "sm__pipe_fp64_cycles_active" ACTIVE, "sm__inst_executed_pipe_xu" ACTIVE,
	"sm__inst_executed_pipe_lsu" ACTIVE, "sm__pipe_tensor_cycles_active" ACTIVE, "sm__inst_executed_pipe_tensor" ACTIVE,
	"smsp__average_warp_latency_per_inst_issued.ratio", STALL("long_scoreboard"), STALL("short_scoreboard"), STALL("mio_throttle"),
	STALL("lg_throttle"), STALL("barrier"), STALL("math_pipe_throttle"), STALL("wait"), STALL("no_instruction"), STALL("imc_miss"),
	STALL("membar"), STALL("gmma"),
};
enum { WANTED = sizeof(wanted) / sizeof(wanted[0]) };

/* X(field, symbol, parameter) */
#define CUPTI_LIST(X)                                                                 \
	X(init, "cuptiProfilerInitialize", struct cupti_head)                         \
	X(chip, "cuptiDeviceGetChipName", struct cupti_chip)                          \
	X(host, "cuptiProfilerHostInitialize", struct cupti_host)                     \
	X(add, "cuptiProfilerHostConfigAddMetrics", struct cupti_metrics)             \
	X(image_size, "cuptiProfilerHostGetConfigImageSize", struct cupti_image_size) \
	X(image, "cuptiProfilerHostGetConfigImage", struct cupti_image)               \
	X(enable, "cuptiRangeProfilerEnable", struct cupti_enable)                    \
	X(data_size, "cuptiRangeProfilerGetCounterDataSize", struct cupti_data_size)  \
	X(data_init, "cuptiRangeProfilerCounterDataImageInitialize", struct cupti_data_init) \
	X(config, "cuptiRangeProfilerSetConfig", struct cupti_config)                 \
	X(start, "cuptiRangeProfilerStart", struct cupti_plain)                       \
	X(stop, "cuptiRangeProfilerStop", struct cupti_stop)                          \
	X(decode, "cuptiRangeProfilerDecodeData", struct cupti_decode)                \
	X(disable, "cuptiRangeProfilerDisable", struct cupti_plain)                   \
	X(ranges, "cuptiRangeProfilerGetCounterDataInfo", struct cupti_count)         \
	X(values, "cuptiProfilerHostEvaluateToGpuValues", struct cupti_values)

static struct {
#define X(field, symbol, parameter) int (*field)(parameter *);
	CUPTI_LIST(X)
#undef X
	int (*words)(int, const char **);
} lib;
static struct {
	void *host, *profiler;
	uint8_t *data, *config;
	size_t data_bytes, config_bytes;
	const char *names[MOST_METRICS];
	size_t count;
	bool running;
	char why[300];                 /* "": all is well */
} now;

/* Declares p of a type whose last field is named, with its size. */
#define PARAMS(type, p, last) struct type p = { .head = { CUPTI_BYTES(struct type, last), NULL } }

static bool failed(const char *call, int r)
{
	const char *words = NULL;

	if (r == 0)
		return false;
	if (lib.words)
		lib.words(r, &words);
	/* In the words of the other tool, which rules explain. */
	if (r == NO_PRIVILEGE || r == NO_PRIVILEGE_HERE)
		snprintf(now.why, sizeof(now.why),
			 "ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device");
	else if (r == BUSY)
		snprintf(now.why, sizeof(now.why), "Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data");
	else
		snprintf(now.why, sizeof(now.why), "CUPTI: %s: %s (%d)", call, words ? words : "failed", r);
	return true;
}

static bool load(const char *path)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
	const char *lacks = NULL;
	void *h = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !h && !*path; i++)
		h = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!h) {
		const char *said = dlerror();

		snprintf(now.why, sizeof(now.why),
			 "CUPTI: %.120s; for counters install Nsight Compute (KWRIGHT_NCU names its ncu) or CUPTI (KWRIGHT_CUPTI names its library)",
			 said ? said : "there is no libcupti.so");
		return false;
	}
#define X(field, symbol, parameter)                            \
	if (!(*(void **)&lib.field = dlsym(h, symbol)) && !lacks) \
		lacks = symbol;
	CUPTI_LIST(X)
#undef X
	*(void **)&lib.words = dlsym(h, "cuptiGetResultString");
	if (lacks)
		snprintf(now.why, sizeof(now.why), "CUPTI: this libcupti has no %s: that of CUDA 12.6 or later is needed", lacks);
	return !lacks;
}

static bool choose_metrics(int device)
{
	PARAMS(cupti_chip, chip, name);
	PARAMS(cupti_host, host, host);

	chip.device = (size_t)device;
	if (failed("the chip's name", lib.chip(&chip)))
		return false;
	host.chip = chip.name;
	if (failed("cuptiProfilerHostInitialize", lib.host(&host)))
		return false;
	now.host = host.host;
	for (size_t i = 0; i < WANTED && now.count < MOST_METRICS; i++) {
		const char *one = wanted[i];
		PARAMS(cupti_metrics, add, count);

		add.host = now.host;
		add.names = &one;
		add.count = 1;
		if (lib.add(&add) == 0)
			now.names[now.count++] = one;
	}
	if (now.count == 0)
		snprintf(now.why, sizeof(now.why), "CUPTI: chip %.40s has none of the metrics", chip.name);
	return now.count > 0;
}

static bool make_images(void *context)
{
	PARAMS(cupti_image_size, size, bytes);
	PARAMS(cupti_image, image, image);
	PARAMS(cupti_enable, enable, profiler);
	PARAMS(cupti_data_size, data, bytes);
	PARAMS(cupti_data_init, init, data);

	size.host = image.host = now.host;
	if (failed("the size of the configuration", lib.image_size(&size)))
		return false;
	now.config_bytes = image.bytes = size.bytes;
	now.config = image.image = kw_calloc(1, size.bytes + 1);
	if (!now.config || failed("the configuration", lib.image(&image)))
		return false;
	enable.context = context;
	if (failed("cuptiRangeProfilerEnable", lib.enable(&enable)))
		return false;
	now.profiler = data.profiler = init.profiler = enable.profiler;
	data.names = now.names;
	data.count = now.count;
	data.ranges = data.nodes = RANGES;
	if (failed("the size of the counters", lib.data_size(&data)))
		return false;
	now.data_bytes = init.bytes = data.bytes;
	now.data = init.data = kw_calloc(1, data.bytes + 1);
	return now.data && !failed("the counters", lib.data_init(&init));
}

static bool start(void)
{
	PARAMS(cupti_config, config, target_level);
	PARAMS(cupti_plain, go, profiler);

	config.profiler = go.profiler = now.profiler;
	config.config = now.config;
	config.config_bytes = now.config_bytes;
	config.data = now.data;
	config.data_bytes = now.data_bytes;
	config.range = 1;
	config.replay = 2;
	config.ranges = RANGES;
	config.levels = config.least_level = 1;
	return !failed("cuptiRangeProfilerSetConfig", lib.config(&config)) && !failed("cuptiRangeProfilerStart", lib.start(&go));
}

void kw_cupti_begin(const char *library, void *context, int device)
{
	struct cupti_head init = { sizeof(init), NULL };

	memset(&now, 0, sizeof(now));
	now.running = load(library) && !failed("cuptiProfilerInitialize", lib.init(&init)) && choose_metrics(device) &&
		      make_images(context) && start();
	if (!now.running && !now.why[0])
		snprintf(now.why, sizeof(now.why), "CUPTI: out of memory");
}

/* ---- what it gave ---- */

static void row(int fd, size_t id, const struct cupti_launch *k, const char *metric, const char *unit, double value)
{
	/* Names with quotes and commas are doubled and quoted, as in every CSV. */
	char name[600];
	size_t n = 0;

	for (const char *p = k->name; *p && n < sizeof(name) - 3; p++) {
		if (*p == '"')
			name[n++] = '"';
		name[n++] = *p;
	}
	name[n] = '\0';
	if (isfinite(value))
		dprintf(fd, "\"%zu\",\"%s\",\"(%u, %u, %u)\",\"(%u, %u, %u)\",\"%d.%d\",\"%s\",\"%s\",\"%.17g\"\n", id, name, k->block[0], k->block[1],
			k->block[2], k->grid[0], k->grid[1], k->grid[2], k->major, k->minor, metric, unit, value);
}

static void launch_rows(int fd, size_t id, const struct cupti_launch *k)
{
	double blocks = (double)k->grid[0] * k->grid[1] * k->grid[2], threads = (double)k->block[0] * k->block[1] * k->block[2];

	row(fd, id, k, "launch__grid_size", "", blocks);
	row(fd, id, k, "launch__block_size", "", threads);
	row(fd, id, k, "launch__registers_per_thread", "register/thread", k->registers);
	row(fd, id, k, "launch__shared_mem_per_block_static", "byte/block", k->static_smem_bytes);
	row(fd, id, k, "launch__shared_mem_per_block_dynamic", "byte/block", k->smem_bytes);
	row(fd, id, k, "# SMs", "SM", k->units);
	if (k->blocks_per_unit > 0 && k->units > 0 && k->warps_per_unit > 0) {
		row(fd, id, k, "launch__waves_per_multiprocessor", "", blocks / ((double)k->blocks_per_unit * k->units));
		row(fd, id, k, "sm__maximum_warps_per_active_cycle_pct", "%", 100 * ceil(threads / 32) * k->blocks_per_unit / k->warps_per_unit);
	}
}

static void values(int fd, size_t range, size_t id, const struct cupti_launch *k)
{
	double got[MOST_METRICS];
	PARAMS(cupti_values, v, values);

	v.host = now.host;
	v.data = now.data;
	v.bytes = now.data_bytes;
	v.range = range;
	v.names = now.names;
	v.count = now.count;
	v.values = got;
	if (failed("cuptiProfilerHostEvaluateToGpuValues", lib.values(&v)))
		return;
	for (size_t i = 0; i < now.count; i++)
		row(fd, id, k, now.names[i],
		    strstr(now.names[i], "duration") ? "ns" : strstr(now.names[i], "pct") ? "%" : strstr(now.names[i], "dram__bytes") ? "byte" : "", got[i]);
}

void kw_cupti_end(const struct cupti_launch *launches, size_t count, int fd)
{
	PARAMS(cupti_stop, stop, all);
	PARAMS(cupti_decode, decode, dropped);
	PARAMS(cupti_plain, disable, profiler);
	PARAMS(cupti_count, n, ranges);

	stop.profiler = decode.profiler = disable.profiler = now.profiler;
	n.data = now.data;
	n.bytes = now.data_bytes;
	if (now.running && !failed("cuptiRangeProfilerStop", lib.stop(&stop)) && !failed("cuptiRangeProfilerDecodeData", lib.decode(&decode)) &&
	    !failed("the number of ranges", lib.ranges(&n))) {
		/* A range more or less than launches: which is which is not known, so none is told. */
		if (n.ranges != count || decode.dropped)
			snprintf(now.why, sizeof(now.why), "CUPTI: %zu launches were measured of %zu", n.ranges, count);
		else
			dprintf(fd, "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"CC\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n");
		for (size_t i = 0; i < count && !now.why[0]; i++) {
			launch_rows(fd, i, &launches[i]);
			values(fd, i, i, &launches[i]);
		}
	}
	if (now.profiler)
		lib.disable(&disable);
	if (now.why[0])
		dprintf(fd, "==ERROR== %s\n", now.why);
	kw_free(now.data);
	kw_free(now.config);
	memset(&now, 0, sizeof(now));
}
