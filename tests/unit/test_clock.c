/* Intervals of medians and of ratios of medians. */
#include "judge/clock.h"

#include "tap.h"

#include <math.h>

static uint64_t state = 7;

static double uniform(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) * 0x1p-53;
}

int main(void)
{
	double a[200], b[200], ratio, low, high;
	double one[1] = { 5 }, even[4] = { 4, 1, 3, 2 }, odd[3] = { 9, 1, 5 }, same[6] = { 2, 2, 2, 2, 2, 2 };
	struct kw_times t = { 0 }, u = { 0 };
	int covered = 0, covered_ratio = 0;

	kw_times_from_samples(odd, 3, &t);
	ok(t.median_ns == 5 && t.min_ns == 1 && t.sample_count == 3, "the median of three");
	kw_times_from_samples(even, 4, &t);
	ok(t.median_ns == 2.5 && t.ci_low_ns >= 1 && t.ci_high_ns <= 4, "of four");
	kw_times_from_samples(one, 1, &t);
	ok(t.median_ns == 5 && t.ci_low_ns == 5 && t.ci_high_ns == 5, "of one");
	kw_times_from_samples(one, 0, &t);
	ok(t.median_ns == 0 && t.sample_count == 0, "of none");
	kw_times_from_samples(same, 6, &t);
	ok(t.ci_low_ns == 2 && t.ci_high_ns == 2, "no spread, no interval");

	{
		double late[4] = { 1000, 1010, 3000, 1000 }, by[4] = { 990, 1000, 1005, 1000 }, less[4] = { 500, 510, 505, 500 };
		double missing[4] = { 990, 0, 1005, 1000 };

		ok(kw_clocks_agree(late, by, 4, 1000), "a host that was late once");
		ok(!kw_clocks_agree(late, less, 4, 1000), "a device's clock that says half");
		ok(!kw_clocks_agree(less, late, 4, 1000), "or twice as much");
		ok(kw_clocks_agree(late, less, 4, 20), "half of a microsecond, in 20 calls, is the host's");
		ok(!kw_clocks_agree(late, missing, 4, 20) && !kw_clocks_agree(late, by, 0, 20), "none there is not believed");
	}

	low = 97, high = 104;
	kw_interval_widen(100, 0.04, &low, &high);
	ok(low == 95 && fabs(high - 100 - sqrt(32)) < 1e-12, "an uncertainty more, in squares");
	kw_interval_widen(100, 0, &low, &high);
	ok(low == 95, "or none");

	/* The interval holds the true median (10) in about 95 of 100 experiments. */
	for (int experiment = 0; experiment < 200; experiment++) {
		for (int i = 0; i < 41; i++) {
			double turn = uniform(); /* what both sides of a turn share */

			a[i] = 9 + 2 * uniform() + turn - 0.5;
			b[i] = 18 + 4 * uniform() + 2 * turn - 1;
		}
		kw_times_from_samples(a, 41, &t);
		kw_times_from_samples(b, 41, &u);
		covered += t.ci_low_ns <= 10 && 10 <= t.ci_high_ns;
		kw_ratio_interval(a, b, 41, &ratio, &low, &high);
		covered_ratio += low <= 0.5 && 0.5 <= high;
	}
	ok(covered >= 176 && covered <= 200, "the interval covers: %d of 200", covered);
	ok(covered_ratio >= 176 && covered_ratio <= 200, "so does the ratio's: %d of 200", covered_ratio);
	ok(ratio > 0.45 && ratio < 0.55 && low < ratio && ratio < high, "the ratio %.3f in [%.3f, %.3f]", ratio, low, high);
	ok(kw_times_differ(&t, &u), "10 and 20 differ");
	ok(!kw_times_differ(&t, &t), "a time does not differ from itself");

	low = t.ci_low_ns;
	kw_times_from_samples(a, 41, &t);
	ok(low == t.ci_low_ns, "the same samples, the same interval");
	for (int i = 0; i < 200; i++)
		a[i] = b[i] = 1 + uniform();
	kw_ratio_interval(a, b, 200, &ratio, &low, &high);
	ok(ratio == 1 && low == 1 && high == 1, "paired: what is common to both sides drops out");
	kw_ratio_interval(a, b, 0, &ratio, &low, &high);
	ok(ratio == 0, "no samples, no ratio");
	return done();
}
