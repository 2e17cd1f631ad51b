/* hardware.h - a hardware sheet: what a device is, from its data sheet or from itself; and measured
 * ceilings with the circumstances they were measured in. Zero means unknown. */
#ifndef KW_CORE_HARDWARE_H
#define KW_CORE_HARDWARE_H

#include "base/arena.h"
#include "base/json.h"
#include "core/intexpr.h"

struct kw_hardware {
	char name[96], vendor[48], driver[64], arch[32]; /* "AMD EPYC", "x86-64 avx2 fma" */
	int units;                        /* cores or multiprocessors usable by us */
	int64_t memory_bytes, last_level_cache_bytes, l2_bytes, l1d_bytes;
	int simd_bytes;
	double clock_hz, memory_bytes_per_s, flops_f32, flops_f64;
};
enum kw_ceiling_kind { KW_CEILING_READ, KW_CEILING_WRITE, KW_CEILING_COPY, KW_CEILING_FLOPS_F32, KW_CEILING_FLOPS_F64 };
struct kw_ceiling {
	enum kw_ceiling_kind kind;
	int64_t bytes;                    /* read + written per call; 0 for flops */
	double per_s;                     /* bytes or flops per second */
	bool in_cache;                    /* footprint under twice the last-level cache */
	const char *method;
};
json_t *kw_hardware_to_json(const struct kw_hardware *h);
/* sm, cores, simd_bytes as variables (vars has room for 8). */
void kw_hardware_env(const struct kw_hardware *h, struct kw_intenv_var vars[8], struct kw_intenv *env);
#endif
