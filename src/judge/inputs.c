#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
/* Vectorise, and never fuse: the values are part of the record. */
#pragma GCC optimize("O3,no-trapping-math,fp-contract=off")
#endif

#include "judge/inputs.h"

#include "backend/builtin/kw.h"
#include "base/alloc.h"
#include "judge/philox.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
enum { MAX_THREADS = 64, WORTH_A_THREAD = 1 << 15 /* elements */ };

const char *kw_fill_name(enum kw_fill f)
{
	static const char *const names[KW_FILL_COUNT] = {
#define X(e, name) [KW_FILL_##e] = name,
		KW_FILL_LIST(X)
#undef X
	};

	return (unsigned)f < KW_FILL_COUNT ? names[f] : "?";
}

/* Whether every value that the declaration allows is above zero, as far as can be told. */
static bool positive_only(const struct kw_tensor_decl *d)
{
	if (d->dist == KW_DIST_POSITIVE)
		return true;
	return d->dist == KW_DIST_NORMAL && d->has_range && !d->range_lo_int && !d->range_hi_int &&
	       d->range_lo > 4 * d->range_hi;
}

bool kw_fill_fits(enum kw_fill f, const struct kw_tensor_decl *d)
{
	if (f == KW_FILL_DECLARED)
		return true;
	if (!kw_dtype_is_float(d->dtype))
		return false;
	if (d->dist == KW_DIST_UNIFORM) /* a range is a promise */
		return f == KW_FILL_CONSTANT ||
		       (f == KW_FILL_ZEROS && !d->has_range);
	if (d->dist != KW_DIST_NORMAL && d->dist != KW_DIST_POSITIVE)
		return false;
	if (positive_only(d))
		return f != KW_FILL_ZEROS && f != KW_FILL_NEG_INF_ROWS && f != KW_FILL_NEGATIVE;
	return f != KW_FILL_NEG_INF_ROWS || d->dtype != KW_F8E4M3; /* which has no infinity */
}

/* ---- one tensor's generator: values by logical row-major index ---- */

struct gen {
	struct kw_philox_id id;
	enum kw_dist dist;
	enum kw_fill fill;
	enum kw_dtype dtype;
	double lo, hi;           /* of the range; mean and sigma for NORMAL */
	int64_t int_lo;
	uint64_t int_span;       /* number of integers; 0: all 2^64 */
	bool positive;
	double constant, scale, max;
	int64_t cols, rows;      /* length of the last axis, number of rows */
	int64_t inf_row;         /* NEG_INF: a row that is all -inf; -1: none */
};

/* One random word for a row (place of the outlier) or the tensor. */
static uint32_t place_word(const struct gen *g, int64_t row, uint32_t what)
{
	uint32_t counter[4] = { (uint32_t)row, (uint32_t)((uint64_t)row >> 32), g->id.tensor,
				KW_STREAM_PLACES | 0x100u << what };
	uint32_t key[2] = { (uint32_t)g->id.seed, (uint32_t)(g->id.seed >> 32) }, out[4];

	kw_philox(counter, key, out);
	return out[0];
}

static void raw_words(const struct gen *g, enum kw_stream stream, uint64_t block, uint32_t w[KW_BLOCK])
{
	struct kw_philox_id id = g->id;

	id.stream = stream;
	kw_philox_block(&id, block, w);
}

/* f64 gets 53 random bits: the other blocks' values have 24. */
static void add_low_bits(const struct gen *g, uint64_t block, double v[KW_BLOCK], bool relative)
{
	uint32_t w[KW_BLOCK];

	if (g->dtype != KW_F64)
		return;
	raw_words(g, KW_STREAM_LOW_BITS, block, w);
	for (int i = 0; i < KW_BLOCK; i++) {
		double part = (double)(w[i] >> 3) * 0x1p-53; /* [0, 2^-24) */

		v[i] += relative ? part * v[i] : part;
	}
}

static void normals(const struct gen *g, uint64_t block, double v[KW_BLOCK])
{
	float z[KW_BLOCK];

	kw_normal_block(&g->id, block, z);
	for (int i = 0; i < KW_BLOCK; i++)
		v[i] = (double)z[i];
	add_low_bits(g, block, v, true);
}

static void uniforms(const struct gen *g, uint64_t block, double v[KW_BLOCK])
{
	float u[KW_BLOCK];

	kw_uniform_block(&g->id, block, u);
	for (int i = 0; i < KW_BLOCK; i++)
		v[i] = (double)u[i];
	add_low_bits(g, block, v, false);
}

__extension__ typedef unsigned __int128 wide;

/* Multiply and shift: a bias of span / 2^32 at most (Lemire, 2019); 64 bits where the span needs them. */
static void integers(const struct gen *g, uint64_t block, int64_t first, uint64_t span, int64_t v[KW_BLOCK])
{
	uint32_t w[KW_BLOCK], low[KW_BLOCK];

	raw_words(g, KW_STREAM_VALUES, block, w);
	if (span != 0 && span <= UINT32_MAX) {
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = first + (int64_t)((uint64_t)w[i] * span >> 32);
		return;
	}
	raw_words(g, KW_STREAM_LOW_BITS, block, low);
	for (int i = 0; i < KW_BLOCK; i++) {
		uint64_t u = (uint64_t)w[i] << 32 | low[i];

		u = span ? (uint64_t)((wide)u * span >> 64) : u;
		v[i] = (int64_t)((uint64_t)first + u);
	}
}

static void base_values(const struct gen *g, uint64_t block, double v[KW_BLOCK])
{
	int64_t whole[KW_BLOCK];

	switch (g->dist) {
	case KW_DIST_NORMAL:
		normals(g, block, v);
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = g->lo + g->hi * v[i];
		return;
	case KW_DIST_POSITIVE:
		normals(g, block, v);
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = fabs(v[i]) + 0.1;
		return;
	case KW_DIST_UNIFORM:
		uniforms(g, block, v);
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = g->lo + (g->hi - g->lo) * v[i];
		return;
	case KW_DIST_BERNOULLI:
		uniforms(g, block, v);
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = v[i] < g->lo ? 1.0 : 0.0;
		return;
	case KW_DIST_INTEGERS:
		integers(g, block, g->int_lo, g->int_span, whole);
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = (double)whole[i];
		return;
	default:
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = g->dist == KW_DIST_ONES ? 1.0 : 0.0;
	}
}

/* One element of each row is 1000 times as large (f8: 16 times). */
static void outliers(const struct gen *g, uint64_t block, double v[KW_BLOCK])
{
	int64_t first = (int64_t)block * KW_BLOCK, row = g->cols ? first / g->cols : 0;

	for (; row < g->rows && row * g->cols < first + KW_BLOCK; row++) {
		int64_t at = row * g->cols + (int64_t)((uint64_t)place_word(g, row, 0) * (uint64_t)g->cols >> 32);

		if (at >= first && at < first + KW_BLOCK)
			v[at - first] *= kw_dtype_bytes(g->dtype) == 1 ? 16 : 1000;
	}
}

/* An element in eight, and one whole row. */
static void infinities(const struct gen *g, uint64_t block, double v[KW_BLOCK])
{
	int64_t first = (int64_t)block * KW_BLOCK, low = g->inf_row * g->cols - first;
	uint32_t w[KW_BLOCK];

	raw_words(g, KW_STREAM_PLACES, block, w);
	for (int i = 0; i < KW_BLOCK; i++)
		v[i] = w[i] < 1u << 29 || (g->inf_row >= 0 && i >= low && i < low + g->cols) ? -(double)INFINITY : v[i];
}

static void filled_values(const struct gen *g, uint64_t block, double v[KW_BLOCK])
{
	int64_t whole[KW_BLOCK];

	switch (g->fill) {
	case KW_FILL_CONSTANT:
	case KW_FILL_ZEROS:
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = g->fill == KW_FILL_ZEROS ? 0.0 : g->constant;
		return;
	case KW_FILL_WHOLE:
		integers(g, block, g->positive ? 1 : -8, g->positive ? 8 : 17, whole);
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = (double)whole[i];
		return;
	default:
		base_values(g, block, v);
	}
	if (g->fill == KW_FILL_NEGATIVE)
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] = -fabs(v[i]) - 0.05;
	if (g->fill == KW_FILL_LARGE || g->fill == KW_FILL_TINY)
		for (int i = 0; i < KW_BLOCK; i++)
			v[i] *= g->scale;
	if (g->fill == KW_FILL_OUTLIER)
		outliers(g, block, v);
	/* What the type cannot hold becomes its largest number, never Inf or NaN. */
	for (int i = 0; i < KW_BLOCK; i++) {
		v[i] = v[i] > g->max ? g->max : v[i];
		v[i] = v[i] < -g->max ? -g->max : v[i];
	}
	if (g->fill == KW_FILL_NEG_INF_ROWS)
		infinities(g, block, v);
}

/* ---- the commonest kinds without the way over doubles ---- */

/* Standard normals or uniforms as declared. */
static bool plain_floats(const struct gen *g)
{
	return g->fill == KW_FILL_DECLARED && g->lo == 0 && g->hi == 1 &&
	       (g->dist == KW_DIST_NORMAL || g->dist == KW_DIST_UNIFORM);
}

static bool plain_f32(const struct gen *g)
{
	return g->dtype == KW_F32 && plain_floats(g);
}

static void plain_block(const struct gen *g, uint64_t block, float out[KW_BLOCK])
{
	if (g->dist == KW_DIST_NORMAL)
		kw_normal_block(&g->id, block, out);
	else
		kw_uniform_block(&g->id, block, out);
}

INLINE void narrow_body(enum kw_dtype d, const float *f, void *out)
{
	kw_bf16 *b = out;
	kw_f16 *h = out;

	for (int i = 0; i < KW_BLOCK && d == KW_F16; i++)
		h[i] = kw_f16_from_f32(f[i]);
	for (int i = 0; i < KW_BLOCK && d == KW_BF16; i++)
		b[i] = kw_bf16_from_f32(f[i]);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void narrow_avx2(enum kw_dtype d, const float *f, void *out)
{
	narrow_body(d, f, out);
}
#endif

static void narrow(enum kw_dtype d, const float *f, void *out)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2")) {
		narrow_avx2(d, f, out);
		return;
	}
#endif
	narrow_body(d, f, out);
}

/* Whether all integers of the range are numbers of the type, so that a cast will do. */
static bool range_fits(const struct gen *g)
{
	static const int64_t least[KW_DTYPE_COUNT] = { [KW_I64] = INT64_MIN, [KW_I32] = INT32_MIN, [KW_I16] = INT16_MIN,
						       [KW_I8] = INT8_MIN };
	int64_t last = (int64_t)((uint64_t)g->int_lo + g->int_span - 1);

	if (g->dtype == KW_I64)
		return true;
	return g->int_span != 0 && g->int_lo >= least[g->dtype] && last >= g->int_lo && (double)last <= g->max;
}

#define CAST_TO(type)                                                                                    \
	do {                                                                                             \
		type *o = out;                                                                           \
		for (int i = 0; i < KW_BLOCK; i++)                                                       \
			o[i] = (type)whole[i];                                                           \
	} while (0)

static void whole_block(const struct gen *g, uint64_t block, void *out)
{
	int64_t whole[KW_BLOCK];

	integers(g, block, g->int_lo, g->int_span, whole);
	switch (kw_dtype_bytes(g->dtype)) {
	case 8: memcpy(out, whole, sizeof(whole)); return;
	case 4: CAST_TO(int32_t); return;
	case 2: CAST_TO(int16_t); return;
	default: CAST_TO(int8_t);
	}
}

/* A block in the tensor's own type. */
static void typed_block(const struct gen *g, uint64_t block, void *out)
{
	float f[KW_BLOCK];
	double v[KW_BLOCK];

	if (g->dist == KW_DIST_INTEGERS && !kw_dtype_is_float(g->dtype) && g->dtype != KW_BOOL && range_fits(g)) {
		whole_block(g, block, out);
	} else if ((g->dtype == KW_F16 || g->dtype == KW_BF16) && plain_floats(g)) {
		plain_block(g, block, f);
		narrow(g->dtype, f, out);
	} else {
		filled_values(g, block, v);
		kw_dtype_from_f64(g->dtype, v, out, KW_BLOCK);
	}
}

/* ---- placing them ---- */

/* The last block made, for rows shorter than one. */
struct recent {
	uint64_t block;
	bool valid;
	union {
		char bytes[KW_BLOCK * 8];
		double align;
		float f32[KW_BLOCK];
	} data;
};

static void scatter(char *dst, int64_t step, const char *src, size_t bytes, int64_t n)
{
	if (step == (int64_t)bytes) {
		memcpy(dst, src, (size_t)n * bytes);
		return;
	}
	for (int64_t i = 0; i < n; i++)
		memcpy(dst + i * step, src + i * (int64_t)bytes, bytes);
}

/* Elements first..first+n of the logical order to dst, step bytes apart. */
static void place(const struct gen *g, struct recent *r, int64_t first, int64_t n, char *dst, int64_t step)
{
	size_t bytes = kw_dtype_bytes(g->dtype);
	bool plain = plain_f32(g);

	while (n > 0) {
		uint64_t block = (uint64_t)first / KW_BLOCK;
		int64_t in_block = first % KW_BLOCK, m = KW_BLOCK - in_block < n ? KW_BLOCK - in_block : n;

		if (plain && m == KW_BLOCK && step == (int64_t)bytes) {
			plain_block(g, block, (float *)(void *)dst);
		} else {
			if (!r->valid || r->block != block) {
				if (plain)
					plain_block(g, block, r->data.f32);
				else
					typed_block(g, block, r->data.bytes);
				r->block = block;
				r->valid = true;
			}
			scatter(dst, step, r->data.bytes + (size_t)in_block * bytes, bytes, m);
		}
		first += m;
		n -= m;
		dst += m * step;
	}
}

/* A view cut into runs: rows of the last axis, or one run when it is contiguous. */
struct job {
	const struct gen *g;
	const struct kw_view *view;
	struct kw_shape outer;                   /* of the runs; expanded axes count 1 */
	int64_t logical[KW_MAX_RANK];            /* logical strides of the outer axes */
	int64_t run, step_bytes;                 /* elements of a run; bytes from one to the next */
	int64_t from, to;                        /* runs, or elements of the only run */
	bool one_run;
	int64_t *shuffle;                        /* PERMUTATION: room for a row */
};

/* Row of exponentials divided by its sum: uniform on the simplex. */
static void place_probabilities(const struct gen *g, int64_t first, int64_t n, char *dst, int64_t step)
{
	double v[KW_BLOCK], sum = 0;

	for (int pass = 0; pass < 2; pass++) {
		int64_t at = first, left = n;
		char *to = dst;

		while (left > 0) {
			int64_t in_block = at % KW_BLOCK, m = KW_BLOCK - in_block < left ? KW_BLOCK - in_block : left;

			uniforms(g, (uint64_t)at / KW_BLOCK, v);
			for (int64_t i = in_block; i < in_block + m; i++) {
				double e = -log1p(-v[i]) + 1e-6;

				sum += pass ? 0 : e;
				if (pass)
					kw_dtype_store(g->dtype, to + (i - in_block) * step, e / sum);
			}
			at += m;
			left -= m;
			to += m * step;
		}
	}
}

/* Fisher and Yates; the row number is the stream's place. */
static void place_permutation(const struct gen *g, int64_t first, int64_t n, char *dst, int64_t step, int64_t *row)
{
	struct kw_philox_id id = { g->id.seed ^ (uint64_t)first * 0x9e3779b97f4a7c15u, g->id.tensor, KW_STREAM_SHUFFLE };
	uint32_t w[KW_BLOCK];

	for (int64_t i = 0; i < n; i++)
		row[i] = i;
	for (int64_t i = n - 1, k = 0; i > 0; i--, k++) {
		int64_t j, swap = row[i];

		if (k % KW_BLOCK == 0)
			kw_philox_block(&id, (uint64_t)(k / KW_BLOCK), w);
		j = (int64_t)((uint64_t)w[k % KW_BLOCK] * (uint64_t)(i + 1) >> 32);
		row[i] = row[j];
		row[j] = swap;
	}
	for (int64_t i = 0; i < n; i++)
		kw_dtype_store(g->dtype, dst + i * step, (double)row[i]);
}

static bool by_rows(enum kw_dist d)
{
	return d == KW_DIST_PROBABILITIES || d == KW_DIST_PERMUTATION;
}

static void *run_job(void *arg)
{
	const struct job *j = arg;
	struct recent *r = &(struct recent){ .valid = false };
	size_t bytes = kw_dtype_bytes(j->g->dtype);

	if (j->one_run) {
		place(j->g, r, j->from, j->to - j->from, (char *)j->view->base + j->from * (int64_t)bytes,
		      (int64_t)bytes);
		return NULL;
	}
	for (int64_t k = j->from; k < j->to; k++) {
		int64_t at[KW_MAX_RANK] = { 0 }, first = 0, offset = 0;
		char *dst;

		kw_shape_unravel(&j->outer, k, at);
		for (int d = 0; d < j->outer.rank; d++) {
			first += at[d] * j->logical[d];
			offset += at[d] * j->view->stride[d];
		}
		dst = (char *)j->view->base + offset * (int64_t)bytes;
		if (j->g->dist == KW_DIST_PROBABILITIES)
			place_probabilities(j->g, first, j->run, dst, j->step_bytes);
		else if (j->g->dist == KW_DIST_PERMUTATION)
			place_permutation(j->g, first, j->run, dst, j->step_bytes, j->shuffle);
		else
			place(j->g, r, first, j->run, dst, j->step_bytes);
	}
	return NULL;
}

static void cut_view(struct job *j, const struct gen *g, const struct kw_view *v)
{
	int last = v->shape.rank - 1;
	int64_t step = 1;

	*j = (struct job){ .g = g, .view = v, .run = 1, .step_bytes = (int64_t)kw_dtype_bytes(g->dtype) };
	if (kw_view_is_contiguous(v) && !by_rows(g->dist)) {
		j->one_run = true;
		j->to = kw_shape_count(&v->shape);
		return;
	}
	if (last >= 0) {
		bool expanded = v->stride[last] == 0;

		j->run = expanded && v->shape.dim[last] > 1 ? 1 : v->shape.dim[last];
		j->step_bytes = v->stride[last] * (int64_t)kw_dtype_bytes(g->dtype);
		step = v->shape.dim[last];
	}
	j->outer.rank = last > 0 ? last : 0;
	for (int d = last - 1; d >= 0; d--) {
		j->outer.dim[d] = v->stride[d] == 0 && v->shape.dim[d] > 1 ? 1 : v->shape.dim[d];
		j->logical[d] = step;
		step *= v->shape.dim[d];
	}
	j->to = kw_shape_count(&j->outer);
}

/* Cuts the job into parts, each at a block border, and runs them. */
static enum kw_status run_parts(const struct job *whole, int threads, struct kw_error *err)
{
	struct job parts[MAX_THREADS];
	pthread_t ids[MAX_THREADS];
	bool started[MAX_THREADS] = { false };
	int64_t unit = whole->one_run ? KW_BLOCK : 1, units = (whole->to + unit - 1) / unit;
	int64_t elements = whole->one_run ? whole->to : whole->to * whole->run;
	int n = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
	enum kw_status s = KW_OK;

	if (elements / WORTH_A_THREAD < n)
		n = (int)(elements / WORTH_A_THREAD);
	n = n < 1 ? 1 : units < n ? (int)units : n;
	for (int k = 0; k < n; k++) {
		parts[k] = *whole;
		parts[k].from = units * k / n * unit;
		parts[k].to = k == n - 1 ? whole->to : units * (k + 1) / n * unit;
		if (whole->g->dist != KW_DIST_PERMUTATION)
			continue;
		parts[k].shuffle = kw_alloc((size_t)whole->run * sizeof(int64_t));
		if (!parts[k].shuffle) {
			n = k;
			s = kw_fail(err, KW_ERR_NOMEM, "", "no memory to shuffle rows of %lld elements",
				    (long long)whole->run);
		}
	}
	for (int k = 1; k < n && s == KW_OK; k++)
		started[k] = pthread_create(&ids[k], NULL, run_job, &parts[k]) == 0;
	for (int k = 0; k < n && s == KW_OK; k++)
		if (!started[k])
			run_job(&parts[k]);
	for (int k = 1; k < n; k++)
		if (started[k])
			pthread_join(ids[k], NULL);
	for (int k = 0; k < n && whole->g->dist == KW_DIST_PERMUTATION; k++)
		kw_free(parts[k].shuffle);
	return s;
}

/* ---- from the declaration to a generator ---- */

static enum kw_status read_bound(const struct kw_tensor_decl *d, const struct kw_intexpr *e, double plain,
				 const struct kw_intenv *env, int64_t *whole, double *real, struct kw_error *err)
{
	enum kw_status s = KW_OK;

	if (!e) {
		*real = plain;
		*whole = plain >= 0x1p63 ? INT64_MAX : plain <= -0x1p63 ? INT64_MIN : (int64_t)plain;
		return KW_OK;
	}
	s = kw_intexpr_eval(e, env, whole, err);
	if (s != KW_OK)
		kw_error_while(err, "reading the range of input '%s'", d->name);
	else
		*real = (double)*whole;
	return s;
}

static enum kw_status read_range(struct gen *g, const struct kw_tensor_decl *d, const struct kw_intenv *env,
				 struct kw_error *err)
{
	int64_t lo = 0, hi = 0;
	enum kw_status s;

	g->lo = d->dist == KW_DIST_BERNOULLI ? 0.5 : d->dist == KW_DIST_INTEGERS ? -100 : 0;
	g->hi = d->dist == KW_DIST_INTEGERS ? 100 : 1;
	lo = (int64_t)g->lo;
	hi = (int64_t)g->hi;
	if (d->has_range) {
		s = read_bound(d, d->range_lo_int, d->range_lo, env, &lo, &g->lo, err);
		if (s == KW_OK)
			s = read_bound(d, d->range_hi_int, d->range_hi, env, &hi, &g->hi, err);
		if (s != KW_OK)
			return s;
	}
	if (d->dist == KW_DIST_INTEGERS && lo > hi)
		return kw_fail(err, KW_ERR_INPUT, "", "input '%s': no whole number is in the range [%lld, %lld] of this case",
			       d->name, (long long)lo, (long long)hi);
	g->int_lo = lo;
	g->int_span = (uint64_t)hi - (uint64_t)lo + 1;
	return KW_OK;
}

static void choose_specials(struct gen *g, const struct kw_tensor_decl *d)
{
	double u = (double)place_word(g, 0, 1) * 0x1p-32;
	bool narrow = kw_dtype_bytes(g->dtype) == 1;

	g->positive = positive_only(d);
	g->max = kw_dtype_max(g->dtype);
	g->scale = g->fill == KW_FILL_TINY ? (narrow ? 0x1p-3 : 1e-3) : narrow ? 16 : 100;
	g->constant = d->dist == KW_DIST_UNIFORM ? g->lo + (g->hi - g->lo) * u :
		      d->dist == KW_DIST_NORMAL	 ? g->lo + g->hi * (0.5 + u) :
						   0.5 + u;
	g->inf_row = g->rows > 1 ? (int64_t)((uint64_t)place_word(g, 0, 2) * (uint64_t)g->rows >> 32) : -1;
}

bool kw_fill_is_simple(const struct kw_tensor_decl *d, const struct kw_view *v, enum kw_fill f, const struct kw_intenv *env,
		       struct kw_simple_fill *out)
{
	struct gen g = { .dist = d->dist, .dtype = (enum kw_dtype)v->dtype };

	if ((kw_fill_fits(f, d) && f != KW_FILL_DECLARED) || !kw_view_is_contiguous(v) || g.dtype == KW_BOOL ||
	    kw_dtype_bytes(g.dtype) == 0 || read_range(&g, d, env, NULL) != KW_OK)
		return false;
	*out = (struct kw_simple_fill){ d->dist, g.lo, g.hi, kw_dtype_max(g.dtype), g.int_lo, g.int_span };
	if (d->dist == KW_DIST_INTEGERS)
		return !kw_dtype_is_float(g.dtype) && g.int_span != 0 && g.int_span <= UINT32_MAX && range_fits(&g);
	return (d->dist == KW_DIST_NORMAL || d->dist == KW_DIST_UNIFORM) &&
	       (g.dtype == KW_F32 || g.dtype == KW_F16 || g.dtype == KW_BF16);
}

enum kw_status kw_fill_input(const struct kw_tensor_decl *d, const struct kw_view *v, enum kw_fill f, uint64_t seed,
			     uint32_t tensor, const struct kw_intenv *env, int threads, struct kw_error *err)
{
	int64_t count = kw_shape_count(&v->shape);
	struct gen g = { .id = { seed, tensor, KW_STREAM_VALUES }, .dist = d->dist, .dtype = (enum kw_dtype)v->dtype };
	struct job whole;
	enum kw_status s;

	if (count < 0)
		return kw_fail(err, KW_ERR_LIMIT, "", "input '%s' has more elements than can be counted", d->name);
	if (count == 0)
		return KW_OK;
	g.fill = kw_fill_fits(f, d) ? f : KW_FILL_DECLARED;
	g.cols = v->shape.rank ? v->shape.dim[v->shape.rank - 1] : 1;
	g.rows = count / g.cols;
	s = read_range(&g, d, env, err);
	if (s != KW_OK)
		return s;
	choose_specials(&g, d);
	cut_view(&whole, &g, v);
	return run_parts(&whole, threads, err);
}
