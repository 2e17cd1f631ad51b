/* tensormap NAME TENSOR box=(64, 64) swizzle=128 l2=256. The limits are those of
 * cuTensorMapEncodeTiled in the CUDA driver API, without interleaving and with element strides
 * of 1. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/plan_internal.h"
#include "core/task_internal.h"

enum { MAX_BOX = 256, UNIT_BYTES = 16 };

static const struct {
	const char *word;
	int bytes;
} swizzles[] = { { "none", 0 }, { "32", 32 }, { "64", 64 }, { "128", 128 } },
  fetches[] = { { "none", 0 }, { "64", 64 }, { "128", 128 }, { "256", 256 } };

/* The text up to the next blank. */
static struct kw_str token(struct kw_plan_cursor *c, size_t *at)
{
	kw_plan_blanks(c);
	*at = c->at;
	while (c->at < c->text.len && !strchr(" \t\r", c->text.ptr[c->at]))
		c->at++;
	return (struct kw_str){ c->text.ptr + *at, c->at - *at };
}

static enum kw_status read_swizzle(struct kw_plan_cursor *c, const char **out)
{
	size_t at;
	struct kw_str word = token(c, &at);

	for (size_t i = 0; i < 4; i++)
		if (kw_str_eqz(word, swizzles[i].word)) {
			*out = swizzles[i].word;
			return KW_OK;
		}
	return kw_plan_fail(c, at, "swizzle is none, 32, 64 or 128");
}

static enum kw_status read_l2(struct kw_plan_cursor *c, int *out)
{
	size_t at;
	struct kw_str word = token(c, &at);

	for (size_t i = 0; i < 4; i++)
		if (kw_str_eqz(word, fetches[i].word)) {
			*out = fetches[i].bytes;
			return KW_OK;
		}
	return kw_plan_fail(c, at, "l2 is none, 64, 128 or 256");
}

/* Dims of an input, output or workspace; -1: there is none of that name. 0: not known without the
 * task. */
static int rank_of(const struct kw_plan_cursor *c, const char *name)
{
	const struct kw_task *t = c->task;
	int index;

	for (size_t i = 0; i < c->plan->workspace_count; i++)
		if (strcmp(c->plan->workspaces[i].name, name) == 0)
			return c->plan->workspaces[i].rank;
	if (!t)
		return 0;
	index = kw_plan_tensor_index(t, name);
	return index < 0			? -1
	       : (size_t)index < t->input_count ? t->inputs[index].rank
						: t->outputs[(size_t)index - t->input_count].rank;
}

static enum kw_status read_tensor(struct kw_plan_cursor *c, const char **out, int *rank)
{
	const struct kw_task *t = c->task;
	const char *known[KW_PLAN_MAX_LINES + 2 * KW_TASK_MAX_TENSORS], *near;
	size_t at, n = 0;

	kw_plan_blanks(c);
	at = c->at;
	*out = kw_arena_str(c->arena, kw_plan_word(c));
	if (!*out)
		return kw_plan_nomem(c);
	if (!**out)
		return kw_plan_fail(c, at, "the name of a tensor should follow");
	*rank = rank_of(c, *out);
	if (*rank > KW_MAP_MAX_RANK)
		return kw_plan_fail(c, at, "'%s' has %d dims; a tensor map has at most %d", *out,
				    *rank, KW_MAP_MAX_RANK);
	if (*rank >= 0)
		return KW_OK;
	for (size_t i = 0; i < c->plan->workspace_count; i++)
		known[n++] = c->plan->workspaces[i].name;
	for (size_t i = 0; i < t->input_count; i++)
		known[n++] = t->inputs[i].name;
	for (size_t i = 0; i < t->output_count; i++)
		known[n++] = t->outputs[i].name;
	near = kw_str_nearest(*out, known, n);
	if (near)
		return kw_plan_fail(c, at, "unknown tensor '%s'; did you mean '%s'?", *out, near);
	return kw_plan_fail(c, at, "the name of a tensor should follow; the task '%s' has no '%s'",
			    t->name, *out);
}

enum kw_status kw_plan_read_tensormap(struct kw_plan_cursor *c, struct kw_plan_tensormap *m)
{
	bool box = false, swizzle = false, l2 = false;
	int rank;
	size_t at, box_at = 0;
	enum kw_status s = read_tensor(c, &m->tensor, &rank);

	m->line = c->line;
	m->swizzle = "none";
	m->l2_bytes = 128;
	while (s == KW_OK && !kw_plan_at_end(c)) {
		struct kw_str word;
		bool *seen;

		at = c->at;
		word = kw_plan_word(c);
		seen = kw_str_eqz(word, "box")	     ? &box
		       : kw_str_eqz(word, "swizzle") ? &swizzle
						     : &l2;
		if ((seen == &l2 && !kw_str_eqz(word, "l2")) || !kw_plan_take(c, '='))
			return kw_plan_fail(c, at,
					    "box=(...), swizzle=... or l2=... should follow");
		if (*seen)
			return kw_plan_fail(c, at, "'" KW_STR_FMT "' is there already",
					    KW_STR_ARG(word));
		*seen = true;
		box_at = seen == &box ? c->at : box_at;
		s = seen == &box       ? kw_plan_exprs(c, '(', KW_MAP_MAX_RANK, m->box, &m->rank)
		    : seen == &swizzle ? read_swizzle(c, &m->swizzle)
				       : read_l2(c, &m->l2_bytes);
	}
	if (s != KW_OK)
		return s;
	if (m->rank == 0)
		return kw_plan_fail(c, box ? box_at : c->text.len,
				    box ? "1 to %d sizes should be in the brackets"
					: "box=(...) is missing, of 1 to %d sizes",
				    KW_MAP_MAX_RANK);
	if (rank && m->rank != rank)
		return kw_plan_fail(c, box_at,
				    "'%s' has %d dim%s and the box has %d; give a size of 1 to "
				    "each that is not "
				    "tiled",
				    m->tensor, rank, rank == 1 ? "" : "s", m->rank);
	return KW_OK;
}

/* ---- binding ---- */

struct map_binder {
	const struct kw_plan *plan;
	const struct kw_plan_tensormap *map;
	const struct kw_intenv *env;
	struct kw_arena *arena;
	struct kw_bound_plan *out;
	struct kw_error *err;
};

__attribute__((format(printf, 2, 3))) static enum kw_status fail_map(const struct map_binder *b,
								     const char *fmt, ...)
{
	char where[512], text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(where, sizeof(where), "%.490s:%d", b->plan->file, b->map->line);
	return kw_fail(b->err, KW_ERR_INPUT, where, "tensor map '%s': %s", b->map->name, text);
}

/* This layout cannot have the map; others may. */
__attribute__((format(printf, 2, 3))) static enum kw_status exclude(const struct map_binder *b,
								    const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	b->out->applicable = false;
	b->out->why_not = kw_arena_printf(b->arena, "the tensor map %s: %s", b->map->name, text);
	return b->out->why_not ? KW_OK : kw_fail(b->err, KW_ERR_NOMEM, "", "out of memory");
}

static enum kw_status bind_box(const struct map_binder *b, struct kw_bound_map *m)
{
	int64_t bytes = (int64_t)kw_dtype_bytes(m->dtype), inner;

	for (int d = 0; d < m->rank; d++) {
		enum kw_status s = kw_intexpr_eval(b->map->box[d], b->env, &m->box[d], b->err);

		if (s != KW_OK)
			return s;
		if (m->box[d] < 1 || m->box[d] > MAX_BOX)
			return fail_map(b, "the box size '%s' is %lld; it must be 1 to %d",
					kw_intexpr_text(b->map->box[d]), (long long)m->box[d],
					MAX_BOX);
	}
	inner = m->box[m->rank - 1] * bytes;
	if (inner % UNIT_BYTES)
		return fail_map(b,
				"the innermost box size is %lld bytes (%lld x %lld); it must be a "
				"multiple of %d",
				(long long)inner, (long long)m->box[m->rank - 1], (long long)bytes,
				UNIT_BYTES);
	if (m->swizzle_bytes && inner > m->swizzle_bytes)
		return fail_map(b,
				"the innermost box size is %lld bytes; with swizzle=%d it must be "
				"%d at most",
				(long long)inner, m->swizzle_bytes, m->swizzle_bytes);
	return KW_OK;
}

static enum kw_status bind_layout(const struct map_binder *b, const struct kw_view *v,
				  struct kw_bound_map *m)
{
	int64_t bytes = (int64_t)kw_dtype_bytes(m->dtype);

	for (int d = 0; d < m->rank; d++) {
		m->dim[d] = v->shape.dim[d];
		m->empty = m->empty || m->dim[d] == 0;
	}
	if (m->empty) /* the strides may be of any size then */
		return KW_OK;
	if ((uintptr_t)v->base % UNIT_BYTES)
		return exclude(b, "the address of %s is not aligned to %d bytes", b->map->tensor,
			       UNIT_BYTES);
	for (int d = 0; d < m->rank; d++) {
		if (m->dim[d] > (int64_t)1 << 32)
			return exclude(b, "dim%d of %s is over 2^32", d, b->map->tensor);
		if (d == m->rank - 1 && v->stride[d] != 1 && m->dim[d] > 1)
			return exclude(b,
				       "stride%d of %s is %lld elements; the innermost must be 1",
				       d, b->map->tensor, (long long)v->stride[d]);
		m->stride_bytes[d] = v->stride[d] * bytes;
		if (m->dim[d] == 1) /* nothing lies there, but the driver looks at it */
			m->stride_bytes[d] = (m->stride_bytes[d] + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
		if (d < m->rank - 1 &&
		    (m->stride_bytes[d] % UNIT_BYTES || m->stride_bytes[d] == 0 ||
		     m->stride_bytes[d] >= (int64_t)1 << 40))
			return exclude(b,
				       "stride%d of %s is %lld bytes; it must be a multiple of %d, "
				       "from %d to 2^40",
				       d, b->map->tensor, (long long)m->stride_bytes[d], UNIT_BYTES,
				       UNIT_BYTES);
	}
	return KW_OK;
}

static int swizzle_bytes(const char *word)
{
	for (size_t i = 0; i < 4; i++)
		if (strcmp(word, swizzles[i].word) == 0)
			return swizzles[i].bytes;
	return 0;
}

/* What the map describes: a tensor as this case lays it out, or a workspace, which is contiguous.
 */
static bool find_view(const struct map_binder *b, const struct kw_task *t,
		      const struct kw_view *views, struct kw_bound_map *m, struct kw_view *out)
{
	for (size_t i = 0; i < b->plan->workspace_count; i++) {
		if (strcmp(b->plan->workspaces[i].name, b->map->tensor) != 0)
			continue;
		m->kind = KW_ARG_WORKSPACE;
		m->index = (int)i;
		*out = (struct kw_view){ .dtype = (int)b->plan->workspaces[i].dtype,
					 .shape = b->out->workspaces[i] };
		kw_shape_contiguous(&out->shape, out->stride);
		return true;
	}
	m->kind = KW_ARG_TENSOR;
	m->index = kw_plan_tensor_index(t, b->map->tensor);
	if (m->index >= 0)
		*out = views[m->index];
	return m->index >= 0;
}

enum kw_status kw_plan_bind_tensormaps(const struct kw_plan *p, const struct kw_task *t,
				       const struct kw_view *views, const struct kw_intenv *env,
				       struct kw_arena *a, struct kw_bound_plan *out,
				       struct kw_error *err)
{
	enum kw_status s = KW_OK;

	out->tensormaps = kw_arena_calloc(a, p->tensormap_count, sizeof(*out->tensormaps));
	if (!out->tensormaps)
		return kw_fail(err, KW_ERR_NOMEM, "", "out of memory");
	for (size_t i = 0; i < p->tensormap_count && s == KW_OK && out->applicable; i++) {
		struct map_binder b = { p, &p->tensormaps[i], env, a, out, err };
		struct kw_bound_map *m = &out->tensormaps[out->tensormap_count++];
		struct kw_view v;

		if (!find_view(&b, t, views, m, &v))
			return fail_map(&b, "the task '%s' has no tensor '%s'", t->name,
					b.map->tensor);
		if (v.shape.rank != b.map->rank)
			return fail_map(&b, "'%s' has %d dims and the box has %d", b.map->tensor,
					v.shape.rank, b.map->rank);
		m->dtype = (enum kw_dtype)v.dtype;
		m->rank = b.map->rank;
		m->swizzle_bytes = swizzle_bytes(b.map->swizzle);
		m->l2_bytes = b.map->l2_bytes;
		s = bind_box(&b, m);
		if (s == KW_OK)
			s = bind_layout(&b, &v, m);
	}
	return s;
}
