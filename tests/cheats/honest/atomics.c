//# task rowsum
//# expect ok
//# why Threads add to the same elements with atomic additions: the order of the additions changes from
//# why run to run, within rounding.
//@ kernel candidate args=(x, y, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++)
		y[r] = 0.0f;
#pragma omp parallel for schedule(static)
	for (int64_t block = 0; block < (cols + 63) / 64; block++)
		for (int64_t r = 0; r < rows; r++) {
			int64_t end = (block + 1) * 64 < cols ? (block + 1) * 64 : cols;
			float s = 0.0f;

			for (int64_t c = block * 64; c < end; c++)
				s += x[r * cols + c];
#pragma omp atomic
			y[r] += s;
		}
}
