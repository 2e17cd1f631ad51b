/* Hardware sheets, and what a device can launch. */
#include "base/file.h"
#include "core/launch.h"

#include "tap.h"

#include <math.h>

static struct kw_arena arena;
static struct kw_error err;
static char line[2400];

static const char good[] =
	"name: Test GPU\n"
	"vendor: NVIDIA\n"
	"device_names: [ \"Test GPU 1\", Test GPU 2 ]\n"
	"arch: sm_90a\n"
	"units: 132\n"
	"clock: 1.98 GHz\n"
	"memory: 80 GB\n"
	"memory_rate: 3.35 TB/s\n"
	"l2: 50 MiB\n"
	"rates: { f32: 67 TFLOP/s, f16_matrix: 989.4 TFLOP/s, i8_matrix: 1978.9 TOP/s }\n"
	"limits:\n"
	"  warp: 32\n"
	"  threads_per_block: 1024\n"
	"  threads_per_unit: 2048\n"
	"  blocks_per_unit: 32\n"
	"  registers_per_thread: 255\n"
	"  registers_per_block: 65536\n"
	"  registers_per_unit: 65536\n"
	"  smem_per_block: 227 KiB\n"
	"  smem_per_unit: 228 KiB\n"
	"  smem_reserved: 1 KiB\n"
	"  cluster_blocks: 16\n"
	"  cluster_blocks_portable: 8\n"
	"  grid: [ 2147483647, 65535, 65535 ]\n"
	"  block: [ 1024, 1024, 64 ]\n";

/* The sheet with the first `from` replaced by `to`. */
static const char *changed(const char *from, const char *to)
{
	static char text[4096];
	const char *at = strstr(good, from);

	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
	return text;
}

static enum kw_status parse(const char *text, struct kw_hardware *out, const char *const **names)
{
	enum kw_status s;

	kw_error_reset(&err);
	s = kw_hardware_parse("knowledge/hardware/t.yaml", text, strlen(text), &arena, out, names,
			      &err);
	kw_error_line(&err, line, sizeof(line));
	return s;
}

static void test_parse(void)
{
	struct kw_hardware h;
	const char *const *names;
	json_t *j;

	is_int(parse(good, &h, &names), KW_OK, "a sheet: %s", line);
	is_str(h.name, "Test GPU", "its name");
	is_str(h.arch, "sm_90a", "architecture");
	ok(names && strcmp(names[0], "Test GPU 1") == 0 && strcmp(names[1], "Test GPU 2") == 0 &&
		   !names[2],
	   "drivers' names");
	ok(h.units == 132 && h.clock_hz == 1.98e9, "counts and clocks");
	ok(h.memory_bytes == 80000000000 && h.l2_bytes == 50 << 20, "GB are 1000s, MiB 1024s");
	ok(h.last_level_cache_bytes == h.l2_bytes, "the last cache is L2 where nothing is said");
	ok(h.memory_bytes_per_s == 3.35e12, "memory rate");
	ok(h.rates[KW_RATE_F16_MATRIX] == 989.4e12 && h.rates[KW_RATE_I8_MATRIX] == 1978.9e12 &&
		   h.flops_f32 == 67e12 && h.rates[KW_RATE_F8_MATRIX] == 0,
	   "rates; one left out is unknown");
	ok(h.limits.smem_per_block_bytes == 232448 && h.limits.grid[2] == 65535 &&
		   h.limits.cluster_blocks == 16,
	   "limits");
	j = kw_hardware_to_json(&h);
	ok(kw_json_get_f64(json_object_get(j, "rates"), "f16_matrix", 0) == 989.4e12 &&
		   kw_json_get_i64(json_object_get(j, "limits"), "smem_per_block_bytes", 0) ==
			   232448,
	   "as JSON");
	ok(!json_object_get(json_object_get(j, "rates"), "f8_matrix"),
	   "what is unknown is left out");
	json_decref(j);
}

static void test_bad_sheets(void)
{
	static const struct {
		const char *from, *to, *message;
	} cases[] = {
		{ "units: 132\n", "", "the sheet has no 'units'" },
		{ "f32: 67 TFLOP/s, ", "", "rates has no 'f32'" },
		{ "  smem_per_block: 227 KiB\n", "", "limits has no 'smem_per_block'" },
		{ "  grid: [ 2147483647, 65535, 65535 ]\n", "", "limits has no 'grid'" },
		{ "device_names: [ \"Test GPU 1\", Test GPU 2 ]\n", "",
		  "the sheet has no 'device_names'" },
		{ "memory_rate", "memory_rat",
		  "t.yaml:8:1: unknown key 'memory_rat'; did you mean 'memory_rate'?" },
		{ "f16_matrix", "f16_matrx", "did you mean 'f16_matrix'?" },
		{ "threads_per_unit", "thread_per_unit", "did you mean 'threads_per_unit'?" },
		{ "80 GB", "80 GB/s",
		  "t.yaml:7:9: 'memory' is bytes (like 80 GB or 227 KiB), not '80 GB/s'" },
		{ "3.35 TB/s", "3.35 TB",
		  "'memory_rate' is bytes per second (like 4.8 TB/s), not '3.35 TB'" },
		{ "1.98 GHz", "1.98", "'clock' is a frequency (like 1.98 GHz), not '1.98'" },
		{ "67 TFLOP/s", "67 GHz", "'f32' is operations per second" },
		{ "67 TFLOP/s", "67TFLOP/s", "'f32' is operations per second" },
		{ "80 GB", "-80 GB", "'memory' is bytes" },
		{ "80 GB", "nan GB", "'memory' is bytes" },
		{ "80 GB", "[ 80 GB ]", "'memory' should be bytes" },
		{ "units: 132", "units: 0", "'units' should be a number from 1" },
		{ "units: 132", "units: many", "t.yaml:5:8" },
		{ "[ 1024, 1024, 64 ]", "[ 1024, 1024 ]",
		  "'block' should be three numbers: [X, Y, Z]" },
		{ "[ 1024, 1024, 64 ]", "[ 1024, 0, 64 ]",
		  "'block' should be three numbers over 0" },
		{ "arch: sm_90a", "arch: an-architecture-of-more-than-31-characters",
		  "'arch' should be a text of 1 to 31" },
		{ "[ \"Test GPU 1\", Test GPU 2 ]", "Test GPU", "'device_names' should be a list" },
		{ "rates: {", "rates: [ 1 ]\nx: {", "unknown key 'x'" },
		{ "name: Test GPU\n", "name: Test GPU\nname: Two\n", "duplicate" },
	};
	struct kw_hardware h;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is_int(parse(changed(cases[i].from, cases[i].to), &h, NULL), KW_ERR_INPUT,
		       "bad sheet %zu is refused", i);
		ok(strstr(line, cases[i].message) != NULL, "%s", line);
	}
}

/* Every sheet of ours is whole, and makes sense beside the others. */
/* What a unit does in a clock is a power of two; vendors round, and some rates hold at a clock that is up to a tenth lower. A
 * figure with sparsity, of another chip or mistyped shows here. */
static bool adds_up(double rate, const struct kw_hardware *h)
{
	double a_clock = rate / (h->units * h->clock_hz), whole = exp2(round(log2(a_clock)));

	return rate == 0 || (a_clock > 0.9 * whole && a_clock < 1.03 * whole);
}

static void test_library(void)
{
	static const char *const wanted[] = { "a100",	"b200",	   "h100",    "h200", "l40s",
					      "mi300x", "rtx4090", "rtx5090", "t4",   "v100" };
	const char *const *names;
	struct kw_hardware h;
	size_t count = 0;

	kw_error_reset(&err);
	is_int(kw_hardware_list(&arena, &names, &count, &err), KW_OK, "the library");
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		bool there = false;

		for (size_t k = 0; k < count; k++)
			there = there || strcmp(names[k], wanted[i]) == 0;
		ok(there, "has %s", wanted[i]);
	}
	for (size_t i = 0; i < count; i++) {
		kw_error_reset(&err);
		is_int(kw_hardware_load(names[i], &arena, &h, &err), KW_OK, "%s: %s", names[i],
		       kw_error_line(&err, line, sizeof(line)));
		ok(h.memory_bytes_per_s > 1e11 && h.memory_bytes_per_s < 1e13 && h.clock_hz > 1e9 &&
			   h.clock_hz < 4e9 && h.memory_bytes >= 16000000000,
		   "%s: memory and clock", names[i]);
		ok(h.rates[KW_RATE_F32] > 5e12 && h.rates[KW_RATE_F64] > 0 &&
			   h.rates[KW_RATE_F64] <= h.rates[KW_RATE_F32] &&
			   h.rates[KW_RATE_F16_MATRIX] > h.rates[KW_RATE_F32],
		   "%s: rates", names[i]);
		for (int r = 0; r < KW_RATE_COUNT; r++)
			ok(adds_up(h.rates[r], &h), "%s: %s is what its units do in a clock", names[i],
			   kw_rate_name((enum kw_rate)r));
		ok(h.limits.smem_per_block_bytes + h.limits.smem_reserved_bytes <=
				   h.limits.smem_per_unit_bytes &&
			   h.limits.threads_per_unit % h.limits.warp_size == 0,
		   "%s: limits", names[i]);
	}
	is_int(kw_hardware_match("NVIDIA H200", &arena, &h, &err), KW_OK,
	       "by what the driver says");
	ok(h.units == 132 && h.memory_bytes_per_s == 4.8e12, "it is that sheet");
	is_int(kw_hardware_match("NVIDIA Abacus", &arena, &h, &err), KW_ERR_NOT_FOUND,
	       "a device that nobody knows");
	kw_error_reset(&err);
	is_int(kw_hardware_load("h20", &arena, &h, &err), KW_ERR_INPUT, "a name that is none");
	ok(strstr(err.text, "did you mean 'h200'?") || strstr(err.text, "did you mean 'h100'?"),
	   "%s", err.text);
	is_int(kw_hardware_load("../tasks/softmax", &arena, &h, &err), KW_ERR_INPUT,
	       "only names of the library");
}

static void test_arch(void)
{
	static const struct {
		int major, minor;
		const char *arch;
	} cases[] = { { 7, 5, "sm_75" },
		      { 8, 9, "sm_89" },
		      { 9, 0, "sm_90a" },
		      { 10, 0, "sm_100a" },
		      { 12, 1, "sm_121a" } };
	char arch[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		kw_hardware_nvidia_arch(cases[i].major, cases[i].minor, arch);
		is_str(arch, cases[i].arch, "%d.%d", cases[i].major, cases[i].minor);
	}
}

/* ---- launches ---- */

struct launch {
	const char *what;
	struct kw_bound_kernel k;
	struct kw_kernel_facts f;
	enum kw_subclass subclass;
	const char *message;
};
#define ONES                                                                                       \
	{                                                                                          \
		1, 1, 1                                                                            \
	}

static void test_launch(void)
{
	static const struct launch cases[] = {
		{ "a plain launch",
		  { .name = "f",
		    .grid = { 100, 1, 1 },
		    .block = { 256, 1, 1 },
		    .cluster = ONES,
		    .smem_bytes = 1000 },
		  { .registers = 32 },
		  KW_S_NONE,
		  "" },
		{ "no blocks",
		  { .name = "f", .grid = { 0, 1, 1 }, .block = { 4096, 1, 1 }, .cluster = ONES },
		  { .registers = 32 },
		  KW_S_NONE,
		  "" },
		{ "threads along an axis",
		  { .name = "f", .grid = ONES, .block = { 1, 1, 65 }, .cluster = ONES },
		  { .registers = 32 },
		  KW_S_CONFIGURATION,
		  "f: the block is 65 threads along z; Test GPU allows 64" },
		{ "threads",
		  { .name = "f", .grid = ONES, .block = { 64, 32, 1 }, .cluster = ONES },
		  { .registers = 32 },
		  KW_S_CONFIGURATION,
		  "f: the block has 2048 threads; Test GPU allows 1024 in a block" },
		{ "launch bounds",
		  { .name = "f", .grid = ONES, .block = { 512, 1, 1 }, .cluster = ONES },
		  { .registers = 32, .max_threads = 256 },
		  KW_S_CONFIGURATION,
		  "f: the block has 512 threads; the kernel was compiled for 256 at most" },
		{ "a fixed block",
		  { .name = "f", .grid = ONES, .block = { 64, 1, 1 }, .cluster = ONES },
		  { .registers = 32, .block = { 32, 2, 1 } },
		  KW_S_CONFIGURATION,
		  "the kernel was compiled for (32, 2, 1)" },
		{ "blocks along an axis",
		  { .name = "f", .grid = { 1, 65536, 1 }, .block = { 32, 1, 1 }, .cluster = ONES },
		  { .registers = 32 },
		  KW_S_CONFIGURATION,
		  "f: the grid is 65536 blocks along y; Test GPU allows 65535" },
		{ "as many registers as there are",
		  { .name = "f", .grid = ONES, .block = { 1024, 1, 1 }, .cluster = ONES },
		  { .registers = 64 },
		  KW_S_NONE,
		  "" },
		{ "too many registers",
		  { .name = "f", .grid = ONES, .block = { 512, 1, 1 }, .cluster = ONES },
		  { .registers = 162 },
		  KW_S_LAUNCH_RESOURCES,
		  "f: 162 registers a thread and 512 threads take 86016 registers; Test GPU allows "
		  "65536 in a block: 384 "
		  "threads at most" },
		{ "all the shared memory",
		  { .name = "f",
		    .grid = ONES,
		    .block = { 32, 1, 1 },
		    .cluster = ONES,
		    .smem_bytes = 232448 - 1000 },
		  { .registers = 32, .static_smem_bytes = 1000 },
		  KW_S_NONE,
		  "" },
		{ "a byte more",
		  { .name = "f",
		    .grid = ONES,
		    .block = { 32, 1, 1 },
		    .cluster = ONES,
		    .smem_bytes = 232448 - 999 },
		  { .registers = 32, .static_smem_bytes = 1000 },
		  KW_S_LAUNCH_RESOURCES,
		  "f: the block takes 232449 bytes of shared memory (1000 declared in the kernel, "
		  "smem=231449); Test GPU "
		  "allows 232448" },
		{ "shared memory beyond a number",
		  { .name = "f",
		    .grid = ONES,
		    .block = { 32, 1, 1 },
		    .cluster = ONES,
		    .smem_bytes = INT64_MAX },
		  { .registers = 32 },
		  KW_S_LAUNCH_RESOURCES,
		  "of shared memory" },
		{ "a cluster",
		  { .name = "f",
		    .grid = { 8, 1, 1 },
		    .block = { 32, 1, 1 },
		    .cluster = { 4, 1, 1 } },
		  { .registers = 32 },
		  KW_S_NONE,
		  "" },
		{ "a cluster that does not divide",
		  { .name = "f",
		    .grid = { 9, 1, 1 },
		    .block = { 32, 1, 1 },
		    .cluster = { 4, 1, 1 } },
		  { .registers = 32 },
		  KW_S_CONFIGURATION,
		  "f: the grid's 9 blocks along x are no multiple of the cluster's 4" },
		{ "one that was compiled in",
		  { .name = "f", .grid = { 9, 1, 1 }, .block = { 32, 1, 1 }, .cluster = ONES },
		  { .registers = 32, .cluster = { 2, 1, 1 } },
		  KW_S_CONFIGURATION,
		  "no multiple of the cluster's 2" },
		{ "another than compiled in",
		  { .name = "f",
		    .grid = { 8, 1, 1 },
		    .block = { 32, 1, 1 },
		    .cluster = { 4, 1, 1 } },
		  { .registers = 32, .cluster = { 2, 1, 1 } },
		  KW_S_CONFIGURATION,
		  "(__cluster_dims__)" },
		{ "a large cluster",
		  { .name = "f",
		    .grid = { 32, 1, 1 },
		    .block = { 32, 1, 1 },
		    .cluster = { 32, 1, 1 } },
		  { .registers = 32 },
		  KW_S_CONFIGURATION,
		  "f: a cluster has 32 blocks; Test GPU allows 16" },
		{ "larger than compiled for",
		  { .name = "f",
		    .grid = { 8, 1, 1 },
		    .block = { 32, 1, 1 },
		    .cluster = { 8, 1, 1 } },
		  { .registers = 32, .max_cluster = 4 },
		  KW_S_CONFIGURATION,
		  "the kernel was compiled for 4 at most" },
		{ "a cooperative launch that fits",
		  { .name = "f",
		    .grid = { 132 * 2, 1, 1 },
		    .block = { 1024, 1, 1 },
		    .cluster = ONES,
		    .cooperative = true },
		  { .registers = 32 },
		  KW_S_NONE,
		  "" },
		{ "one that does not",
		  { .name = "f",
		    .grid = { 132 * 2 + 1, 1, 1 },
		    .block = { 1024, 1, 1 },
		    .cluster = ONES,
		    .cooperative = true },
		  { .registers = 32 },
		  KW_S_LAUNCH_RESOURCES,
		  "f: a cooperative launch needs all its 265 blocks at once; Test GPU holds 264 (2 "
		  "on each of 132, limited by "
		  "threads)" },
	};
	struct kw_hardware h;
	enum kw_subclass subclass;
	char why[400];

	parse(good, &h, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct launch *c = &cases[i];
		bool fine = kw_launch_check(&c->k, &c->f, &h, &subclass, why, sizeof(why));

		ok(fine == (c->subclass == KW_S_NONE) && subclass == c->subclass &&
			   strstr(why, c->message),
		   "%s: %s", c->what, why);
	}
	h.limits.cluster_blocks = 0;
	ok(!kw_launch_check(&cases[12].k, &cases[12].f, &h, &subclass, why, sizeof(why)) &&
		   strstr(why, "Test GPU has no clusters"),
	   "a device without clusters: %s", why);
	h = (struct kw_hardware){ .name = "a CPU" };
	ok(kw_launch_check(&cases[3].k, &cases[3].f, &h, &subclass, why, sizeof(why)),
	   "a device without limits");
}

static void test_occupancy(void)
{
	static const struct {
		struct kw_bound_kernel k;
		struct kw_kernel_facts f;
		int blocks;
		const char *limit;
	} cases[] = {
		{ { .name = "f", .grid = { 132, 1, 1 }, .block = { 256, 1, 1 }, .cluster = ONES },
		  { .registers = 32 },
		  8,
		  "threads" },
		{ { .name = "f", .grid = { 132, 1, 1 }, .block = { 256, 1, 1 }, .cluster = ONES },
		  { .registers = 64 },
		  4,
		  "registers" },
		{ { .name = "f", .grid = { 132, 1, 1 }, .block = { 128, 1, 1 }, .cluster = ONES },
		  { .registers = 255 },
		  2,
		  "registers" },
		{ { .name = "f", .grid = { 132, 1, 1 }, .block = { 32, 1, 1 }, .cluster = ONES },
		  { .registers = 16 },
		  32,
		  "blocks" },
		/* 100 KiB and 1 KiB of the system's: two of them in 228 KiB; a hundred bytes over
		   113 KiB: one. */
		{ { .name = "f",
		    .grid = { 132, 1, 1 },
		    .block = { 128, 1, 1 },
		    .cluster = ONES,
		    .smem_bytes = 100 << 10 },
		  { .registers = 32 },
		  2,
		  "shared memory" },
		{ { .name = "f",
		    .grid = { 132, 1, 1 },
		    .block = { 128, 1, 1 },
		    .cluster = ONES,
		    .smem_bytes = 113 << 10 },
		  { .registers = 32 },
		  2,
		  "shared memory" },
		{ { .name = "f",
		    .grid = { 132, 1, 1 },
		    .block = { 128, 1, 1 },
		    .cluster = ONES,
		    .smem_bytes = (113 << 10) + 100 },
		  { .registers = 32 },
		  1,
		  "shared memory" },
	};
	struct kw_hardware h;
	struct kw_occupancy o;

	parse(good, &h, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		o = kw_launch_occupancy(&cases[i].k, &cases[i].f, &h);
		is_int(o.blocks, cases[i].blocks, "blocks at once, %zu", i);
		is_str(o.limit, cases[i].limit, "what limits them, %zu", i);
		ok(o.share > 0 && o.share <= 1 && o.waves > 0, "share and waves, %zu", i);
	}
}

static void test_facts(void)
{
	struct kw_kernel_facts f = { .symbol = "_Z1fv",
				     .registers = 40,
				     .max_threads = 256,
				     .static_smem_bytes = 1024,
				     .spill_load_bytes = 8,
				     .cluster = { 2, 1, 1 } },
			       back;
	json_t *facts = json_pack("{s:{s:o}}", "kernels", "f", kw_kernel_facts_to_json(&f));

	ok(kw_kernel_facts_get(facts, "f", &back) && memcmp(&f, &back, sizeof(f)) == 0,
	   "facts go through JSON");
	ok(!kw_kernel_facts_get(facts, "g", &back), "a kernel that is not there");
	ok(!kw_kernel_facts_get(NULL, "f", &back), "no facts");
	json_decref(facts);
}

static int parse_scenario(void *arg)
{
	struct kw_arena a;
	struct kw_hardware h;
	const char *const *names;
	struct kw_error e = { 0 };
	enum kw_status s;

	kw_arena_init(&a, 1 << 20);
	s = kw_hardware_parse("t.yaml", arg, strlen(arg), &a, &h, &names, &e);
	kw_arena_release(&a);
	return s == KW_OK ? 0 : s == KW_ERR_NOMEM && e.text[0] ? 1 : 2;
}

int main(void)
{
	static char scenario[sizeof(good)];

	kw_arena_init(&arena, 64 << 20);
	test_parse();
	test_bad_sheets();
	test_library();
	test_arch();
	test_launch();
	test_occupancy();
	test_facts();
	memcpy(scenario, good, sizeof(good));
	fails_cleanly("KW_FAIL_ALLOC", 500, parse_scenario, scenario, "parsing a sheet");
	kw_arena_release(&arena);
	return done();
}
