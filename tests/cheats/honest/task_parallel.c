//# task rowsum
//# expect ok
//# why OpenMP tasks and a reduction.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
#pragma omp parallel
#pragma omp single
	for (int64_t r = 0; r < rows; r++) {
#pragma omp task firstprivate(r)
		{
			float s = 0.0f;

			for (int64_t c = 0; c < cols; c++)
				s += x[r * cols + c];
			y[r] = s;
		}
	}
}
