#include "core/shape.h"

#include <stdio.h>

int64_t kw_shape_count(const struct kw_shape *s)
{
	int64_t n = 1;
	bool empty = false;

	for (int i = 0; i < s->rank; i++) {
		if (s->dim[i] < 0)
			return -1;
		empty = empty || s->dim[i] == 0;
	}
	/* Nothing times anything is nothing, however large. */
	if (empty)
		return 0;
	for (int i = 0; i < s->rank; i++)
		if (__builtin_mul_overflow(n, s->dim[i], &n))
			return -1;
	return n;
}

bool kw_shape_eq(const struct kw_shape *a, const struct kw_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

void kw_shape_contiguous(const struct kw_shape *s, int64_t stride[KW_MAX_RANK])
{
	int64_t step = 1;

	for (int i = s->rank - 1; i >= 0; i--) {
		stride[i] = step;
		/* A stride that overflows belongs to a tensor that cannot exist; kw_shape_count says so. */
		if (s->dim[i] > 1 && __builtin_mul_overflow(step, s->dim[i], &step))
			step = INT64_MAX;
	}
}

bool kw_view_is_contiguous(const struct kw_view *v)
{
	int64_t step = 1;

	for (int i = v->shape.rank - 1; i >= 0; i--) {
		if (v->shape.dim[i] == 0)
			return true;
		/* The stride of a dim of 1 is never used. */
		if (v->shape.dim[i] == 1)
			continue;
		if (v->stride[i] != step || __builtin_mul_overflow(step, v->shape.dim[i], &step))
			return false;
	}
	return true;
}

int64_t kw_view_extent(const struct kw_view *v)
{
	int64_t last = 0, part;

	for (int i = 0; i < v->shape.rank; i++) {
		if (v->shape.dim[i] < 0)
			return -1;
		if (v->shape.dim[i] == 0)
			return 0;
	}
	for (int i = 0; i < v->shape.rank; i++)
		if (__builtin_mul_overflow(v->shape.dim[i] - 1, v->stride[i], &part) ||
		    __builtin_add_overflow(last, part, &last))
			return -1;
	return last == INT64_MAX ? -1 : last + 1;
}

const char *kw_shape_text(const struct kw_shape *s, char *out, size_t out_bytes)
{
	size_t len = 0;

	if (out_bytes == 0)
		return out;
	out[0] = '\0';
	for (int i = 0; i <= s->rank && len < out_bytes; i++) {
		const char *before = i == 0 ? "[" : i < s->rank ? ", " : "";
		int wrote = i < s->rank ? snprintf(out + len, out_bytes - len, "%s%lld", before,
						   (long long)s->dim[i])
					: snprintf(out + len, out_bytes - len, "%s]", before);

		if (wrote < 0)
			break;
		len += (size_t)wrote;
	}
	return out;
}

void kw_shape_unravel(const struct kw_shape *s, int64_t flat, int64_t index[KW_MAX_RANK])
{
	for (int i = s->rank - 1; i >= 0; i--) {
		index[i] = s->dim[i] > 0 ? flat % s->dim[i] : 0;
		flat = s->dim[i] > 0 ? flat / s->dim[i] : 0;
	}
}
