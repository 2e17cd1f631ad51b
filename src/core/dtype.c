#include "core/dtype.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const struct kw_dtype_info infos[KW_DTYPE_COUNT] = {
	[KW_DTYPE_NONE] = { "none", "void", "none", 0, KW_CLASS_INT, 0 },
#define X(e, name, bits, cls, sig, ctype, alias) [KW_##e] = { name, ctype, alias, bits, cls, sig },
	KW_DTYPE_LIST(X)
#undef X
};

/* Layout of a binary format: sign, exponent, fraction. `max_code` is the largest finite value
 * without its sign; what rounds beyond it becomes `over_code` (infinity; NaN in the "fn" format,
 * which has no infinity). OCP 8-bit Floating Point Specification 1.0, table 1; IEEE 754-2019. */
struct format {
	int fraction_bits, bias, sign_bit;
	uint32_t max_code, over_code, nan_code;
};
static const struct format formats[KW_DTYPE_COUNT] = {
	[KW_F16] = { 10, 15, 15, 0x7bff, 0x7c00, 0x7e00 },
	[KW_BF16] = { 7, 127, 15, 0x7f7f, 0x7f80, 0x7fc0 },
	[KW_F8E4M3] = { 3, 7, 7, 0x7e, 0x7f, 0x7f },
	[KW_F8E5M2] = { 2, 15, 7, 0x7b, 0x7c, 0x7e },
};

const struct kw_dtype_info *kw_dtype_info(enum kw_dtype d)
{
	return &infos[(unsigned)d < KW_DTYPE_COUNT ? d : KW_DTYPE_NONE];
}

const char *kw_dtype_name(enum kw_dtype d)
{
	return kw_dtype_info(d)->name;
}

size_t kw_dtype_bytes(enum kw_dtype d)
{
	return (size_t)kw_dtype_info(d)->bits / 8;
}

enum kw_dtype kw_dtype_parse(struct kw_str s)
{
	for (int d = KW_DTYPE_NONE + 1; d < KW_DTYPE_COUNT; d++)
		if (kw_str_eqz(s, infos[d].name) || kw_str_eqz(s, infos[d].alias))
			return (enum kw_dtype)d;
	return KW_DTYPE_NONE;
}

/* What other tools call our types. */
static const struct {
	const char *word, *name;
} other_names[] = {
	{ "half", "f16" },   { "fp16", "f16" },     { "float", "f32" },    { "fp32", "f32" },
	{ "single", "f32" }, { "double", "f64" },   { "fp64", "f64" },     { "int", "i32" },
	{ "long", "i64" },   { "short", "i16" },    { "char", "i8" },      { "byte", "u8" },
	{ "fp8", "f8e4m3" }, { "f8", "f8e4m3" },    { "e4m3", "f8e4m3" },  { "e5m2", "f8e5m2" },
	{ "bfloat", "bf16" }, { "boolean", "bool" }, { "tf32", "f32" },
};

const char *kw_dtype_nearest(const char *word)
{
	const char *names[2 * KW_DTYPE_COUNT], *near;
	size_t n = 0;

	for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++)
		if (strcmp(word, other_names[i].word) == 0)
			return other_names[i].name;
	for (int d = KW_DTYPE_NONE + 1; d < KW_DTYPE_COUNT; d++) {
		names[n++] = infos[d].name;
		names[n++] = infos[d].alias;
	}
	near = kw_str_nearest(word, names, n);
	return near ? kw_dtype_name(kw_dtype_parse(kw_str_from(near))) : NULL;
}

bool kw_dtype_is_float(enum kw_dtype d)
{
	return d != KW_DTYPE_NONE && kw_dtype_info(d)->cls == KW_CLASS_FLOAT;
}

/* Nearest even, straight from the 53 bits of a double: no second rounding on the way. */
static uint32_t encode(const struct format *f, double v)
{
	uint64_t u, fraction, rest, half;
	uint32_t sign, code;
	int exponent, shift, lowest = 1 - f->bias;

	memcpy(&u, &v, sizeof(u));
	sign = (uint32_t)(u >> 63) << f->sign_bit;
	exponent = (int)(u >> 52 & 0x7ff);
	if (isnan(v))
		return sign | f->nan_code;
	if (exponent == 0x7ff)
		return sign | f->over_code;
	exponent -= 1023;
	if (exponent < lowest - f->fraction_bits - 2) /* doubles' own subnormals too */
		return sign;
	fraction = (u & 0xfffffffffffffu) | (uint64_t)1 << 52;
	shift = 52 - f->fraction_bits + (exponent < lowest ? lowest - exponent : 0);
	rest = fraction & (((uint64_t)1 << shift) - 1);
	half = (uint64_t)1 << (shift - 1);
	fraction >>= shift;
	fraction += rest > half || (rest == half && (fraction & 1));
	/* A carry out of the fraction lands in the exponent, where it belongs. */
	if (exponent >= lowest)
		fraction += (uint64_t)(exponent - lowest) << f->fraction_bits;
	code = fraction > f->max_code ? f->over_code : (uint32_t)fraction;
	return sign | code;
}

static double decode(const struct format *f, uint32_t code)
{
	uint32_t magnitude = code & ((1u << f->sign_bit) - 1);
	uint32_t fraction = magnitude & ((1u << f->fraction_bits) - 1);
	int exponent = (int)(magnitude >> f->fraction_bits);
	double v;

	if (magnitude > f->max_code)
		v = magnitude == f->over_code && f->over_code != f->nan_code ? INFINITY : NAN;
	else if (exponent == 0)
		v = ldexp(fraction, 1 - f->bias - f->fraction_bits);
	else
		v = ldexp(fraction | 1u << f->fraction_bits, exponent - f->bias - f->fraction_bits);
	return code >> f->sign_bit & 1 ? -v : v;
}

/* Truncates; NaN is 0; beyond the range is the nearest end. */
static int64_t to_integer(double v, int64_t low, int64_t high)
{
	if (isnan(v))
		return 0;
	if (v <= (double)low)
		return low;
	return v >= (double)high ? high : (int64_t)v;
}

#define LOAD(type, p)                                      \
	do {                                               \
		type value_;                               \
		memcpy(&value_, (p), sizeof(value_));      \
		return (double)value_;                     \
	} while (0)
#define STORE(type, p, v)                                  \
	do {                                               \
		type value_ = (type)(v);                   \
		memcpy((p), &value_, sizeof(value_));      \
		return;                                    \
	} while (0)

static uint32_t load_code(const void *p, size_t bytes)
{
	uint16_t wide;

	if (bytes == 1)
		return *(const uint8_t *)p;
	memcpy(&wide, p, sizeof(wide));
	return wide;
}

double kw_dtype_load(enum kw_dtype d, const void *p)
{
	switch (d) {
	case KW_F64: LOAD(double, p);
	case KW_F32: LOAD(float, p);
	case KW_I64: LOAD(int64_t, p);
	case KW_I32: LOAD(int32_t, p);
	case KW_I16: LOAD(int16_t, p);
	case KW_I8: LOAD(int8_t, p);
	case KW_U8: LOAD(uint8_t, p);
	case KW_BOOL: return *(const uint8_t *)p != 0;
	case KW_F16:
	case KW_BF16:
	case KW_F8E4M3:
	case KW_F8E5M2: return decode(&formats[d], load_code(p, kw_dtype_bytes(d)));
	default: return NAN;
	}
}

void kw_dtype_store(enum kw_dtype d, void *p, double v)
{
	switch (d) {
	case KW_F64: STORE(double, p, v);
	case KW_F32: STORE(float, p, v);
	case KW_I64: STORE(int64_t, p, to_integer(v, INT64_MIN, INT64_MAX));
	case KW_I32: STORE(int32_t, p, to_integer(v, INT32_MIN, INT32_MAX));
	case KW_I16: STORE(int16_t, p, to_integer(v, INT16_MIN, INT16_MAX));
	case KW_I8: STORE(int8_t, p, to_integer(v, INT8_MIN, INT8_MAX));
	case KW_U8: STORE(uint8_t, p, to_integer(v, 0, UINT8_MAX));
	case KW_BOOL: STORE(uint8_t, p, v != 0);
	case KW_F16:
	case KW_BF16: STORE(uint16_t, p, encode(&formats[d], v));
	case KW_F8E4M3:
	case KW_F8E5M2: STORE(uint8_t, p, encode(&formats[d], v));
	default: return;
	}
}

/* Exponents of the smallest normal and the largest finite value. */
static void exponent_range(enum kw_dtype d, int *low, int *high)
{
	if (d == KW_F64) {
		*low = DBL_MIN_EXP - 1;
		*high = DBL_MAX_EXP - 1;
	} else if (d == KW_F32) {
		*low = FLT_MIN_EXP - 1;
		*high = FLT_MAX_EXP - 1;
	} else {
		*low = 1 - formats[d].bias;
		*high = (int)(formats[d].max_code >> formats[d].fraction_bits) - formats[d].bias;
	}
}

double kw_dtype_ulp(enum kw_dtype d, double v)
{
	int exponent, low, high;

	if (!isfinite(v) || d == KW_DTYPE_NONE)
		return 0;
	if (!kw_dtype_is_float(d))
		return 1;
	exponent_range(d, &low, &high);
	exponent = v == 0 ? low : ilogb(v);
	if (exponent < low)
		exponent = low;
	if (exponent > high)
		exponent = high;
	return ldexp(1, exponent - (kw_dtype_info(d)->significand_bits - 1));
}

double kw_dtype_max(enum kw_dtype d)
{
	static const int64_t integer_max[KW_DTYPE_COUNT] = {
		[KW_I64] = INT64_MAX, [KW_I32] = INT32_MAX, [KW_I16] = INT16_MAX,
		[KW_I8] = INT8_MAX,   [KW_U8] = UINT8_MAX,  [KW_BOOL] = 1,
	};

	if (d == KW_F64)
		return DBL_MAX;
	if (d == KW_F32)
		return (double)FLT_MAX;
	if (!kw_dtype_is_float(d))
		return (double)integer_max[(unsigned)d < KW_DTYPE_COUNT ? d : KW_DTYPE_NONE];
	return decode(&formats[d], formats[d].max_code);
}
