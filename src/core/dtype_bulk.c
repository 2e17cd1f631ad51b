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

/* Rounds to odd: drops the bits of the mask and, where any was set, sets the lowest that stays. Nothing that a
 * later rounding to two bits fewer needs is lost (Boldo and Melquiond, "When double rounding is odd", 2005). */
static inline double round_to_odd(double v, uint64_t mask)
{
	uint64_t u;

	memcpy(&u, &v, sizeof(u));
	u = (u | ((u & mask) + mask)) & ~mask; /* the sum carries over the mask unless all is 0 */
	memcpy(&v, &u, sizeof(v));
	return v;
}

/* The upper half of a float, rounded to nearest even. */
static inline uint16_t odd_to_bf16(uint32_t u)
{
	uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
	uint32_t nan = (u >> 16 & 0x8000) | 0x7fc0;

	return (uint16_t)((u & 0x7fffffff) > 0x7f800000u ? nan : rounded);
}

/* Normal halves: shift the exponent and round. Subnormal ones: adding 0.5 to a float puts the
 * half's 2^-24 into its last place, and the addition itself rounds to nearest even. */
static inline uint16_t odd_to_f16(uint32_t u)
{
	uint32_t sign = u >> 16 & 0x8000, m = u & 0x7fffffff;
	uint32_t normal = (m - (112u << 23) + 0xfff + (m >> 13 & 1)) >> 13;
	uint32_t small = bits_of(float_of(m) + 0.5f) - 0x3f000000u;
	uint32_t code = m < 0x38800000u ? small : normal;

	code = m >= 0x477ff000u ? 0x7c00 : code; /* 65520: half way to the value that is not there */
	code = m > 0x7f800000u ? 0x7e00 : code;
	return (uint16_t)(sign | code);
}

/* Sign, 4 bits of exponent and 3 of fraction: like a half, with other widths. */
static inline float f8e4m3_to_f32(uint8_t c)
{
	float f = float_of((uint32_t)(c & 0x7f) << 20) * 0x1p120f;
	uint32_t u = (c & 0x7f) == 0x7f ? 0x7fc00000u : bits_of(f);

	return float_of(u | (uint32_t)(c & 0x80) << 24);
}

/* Truncates; NaN is 0; beyond the range is the nearest end. Not for 64 bits. */
static inline int32_t to_int(double v, double low, double high)
{
	v = v == v ? v : 0;
	v = v < low ? low : v;
	return (int32_t)(v > high ? high : v);
}

/* In two steps, so that both are vectorised. Of the significand 24 bits stay for a half, which a float holds; 11
 * for a bf16, which even a subnormal float holds wherever a bf16 is not 0. */
static void to_16_bits(const double *src, uint16_t *dst, size_t n, bool brain)
{
	enum { BLOCK = 512 };
	const uint64_t mask = ((uint64_t)1 << (brain ? 42 : 29)) - 1;
	uint32_t odd[BLOCK];

	for (size_t at = 0; at < n; at += BLOCK) {
		size_t count = n - at < BLOCK ? n - at : BLOCK;

		for (size_t i = 0; i < count; i++)
			odd[i] = bits_of((float)round_to_odd(src[at + i], mask));
		if (brain)
			for (size_t i = 0; i < count; i++)
				dst[at + i] = odd_to_bf16(odd[i]);
		else
			for (size_t i = 0; i < count; i++)
				dst[at + i] = odd_to_f16(odd[i]);
	}
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
	case KW_F8E4M3: LOOP(uint8_t, f8e4m3_to_f32(s[i]));
	case KW_F8E5M2: LOOP(uint8_t, f16_to_f32((uint16_t)(s[i] << 8))); /* half of a half */
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
	case KW_F16:
	case KW_BF16: to_16_bits(src, dst, n, d == KW_BF16); return;
	case KW_I32: STORE_LOOP(int32_t, to_int(src[i], INT32_MIN, INT32_MAX));
	case KW_I16: STORE_LOOP(int16_t, to_int(src[i], INT16_MIN, INT16_MAX));
	case KW_I8: STORE_LOOP(int8_t, to_int(src[i], INT8_MIN, INT8_MAX));
	case KW_U8: STORE_LOOP(uint8_t, to_int(src[i], 0, UINT8_MAX));
	case KW_BOOL: STORE_LOOP(uint8_t, src[i] != 0);
	default:
		for (size_t i = 0; i < n; i++)
			kw_dtype_store(d, (char *)dst + i * bytes, src[i]);
	}
}

bool kw_dtype_wrap(enum kw_dtype d, double *v, size_t n)
{
	const struct kw_dtype_info *info = kw_dtype_info(d);
	double span, low;
	size_t beyond = 0;

	if (info->cls != KW_CLASS_INT || d == KW_I64)
		return false;
	span = (double)(1LL << info->bits);
	low = d == KW_U8 ? 0 : -span / 2;
	for (size_t i = 0; i < n; i++)
		if (v[i] < low || v[i] >= low + span) {
			v[i] -= span * floor((v[i] - low) / span);
			beyond++;
		}
	return beyond > 0;
}
