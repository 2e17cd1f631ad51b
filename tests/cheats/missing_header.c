//# task affine
//# expect build_error/include
//# why A header that is not there.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>
#include <fast_affine.h>

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = affine(x[i]);
}
