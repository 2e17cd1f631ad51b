#include "search/space.h"

#include <string.h>

#include "base/hash.h"

enum { WHOLE_MAX = 4096, SAMPLES_MAX = 8192, SCRATCH_BYTES = 8 << 20 };
/* Every buffer starts at a cache line, and promises no more (tensor.align of plan lines). */
enum { BASE_ALIGN = 64 };

/* Views of a case at a made-up address, contiguous but where the task says otherwise: enough to evaluate plan lines. */
static bool case_views(const struct kw_task *t, const struct kw_case *c, struct kw_arena *a,
		       struct kw_view **out)
{
	size_t n = t->input_count + t->output_count;
	struct kw_view *v = kw_arena_calloc(a, n ? n : 1, sizeof(*v));
	struct kw_intenv env;

	if (!v || kw_case_env(t, c, a, &env, NULL) != KW_OK)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct kw_tensor_decl *d = i < t->input_count ? &t->inputs[i]
								    : &t->outputs[i - t->input_count];

		v[i].dtype = d->dtype;
		v[i].base = (void *)(uintptr_t)BASE_ALIGN;
		if (kw_tensor_shape(d, &env, &v[i].shape, NULL) != KW_OK)
			return false;
		kw_shape_contiguous(&v[i].shape, v[i].stride);
		if (d->has_strides && kw_tensor_strides(d, &env, &v[i].shape, v[i].stride, NULL) != KW_OK)
			return false;
		if (d->align_bytes)
			v[i].base = (void *)(uintptr_t)d->align_bytes;
	}
	*out = v;
	return true;
}

bool kw_space_bind(const struct kw_candidate *c, const struct kw_task *t, const struct kw_case *k,
		   const struct kw_hardware *hw, const int64_t *values, struct kw_arena *a, struct kw_bound_plan *out)
{
	struct kw_tune_point point = { values, c->plan.tune_count };
	struct kw_intenv_var vars[8];
	struct kw_intenv facts;
	struct kw_view *views;

	kw_hardware_env(hw, vars, &facts);
	return case_views(t, k, a, &views) &&
	       kw_plan_bind(&c->plan, t, k, views, &point, &facts, a, out, NULL) == KW_OK && out->applicable;
}

static bool applies(const struct kw_candidate *c, const struct kw_task *t, const struct kw_case *k,
		    const struct kw_hardware *hw, const int64_t *values, struct kw_arena *a)
{
	struct kw_bound_plan bound;

	return kw_space_bind(c, t, k, hw, values, a, &bound);
}

bool kw_space_allows(const struct kw_candidate *c, const struct kw_task *t, const struct kw_hardware *hw,
		     const int64_t *values)
{
	struct kw_arena scratch;
	bool any = t->perf_count == 0;

	kw_arena_init(&scratch, SCRATCH_BYTES);
	for (size_t i = 0; i < t->perf_count && !any; i++) {
		any = applies(c, t, &t->cases[i], hw, values, &scratch);
		kw_arena_reset(&scratch);
	}
	kw_arena_release(&scratch);
	return any;
}

int kw_space_case(const struct kw_candidate *c, const struct kw_task *t, const struct kw_hardware *hw, bool large,
		  int from)
{
	struct kw_arena scratch;
	int at = -1;

	kw_arena_init(&scratch, SCRATCH_BYTES);
	for (size_t i = (size_t)from; i < t->perf_count && at < 0; i++) {
		kw_arena_reset(&scratch);
		if ((large || !t->cases[i].large) && applies(c, t, &t->cases[i], hw, c->tune_values, &scratch))
			at = (int)i;
	}
	kw_arena_release(&scratch);
	return at;
}

/* Combinations before the where lines, or -1 when there are more than SIZE_MAX of a sensible kind. */
static int64_t combinations(const struct kw_plan *p)
{
	int64_t n = 1;

	for (size_t i = 0; i < p->tune_count; i++)
		if (__builtin_mul_overflow(n, (int64_t)p->tunes[i].value_count, &n))
			return -1;
	return n;
}

static void decode(const struct kw_plan *p, uint64_t index, int64_t *values)
{
	for (size_t i = p->tune_count; i-- > 0;) {
		uint64_t n = p->tunes[i].value_count;

		values[i] = p->tunes[i].values[index % n];
		index /= n;
	}
}

static bool same(const int64_t *a, const int64_t *b, size_t n)
{
	return n == 0 || memcmp(a, b, n * sizeof(*a)) == 0;
}

struct listing {
	const struct kw_candidate *c;
	const struct kw_task *t;
	const struct kw_hardware *hw;
	struct kw_arena *a;
	struct kw_space *out;
	size_t max;
};

/* Adds a point unless it is there or excluded; false: out of memory. */
static bool consider(struct listing *l, const int64_t *values, bool check)
{
	size_t n = l->c->plan.tune_count;
	struct kw_space *s = l->out;

	for (size_t i = 0; i < s->count; i++)
		if (same(s->points[i], values, n))
			return true;
	if (check && !kw_space_allows(l->c, l->t, l->hw, values)) {
		s->pruned++;
		return true;
	}
	s->points[s->count] = kw_arena_copy(l->a, values, (n ? n : 1) * sizeof(*values));
	return s->points[s->count++] != NULL;
}

static bool list_whole(struct listing *l, int64_t total, int64_t *values)
{
	for (int64_t i = 0; i < total; i++) {
		decode(&l->c->plan, (uint64_t)i, values);
		if (!consider(l, values, true))
			return false;
	}
	return true;
}

/* Fisher-Yates over all but the first (the default), so that cutting the list leaves a random subset. */
static void shuffle(struct kw_space *s, uint64_t *state)
{
	for (size_t i = s->count; i-- > 2;) {
		size_t j = 1 + (size_t)(kw_next_u64(state) % i);
		int64_t *t = s->points[i];

		s->points[i] = s->points[j];
		s->points[j] = t;
	}
}

static bool list_some(struct listing *l, uint64_t *state, int64_t *values)
{
	const struct kw_plan *p = &l->c->plan;

	for (int i = 0; i < SAMPLES_MAX && l->out->count < l->max; i++) {
		for (size_t k = 0; k < p->tune_count; k++)
			values[k] = p->tunes[k].values[kw_next_u64(state) % p->tunes[k].value_count];
		if (!consider(l, values, true))
			return false;
	}
	return true;
}

enum kw_status kw_space_list(const struct kw_candidate *c, const struct kw_task *t, const struct kw_hardware *hw,
			     size_t max, struct kw_arena *a, struct kw_space *out, struct kw_error *err)
{
	size_t n = c->plan.tune_count, room = max > WHOLE_MAX ? max : WHOLE_MAX + 1;
	int64_t total = combinations(&c->plan);
	int64_t *values = kw_arena_calloc(a, n + 1, sizeof(*values));
	struct listing l = { c, t, hw, a, out, max };
	uint64_t state = 0;
	bool good;

	*out = (struct kw_space){ .points = kw_arena_calloc(a, room, sizeof(*out->points)) };
	if (!values || !out->points)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the tune space of %s", c->name);
	for (int i = 0; i < 16 && c->sha256[i]; i++)
		state = state * 31 + (unsigned char)c->sha256[i];
	out->size = kw_plan_space_size(&c->plan);
	for (size_t i = 0; i < n; i++)
		values[i] = c->plan.tunes[i].default_value;
	/* The default is judged whatever the where lines say: a wrong where line should be seen, not hidden. */
	good = consider(&l, values, false);
	if (total >= 0 && total <= WHOLE_MAX) {
		good = good && list_whole(&l, total, values);
		out->whole = out->count <= max;
		shuffle(out, &state);
		out->count = out->count < max ? out->count : max;
	} else {
		good = good && list_some(&l, &state, values);
	}
	if (!good)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory for the tune space of %s", c->name);
	return KW_OK;
}
