/* Comparison: every planted error is found under its own name, and honest rounding passes. */
#include "judge/compare.h"

#include "judge/inputs.h"

#include "tap.h"

#include <math.h>

enum { ROWS = 30, COLS = 1000, N = ROWS * COLS, SEED = 5 };
static double want[N];
static float got[N];
static const struct kw_shape shape = { 2, { ROWS, COLS } };

static struct kw_compare_stats compare(const struct kw_tolerance *t, const void *values)
{
	struct kw_compare_stats all, part;
	size_t bytes = kw_dtype_bytes(t->out);

	kw_compare_init(&all);
	for (size_t at = 0; at < N; at += 700) { /* chunks that divide nothing */
		size_t n = N - at < 700 ? N - at : 700;

		kw_compare_init(&part);
		kw_compare_chunk(&part, t, (const char *)values + at * bytes, want + at, n, &shape, (int64_t)at, SEED);
		kw_compare_merge(&all, &part);
	}
	kw_compare_finish(&all);
	return all;
}

static void reset(uint64_t seed)
{
	struct kw_tensor_decl d = { .name = "w", .dtype = KW_F64, .dist = KW_DIST_NORMAL };
	struct kw_view v = { .dtype = KW_F64, .base = want, .shape = { 1, { N } }, .stride = { 1 } };

	kw_fill_input(&d, &v, KW_FILL_DECLARED, seed, 1, NULL, 1, NULL);
	for (int i = 0; i < N; i++)
		got[i] = (float)want[i];
}

static struct kw_tolerance tolerance(enum kw_dtype out)
{
	struct kw_tolerance t;

	kw_tolerance_derive(&t, out, KW_F32, 1000, 1e-7, 1.0);
	return t;
}

static const char *name_of(const struct kw_compare_stats *s, const struct kw_tolerance *t)
{
	return kw_compare_right(s) ? "right" : kw_subclass_name(kw_compare_classify(s, t));
}

static void test_tolerance(void)
{
	struct kw_tolerance t = tolerance(KW_F32), user = { .rel = 0.1, .abs = 0.5, .out = KW_F32 };

	ok(fabs(kw_tolerance_at(&t, 1.0) - (2 * 0x1p-23 + 2 * 0x1p-23 * sqrt(1000))) < 1e-12, "2 ulp and 2 ulp x sqrt(R)");
	ok(kw_tolerance_at(&t, 0.0) == 4e-7, "near zero: 4 times what a plain kernel errs");
	ok(kw_tolerance_at(&t, 1.99) < kw_tolerance_at(&t, 2.01), "it grows with the value");
	ok(kw_tolerance_at(&user, 10) == 1.5, "the task's own");
	kw_tolerance_derive(&t, KW_F32, KW_F32, 1000, 1.0, 1.0);
	ok(t.abs_part == 0.01, "capped at 1%% of the expected size");
	kw_tolerance_derive(&t, KW_I32, KW_F32, 1000, 1.0, 1.0);
	ok(kw_tolerance_at(&t, 1000) == 0, "integers are exact");
	kw_tolerance_derive(&t, KW_I64, KW_F32, 1000, 0.25, 1e20);
	ok(kw_tolerance_at(&t, 1e17) == 1, "of i64 as exact as the reference");
	kw_tolerance_derive(&t, KW_F64, KW_F64, 1, 1e-16, 1.0);
	ok(kw_tolerance_at(&t, 0.0) == 4e-16, "f64: 4 times what a plain f64 kernel errs");
	kw_tolerance_derive(&t, KW_F64, KW_F16, 1, 1e-16, 1.0);
	ok(kw_tolerance_at(&t, 0.0) == 4e-16 * 0x1p42, "and as much more as f16 has fewer bits, where that is allowed");
	kw_tolerance_derive(&t, KW_F16, KW_F32, 1, 0, 1.0);
	ok(kw_tolerance_at(&t, 1.0) >= 0x1p-9 && kw_tolerance_at(&t, 1.0) < 0x1p-8, "2 ulp of f16 at 1");
	ok(kw_tolerance_at(&t, 0x1p-24) >= 0x1p-23, "and among its subnormals");
}

static void test_planted(void)
{
	struct kw_tolerance t = tolerance(KW_F32);
	struct kw_compare_stats s;

	reset(1);
	s = compare(&t, got);
	is_str(name_of(&s, &t), "right", "rounded to f32");
	is_int(s.compared, N, "all were compared");
	ok(s.worst_ratio < 1 && s.max_rel < 0x1p-23, "worst: %.3f of the tolerance", s.worst_ratio);
	ok(fabs(s.norm_ratio - 1) < 1e-6 && s.rms_rel < 0x1p-23, "norms");

	got[12345] += 0.001f;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "mismatch", "one wrong element");
	is_int(s.mismatched, 1, "is counted once");
	ok(s.worst_rank == 2 && s.worst_index[0] == 12 && s.worst_index[1] == 345, "at its place");
	ok(s.worst_got == (double)got[12345] && s.worst_want == want[12345], "with both values");
	ok(s.worst_ratio > 10 && fabs(s.max_abs - 0.001) < 1e-6, "by how much");

	reset(2);
	got[N - 1] = NAN;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "nan", "a NaN in the last element (cheat 14)");
	is_int(s.nan_mismatched, 1, "one");
	is_int(s.worst_index[1], COLS - 1, "at its place");
	ok(s.tolerance_at_worst > 0 && s.max_abs < 1e-6, "with the tolerance there, and the error of the others");
	want[N - 1] = NAN;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "right", "is right where NaN is expected");
	got[N - 1] = 0;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "nan", "and a number is not (case B03)");

	reset(3);
	for (int i = 0; i < N; i++)
		got[i] = i % 2 ? NAN : INFINITY;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "nan", "nothing but NaN and Inf");
	ok(isnan(s.max_abs) && isnan(s.max_rel) && isnan(s.rms_rel) && isnan(s.norm_ratio), "has no error that could be told");

	reset(3);
	want[7] = -(double)INFINITY;
	got[7] = -INFINITY;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "right", "-Inf where -Inf is expected");
	got[7] = INFINITY;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "nan", "+Inf is not");
	got[7] = -3e38f;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "nan", "nor the largest number");
	ok(isfinite(s.rms_rel) && isfinite(s.norm_ratio), "the norms leave them out");

	reset(3);
	want[7] = 4.4e113; /* exp of 263: beyond f32 */
	got[7] = INFINITY;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "right", "Inf where the answer is beyond the type");
	got[7] = -INFINITY;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "nan", "of the other sign it is not");
	got[7] = 3.4e38f;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "mismatch", "nor the largest number");
	want[7] = 3.4028234e38;
	got[7] = INFINITY;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "right", "or may be, by rounding");
	want[7] = 3.3e38;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "nan", "Inf where a number is expected");

	reset(4);
	kw_poison(got + 5000, 3 * sizeof(float), KW_F32, SEED);
	s = compare(&t, got);
	is_str(name_of(&s, &t), "unwritten", "three elements that were not written");
	is_int(s.unwritten, 3, "three");
	kw_poison(got, sizeof(got), KW_F32, SEED);
	s = compare(&t, got);
	is_int(s.unwritten, N, "none was written");
}

/* Masked lanes feed a maximum (case B11): a zero where the row is negative. */
static void test_masked_load(void)
{
	static const double row[5] = { -3, -1, -2, -5, -4 };
	struct kw_tolerance t = tolerance(KW_F32);
	struct kw_shape one = { 1, { 1 } };
	struct kw_compare_stats s;
	double most = -(double)INFINITY;
	float with_zero = 0;

	for (int i = 0; i < 5; i++)
		most = fmax(most, row[i]);
	kw_compare_init(&s);
	kw_compare_chunk(&s, &t, &with_zero, &most, 1, &one, 0, SEED);
	kw_compare_finish(&s);
	ok(most == -1 && !kw_compare_right(&s), "a maximum of 0 over negative numbers is wrong");
}

static float rounded(float v, int bits)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	u += (1u << (23 - bits - 1)) - 1 + (u >> (23 - bits) & 1);
	u &= ~((1u << (23 - bits)) - 1);
	memcpy(&v, &u, sizeof(v));
	return v;
}

/* A matrix product of K terms, with operands rounded to `bits` of fraction (23: not). */
static void product(int bits, float *out)
{
	enum { K = 64 };
	static float a[ROWS * K], b[K * COLS];
	struct kw_tensor_decl d = { .name = "a", .dtype = KW_F32, .dist = KW_DIST_NORMAL };
	struct kw_view va = { .dtype = KW_F32, .base = a, .shape = { 1, { ROWS * K } }, .stride = { 1 } };
	struct kw_view vb = { .dtype = KW_F32, .base = b, .shape = { 1, { K * COLS } }, .stride = { 1 } };

	kw_fill_input(&d, &va, KW_FILL_DECLARED, 11, 1, NULL, 1, NULL);
	kw_fill_input(&d, &vb, KW_FILL_DECLARED, 11, 2, NULL, 1, NULL);
	for (int i = 0; i < ROWS; i++) {
		for (int j = 0; j < COLS; j++) {
			double exact = 0;
			float sum = 0;

			for (int k = 0; k < K; k++) {
				float x = a[i * K + k], y = b[k * COLS + j];

				exact += (double)x * (double)y;
				sum += bits < 23 ? rounded(x, bits) * rounded(y, bits) : x * y;
			}
			want[i * COLS + j] = exact;
			out[i * COLS + j] = sum;
		}
	}
}

static void test_precision(void)
{
	static const struct {
		const char *name;
		int bits;
	} inside[] = { { "tf32 (case B14)", 10 }, { "bf16", 7 }, { "f16", 10 }, { "f8 e4m3", 3 } };
	struct kw_tolerance t;
	struct kw_compare_stats s;
	/* 3.14 squared: 9.8596, or 9.86156 when one factor is rounded to tf32 (case B14). */
	double exact = 3.14 * 3.14;
	float tf32 = rounded(3.14f, 10) * 3.14f;
	struct kw_shape one = { 1, { 1 } };

	kw_tolerance_derive(&t, KW_F32, KW_F32, 64, 2e-6, 8);
	product(23, got);
	s = compare(&t, got);
	is_str(name_of(&s, &t), "right", "a plain f32 product");
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
		product(inside[i].bits, got);
		s = compare(&t, got);
		if (inside[i].bits > 3)
			is_str(name_of(&s, &t), "precision", "%s inside", inside[i].name);
		else
			ok(!kw_compare_right(&s), "%s inside is not right", inside[i].name);
	}
	kw_compare_init(&s);
	kw_compare_chunk(&s, &t, &tf32, &exact, 1, &one, 0, SEED);
	ok(fabs((double)tf32 - 9.8616) < 1e-4 && s.mismatched == 1, "9.8616 for 9.8596");
	product(10, got);
	kw_tolerance_derive(&t, KW_F32, KW_F16, 64, 2e-6, 8); /* 10 bits of fraction, by consent */
	s = compare(&t, got);
	is_str(name_of(&s, &t), "right", "tf32 where the task allows it");

	kw_tolerance_derive(&t, KW_F32, KW_F32, 64, 2e-6, 8);
	product(23, got);
	for (int i = 0; i < N; i++)
		got[i] *= 1.001f;
	s = compare(&t, got);
	is_str(name_of(&s, &t), "mismatch", "a factor that is off is no matter of precision");
	product(23, got);
	for (int i = 0; i < COLS; i++)
		got[3 * COLS + i] = got[4 * COLS + i];
	s = compare(&t, got);
	is_str(name_of(&s, &t), "mismatch", "nor is a row in the wrong place");
}

/* Case E02: an output of zeros passes a tolerance of 1e-2; the derived one, and the guard, refuse it. */
static void test_zeros(void)
{
	static const double largest[] = { 2.5e-6, 1e-3, 5e-3, 9e-3, 1.0 };
	struct kw_tolerance t, wide = { .rel = 1e-2, .abs = 1e-2, .out = KW_F32 };
	struct kw_compare_stats s;

	memset(got, 0, sizeof(got));
	for (size_t k = 0; k < sizeof(largest) / sizeof(largest[0]); k++) {
		double square = 0;

		for (int i = 0; i < N; i++) {
			want[i] = largest[k] * (i % 10 + 1) / 10;
			square += want[i] * want[i];
		}
		/* However much a plain kernel errs. */
		kw_tolerance_derive(&t, KW_F32, KW_F32, 393216, 1.0, sqrt(square / N));
		s = compare(&t, got);
		ok(!kw_compare_right(&s), "zeros for values up to %g", largest[k]);
		s = compare(&wide, got);
		ok(!kw_compare_right(&s), "even where the task's own tolerance is 1e-2");
	}
	for (int i = 0; i < N; i++)
		want[i] = 1e-9;
	t.scale = 1e-9;
	s = compare(&t, got);
	ok(!kw_compare_right(&s), "zeros where such values are usual");
	t.scale = 1e-6; /* other outputs of the kind are larger: these are 0 but for rounding */
	s = compare(&t, got);
	ok(kw_compare_right(&s), "zeros for next to nothing beside what is usual");
	memset(want, 0, sizeof(want));
	s = compare(&t, got);
	ok(kw_compare_right(&s), "zeros for zeros");
	for (int i = 0; i < N; i++)
		want[i] = 1e-50;
	s = compare(&t, got);
	ok(kw_compare_right(&s), "zeros for what f32 cannot hold");
}

static void test_types(void)
{
	static int32_t whole[N];
	static uint8_t flags[N];
	static uint16_t half[N];
	struct kw_tolerance t = tolerance(KW_I32);
	struct kw_compare_stats s;

	reset(6);
	for (int i = 0; i < N; i++) {
		whole[i] = (int32_t)(want[i] * 1000);
		want[i] = whole[i];
	}
	s = compare(&t, whole);
	is_str(name_of(&s, &t), "right", "integers");
	whole[100]++;
	s = compare(&t, whole);
	is_str(name_of(&s, &t), "mismatch", "off by one");
	ok(isinf(s.worst_ratio), "which no tolerance covers");
	t = tolerance(KW_BOOL);
	for (int i = 0; i < N; i++)
		want[i] = flags[i] = i % 3 == 0;
	s = compare(&t, flags);
	is_str(name_of(&s, &t), "right", "flags");
	kw_poison(flags, sizeof(flags), KW_BOOL, SEED);
	s = compare(&t, flags);
	is_str(name_of(&s, &t), "unwritten", "flags that were not written");

	/* f16: squares summed in f16 overflow to Inf (case B15), where the answer is none. */
	t = tolerance(KW_F16);
	reset(7);
	kw_dtype_from_f64(KW_F16, want, half, N);
	s = compare(&t, half);
	is_str(name_of(&s, &t), "right", "rounded to f16");
	want[9] = 60000;
	kw_dtype_store(KW_F16, &half[9], 70000);
	s = compare(&t, half);
	is_str(name_of(&s, &t), "nan", "Inf for 60000");
	want[9] = 70000;
	s = compare(&t, half);
	is_str(name_of(&s, &t), "right", "Inf for 70000: there is nothing else");
	kw_compare_init(&s);
	kw_compare_chunk(&s, &t, half, want, 0, &shape, 0, SEED);
	kw_compare_finish(&s);
	ok(kw_compare_right(&s), "nothing to compare is right");
}

static void test_indices(void)
{
	float values[2 * 5] = { 1, 7, 7, 0, 2, /**/ 5, 1, 4, 5, 5 };
	struct kw_view v = { .dtype = KW_F32, .base = values, .shape = { 2, { 2, 5 } }, .stride = { 5, 1 } };
	struct kw_shape out = { 1, { 2 } }, top = { 2, { 2, 2 } };
	double first[2] = { 1, 0 }, pairs[4] = { 1, 2, 0, 3 };
	int64_t good[2] = { 2, 4 }, bad[2] = { 3, 4 }, outside[2] = { 1, 5 };
	int32_t swapped[4] = { 2, 1, 3, 4 }, twice[4] = { 1, 1, 0, 3 };
	struct kw_compare_stats s;

	kw_compare_init(&s);
	kw_compare_indices(&s, &v, -1, KW_I64, good, first, 2, &out, 0, SEED, 0);
	kw_compare_finish(&s);
	ok(kw_compare_right(&s), "ties: any of the largest will do");
	kw_compare_init(&s);
	kw_compare_indices(&s, &v, 1, KW_I64, bad, first, 2, &out, 0, SEED, 0);
	is_int(s.mismatched, 1, "a smaller one will not");
	kw_compare_init(&s);
	kw_compare_indices(&s, &v, 1, KW_I64, outside, first, 2, &out, 0, SEED, 0);
	is_int(s.mismatched, 1, "nor one that is not there");
	kw_compare_init(&s);
	kw_compare_indices(&s, &v, 1, KW_I32, swapped, pairs, 4, &top, 0, SEED, 0);
	ok(kw_compare_right(&s), "top-k: ties in any order");
	kw_compare_init(&s);
	kw_compare_indices(&s, &v, 1, KW_I32, twice, pairs, 4, &top, 0, SEED, 0);
	is_int(s.mismatched, 1, "but none twice");
}

/* What a suite would take for right is counted beside our own rule, and decides nothing. */
static void test_close(void)
{
	struct kw_tolerance t = tolerance(KW_F32);
	struct kw_compare_stats s;

	reset(31);
	s = compare(&t, got);
	is_int(s.not_close, 0, "not asked: nothing is counted");
	t.close = 1e-2;
	s = compare(&t, got);
	ok(kw_compare_right(&s) && s.not_close == 0, "right is close");
	for (int i = 0; i < N; i++)
		got[i] = (float)(want[i] + 5e-3); /* within atol 1e-2 for every value */
	s = compare(&t, got);
	is_int(s.not_close, 0, "off by half of atol: close to the last element");
	ok(!kw_compare_right(&s), "and wrong all the same");
	got[17] = (float)(want[17] + 1e-2 + 1.1e-2 * fabs(want[17]) + 1e-4);
	got[N - 1] = NAN;
	s = compare(&t, got);
	is_int(s.not_close, 2, "one too far and one NaN");
	want[N - 1] = NAN;
	s = compare(&t, got);
	is_int(s.not_close, 2, "NaN is not close to NaN");
	want[N - 1] = HUGE_VAL;
	got[N - 1] = INFINITY;
	s = compare(&t, got);
	is_int(s.not_close, 1, "Inf is close to Inf");
	got[N - 1] = -INFINITY;
	s = compare(&t, got);
	is_int(s.not_close, 2, "and not to its negative");
	memset(got, 0, sizeof(got));
	for (int i = 0; i < N; i++)
		want[i] = 1e-5;
	s = compare(&t, got);
	ok(s.not_close == 0 && !kw_compare_right(&s), "zeros where the answer is small: close, and wrong");
}

int main(void)
{
	test_close();
	test_tolerance();
	test_planted();
	test_masked_load();
	test_precision();
	test_zeros();
	test_types();
	test_indices();
	return done();
}
