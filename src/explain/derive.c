/* What follows from the values of a launch: no guess, only arithmetic. Formulas of the CUDA C++ Programming Guide
 * (occupancy, waves) and of the profiler's own sections. */
#include "explain/explain.h"

#include <math.h>
#include <string.h>

static void set(struct kw_launch *k, int m, double v)
{
	if (!kw_launch_has(k, m) && isfinite(v))
		k->value[m] = v;
}

static double least(const double *list, size_t n)
{
	double best = NAN;

	for (size_t i = 0; i < n; i++)
		if (!isnan(list[i]) && (isnan(best) || list[i] < best))
			best = list[i];
	return best;
}

static double most(const double *list, size_t n)
{
	double best = NAN;

	for (size_t i = 0; i < n; i++)
		if (!isnan(list[i]) && (isnan(best) || list[i] > best))
			best = list[i];
	return best;
}

/* Blocks at once, waves, the last wave, multiprocessors. */
static void grid(struct kw_launch *k)
{
	double *v = k->value;
	double limits[] = { v[KW_M_LIMIT_SM], v[KW_M_LIMIT_REGISTERS], v[KW_M_LIMIT_SMEM], v[KW_M_LIMIT_WARPS],
			    v[KW_M_LIMIT_BARRIERS] };
	double per_sm = least(limits, 5), slots;

	set(k, KW_M_BLOCKS_PER_SM, per_sm);
	if (kw_launch_has(k, KW_M_THREADS) && kw_launch_has(k, KW_M_BLOCK) && v[KW_M_BLOCK] > 0)
		set(k, KW_M_GRID, round(v[KW_M_THREADS] / v[KW_M_BLOCK]));
	/* Waves come with two decimals, so this is exact only where they are not tiny. */
	if (v[KW_M_WAVES] >= 0.05 && per_sm > 0 && kw_launch_has(k, KW_M_GRID))
		set(k, KW_M_SMS, round(v[KW_M_GRID] / (v[KW_M_WAVES] * per_sm)));
	slots = v[KW_M_SMS] * per_sm;
	if (slots > 0)
		set(k, KW_M_WAVES, v[KW_M_GRID] / slots);
	if (kw_launch_has(k, KW_M_WAVES)) {
		/* Exact where blocks and slots say the same as what was reported, which has two decimals. */
		bool agree = slots > 0 && fabs(v[KW_M_WAVES] - v[KW_M_GRID] / slots) <= 0.02 + 0.05 * v[KW_M_GRID] / slots;
		double exact = agree ? v[KW_M_GRID] / slots : v[KW_M_WAVES];

		set(k, KW_M_FULL_WAVES, floor(exact + 1e-9));
		if (agree)
			set(k, KW_M_LAST_BLOCKS, v[KW_M_GRID] - floor(exact + 1e-9) * slots);
	}
}

static void occupancy(struct kw_launch *k)
{
	double *v = k->value;

	if (kw_launch_has(k, KW_M_WARPS_THEORETICAL) && v[KW_M_OCCUPANCY_PCT] > 0)
		set(k, KW_M_ACHIEVED_PCT, v[KW_M_WARPS_ACHIEVED] / v[KW_M_WARPS_THEORETICAL] * v[KW_M_OCCUPANCY_PCT]);
	set(k, KW_M_ISSUE_BUSY_PCT, 100 * v[KW_M_ISSUED_WARP]);
	set(k, KW_M_ISSUED_WARP, v[KW_M_IPC] / 4);
	set(k, KW_M_NO_ELIGIBLE_PCT, 100 * (1 - v[KW_M_ISSUED_WARP]));
}

/* The share of DRAM's data-sheet rate that kernels reach with this mix of reads and writes: turning the bus round takes time. Measured on an
 * H200: reads alone 97%, writes alone 98%, a copy 85%. Without the mix: from where nothing is left to fix. */
static double dram_reach(const double *v)
{
	enum { PURE = 97, COPY = 85, UNKNOWN = 88 };
	double read = v[KW_M_DRAM_READ], all = read + v[KW_M_DRAM_WRITE];

	if (!(all > 0)) {
		read = v[KW_M_DRAM_READ_RATE];
		all = read + v[KW_M_DRAM_WRITE_RATE];
	}
	if (!(all > 0)) {
		read = v[KW_M_DRAM_READ_PCT];
		all = read + v[KW_M_DRAM_WRITE_PCT];
	}
	if (!(all > 0))
		return UNKNOWN;
	return PURE - 2 * (PURE - COPY) * fmin(read / all, 1 - read / all);
}

static void time_and_bytes(struct kw_launch *k)
{
	double *v = k->value;

	if (v[KW_M_SM_CLOCK] > 0)
		set(k, KW_M_DURATION_NS, v[KW_M_CYCLES] / v[KW_M_SM_CLOCK] * 1e9);
	set(k, KW_M_DRAM_PCT, v[KW_M_DRAM_READ_PCT] + v[KW_M_DRAM_WRITE_PCT]);
	set(k, KW_M_DRAM_RATE, v[KW_M_DRAM_READ_RATE] + v[KW_M_DRAM_WRITE_RATE]);
	set(k, KW_M_DRAM_BYTES, v[KW_M_DRAM_READ] + v[KW_M_DRAM_WRITE]);
	set(k, KW_M_DRAM_BYTES, v[KW_M_DRAM_RATE] * v[KW_M_DURATION_NS] / 1e9);
	if (v[KW_M_DURATION_NS] > 0)
		set(k, KW_M_DRAM_RATE, v[KW_M_DRAM_BYTES] / v[KW_M_DURATION_NS] * 1e9);
	if (v[KW_M_PEAK_RATE] > 0)
		set(k, KW_M_DRAM_PCT, 100 * v[KW_M_DRAM_RATE] / v[KW_M_PEAK_RATE]);
	if (kw_launch_has(k, KW_M_DRAM_PCT))
		set(k, KW_M_DRAM_REACH_PCT, dram_reach(v));
	/* fmin takes the number where the other is missing, so it is asked only where both are there. */
	if (v[KW_M_CYCLES] > 0 && kw_launch_has(k, KW_M_ACTIVE_CYCLES))
		set(k, KW_M_SM_ACTIVE_SHARE, fmin(100, 100 * v[KW_M_ACTIVE_CYCLES] / v[KW_M_CYCLES]));
	set(k, KW_M_SM_ACTIVE_SHARE, v[KW_M_ACTIVE_PCT]);
	set(k, KW_M_ACTIVE_CYCLES_MAX, v[KW_M_ACTIVE_CYCLES] * (1 + v[KW_M_SAID_SM_ABOVE_PCT] / 100));
	if (v[KW_M_DURATION_NS] > 0)
		set(k, KW_M_FLOP_RATE, v[KW_M_FLOPS] / v[KW_M_DURATION_NS] * 1e9);
	if (v[KW_M_PEAK_FLOPS] > 0)
		set(k, KW_M_FLOP_PCT, 100 * v[KW_M_FLOP_RATE] / v[KW_M_PEAK_FLOPS]);
}

/* The profiler gives L1 and pipes as shares of the time that multiprocessors were active, and, under other names, of the whole time. */
static void shares(struct kw_launch *k)
{
	static const int pairs[][2] = {
		{ KW_M_L1_PCT, KW_M_L1_ELAPSED_PCT },	      { KW_M_FP64_PCT, KW_M_FP64_ELAPSED_PCT }, { KW_M_FMA_PCT, KW_M_FMA_ELAPSED_PCT },
		{ KW_M_ALU_PCT, KW_M_ALU_ELAPSED_PCT },	      { KW_M_XU_PCT, KW_M_XU_ELAPSED_PCT },	{ KW_M_LSU_PCT, KW_M_LSU_ELAPSED_PCT },
		{ KW_M_TENSOR_PCT, KW_M_TENSOR_ELAPSED_PCT },
	};
	double *v = k->value, share = v[KW_M_SM_ACTIVE_SHARE] > 0 ? v[KW_M_SM_ACTIVE_SHARE] / 100 : 1;

	set(k, KW_M_TENSOR_PCT, v[KW_M_TENSOR_PART_PCT]);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (kw_launch_has(k, pairs[i][1]))
			set(k, pairs[i][0], fmin(100, v[pairs[i][1]] / share));
}

/* Share of a part in a whole; a whole of zero is no share. */
static double pct(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : NAN;
}

static void access(struct kw_launch *k)
{
	double *v = k->value;

	set(k, KW_M_LD_SECTORS_PER_REQUEST, pct(v[KW_M_LD_SECTORS], v[KW_M_LD_REQUESTS]) / 100);
	set(k, KW_M_ST_SECTORS_PER_REQUEST, pct(v[KW_M_ST_SECTORS], v[KW_M_ST_REQUESTS]) / 100);
	/* 32 lanes of 4 bytes need 4 sectors; wider accesses need more, so few are never "too many". */
	if (v[KW_M_LD_BYTES_PER_SECTOR] > 0)
		set(k, KW_M_SECTORS_USED_PCT, 100 * v[KW_M_LD_BYTES_PER_SECTOR] / 32);
	set(k, KW_M_SECTORS_USED_PCT, v[KW_M_LD_EFFICIENCY_PCT]);
	set(k, KW_M_SECTORS_USED_PCT, 100 * v[KW_M_SAID_BYTES_PER_SECTOR] / 32);
	/* No store at all is not a store of nothing. */
	if (v[KW_M_ST_BYTES_PER_SECTOR] > 0)
		set(k, KW_M_SECTORS_USED_ST_PCT, 100 * v[KW_M_ST_BYTES_PER_SECTOR] / 32);
	set(k, KW_M_SECTORS_USED_ST_PCT, v[KW_M_ST_EFFICIENCY_PCT]);
	set(k, KW_M_EXCESS_SECTORS, v[KW_M_L2_SECTORS] - v[KW_M_L2_SECTORS_IDEAL]);
	set(k, KW_M_SAID_EXCESS_PCT, pct(v[KW_M_EXCESS_SECTORS], v[KW_M_L2_SECTORS]));
	set(k, KW_M_LD_CONFLICT_PCT, pct(v[KW_M_CONFLICT_LD], v[KW_M_WAVEFRONTS_LD]));
	set(k, KW_M_ST_CONFLICT_PCT, pct(v[KW_M_CONFLICT_ST], v[KW_M_WAVEFRONTS_ST]));
	set(k, KW_M_CONFLICT_ALL, v[KW_M_CONFLICT_LD] + v[KW_M_CONFLICT_ST]);
	set(k, KW_M_WAVEFRONTS_ALL, v[KW_M_WAVEFRONTS_LD] + v[KW_M_WAVEFRONTS_ST]);
	set(k, KW_M_CONFLICT_PCT, pct(v[KW_M_CONFLICT_ALL], v[KW_M_WAVEFRONTS_ALL]));
	/* Without wavefronts: an instruction of a warp needs one, a conflict one more. */
	set(k, KW_M_LD_CONFLICT_PCT, pct(v[KW_M_CONFLICT_LD], v[KW_M_CONFLICT_LD] + v[KW_M_SMEM_LD_INST]));
	set(k, KW_M_ST_CONFLICT_PCT, pct(v[KW_M_CONFLICT_ST], v[KW_M_CONFLICT_ST] + v[KW_M_SMEM_ST_INST]));
}

static void stalls(struct kw_launch *k)
{
	double latency = k->value[KW_M_WARP_LATENCY];

	for (int m = KW_M_STALL_LONG_SCOREBOARD; m <= KW_M_STALL_NOT_SELECTED; m += 2)
		set(k, m + 1, pct(k->value[m], latency));
}

static void counters(struct kw_launch *k)
{
	double *v = k->value;

	if (v[KW_M_CPU_CYCLES] > 0)
		set(k, KW_M_CPU_IPC, v[KW_M_CPU_INST] / v[KW_M_CPU_CYCLES]);
	set(k, KW_M_CACHE_MISS_PCT, pct(v[KW_M_CACHE_MISSES], v[KW_M_CACHE_REFS]));
	set(k, KW_M_CACHE_MISS_PCT, pct(v[KW_M_LLC_MISSES], v[KW_M_LLC_LOADS]));
	set(k, KW_M_L1D_MISS_PCT, pct(v[KW_M_L1D_MISSES], v[KW_M_L1D_LOADS]));
	set(k, KW_M_BRANCH_MISS_PCT, pct(v[KW_M_BRANCH_MISSES], v[KW_M_BRANCHES]));
	set(k, KW_M_DTLB_MISS_PCT, pct(v[KW_M_DTLB_MISSES], v[KW_M_DTLB_LOADS]));
	if (v[KW_M_DURATION_NS] > 0)
		set(k, KW_M_CPUS_USED, (v[KW_M_TASK_CLOCK] + (isnan(v[KW_M_CORE_WAIT]) ? 0 : v[KW_M_CORE_WAIT])) / v[KW_M_DURATION_NS]);
	if (v[KW_M_PEAK_RATE] > 0 && v[KW_M_DURATION_NS] > 0 && !kw_launch_has(k, KW_M_SMS) && !(v[KW_M_GPU] > 0))
		set(k, KW_M_MEMORY_CEILING_PCT,
		    100 * v[KW_M_MIN_BYTES] / v[KW_M_DURATION_NS] * 1e9 / v[KW_M_PEAK_RATE]);
}

/* What a kernel's own name says, which no counter does: a product, one of 16-bit values, what PyTorch's compiler wrote in Triton. */
static void name(struct kw_launch *k)
{
	static const char *const products[] = { "gemm",	  "matmul", "mat_mul", "matrixmul", "matrix_mul", "mmult", "bmm",     "conv1d", "conv2d",
						"conv3d", "convol", "fprop",   "dgrad",	    "wgrad",	  "attn",  "attention", "winograd" };
	static const char *const halves[] = { "half", "bf16", "bfloat", "fp16", "f16", "float16", "hgemm" };

	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		if (strcasestr(k->kernel, products[i]))
			k->value[KW_M_NAME_PRODUCT] = 1;
	for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++)
		if (strcasestr(k->kernel, halves[i]))
			k->value[KW_M_NAME_HALF] = 1;
	if (strncmp(k->kernel, "triton_", 7) == 0)
		k->value[KW_M_TRITON] = 1;
}

/* A value that none can be is no evidence of anything: named, and then missing. Clocks that differ make a little more than 100%. */
static void impossible(struct kw_launch *k)
{
	static const int shares[] = { KW_M_DRAM_PCT,	  KW_M_L2_PCT,	     KW_M_L1_PCT,     KW_M_COMPUTE_PCT, KW_M_MEMORY_PCT,
				      KW_M_OCCUPANCY_PCT, KW_M_ACHIEVED_PCT, KW_M_L1_HIT_PCT, KW_M_L2_HIT_PCT };
	double *v = k->value;

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		if (v[shares[i]] > 105 || v[shares[i]] < 0) {
			kw_launches_note(k->owner, k->line, "%s is %.6g%%, which no share can be; it is left out", kw_metric_name(shares[i]), v[shares[i]]);
			v[shares[i]] = NAN;
		}
	for (int m = 0; m < KW_M_COUNT; m++)
		if (m != KW_M_EXCESS_SECTORS && (v[m] < 0 || v[m] > 1e18 || (m == KW_M_DURATION_NS && v[m] <= 0))) {
			kw_launches_note(k->owner, k->line, "%s is %.6g, which it cannot be; it is left out", kw_metric_name(m), v[m]);
			v[m] = NAN;
		}
}

/* Values of one launch that cannot be true together are named; each is still used for what it says alone. */
static void contradictions(struct kw_launch *k)
{
	const double *v = k->value;
	double slots = v[KW_M_SMS] * v[KW_M_BLOCKS_PER_SM], waves = v[KW_M_GRID] / slots;

	if (v[KW_M_ACHIEVED_PCT] > v[KW_M_OCCUPANCY_PCT] + 3)
		kw_launches_note(k->owner, k->line, "achieved occupancy (%.4g%%) is over the theoretical one (%.4g%%)",
				 v[KW_M_ACHIEVED_PCT], v[KW_M_OCCUPANCY_PCT]);
	/* L2's own throughput has parts that are none of the memory throughput, so it may well be over it. */
	if (v[KW_M_DRAM_PCT] > v[KW_M_MEMORY_PCT] + 3)
		kw_launches_note(k->owner, k->line, "memory throughput (%.4g%%) is under that of one of its units",
				 v[KW_M_MEMORY_PCT]);
	if (v[KW_M_MEMORY_CEILING_PCT] > 105 && !isnan(v[KW_M_DRAM_PCT]) && v[KW_M_DRAM_PCT] < 85)
		kw_launches_note(k->owner, k->line,
				 "the operation's bytes would be %.4g%% of the memory's ceiling in that time, but DRAM was busy for %.4g%%: "
				 "part of the input is not read, or came from a cache",
				 v[KW_M_MEMORY_CEILING_PCT], v[KW_M_DRAM_PCT]);
	if (v[KW_M_CORE_WAIT] > 0.2 * v[KW_M_TASK_CLOCK])
		kw_launches_note(k->owner, k->line,
				 "its threads waited for a core for %.3g ms beside %.3g ms of work: other programs run here, and times are longer "
				 "than the kernel's own",
				 v[KW_M_CORE_WAIT] / 1e6, v[KW_M_TASK_CLOCK] / 1e6);
	if (slots > 0 && fabs(v[KW_M_WAVES] - waves) > 0.02 + 0.05 * waves)
		kw_launches_note(k->owner, k->line,
				 "%.4g waves were reported, but %.6g blocks over %.6g slots are %.4g", v[KW_M_WAVES],
				 v[KW_M_GRID], slots, waves);
	if (v[KW_M_GRID] * v[KW_M_BLOCK] > 0 &&
	    fabs(v[KW_M_THREADS] - v[KW_M_GRID] * v[KW_M_BLOCK]) > 0.01 * v[KW_M_THREADS])
		kw_launches_note(k->owner, k->line, "%.9g threads were reported, but %.9g blocks of %.6g are %.9g",
				 v[KW_M_THREADS], v[KW_M_GRID], v[KW_M_BLOCK], v[KW_M_GRID] * v[KW_M_BLOCK]);
}

void kw_explain_derive(struct kw_launch *k)
{
	static const int pipes[] = { KW_M_FP64_PCT, KW_M_FMA_PCT, KW_M_ALU_PCT,
				     KW_M_XU_PCT,   KW_M_LSU_PCT, KW_M_TENSOR_PCT };
	static const int elapsed[] = { KW_M_FP64_ELAPSED_PCT, KW_M_FMA_ELAPSED_PCT, KW_M_ALU_ELAPSED_PCT,
				       KW_M_XU_ELAPSED_PCT,   KW_M_LSU_ELAPSED_PCT, KW_M_TENSOR_ELAPSED_PCT };
	double busy[6], all[6], memory[3];

	impossible(k);
	name(k);
	grid(k);
	occupancy(k);
	time_and_bytes(k);
	shares(k);
	access(k);
	stalls(k);
	counters(k);
	for (size_t i = 0; i < 6; i++) {
		busy[i] = k->value[pipes[i]];
		all[i] = k->value[elapsed[i]];
	}
	set(k, KW_M_PIPE_PCT, most(busy, 6));
	set(k, KW_M_PIPE_ELAPSED_PCT, most(all, 6));
	memory[0] = k->value[KW_M_DRAM_PCT];
	memory[1] = k->value[KW_M_L2_PCT];
	memory[2] = k->value[KW_M_MEMORY_PCT];
	set(k, KW_M_MEM_UNITS_PCT, most(memory, 3));
	contradictions(k);
}
