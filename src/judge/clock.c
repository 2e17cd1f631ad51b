#include "judge/clock.h"

#include "base/alloc.h"
#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 2,000 resamples, fewer when there are so many samples that the interval is narrow anyway. */
enum { RESAMPLES = 2000, FEWEST_RESAMPLES = 200, DRAWS = 1 << 20 };
enum { TURNS_SHARE = 3 }; /* a part of the limit */
#define CLOCKS_DIFFER 0.05
#define CLOCKS_DIFFER_NS 2e4

static int ascending(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

/* A fixed start: the same samples give the same interval. */
static size_t draw(uint64_t *state, size_t n)
{
	return (size_t)(((kw_next_u64(state) >> 32) * (uint64_t)n) >> 32);
}

static size_t resample_count(size_t n)
{
	size_t fit = DRAWS / n;

	return fit > RESAMPLES ? RESAMPLES : fit < FEWEST_RESAMPLES ? FEWEST_RESAMPLES : fit;
}

static double middle(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

/* The median of a resample, of which counts[k] says how often sorted[k] was drawn. */
static double counted_median(const double *sorted, const uint32_t *counts, size_t n)
{
	size_t seen = 0, k = 0, low = (n - 1) / 2, high = n / 2;
	double first;

	while (seen + counts[k] <= low)
		seen += counts[k++];
	first = sorted[k];
	while (seen + counts[k] <= high)
		seen += counts[k++];
	return 0.5 * (first + sorted[k]);
}

/* The 2.5% and 97.5% points; sorts. */
static void percentiles(double *values, size_t n, double *low, double *high)
{
	qsort(values, n, sizeof(*values), ascending);
	*low = values[n / 40];
	*high = values[n - 1 - n / 40];
}

static double *sorted_copy(const double *values, size_t n)
{
	double *copy = kw_alloc(n * sizeof(*copy));

	if (copy) {
		memcpy(copy, values, n * sizeof(*copy));
		qsort(copy, n, sizeof(*copy), ascending);
	}
	return copy;
}

/* Student's t at 97.5% by degrees of freedom, from 1. */
static const double student[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306 };
enum { FEW = sizeof(student) / sizeof(student[0]) + 1 };

/* A median of few samples lies beyond all of them more often than in 5 of 100 cases (three: 25), and no resample shows that. Among so few
 * the interval is that of the mean of their logarithms as well, which holds for what is spread like times: about a value, more upwards than
 * downwards. Of two or three in two groups even that is too narrow. b: what a's are divided by, or NULL. */
static void widen_of_few(const double *a, const double *b, size_t n, double at, double *low, double *high)
{
	double sum = 0, squares = 0, half;

	if (n < 2 || n > FEW || !(at > 0))
		return;
	for (size_t i = 0; i < n; i++) {
		double x = b ? (b[i] > 0 ? a[i] / b[i] : 0) : a[i];

		if (!(x > 0))
			return;
		sum += log(x / at);
	}
	for (size_t i = 0; i < n; i++) {
		double d = log((b ? a[i] / b[i] : a[i]) / at) - sum / (double)n;

		squares += d * d;
	}
	half = student[n - 2] * sqrt(squares / (double)(n - 1) / (double)n);
	*low = fmin(*low, at * exp(sum / (double)n - half));
	*high = fmax(*high, at * exp(sum / (double)n + half));
}

static double median(const double *samples, size_t n)
{
	double *sorted = sorted_copy(samples, n), m = sorted ? middle(sorted, n) : 0;

	kw_free(sorted);
	return m;
}

bool kw_clocks_agree(const double *judges_ns, const double *devices_ns, size_t n, int calls)
{
	double judges, devices;

	for (size_t i = 0; i < n; i++)
		if (devices_ns[i] <= 0)
			return false;
	if (n == 0 || calls <= 0)
		return false;
	judges = median(judges_ns, n);
	devices = median(devices_ns, n);
	return judges > 0 && fabs(devices - judges) <= fmax(CLOCKS_DIFFER * judges, CLOCKS_DIFFER_NS / calls);
}

void kw_interval_widen(double at, double share, double *low, double *high)
{
	if (!(*high > 0)) /* there is none */
		return;
	*low = at - hypot(at - *low, share * at);
	*high = at + hypot(*high - at, share * at);
}

void kw_times_from_samples(const double *samples_ns, size_t n, struct kw_times *out)
{
	size_t rounds = n ? resample_count(n) : 0;
	double *sorted = n ? sorted_copy(samples_ns, n) : NULL;
	double *medians = n ? kw_alloc(rounds * sizeof(*medians)) : NULL;
	uint32_t *counts = n ? kw_alloc(n * sizeof(*counts)) : NULL;
	uint64_t state = 1;

	out->sample_count = n;
	out->median_ns = out->min_ns = out->ci_low_ns = out->ci_high_ns = 0;
	if (!sorted)
		goto done;
	out->median_ns = middle(sorted, n);
	out->min_ns = sorted[0];
	if (n == 1) /* which tells nothing of how far another one would lie */
		goto done;
	out->ci_low_ns = sorted[0]; /* all that is known until the interval is there */
	out->ci_high_ns = sorted[n - 1];
	if (!medians || !counts)
		goto done;
	for (size_t r = 0; r < rounds; r++) {
		memset(counts, 0, n * sizeof(*counts));
		for (size_t i = 0; i < n; i++)
			counts[draw(&state, n)]++;
		medians[r] = counted_median(sorted, counts, n);
	}
	percentiles(medians, rounds, &out->ci_low_ns, &out->ci_high_ns);
	widen_of_few(samples_ns, NULL, n, out->median_ns, &out->ci_low_ns, &out->ci_high_ns);
done:
	kw_free(sorted);
	kw_free(medians);
	kw_free(counts);
}

struct ranked {
	double value;
	size_t turn;
};

static int by_value(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;

	if (a->value != b->value)
		return a->value > b->value ? 1 : -1;
	return (a->turn > b->turn) - (a->turn < b->turn);
}

/* Sorts one side and notes where each turn's sample went. */
static void rank_side(const double *v, size_t n, struct ranked *scratch, double *sorted, size_t *rank)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = (struct ranked){ v[i], i };
	qsort(scratch, n, sizeof(*scratch), by_value);
	for (size_t k = 0; k < n; k++) {
		sorted[k] = scratch[k].value;
		rank[scratch[k].turn] = k;
	}
}

static double safe_ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

struct span {
	size_t begin, end;
};

static struct span turn_of(const size_t *from, size_t n, size_t m, size_t i)
{
	size_t begin = i ? from[i] : 0, end = i + 1 < n ? from[i + 1] : m;

	return (struct span){ begin, end > begin ? end : begin + 1 };
}

void kw_ratio_interval(const double *a, size_t n, const double *b, size_t m, const size_t *from, double *ratio, double *low, double *high)
{
	bool any = n > 0 && m > 0;
	size_t rounds = any ? resample_count(n + m) : 0;
	struct ranked *scratch = any ? kw_alloc((n > m ? n : m) * sizeof(*scratch)) : NULL;
	double *sorted = any ? kw_alloc((n + m) * sizeof(*sorted)) : NULL;
	size_t *rank = any ? kw_alloc((n + m) * sizeof(*rank)) : NULL;
	uint32_t *counts = any ? kw_alloc((n + m) * sizeof(*counts)) : NULL;
	double *ratios = any ? kw_alloc(rounds * sizeof(*ratios)) : NULL;
	double *turns = any ? kw_alloc(n * sizeof(*turns)) : NULL;
	uint64_t state = 2;

	*ratio = *low = *high = 0;
	if (!scratch || !sorted || !rank || !counts || !ratios || !turns)
		goto done;
	rank_side(a, n, scratch, sorted, rank);
	rank_side(b, m, scratch, sorted + n, rank + n);
	*ratio = safe_ratio(middle(sorted, n), middle(sorted + n, m));
	if (n == 1)
		goto done;
	for (size_t r = 0; r < rounds; r++) {
		size_t drawn = 0;

		memset(counts, 0, (n + m) * sizeof(*counts));
		for (size_t i = 0; i < n; i++) {
			size_t turn = draw(&state, n);
			struct span t = turn_of(from, n, m, turn);

			counts[rank[turn]]++;
			for (size_t k = t.begin; k < t.end; k++)
				counts[n + rank[n + k]]++;
			drawn += t.end - t.begin;
		}
		ratios[r] = safe_ratio(counted_median(sorted, counts, n),
				       counted_median(sorted + n, counts + n, drawn));
	}
	percentiles(ratios, rounds, low, high);
	for (size_t i = 0; i < n; i++) {
		struct span t = turn_of(from, n, m, i);

		turns[i] = median(b + t.begin, t.end - t.begin);
	}
	widen_of_few(a, turns, n, *ratio, low, high);
done:
	kw_free(scratch);
	kw_free(sorted);
	kw_free(rank);
	kw_free(counts);
	kw_free(ratios);
	kw_free(turns);
}

bool kw_times_differ(const struct kw_times *a, const struct kw_times *b)
{
	return a->ci_high_ns > 0 && b->ci_high_ns > 0 && (a->ci_high_ns < b->ci_low_ns || b->ci_high_ns < a->ci_low_ns);
}

int64_t kw_turns_begin(int64_t begin_ns, int64_t now_ns, int64_t limit_ns)
{
	int64_t latest = now_ns - (limit_ns - limit_ns / TURNS_SHARE);

	return begin_ns < latest ? latest : begin_ns;
}
