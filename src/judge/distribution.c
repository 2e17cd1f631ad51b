/* compare: distribution - random outputs, which are right when nothing tells them from the reference's (internal.h).
 *
 * Each element of a sample is ranked among DRAWS other draws of the reference for the same inputs (ties by lot): if it comes from
 * the same distribution, whatever that is and though each element has its own, all ranks are equally likely. That is tested
 * by chi-squared over all trials of a case so far. The sizes of the numbers are ranked as well: where a mask drops numbers of both
 * signs, too many zeros are too low as often as too high. Then what one element says of another: ranks of neighbours at every
 * distance within a run, of runs that lie a row, a plane or a power of two apart, and of the same places in earlier calls with
 * other whole numbers (seeds) among the inputs; each correlation is a standard normal number if there is none.
 *
 * False alarms: CHI2_LIMIT is passed by one honest trial in 10^13, Z_LIMIT by one honest correlation in 10^15. A verdict looks
 * at some thousands and ten million of them: fewer than one in a million honest kernels is refused. */
#include "judge/internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DRAWS 15
#define RANKS (DRAWS + 1)
#define CHI2_LIMIT 95      /* 15 degrees of freedom: 1.1e-13 */
#define Z_LIMIT 8          /* 1.2e-15, both sides */
#define LEAST 20           /* expected in each rank before chi-squared means anything */
#define RUN 4096           /* elements in a row */
#define RUNS 8             /* of them in a trial that is compared whole */
#define TELLING 256        /* correlations of fewer pairs are no normal numbers that far out */
#define EARLIER 8          /* trials whose first run is kept */
#define TIES 16            /* times 2^-23 of a draw, and two steps of the output's type: the same value, rounded otherwise */

enum { VALUES, SIZES, KINDS };
struct ranks {
	int64_t first, n;
	float z[KINDS][RUN];       /* rank as a number of mean 0 and deviation 1 */
};
struct kw_distribution {
	double counts[KINDS][RANKS], total;
	struct ranks earlier[EARLIER];
	uint64_t seeds[EARLIER];   /* hash of the whole numbers among the inputs of that trial */
	int trials;
};
struct looking {
	struct stage *s;
	int slot, output;
	const struct kw_shape *shape;
	enum kw_dtype dtype;
	double draws[DRAWS][RUN];
	struct ranks run, other;
	int64_t unwritten, outside;
	double first_got;          /* and whether all are equal to it, and draws are not */
	bool varies_got, varies_want;
	uint64_t rng;
};

/* A run of the output in memory order, cut into rows of its last axis. */
static enum kw_status evaluate(struct stage *s, int output, const struct kw_shape *shape, int64_t first, int64_t n, double *out,
			       struct kw_error *err)
{
	int64_t at[KW_MAX_RANK] = { 0 }, count[KW_MAX_RANK], row = shape->rank ? shape->dim[shape->rank - 1] : 1;
	enum kw_status st = KW_OK;

	for (int d = 0; d < KW_MAX_RANK; d++)
		count[d] = 1;
	for (int64_t done = 0, m; done < n && st == KW_OK; done += m) {
		m = row - (first + done) % row;
		m = m < n - done ? m : n - done;
		kw_shape_unravel(shape, first + done, at);
		if (shape->rank)
			count[shape->rank - 1] = m;
		st = kw_eval_box(s->ev64, output, at, count, out + done, err);
	}
	return st;
}

static double as_stored(enum kw_dtype d, double v)
{
	unsigned char bytes[8];

	kw_dtype_store(d, bytes, v);
	return kw_dtype_load(d, bytes);
}

/* The rank of a value among the draws of its element; ties by lot. */
static int rank_of(struct looking *k, int64_t i, double got, int kind, bool *outside)
{
	int below = 0, ties = 0;

	got = kind == SIZES ? fabs(got) : got;
	for (int r = 0; r < DRAWS; r++) {
		double value = k->draws[r][i], want = kind == SIZES ? fabs(value) : value, step = kw_dtype_is_float(k->dtype) ? kw_dtype_ulp(k->dtype, want) : 0;
		double tie = TIES * 0x1p-23 * fabs(want) + 2 * step;

		if (got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tie)
			ties++;
		else
			below += want < got || isnan(got); /* NaN where there should be none is behind all others */
		k->varies_want = k->varies_want || value != k->draws[0][0];
	}
	*outside = ties == 0 && (below == 0 || below == DRAWS);
	return below + (int)(kw_next_u64(&k->rng) % (uint64_t)(ties + 1));
}

/* d: where ranks are counted; NULL for elements that may have been counted in this trial: twice the same is no more. */
static enum kw_status rank_run(struct looking *k, struct kw_distribution *d, int64_t first, int64_t n, struct ranks *out,
			       struct kw_error *err)
{
	const char *got = kw_session_ptr(k->s->session, k->slot, k->s->inputs + k->output);
	const double mean = DRAWS / 2.0, deviation = sqrt((RANKS * (double)RANKS - 1) / 12);
	enum kw_status st = KW_OK;

	for (int r = 0; r < DRAWS && st == KW_OK; r++) {
		kw_eval_draw(k->s->ev64, r + 1);
		st = evaluate(k->s, k->output, k->shape, first, n, k->draws[r], err);
		for (int64_t i = 0; i < n && st == KW_OK; i++)
			k->draws[r][i] = as_stored(k->dtype, k->draws[r][i]);
	}
	kw_eval_draw(k->s->ev64, 0);
	out->first = first;
	out->n = st == KW_OK ? n : 0;
	for (int64_t i = 0; i < out->n; i++) {
		double v = kw_dtype_load(k->dtype, got + (size_t)(first + i) * kw_dtype_bytes(k->dtype));
		bool outside = false, ignored;

		for (int kind = 0; kind < KINDS; kind++) {
			int rank = rank_of(k, i, v, kind, kind == VALUES ? &outside : &ignored);

			if (d)
				d->counts[kind][rank]++;
			out->z[kind][i] = (float)((rank - mean) / deviation);
		}
		if (d)
			d->total++;
		k->outside += outside;
		k->unwritten += outside && kw_is_poison(got, first + i, k->dtype, k->s->poison_seed);
		k->first_got = i == 0 && first == 0 ? v : k->first_got;
		k->varies_got = k->varies_got || v != kw_dtype_load(k->dtype, got);
	}
	return st;
}

/* Pairs z[i], other[i + lag] as one standard normal number. */
static double correlation(const float *a, const float *b, int64_t n)
{
	float part[16] = { 0 };
	double sum = 0;
	int64_t i = 0;

	for (; i + 16 <= n; i += 16)
		for (int k = 0; k < 16; k++)
			part[k] += a[i + k] * b[i + k];
	for (int k = 0; k < 16; k++)
		sum += (double)part[k];
	for (; i < n; i++)
		sum += (double)a[i] * (double)b[i];
	return sum / sqrt((double)n);
}

static double chi_squared(const struct kw_distribution *d, int kind)
{
	double expected = d->total / RANKS, sum = 0;

	for (int i = 0; i < RANKS; i++)
		sum += (d->counts[kind][i] - expected) * (d->counts[kind][i] - expected) / expected;
	return sum;
}

/* The stronger of the two kinds. */
static double strongest(const struct ranks *a, int64_t from_a, const struct ranks *b, int64_t from_b, int64_t n)
{
	double values = correlation(a->z[VALUES] + from_a, b->z[VALUES] + from_b, n);
	double sizes = correlation(a->z[SIZES] + from_a, b->z[SIZES] + from_b, n);

	return fabs(values) > fabs(sizes) ? values : sizes;
}

/* Whole numbers among the inputs: seeds are there. */
static uint64_t seeds_of(const struct stage *s, int slot)
{
	uint64_t h = 1;

	for (int i = 0; i < s->inputs; i++)
		if (!kw_dtype_is_float(s->w->t->inputs[i].dtype))
			h = kw_xxh64(kw_session_ptr(s->session, slot, i), s->spec[i].bytes, h);
	return h;
}

static void refuse(struct looking *k, enum kw_fill fill, enum kw_subclass sub, const char *what, double figure)
{
	struct work *w = k->s->w;
	char evidence[700], shape[128];

	snprintf(evidence, sizeof evidence, "case: %s\ninputs: %s\noutput: %s %s %s, compared by its distribution\nfigure: %.4g (a kernel that "
		 "draws from the reference's distribution passes %d in chi-squared with %d degrees of freedom, or %d standard deviations, less "
		 "than once in a million verdicts)", k->s->c->label, kw_fill_name(fill), w->t->outputs[k->output].name,
		 kw_dtype_name(k->dtype), kw_shape_text(k->shape, shape, sizeof shape), figure, CHI2_LIMIT, DRAWS, Z_LIMIT);
	kw_fail_verdict(w, k->s->c->label, sub, what, evidence);
}

/* One distance within a run after the other. */
static void look_within(struct looking *k, enum kw_fill fill, const struct ranks *r)
{
	char text[300];

	for (int64_t lag = 1; lag <= r->n / 2 && r->n - lag >= TELLING && !k->s->w->failed; lag++) {
		double z = strongest(r, 0, r, lag, r->n - lag);

		if (fabs(z) <= Z_LIMIT)
			continue;
		snprintf(text, sizeof text, "the random numbers of %s repeat: elements %lld apart depend on each other",
			 k->s->w->t->outputs[k->output].name, (long long)lag);
		refuse(k, fill, KW_S_MISMATCH, text, z);
	}
}

/* A distance at which patterns like to repeat: some rows, planes, or a power of two. */
static int64_t far_distance(struct looking *k, int64_t n)
{
	int64_t stride[KW_MAX_RANK], power = RUN;
	int axis = k->shape->rank > 1 ? (int)(kw_next_u64(&k->rng) % (uint64_t)k->shape->rank) : 0;

	kw_shape_contiguous(k->shape, stride);
	if (k->shape->rank > 1 && axis < k->shape->rank - 1)
		return stride[axis] * (int64_t)(1 + kw_next_u64(&k->rng) % 4);
	while (power * 2 < n / 2 && kw_next_u64(&k->rng) % 4)
		power *= 2;
	return power;
}

static enum kw_status look_apart(struct looking *k, enum kw_fill fill, const struct ranks *r, int64_t total, struct kw_error *err)
{
	int64_t distance = far_distance(k, total), n = r->n;
	char text[300];
	double z;
	enum kw_status st;

	if (r->first + distance >= total)
		distance = -distance;
	if (distance == 0 || r->first + distance < 0)
		return KW_OK;
	if (n > total - r->first - distance)
		n = total - r->first - distance;
	if (n < TELLING || (st = rank_run(k, NULL, r->first + distance, n, &k->other, err)) != KW_OK)
		return n < TELLING ? KW_OK : st;
	z = strongest(r, 0, &k->other, 0, n);
	snprintf(text, sizeof text, "the random numbers of %s repeat: elements %lld apart depend on each other",
		 k->s->w->t->outputs[k->output].name, (long long)llabs(distance));
	if (fabs(z) > Z_LIMIT)
		refuse(k, fill, KW_S_MISMATCH, text, z);
	return KW_OK;
}

static void look_back(struct looking *k, struct kw_distribution *d, enum kw_fill fill, const struct ranks *r)
{
	uint64_t seeds = seeds_of(k->s, k->slot);
	int at = d->trials % EARLIER;
	char text[300];

	snprintf(text, sizeof text, "the random numbers of %s are those of an earlier call with another seed",
		 k->s->w->t->outputs[k->output].name);
	for (int i = 0; i < EARLIER && i < d->trials && !k->s->w->failed; i++) {
		double z = r->n >= TELLING && d->seeds[i] != seeds ? strongest(r, 0, &d->earlier[i], 0, r->n) : 0;

		if (fabs(z) > Z_LIMIT)
			refuse(k, fill, KW_S_STALE_OUTPUT, text, z);
	}
	d->earlier[at] = *r;
	d->seeds[at] = seeds;
	d->trials++;
}

/* What all the ranks together say. */
static void look_at_ranks(struct looking *k, const struct kw_distribution *d, enum kw_fill fill)
{
	const char *name = k->s->w->t->outputs[k->output].name;
	bool enough = d->total >= RANKS * LEAST;
	double values = enough ? chi_squared(d, VALUES) : 0, sizes = enough ? chi_squared(d, SIZES) : 0, chi = fmax(values, sizes);
	const double *counts = d->counts[sizes > values ? SIZES : VALUES];
	char text[300];

	if (k->unwritten && (kw_dtype_is_float(k->dtype) || 2 * k->unwritten >= k->outside)) {
		snprintf(text, sizeof text, "elements of %s were never written", name);
		refuse(k, fill, KW_S_UNWRITTEN, text, (double)k->unwritten);
	} else if (chi > CHI2_LIMIT && !k->varies_got && k->varies_want) {
		snprintf(text, sizeof text, "every element of %s is %.9g, and should be random", name, k->first_got);
		refuse(k, fill, KW_S_CONSTANT, text, chi);
	} else if (chi > CHI2_LIMIT) {
		snprintf(text, sizeof text, "%s is not distributed as the reference: %.3g%% of its %s are among the lowest %.3g%%, "
			 "%.3g%% among the highest", name, 100 * (counts[0] + counts[1]) / d->total, sizes > values ? "sizes" : "values",
			 200.0 / RANKS, 100 * (counts[RANKS - 1] + counts[RANKS - 2]) / d->total);
		refuse(k, fill, KW_S_MISMATCH, text, chi);
	}
}

/* The first run, for what earlier calls had there, and some of the others in turn from a random one on. */
static enum kw_status look(struct looking *k, struct kw_distribution *d, enum kw_fill fill, double share, int64_t total,
			   struct kw_error *err)
{
	int64_t blocks = (total + RUN - 1) / RUN, from = blocks > 1 ? (int64_t)(kw_next_u64(&k->rng) % (uint64_t)(blocks - 1)) : 0;
	enum kw_status st = KW_OK;

	for (int64_t i = 0; i < blocks && i < (share < 1 ? 2 : RUNS) && st == KW_OK && !k->s->w->failed; i++) {
		int64_t first = i ? (1 + (from + i - 1) % (blocks - 1)) * RUN : 0, n = total - first < RUN ? total - first : RUN;

		st = rank_run(k, d, first, n, &k->run, err);
		if (st != KW_OK)
			break;
		if (i == 0)
			look_back(k, d, fill, &k->run);
		if (!k->s->w->failed)
			look_at_ranks(k, d, fill);
		if (!k->s->w->failed)
			look_within(k, fill, &k->run);
		if (!k->s->w->failed)
			st = look_apart(k, fill, &k->run, total, err);
	}
	return st;
}

enum kw_status kw_stage_distribution(struct stage *s, int slot, enum kw_fill fill, double share, int output,
				     struct kw_compare_stats *st, struct kw_error *err)
{
	struct kw_distribution *d = s->distribution[output];
	struct looking *k = kw_calloc(1, sizeof *k);
	int64_t total = kw_shape_count(&s->view[s->inputs + output].shape), begin = kw_now_ns(), left = 0;
	enum kw_status status = KW_OK;

	kw_compare_init(st);
	if (!d)
		d = s->distribution[output] = kw_arena_calloc(&s->arena, 1, sizeof *d);
	if (!k || !d) {
		kw_free(k);
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	}
	*k = (struct looking){ .s = s, .slot = slot, .output = output, .shape = &s->view[s->inputs + output].shape,
			       .dtype = s->w->t->outputs[output].dtype, .rng = kw_random_u64() };
	if (total > 0 && kw_dtype_is_float(k->dtype) && kw_dtype_bytes(k->dtype) > 1)
		left = kw_count_poison(kw_session_ptr(s->session, slot, s->inputs + output), 0, total, k->dtype, s->poison_seed);
	if (left > 0)
		refuse(k, fill, KW_S_UNWRITTEN, "elements were never written", (double)left);
	else if (total > 0)
		status = look(k, d, fill, share, total, err);
	st->compared = total;
	kw_free(k);
	s->w->v->compare_ns += kw_now_ns() - begin;
	return status;
}
