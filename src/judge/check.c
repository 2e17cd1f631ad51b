/* The comparison of one slot with the reference, chunk by chunk: expected values are never stored whole. */
#include "judge/internal.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define CHUNK_ELEMENTS 32768
#define SAMPLES_MAX 4096
#define TILE 128
#define SCAN_PART ((int64_t)1 << 18)

struct check {
	struct stage *s;
	int slot, output;
	enum kw_fill fill;
	const struct kw_shape *shape;
	const struct kw_tensor_decl *decl;
	const char *got;
	size_t bytes;                        /* of an element */
	int64_t count[KW_MAX_RANK];          /* of a full chunk */
	int64_t grid[KW_MAX_RANK], chunks;
	int64_t *picked;                     /* chunk numbers; NULL: all */
	uint64_t rng;                        /* sampled elements */
	int64_t box_elements;
	pthread_mutex_t lock;                /* guards what follows */
	struct kw_compare_stats *stats;
	double **scratch;
	int scratch_count;
	enum kw_status status;
	struct kw_error err;
	int64_t unwritten, excused, each;
};
#define EXCUSES_MAX 16
#define EACH_MAX 4096                        /* elements that an evaluator is asked about one by one */

static double load(const struct check *k, int64_t flat)
{
	return kw_dtype_load(k->decl->dtype, k->got + (size_t)flat * k->bytes);
}

/* The input that an index output points into, on this slot; NULL when the output is compared as plain numbers. */
static const struct kw_view *selected(const struct check *k, struct kw_view *out)
{
	const struct stage *s = k->s;

	for (int i = 0; i < s->inputs && k->decl->compare == KW_COMPARE_INDICES && k->decl->indexes; i++)
		if (strcmp(s->w->t->inputs[i].name, k->decl->indexes) == 0) {
			*out = s->view[i];
			out->base = kw_session_ptr(s->session, k->slot, i);
			return out;
		}
	return NULL;
}

/* An element that is wrong, but as a plain kernel may be: a few of them, where the expression has steps. */
static bool excused(struct check *k, int64_t flat, double want)
{
	int64_t at[KW_MAX_RANK] = { 0 };
	double got = load(k, flat);
	bool yes;

	if (got == want || isnan(got) || isnan(want) || fabs(got - want) <= kw_tolerance_at(&k->s->tol[k->output], want))
		return false;
	kw_shape_unravel(k->shape, flat, at);
	pthread_mutex_lock(&k->lock);
	yes = k->excused < EXCUSES_MAX && k->excused * 1000 <= kw_shape_count(k->shape) &&
	      kw_stage_may_be(k->s, k->output, at, got);
	k->excused += yes ? 1 : k->excused < EXCUSES_MAX ? EXCUSES_MAX : 0; /* one that is not ends it */
	pthread_mutex_unlock(&k->lock);
	return yes;
}

/* An element beyond the tolerance of the output, within that of its own. */
static bool right_by_itself(struct check *k, int64_t flat, double want)
{
	double got = load(k, flat), error = fabs(got - want), tolerance = kw_tolerance_at(&k->s->tol[k->output], want);
	int64_t at[KW_MAX_RANK] = { 0 };
	bool yes = false;

	if (!isfinite(error) || error <= tolerance)
		return false;
	kw_shape_unravel(k->shape, flat, at);
	if (k->s->torch_values)
		return error <= tolerance + kw_stage_own_part(k->s, k->output, flat, at);
	pthread_mutex_lock(&k->lock);
	if (k->each++ < EACH_MAX)
		yes = error <= tolerance + kw_stage_own_part(k->s, k->output, flat, at);
	k->each += yes ? 0 : EACH_MAX; /* one that is not ends it */
	pthread_mutex_unlock(&k->lock);
	return yes;
}

static void compare_run(struct check *k, double *want, int64_t flat, int64_t n, struct kw_compare_stats *st)
{
	struct kw_view values;

	/* Under a special fill a NaN of the reference asks for nothing. */
	for (int64_t i = 0; i < n && k->fill != KW_FILL_DECLARED; i++)
		if (isnan(want[i]))
			want[i] = load(k, flat + i);
	for (int64_t i = 0; i < n && k->s->excuse; i++)
		if (excused(k, flat + i, want[i]))
			want[i] = load(k, flat + i);
	for (int64_t i = 0; i < n && k->s->each; i++)
		if (right_by_itself(k, flat + i, want[i]))
			want[i] = load(k, flat + i);
	if (selected(k, &values))
		kw_compare_indices(st, &values, (int)k->decl->indexes_axis, k->decl->dtype, k->got, want, (size_t)n, k->shape,
				   flat, k->s->poison_seed, k->s->tol[k->output].close);
	else
		kw_compare_chunk(st, &k->s->tol[k->output], k->got + (size_t)flat * k->bytes, want, (size_t)n, k->shape, flat,
				 k->s->poison_seed);
}

static void compare_box(struct check *k, const int64_t *start, const int64_t *count, double *want,
			struct kw_compare_stats *st)
{
	int64_t stride[KW_MAX_RANK], at[KW_MAX_RANK] = { 0 }, run = 1, done = 0, total = 1;
	int outer = k->shape->rank;

	kw_shape_contiguous(k->shape, stride);
	while (outer > 0 && count[outer - 1] == k->shape->dim[outer - 1])
		run *= count[--outer];
	if (outer > 0)
		run *= count[--outer];
	for (int d = 0; d < k->shape->rank; d++)
		total *= count[d];
	while (done < total) {
		int64_t flat = 0;

		for (int d = 0; d < k->shape->rank; d++)
			flat += (start[d] + (d < outer ? at[d] : 0)) * stride[d];
		compare_run(k, want + done, flat, run, st);
		done += run;
		for (int d = outer - 1; d >= 0; d--) {
			if (++at[d] < count[d])
				break;
			at[d] = 0;
		}
	}
}

static void chunk_box(const struct check *k, int64_t i, int64_t *start, int64_t *count)
{
	for (int d = k->shape->rank - 1; d >= 0; d--) {
		start[d] = i % k->grid[d] * k->count[d];
		i /= k->grid[d];
		count[d] = start[d] + k->count[d] > k->shape->dim[d] ? k->shape->dim[d] - start[d] : k->count[d];
	}
}

/* Compute-bound cases: a random element of the i-th tile. */
static void sample_box(const struct check *k, int64_t i, int64_t *start, int64_t *count)
{
	uint64_t rng = k->rng + (uint64_t)i * 0x2545f4914f6cdd1du;

	chunk_box(k, i, start, count);
	for (int d = 0; d < k->shape->rank; d++) {
		start[d] += (int64_t)(kw_next_u64(&rng) % (uint64_t)count[d]);
		count[d] = 1;
	}
}

static void check_one(void *arg, int64_t i)
{
	struct check *k = arg;
	int64_t start[KW_MAX_RANK], count[KW_MAX_RANK];
	struct kw_compare_stats st;
	struct kw_error err = { 0 };
	enum kw_status status;
	double *want;

	if (k->picked)
		i = k->picked[i];
	pthread_mutex_lock(&k->lock);
	want = k->scratch[--k->scratch_count];
	status = k->status;
	pthread_mutex_unlock(&k->lock);
	kw_compare_init(&st);
	if (status == KW_OK) {
		if (k->s->sampled)
			sample_box(k, i, start, count);
		else
			chunk_box(k, i, start, count);
		status = kw_eval_box(k->s->ev64, k->output, start, count, want, &err);
		if (status == KW_OK)
			compare_box(k, start, count, want, &st);
	}
	pthread_mutex_lock(&k->lock);
	k->scratch[k->scratch_count++] = want;
	if (status != KW_OK && k->status == KW_OK) {
		k->status = status;
		k->err = err;
	}
	kw_compare_merge(k->stats, &st);
	pthread_mutex_unlock(&k->lock);
}

static void scan_part(void *arg, int64_t part)
{
	struct check *k = arg;
	int64_t first = part * SCAN_PART, left = kw_shape_count(k->shape) - first, found;

	found = kw_count_poison(k->got, first, left < SCAN_PART ? left : SCAN_PART, k->decl->dtype, k->s->poison_seed);
	pthread_mutex_lock(&k->lock);
	k->unwritten += found;
	pthread_mutex_unlock(&k->lock);
}

/* Chunks of the output; for sampled stages tiles of 128 x 128 in the last two dims, thinned to SAMPLES_MAX. */
static void cut(struct check *k)
{
	int rank = k->shape->rank;

	if (k->s->sampled) {
		double tiles = 1;

		for (int d = 0; d < rank; d++) {
			k->count[d] = d >= rank - 2 ? TILE : 1;
			tiles *= (double)((k->shape->dim[d] + k->count[d] - 1) / k->count[d]);
		}
		for (int d = 0; d < rank && tiles > SAMPLES_MAX; d++)
			while (tiles > SAMPLES_MAX && k->count[d] < k->shape->dim[d]) {
				k->count[d] *= 2;
				tiles /= 2;
			}
	} else {
		kw_eval_chunk(k->s->ev64, k->output, CHUNK_ELEMENTS, k->count);
	}
	k->chunks = 1;
	k->box_elements = 1;
	for (int d = 0; d < rank; d++) {
		if (k->count[d] < 1)
			k->count[d] = 1;
		k->grid[d] = (k->shape->dim[d] + k->count[d] - 1) / k->count[d];
		k->chunks *= k->grid[d];
		k->box_elements *= k->s->sampled ? 1 : k->count[d];
	}
}

/* A random subset without repeats: a partial shuffle. */
static int64_t pick(struct check *k, double share)
{
	int64_t want = (int64_t)ceil(share * (double)k->chunks);

	if (share >= 1 || k->chunks <= 2 || k->s->sampled || k->chunks > (1 << 24))
		return k->chunks;
	k->picked = kw_alloc((size_t)k->chunks * sizeof *k->picked);
	if (!k->picked)
		return k->chunks; /* all of them instead: slower, never weaker */
	for (int64_t i = 0; i < k->chunks; i++)
		k->picked[i] = i;
	for (int64_t i = 0; i < want; i++) {
		int64_t j = i + (int64_t)(kw_next_u64(&k->rng) % (uint64_t)(k->chunks - i)), swap = k->picked[i];

		k->picked[i] = k->picked[j];
		k->picked[j] = swap;
	}
	return want;
}

static bool scratch_new(struct check *k, int threads)
{
	k->scratch = kw_calloc((size_t)threads, sizeof *k->scratch);
	for (int i = 0; k->scratch && i < threads; i++) {
		k->scratch[i] = kw_alloc((size_t)k->box_elements * sizeof(double));
		if (!k->scratch[i])
			return false;
		k->scratch_count++;
	}
	return k->scratch != NULL;
}

double kw_stage_close_rule(const struct stage *s, int output)
{
	enum kw_dtype d = s->w->t->outputs[output].dtype;

	return kw_dtype_is_float(d) && kw_dtype_bytes(d) < 4 ? s->w->o.close.narrow : s->w->o.close.wide;
}

enum kw_status kw_stage_compare(struct stage *s, int slot, enum kw_fill fill, double share, int output,
				struct kw_compare_stats *st, struct kw_error *err)
{
	struct check k = { .s = s, .slot = slot, .output = output, .fill = fill, .stats = st, .status = KW_OK };
	int64_t begin = kw_now_ns(), n;
	int threads = s->w->j->threads;

	kw_compare_init(st);
	s->tol[output].close = kw_stage_close_rule(s, output);
	k.shape = &s->view[s->inputs + output].shape;
	k.decl = &s->w->t->outputs[output];
	k.got = kw_session_ptr(s->session, slot, s->inputs + output);
	k.bytes = kw_dtype_bytes(k.decl->dtype);
	k.rng = kw_random_u64(); /* drawn after the candidate ran */
	if (kw_shape_count(k.shape) == 0)
		return KW_OK;
	cut(&k);
	n = pick(&k, share);
	pthread_mutex_init(&k.lock, NULL);
	if (!scratch_new(&k, threads))
		k.status = kw_fail(&k.err, KW_ERR_NOMEM, "", "out of memory");
	else
		kw_parallel(threads, n, check_one, &k);
	if (k.status == KW_OK && (n < k.chunks || s->sampled) && k.bytes >= 2 && kw_dtype_is_float(k.decl->dtype)) {
		kw_parallel(threads, (kw_shape_count(k.shape) + SCAN_PART - 1) / SCAN_PART, scan_part, &k);
		if (k.unwritten > st->unwritten)
			st->unwritten = k.unwritten;
	}
	kw_compare_finish(st);
	if (k.status != KW_OK && err)
		*err = k.err;
	for (int i = 0; i < k.scratch_count; i++)
		kw_free(k.scratch[i]);
	kw_free(k.scratch);
	kw_free(k.picked);
	pthread_mutex_destroy(&k.lock);
	s->w->v->compare_ns += kw_now_ns() - begin;
	return k.status;
}
