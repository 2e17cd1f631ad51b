//# task centred
//# expect ok
//# effort final
//# why Two outputs, of a matrix and of a vector.
//@ kernel candidate args=(x, y, m, rows:i64, cols:i64)
#include <stdint.h>

void candidate(const float *x, float *y, float *m, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		double sum = 0;

		for (int64_t c = 0; c < cols; c++)
			sum += x[r * cols + c];
		sum /= (double)cols;
		for (int64_t c = 0; c < cols; c++)
			y[r * cols + c] = (float)(x[r * cols + c] - sum);
		m[r] = (float)(sum);
	}
}
