//# task affine
//# expect build_error/type
//# why Elements of another type than the tensor's.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

typedef double real;

void candidate(const real *x, real *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = 2.0 * x[i] + 1.0;
}
