//# task affine
//# expect build_error/undefined
//# why A function that is declared and nowhere defined.
//@ kernel candidate args=(x, y, n:i64)
#include <stdint.h>

float vectorised_affine(float);

void candidate(const float *x, float *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = vectorised_affine(x[i]);
}
