/* Shapes that no author has seen: drawn from the declared dim ranges after the build. */
#include "judge/internal.h"

#include <math.h>
#include <string.h>

#define TRIES 200
#define MAX_FOOTPRINT 4e7  /* bytes: unseen shapes are checked, not timed */
#define MAX_FLOPS 3e8
#define DIM_CAP 16384

/* Log-uniform, so that small and large sizes are as likely; then rounded to the multiple. */
static int64_t draw(const struct kw_dim *d, uint64_t *rng)
{
	int64_t m = d->multiple > 0 ? d->multiple : 1, lo = d->min > 1 ? d->min : 1;
	int64_t hi = d->max < DIM_CAP ? d->max : DIM_CAP, v;
	double u = (double)(kw_next_u64(rng) >> 11) * 0x1p-53;

	if (hi < lo)
		hi = lo;
	v = (int64_t)floor(exp(log((double)lo) + u * (log((double)hi + 1) - log((double)lo))));
	v -= v % m;
	if (v < d->min)
		v = (d->min + m - 1) / m * m;
	return v > d->max ? d->max - d->max % m : v;
}

static bool affordable(struct work *w, const struct kw_case *c)
{
	struct kw_arena a;
	struct kw_bound *b;
	struct kw_cost cost;
	bool ok = false;

	kw_arena_init(&a, 16u << 20);
	if (kw_expr_bind(w->e, c, &a, &b, NULL) == KW_OK) {
		kw_expr_cost(b, &cost);
		ok = cost.bytes_read + cost.bytes_written <= MAX_FOOTPRINT && cost.flops <= MAX_FLOPS;
	}
	kw_arena_release(&a);
	return ok;
}

static bool listed(const struct kw_task *t, const int64_t *dims)
{
	for (size_t i = 0; i < t->case_count; i++)
		if (memcmp(t->cases[i].dims, dims, t->dim_count * sizeof *dims) == 0)
			return true;
	return false;
}

/* Where the task promises no layout, one of those that fit. */
static void draw_layouts(const struct kw_task *t, enum kw_layout_kind *layouts, uint64_t *rng)
{
	for (size_t i = 0; i < t->input_count; i++) {
		layouts[i] = KW_LAYOUT_CONTIGUOUS;
		if (t->inputs[i].contiguous != KW_CONTIGUOUS_NEVER_SURE)
			continue;
		do
			layouts[i] = (enum kw_layout_kind)(kw_next_u64(rng) % KW_LAYOUT_COUNT);
		while (!kw_layout_fits(&t->inputs[i], layouts[i]));
	}
}

enum kw_status kw_unseen_case(struct work *w, uint64_t seed, struct kw_case *out, struct kw_error *err)
{
	int64_t *dims = kw_arena_calloc(w->a, w->t->dim_count + 1, sizeof *dims);
	enum kw_layout_kind *layouts = kw_arena_calloc(w->a, w->t->input_count + 1, sizeof *layouts);
	uint64_t rng = seed;

	if (!dims || !layouts)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (int i = 0; i < TRIES && w->t->dim_count > 0; i++) {
		enum kw_status st;

		for (size_t d = 0; d < w->t->dim_count; d++)
			dims[d] = draw(&w->t->dims[d], &rng);
		if (listed(w->t, dims))
			continue;
		draw_layouts(w->t, layouts, &rng);
		st = kw_case_make(w->t, dims, layouts, false, w->a, out, err);
		if (st == KW_ERR_INPUT && err)
			kw_error_reset(err); /* sizes that do not go with the declared strides */
		if (st != KW_OK && st != KW_ERR_INPUT)
			return st;
		if (st == KW_OK && affordable(w, out))
			return KW_OK;
	}
	return KW_NO;
}
