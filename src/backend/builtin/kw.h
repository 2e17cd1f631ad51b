/* kw.h - the builder header: included by Kernelwright before every C candidate.
 *
 * Storage types of 16 and 8 bits with exact conversions, float maths that vectorises, NaN-aware maximum
 * and minimum, row helpers, and streaming stores. Everything is a branch-free inline function, so a loop under
 * `#pragma omp simd` that calls them becomes vector code with gcc 12 and clang 14. The contract with errors
 * in ulp and the timings behind the advice below: docs/builder-header.md.
 *
 * What makes a C kernel fast here (measured; 4096 x 4096 f32 softmax, 2 cores):
 *  - libm's expf does not vectorise without -ffast-math: 170 to 200 ms. kw_expf in a simd loop: 12 to 14 ms, where a
 *    plain copy of the same bytes takes 8 ms and a streaming one 5.5 ms.
 *  - Let one thread keep a row in its L1 or L2 cache: max, exp + sum, scale in three passes over the same row.
 *    The exp pass costs 0.5 ns an element and core, the maximum 0.07, the scaling 0.06.
 *  - A store to a line that nobody has read costs a read of the line first. Compute the last pass into a small
 *    buffer and KW_STREAM_ROW it out: a copy takes 5.5 ms where memcpy takes 8. It pays when the output is larger
 *    than the last-level cache; when it fits, plain stores are faster.
 *  - A division costs as much as half an exp. When a row is divided by one number, make a kw_divisor of it and kw_overf;
 *    after a maximum is subtracted, kw_exp_negf does for kw_expf and costs a quarter less. Together with whole strips (below)
 *    they took the arithmetic of the softmax from 5.1 to 3.0 ms.
 *  - A loop over a strip whose length the compiler knows is unrolled, keeps its running results in registers and loads its
 *    constants once; the same loop with a length that varies does neither. So: whole strips first, then the ragged end.
 *  - One running maximum waits for itself: `omp simd reduction(max:m)` over kw_maxf takes 3.4 ms of one core, kw_row_max
 *    (32 running ones) 1.0 ms. clang 14 leaves such max loops scalar (11 ms). Sums: kw_row_sum, or reduction(+:s).
 *  - The backend builds with -fno-math-errno and -fno-trapping-math, without which gcc 12 vectorises none of
 *    the loops that select or take square roots. They change no value.
 *  - Give `restrict` to every pointer, hoist 1/sum out of the loop, use int64_t indices for sizes but a plain
 *    int or int64_t loop variable from 0: no unsigned wrap-around for the compiler to worry about.
 *  - float to int32_t conversion vectorises; to int64_t only with AVX-512. Loops that mix double and float
 *    run at half the width.
 *  - With AVX-512 gcc keeps to 256 bits by itself; `flags -mprefer-vector-width=512` made softmax and gelu 10 to 20%
 *    faster (Xeon). The patterns have `tune WIDE` for it, by #pragma GCC target("prefer-vector-width=512").
 *  - `-ffast-math` is not needed for any of this; it loses NaN and Inf handling (the judge tests -Inf) and
 *    flushes subnormals. */
#ifndef KW_H
#define KW_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KW_FN static inline __attribute__((always_inline, unused))
#define KW_INF __builtin_inff()
#define KW_NAN __builtin_nanf("")
#define KW_CDIV(a, b) (((a) + (b) - 1) / (b))

KW_FN uint32_t kw_bits_f32(float f) { uint32_t u; memcpy(&u, &f, sizeof(u)); return u; }
KW_FN float kw_f32_bits(uint32_t u) { float f; memcpy(&f, &u, sizeof(f)); return f; }
KW_FN uint64_t kw_bits_f64(double d) { uint64_t u; memcpy(&u, &d, sizeof(u)); return u; }
KW_FN double kw_f64_bits(uint64_t u) { double d; memcpy(&d, &u, sizeof(d)); return d; }

/* a x b + c; one rounding where the machine has it. (KW_NO_FMA: the same values on every machine.) */
#if defined(__FMA__) && !defined(KW_NO_FMA)
KW_FN float kw_fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
KW_FN double kw_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
KW_FN float kw_fmaf(float a, float b, float c) { return a * b + c; }
KW_FN double kw_fma(double a, double b, double c) { return a * b + c; }
#endif

/* ---- storage types: structs, so that nobody computes with the raw bits by accident ---- */

typedef struct { uint16_t bits; } kw_f16;
typedef struct { uint16_t bits; } kw_bf16;
typedef struct { uint8_t bits; } kw_f8e4m3;   /* OCP "fn": no Inf, 0x7f is NaN, maximum 448 */
typedef struct { uint8_t bits; } kw_f8e5m2;

/* To f32: exact, NaN stays NaN. The shifted pattern is a f32 whose exponent is off by a constant; small ones
 * become subnormals, which are rebuilt with a subtraction so that it holds with flushed subnormals too. */
KW_FN float kw_f16_to_f32(kw_f16 h)
{
	uint32_t mag = h.bits & 0x7fffu, sign = (uint32_t)(h.bits & 0x8000u) << 16;
	uint32_t normal = (mag << 13) + (112u << 23), special = (mag << 13) | 0x7f800000u;
	uint32_t small = kw_bits_f32(kw_f32_bits((113u << 23) + (mag << 13)) - kw_f32_bits(113u << 23));
	uint32_t r = mag >= 0x7c00u ? special : normal;

	r = mag < 0x400u ? small : r;
	return kw_f32_bits(r | sign);
}

/* From f32: to nearest even, overflow to Inf, NaN to a quiet NaN. Subnormal results come from adding 0.5,
 * whose last bit weighs 2^-24. */
KW_FN kw_f16 kw_f16_from_f32(float f)
{
	uint32_t b = kw_bits_f32(f), mag = b & 0x7fffffffu, sign = (b >> 16) & 0x8000u;
	uint32_t normal = (mag + 0xfffu + ((mag >> 13) & 1u) - (112u << 23)) >> 13;
	uint32_t small = kw_bits_f32(kw_f32_bits(mag) + 0.5f) - kw_bits_f32(0.5f);
	uint32_t r = mag < (113u << 23) ? small : normal;

	r = mag >= 0x477ff000u ? 0x7c00u : r;
	r = mag > 0x7f800000u ? 0x7e00u : r;
	return (kw_f16){ (uint16_t)(r | sign) };
}

KW_FN float kw_bf16_to_f32(kw_bf16 h) { return kw_f32_bits((uint32_t)h.bits << 16); }

KW_FN kw_bf16 kw_bf16_from_f32(float f)
{
	uint32_t b = kw_bits_f32(f), r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
	uint32_t nan = (b >> 16) | 0x40u;

	return (kw_bf16){ (uint16_t)((b & 0x7fffffffu) > 0x7f800000u ? nan : r) };
}

KW_FN float kw_f8e4m3_to_f32(kw_f8e4m3 h)
{
	uint32_t mag = h.bits & 0x7fu, sign = (uint32_t)(h.bits & 0x80u) << 24;
	uint32_t normal = (mag << 20) + (120u << 23);
	uint32_t small = kw_bits_f32((float)(int32_t)mag * 0x1p-9f);
	uint32_t r = mag < 8u ? small : normal;

	r = mag == 0x7fu ? 0x7fc00000u : r;
	return kw_f32_bits(r | sign);
}

/* To nearest even; what rounds beyond 448 is NaN (there is no Inf). */
KW_FN kw_f8e4m3 kw_f8e4m3_from_f32(float f)
{
	uint32_t b = kw_bits_f32(f), mag = b & 0x7fffffffu, sign = (b >> 24) & 0x80u;
	uint32_t normal = (mag + 0x7ffffu + ((mag >> 20) & 1u) - (120u << 23)) >> 20;
	uint32_t small = kw_bits_f32(kw_f32_bits(mag) + 0x1p14f) - kw_bits_f32(0x1p14f);
	uint32_t r = mag < (121u << 23) ? small : normal;

	r = mag > 0x43e80000u ? 0x7fu : r; /* 464: half way to 480 goes to even, 448 */
	return (kw_f8e4m3){ (uint8_t)(r | sign) };
}

KW_FN float kw_f8e5m2_to_f32(kw_f8e5m2 h)
{
	kw_f16 wide = { (uint16_t)((uint32_t)h.bits << 8) };

	return kw_f16_to_f32(wide);
}

KW_FN kw_f8e5m2 kw_f8e5m2_from_f32(float f)
{
	uint32_t b = kw_bits_f32(f), mag = b & 0x7fffffffu, sign = (b >> 24) & 0x80u;
	uint32_t normal = (mag + 0xfffffu + ((mag >> 21) & 1u) - (112u << 23)) >> 21;
	uint32_t small = kw_bits_f32(kw_f32_bits(mag) + 0x1p7f) - kw_bits_f32(0x1p7f);
	uint32_t r = mag < (113u << 23) ? small : normal;

	r = mag >= 0x47700000u ? 0x7cu : r; /* 61440: half way to 65536, even is Inf */
	r = mag > 0x7f800000u ? 0x7eu : r;
	return (kw_f8e5m2){ (uint8_t)(r | sign) };
}

KW_FN float kw_num_to_f32(float v) { return v; }
KW_FN double kw_num_to_f64(double v) { return v; }
KW_FN double kw_f16_to_f64(kw_f16 v) { return (double)kw_f16_to_f32(v); }
KW_FN double kw_bf16_to_f64(kw_bf16 v) { return (double)kw_bf16_to_f32(v); }
KW_FN double kw_f8e4m3_to_f64(kw_f8e4m3 v) { return (double)kw_f8e4m3_to_f32(v); }
KW_FN double kw_f8e5m2_to_f64(kw_f8e5m2 v) { return (double)kw_f8e5m2_to_f32(v); }

/* Any element as float or double, whatever its type: KW_F32(x[i]). */
#define KW_F32(v)                                                                          \
	_Generic((v), kw_f16: kw_f16_to_f32, kw_bf16: kw_bf16_to_f32, kw_f8e4m3: kw_f8e4m3_to_f32, \
		kw_f8e5m2: kw_f8e5m2_to_f32, default: kw_num_to_f32)(v)
#define KW_F64(v)                                                                          \
	_Generic((v), kw_f16: kw_f16_to_f64, kw_bf16: kw_bf16_to_f64, kw_f8e4m3: kw_f8e4m3_to_f64, \
		kw_f8e5m2: kw_f8e5m2_to_f64, default: kw_num_to_f64)(v)

KW_FN void kw_store_f64(double *p, double v) { *p = v; }
KW_FN void kw_store_f32(float *p, float v) { *p = v; }
KW_FN void kw_store_f16(kw_f16 *p, float v) { *p = kw_f16_from_f32(v); }
KW_FN void kw_store_bf16(kw_bf16 *p, float v) { *p = kw_bf16_from_f32(v); }
KW_FN void kw_store_f8e4m3(kw_f8e4m3 *p, float v) { *p = kw_f8e4m3_from_f32(v); }
KW_FN void kw_store_f8e5m2(kw_f8e5m2 *p, float v) { *p = kw_f8e5m2_from_f32(v); }
KW_FN void kw_store_i64(int64_t *p, int64_t v) { *p = v; }
KW_FN void kw_store_i32(int32_t *p, int32_t v) { *p = v; }
KW_FN void kw_store_i16(int16_t *p, int16_t v) { *p = v; }
KW_FN void kw_store_i8(int8_t *p, int8_t v) { *p = v; }
KW_FN void kw_store_u8(uint8_t *p, uint8_t v) { *p = v; }

/* *p = v with the conversion that p's type asks for: KW_STORE(&y[i], v). */
#define KW_STORE(p, v)                                                                     \
	_Generic((p), double *: kw_store_f64, float *: kw_store_f32, kw_f16 *: kw_store_f16,       \
		kw_bf16 *: kw_store_bf16, kw_f8e4m3 *: kw_store_f8e4m3,                            \
		kw_f8e5m2 *: kw_store_f8e5m2, int64_t *: kw_store_i64, int32_t *: kw_store_i32,    \
		int16_t *: kw_store_i16, int8_t *: kw_store_i8, uint8_t *: kw_store_u8)(p, v)

/* ---- maximum and minimum ---- */

/* A NaN on either side wins, as in numpy and torch. */
KW_FN float kw_maxf(float a, float b) { return ((a > b) | (a != a)) ? a : b; }
KW_FN float kw_minf(float a, float b) { return ((a < b) | (a != a)) ? a : b; }
KW_FN double kw_max(double a, double b) { return ((a > b) | (a != a)) ? a : b; }
KW_FN double kw_min(double a, double b) { return ((a < b) | (a != a)) ? a : b; }
/* The number wins over a NaN, as in C's fmaxf. */
KW_FN float kw_maxnumf(float a, float b) { return ((a > b) | (b != b)) ? a : b; }
KW_FN float kw_minnumf(float a, float b) { return ((a < b) | (b != b)) ? a : b; }

/* ---- whole numbers ---- */

/* A double holds the quotient of any two int32_t well enough to round it down, and unlike a division of whole numbers this is
 * done for many at once. */
KW_FN int32_t kw_floor_div32(int32_t a, int32_t b)
{
	double q = floor((double)a / (double)(b ? b : 1));

	return b ? (int32_t)(int64_t)q : 0;
}
KW_FN int32_t kw_floor_mod32(int32_t a, int32_t b)
{
	return (int32_t)(b ? (int64_t)a - (int64_t)floor((double)a / (double)(b ? b : 1)) * b : 0);
}
#define KW_FLOOR32
#include "kw_whole.h"

/* ---- f32 maths ---- */

KW_FN float kw_pow2i_(uint32_t k) { return kw_f32_bits((k + 127u) << 23); }

/* The nearest whole number n, which also stands in the low bits of *pattern. Adding 1.5 x 2^23 rounds, and is cheaper
 * than a rounding and a conversion; -ffast-math would cancel it. */
KW_FN float kw_nearest_(float x, float scale, uint32_t *pattern)
{
#ifdef __FAST_MATH__
	float n = __builtin_rintf(x * scale);

	*pattern = (uint32_t)(int32_t)n + 0x4b400000u;
	return n;
#else
	float t = kw_fmaf(x, scale, 0x1.8p23f);

	*pattern = kw_bits_f32(t);
	return t - 0x1.8p23f;
#endif
}

/* p x 2^n by two multiplications, so that subnormals round once and nothing overflows early. */
KW_FN float kw_scale_(float p, uint32_t pattern)
{
	uint32_t half = (uint32_t)((int32_t)pattern >> 1);

	return p * kw_pow2i_(half) * kw_pow2i_(pattern - half);
}

KW_FN float kw_exp_poly_(float r)
{
	float p = kw_fmaf(1.395100812e-3f, r, 8.369171333e-3f);

	p = kw_fmaf(p, r, 4.16661988e-2f);
	p = kw_fmaf(p, r, 1.666651666e-1f);
	p = kw_fmaf(p, r, 5.000000097e-1f);
	p = kw_fmaf(p, r, 1.0f);
	return kw_fmaf(p, r, 1.0f);
}

/* e^x: 1 ulp; overflow gives Inf, underflow goes through the subnormals to 0. The argument is reduced by
 * n ln 2 in two parts (Cody and Waite). One select clamps both ends: gcc threads two into ten instructions. */
KW_FN float kw_expf(float x)
{
	uint32_t pattern;
	float c = __builtin_fabsf(x) > 104.0f ? __builtin_copysignf(104.0f, x) : x;
	float n = kw_nearest_(c, 1.44269504f, &pattern), r = kw_fmaf(n, -0.693359375f, c);

	return kw_scale_(kw_exp_poly_(kw_fmaf(n, 2.12194440e-4f, r)), pattern);
}

/* e^x for x <= 0 (right up to 70; beyond it is anything): 1 ulp, NaN stays NaN. Three quarters of kw_expf's work: one end to
 * clamp, and the power of two in one piece, 24 binades up, where it cannot be subnormal; the last factor takes them back. */
KW_FN float kw_exp_negf(float x)
{
	uint32_t pattern;
	float c = x < -104.0f ? -104.0f : x;
	float n = kw_nearest_(c, 1.44269504f, &pattern), r = kw_fmaf(n, -0.693359375f, c);

	return kw_exp_poly_(kw_fmaf(n, 2.12194440e-4f, r)) * kw_pow2i_(pattern + 24u) * 0x1p-24f;
}

KW_FN float kw_exp2f(float x)
{
	uint32_t pattern;
	float c = __builtin_fabsf(x) > 151.0f ? __builtin_copysignf(151.0f, x) : x;
	float n = kw_nearest_(c, 1.0f, &pattern);

	return kw_scale_(kw_exp_poly_((c - n) * 0.693147181f), pattern);
}

/* e^x - 1 without cancellation near 0: 2 ulp. */
KW_FN float kw_expm1f(float x)
{
	float p = kw_fmaf(1.998963087e-4f, x, 1.39851671e-3f), big = kw_expf(x) - 1.0f;

	p = kw_fmaf(p, x, 8.33309318e-3f);
	p = kw_fmaf(p, x, 4.166580085e-2f);
	p = kw_fmaf(p, x, 1.666666774e-1f);
	p = kw_fmaf(p, x, 0.5f);
	p = kw_fmaf(p * x, x, x);
	return __builtin_fabsf(x) < 0.5f ? p : big;
}

/* The logarithm of 2^e (1 + f), with f in [sqrt(1/2) - 1, sqrt(2) - 1). */
KW_FN float kw_log_parts_(float e, float f)
{
	float p = kw_fmaf(-7.865226619e-2f, f, 1.287907422e-1f), ff = f * f, r;

	p = kw_fmaf(p, f, -1.312532737e-1f);
	p = kw_fmaf(p, f, 1.418144362e-1f);
	p = kw_fmaf(p, f, -1.662496866e-1f);
	p = kw_fmaf(p, f, 2.000228116e-1f);
	p = kw_fmaf(p, f, -2.500079658e-1f);
	p = kw_fmaf(p, f, 3.333331681e-1f);
	r = kw_fmaf(p * f, ff, e * -2.12194440e-4f);
	r = kw_fmaf(ff, -0.5f, r) + f;
	return kw_fmaf(e, 0.693359375f, r);
}

/* Natural logarithm: 1 ulp; 0 gives -Inf, negative gives NaN, subnormals are right. */
KW_FN float kw_logf(float x)
{
	float scaled = x < 0x1p-126f ? x * 0x1p23f : x, e = x < 0x1p-126f ? -23.0f : 0.0f, r;
	uint32_t t = kw_bits_f32(scaled) - 0x3f3504f3u; /* so that 1 + f is within [sqrt(1/2), sqrt(2)) */

	e += (float)((int32_t)t >> 23);
	r = kw_log_parts_(e, kw_f32_bits((t & 0x7fffffu) + 0x3f3504f3u) - 1.0f);
	r = x > 3.4028235e38f ? x : r;
	r = x == 0.0f ? -KW_INF : r;
	r = x < 0.0f ? KW_NAN : r;
	return x != x ? x : r;
}

KW_FN float kw_log2f(float x)
{
	float scaled = x < 0x1p-126f ? x * 0x1p23f : x, e = x < 0x1p-126f ? -23.0f : 0.0f, r;
	uint32_t t = kw_bits_f32(scaled) - 0x3f3504f3u;
	float lm = kw_log_parts_(0.0f, kw_f32_bits((t & 0x7fffffu) + 0x3f3504f3u) - 1.0f);

	e += (float)((int32_t)t >> 23);
	r = kw_fmaf(lm, 1.44269502f, kw_fmaf(lm, 1.92596299e-8f, e)); /* log2(e) in two parts */
	r = x > 3.4028235e38f ? x : r;
	r = x == 0.0f ? -KW_INF : r;
	r = x < 0.0f ? KW_NAN : r;
	return x != x ? x : r;
}

KW_FN float kw_log10f(float x) { return (float)(0.43429448190325182765 * (double)kw_logf(x)); }

/* log(1 + x) without cancellation near 0: 2 ulp. What the sum 1 + x loses is added back. */
KW_FN float kw_log1pf(float x)
{
	float u = 1.0f + x, lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
	float r = kw_logf(u) + lost / u;

	r = x == -1.0f ? -KW_INF : r;
	r = __builtin_fabsf(x) < 0x1p-24f ? x : r;
	return x > 3.4028235e38f ? x : r;
}

/* 2 ulp. */
KW_FN float kw_tanhf(float x)
{
	float a = __builtin_fabsf(x), s = x * x, p, e, big;

	p = kw_fmaf(-5.721757076e-3f, s, 2.065540369e-2f);
	p = kw_fmaf(p, s, -5.374522978e-2f);
	p = kw_fmaf(p, s, 1.33315166e-1f);
	p = kw_fmaf(p, s, -3.333328514e-1f);
	p = kw_fmaf(p * s, x, x);
	e = kw_exp_negf(-2.0f * a);
	big = (1.0f - e) / (1.0f + e);
	big = __builtin_copysignf(big, x);
	return a < 0.625f ? p : big;
}

/* Division of many values by one: x / d as x * (1 / d), 1.5 ulp, where a division costs as much as half an exp.
 * d comes within 2^64 of 1 first, so that neither its inverse nor the product overflows or fades before x / d does. */
typedef struct {
	float scale, inverse;
} kw_divisor;
KW_FN kw_divisor kw_divisor_of(float d)
{
	float a = __builtin_fabsf(d), scale = a > 0x1p64f ? 0x1p-64f : a < 0x1p-64f ? 0x1p64f : 1.0f;

	return (kw_divisor){ scale, 1.0f / (d * scale) };
}
KW_FN float kw_overf(float x, kw_divisor d) { return x * d.scale * d.inverse; }

/* 1 / (1 + e^-x): 3 ulp down to the subnormals. */
KW_FN float kw_sigmoidf(float x)
{
	float e = kw_exp_negf(-__builtin_fabsf(x)), r = 1.0f / (1.0f + e);

	return x < 0.0f ? e * r : r;
}

/* Uniform in [0, 1), 24 bits: SplitMix64 of a seed and a place. */
KW_FN float kw_uniformf(int64_t seed, int64_t place)
{
	uint64_t z = (uint64_t)seed * 0xd1342543de82ef95ull + (uint64_t)place * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
}

/* Error function: 2 ulp. Beyond 0.94 it is 1 - exp(q(|x|)), q fitted to log(erfc). */
KW_FN float kw_erff(float x)
{
	float a = __builtin_fabsf(x), s = x * x, p, q, t, big;

	p = kw_fmaf(8.185086175e-5f, s, -8.097710516e-4f);
	p = kw_fmaf(p, s, 5.196953964e-3f);
	p = kw_fmaf(p, s, -2.685770668e-2f);
	p = kw_fmaf(p, s, 1.128366405e-1f);
	p = kw_fmaf(p, s, -3.761263162e-1f);
	p = kw_fmaf(p * x, s, 1.28379166e-1f * x) + x;
	t = a > 4.0f ? 4.0f : a;
	q = kw_fmaf(1.926616486e-4f, t, -3.011079148e-3f);
	q = kw_fmaf(q, t, 2.209878621e-2f);
	q = kw_fmaf(q, t, -1.036657323e-1f);
	q = kw_fmaf(q, t, -6.374852447e-1f);
	q = kw_fmaf(q, t, -1.127495636f);
	q = kw_fmaf(q, t, -2.392574547e-4f);
	big = __builtin_copysignf(1.0f - kw_exp_negf(q), x);
	return a < 0.94f ? p : big;
}

KW_FN float kw_rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
/* 3 ulp; where the sigmoid is subnormal (x < -87), as many units as x counts. */
KW_FN float kw_siluf(float x) { return x * kw_sigmoidf(x); }
/* gelu, exact form and tanh form (torch: approximate="none" and "tanh"). */
KW_FN float kw_geluf(float x) { return 0.5f * x * (1.0f + kw_erff(x * 0.707106781f)); }
KW_FN float kw_gelu_tanhf(float x)
{
	return 0.5f * x * (1.0f + kw_tanhf(0.797884561f * kw_fmaf(0.044715f * x * x, x, x)));
}
/* log(1 + e^x) */
KW_FN float kw_softplusf(float x)
{
	return (x > 0.0f ? x : 0.0f) + kw_log1pf(kw_exp_negf(-__builtin_fabsf(x)));
}

/* x less the nearest multiple of pi/2, and its quadrant. Three parts with fused steps, or doubles. */
KW_FN float kw_quarter_(float x, int32_t *quadrant)
{
	float n = __builtin_rintf(x * 0.636619772f);

	*quadrant = (int32_t)n;
#if defined(__FMA__) && !defined(KW_NO_FMA)
	float r = kw_fmaf(n, -1.57079637f, x);

	r = kw_fmaf(n, 4.37113883e-8f, r);
	return kw_fmaf(n, 1.71512451e-15f, r);
#else
	return (float)((double)x - (double)n * 1.57079632679489662);
#endif
}

KW_FN float kw_sin_parts_(float r, int32_t quadrant)
{
	float z = r * r, s = kw_fmaf(2.711989905e-6f, z, -1.983862504e-4f);
	float c = kw_fmaf(-2.715255015e-7f, z, 2.479877709e-5f), v;

	s = kw_fmaf(s, z, 8.333327028e-3f);
	s = kw_fmaf(s, z, -1.666666662e-1f);
	s = kw_fmaf(s * z, r, r);
	c = kw_fmaf(c, z, -1.388888077e-3f);
	c = kw_fmaf(c, z, 4.166666659e-2f);
	c = kw_fmaf(c * z, z, kw_fmaf(z, -0.5f, 1.0f));
	v = quadrant & 1 ? c : s;
	return kw_f32_bits(kw_bits_f32(v) ^ ((uint32_t)quadrant & 2u) << 30);
}

/* Sine and cosine: 2 ulp or 1e-7, whichever is more, for |x| <= 1e6. Beyond that they lose digits. Inf gives NaN. */
KW_FN float kw_sinf(float x)
{
	int32_t q;
	float r = kw_quarter_(x, &q), v = kw_sin_parts_(r, q);

	return __builtin_fabsf(x) > 3.4028235e38f ? KW_NAN : v;
}
KW_FN float kw_cosf(float x)
{
	int32_t q;
	float r = kw_quarter_(x, &q), v = kw_sin_parts_(r, q + 1);

	return __builtin_fabsf(x) > 3.4028235e38f ? KW_NAN : v;
}

/* x^y: 1 ulp, through doubles (so at half the vector width). Special values as C's pow. */
KW_FN float kw_powf(float x, float y)
{
	double ax = (double)__builtin_fabsf(x), s, u, l, z, n, r, p, scale;
	uint64_t b = kw_bits_f64(ax) + 0x00095f619980c434u; /* 1.0 - sqrt(1/2), as patterns */
	double e = kw_f64_bits((b >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
	double m = kw_f64_bits((b & 0xfffffffffffffu) + 0x3fe6a09e667f3bccu);
	float out, whole = __builtin_floorf(y), half = y * 0.5f, ay = __builtin_fabsf(x);
	int odd = (whole == y) & (__builtin_floorf(half) != half);

	s = (m - 1.0) / (m + 1.0);
	u = s * s;
	l = kw_fma(0.24261138802033870266, u, 0.26147333457230517429);
	l = kw_fma(l, u, 0.32061532380395616216);
	l = kw_fma(l, u, 0.41219842063310562767);
	l = kw_fma(l, u, 0.57707801709042846021);
	l = kw_fma(l, u, 0.96179669392487938);
	l = e + s * kw_fma(l, u, 2.88539008177792681);
	l = ay == 0.0f ? -(double)KW_INF : l;
	l = ay > 3.4028235e38f ? (double)KW_INF : l;
	z = (double)y * l;
	z = z > 200.0 ? 200.0 : z;
	z = z < -200.0 ? -200.0 : z;
	n = __builtin_rint(z);
	r = z - n;
	p = kw_fma(1.5201523832899678e-5, r, 1.5469816127574888e-4);
	p = kw_fma(p, r, 1.3333928389967192e-3);
	p = kw_fma(p, r, 9.6180256236161875e-3);
	p = kw_fma(p, r, 5.5504103410564014e-2);
	p = kw_fma(p, r, 2.4022651210247993e-1);
	p = kw_fma(p, r, 6.9314718073390224e-1);
	p = kw_fma(p, r, 9.9999999996044220e-1);
	scale = kw_f64_bits((kw_bits_f64(n + 0x1.8p52) + 1023u) << 52);
	out = (float)(p * scale);
	out = ay == 1.0f ? 1.0f : out;
	out = ((x != x) | (y != y)) ? x + y : out;
	out = odd & ((int)(kw_bits_f32(x) >> 31)) ? -out : out;
	out = ((x < 0.0f) & (ay <= 3.4028235e38f) & (whole != y) & (__builtin_fabsf(y) <= 3.4028235e38f))
		      ? KW_NAN
		      : out;
	return ((y == 0.0f) | (x == 1.0f)) ? 1.0f : out;
}

/* ---- f64 maths: kw_exp, kw_sigmoid and kw_tanh vectorise; the rest is libm ---- */

/* 2 ulp. */
KW_FN double kw_exp(double x)
{
	double c = __builtin_fabs(x) > 746.0 ? __builtin_copysign(746.0, x) : x, n, r, p;
	uint64_t k, half;

	n = __builtin_rint(c * 1.44269504088896341);
	r = kw_fma(n, -6.93147180369123816490e-1, c);
	r = kw_fma(n, -1.90821492927058770002e-10, r);
	p = kw_fma(2.5118149723278878712e-8, r, 2.7631584770761762352e-7);
	p = kw_fma(p, r, 2.7557215540442909055e-6);
	p = kw_fma(p, r, 2.4801489346929738313e-5);
	p = kw_fma(p, r, 1.9841269918019550076e-4);
	p = kw_fma(p, r, 1.3888888947278592388e-3);
	p = kw_fma(p, r, 8.3333333333070439515e-3);
	p = kw_fma(p, r, 4.1666666666516002877e-2);
	p = kw_fma(p, r, 1.6666666666666699016e-1);
	p = kw_fma(p, r, 0.50000000000000123907);
	p = kw_fma(p * r, r, r) + 1.0;
	k = kw_bits_f64(n + 0x1.8p52) - kw_bits_f64(0x1.8p52) + 2048u; /* n + 2048 > 0 */
	half = k >> 1;
	return p * kw_f64_bits((half - 1u) << 52) * kw_f64_bits((k - half - 1u) << 52);
}
KW_FN double kw_sigmoid(double x)
{
	double e = kw_exp(-__builtin_fabs(x)), r = 1.0 / (1.0 + e);

	return x < 0.0 ? e * r : r;
}
KW_FN double kw_log(double x) { return log(x); }
KW_FN double kw_tanh(double x) { return tanh(x); }
KW_FN double kw_erf(double x) { return erf(x); }
KW_FN double kw_sin(double x) { return sin(x); }
KW_FN double kw_cos(double x) { return cos(x); }
KW_FN double kw_pow(double x, double y) { return pow(x, y); }
KW_FN double kw_rsqrt(double x) { return 1.0 / sqrt(x); }

/* ---- rows ---- */

#define KW_LANES_ 32

/* Largest of n floats, NaN if there is one; -Inf for n = 0. */
KW_FN float kw_row_max(const float *x, int64_t n)
{
	float lane[KW_LANES_], m = -KW_INF;
	int64_t i = 0;

	for (int k = 0; k < KW_LANES_; k++)
		lane[k] = -KW_INF;
	for (; i + KW_LANES_ <= n; i += KW_LANES_)
		for (int k = 0; k < KW_LANES_; k++)
			lane[k] = kw_maxf(x[i + k], lane[k]);
	for (int k = 0; k < KW_LANES_; k++)
		m = kw_maxf(m, lane[k]);
	for (; i < n; i++)
		m = kw_maxf(m, x[i]);
	return m;
}

/* Sum of n floats in 32 running sums: faster and closer than one. */
KW_FN float kw_row_sum(const float *x, int64_t n)
{
	float lane[KW_LANES_] = { 0.0f }, s = 0.0f;
	int64_t i = 0;

	for (; i + KW_LANES_ <= n; i += KW_LANES_)
		for (int k = 0; k < KW_LANES_; k++)
			lane[k] += x[i + k];
	for (int w = KW_LANES_ / 2; w > 0; w /= 2)
		for (int k = 0; k < w; k++)
			lane[k] += lane[k + w];
	for (; i < n; i++)
		s += x[i];
	return s + lane[0];
}

/* ---- bulk conversion: what the machine's own instructions do 8 at a time ---- */

#ifdef __F16C__
typedef float kw_v8f_ __attribute__((vector_size(32)));
typedef int16_t kw_v8s_ __attribute__((vector_size(16)));
#endif

KW_FN void kw_f16_to_f32_n(float *dst, const kw_f16 *src, int64_t n)
{
	int64_t i = 0;
#ifdef __F16C__
	for (; i + 8 <= n; i += 8) {
		kw_v8s_ h;
		kw_v8f_ f;

		memcpy(&h, src + i, sizeof(h));
		f = __builtin_ia32_vcvtph2ps256(h);
		memcpy(dst + i, &f, sizeof(f));
	}
#endif
	for (; i < n; i++)
		dst[i] = kw_f16_to_f32(src[i]);
}

KW_FN void kw_f16_from_f32_n(kw_f16 *dst, const float *src, int64_t n)
{
	int64_t i = 0;
#ifdef __F16C__
	for (; i + 8 <= n; i += 8) {
		kw_v8f_ f;
		kw_v8s_ h;

		memcpy(&f, src + i, sizeof(f));
		h = (kw_v8s_)__builtin_ia32_vcvtps2ph256(f, 0);
		memcpy(dst + i, &h, sizeof(h));
	}
#endif
	for (; i < n; i++)
		dst[i] = kw_f16_from_f32(src[i]);
}

/* ---- streaming stores ---- */

/* Copies bytes from a small, hot buffer to memory past the caches. Whole 32-byte lines go by non-temporal
 * stores, ragged ends by plain ones; any alignment is right, 32-byte aligned rows are fastest. Order other
 * threads' reads with kw_stream_fence(); the end of a parallel region alone is not enough. */
#if defined(__AVX__)
typedef float kw_v8_ __attribute__((vector_size(32)));
#endif
KW_FN void kw_stream(void *dst, const void *src, size_t bytes)
{
	unsigned char *d = (unsigned char *)dst;
	const unsigned char *s = (const unsigned char *)src;
#if defined(__AVX__)
	size_t head = (0u - (uintptr_t)d) & 31u;

	head = head < bytes ? head : bytes;
	memcpy(d, s, head);
	d += head;
	s += head;
	bytes -= head;
	for (; bytes >= 32; bytes -= 32, d += 32, s += 32) {
		kw_v8_ v;

		memcpy(&v, s, sizeof(v));
#if defined(__clang__)
		__builtin_nontemporal_store(v, (kw_v8_ *)(void *)d);
#else
		__builtin_ia32_movntps256((float *)(void *)d, v);
#endif
	}
#endif
	memcpy(d, s, bytes);
}
KW_FN void kw_stream_fence(void)
{
#if defined(__SSE2__)
	__builtin_ia32_sfence();
#endif
}
/* n elements of a row of any type. */
#define KW_STREAM_ROW(dst, src, n) kw_stream((dst), (src), (size_t)(n) * sizeof(*(dst)))

#undef _GNU_SOURCE /* where the candidate defines it, it was given for the headers above */

#endif
