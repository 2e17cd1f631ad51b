/* kw.h for HIP - included by Kernelwright before every HIP candidate, under the name kw.h.
 *
 * The same spelling as for CUDA where it makes sense (docs/builder-header.md): storage types with conversions that round as the
 * judge does, maximum and minimum that keep NaN, a few functions of deep learning. It needs no header but those that hiprtc
 * and hipcc bring themselves. A wavefront has warpSize lanes: 64 on CDNA, 32 on RDNA. */
#ifndef KW_H
#define KW_H

#ifndef __HIPCC_RTC__
#include <hip/hip_runtime.h>
#include <stdint.h>
#else
/* As hiprtc itself has some of them: twice the same is one. */
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#endif

#define KW_FN static __device__ __forceinline__
#define KW_INF __builtin_inff()
#define KW_NAN __builtin_nanf("")
#define KW_CDIV(a, b) (((a) + (b) - 1) / (b))

typedef _Float16 kw_f16;
/* Structs, so that nobody computes with the raw bits by accident. */
struct kw_bf16 {
	uint16_t bits;
};
struct kw_f8e4m3 {
	uint8_t bits;
};
struct kw_f8e5m2 {
	uint8_t bits;
};

/* ---- conversions: to f32 exactly; from f32 to nearest even, overflow to Inf (f8e4m3: NaN), NaN to a quiet NaN ---- */

KW_FN uint32_t kw_bits_f32(float f) { return __builtin_bit_cast(uint32_t, f); }
KW_FN float kw_f32_bits(uint32_t u) { return __builtin_bit_cast(float, u); }

KW_FN float kw_f16_to_f32(kw_f16 h) { return (float)h; }
KW_FN kw_f16 kw_f16_from_f32(float f) { return (kw_f16)f; }
KW_FN float kw_bf16_to_f32(kw_bf16 h) { return kw_f32_bits((uint32_t)h.bits << 16); }
KW_FN kw_bf16 kw_bf16_from_f32(float f)
{
	uint32_t b = kw_bits_f32(f), r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;

	return { (uint16_t)((b & 0x7fffffffu) > 0x7f800000u ? ((b >> 16) | 0x40u) : r) };
}
KW_FN float kw_f8e4m3_to_f32(kw_f8e4m3 h)
{
	uint32_t mag = h.bits & 0x7fu, sign = (uint32_t)(h.bits & 0x80u) << 24;
	uint32_t r = mag < 8u ? kw_bits_f32((float)mag * 0x1p-9f) : (mag << 20) + (120u << 23);

	return kw_f32_bits((mag == 0x7fu ? 0x7fc00000u : r) | sign);
}
KW_FN float kw_f8e5m2_to_f32(kw_f8e5m2 h) { return (float)__builtin_bit_cast(kw_f16, (uint16_t)(h.bits << 8)); }
KW_FN kw_f8e4m3 kw_f8e4m3_from_f32(float f)
{
	uint32_t b = kw_bits_f32(f), mag = b & 0x7fffffffu, sign = (b >> 24) & 0x80u;
	uint32_t normal = (mag + 0x7ffffu + ((mag >> 20) & 1u) - (120u << 23)) >> 20;
	uint32_t small = kw_bits_f32(kw_f32_bits(mag) + 0x1p14f) - kw_bits_f32(0x1p14f);

	return { (uint8_t)((mag > 0x43e80000u ? 0x7fu : mag < (121u << 23) ? small : normal) | sign) };
}
KW_FN kw_f8e5m2 kw_f8e5m2_from_f32(float f)
{
	uint32_t b = kw_bits_f32(f), mag = b & 0x7fffffffu, sign = (b >> 24) & 0x80u;
	uint32_t normal = (mag + 0xfffffu + ((mag >> 21) & 1u) - (112u << 23)) >> 21;
	uint32_t small = kw_bits_f32(kw_f32_bits(mag) + 0x1p7f) - kw_bits_f32(0x1p7f);
	uint32_t r = mag >= 0x47700000u ? 0x7cu : mag < (113u << 23) ? small : normal;

	return { (uint8_t)((mag > 0x7f800000u ? 0x7eu : r) | sign) };
}

/* Any element as float, and stored with the conversion that its type asks for: KW_F32(x[i]), KW_STORE(&y[i], v). */
#define KW_F32(v) kw_to_f32_(v)
#define KW_STORE(p, v) kw_store_(p, v)
template <typename T> KW_FN float kw_to_f32_(T v) { return (float)v; }
KW_FN float kw_to_f32_(kw_bf16 v) { return kw_bf16_to_f32(v); }
KW_FN float kw_to_f32_(kw_f8e4m3 v) { return kw_f8e4m3_to_f32(v); }
KW_FN float kw_to_f32_(kw_f8e5m2 v) { return kw_f8e5m2_to_f32(v); }
template <typename T, typename V> KW_FN void kw_store_(T *p, V v) { *p = (T)v; }
template <typename V> KW_FN void kw_store_(kw_bf16 *p, V v) { *p = kw_bf16_from_f32((float)v); }
template <typename V> KW_FN void kw_store_(kw_f8e4m3 *p, V v) { *p = kw_f8e4m3_from_f32((float)v); }
template <typename V> KW_FN void kw_store_(kw_f8e5m2 *p, V v) { *p = kw_f8e5m2_from_f32((float)v); }

#include "kw_whole.h"

/* ---- functions ---- */

/* A NaN on either side wins, as in numpy and torch; the number wins in the others, as in C. */
KW_FN float kw_maxf(float a, float b) { return a > b || a != a ? a : b; }
KW_FN float kw_minf(float a, float b) { return a < b || a != a ? a : b; }
KW_FN float kw_maxnumf(float a, float b) { return fmaxf(a, b); }
KW_FN float kw_minnumf(float a, float b) { return fminf(a, b); }
KW_FN float kw_expf(float x) { return expf(x); }
KW_FN float kw_logf(float x) { return logf(x); }
KW_FN float kw_tanhf(float x) { return tanhf(x); }
KW_FN float kw_erff(float x) { return erff(x); }
KW_FN float kw_rsqrtf(float x) { return rsqrtf(x); }
KW_FN float kw_sigmoidf(float x)
{
	float e = expf(-fabsf(x)), r = 1.0f / (1.0f + e);

	return x < 0.0f ? e * r : r;
}
KW_FN float kw_siluf(float x) { return x * kw_sigmoidf(x); }
KW_FN float kw_geluf(float x) { return 0.5f * x * (1.0f + erff(x * 0.707106781f)); }

/* Over a wavefront; every lane gets the result, and all must call. */
KW_FN float kw_warp_sum(float v)
{
	for (int lanes = warpSize / 2; lanes > 0; lanes /= 2)
		v += __shfl_xor(v, lanes);
	return v;
}
KW_FN float kw_warp_max(float v)
{
	for (int lanes = warpSize / 2; lanes > 0; lanes /= 2)
		v = kw_maxf(v, __shfl_xor(v, lanes));
	return v;
}

#endif
