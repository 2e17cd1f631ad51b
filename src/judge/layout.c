#include "judge/layout.h"

#include "judge/internal.h"

/* Columns of the buffer behind a sliced view: odd on purpose, so that rows fall out of alignment. */
#define SLICE_PAD 5
/* What every base promises unless its layout is `unaligned`: one cache line. */
#define BASE_ALIGN 64

static void view_strides(struct kw_view *v, enum kw_layout_kind layout)
{
	struct kw_shape s = v->shape;
	int last = s.rank - 1;

	kw_shape_contiguous(&s, v->stride);
	if (last < 0)
		return;
	switch (layout) {
	case KW_LAYOUT_SLICED:
		s.dim[last] += SLICE_PAD;
		kw_shape_contiguous(&s, v->stride);
		break;
	case KW_LAYOUT_STEP:
		s.dim[last] *= 2;
		kw_shape_contiguous(&s, v->stride);
		v->stride[last] = 2;
		break;
	case KW_LAYOUT_TRANSPOSED:
		if (last >= 1) {
			int64_t rows = s.dim[last - 1];

			v->stride[last - 1] = 1;
			v->stride[last] = rows > 0 ? rows : 1;
		}
		break;
	case KW_LAYOUT_EXPANDED:
		v->stride[0] = 0;
		break;
	default:
		break;
	}
}

static enum kw_status one_view(const struct kw_tensor_decl *d, enum kw_layout_kind layout, const struct kw_intenv *env,
			       const struct kw_shape *shape, bool input, struct kw_view *v, struct kw_buffer_spec *b,
			       struct kw_error *err)
{
	size_t bytes = kw_dtype_bytes(d->dtype), align = d->align_bytes > BASE_ALIGN ? (size_t)d->align_bytes : BASE_ALIGN;
	int64_t extent;
	enum kw_status st;

	*v = (struct kw_view){ .dtype = d->dtype, .shape = *shape };
	view_strides(v, layout);
	if (d->has_strides && (st = kw_tensor_strides(d, env, shape, v->stride, err)) != KW_OK)
		return st;
	extent = kw_view_extent(v);
	if (extent < 0 || extent > INT64_MAX / 16)
		return kw_fail(err, KW_ERR_LIMIT, d->name, "the tensor has more elements than 64 bits can address");
	*b = (struct kw_buffer_spec){ .name = d->name, .bytes = (size_t)extent * bytes, .align_bytes = align, .read_only = input };
	if (layout == KW_LAYOUT_UNALIGNED)
		b->misalign_bytes = bytes;
	else if (d->align_bytes && d->align_bytes < BASE_ALIGN) /* no better than promised, or nobody would notice */
		b->misalign_bytes = (size_t)d->align_bytes;
	/* No memory yet: an address with the alignment that the buffer will have, for the plan's `t.align`. */
	v->base = (void *)(uintptr_t)(align + b->misalign_bytes);
	return KW_OK;
}

enum kw_status kw_layout_views(const struct kw_task *t, const struct kw_case *c, const struct kw_intenv *env,
			       const struct kw_bound *b, struct kw_view *views, struct kw_buffer_spec *specs,
			       struct kw_error *err)
{
	enum kw_status st = KW_OK;

	for (size_t i = 0; i < t->input_count && st == KW_OK; i++)
		st = one_view(&t->inputs[i], c->layouts ? c->layouts[i] : KW_LAYOUT_CONTIGUOUS, env,
			      kw_bound_input_shape(b, (int)i), true, &views[i], &specs[i], err);
	for (size_t i = 0; i < t->output_count && st == KW_OK; i++) {
		const struct kw_tensor_decl *d = &t->outputs[i];
		size_t in = (size_t)d->partner;

		/* What is updated in place lies as its input does, in a buffer of its own: the input's stays as it was. */
		st = one_view(d->inout ? &t->inputs[in] : d,
			      d->inout && c->layouts ? c->layouts[in] : KW_LAYOUT_CONTIGUOUS, env, kw_bound_output_shape(b, (int)i), false,
			      &views[t->input_count + i], &specs[t->input_count + i], err);
	}
	return st;
}
