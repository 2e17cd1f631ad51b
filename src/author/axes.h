/* axes.h - axis variables: which axes of which tensors are the same one.
 *
 * An axis variable has a size; two of them can be joined (they are one axis) and one can be split
 * (a reshape cuts it). Sizes are compared at probe values of the dims, chosen so that different
 * dims differ. */
#ifndef KW_AUTHOR_AXES_H
#define KW_AUTHOR_AXES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define KW_AU_AXES 256

struct kw_au_axis {
	const char *size; /* integer expression */
	int64_t probe;
	int same;    /* joined to this one; -1: none */
	int part[2]; /* split into these; -1: whole */
};
struct kw_au_axes {
	struct kw_arena *arena;
	struct kw_au_axis axis[KW_AU_AXES];
	int count;
};

/* -1 when there are too many. */
int kw_au_axis_new(struct kw_au_axes *s, const char *size, int64_t probe);
/* Appends what axis `id` consists of, outermost first; -1 (size 1) adds nothing. False when out has
 * no room. */
bool kw_au_axis_parts(const struct kw_au_axes *s, int id, int *out, int *count, int max);
/* Makes two runs of axes with the same number of elements one. False when they do not line up. */
bool kw_au_axes_join(struct kw_au_axes *s, const int *a, int a_count, const int *b, int b_count);

#endif
