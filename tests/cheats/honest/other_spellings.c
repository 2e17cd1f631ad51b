//# task affine
//# expect ok
//# why Parameters that are not spelt as the plan line has them, and fit.
//@ kernel candidate args=(x, y, n:i64)
#include <stddef.h>

typedef float real;

static inline void affine(real *restrict from, real *restrict to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = 2.0f * from[i] + 1.0f;
}

extern void candidate(real *restrict from, void *const to, size_t count)
{
	affine(from, to, count);
}
