/* Intervals of medians and of ratios of medians. */
#include "judge/clock.h"

#include "tap.h"

#include <math.h>

static uint64_t state = 7;
static size_t each[200]; /* a sample of either side a turn */

static double uniform(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

/* Around 1 in the middle, by its kind: even, long upwards, and a call in five that waited for something. */
static double drawn(int kind)
{
	double about = kind == 1 ? exp(0.3 * normal()) : 1 + 0.1 * normal();

	if (kind == 2)
		about = 1 + (uniform() < 0.5 ? -0.02 : 0.02) * fabs(normal()) + (uniform() < 0.2 ? -log(1 - uniform()) : 0);
	return about;
}

/* Of few samples too it is 95 of 100 experiments. By the bootstrap alone three would have 75. */
static void test_few(void)
{
	static const char *const kinds[] = { "evenly spread", "spread upwards", "with late ones" };
	enum { EXPERIMENTS = 200, LEAST = 182 };
	double a[9], b[9], ratio, low, high, middle[3] = { 1, 1, 1 };
	int worst = EXPERIMENTS, worst_ratio = EXPERIMENTS, counts[] = { 2, 3, 5, 9 };
	struct kw_times t;

	{
		static double many[20001];

		for (int i = 0; i < 20001; i++)
			many[i] = drawn(2);
		kw_times_from_samples(many, 20001, &t);
		middle[2] = t.median_ns;
	}
	for (int kind = 0; kind < 3; kind++)
		for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
			int n = counts[k], covered = 0, covered_ratio = 0;

			for (int experiment = 0; experiment < EXPERIMENTS; experiment++) {
				for (int i = 0; i < n; i++) {
					a[i] = 100 * drawn(kind);
					b[i] = 50 * drawn(kind);
				}
				kw_times_from_samples(a, (size_t)n, &t);
				covered += t.ci_low_ns <= 100 * middle[kind] && 100 * middle[kind] <= t.ci_high_ns;
				kw_ratio_interval(a, (size_t)n, b, (size_t)n, each, &ratio, &low, &high);
				covered_ratio += low <= 2 && 2 <= high;
			}
			if (covered < LEAST || covered_ratio < LEAST)
				diag("%s, of %d: %d and %d of %d", kinds[kind], n, covered, covered_ratio, EXPERIMENTS);
			worst = covered < worst ? covered : worst;
			worst_ratio = covered_ratio < worst_ratio ? covered_ratio : worst_ratio;
		}
	ok(worst >= LEAST, "the interval of few samples covers: %d of %d at worst", worst, EXPERIMENTS);
	ok(worst_ratio >= LEAST, "so does the ratio's: %d of %d at worst", worst_ratio, EXPERIMENTS);
	a[0] = 3;
	b[0] = 2;
	kw_ratio_interval(a, 1, b, 1, each, &ratio, &low, &high);
	ok(ratio == 1.5 && low == 0 && high == 0, "one turn has a ratio and no interval");
}

/* A slow baseline is not in every turn: its turn has those of the candidate until it comes again. The machine gets slower meanwhile. */
static void test_seldom(void)
{
	enum { EXPERIMENTS = 200, SELDOM = 12, MINE = 4 * SELDOM };
	double a[SELDOM], b[MINE], ratio, low, high, width = 0, paired = 0;
	size_t from[SELDOM], twice[2] = { 0, 0 };
	int covered = 0;

	for (int experiment = 0; experiment < EXPERIMENTS; experiment++) {
		for (int i = 0; i < SELDOM; i++) {
			double slower = 1 + 0.5 * i / SELDOM;

			from[i] = 4 * (size_t)i;
			a[i] = 100 * slower * (1 + 0.01 * normal());
			for (int k = 0; k < 4; k++)
				b[4 * i + k] = 10 * slower * (1 + 0.1 * normal());
		}
		kw_ratio_interval(a, SELDOM, b, MINE, from, &ratio, &low, &high);
		covered += low <= 10 && 10 <= high;
		width += high - low;
		for (int i = 0; i < SELDOM; i++)
			b[i] = b[4 * i];
		kw_ratio_interval(a, SELDOM, b, SELDOM, each, &ratio, &low, &high);
		paired += high - low;
	}
	ok(covered >= 176, "the ratio to who is measured seldom: %d of %d", covered, EXPERIMENTS);
	ok(width < 0.8 * paired, "all samples count: an interval of %.2f, by one of each turn %.2f", width / EXPERIMENTS, paired / EXPERIMENTS);
	a[0] = a[1] = 6;
	b[0] = b[1] = 2;
	kw_ratio_interval(a, 2, b, 2, twice, &ratio, &low, &high);
	ok(ratio == 3 && fabs(low - 3) < 1e-9 && fabs(high - 3) < 1e-9, "a turn may share the other one's sample");
}

int main(void)
{
	double a[200], b[200], ratio, low, high;
	double one[1] = { 5 }, even[4] = { 4, 1, 3, 2 }, odd[3] = { 9, 1, 5 }, same[6] = { 2, 2, 2, 2, 2, 2 };
	struct kw_times t = { 0 }, u = { 0 };
	int covered = 0, covered_ratio = 0;

	for (size_t i = 0; i < 200; i++)
		each[i] = i;
	kw_times_from_samples(odd, 3, &t);
	ok(t.median_ns == 5 && t.min_ns == 1 && t.sample_count == 3, "the median of three");
	kw_times_from_samples(even, 4, &t);
	ok(t.median_ns == 2.5 && t.ci_low_ns < 1 && t.ci_high_ns > 4, "of four, whose interval reaches beyond them");
	kw_times_from_samples(one, 1, &t);
	ok(t.median_ns == 5 && t.min_ns == 5 && t.ci_low_ns == 0 && t.ci_high_ns == 0, "of one, which has no interval");
	ok(!kw_times_differ(&t, &u) && !kw_times_differ(&u, &t), "and so differs from nothing");
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
	low = high = 0;
	kw_interval_widen(100, 0.04, &low, &high);
	ok(low == 0 && high == 0, "no interval stays none");

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
		kw_ratio_interval(a, 41, b, 41, each, &ratio, &low, &high);
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
	kw_ratio_interval(a, 200, b, 200, each, &ratio, &low, &high);
	ok(ratio == 1 && low == 1 && high == 1, "paired: what is common to both sides drops out");
	kw_ratio_interval(a, 0, b, 0, each, &ratio, &low, &high);
	ok(ratio == 0, "no samples, no ratio");
	test_few();
	test_seldom();
	is_int(kw_turns_begin(1000, 1500, 3000), 1000, "what is ready soon is limited from its beginning");
	is_int(kw_turns_begin(1000, 3000, 3000), 1000, "as long as a third is left");
	is_int(kw_turns_begin(1000, 90000, 3000), 88000, "a third is left where getting ready took longer than all of it");
	return done();
}
