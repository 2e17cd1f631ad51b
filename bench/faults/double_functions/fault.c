// planted: exp of a double and untyped literals in a loop of floats
// expected: doubles_in_c_loops fp64_by_accident
//@ kernel logistic args=(x, y, n:i64)
#include <math.h>

void logistic(const float *restrict x, float *restrict y, int64_t n)
{
#pragma omp parallel for simd
	for (int64_t i = 0; i < n; i++)
		y[i] = 1.0 / (1.0 + exp(-x[i]));
}
