/* shape.h - a shape is one type, never loose ints.
 *
 * Sizes and strides are in elements. A rank-0 shape is a scalar with one element. A dim of 0 makes
 * an empty tensor. kw_shape_count never overflows silently: it returns -1. */
#ifndef KW_CORE_SHAPE_H
#define KW_CORE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KW_MAX_RANK 8

struct kw_shape {
	int rank;
	int64_t dim[KW_MAX_RANK];
};
/* A tensor in memory: base points at element (0, ..., 0); strides in elements, may be 0
 * (expanded) but are never negative. */
struct kw_view {
	int dtype;                         /* enum kw_dtype */
	struct kw_shape shape;
	int64_t stride[KW_MAX_RANK];
	void *base;
};

int64_t kw_shape_count(const struct kw_shape *s);           /* -1 on overflow or a negative dim */
bool kw_shape_eq(const struct kw_shape *a, const struct kw_shape *b);
void kw_shape_contiguous(const struct kw_shape *s, int64_t stride[KW_MAX_RANK]);
bool kw_view_is_contiguous(const struct kw_view *v);
/* Elements from base to the last addressed one, inclusive (0 for an empty tensor); -1 overflow. */
int64_t kw_view_extent(const struct kw_view *v);
/* "[128, 4096]"; out is always terminated. Returns out. */
const char *kw_shape_text(const struct kw_shape *s, char *out, size_t out_bytes);
/* Flat row-major index to coordinates, and "[3, 17]". */
void kw_shape_unravel(const struct kw_shape *s, int64_t flat, int64_t index[KW_MAX_RANK]);

#endif
