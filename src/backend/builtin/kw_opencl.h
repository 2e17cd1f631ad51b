/* kw.h for OpenCL C 1.2 and later: the types of kw.h (docs/builder-header.md) that OpenCL C lacks, their conversions, and
 * its functions under the same names. It stands in front of every candidate; there is nothing to include.
 *
 *   float v = KW_F32(x[i]);            kw_store(&y[i], v);             // any float type, rounded to nearest even
 *
 * f16 goes through vload_half and vstore_half_rte, which OpenCL has without cl_khr_fp16. */
#ifndef KW_H
#define KW_H

#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;

/* Structs, so that nobody computes with the raw bits by accident. */
typedef struct { ushort bits; } kw_f16;
typedef struct { ushort bits; } kw_bf16;
typedef struct { uchar bits; } kw_f8e4m3;  /* no Inf, 0x7f is NaN, maximum 448 */
typedef struct { uchar bits; } kw_f8e5m2;

#define KW_FN static inline __attribute__((always_inline))
#define KW_OV static inline __attribute__((always_inline, overloadable))
#define KW_CDIV(a, b) (((a) + (b) - 1) / (b))
#define KW_INF INFINITY
#define KW_NAN NAN

/* ---- to f32: exact, NaN stays NaN ---- */

KW_FN float kw_f16_to_f32(kw_f16 h)
{
	ushort bits = h.bits;

	return vload_half(0, (const __private half *)&bits);
}
KW_FN float kw_bf16_to_f32(kw_bf16 h) { return as_float((uint)h.bits << 16); }
KW_FN float kw_f8e4m3_to_f32(kw_f8e4m3 h)
{
	uint mag = h.bits & 0x7fu, sign = (uint)(h.bits & 0x80u) << 24;
	uint r = mag < 8u ? as_uint((float)mag * 0x1p-9f) : (mag << 20) + (120u << 23);

	return as_float((mag == 0x7fu ? 0x7fc00000u : r) | sign);
}
KW_FN float kw_f8e5m2_to_f32(kw_f8e5m2 h)
{
	kw_f16 wide;

	wide.bits = (ushort)((uint)h.bits << 8);
	return kw_f16_to_f32(wide);
}

/* ---- from f32: to nearest even, overflow to Inf (f8e4m3: NaN), NaN to a quiet NaN ---- */

KW_FN kw_f16 kw_f16_from_f32(float f)
{
	ushort bits;
	kw_f16 h;

	vstore_half_rte(f, 0, (__private half *)&bits);
	h.bits = bits;
	return h;
}
KW_FN kw_bf16 kw_bf16_from_f32(float f)
{
	uint b = as_uint(f), r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
	kw_bf16 h;

	h.bits = (ushort)((b & 0x7fffffffu) > 0x7f800000u ? ((b >> 16) | 0x40u) : r);
	return h;
}
KW_FN kw_f8e4m3 kw_f8e4m3_from_f32(float f)
{
	uint b = as_uint(f), mag = b & 0x7fffffffu, sign = (b >> 24) & 0x80u;
	uint normal = (mag + 0x7ffffu + ((mag >> 20) & 1u) - (120u << 23)) >> 20;
	uint small = as_uint(as_float(mag) + 0x1p14f) - as_uint(0x1p14f);
	uint r = mag < (121u << 23) ? small : normal;
	kw_f8e4m3 h;

	h.bits = (uchar)((mag > 0x43e80000u ? 0x7fu : r) | sign);
	return h;
}
KW_FN kw_f8e5m2 kw_f8e5m2_from_f32(float f)
{
	uint b = as_uint(f), mag = b & 0x7fffffffu, sign = (b >> 24) & 0x80u;
	uint normal = (mag + 0xfffffu + ((mag >> 21) & 1u) - (112u << 23)) >> 21;
	uint small = as_uint(as_float(mag) + 0x1p7f) - as_uint(0x1p7f);
	uint r = mag < (113u << 23) ? small : normal;
	kw_f8e5m2 h;

	r = mag >= 0x47700000u ? 0x7cu : r;
	h.bits = (uchar)((mag > 0x7f800000u ? 0x7eu : r) | sign);
	return h;
}

/* ---- any element as float ---- */

KW_OV float KW_F32(float v) { return v; }
KW_OV float KW_F32(kw_f16 v) { return kw_f16_to_f32(v); }
KW_OV float KW_F32(kw_bf16 v) { return kw_bf16_to_f32(v); }
KW_OV float KW_F32(kw_f8e4m3 v) { return kw_f8e4m3_to_f32(v); }
KW_OV float KW_F32(kw_f8e5m2 v) { return kw_f8e5m2_to_f32(v); }
KW_OV float KW_F32(int v) { return (float)v; }
KW_OV float KW_F32(long v) { return (float)v; }
KW_OV float KW_F32(uchar v) { return (float)v; }

#ifdef cl_khr_fp64
KW_OV float KW_F32(double v) { return (float)v; }
KW_OV double KW_F64(double v) { return v; }
KW_OV double KW_F64(float v) { return (double)v; }
KW_OV double KW_F64(kw_f16 v) { return (double)kw_f16_to_f32(v); }
KW_OV double KW_F64(kw_bf16 v) { return (double)kw_bf16_to_f32(v); }
KW_OV double KW_F64(kw_f8e4m3 v) { return (double)kw_f8e4m3_to_f32(v); }
KW_OV double KW_F64(kw_f8e5m2 v) { return (double)kw_f8e5m2_to_f32(v); }
KW_OV double KW_F64(int v) { return (double)v; }
KW_OV double KW_F64(long v) { return (double)v; }
#endif

/* ---- stores that convert ---- */

#define KW_STORES_(space)                                                                 \
	KW_OV void kw_store(space float *p, float v) { *p = v; }                          \
	KW_OV void kw_store(space kw_f16 *p, float v) { *p = kw_f16_from_f32(v); }        \
	KW_OV void kw_store(space kw_bf16 *p, float v) { *p = kw_bf16_from_f32(v); }      \
	KW_OV void kw_store(space kw_f8e4m3 *p, float v) { *p = kw_f8e4m3_from_f32(v); }  \
	KW_OV void kw_store(space kw_f8e5m2 *p, float v) { *p = kw_f8e5m2_from_f32(v); }  \
	KW_OV void kw_store(space int *p, float v) { *p = (int)v; }                       \
	KW_OV void kw_store(space long *p, float v) { *p = (long)v; }                     \
	KW_OV void kw_store(space short *p, float v) { *p = (short)v; }                   \
	KW_OV void kw_store(space char *p, float v) { *p = (char)v; }                     \
	KW_OV void kw_store(space uchar *p, float v) { *p = (uchar)v; }
KW_STORES_(__global)
KW_STORES_(__local)
KW_STORES_(__private)
#ifdef cl_khr_fp64
KW_OV void kw_store(__global double *p, double v) { *p = v; }
KW_OV void kw_store(__local double *p, double v) { *p = v; }
KW_OV void kw_store(__private double *p, double v) { *p = v; }
#endif
#define KW_STORE(p, v) kw_store(p, v)

/* ---- n elements at once, n a constant: whole vectors of 16 bytes where n is a multiple of k. Both addresses are then
 * aligned to 16 bytes. ---- */

#define KW_VECTORS_(T, V, k)                                                              \
	KW_OV void kw_load_vec(__private T *to, const __global T *from, int n)            \
	{                                                                                 \
		for (int i = 0; n % k == 0 && i < n / k; i++)                             \
			((__private V *)to)[i] = ((const __global V *)from)[i];           \
		for (int i = 0; n % k != 0 && i < n; i++)                                 \
			to[i] = from[i];                                                  \
	}                                                                                 \
	KW_OV void kw_store_vec(__global T *to, const __private T *from, int n)           \
	{                                                                                 \
		for (int i = 0; n % k == 0 && i < n / k; i++)                             \
			((__global V *)to)[i] = ((const __private V *)from)[i];           \
		for (int i = 0; n % k != 0 && i < n; i++)                                 \
			to[i] = from[i];                                                  \
	}
KW_VECTORS_(float, float4, 4)
KW_VECTORS_(int, int4, 4)
KW_VECTORS_(long, long2, 2)
KW_VECTORS_(short, short8, 8)
KW_VECTORS_(char, char16, 16)
KW_VECTORS_(uchar, uchar16, 16)
KW_VECTORS_(kw_f16, ushort8, 8)
KW_VECTORS_(kw_bf16, ushort8, 8)
KW_VECTORS_(kw_f8e4m3, uchar16, 16)
KW_VECTORS_(kw_f8e5m2, uchar16, 16)
#ifdef cl_khr_fp64
KW_VECTORS_(double, double2, 2)
#endif

/* One name serves all types here. */
#define fmodf fmod
#define floorf floor
#define copysignf copysign
#ifndef cl_khr_fp64
#define KW_NO_F64
#endif
#include "kw_whole.h"
#undef fmodf
#undef floorf
#undef copysignf

/* ---- maximum and minimum: a NaN on either side wins, as in numpy and torch ---- */

KW_FN float kw_maxf(float a, float b) { return ((a > b) | (a != a)) ? a : b; }
KW_FN float kw_minf(float a, float b) { return ((a < b) | (a != a)) ? a : b; }
/* The number wins over a NaN, as in C's fmaxf. */
KW_FN float kw_maxnumf(float a, float b) { return fmax(a, b); }
KW_FN float kw_minnumf(float a, float b) { return fmin(a, b); }

/* ---- functions ---- */

KW_FN float kw_fmaf(float a, float b, float c) { return fma(a, b, c); }
KW_FN float kw_expf(float x) { return exp(x); }
KW_FN float kw_exp2f(float x) { return exp2(x); }
KW_FN float kw_expm1f(float x) { return expm1(x); }
KW_FN float kw_logf(float x) { return log(x); }
KW_FN float kw_log2f(float x) { return log2(x); }
KW_FN float kw_log10f(float x) { return log10(x); }
KW_FN float kw_log1pf(float x) { return log1p(x); }
KW_FN float kw_tanhf(float x) { return tanh(x); }
KW_FN float kw_erff(float x) { return erf(x); }
KW_FN float kw_sinf(float x) { return sin(x); }
KW_FN float kw_cosf(float x) { return cos(x); }
KW_FN float kw_tanf(float x) { return tan(x); }
KW_FN float kw_powf(float x, float y) { return pow(x, y); }
KW_FN float kw_rsqrtf(float x) { return 1.0f / sqrt(x); }
/* Without overflow at either end: large negative x gives e^x, not 0 / Inf. */
KW_FN float kw_sigmoidf(float x)
{
	float e = exp(-fabs(x)), r = 1.0f / (1.0f + e);

	return x < 0.0f ? e * r : r;
}
/* Uniform in [0, 1), 24 bits: SplitMix64 of a seed and a place. */
KW_FN float kw_uniformf(long seed, long place)
{
	ulong z = (ulong)seed * 0xd1342543de82ef95ul + (ulong)place * 0x9e3779b97f4a7c15ul;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
	z = (z ^ z >> 27) * 0x94d049bb133111ebul;
	return (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
}
KW_FN float kw_siluf(float x) { return x * kw_sigmoidf(x); }
KW_FN float kw_geluf(float x) { return 0.5f * x * (1.0f + erf(x * 0.707106781f)); }
KW_FN float kw_gelu_tanhf(float x)
{
	return 0.5f * x * (1.0f + tanh(0.797884561f * fma(0.044715f * x * x, x, x)));
}
KW_FN float kw_softplusf(float x) { return (x > 0.0f ? x : 0.0f) + log1p(exp(-fabs(x))); }

#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define INT64_MIN LONG_MIN
#define INT64_MAX LONG_MAX

#ifdef cl_khr_fp64
KW_FN double kw_max(double a, double b) { return ((a > b) | (a != a)) ? a : b; }
KW_FN double kw_min(double a, double b) { return ((a < b) | (a != a)) ? a : b; }
KW_FN double kw_fma(double a, double b, double c) { return fma(a, b, c); }
KW_FN double kw_exp(double x) { return exp(x); }
KW_FN double kw_log(double x) { return log(x); }
KW_FN double kw_tanh(double x) { return tanh(x); }
KW_FN double kw_erf(double x) { return erf(x); }
KW_FN double kw_sin(double x) { return sin(x); }
KW_FN double kw_cos(double x) { return cos(x); }
KW_FN double kw_pow(double x, double y) { return pow(x, y); }
KW_FN double kw_rsqrt(double x) { return 1.0 / sqrt(x); }
KW_FN double kw_sigmoid(double x)
{
	double e = exp(-fabs(x)), r = 1.0 / (1.0 + e);

	return x < 0.0 ? e * r : r;
}
#endif

/* ---- teams: what `lanes` work-items (a power of two) have, joined in a tree; each of them gets it. Members are `width`
 * work-items apart: 1 where they stand side by side. room: a ulong for each work-item of the group. All work-items of the
 * group must call. ---- */

#define KW_TEAM_(name, T, JOINED)                                                         \
	KW_OV T kw_team_##name(T v, int lanes, int width, __local ulong *room)            \
	{                                                                                 \
		const int at = (int)get_local_id(0), lane = at / width % lanes;           \
		__local T *part = (__local T *)room;                                      \
                                                                                          \
		if (lanes == 1)                                                           \
			return v;                                                         \
		barrier(CLK_LOCAL_MEM_FENCE); /* the last join's values are read */       \
		part[at] = v;                                                             \
		for (int w = lanes / 2; w > 0; w /= 2) {                                  \
			barrier(CLK_LOCAL_MEM_FENCE);                                     \
			if (lane < w) {                                                   \
				const T a = part[at], b = part[at + w * width];           \
                                                                                          \
				part[at] = JOINED;                                        \
			}                                                                 \
		}                                                                         \
		barrier(CLK_LOCAL_MEM_FENCE);                                             \
		return part[at - lane * width];                                           \
	}
#define KW_TEAMS_(T, MAX, MIN)                                                            \
	KW_TEAM_(sum, T, a + b)                                                           \
	KW_TEAM_(prod, T, a *b)                                                           \
	KW_TEAM_(max, T, MAX)                                                             \
	KW_TEAM_(min, T, MIN)                                                             \
	KW_TEAM_(any, T, (T)((a != 0) | (b != 0)))                                        \
	KW_TEAM_(all, T, (T)((a != 0) & (b != 0)))
KW_TEAMS_(float, kw_maxf(a, b), kw_minf(a, b))
KW_TEAMS_(int, max(a, b), min(a, b))
KW_TEAMS_(long, max(a, b), min(a, b))
#ifdef cl_khr_fp64
KW_TEAMS_(double, kw_max(a, b), kw_min(a, b))
#endif

#endif
