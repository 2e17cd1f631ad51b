//# task rowsum
//# expect ok
//# why Nested parallel regions with more threads than cores.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
#pragma omp parallel for num_threads(8)
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

#pragma omp simd reduction(+ : s)
		for (int64_t c = 0; c < cols; c++)
			s += x[r * cols + c];
		y[r] = s;
	}
}
