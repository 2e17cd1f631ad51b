#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math") /* gcc 12 vectorises loops of unknown length only here */
#endif

#include "judge/compare.h"

#include "judge/inputs.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 512, LANES = 8 };

/* ---- tolerance ---- */

/* tolerance = max(floor, constant + per_power x 2^e + per_value x |want|), 2^e the power of two at or under |want|,
 * clamped to the normal range of the output's type: so 2 ulp is a multiple of it. */
static struct kw_bound_numbers bound_of(const struct kw_tolerance *t)
{
	struct kw_bound_numbers b = { 0, 0, 0, 0, 0, DBL_MAX };
	int digits = kw_dtype_info(t->out)->significand_bits;

	if (t->exact) {
		b.floor = t->abs_part;
		return b;
	}
	if (t->rel >= 0 || t->abs >= 0) {
		b.constant = t->abs > 0 ? t->abs : 0;
		b.per_value = t->rel > 0 ? t->rel : 0;
		return b;
	}
	b.floor = t->abs_part;
	b.per_value = 2 * t->acc_ulp_rel * t->sqrt_r;
	if (!kw_dtype_is_float(t->out)) {
		b.constant = 2;
		return b;
	}
	b.per_power = ldexp(1, 2 - digits);
	b.low_power = ldexp(kw_dtype_ulp(t->out, 0), digits - 1);
	b.high_power = ldexp(kw_dtype_ulp(t->out, kw_dtype_max(t->out)), digits - 1);
	return b;
}

static inline __attribute__((always_inline)) double bound_at(const struct kw_bound_numbers *b, double want)
{
	uint64_t u;
	double power, tolerance;

	memcpy(&u, &want, sizeof(u));
	u &= 0x7ff0000000000000u;
	memcpy(&power, &u, sizeof(u));
	power = power < b->low_power ? b->low_power : power;
	power = power > b->high_power ? b->high_power : power;
	tolerance = b->constant + b->per_power * power + b->per_value * fabs(want);
	return tolerance > b->floor ? tolerance : b->floor;
}

void kw_tolerance_numbers(const struct kw_tolerance *t, struct kw_bound_numbers *out)
{
	*out = bound_of(t);
}

double kw_tolerance_at(const struct kw_tolerance *t, double want)
{
	struct kw_bound_numbers b = bound_of(t);

	return bound_at(&b, want);
}

double kw_tolerance_tiny(const struct kw_tolerance *t)
{
	return fmax(bound_of(t).low_power, KW_RMS_SHARE * t->scale);
}

void kw_tolerance_derive(struct kw_tolerance *t, enum kw_dtype out, enum kw_dtype acc, int64_t reduction,
			 double plain_error, double want_rms)
{
	int lost = kw_dtype_info(out == KW_F64 ? KW_F64 : KW_F32)->significand_bits - kw_dtype_info(acc)->significand_bits;
	/* The plain evaluation rounds to f32 or f64: one that may round to less errs by as much more. */
	double cap = KW_RMS_SHARE * want_rms, part = 4 * plain_error * (lost > 0 ? ldexp(1, lost) : 1);

	*t = (struct kw_tolerance){ .rel = -1, .abs = -1, .out = out, .scale = isfinite(want_rms) ? want_rms : 0 };
	t->exact = !kw_dtype_is_float(out);
	t->abs_part = part < cap ? part : cap;
	if (!(t->abs_part >= 0) || (t->exact && out != KW_I64)) /* NaN or Inf in the sample */
		t->abs_part = 0;
	t->acc_ulp_rel = ldexp(1, 1 - kw_dtype_info(acc)->significand_bits);
	t->sqrt_r = sqrt((double)(reduction > 1 ? reduction : 1));
}

/* ---- statistics ---- */

void kw_compare_init(struct kw_compare_stats *s)
{
	memset(s, 0, sizeof(*s));
}

/* What one pass over a block tells: sums, and whether an element needs a closer look. */
struct scan {
	double got2, want2, diff2, cross;
	bool look;
};
struct limits {
	double ratio, abs, rel, close;
};

static inline __attribute__((always_inline)) void scan_body(const double *got, const double *want,
							     const struct kw_bound_numbers *b, const struct limits *l,
							     struct scan *out)
{
	double got2[LANES] = { 0 }, want2[LANES] = { 0 }, diff2[LANES] = { 0 }, cross[LANES] = { 0 };
	uint64_t look[LANES] = { 0 };

	for (int i = 0; i < BLOCK; i += LANES) {
		for (int k = 0; k < LANES; k++) {
			double g = got[i + k], w = want[i + k], d = g - w, e = fabs(d), aw = fabs(w);

			/* NaN fails the first comparison. */
			look[k] |= (uint64_t)(!(e <= l->ratio * bound_at(b, w))) | (uint64_t)(e > l->abs) |
				   (uint64_t)(e > l->rel * aw) | (uint64_t)(e > l->close + l->close * aw);
			got2[k] += g * g;
			want2[k] += w * w;
			diff2[k] += d * d;
			cross[k] += d * w;
		}
	}
	*out = (struct scan){ 0 };
	for (int k = 0; k < LANES; k++) {
		out->got2 += got2[k];
		out->want2 += want2[k];
		out->diff2 += diff2[k];
		out->cross += cross[k];
		out->look = out->look || look[k];
	}
}

static void scan_any(const double *got, const double *want, const struct kw_bound_numbers *b, const struct limits *l,
		     struct scan *out)
{
	scan_body(got, want, b, l, out);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void scan_avx2(const double *got, const double *want, const struct kw_bound_numbers *b,
						      const struct limits *l, struct scan *out)
{
	scan_body(got, want, b, l, out);
}
#endif

static void scan_block(const double *got, const double *want, const struct kw_bound_numbers *b, const struct limits *l,
		       struct scan *out)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2")) {
		scan_avx2(got, want, b, l, out);
		return;
	}
#endif
	scan_any(got, want, b, l, out);
}

static void note_worst(struct kw_compare_stats *s, double ratio, double got, double want, double tolerance,
		       const struct kw_shape *shape, int64_t flat)
{
	if (!(ratio > s->worst_ratio))
		return;
	s->worst_ratio = ratio;
	s->worst_got = got;
	s->worst_want = want;
	s->tolerance_at_worst = tolerance;
	s->worst_rank = shape->rank;
	kw_shape_unravel(shape, flat, s->worst_index);
}

/* torch.allclose's rule with atol = rtol = close: NaN is close to nothing, and Inf to itself. */
static bool is_close(double close, double got, double want)
{
	return got == want || (isfinite(got) && isfinite(want) && fabs(got - want) <= close + close * fabs(want));
}

/* One element, with everything there is to say about it. Returns whether it is wrong. largest: what the output's type holds;
 * where the answer is beyond, or may be by rounding, Inf is right. */
static bool look_at(struct kw_compare_stats *s, const struct kw_bound_numbers *b, double largest, double got, double want,
		    const struct kw_shape *shape, int64_t flat)
{
	double tolerance = bound_at(b, want), error = fabs(got - want), ratio;
	bool beyond = isinf(got) && signbit(got) == signbit(want) && fabs(want) + tolerance > largest;
	bool same_special = (isnan(got) && isnan(want)) || got == want || beyond;
	bool special = !isfinite(got) || !isfinite(want);

	if (same_special)
		return false;
	if (special) {
		s->nan_mismatched++;
		ratio = INFINITY;
	} else {
		if (error > s->max_abs)
			s->max_abs = error;
		if (want != 0 && error > s->max_rel * fabs(want))
			s->max_rel = error / fabs(want);
		ratio = tolerance > 0 ? error / tolerance : error > 0 ? INFINITY : 0;
	}
	note_worst(s, ratio, got, want, isfinite(want) ? tolerance : 0, shape, flat);
	s->mismatched += ratio > 1;
	return ratio > 1;
}

/* The sums of a block where something is not finite, over the elements where both are. */
static void finite_sums(const double *got, const double *want, size_t n, struct scan *out)
{
	*out = (struct scan){ .look = true };
	for (size_t i = 0; i < n; i++) {
		double d = got[i] - want[i];

		if (!isfinite(got[i]) || !isfinite(want[i]))
			continue;
		out->got2 += got[i] * got[i];
		out->want2 += want[i] * want[i];
		out->diff2 += d * d;
		out->cross += d * want[i];
	}
}

void kw_compare_chunk(struct kw_compare_stats *s, const struct kw_tolerance *t, const void *got, const double *want,
		      size_t n, const struct kw_shape *shape, int64_t first, uint64_t poison_seed)
{
	struct kw_bound_numbers b = bound_of(t);
	size_t bytes = kw_dtype_bytes(t->out);
	double got_block[BLOCK], want_block[BLOCK], largest = kw_dtype_max(t->out);

	s->out_tiny = kw_tolerance_tiny(t);
	for (size_t at = 0; at < n; at += BLOCK) {
		size_t m = n - at < BLOCK ? n - at : BLOCK;
		const char *bytes_at = (const char *)got + at * bytes;
		const double *w = want + at;
		struct limits l = { s->worst_ratio < 1 ? s->worst_ratio : 1, s->max_abs, s->max_rel, t->close > 0 ? t->close : HUGE_VAL };
		struct scan sums;

		kw_dtype_to_f64(t->out, bytes_at, got_block, m);
		if (m < BLOCK) { /* zeros beside zeros say nothing */
			memset(got_block + m, 0, (BLOCK - m) * sizeof(double));
			memset(want_block + m, 0, (BLOCK - m) * sizeof(double));
			memcpy(want_block, w, m * sizeof(double));
			w = want_block;
		}
		scan_block(got_block, w, &b, &l, &sums);
		if (!isfinite(sums.got2 + sums.want2 + sums.diff2 + sums.cross))
			finite_sums(got_block, w, m, &sums);
		for (size_t i = 0; sums.look && i < m; i++) {
			s->not_close += t->close > 0 && !is_close(t->close, got_block[i], w[i]);
			if (look_at(s, &b, largest, got_block[i], w[i], shape, first + (int64_t)(at + i)))
				s->unwritten += kw_is_poison(bytes_at, (int64_t)i, t->out, poison_seed);
		}
		s->sum_got2 += sums.got2;
		s->sum_want2 += sums.want2;
		s->sum_diff2 += sums.diff2;
		s->sum_diff_want += sums.cross;
	}
	s->compared += (int64_t)n;
}

void kw_compare_merge(struct kw_compare_stats *into, const struct kw_compare_stats *from)
{
	if (from->worst_ratio > into->worst_ratio) {
		into->worst_ratio = from->worst_ratio;
		into->worst_got = from->worst_got;
		into->worst_want = from->worst_want;
		into->tolerance_at_worst = from->tolerance_at_worst;
		into->worst_rank = from->worst_rank;
		memcpy(into->worst_index, from->worst_index, sizeof(into->worst_index));
	}
	into->compared += from->compared;
	into->mismatched += from->mismatched;
	into->unwritten += from->unwritten;
	into->not_close += from->not_close;
	into->nan_mismatched += from->nan_mismatched;
	into->max_abs = from->max_abs > into->max_abs ? from->max_abs : into->max_abs;
	into->max_rel = from->max_rel > into->max_rel ? from->max_rel : into->max_rel;
	into->sum_got2 += from->sum_got2;
	into->sum_want2 += from->sum_want2;
	into->sum_diff2 += from->sum_diff2;
	into->sum_diff_want += from->sum_diff_want;
	into->out_tiny = from->out_tiny > into->out_tiny ? from->out_tiny : into->out_tiny;
}

void kw_compare_finish(struct kw_compare_stats *s)
{
	double rms = s->compared ? sqrt(s->sum_want2 / (double)s->compared) : 0;

	s->norm_ratio = s->sum_want2 > 0 ? sqrt(s->sum_got2 / s->sum_want2) : s->sum_got2 > 0 ? INFINITY : 1;
	s->rms_rel = s->sum_want2 > 0 ? sqrt(s->sum_diff2 / s->sum_want2) : s->sum_diff2 > 0 ? INFINITY : 0;
	/* NaN or Inf everywhere: there is no error that 0 could stand for. */
	if (s->compared > 0 && s->nan_mismatched == s->compared)
		s->max_abs = s->max_rel = s->norm_ratio = s->rms_rel = NAN;
	/* Nothing but zeros, where the right answer rounds to something (case E02): a tolerance that lets it pass is too
	 * wide. */
	if (s->sum_got2 == 0 && s->mismatched == 0 && rms > s->out_tiny)
		s->mismatched = s->compared;
}

bool kw_compare_right(const struct kw_compare_stats *s)
{
	return s->mismatched == 0 && s->nan_mismatched == 0 && s->unwritten == 0;
}

enum kw_subclass kw_compare_classify(const struct kw_compare_stats *s, const struct kw_tolerance *t)
{
	double spread = s->compared ? sqrt(s->sum_diff2 / (double)s->compared) : 0;
	double together = sqrt(s->sum_diff2) * sqrt(s->sum_want2);
	bool one_sided = together > 0 && fabs(s->sum_diff_want) > 0.95 * together;
	/* An integer can equal the poison by chance: then most of what is wrong must be poison. */
	bool telling = kw_dtype_is_float(t->out) && kw_dtype_bytes(t->out) > 1;

	if (s->unwritten > 0 && (telling || 2 * s->unwritten >= s->mismatched))
		return KW_S_UNWRITTEN;
	if (s->nan_mismatched > 0)
		return KW_S_NAN;
	/* Rounding to a narrower type inside (2^-9 for bf16, 2^-12 for f16 and tf32, 2^-4 for f8) moves many elements a
	 * little, about as often up as down, and none by much more than the rest. */
	if (kw_dtype_is_float(t->out) && s->rms_rel < 0.02 && s->max_abs < 64 * spread && !one_sided &&
	    s->mismatched * 200 >= s->compared)
		return KW_S_PRECISION;
	return KW_S_MISMATCH;
}

/* ---- index outputs ---- */

/* The value that index i selects, at the output's coordinates. */
static bool select_value(const struct kw_view *values, int axis, const struct kw_shape *out,
			 const int64_t at[KW_MAX_RANK], double index, double *value)
{
	bool kept = out->rank == values->shape.rank;
	int64_t offset = 0;

	if (!(index >= 0 && index < (double)values->shape.dim[axis]) || index != floor(index))
		return false;
	for (int d = 0, o = 0; d < values->shape.rank; d++) {
		int64_t c = d == axis ? (int64_t)index : at[o];

		if (d != axis || kept)
			o++;
		if (c < 0 || c >= values->shape.dim[d])
			return false;
		offset += c * values->stride[d];
	}
	*value = kw_dtype_load((enum kw_dtype)values->dtype,
			       (const char *)values->base + offset * (int64_t)kw_dtype_bytes((enum kw_dtype)values->dtype));
	return true;
}

/* Whether the same index stands earlier along the axis of a top-k output. */
static bool repeated(const void *got, enum kw_dtype out, const struct kw_shape *shape, int axis,
		     const int64_t at[KW_MAX_RANK], int64_t flat, double index)
{
	int64_t step = 1;

	for (int d = axis + 1; d < shape->rank; d++)
		step *= shape->dim[d];
	for (int64_t c = 1; c <= at[axis]; c++)
		if (kw_dtype_load(out, (const char *)got + (flat - c * step) * (int64_t)kw_dtype_bytes(out)) == index)
			return true;
	return false;
}

void kw_compare_indices(struct kw_compare_stats *s, const struct kw_view *values, int axis, enum kw_dtype out,
			const void *got, const double *want, size_t n, const struct kw_shape *shape, int64_t first,
			uint64_t poison_seed, double close)
{
	axis = axis < 0 ? axis + values->shape.rank : axis;
	for (size_t i = 0; i < n; i++) {
		int64_t flat = first + (int64_t)i, at[KW_MAX_RANK];
		double g = kw_dtype_load(out, (const char *)got + flat * (int64_t)kw_dtype_bytes(out)), a = 0, b = 1;
		bool right, kept = shape->rank == values->shape.rank && axis < shape->rank && shape->dim[axis] > 1;

		kw_shape_unravel(shape, flat, at);
		right = g == want[i] || (select_value(values, axis, shape, at, g, &a) &&
					 select_value(values, axis, shape, at, want[i], &b) &&
					 (a == b || (isnan(a) && isnan(b))));
		/* A suite compares indices as numbers. */
		s->not_close += close > 0 && !is_close(close, g, want[i]);
		if (right && kept)
			right = !repeated(got, out, shape, axis, at, flat, g);
		s->sum_got2 += g * g;
		s->sum_want2 += want[i] * want[i];
		if (right)
			continue;
		note_worst(s, INFINITY, g, want[i], 0, shape, flat);
		s->mismatched++;
		s->unwritten += kw_is_poison(got, flat, out, poison_seed);
		s->max_abs = fmax(s->max_abs, fabs(g - want[i]));
		s->sum_diff2 += (g - want[i]) * (g - want[i]);
	}
	/* The sums keep zeros from passing, but an index of 0 is as good as any other. */
	s->out_tiny = INFINITY;
	s->compared += (int64_t)n;
}
