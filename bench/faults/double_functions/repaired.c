// repaired: floats throughout
//@ kernel logistic args=(x, y, n:i64)
#include <math.h>

void logistic(const float *restrict x, float *restrict y, int64_t n)
{
#pragma omp parallel for simd
	for (int64_t i = 0; i < n; i++)
		y[i] = 1.0f / (1.0f + kw_expf(-x[i]));
}
