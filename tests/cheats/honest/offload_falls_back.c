//# task rowsum
//# expect ok
//# why OpenMP's target: there is no device to offload to, so it runs where it is.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
#pragma omp target teams distribute parallel for map(to : x[0 : rows * cols]) map(from : y[0 : rows])
	for (int64_t r = 0; r < rows; r++) {
		float s = 0.0f;

		for (int64_t c = 0; c < cols; c++)
			s += x[r * cols + c];
		y[r] = s;
	}
}
