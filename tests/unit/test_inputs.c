/* Input generation: known answers, distributions, the same bits however it is cut, layouts, fills, poison. */
#include "judge/inputs.h"
#include "judge/philox.h"

#include "base/arena.h"

#include "tap.h"

#include <math.h>

static struct kw_error err;

static struct kw_view view_of(enum kw_dtype d, void *base, int rank, const int64_t *dims)
{
	struct kw_view v = { .dtype = d, .base = base };

	v.shape.rank = rank;
	for (int i = 0; i < rank; i++)
		v.shape.dim[i] = dims[i];
	kw_shape_contiguous(&v.shape, v.stride);
	return v;
}

static struct kw_view flat(enum kw_dtype d, void *base, int64_t n)
{
	return view_of(d, base, 1, &n);
}

static void test_philox(void)
{
	/* kat_vectors of the Random123 library, philox4x32 with 10 rounds. */
	static const uint32_t known[3][10] = {
		{ 0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
		{ 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
		  0x6d5451fd },
		{ 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
		  0x24126ea1 },
	};
	struct kw_philox_id id = { 0x0123456789abcdefu, 7, KW_STREAM_VALUES };
	uint32_t out[4], words[KW_BLOCK], again[KW_BLOCK];
	float z[KW_BLOCK], y[KW_BLOCK];
	int wrong = 0, differ = 0;

	for (int i = 0; i < 3; i++) {
		kw_philox(known[i], known[i] + 4, out);
		ok(memcmp(out, known[i] + 6, sizeof(out)) == 0, "known answer %d", i);
	}
	for (uint64_t block = 0; block < 3; block++) {
		uint64_t at = block == 2 ? 0x3ffffffffffu : block;

		kw_philox_block(&id, at, words);
		for (int e = 0; e < KW_BLOCK; e++) {
			uint64_t c = at * (KW_BLOCK / 4) + (uint64_t)(e % (KW_BLOCK / 4));
			uint32_t counter[4] = { (uint32_t)c, (uint32_t)(c >> 32), 7, KW_STREAM_VALUES };
			uint32_t key[2] = { 0x89abcdefu, 0x01234567u };

			kw_philox(counter, key, out);
			wrong += out[e / (KW_BLOCK / 4)] != words[e];
		}
	}
	is_int(wrong, 0, "blocks are the counters that the header says");
	for (uint64_t block = 0; block < 300; block++) {
		kw_philox_portable(false);
		kw_philox_block(&id, block, words);
		kw_normal_block(&id, block, z);
		kw_philox_portable(true);
		kw_philox_block(&id, block, again);
		kw_normal_block(&id, block, y);
		kw_philox_portable(false);
		differ += memcmp(words, again, sizeof(words)) != 0 || memcmp(z, y, sizeof(z)) != 0;
	}
	is_int(differ, 0, "the same bits with wide vectors and without");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double normal_cdf(double x)
{
	return 0.5 * erfc(-x * M_SQRT1_2);
}

static double uniform_cdf(double x)
{
	return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* Kolmogorov and Smirnov: sqrt(n) x the largest distance of the distribution functions. Over 1.95: one in a thousand. */
static double ks(const double *sample, size_t n, double (*cdf)(double))
{
	double *sorted = kw_alloc(n * sizeof(double)), worst = 0;

	memcpy(sorted, sample, n * sizeof(double));
	qsort(sorted, n, sizeof(double), by_value);
	for (size_t i = 0; i < n; i++) {
		double f = cdf(sorted[i]);

		worst = fmax(worst, fmax(f - (double)i / (double)n, (double)(i + 1) / (double)n - f));
	}
	kw_free(sorted);
	return worst * sqrt((double)n);
}

enum { N = 400000 };

static double *as_f64(const struct kw_view *v, size_t n)
{
	double *out = kw_alloc(n * sizeof(double));

	kw_dtype_to_f64((enum kw_dtype)v->dtype, v->base, out, n);
	return out;
}

static void test_distributions(void)
{
	static const enum kw_dtype types[] = { KW_F32, KW_F64, KW_F16, KW_BF16 };
	static double buffer[N];
	int64_t seen[10] = { 0 };
	double chi = 0;

	for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
		struct kw_tensor_decl d = { .name = "x", .dtype = types[k], .dist = KW_DIST_NORMAL };
		struct kw_view v = flat(types[k], buffer, N);
		const char *name = kw_dtype_name(types[k]);
		double *x, m1 = 0, m2 = 0, m3 = 0, m4 = 0, lag = 0;

		is_int(kw_fill_input(&d, &v, KW_FILL_DECLARED, 42, 1, NULL, 2, &err), KW_OK, "%s normals", name);
		x = as_f64(&v, N);
		for (size_t i = 0; i < N; i++) {
			m1 += x[i] / N;
			m2 += x[i] * x[i] / N;
			m3 += x[i] * x[i] * x[i] / N;
			m4 += x[i] * x[i] * x[i] * x[i] / N;
			lag += i >= 64 ? x[i] * x[i - 64] / N : 0;
		}
		/* Four standard errors of each moment. */
		ok(fabs(m1) < 4 / sqrt(N), "%s: mean %.5f", name, m1);
		ok(fabs(m2 - 1) < 4 * sqrt(2.0 / N), "%s: variance %.5f", name, m2);
		ok(fabs(m3) < 4 * sqrt(15.0 / N), "%s: skewness %.5f", name, m3);
		ok(fabs(m4 - 3) < 4 * sqrt(96.0 / N), "%s: fourth moment %.5f", name, m4);
		ok(fabs(lag) < 4 / sqrt(N), "%s: the two of a pair are independent (%.5f)", name, lag);
		if (types[k] != KW_BF16 && types[k] != KW_F16) /* whose steps the test sees */
			ok(ks(x, N, normal_cdf) < 1.95, "%s: Kolmogorov-Smirnov", name);
		kw_free(x);
		d.dist = KW_DIST_UNIFORM;
		kw_fill_input(&d, &v, KW_FILL_DECLARED, 43, 1, NULL, 2, &err);
		x = as_f64(&v, N);
		if (types[k] != KW_BF16 && types[k] != KW_F16)
			ok(ks(x, N, uniform_cdf) < 1.95, "%s uniforms: Kolmogorov-Smirnov", name);
		kw_free(x);
	}
	{
		struct kw_tensor_decl d = { .name = "i", .dtype = KW_I32, .dist = KW_DIST_INTEGERS, .has_range = true,
					    .range_lo = -3, .range_hi = 6 };
		struct kw_view v = flat(KW_I32, buffer, N);
		const int32_t *x = (const int32_t *)(void *)buffer;
		int outside = 0;

		kw_fill_input(&d, &v, KW_FILL_DECLARED, 44, 1, NULL, 1, &err);
		for (size_t i = 0; i < N; i++) {
			if (x[i] < -3 || x[i] > 6)
				outside++;
			else
				seen[x[i] + 3]++;
		}
		for (int i = 0; i < 10; i++)
			chi += ((double)seen[i] - N / 10.0) * ((double)seen[i] - N / 10.0) / (N / 10.0);
		is_int(outside, 0, "integers: the range, both ends in it");
		ok(chi < 27.9, "integers: chi square %.1f (9 degrees, one in a thousand is over 27.9)", chi);
	}
	{
		struct kw_tensor_decl d = { .name = "b", .dtype = KW_BOOL, .dist = KW_DIST_BERNOULLI, .has_range = true,
					    .range_lo = 0.25, .range_hi = 0.25 };
		struct kw_view v = flat(KW_BOOL, buffer, N);
		const uint8_t *x = (const uint8_t *)(void *)buffer;
		size_t ones = 0, odd = 0;

		kw_fill_input(&d, &v, KW_FILL_DECLARED, 45, 1, NULL, 1, &err);
		for (size_t i = 0; i < N; i++) {
			ones += x[i] == 1;
			odd += x[i] > 1;
		}
		is_int(odd, 0, "bernoulli: 0 and 1");
		ok(fabs((double)ones / N - 0.25) < 4 * sqrt(0.1875 / N), "bernoulli: %.4f ones", (double)ones / N);
	}
}

static void test_rows(void)
{
	static float p[37 * 1000];
	static int32_t q[5 * 1000];
	int64_t dims[2] = { 37, 1000 }, perm_dims[2] = { 5, 1000 };
	struct kw_tensor_decl d = { .name = "p", .dtype = KW_F32, .dist = KW_DIST_PROBABILITIES };
	struct kw_tensor_decl s = { .name = "q", .dtype = KW_I32, .dist = KW_DIST_PERMUTATION };
	struct kw_view v = view_of(KW_F32, p, 2, dims), w = view_of(KW_I32, q, 2, perm_dims);
	bool sums = true, positive = true, permutation = true, fixed = false;

	kw_fill_input(&d, &v, KW_FILL_DECLARED, 1, 2, NULL, 3, &err);
	for (int r = 0; r < 37; r++) {
		double sum = 0;

		for (int c = 0; c < 1000; c++) {
			sum += (double)p[r * 1000 + c];
			positive = positive && p[r * 1000 + c] > 0;
		}
		sums = sums && fabs(sum - 1) < 1e-5;
	}
	ok(sums && positive, "probabilities are positive and sum to 1");
	is_int(kw_fill_input(&s, &w, KW_FILL_DECLARED, 1, 3, NULL, 2, &err), KW_OK, "permutations");
	for (int r = 0; r < 5; r++) {
		bool seen[1000] = { false };

		for (int c = 0; c < 1000; c++) {
			int32_t at = q[r * 1000 + c];

			permutation = permutation && at >= 0 && at < 1000 && !seen[at];
			if (at >= 0 && at < 1000)
				seen[at] = true;
		}
		fixed = fixed || memcmp(q, q + r * 1000, 4000) == (r ? 0 : 1);
	}
	ok(permutation, "hold each number once");
	ok(!fixed, "and differ from row to row");
}

/* Any number of threads, and any layout, gives the same element at the same logical index. */
static void test_cutting(void)
{
	enum { COUNT = 300007 };
	static float one[COUNT], more[COUNT];
	static const int threads[] = { 2, 3, 7, 1000 };
	struct kw_tensor_decl d = { .name = "x", .dtype = KW_F32, .dist = KW_DIST_NORMAL };
	struct kw_view v = flat(KW_F32, one, COUNT), w = flat(KW_F32, more, COUNT);

	kw_fill_input(&d, &v, KW_FILL_DECLARED, 9, 4, NULL, 1, &err);
	for (size_t k = 0; k < sizeof(threads) / sizeof(threads[0]); k++) {
		memset(more, 0, sizeof(more));
		kw_fill_input(&d, &w, KW_FILL_DECLARED, 9, 4, NULL, threads[k], &err);
		ok(memcmp(one, more, sizeof(one)) == 0, "%d threads, the same bits", threads[k]);
	}
	kw_fill_input(&d, &w, KW_FILL_DECLARED, 9, 5, NULL, 1, &err);
	ok(memcmp(one, more, sizeof(one)) != 0, "another tensor, others");
	kw_fill_input(&d, &w, KW_FILL_DECLARED, 10, 4, NULL, 1, &err);
	ok(memcmp(one, more, sizeof(one)) != 0, "another seed, others");
}

static int64_t offset_of(const struct kw_view *v, const int64_t at[3])
{
	return at[0] * v->stride[0] + at[1] * v->stride[1] + at[2] * v->stride[2];
}

static void test_layouts(void)
{
	static const int64_t dims[3] = { 5, 7, 301 };
	static const struct {
		const char *name;
		int64_t stride[3];
	} layouts[] = { { "sliced", { 7 * 400, 400, 1 } }, { "step", { 7 * 602, 602, 2 } },
			{ "transposed", { 7 * 301, 1, 7 } }, { "swapped outer", { 301, 5 * 301, 1 } } };
	static float base[5 * 7 * 301], buffer[40000];
	struct kw_tensor_decl d = { .name = "x", .dtype = KW_F32, .dist = KW_DIST_NORMAL, .rank = 3 };
	struct kw_view v = view_of(KW_F32, base, 3, dims), w;
	int64_t at[3];

	kw_fill_input(&d, &v, KW_FILL_OUTLIER, 9, 4, NULL, 1, &err);
	for (size_t k = 0; k < sizeof(layouts) / sizeof(layouts[0]); k++) {
		int differ = 0, kept = 0;

		kw_poison(buffer, sizeof(buffer), KW_F32, 3);
		w = view_of(KW_F32, buffer, 3, dims);
		memcpy(w.stride, layouts[k].stride, sizeof(layouts[k].stride));
		kw_fill_input(&d, &w, KW_FILL_OUTLIER, 9, 4, NULL, 3, &err);
		for (at[0] = 0; at[0] < 5; at[0]++)
			for (at[1] = 0; at[1] < 7; at[1]++)
				for (at[2] = 0; at[2] < 301; at[2]++)
					differ += base[offset_of(&v, at)] != buffer[offset_of(&w, at)];
		for (int64_t i = 0; i < 40000; i++)
			kept += kw_is_poison(buffer, i, KW_F32, 3);
		is_int(differ, 0, "%s: the same values", layouts[k].name);
		is_int(kept, 40000 - 5 * 7 * 301, "%s: poison between them", layouts[k].name);
	}
	w = view_of(KW_F32, buffer, 3, dims);
	w.stride[0] = 0;
	kw_poison(buffer, sizeof(buffer), KW_F32, 3);
	kw_fill_input(&d, &w, KW_FILL_OUTLIER, 9, 4, NULL, 3, &err);
	ok(memcmp(buffer, base, sizeof(float) * 7 * 301) == 0 && kw_is_poison(buffer, 7 * 301, KW_F32, 3),
	   "expanded: each element once");
	w = view_of(KW_F32, (char *)buffer + 4, 3, dims);
	kw_fill_input(&d, &w, KW_FILL_OUTLIER, 9, 4, NULL, 2, &err);
	ok(memcmp((char *)buffer + 4, base, sizeof(base)) == 0, "unaligned");
}

static void test_fills(void)
{
	static const enum kw_dtype types[] = { KW_F64, KW_F32, KW_F16, KW_BF16, KW_F8E4M3, KW_F8E5M2 };
	enum { ROWS = 40, COLS = 500 };
	static double buffer[ROWS * COLS];
	int64_t dims[2] = { ROWS, COLS };

	for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++) {
		struct kw_tensor_decl d = { .name = "x", .dtype = types[k], .dist = KW_DIST_NORMAL, .rank = 2 };
		struct kw_view v = view_of(types[k], buffer, 2, dims);
		const char *name = kw_dtype_name(types[k]);

		for (int f = 0; f < KW_FILL_COUNT; f++) {
			double *x, largest = 0;
			int special = 0, above = 0, inf_rows = 0, odd = 0, same = 0;

			if (!kw_fill_fits((enum kw_fill)f, &d)) {
				is_int(f == KW_FILL_NEG_INF_ROWS && types[k] == KW_F8E4M3, true, "%s has no infinity", name);
				continue;
			}
			is_int(kw_fill_input(&d, &v, (enum kw_fill)f, 5, 1, NULL, 2, &err), KW_OK, "%s %s", name,
			       kw_fill_name((enum kw_fill)f));
			x = as_f64(&v, ROWS * COLS);
			for (int r = 0; r < ROWS; r++) {
				int infs = 0;

				for (int c = 0; c < COLS; c++) {
					double e = x[r * COLS + c];

					infs += isinf(e) && e < 0;
					special += !isfinite(e);
					above += e >= 0;
					odd += e != floor(e);
					same += e == x[0];
					largest = isfinite(e) ? fmax(largest, fabs(e)) : largest;
				}
				inf_rows += infs == COLS;
			}
			if (f == KW_FILL_NEG_INF_ROWS)
				ok(inf_rows == 1 && special > COLS + ROWS * COLS / 16, "a whole row and an eighth are -Inf");
			else
				is_int(special, 0, "all finite");
			if (f == KW_FILL_NEGATIVE)
				is_int(above, 0, "all negative");
			if (f == KW_FILL_WHOLE)
				ok(odd == 0 && largest <= 8, "small whole numbers");
			if (f == KW_FILL_CONSTANT || f == KW_FILL_ZEROS)
				ok(same == ROWS * COLS && (largest == 0) == (f == KW_FILL_ZEROS), "one value");
			if (f == KW_FILL_LARGE && k < 4)
				ok(largest > 256, "large: %g, whose square is beyond f16 (case B15)", largest);
			if (f == KW_FILL_TINY && k < 4)
				ok(largest < 0.01, "tiny: %g", largest);
			if (f == KW_FILL_OUTLIER && k < 4)
				ok(largest > 1000, "outliers: %g", largest);
			kw_free(x);
		}
	}
	{
		struct kw_tensor_decl index = { .name = "i", .dtype = KW_I64, .dist = KW_DIST_INTEGERS };
		struct kw_tensor_decl u = { .name = "u", .dtype = KW_F32, .dist = KW_DIST_UNIFORM, .has_range = true,
					    .range_lo = 0.1, .range_hi = 0.9 };
		struct kw_tensor_decl p = { .name = "p", .dtype = KW_F32, .dist = KW_DIST_POSITIVE };

		ok(!kw_fill_fits(KW_FILL_LARGE, &index) && kw_fill_fits(KW_FILL_DECLARED, &index), "indices stay as declared");
		ok(!kw_fill_fits(KW_FILL_LARGE, &u) && kw_fill_fits(KW_FILL_CONSTANT, &u), "a range is kept to");
		ok(!kw_fill_fits(KW_FILL_NEGATIVE, &p) && !kw_fill_fits(KW_FILL_ZEROS, &p), "what is positive stays so");
	}
}

static void test_ranges(void)
{
	struct kw_intenv_var vars[] = { { "n", 12 } };
	struct kw_intenv env = { .vars = vars, .count = 1 }, empty_env;
	struct kw_tensor_decl d = { .name = "i", .dtype = KW_I64, .dist = KW_DIST_INTEGERS, .has_range = true };
	int64_t x[5000], least = INT64_MAX, most = INT64_MIN;
	struct kw_view v = flat(KW_I64, x, 5000), none = flat(KW_I64, x, 0);
	struct kw_arena a;

	kw_arena_init(&a, 1 << 16);
	is_int(kw_intexpr_parse(KW_STR("n - 1"), "t", 1, 1, &a, &d.range_hi_int, &err), KW_OK, "a range of dims");
	kw_fill_input(&d, &v, KW_FILL_DECLARED, 1, 1, &env, 1, &err);
	for (int i = 0; i < 5000; i++) {
		least = x[i] < least ? x[i] : least;
		most = x[i] > most ? x[i] : most;
	}
	ok(least == 0 && most == 11, "[0, n - 1] is [%lld, %lld]", (long long)least, (long long)most);
	vars[0].value = 0;
	empty_env = env;
	is_int(kw_fill_input(&d, &v, KW_FILL_DECLARED, 1, 1, &empty_env, 1, &err), KW_ERR_INPUT, "an empty range is refused");
	has_str(err.text, "'i'", "with the input's name");
	is_int(kw_fill_input(&d, &none, KW_FILL_DECLARED, 1, 1, &empty_env, 1, &err), KW_OK, "but nothing needs none");
	d.range_hi_int = NULL;
	d.range_lo = -0x1p62;
	d.range_hi = 0x1p62;
	kw_fill_input(&d, &v, KW_FILL_DECLARED, 1, 1, &env, 1, &err);
	most = 0;
	for (int i = 0; i < 5000; i++)
		most += (x[i] & 1) + (x[i] > (int64_t)1 << 61);
	ok(most > 2500, "ranges beyond 2^53 have their low bits too");
	kw_arena_release(&a);
}

static void test_poison(void)
{
	for (int d = KW_DTYPE_NONE + 1; d < KW_DTYPE_COUNT; d++) {
		unsigned char buffer[83];
		size_t bytes = kw_dtype_bytes((enum kw_dtype)d);
		int64_t n = (int64_t)(sizeof(buffer) / bytes), held = 0;

		kw_poison(buffer, sizeof(buffer), (enum kw_dtype)d, 77);
		for (int64_t i = 0; i < n; i++)
			held += kw_is_poison(buffer, i, (enum kw_dtype)d, 77);
		is_int(held, n, "%s: every element", kw_dtype_name((enum kw_dtype)d));
		is_int(kw_count_poison(buffer, 1, n - 1, (enum kw_dtype)d, 77), n - 1, "counted");
		if (kw_dtype_is_float((enum kw_dtype)d))
			ok(isnan(kw_dtype_load((enum kw_dtype)d, buffer)), "is a NaN");
		kw_dtype_store((enum kw_dtype)d, buffer + bytes, 1.0);
		ok(!kw_is_poison(buffer, 1, (enum kw_dtype)d, 77), "but not what was written");
		kw_dtype_store((enum kw_dtype)d, buffer, NAN);
		if (bytes > 1)
			ok(!kw_is_poison(buffer, 0, (enum kw_dtype)d, 77), "nor a NaN of somebody else");
	}
}

int main(void)
{
	test_philox();
	test_distributions();
	test_rows();
	test_cutting();
	test_layouts();
	test_fills();
	test_ranges();
	test_poison();
	return done();
}
