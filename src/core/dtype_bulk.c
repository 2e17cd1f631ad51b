/* Bulk conversion between an element type and f64, written so that compilers vectorise it. Bit for
 * bit the same as kw_dtype_load and kw_dtype_store (a test compares them). */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* gcc 12 vectorises loops of unknown length only here */
#endif

#include "core/dtype.h"

#include <math.h>
#include <string.h>

static inline float float_of(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static inline uint32_t bits_of(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

/* A half's exponent and fraction, moved to where a float has them, are off by a factor of
 * 2^(127 - 15) only; the multiplication is exact and makes subnormals normal too. */
static inline float f16_to_f32(uint16_t h)
{
	float f = float_of((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
	uint32_t u = bits_of(f) | (f >= 65536.0f ? 0x7f800000u : 0);

	return float_of(u | (uint32_t)(h & 0x8000) << 16);
}

static inline float bf16_to_f32(uint16_t b)
{
	return float_of((uint32_t)b << 16);
}

/* f64 to f32, rounding to odd: no information that a later rounding to fewer bits needs is lost
 * (Boldo and Melquiond, "When double rounding is odd", 2005). */
static inline uint32_t round_to_odd(double v)
{
	float f = (float)v;
	double back = (double)f;
	uint32_t u = bits_of(f);
	uint32_t away = fabs(back) > fabs(v), inexact = (back != v) & (v == v);

	return (u - away) | inexact;
}

static inline uint16_t f64_to_bf16(double v)
{
	uint32_t u = round_to_odd(v);
	uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
	uint32_t nan = (u >> 16 & 0x8000) | 0x7fc0;

	return (uint16_t)(v == v ? rounded : nan);
}

/* Normal halves: shift the exponent and round. Subnormal ones: adding 0.5 to a float puts the
 * half's 2^-24 into its last place, and the addition itself rounds to nearest even. */
static inline uint16_t f64_to_f16(double v)
{
	uint32_t u = round_to_odd(v), sign = u >> 16 & 0x8000, m = u & 0x7fffffff;
	uint32_t normal = (m - (112u << 23) + 0xfff + (m >> 13 & 1)) >> 13;
	uint32_t small = bits_of(float_of(m) + 0.5f) - 0x3f000000u;
	uint32_t code = m < 0x38800000u ? small : normal;

	code = m >= 0x477ff000u ? 0x7c00 : code; /* 65520: half way to the value that is not there */
	code = v == v ? code : 0x7e00;
	return (uint16_t)(sign | code);
}

#define LOOP(type, value)                                   \
	do {                                                \
		const type *s = src;                        \
		for (size_t i = 0; i < n; i++)              \
			dst[i] = (double)(value);           \
		return;                                     \
	} while (0)

void kw_dtype_to_f64(enum kw_dtype d, const void *src, double *dst, size_t n)
{
	size_t bytes = kw_dtype_bytes(d);

	switch (d) {
	case KW_F64:
		if (n)
			memcpy(dst, src, n * sizeof(double));
		return;
	case KW_F32: LOOP(float, s[i]);
	case KW_F16: LOOP(uint16_t, f16_to_f32(s[i]));
	case KW_BF16: LOOP(uint16_t, bf16_to_f32(s[i]));
	case KW_I64: LOOP(int64_t, s[i]);
	case KW_I32: LOOP(int32_t, s[i]);
	case KW_I16: LOOP(int16_t, s[i]);
	case KW_I8: LOOP(int8_t, s[i]);
	case KW_U8: LOOP(uint8_t, s[i]);
	case KW_BOOL: LOOP(uint8_t, s[i] != 0);
	default:
		for (size_t i = 0; i < n; i++)
			dst[i] = kw_dtype_load(d, (const char *)src + i * bytes);
	}
}

#define STORE_LOOP(type, value)                             \
	do {                                                \
		type *o = dst;                              \
		for (size_t i = 0; i < n; i++)              \
			o[i] = (type)(value);               \
		return;                                     \
	} while (0)

void kw_dtype_from_f64(enum kw_dtype d, const double *src, void *dst, size_t n)
{
	size_t bytes = kw_dtype_bytes(d);

	switch (d) {
	case KW_F64:
		if (n)
			memcpy(dst, src, n * sizeof(double));
		return;
	case KW_F32: STORE_LOOP(float, src[i]);
	case KW_F16: STORE_LOOP(uint16_t, f64_to_f16(src[i]));
	case KW_BF16: STORE_LOOP(uint16_t, f64_to_bf16(src[i]));
	case KW_BOOL: STORE_LOOP(uint8_t, src[i] != 0);
	default:
		for (size_t i = 0; i < n; i++)
			kw_dtype_store(d, (char *)dst + i * bytes, src[i]);
	}
}
