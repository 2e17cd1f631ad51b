//@ kernel leaky_rowsum args=(x, slope, y, rows:i64, cols:i64)
#include <math.h>

void leaky_rowsum(const double *x, double slope, double *y, int64_t rows, int64_t cols)
{
	for (int64_t r = 0; r < rows; r++) {
		double sum = 0;

		for (int64_t c = 0; c < cols; c++) {
			double v = x[r * cols + c];
			sum += v > 0 ? exp(-v) * v : slope * v;
		}
		y[r] = sum;
	}
}
