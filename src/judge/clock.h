/* clock.h - from samples to a time with an interval (design 7). */
#ifndef KW_JUDGE_CLOCK_H
#define KW_JUDGE_CLOCK_H

#include "core/verdict.h"

/* Median and a 95% bootstrap interval of it (Efron 1979; up to 2,000 resamples by a fixed generator: same samples, same
 * answer), of fewer than ten samples no less than Student's of their logarithms. Of one sample there is none: 0, 0. Fills the figures and
 * sample_count; samples_ns, method, cold and ci_reached stay the caller's. Takes under a millisecond for 100 samples. Out of memory: the
 * interval is the whole range. */
void kw_times_from_samples(const double *samples_ns, size_t n, struct kw_times *out);
/* Whether the device's own clock may be believed. A host is late at times to see the end of a batch, by more than a call takes;
 * the device's clock is not. It is, where the medians by both, of n samples each, are within 5%, or within 20 us in the
 * `calls` calls that a sample is over. False too where a sample by the device's clock is missing (0). */
bool kw_clocks_agree(const double *judges_ns, const double *devices_ns, size_t n, int calls);
/* An interval around `at` with a further uncertainty, a share of `at`, that its samples do not show: added in squares. None stays none. */
void kw_interval_widen(double at, double share, double *low, double *high);
/* Ratio of medians a/b with its interval, made likewise, by turns (ABBA) that are drawn whole, so that what slows both drops out. n samples
 * of a, one a turn; m of b: from[i] < m, ascending, is where those of a's i-th turn begin, which end with the next one's. */
void kw_ratio_interval(const double *a, size_t n, const double *b, size_t m, const size_t *from, double *ratio, double *low, double *high);
bool kw_times_differ(const struct kw_times *a, const struct kw_times *b);  /* both have intervals, which do not overlap */
/* From when the limit of time of a case's turns counts, where it was begun at begin_ns and they can start at now_ns: a third of it is left for
 * them, however long baselines took to be ready. PyTorch alone takes longer to import than the whole, and three turns were all there was. */
int64_t kw_turns_begin(int64_t begin_ns, int64_t now_ns, int64_t limit_ns);

#endif
