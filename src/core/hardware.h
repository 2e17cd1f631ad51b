/* hardware.h - a hardware sheet: what a device is, from its data sheet (knowledge/hardware/NAME.yaml) or from
 * itself; and measured ceilings with the circumstances they were measured in. Zero means unknown.
 *
 *     kw_hardware_load("h200", arena, &sheet, err);     // by the name of its file
 *     kw_hardware_match("NVIDIA H200", arena, &sheet, err); // by what the driver calls the device; KW_ERR_NOT_FOUND
 *
 * Plain data; the caller owns it. docs/hardware-sheets.md lists the keys of a sheet. Thread rule: none needed. */
#ifndef KW_CORE_HARDWARE_H
#define KW_CORE_HARDWARE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "core/intexpr.h"

/* Peak rates of a data sheet, dense, in operations per second (a multiply-add is two): enum, name. What has no
 * suffix is the plain arithmetic units; the rest are the matrix units. */
#define KW_RATE_LIST(X)                \
	X(F64, "f64")                  \
	X(F32, "f32")                  \
	X(F16, "f16")                  \
	X(F64_MATRIX, "f64_matrix")    \
	X(TF32_MATRIX, "tf32_matrix")  \
	X(F16_MATRIX, "f16_matrix")    \
	X(BF16_MATRIX, "bf16_matrix")  \
	X(F8_MATRIX, "f8_matrix")      \
	X(I8_MATRIX, "i8_matrix")
enum kw_rate {
#define X(e, name) KW_RATE_##e,
	KW_RATE_LIST(X)
#undef X
	KW_RATE_COUNT
};
const char *kw_rate_name(enum kw_rate r);

/* What a launch may ask for. A unit is a multiprocessor (AMD: compute unit), a warp AMD's wavefront. */
struct kw_launch_limits {
	int warp_size, threads_per_block, threads_per_unit, blocks_per_unit, registers_per_thread;
	int64_t registers_per_block, registers_per_unit;
	int64_t smem_per_block_bytes;     /* static and dynamic, where a kernel opts in */
	int64_t smem_per_unit_bytes;
	int64_t smem_reserved_bytes;      /* of each block, by the system; on top of its own */
	int cluster_blocks;               /* the most in one cluster; 0: no clusters */
	int cluster_blocks_portable;      /* the most that need no opt-in */
	int64_t grid[3], block[3];
};

struct kw_hardware {
	char name[96], vendor[48], driver[64], arch[32]; /* "AMD EPYC", "x86-64 avx2 fma"; "NVIDIA H200", "sm_90a" */
	int units;                        /* cores or multiprocessors usable by us */
	int64_t memory_bytes, last_level_cache_bytes, l2_bytes, l1d_bytes;
	int simd_bytes;
	double clock_hz, memory_bytes_per_s, flops_f32, flops_f64;
	double rates[KW_RATE_COUNT];      /* of the data sheet */
	struct kw_launch_limits limits;   /* GPUs */
};
enum kw_ceiling_kind { KW_CEILING_READ, KW_CEILING_WRITE, KW_CEILING_COPY, KW_CEILING_FLOPS_F32, KW_CEILING_FLOPS_F64,
		       KW_CEILING_MATRIX /* of a matrix unit: judge/matrix.h */ };
struct kw_ceiling {
	enum kw_ceiling_kind kind;
	int64_t bytes;                    /* read + written per call; 0 for flops */
	double per_s;                     /* bytes or flops per second */
	bool in_cache;                    /* footprint under twice the last-level cache */
	const char *method;
};
/* Whether a ceiling that is not known is measured, which takes a second; AGAIN: also one that is known. */
enum kw_measure { KW_MEASURE_NEVER, KW_MEASURE_ONCE, KW_MEASURE_AGAIN };
/* Rates and limits only where there are any. NULL: out of memory. */
json_t *kw_hardware_to_json(const struct kw_hardware *h);
/* sm, cores, simd_bytes, smem_bytes as variables (vars has room for 8). */
void kw_hardware_env(const struct kw_hardware *h, struct kw_intenv_var vars[8], struct kw_intenv *env);
/* The target that has all instructions of a compute capability: 9.0 is "sm_90a". */
void kw_hardware_nvidia_arch(int major, int minor, char out[32]);

/* --- sheets (hardware_sheet.c) --- */
/* Reads the text of a sheet. Everything a sheet must have is there afterwards; names: what drivers call the device
 * (NULL-terminated, in the arena; may be NULL). */
enum kw_status kw_hardware_parse(const char *file, const char *text, size_t len, struct kw_arena *a,
				 struct kw_hardware *out, const char *const **names, struct kw_error *err);
/* KW_ERR_INPUT with the nearest name when there is no such sheet. */
enum kw_status kw_hardware_load(const char *name, struct kw_arena *a, struct kw_hardware *out, struct kw_error *err);
/* The sheet of the device that a driver calls so; KW_ERR_NOT_FOUND when there is none. */
enum kw_status kw_hardware_match(const char *device_name, struct kw_arena *a, struct kw_hardware *out,
				 struct kw_error *err);
/* The names of all sheets, sorted. */
enum kw_status kw_hardware_list(struct kw_arena *a, const char *const **out, size_t *count, struct kw_error *err);
#endif
