#include "author/axes.h"

#include <string.h>

int kw_au_axis_new(struct kw_au_axes *s, const char *size, int64_t probe)
{
	if (s->count == KW_AU_AXES || !size)
		return -1;
	s->axis[s->count] = (struct kw_au_axis){ size, probe, -1, { -1, -1 } };
	return s->count++;
}

bool kw_au_axis_parts(const struct kw_au_axes *s, int id, int *out, int *count, int max)
{
	if (id < 0)
		return true;
	while (s->axis[id].same >= 0)
		id = s->axis[id].same;
	if (s->axis[id].part[0] >= 0)
		return kw_au_axis_parts(s, s->axis[id].part[0], out, count, max) &&
		       kw_au_axis_parts(s, s->axis[id].part[1], out, count, max);
	if (*count == max)
		return false;
	out[(*count)++] = id;
	return true;
}

/* Cuts `big` into `small` and the rest; the rest's number, or -1. */
static int split(struct kw_au_axes *s, int big, int small)
{
	const struct kw_au_axis *b = &s->axis[big], *l = &s->axis[small];
	int rest;

	if (l->probe <= 0 || b->probe % l->probe)
		return -1;
	rest = kw_au_axis_new(s, kw_arena_printf(s->arena, "(%s) / (%s)", b->size, l->size),
			      b->probe / l->probe);
	if (rest < 0)
		return -1;
	s->axis[big].part[0] = small;
	s->axis[big].part[1] = rest;
	return rest;
}

static int flatten(const struct kw_au_axes *s, const int *in, int n, int *out, int max)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		if (!kw_au_axis_parts(s, in[i], out, &count, max))
			return -1;
	return count;
}

bool kw_au_axes_join(struct kw_au_axes *s, const int *a, int a_count, const int *b, int b_count)
{
	int x[64], y[64], m = flatten(s, a, a_count, x, 64), n = flatten(s, b, b_count, y, 64);
	int i = 0, j = 0;

	if (m < 0 || n < 0)
		return false;
	while (i < m && j < n) {
		int p = x[i], q = y[j];

		if (p == q) {
			i++, j++;
		} else if (s->axis[p].probe == s->axis[q].probe) {
			/* The shorter text is the better name. */
			bool swap = strlen(s->axis[q].size) < strlen(s->axis[p].size);

			s->axis[swap ? p : q].same = swap ? q : p;
			i++, j++;
		} else if (s->axis[p].probe > s->axis[q].probe) {
			x[i] = split(s, p, q);
			if (x[i] < 0)
				return false;
			j++;
		} else {
			y[j] = split(s, q, p);
			if (y[j] < 0)
				return false;
			i++;
		}
	}
	return i == m && j == n;
}
