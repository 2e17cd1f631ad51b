/* kw.h for CUDA - included by Kernelwright before every CUDA candidate, under the name kw.h.
 *
 * The same spelling as for C where it makes sense: storage types with conversions that round as the judge does, maximum and
 * minimum that keep NaN, a few functions of deep learning, and what a warp adds up. The storage types are the toolkit's own
 * (__half, __nv_bfloat16, __nv_fp8_*), so code that uses its intrinsics fits. Which function rounds how: docs/builder-header.md. */
#ifndef KW_H
#define KW_H

#ifdef __CUDACC_RTC__
/* As CCCL's cuda/std/cstdint has them, so that both can be there. */
typedef signed char int8_t;
typedef signed short int16_t;
typedef signed int int32_t;
typedef signed long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
#else
#include <stdint.h>
#endif

#if !defined(INT32_MAX) && defined(__CUDACC_RTC__) /* word for word as in cuda/std/climits and cstdint, which define them again */
#define INT_MIN (-INT_MAX - 1)
#define INT_MAX 0x7fffffff
#define LLONG_MIN (-LLONG_MAX - 1)
#define LLONG_MAX 0x7fffffffffffffffLL
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define INT64_MIN LLONG_MIN
#define INT64_MAX LLONG_MAX
#endif

#ifdef __CUDACC_RTC__ /* what nvcc has from the C library before a kernel's first line */
#ifndef INFINITY
#pragma nv_diag_suppress 47 /* <cuda/std/cmath> defines two of these again, without asking */
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VALF INFINITY
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#define M_SQRT1_2 0.70710678118654752440
#define M_SQRT2 1.41421356237309504880
#define M_2_SQRTPI 1.12837916709551257390
#define M_LOG2E 1.4426950408889634074
#define M_LN2 0.69314718055994530942
#endif
#endif

#include <cuda_fp16.h>
/* The backend says which of these a candidate names; each takes as long to read as a small kernel takes to compile. */
#if defined(KW_USES_BF16) || defined(KW_USES_F8)
#include <cuda_bf16.h>
#endif
#ifdef KW_USES_F8
#include <cuda_fp8.h>
#endif

#define KW_FN static __device__ __forceinline__
#define KW_INF __int_as_float(0x7f800000)
#define KW_NAN __int_as_float(0x7fc00000)
#define KW_CDIV(a, b) (((a) + (b) - 1) / (b))

typedef __half kw_f16;
/* What a `tensormap` of the plan is passed as: const __grid_constant__ kw_tensormap m. The same bytes as CUtensorMap. */
typedef struct alignas(64) {
	uint64_t opaque[16];
} kw_tensormap;

/* ---- conversions ---- */

KW_FN uint32_t kw_bits_f32(float f) { return __float_as_uint(f); }
KW_FN float kw_f32_bits(uint32_t u) { return __uint_as_float(u); }

KW_FN float kw_f16_to_f32(kw_f16 h) { return __half2float(h); }
KW_FN kw_f16 kw_f16_from_f32(float f) { return __float2half_rn(f); }

/* Any element as float or double, and stored with the conversion that its type asks for: KW_F32(x[i]), KW_F64(x[i]),
 * KW_STORE(&y[i], v). */
#define KW_F32(v) kw_to_f32_(v)
#define KW_F64(v) kw_to_f64_(v)
#define KW_STORE(p, v) kw_store_(p, v)
KW_FN float kw_to_f32_(kw_f16 v) { return kw_f16_to_f32(v); }
KW_FN float kw_to_f32_(float v) { return v; }
KW_FN float kw_to_f32_(double v) { return (float)v; }
KW_FN float kw_to_f32_(int8_t v) { return (float)v; }
KW_FN float kw_to_f32_(uint8_t v) { return (float)v; }
KW_FN float kw_to_f32_(int16_t v) { return (float)v; }
KW_FN float kw_to_f32_(int32_t v) { return (float)v; }
KW_FN float kw_to_f32_(int64_t v) { return (float)v; }
template <typename T, typename V> KW_FN void kw_store_(T *p, V v) { *p = (T)v; }
template <typename V> KW_FN void kw_store_(kw_f16 *p, V v) { *p = kw_f16_from_f32((float)v); }

#if defined(KW_USES_BF16) || defined(KW_USES_F8)
typedef __nv_bfloat16 kw_bf16;
KW_FN float kw_bf16_to_f32(kw_bf16 h) { return __bfloat162float(h); }
KW_FN kw_bf16 kw_bf16_from_f32(float f) { return __float2bfloat16_rn(f); }
KW_FN float kw_to_f32_(kw_bf16 v) { return kw_bf16_to_f32(v); }
template <typename V> KW_FN void kw_store_(kw_bf16 *p, V v) { *p = kw_bf16_from_f32((float)v); }
#endif

#ifdef KW_USES_F8
typedef __nv_fp8_e4m3 kw_f8e4m3;
typedef __nv_fp8_e5m2 kw_f8e5m2;
KW_FN float kw_f8e4m3_to_f32(kw_f8e4m3 v) { return (float)v; }
KW_FN float kw_f8e5m2_to_f32(kw_f8e5m2 v) { return (float)v; }
/* Beyond the largest value: NaN for e4m3, which has no Inf, and Inf for e5m2. The toolkit's constructors saturate. */
KW_FN kw_f8e4m3 kw_f8e4m3_from_f32(float f)
{
	kw_f8e4m3 r;

	r.__x = __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E4M3);
	return r;
}
KW_FN kw_f8e5m2 kw_f8e5m2_from_f32(float f)
{
	kw_f8e5m2 r;

	r.__x = __nv_cvt_float_to_fp8(f, __NV_NOSAT, __NV_E5M2);
	return r;
}

KW_FN float kw_to_f32_(kw_f8e4m3 v) { return kw_f8e4m3_to_f32(v); }
KW_FN float kw_to_f32_(kw_f8e5m2 v) { return kw_f8e5m2_to_f32(v); }
template <typename V> KW_FN void kw_store_(kw_f8e4m3 *p, V v) { *p = kw_f8e4m3_from_f32((float)v); }
template <typename V> KW_FN void kw_store_(kw_f8e5m2 *p, V v) { *p = kw_f8e5m2_from_f32((float)v); }
#endif

KW_FN double kw_to_f64_(double v) { return v; }
KW_FN double kw_to_f64_(int32_t v) { return (double)v; }
KW_FN double kw_to_f64_(int64_t v) { return (double)v; }
template <typename T> KW_FN double kw_to_f64_(T v) { return (double)kw_to_f32_(v); }

#include "kw_whole.h"

/* ---- maximum and minimum ---- */

/* A NaN on either side wins, as in numpy and torch. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
KW_FN float kw_maxf(float a, float b) { asm("max.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b)); return a; }
KW_FN float kw_minf(float a, float b) { asm("min.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b)); return a; }
#else
KW_FN float kw_maxf(float a, float b) { return a > b || a != a ? a : b; }
KW_FN float kw_minf(float a, float b) { return a < b || a != a ? a : b; }
#endif
KW_FN double kw_max(double a, double b) { return a > b || a != a ? a : b; }
KW_FN double kw_min(double a, double b) { return a < b || a != a ? a : b; }
/* The number wins over a NaN, as in C's fmaxf. */
KW_FN float kw_maxnumf(float a, float b) { return fmaxf(a, b); }
KW_FN float kw_minnumf(float a, float b) { return fminf(a, b); }

/* ---- f32 maths: CUDA's own functions under the names of the C header ---- */

KW_FN float kw_fmaf(float a, float b, float c) { return fmaf(a, b, c); }
KW_FN float kw_expf(float x) { return expf(x); }
KW_FN float kw_exp2f(float x) { return exp2f(x); }
KW_FN float kw_expm1f(float x) { return expm1f(x); }
KW_FN float kw_logf(float x) { return logf(x); }
KW_FN float kw_log2f(float x) { return log2f(x); }
KW_FN float kw_log10f(float x) { return log10f(x); }
KW_FN float kw_log1pf(float x) { return log1pf(x); }
KW_FN float kw_tanhf(float x) { return tanhf(x); }
KW_FN float kw_erff(float x) { return erff(x); }
KW_FN float kw_sinf(float x) { return sinf(x); }
KW_FN float kw_cosf(float x) { return cosf(x); }
KW_FN float kw_powf(float x, float y) { return powf(x, y); }
KW_FN float kw_rsqrtf(float x) { return rsqrtf(x); }
/* 1 / (1 + e^-x) without overflow. */
KW_FN float kw_sigmoidf(float x)
{
	float e = expf(-fabsf(x)), r = 1.0f / (1.0f + e);

	return x < 0.0f ? e * r : r;
}
KW_FN double kw_sigmoid(double x)
{
	double e = exp(-fabs(x)), r = 1.0 / (1.0 + e);

	return x < 0.0 ? e * r : r;
}
/* Uniform in [0, 1), 24 bits: SplitMix64 of a seed and a place. */
KW_FN float kw_uniformf(long long seed, long long place)
{
	unsigned long long z = (unsigned long long)seed * 0xd1342543de82ef95ull + (unsigned long long)place * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
}
KW_FN float kw_siluf(float x) { return x * kw_sigmoidf(x); }
/* gelu, exact form and tanh form (torch: approximate="none" and "tanh"). */
KW_FN float kw_geluf(float x) { return 0.5f * x * (1.0f + erff(x * 0.707106781f)); }
KW_FN float kw_gelu_tanhf(float x)
{
	return 0.5f * x * (1.0f + tanhf(0.797884561f * fmaf(0.044715f * x * x, x, x)));
}
/* log(1 + e^x) */
KW_FN float kw_softplusf(float x) { return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); }

/* e^x for x that is never positive. */
KW_FN float kw_exp_negf(float x) { return expf(x); }
/* Division of many values by one, 1.5 units of the last place. d comes within 2^64 of 1 first, so that neither its inverse nor the
 * product overflows or fades before x / d does. */
typedef struct {
	float scale, inverse;
} kw_divisor;
KW_FN kw_divisor kw_divisor_of(float d)
{
	float a = fabsf(d), scale = a > 0x1p64f ? 0x1p-64f : a < 0x1p-64f ? 0x1p64f : 1.0f;
	kw_divisor r = { scale, 1.0f / (d * scale) };

	return r;
}
KW_FN float kw_overf(float x, kw_divisor d) { return x * d.scale * d.inverse; }

/* ---- quick functions for results that are stored in 16 bits or fewer: 1e-5 of the value, and what is below 1e-38 is 0 ---- */

/* ex2.approx: 2 units of the last place, and one of the argument's (PTX ISA). */
KW_FN float kw_exp_roughf(float x)
{
	float r;

	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269504f));
	return r;
}
KW_FN float kw_rcp_roughf(float x)
{
	float r;

	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
	return r;
}
KW_FN float kw_sigmoid_roughf(float x) { return kw_rcp_roughf(1.0f + kw_exp_roughf(-x)); }
KW_FN float kw_silu_roughf(float x) { return x * kw_sigmoid_roughf(x); }
/* 1 + erf(x). Its tail is e^-x^2 times a polynomial in 1 / (1 + 0.44 |x|), in the form of Abramowitz and Stegun 7.1.26, fitted
 * anew for the relative error, 5e-6: nothing cancels as it does in 1 + erf(x) itself. */
KW_FN float kw_erf1_roughf(float x)
{
	float t = kw_rcp_roughf(fmaf(0.44f, fabsf(x), 1.0f)), p = fmaf(-0.14610213f, t, 0.35064053f);

	p = fmaf(p, t, 0.040746654f);
	p = fmaf(p, t, 0.26357669f);
	p = fmaf(p, t, 0.24257239f);
	p = fmaf(p, t, 0.2485607f) * t * kw_exp_roughf(-x * x);
	return x < 0.0f ? p : 2.0f - p;
}

/* ---- N neighbouring elements as one access of up to 16 bytes (or several of 16) ---- */

template <int BYTES> struct kw_piece_ {
	typedef uint4 type;
};
template <> struct kw_piece_<8> {
	typedef uint2 type;
};
template <> struct kw_piece_<4> {
	typedef unsigned int type;
};
template <> struct kw_piece_<2> {
	typedef unsigned short type;
};
template <> struct kw_piece_<1> {
	typedef unsigned char type;
};
/* The address must be a multiple of the access, and so must the array's (alignas(16)). */
template <typename T, int N> KW_FN void kw_load_vec(T (&to)[N], const T *from)
{
	typedef typename kw_piece_<sizeof(to)>::type piece;

#pragma unroll
	for (int i = 0; i < (int)(sizeof(to) / sizeof(piece)); i++)
		((piece *)to)[i] = ((const piece *)from)[i];
}
template <typename T, int N> KW_FN void kw_store_vec(T *to, const T (&from)[N])
{
	typedef typename kw_piece_<sizeof(from)>::type piece;

#pragma unroll
	for (int i = 0; i < (int)(sizeof(from) / sizeof(piece)); i++)
		((piece *)to)[i] = ((const piece *)from)[i];
}
/* The same for what is read or written once: it is the first to leave the caches. */
template <typename T, int N> KW_FN void kw_load_vec_once(T (&to)[N], const T *from)
{
	typedef typename kw_piece_<sizeof(to)>::type piece;

#pragma unroll
	for (int i = 0; i < (int)(sizeof(to) / sizeof(piece)); i++)
		((piece *)to)[i] = __ldcs((const piece *)from + i);
}
template <typename T, int N> KW_FN void kw_store_vec_once(T *to, const T (&from)[N])
{
	typedef typename kw_piece_<sizeof(from)>::type piece;

#pragma unroll
	for (int i = 0; i < (int)(sizeof(from) / sizeof(piece)); i++)
		__stcs((piece *)to + i, ((const piece *)from)[i]);
}

#define KW_NARROW_(type)                                                                                                     \
	template <int N> KW_FN void kw_store_vec(type *to, const float (&from)[N])                                           \
	{                                                                                                                    \
		alignas(16) type packed[N];                                                                                  \
                                                                                                                             \
		kw_narrow(packed, from);                                                                                     \
		kw_store_vec(to, packed);                                                                                    \
	}                                                                                                                    \
	template <int N> KW_FN void kw_store_vec_once(type *to, const float (&from)[N])                                      \
	{                                                                                                                    \
		alignas(16) type packed[N];                                                                                  \
                                                                                                                             \
		kw_narrow(packed, from);                                                                                     \
		kw_store_vec_once(to, packed);                                                                               \
	}
/* Floats to a narrower type, two at a time where one instruction does that, and out as one vector. */
template <int N> KW_FN void kw_narrow(kw_f16 (&to)[N], const float (&from)[N])
{
#pragma unroll
	for (int i = 0; i + 1 < N; i += 2)
		*(__half2 *)&to[i] = __floats2half2_rn(from[i], from[i + 1]);
	if (N % 2)
		to[N - 1] = kw_f16_from_f32(from[N - 1]);
}
KW_NARROW_(kw_f16)
#if defined(KW_USES_BF16) || defined(KW_USES_F8)
template <int N> KW_FN void kw_narrow(kw_bf16 (&to)[N], const float (&from)[N])
{
#pragma unroll
	for (int i = 0; i + 1 < N; i += 2)
		*(__nv_bfloat162 *)&to[i] = __floats2bfloat162_rn(from[i], from[i + 1]);
	if (N % 2)
		to[N - 1] = kw_bf16_from_f32(from[N - 1]);
}
KW_NARROW_(kw_bf16)
#endif
#ifdef KW_USES_F8
template <int N> KW_FN void kw_narrow(kw_f8e4m3 (&to)[N], const float (&from)[N])
{
#pragma unroll
	for (int i = 0; i < N; i++)
		to[i] = kw_f8e4m3_from_f32(from[i]);
}
template <int N> KW_FN void kw_narrow(kw_f8e5m2 (&to)[N], const float (&from)[N])
{
#pragma unroll
	for (int i = 0; i < N; i++)
		to[i] = kw_f8e5m2_from_f32(from[i]);
}
KW_NARROW_(kw_f8e4m3)
KW_NARROW_(kw_f8e5m2)
#endif

/* ---- what a team of threads joins: team<kw_op_sum>(v) in the patterns ---- */

KW_FN int32_t kw_max(int32_t a, int32_t b) { return a > b ? a : b; }
KW_FN int32_t kw_min(int32_t a, int32_t b) { return a < b ? a : b; }
KW_FN int64_t kw_max(int64_t a, int64_t b) { return a > b ? a : b; }
KW_FN int64_t kw_min(int64_t a, int64_t b) { return a < b ? a : b; }
KW_FN float kw_max(float a, float b) { return kw_maxf(a, b); }
KW_FN float kw_min(float a, float b) { return kw_minf(a, b); }
struct kw_op_sum {
	template <typename T> KW_FN T join(T a, T b) { return a + b; }
};
struct kw_op_prod {
	template <typename T> KW_FN T join(T a, T b) { return a * b; }
};
struct kw_op_max {
	template <typename T> KW_FN T join(T a, T b) { return kw_max(a, b); }
};
struct kw_op_min {
	template <typename T> KW_FN T join(T a, T b) { return kw_min(a, b); }
};
struct kw_op_any {
	template <typename T> KW_FN T join(T a, T b) { return a | b; }
};
struct kw_op_all {
	template <typename T> KW_FN T join(T a, T b) { return a & b; }
};

/* What `lanes` neighbouring threads of a block have, joined; each of them gets it. `lanes` is a power of two up to 32,
 * or a multiple of 32; `threads`, those of the block, is a multiple of both. All threads of the block must call. Calls that run
 * once in a kernel may have a `site` each, a number from 0, which saves a barrier: nobody can still be reading what they write. */
template <typename Op, int lanes, int threads, int site = -1, typename T> KW_FN T kw_join(T v)
{
#pragma unroll
	for (int w = (lanes < 32 ? lanes : 32) / 2; w > 0; w /= 2)
		v = Op::join(v, __shfl_xor_sync(0xffffffffu, v, w));
	if (lanes > 32) {
		__shared__ T part[threads / 32];
		const int first = threadIdx.x / lanes * (lanes / 32);

		if (site < 0)
			__syncthreads(); /* the last call's values are read */
		if (threadIdx.x % 32 == 0)
			part[threadIdx.x / 32] = v;
		__syncthreads();
		v = part[first];
#pragma unroll
		for (int w = 1; w < lanes / 32; w++)
			v = Op::join(v, part[first + w]);
	}
	return v;
}

/* ---- a warp: every lane gets the result; all 32 must call ---- */

KW_FN float kw_warp_sum(float v)
{
	for (int lanes = 16; lanes > 0; lanes /= 2)
		v += __shfl_xor_sync(0xffffffffu, v, lanes);
	return v;
}
KW_FN float kw_warp_max(float v)
{
	for (int lanes = 16; lanes > 0; lanes /= 2)
		v = kw_maxf(v, __shfl_xor_sync(0xffffffffu, v, lanes));
	return v;
}
KW_FN float kw_warp_min(float v)
{
	for (int lanes = 16; lanes > 0; lanes /= 2)
		v = kw_minf(v, __shfl_xor_sync(0xffffffffu, v, lanes));
	return v;
}

#endif
