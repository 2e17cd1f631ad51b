/* Conversions against the formats' own definitions: every code of every small type, every half way
 * point between two of them, and random doubles. */
#include "core/dtype.h"

#include <float.h>
#include <math.h>

#include "tap.h"

static const enum kw_dtype small[] = { KW_F16, KW_BF16, KW_F8E4M3, KW_F8E5M2 };

/* What a code means, written anew and slowly from the text of the standards. */
static double meaning(enum kw_dtype d, unsigned code)
{
	int fraction_bits = kw_dtype_info(d)->significand_bits - 1;
	int exponent_bits = kw_dtype_info(d)->bits - 1 - fraction_bits;
	int bias = (1 << (exponent_bits - 1)) - 1;
	unsigned exponent = code >> fraction_bits & ((1u << exponent_bits) - 1);
	unsigned fraction = code & ((1u << fraction_bits) - 1);
	double sign = code >> (kw_dtype_info(d)->bits - 1) ? -1 : 1;
	bool top = exponent == (1u << exponent_bits) - 1;

	if (d == KW_F8E4M3 && top && fraction == 7)
		return NAN;
	if (d != KW_F8E4M3 && top)
		return fraction ? NAN : sign * INFINITY;
	if (exponent == 0)
		return sign * fraction * pow(2, 1 - bias - fraction_bits);
	return sign * (1 + fraction * pow(2, -fraction_bits)) * pow(2, (int)exponent - bias);
}

static unsigned load_code(enum kw_dtype d, const void *p)
{
	uint16_t wide;

	if (kw_dtype_bytes(d) == 1)
		return *(const uint8_t *)p;
	memcpy(&wide, p, 2);
	return wide;
}

static void put_code(enum kw_dtype d, void *p, unsigned code)
{
	uint16_t wide = (uint16_t)code;

	if (kw_dtype_bytes(d) == 1)
		*(uint8_t *)p = (uint8_t)code;
	else
		memcpy(p, &wide, 2);
}

static bool same(double a, double b)
{
	return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void test_codes(enum kw_dtype d)
{
	unsigned codes = 1u << kw_dtype_info(d)->bits;
	int wrong_load = 0, wrong_store = 0, wrong_bulk = 0;

	for (unsigned c = 0; c < codes; c++) {
		unsigned char p[2], q[2];
		double v, bulk;

		put_code(d, p, c);
		v = kw_dtype_load(d, p);
		kw_dtype_to_f64(d, p, &bulk, 1);
		wrong_load += !same(v, meaning(d, c));
		wrong_bulk += !same(bulk, v);
		if (isnan(v))
			continue;
		kw_dtype_store(d, q, v);
		wrong_store += load_code(d, q) != c;
		kw_dtype_from_f64(d, &v, q, 1);
		wrong_bulk += load_code(d, q) != c;
	}
	is_int(wrong_load, 0, "%s: every code means what the format says", kw_dtype_name(d));
	is_int(wrong_store, 0, "%s: every value is stored as its code", kw_dtype_name(d));
	is_int(wrong_bulk, 0, "%s: in bulk too", kw_dtype_name(d));
}

/* Between neighbours a < b: their middle goes to the even code, what is next to it to the nearer. */
static void test_rounding(enum kw_dtype d)
{
	unsigned last = 0;
	int wrong = 0, wrong_bulk = 0;

	while (isfinite(meaning(d, last + 1)))
		last++;
	for (unsigned c = 0; c < last; c++) {
		double a = meaning(d, c), b = meaning(d, c + 1), middle = a + (b - a) / 2;
		const double values[] = { middle, nextafter(middle, 0), nextafter(middle, b), -middle };
		const unsigned sign = 1u << (kw_dtype_info(d)->bits - 1);
		const unsigned want[] = { c & 1 ? c + 1 : c, c, c + 1, (c & 1 ? c + 1 : c) | sign };

		for (int i = 0; i < 4; i++) {
			unsigned char p[2];

			kw_dtype_store(d, p, values[i]);
			wrong += load_code(d, p) != want[i];
			kw_dtype_from_f64(d, &values[i], p, 1);
			wrong_bulk += load_code(d, p) != want[i];
		}
	}
	is_int(wrong, 0, "%s: half ways go to the even one, all else to the nearest", kw_dtype_name(d));
	is_int(wrong_bulk, 0, "%s: in bulk too", kw_dtype_name(d));
}

static void test_random(enum kw_dtype d)
{
	uint64_t state = 88172645463325252u;
	int wrong = 0;
	double values[64];
	unsigned char bulk[64 * 8], one[8];
	size_t bytes = kw_dtype_bytes(d);

	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < 64; i++) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			memcpy(&values[i], &state, 8);
			if (round % 2) /* exponents of every type, not of f64 alone */
				values[i] = ldexp((double)(int64_t)state, (int)(state % 97) - 110);
		}
		kw_dtype_from_f64(d, values, bulk, 64);
		for (int i = 0; i < 64; i++) {
			kw_dtype_store(d, one, values[i]);
			wrong += memcmp(one, bulk + i * bytes, bytes) != 0 && !isnan(values[i]);
		}
	}
	is_int(wrong, 0, "%s: bulk and single stores agree on 128,000 doubles", kw_dtype_name(d));
}

static double stored(enum kw_dtype d, double v)
{
	unsigned char p[8];

	kw_dtype_store(d, p, v);
	return kw_dtype_load(d, p);
}

static void test_edges(void)
{
	ok(isinf(stored(KW_F16, 65520)), "f16: 65520 is infinite");
	ok(stored(KW_F16, nextafter(65520, 0)) == 65504, "f16: what is just below is not");
	ok(stored(KW_F16, 0x1p-25) == 0 && stored(KW_F16, 0x1.000001p-25) == 0x1p-24,
	   "f16: half of the smallest is 0, a bit more is the smallest");
	ok(isnan(stored(KW_F8E4M3, 1000)) && stored(KW_F8E4M3, 464) == 448 &&
		   isnan(stored(KW_F8E4M3, 465)) && isnan(stored(KW_F8E4M3, INFINITY)),
	   "f8e4m3: beyond 448 is NaN, as there is no infinity");
	ok(isinf(stored(KW_F8E5M2, 61440)) && stored(KW_F8E5M2, 61439) == 57344,
	   "f8e5m2: rounds to infinity");
	/* 1 + 2^-8 + 2^-30 rounds up in bf16, but by way of f32 it would be a tie and round down. */
	ok(stored(KW_BF16, 1 + 0x1p-8 + 0x1p-30) == 1 + 0x1p-7, "bf16: rounds once, not twice");
	ok(stored(KW_F16, -0.0) == 0 && signbit(stored(KW_F16, -0.0)), "minus zero stays");
	for (size_t i = 0; i < 4; i++)
		ok(isnan(stored(small[i], NAN)), "%s: NaN stays", kw_dtype_name(small[i]));
	ok(stored(KW_I8, 127.9) == 127 && stored(KW_I8, -1e9) == -128 && stored(KW_I8, -1.9) == -1,
	   "i8: truncates and saturates");
	ok(stored(KW_U8, -3) == 0 && stored(KW_U8, 300) == 255 && stored(KW_U8, NAN) == 0,
	   "u8: saturates, NaN is 0");
	ok(stored(KW_I64, 1e300) == 0x1p63 && stored(KW_I64, -1e300) == -0x1p63, "i64: saturates");
	ok(stored(KW_I32, 2147483647.5) == 2147483647.0, "i32: the largest stays");
	ok(stored(KW_BOOL, 0.5) == 1 && stored(KW_BOOL, 0) == 0, "bool: what is not 0 is 1");
}

static void test_ulp(void)
{
	ok(kw_dtype_ulp(KW_F32, 1) == 0x1p-23 && kw_dtype_ulp(KW_F32, -1.5) == 0x1p-23, "f32 near 1");
	ok(kw_dtype_ulp(KW_F32, 0) == 0x1p-149, "f32 near 0: subnormal spacing");
	ok(kw_dtype_ulp(KW_F16, 1e-7) == 0x1p-24, "f16 subnormals");
	ok(kw_dtype_ulp(KW_F16, 2048) == 2, "f16 near 2048");
	ok(kw_dtype_ulp(KW_F64, 1) == DBL_EPSILON, "f64 near 1");
	ok(kw_dtype_ulp(KW_BF16, 3) == 0x1p-6, "bf16 near 3");
	ok(kw_dtype_ulp(KW_I32, 5) == 1, "integers are 1 apart");
	ok(kw_dtype_ulp(KW_F32, INFINITY) == 0 && kw_dtype_ulp(KW_F32, NAN) == 0, "no spacing at infinity");
	for (int d = KW_F64; d <= KW_F8E5M2; d++) {
		double v = kw_dtype_max((enum kw_dtype)d), u = kw_dtype_ulp((enum kw_dtype)d, v);

		ok(stored((enum kw_dtype)d, v) == v && stored((enum kw_dtype)d, v - u) == v - u,
		   "%s: the largest value and its neighbour", kw_dtype_name((enum kw_dtype)d));
	}
}

static void test_names(void)
{
	for (int d = KW_DTYPE_NONE + 1; d < KW_DTYPE_COUNT; d++) {
		const struct kw_dtype_info *i = kw_dtype_info((enum kw_dtype)d);

		ok(kw_dtype_parse(kw_str_from(i->name)) == (enum kw_dtype)d &&
			   kw_dtype_parse(kw_str_from(i->alias)) == (enum kw_dtype)d,
		   "%s is also %s", i->name, i->alias);
	}
	is_int(kw_dtype_parse(KW_STR("f33")), KW_DTYPE_NONE, "f33 is none");
	is_str(kw_dtype_nearest("f33"), "f32", "but f32 is near");
	is_str(kw_dtype_nearest("half"), "f16", "half means f16");
	is_str(kw_dtype_nearest("floot16"), "f16", "an alias that is near gives the name");
	ok(kw_dtype_nearest("quaternion") == NULL, "nothing is near a quaternion");
	is_int((int64_t)kw_dtype_bytes(KW_BF16), 2, "bf16 has 2 bytes");
	ok(kw_dtype_is_float(KW_F8E4M3) && !kw_dtype_is_float(KW_BOOL) && !kw_dtype_is_float(KW_DTYPE_NONE),
	   "what floats");
	ok(kw_dtype_info((enum kw_dtype)99) == kw_dtype_info(KW_DTYPE_NONE), "no such type");
}

int main(void)
{
	for (size_t i = 0; i < 4; i++) {
		test_codes(small[i]);
		test_rounding(small[i]);
	}
	for (int d = KW_F64; d < KW_DTYPE_COUNT; d++)
		test_random((enum kw_dtype)d);
	test_edges();
	test_ulp();
	test_names();
	return done();
}
