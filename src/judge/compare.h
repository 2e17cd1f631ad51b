/* compare.h - got against want, f64 statistics, and the tolerance that decides (design 6.8).
 *
 * tolerance(want) = max( k x A, 2 ulp_out(want) + 2 ulp_acc(want) x sqrt(R) ), where A is the largest absolute error of a
 * plain evaluation of the same expression, in f32 with f32 accumulators (in f64 for what the expression computes in f64),
 * on a sample of this trial's own elements, k = 4, R the reduction length, ulp_acc the spacing of the accumulation type (f32;
 * f64 for f64 tasks; lower where the task's precision.allow says so). On the task's own data k x A is capped at 1% of the
 * RMS of the expected values, so that zeros never pass. Integers and bool: exact (i64 beyond 2^53: as exact as the
 * reference, which is in f64). NaN and Inf exactly where the reference has them, Inf also where the answer is beyond the type. The
 * task's own rtol/atol replace it when given.
 *
 * A and the RMS of a handful of elements are chance: the sum of one row may come out near zero, and a plain kernel may
 * happen to get it right. Before such an answer is refused, both are taken from more data of the same kind, and A from plain
 * evaluations of other formulas too (kw_expr_rephrase), under the same cap (tolerance.c). Where few elements are wrong, each is
 * given k times its own plain error beside this: rounding moves some more than others (docs/judge.md, Outputs of many magnitudes). */
#ifndef KW_JUDGE_COMPARE_H
#define KW_JUDGE_COMPARE_H

#include "core/task.h"
#include "core/verdict.h"

struct kw_tolerance {
	double abs_part;              /* k x A after the cap */
	double scale;                 /* RMS of such outputs; 0: not known */
	double rel;                   /* task's rtol; < 0: none */
	double abs;                   /* task's atol; < 0: none */
	enum kw_dtype out;
	double acc_ulp_rel;           /* relative spacing of the accumulation type, e.g. 2^-23 */
	double sqrt_r;
	bool exact;
	double close;                 /* atol = rtol of another rule that is only counted (not_close); 0: none */
};
/* The derived tolerance of a trial. acc: type that a plain kernel accumulates in (f32 unless the task says more or less).
 * plain_error: A above (more is allowed where acc is narrower than f32, or f64 for an f64 output); want_rms: root mean
 * square of the expected values of the sample. Integers: exact. */
void kw_tolerance_derive(struct kw_tolerance *t, enum kw_dtype out, enum kw_dtype acc, int64_t reduction,
			 double plain_error, double want_rms);
/* The same in numbers: max(floor, constant + per_power x 2^e + per_value x |want|), 2^e the power of two at or under |want|,
 * kept between low_power and high_power. */
struct kw_bound_numbers {
	double floor, constant, per_power, per_value, low_power, high_power;
};
void kw_tolerance_numbers(const struct kw_tolerance *t, struct kw_bound_numbers *out);
#define KW_RMS_SHARE 0.01         /* of the outputs' RMS: what an absolute tolerance may be at most */
double kw_tolerance_at(const struct kw_tolerance *t, double want);
/* The RMS of expected values up to which zeros are as good. */
double kw_tolerance_tiny(const struct kw_tolerance *t);
/* `mismatched` counts every element that is not right; those with NaN or Inf in the wrong place and those that still hold
 * poison are counted in nan_mismatched and unwritten too. An output of nothing but zeros is never right while the
 * expected values are not tiny, by themselves or beside what such outputs are, whatever the tolerance (case E02). */
/* Adds a chunk: n values at flat row-major indices first..first+n of a contiguous part of the output. got is in
 * the output's dtype. poison_seed: to count unwritten ones. Not thread-safe: one stats per thread, then merge. */
void kw_compare_init(struct kw_compare_stats *s);
void kw_compare_chunk(struct kw_compare_stats *s, const struct kw_tolerance *t, const void *got, const double *want,
		      size_t n, const struct kw_shape *shape, int64_t first, uint64_t poison_seed);
/* Index outputs (argmax, top-k): an index is right when it equals the expected one or when the value that it selects in
 * `values` along `axis` equals the one that the expected index selects; along an axis that the output keeps (top-k), no
 * index twice. got: the whole output, contiguous, `out`; elements first..first+n are added. close: as in kw_tolerance. */
void kw_compare_indices(struct kw_compare_stats *s, const struct kw_view *values, int axis, enum kw_dtype out,
			const void *got, const double *want, size_t n, const struct kw_shape *shape, int64_t first,
			uint64_t poison_seed, double close);
void kw_compare_merge(struct kw_compare_stats *into, const struct kw_compare_stats *from);
void kw_compare_finish(struct kw_compare_stats *s);   /* norms and ratios */
bool kw_compare_right(const struct kw_compare_stats *s);
/* Reads what the numbers look like: NAN, UNWRITTEN, PRECISION (all errors small and relative, as rounding to a
 * narrower type makes them: many, small against the norm, not one-sided) or MISMATCH. */
enum kw_subclass kw_compare_classify(const struct kw_compare_stats *s, const struct kw_tolerance *t);

#endif
