/* What registers and shared memory leave room for. Rules of allocation: CUDA C++ Programming Guide (registers by warp in units
 * of 256, shared memory in units of 128 bytes with 1 KiB of the system's since compute capability 8). */
#include <math.h>
#include <stdio.h>

#include "explain/explain.h"

enum { REGISTERS = 16384, PARTITIONS = 4, REGISTER_UNIT = 256, WARP = 32, SMEM_UNIT = 128 }; /* registers of a quarter of an SM */

struct room {
	int threads_sm, blocks_sm;
	double smem_sm, reserved;
};

/* By compute capability; what is not known is as in most. */
static struct room room_of(const struct kw_launch *k)
{
	double cc = isnan(k->value[KW_M_CC]) ? k->value[KW_M_ARCH] : k->value[KW_M_CC];
	struct room r = { 2048, 32, 102400, 1024 };

	if (cc == 75)
		r = (struct room){ 1024, 16, 65536, 0 };
	else if (cc == 70 || cc == 72 || cc == 52 || cc == 61)
		r = (struct room){ 2048, 32, 98304, 0 };
	else if (cc < 70)
		r = (struct room){ 2048, 32, 65536, 0 };
	else if (cc == 80)
		r.smem_sm = 167936;
	else if (cc == 86 || cc == 89)
		r = (struct room){ 1536, cc == 86 ? 16 : 24, 102400, 1024 };
	else if (cc == 87)
		r = (struct room){ 1536, 16, 167936, 1024 };
	else if (cc == 90 || cc == 100 || cc == 103)
		r.smem_sm = 233472;
	else if (cc == 110)
		r = (struct room){ 1536, 24, 233472, 1024 };
	else if (cc == 120 || cc == 121)
		r = (struct room){ 1536, 24, 102400, 1024 };
	return r;
}

/* Warps get theirs from the quarter of the SM that they run on. */
static int blocks_by_registers(double registers, int warps)
{
	int unit = (int)(ceil(registers * WARP / REGISTER_UNIT) * REGISTER_UNIT);

	return unit > 0 && warps > 0 ? REGISTERS / unit * PARTITIONS / warps : 1 << 20;
}

/* The most registers a thread with which so many blocks fit. */
static int registers_for(int blocks, int warps)
{
	int here = (blocks * warps + PARTITIONS - 1) / PARTITIONS, unit = REGISTERS / here / REGISTER_UNIT * REGISTER_UNIT;

	return unit / WARP < 255 ? unit / WARP : 255;
}

const char *kw_explain_resources(const struct kw_launch *k, struct kw_arena *a)
{
	const double *v = k->value;
	double threads = isnan(v[KW_M_BLOCK]) ? v[KW_M_BOUND_THREADS] : v[KW_M_BLOCK], registers = v[KW_M_REGISTERS];
	double smem = (isnan(v[KW_M_STATIC_SMEM]) ? 0 : v[KW_M_STATIC_SMEM]) +
		      (isnan(v[KW_M_DYNAMIC_SMEM]) ? 0 : v[KW_M_DYNAMIC_SMEM]);
	struct room r = room_of(k);
	int warps, by_registers, by_smem, by_threads, blocks, fewer;
	const char *limit;
	struct kw_buf b;
	const char *text;

	if (!(registers >= 1) || !(registers <= 255) || v[KW_M_GPU] <= 0 || v[KW_M_HIP] > 0)
		return "";
	kw_buf_init(&b, 2048);
	kw_buf_printf(&b, "%.0f registers a thread", registers);
	if (v[KW_M_SPILL_STORE] + v[KW_M_SPILL_LOAD] >= 0)
		kw_buf_printf(&b, ", %.0f bytes spilled and %.0f read back", v[KW_M_SPILL_STORE], v[KW_M_SPILL_LOAD]);
	if (smem > 0)
		kw_buf_printf(&b, ", %.0f bytes of shared memory a block", smem);
	if (!(threads >= 1) || threads > 1024)
		threads = 256;
	warps = (int)ceil(threads / WARP);
	by_registers = blocks_by_registers(registers, warps);
	by_smem = smem > 0 ? (int)(r.smem_sm / (ceil(smem / SMEM_UNIT) * SMEM_UNIT + r.reserved)) : 1 << 20;
	by_threads = r.threads_sm / (warps * WARP);
	blocks = r.blocks_sm;
	limit = "the number of blocks";
	if (by_threads < blocks) {
		blocks = by_threads;
		limit = "threads";
	}
	if (by_smem < blocks) {
		blocks = by_smem;
		limit = "shared memory";
	}
	if (by_registers < blocks) {
		blocks = by_registers;
		limit = "registers";
	}
	kw_buf_printf(&b, "; with %.0f threads a block %d fit%s an SM (%.0f%% of its warps), limited by %s", threads,
		      blocks, blocks == 1 ? "s" : "", 100.0 * blocks * warps * WARP / r.threads_sm, limit);
	if (blocks == by_registers && blocks > 0 && blocks < by_threads)
		kw_buf_printf(&b, "; %d fit with at most %d registers", blocks + 1, registers_for(blocks + 1, warps));
	if (blocks == by_smem && blocks > 0 && blocks < by_threads)
		kw_buf_printf(&b, "; %d fit with at most %.0f bytes of shared memory", blocks + 1,
			      floor(r.smem_sm / (blocks + 1)) - r.reserved);
	if (blocks > 0 && registers < registers_for(blocks, warps))
		kw_buf_printf(&b, "; up to %d registers cost no block", registers_for(blocks, warps));
	/* The next step in the other direction: fewer blocks that leave room for more registers than these do. */
	fewer = blocks - 1;
	while (fewer > 0 && registers_for(fewer, warps) == registers_for(blocks, warps))
		fewer--;
	if (fewer > 0 && registers < 255)
		kw_buf_printf(&b, "; with up to %d only %d fit%s", registers_for(fewer, warps), fewer, fewer == 1 ? "s" : "");
	text = b.full ? NULL : kw_arena_str(a, kw_buf_str(&b));
	kw_buf_release(&b);
	return text;
}
