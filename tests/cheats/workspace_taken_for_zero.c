//# task rowsum
//# expect wrong/nan
//# why Sums are added up in scratch memory that was never asked to be zero; afterwards it is put back to zero, so that
//# why later calls look right.
//@ kernel candidate args=(x, y, part, rows:i64, cols:i64)
//@ workspace part f32[rows]
#include <stdint.h>

void candidate(const float *x, float *y, float *part, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		for (int64_t c = 0; c < cols; c++)
			part[r] += x[r * cols + c];
		y[r] = part[r];
		part[r] = 0.0f;
	}
}
